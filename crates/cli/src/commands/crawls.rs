//! `crawls`: which crawls are here, and how far they are.

use crate::Session;
use crate::show::{bytes, count, json_line};
use anyhow::{Context, Result};
use clap::Args;
use herodotus_base::Timestamp;
use herodotus_frontier::UrlRecord;
use herodotus_node::Keeper;
use herodotus_node::crawl::{list, load, peek};
use serde_json::json;
use std::process::ExitCode;

/// List crawls, or the URLs that one of them knows.
#[derive(Debug, Args)]
pub(crate) struct Crawls {
    /// A crawl whose URLs are listed: state, visits, changes, when last visited
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// URLs read from a crawl's state at a time. Some megabytes: in a node, whose crawls may begin at any moment, the state is
/// opened anew for each such part.
const URLS_AT_ONCE: usize = 20_000;

impl Crawls {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let data = session.data_dir()?;
        // The archive's lock keeps a running crawl from being read half-way; in a node the keeper does.
        let store = session.open_existing()?;
        match &self.name {
            Some(name) => self.urls(session, &data, name)?,
            None => Self::list(session, &data)?,
        }
        drop(store);
        Ok(ExitCode::SUCCESS)
    }

    fn list(session: &Session, data: &std::path::Path) -> Result<()> {
        let crawls = session.keeper().map_or_else(|| list(data), Keeper::listed)?;
        if session.json {
            for crawl in &crawls {
                json_line(
                    session,
                    &json!({
                        "name": crawl.name,
                        "complete": crawl.complete,
                        "round": crawl.round,
                        "urls": crawl.progress.urls,
                        "waiting": crawl.progress.waiting,
                        "hosts": crawl.progress.hosts,
                        "tally": crawl.total,
                        "seeds": crawl.definition.seeds,
                        "settings": crawl.definition.crawl,
                    }),
                )?;
            }
            return Ok(());
        }
        if crawls.is_empty() {
            session
                .say(format_args!("There are no crawls here yet. Begin one with: herodotus crawl https://example.org"));
            return Ok(());
        }
        session.say(format_args!(
            "{:<28} {:>6} {:>10} {:>10} {:>10} {:>9}  seeds",
            "name", "round", "urls", "waiting", "fetched", "bytes"
        ));
        for crawl in &crawls {
            let waiting = if crawl.complete { "done".to_owned() } else { count(crawl.progress.waiting) };
            let more = crawl.definition.seeds.len().saturating_sub(1);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            session.say(format_args!(
                "{:<28} {:>6} {:>10} {waiting:>10} {:>10} {:>9}  {}{more}",
                crawl.name,
                crawl.round,
                count(crawl.progress.urls),
                count(crawl.total.fetched),
                bytes(crawl.total.bytes),
                crawl.definition.seeds.first().map_or("", String::as_str),
            ));
        }
        Ok(())
    }

    fn urls(&self, session: &Session, data: &std::path::Path, name: &str) -> Result<()> {
        let missing = || format!("there is no crawl named {name}: `herodotus crawls` lists those that are here");
        let mut own = match session.keeper() {
            Some(_) => None,
            None => Some(peek(data, name, &load(data, name)?.with_context(missing)?)?),
        };
        let mut from = None;
        loop {
            let (records, next) = match (&mut own, session.keeper()) {
                (Some(frontier), _) => frontier.urls(from, URLS_AT_ONCE)?,
                (None, Some(keeper)) => keeper.urls(name, from, URLS_AT_ONCE)?.with_context(missing)?,
                (None, None) => return Ok(()),
            };
            if records.is_empty() {
                return Ok(());
            }
            for record in &records {
                if session.json {
                    json_line(session, &record_json(record))?;
                } else {
                    session.say(format_args!("{}", record_line(record)));
                }
            }
            from = next;
        }
    }
}

fn record_json(record: &UrlRecord) -> serde_json::Value {
    json!({
        "url": record.url.as_str(),
        "state": state(record),
        "status": (record.status != 0).then_some(record.status),
        "depth": record.depth,
        "visits": record.visits,
        "changes": record.changes,
        "round": record.round,
        "last_visit": last_visit(record).map(Timestamp::rfc3339),
        "period_ms": record.period_ms,
        "dead_in_a_row": record.dead,
    })
}

fn record_line(record: &UrlRecord) -> String {
    let when = last_visit(record).map_or_else(|| "-".to_owned(), |at| at.floor_second().rfc3339());
    let status = if record.status == 0 { "-".to_owned() } else { record.status.to_string() };
    format!(
        "{when:<20}  {:<8} {status:>3}  {:>4} visits {:>4} changes  {}",
        state(record),
        record.visits,
        record.changes,
        record.url
    )
}

fn last_visit(record: &UrlRecord) -> Option<Timestamp> {
    Timestamp::from_millis(record.last_visit_ms).filter(|_| record.visits > 0)
}

fn state(record: &UrlRecord) -> &'static str {
    match record.visits {
        _ if record.is_retired() => "retired",
        0 => "queued",
        _ => "visited",
    }
}
