//! `remove`: captures that must go.

use super::{end_time, full_url, time};
use crate::Session;
use crate::show::{json_line, plural};
use anyhow::{Result, ensure};
use clap::Args;
use herodotus_base::Timestamp;
use herodotus_page::prefix_range;
use herodotus_store::{Entry, key_of};
use serde_json::json;
use std::process::ExitCode;

/// Take captures out of the archive, for good.
///
/// They are no longer shown or exported, and importing them again does not bring them back. Their bytes leave the disk with
/// the next `herodotus compact`. Without --yes, only says what would go.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    #[command(flatten)]
    what: What,

    /// Only captures from this time on
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<Timestamp>,

    /// Only captures up to this time
    #[arg(long, value_name = "TIME", value_parser = end_time)]
    to: Option<Timestamp>,

    /// Really remove them
    #[arg(long)]
    yes: bool,
}

/// One of these, and only one.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
    /// All versions of this URL
    #[arg(value_name = "URL")]
    url: Option<String>,

    /// Everything whose URL begins with this
    #[arg(long, value_name = "URL")]
    prefix: Option<String>,
}

impl Remove {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let store = session.open_existing()?;
        let scan = match (&self.what.url, &self.what.prefix) {
            (Some(url), _) => store.versions(&key_of(&full_url(url)), false),
            (None, prefix) => {
                let (from, to) = prefix_range(&full_url(prefix.as_deref().unwrap_or_default()));
                store.scan(&from, &to, false)
            }
        };
        let in_time = |e: &Entry| self.from.is_none_or(|t| e.id.time >= t) && self.to.is_none_or(|t| e.id.time <= t);
        let mut removed = 0u64;
        for entry in scan {
            let entry = entry?;
            session.go_on()?;
            if in_time(&entry) {
                removed += 1;
                if self.yes {
                    store.remove(&entry.id)?;
                }
            }
        }
        ensure!(removed > 0, "nothing in the archive fits");
        session.close(store)?;
        if session.json {
            json_line(session, &json!({ "captures": removed, "removed": self.yes }))?;
        } else if self.yes {
            session.say(format_args!(
                "{} removed; `herodotus compact` frees the space",
                plural(removed, "capture", "captures")
            ));
        } else {
            session
                .say(format_args!("{} would be removed: say --yes to do it", plural(removed, "capture", "captures")));
        }
        Ok(ExitCode::SUCCESS)
    }
}
