//! `list`: what is here.

use super::{end_time, full_url, not_found, time};
use crate::Session;
use crate::show::{bytes, count, entry_json, plural, status};
use anyhow::Result;
use clap::Args;
use herodotus_base::Timestamp;
use herodotus_page::{domain_range, host_range, prefix_range};
use herodotus_store::{Entry, Store, key_of};
use std::io::Write;
use std::process::ExitCode;

/// List the versions of a URL, or all captures under a prefix, host or domain.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    what: What,

    /// Only captures from this time on
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<Timestamp>,

    /// Only captures up to this time
    #[arg(long, value_name = "TIME", value_parser = end_time)]
    to: Option<Timestamp>,

    /// At most so many lines
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// One of these, and only one.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
    /// The page whose versions to list
    #[arg(value_name = "URL")]
    url: Option<String>,

    /// Everything whose URL begins with this
    #[arg(long, value_name = "URL")]
    prefix: Option<String>,

    /// Everything on this host
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// Everything on this host and its subdomains
    #[arg(long, value_name = "HOST")]
    domain: Option<String>,

    /// Everything there is
    #[arg(long)]
    all: bool,
}

impl List {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let store = session.open_existing()?;
        let mut out = std::io::BufWriter::new(session.out());
        let mut shown = 0;
        for entry in self.entries(&store) {
            let entry = entry?;
            session.go_on()?;
            let in_time = self.from.is_none_or(|t| entry.id.time >= t) && self.to.is_none_or(|t| entry.id.time <= t);
            if !in_time || !entry.is_capture() {
                continue;
            }
            if self.limit.is_some_and(|limit| shown >= limit) {
                break;
            }
            shown += 1;
            if session.json {
                serde_json::to_writer(&mut out, &entry_json(&entry)).map_err(std::io::Error::from)?;
                writeln!(out)?;
            } else {
                let media = if entry.media.is_empty() { "-" } else { &entry.media };
                let notes = [(entry.truncated, " truncated"), (entry.shared, " same as another")];
                let notes: String = notes.iter().filter(|(on, _)| *on).map(|(_, note)| *note).collect();
                writeln!(
                    out,
                    "{}  {:<9} {:<24} {:>9}  {}{notes}",
                    entry.id.time.rfc3339().get(..19).unwrap_or_default().replace('T', " "),
                    status(&entry),
                    media,
                    bytes(entry.len),
                    entry.url,
                )?;
            }
        }
        out.flush()?;
        if shown == 0 && !session.json {
            if let Some(url) = &self.what.url {
                return Err(not_found(&store, url));
            }
            session.say(format_args!("nothing"));
        } else if let (Some(url), false) = (&self.what.url, session.json) {
            let total = store.count(&key_of(&full_url(url)))?;
            if total != shown as u64 {
                session.say(format_args!("{} of {}", count(shown as u64), plural(total, "version", "versions")));
            }
        }
        session.give_back(store)?;
        Ok(ExitCode::SUCCESS)
    }

    fn entries<'a>(&self, store: &'a Store) -> Box<dyn Iterator<Item = herodotus_store::Result<Entry>> + 'a> {
        let ranges = if let Some(url) = &self.what.url {
            return Box::new(store.versions(&key_of(&full_url(url)), false));
        } else if let Some(prefix) = &self.what.prefix {
            vec![prefix_range(&full_url(prefix))]
        } else if let Some(host) = &self.what.host {
            vec![host_range(host)]
        } else if let Some(domain) = &self.what.domain {
            domain_range(domain)
        } else {
            return Box::new(store.scan_all());
        };
        Box::new(ranges.into_iter().flat_map(|(from, to)| store.scan(&from, &to, false)))
    }
}
