//! `demo`: the main job, with nothing but this program. A small web is served on loopback and changes day by day; each day
//! it is crawled into an archive, which is then asked, exported, brought in again and compared.

use crate::Session;
use crate::show::{bytes, count, json_line, plural};
use anyhow::{Context, Result, ensure};
use clap::Args;
use herodotus_frontier::{Scope, Settings, Span};
use herodotus_node::crawl::{Crawl, Definition, Stop, Summary};
use herodotus_store::archive::{Format, ImportOptions, Selection, export, import};
use herodotus_store::{Entry, Store, key_of};
use herodotus_testweb::{Config, Server, Web};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Show what Herodotus does, on a small web of its own.
///
/// Starts a ring of five nodes on loopback and a small web that changes every few seconds; the ring crawls it round after round, one of the nodes is
/// killed, and the others go on. Open the page that it names and watch. Ctrl-C ends it, or --for.
///
/// With --alone, one archive: a few sites are crawled on several days while they change, versions are listed and compared, everything is exported, brought
/// in again, and checked. Neither needs a network or leaves anything behind.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// End after this time: 60s, 5m
    #[arg(long = "for", value_name = "TIME", conflicts_with = "alone")]
    lasts: Option<Span>,

    /// One archive instead of a ring
    #[arg(long)]
    alone: bool,

    /// Days on which the web is crawled
    #[arg(long, value_name = "N", requires = "alone", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=365))]
    days: u32,

    /// Keep the archive in this directory, to try the other commands on
    #[arg(long, value_name = "DIR", requires = "alone")]
    keep: Option<PathBuf>,
}

impl Demo {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        if !self.alone {
            return super::demo_ring::run(session, self.lasts.map(|lasts| Duration::from_millis(lasts.0)));
        }
        let started = Instant::now();
        let temp = tempfile::tempdir().context("making a temporary directory")?;
        let dir = self.keep.clone().unwrap_or_else(|| temp.path().join("archive"));
        let say = |text: &str| {
            if !session.json {
                session.say(format_args!("{text}"));
            }
        };
        let web = Web::new(Config { hosts: 5, pages_per_host: 24, ..Config::default() });
        let server = Server::start(web).context("serving on loopback")?;
        say(&format!(
            "A small web is served on {}: {} hosts. It is crawled on {} days, each of which passes in a moment.\n",
            server.addr(),
            5,
            self.days
        ));
        let (store, _) = Store::open(&dir)?;
        let fetched = self.archive(&server, &store, &dir, &say)?;
        let stats = store.totals()?;
        let on_disk = store.bytes_on_disk()?;
        say(&format!(
            "\n{} of {} came in: {} on disk, {:.1} % of it. What had not changed was asked for, and not kept again.\n",
            plural(stats.captures, "capture", "captures"),
            bytes(stats.bytes_in),
            bytes(on_disk),
            100.0 * on_disk as f64 / stats.bytes_in.max(1) as f64,
        ));
        let busiest = busiest_page(&store)?;
        say(&format!("{} changed often. Its last versions:", busiest.url));
        for entry in store.versions(&busiest.id.key, true).take(5) {
            let entry = entry?;
            say(&format!("  {}  {}  {:>9}", entry.id.time, crate::show::status(&entry), bytes(entry.len)));
        }
        let warc = temp.path().join("demo.warc.gz");
        let out =
            export(&store, &Selection::default(), &warc, Format::of_path(&warc).context("format")?, false, |_| {})?;
        say(&format!(
            "\nExported as WARC: {} records, {} (the archive itself is {:.2} of that).",
            count(out.records),
            bytes(out.bytes),
            on_disk as f64 / out.bytes.max(1) as f64
        ));
        let same = round_trip(&store, &warc, &temp.path().join("second"))?;
        say(&format!(
            "Brought in again elsewhere: {} came out byte for byte the same.",
            plural(same, "capture", "captures")
        ));
        let verified = store.verify(|_, _| {})?;
        ensure!(verified.damaged.is_empty(), "the archive is damaged: {:?}", verified.damaged);
        let here = pages_here(&store)?;
        ensure!(fetched == here, "{fetched} captures were made, {here} are here");
        say(&format!("Every digest checked: {} are what was written.", plural(verified.captures, "record", "records")));
        store.close()?;
        if session.json {
            json_line(
                session,
                &json!({
                    "days": self.days,
                    "captures": stats.captures,
                    "urls": stats.urls,
                    "unchanged": stats.shared,
                    "bytes_in": stats.bytes_in,
                    "bytes_on_disk": on_disk,
                    "exported_bytes": out.bytes,
                    "came_back_the_same": same,
                    "damaged": verified.damaged.len(),
                    "seconds": started.elapsed().as_secs_f64(),
                }),
            )?;
        } else if let Some(keep) = &self.keep {
            session.say(format_args!("\nThe archive is in {0}. Try:\n", keep.display()));
            session.say(format_args!("  herodotus --data {} node", keep.display()));
            session.say(format_args!("  herodotus --data {} list {}", keep.display(), busiest.url));
            session.say(format_args!("  herodotus --data {} diff {}", keep.display(), busiest.url));
            session.say(format_args!("  herodotus --data {} stats --by-host", keep.display()));
        } else {
            session.say(format_args!(
                "\nDone in {:.1} s. `herodotus demo --alone --keep DIR` keeps the archive to play with;",
                started.elapsed().as_secs_f64()
            ));
            session.say(format_args!("`herodotus import FILE.warc.gz` brings in your own."));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Crawls everything on each day, and says what was new.
    fn archive(&self, server: &Server, store: &Store, dir: &Path, say: &dyn Fn(&str)) -> Result<u64> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting threads")?;
        let definition = definition(server)?;
        let mut kept = 0;
        say("day   asked   not changed   new   changed   bytes in   on disk");
        for day in 0..self.days {
            server.set_round(day);
            let crawl = Crawl::open(dir, store, "demo", &definition)?;
            let (_stop, stopped) = tokio::sync::watch::channel(Stop::No);
            let Summary { tally, .. } = runtime.block_on(crawl.run(stopped, Duration::from_secs(1), |_| {}))?;
            kept += tally.new + tally.changed;
            if day == 0 || (day + 1) % 5 == 0 || day + 1 == self.days {
                store.seal()?;
                say(&format!(
                    "{:>3}  {:>6}   {:>11}  {:>4}   {:>7}  {:>9}  {:>8}",
                    day + 1,
                    count(tally.fetched),
                    count(tally.unchanged),
                    count(tally.new),
                    count(tally.changed),
                    bytes(store.totals()?.bytes_in),
                    bytes(store.bytes_on_disk()?)
                ));
            }
        }
        Ok(kept)
    }
}

/// The whole of the small web, as fast as it goes.
fn definition(server: &Server) -> Result<Definition> {
    let first = server.web().hosts().next().context("a web without hosts")?;
    let crawl = Settings { scope: Scope::Any, delay: Span(0), concurrency: 4, ..Settings::default() };
    Ok(Definition {
        seeds: vec![format!("http://{first}/")],
        allow_private: vec!["127.0.0.0/8".parse().context("a network")?],
        connect_to: vec![format!("*.test={}", server.addr())],
        crawl,
        ..Definition::default()
    })
}

/// Captures beside those of robots.txt, which a crawl keeps but does not count.
fn pages_here(store: &Store) -> Result<u64> {
    let mut here = 0;
    for entry in store.scan_all() {
        let entry = entry?;
        here += u64::from(entry.is_capture() && !entry.url.ends_with("/robots.txt"));
    }
    Ok(here)
}

/// The page with the most different versions.
fn busiest_page(store: &Store) -> Result<Entry> {
    let mut best: Option<(usize, Entry)> = None;
    let mut now: Option<(usize, Entry)> = None;
    for entry in store.scan_all() {
        let entry = entry?;
        if entry.media != "text/html" {
            continue;
        }
        now = Some(match now {
            Some((n, last)) if last.id.key == entry.id.key => (n + usize::from(last.sha1 != entry.sha1), entry),
            _ => (1, entry),
        });
        if let Some((n, entry)) = &now
            && best.as_ref().is_none_or(|(most, _)| n > most)
        {
            best = Some((*n, entry.clone()));
        }
    }
    best.map(|(_, entry)| entry).context("the archive holds no page")
}

/// Imports what was exported into a second archive, and counts the captures that are the same there.
fn round_trip(store: &Store, warc: &Path, dir: &Path) -> Result<u64> {
    let (second, _) = Store::open(dir)?;
    let report = import(&second, warc, &ImportOptions::default(), |_| {})?;
    ensure!(report.skipped == 0, "our own export could not be read: {:?}", report.skips);
    let mut same = 0;
    for entry in store.scan_all() {
        let entry = entry?;
        let here = store.read_resolved(&entry.id)?.with_context(|| format!("{} is gone", entry.url))?;
        let there = second.newest_not_after(&key_of(&entry.url), entry.id.time)?;
        let there = there.with_context(|| format!("{} of {} did not come back", entry.url, entry.id.time))?;
        let there = second.read_resolved(&there.id)?.with_context(|| format!("{} is gone", entry.url))?;
        ensure!(
            here.main.head == there.main.head && here.main.body == there.main.body && here.time == there.time,
            "{} of {} came back different",
            entry.url,
            entry.id.time
        );
        same += 1;
    }
    second.close()?;
    Ok(same)
}
