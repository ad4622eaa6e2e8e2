//! `stats`: how much is here.

use crate::Session;
use crate::show::{bytes, count, json_line};
use anyhow::Result;
use clap::Args;
use herodotus_page::host_of_key;
use herodotus_store::{Entry, Store};
use serde_json::json;
use std::process::ExitCode;

/// Say how much is in the archive, and how small it is kept.
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Also count captures and bytes per host
    #[arg(long)]
    by_host: bool,
}

/// A host's part of the archive.
#[derive(Default)]
struct Host {
    captures: u64,
    urls: u64,
    bytes_in: u64,
}

impl Stats {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let store = session.open_existing()?;
        if session.is_inside() && store.poisoned().is_none() {
            // What waits in memory is counted when it is in a pack.
            store.seal()?;
        }
        let totals = store.totals()?;
        let (on_disk, index) = (store.bytes_on_disk()?, store.index_bytes());
        let mut hosts = if self.by_host { by_host(session, &store)? } else { Vec::new() };
        let host_count = if self.by_host { hosts.len() as u64 } else { count_hosts(&store)? };
        let ratio = on_disk as f64 / totals.bytes_in.max(1) as f64;
        if session.json {
            let mut value = json!({
                "captures": totals.captures,
                "urls": totals.urls,
                "hosts": host_count,
                "other_records": totals.other_records,
                "shared": totals.shared,
                "bytes_in": totals.bytes_in,
                "bytes_on_disk": on_disk,
                "index_bytes": index,
                "ratio": ratio,
            });
            if self.by_host {
                value["by_host"] = hosts
                    .iter()
                    .map(|(name, h)| json!({ "host": name, "captures": h.captures, "urls": h.urls, "bytes_in": h.bytes_in }))
                    .collect();
            }
            json_line(session, &value)?;
        } else {
            session.say(format_args!("captures   {:>14}", count(totals.captures)));
            session.say(format_args!("urls       {:>14}", count(totals.urls)));
            session.say(format_args!("hosts      {:>14}", count(host_count)));
            session.say(format_args!("unchanged  {:>14}  captures whose body was here already", count(totals.shared)));
            session
                .say(format_args!("other      {:>14}  records about files and fetches", count(totals.other_records)));
            session.say(format_args!("bytes in   {:>14}", bytes(totals.bytes_in)));
            session.say(format_args!("on disk    {:>14}  of which the index is {}", bytes(on_disk), bytes(index)));
            session.say(format_args!("ratio      {ratio:>14.3}"));
            if self.by_host {
                hosts.sort_by_key(|(name, host)| (std::cmp::Reverse(host.bytes_in), name.clone()));
                session.say(format_args!("\n{:<40} {:>10} {:>10} {:>10}", "host", "urls", "captures", "bytes in"));
                for (name, host) in &hosts {
                    session.say(format_args!(
                        "{name:<40} {:>10} {:>10} {:>10}",
                        count(host.urls),
                        count(host.captures),
                        bytes(host.bytes_in)
                    ));
                }
            }
        }
        session.give_back(store)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Counts everything, host by host. Entries come in key order, so a host's stand together.
fn by_host(session: &Session, store: &Store) -> Result<Vec<(String, Host)>> {
    let mut hosts: Vec<(String, Host)> = Vec::new();
    let mut last_key = String::new();
    for entry in store.scan_all() {
        let entry = entry?;
        session.go_on()?;
        if !entry.is_capture() {
            continue;
        }
        let name = host_name(host_of_key(&entry.id.key));
        if hosts.last().is_none_or(|(last, _)| *last != name) {
            hosts.push((name, Host::default()));
        }
        if let Some((_, host)) = hosts.last_mut() {
            host.captures += 1;
            host.urls += u64::from(entry.id.key != last_key);
            host.bytes_in += entry.bytes_in;
        }
        last_key = entry.id.key;
    }
    Ok(hosts)
}

/// Only counts the hosts, by leaping from each to the next.
fn count_hosts(store: &Store) -> Result<u64> {
    let mut hosts = 0;
    let mut from = String::new();
    loop {
        let next = store.scan(&from, "\u{10ffff}", false).find(|e| e.as_ref().map_or(true, Entry::is_capture));
        let Some(entry) = next.transpose()? else { return Ok(hosts) };
        hosts += 1;
        // A host's keys go on with `)`; the next character is `*`.
        let host = host_of_key(&entry.id.key);
        from =
            if entry.id.key[host.len()..].starts_with(')') { format!("{host}*") } else { format!("{host}\u{10ffff}") };
    }
}

/// `com,example,www` → `www.example.com`.
fn host_name(reversed: &str) -> String {
    let (labels, port) = reversed.split_once(':').map_or((reversed, None), |(l, p)| (l, Some(p)));
    let mut name = labels.split(',').rev().collect::<Vec<_>>().join(".");
    if let Some(port) = port.filter(|p| !p.is_empty()) {
        name.push(':');
        name.push_str(port);
    }
    name
}
