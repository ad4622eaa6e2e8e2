//! `get`: a page as it was.

use super::{end_time, gone, not_found, version_at};
use crate::Session;
use crate::show::{entry_json, json_line};
use anyhow::{Context, Result};
use clap::Args;
use herodotus_base::Timestamp;
use herodotus_store::EntityBody;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

/// Print a page as it was: the newest version not newer than a time.
///
/// The payload is printed exactly as it came over the wire. With --decoded, transfer and content codings (chunked, gzip,
/// br, zstd) are taken off. With --json, what is known of the capture is printed instead.
#[derive(Debug, Args)]
pub(crate) struct Get {
    url: String,

    /// The time to look at [default: now]
    #[arg(long, value_name = "TIME", value_parser = end_time)]
    at: Option<Timestamp>,

    /// Print the HTTP head before the payload
    #[arg(long)]
    headers: bool,

    /// Print the request that was sent, instead of the answer
    #[arg(long)]
    request: bool,

    /// Take transfer and content codings off
    #[arg(long, conflicts_with = "headers")]
    decoded: bool,
}

impl Get {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let store = session.open_existing()?;
        let Some(entry) = version_at(&store, &self.url, self.at)? else { return Err(not_found(&store, &self.url)) };
        if self.at.is_some_and(|at| entry.id.time > at) {
            session.tell(format_args!("the first version is of {}, later than asked", entry.id.time));
        }
        let capture = store.read_resolved(&entry.id)?.ok_or_else(|| gone(&entry))?;
        if session.json {
            let mut value = entry_json(&entry);
            let digests = capture.main.body.digests();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            if let Some(object) = value.as_object_mut() {
                object.insert("sha256".into(), json!(digests.sha256.to_string()));
                object.insert("head".into(), json!(text(&capture.main.head)));
                object.insert("request".into(), json!(capture.request().map(|r| text(&r.head))));
                object.insert("remote".into(), json!(capture.remote().map(|a| a.to_string())));
                object.insert("truncated_because".into(), json!(capture.truncated()));
                object.insert("record_id".into(), json!(capture.main.id.bracketed()));
            }
            json_line(session, &value)?;
            return Ok(ExitCode::SUCCESS);
        }
        let record = if self.request {
            capture.request().context("no request was kept with this capture")?
        } else {
            &capture.main
        };
        let mut out = session.out();
        if self.headers || self.request {
            out.write_all(&record.head)?;
        }
        if self.decoded && !self.request {
            let entity = store.entity_in_passing(&entry.id)?.ok_or_else(|| gone(&entry))?;
            match &entity.body {
                EntityBody::Bytes(bytes) => out.write_all(bytes)?,
                EntityBody::Blob(body) => {
                    std::io::copy(&mut body.open()?, &mut out)?;
                }
            }
        } else {
            std::io::copy(&mut store.open_body(&record.body)?, &mut out)?;
        }
        out.flush()?;
        session.give_back(store)?;
        Ok(ExitCode::SUCCESS)
    }
}
