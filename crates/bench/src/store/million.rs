//! A large archive: what it costs to fill, and to ask, beside pywb's own code on the same captures.
//!
//! All pages have 20 KB. The archive is filled as a crawler fills it that seals rather than commits (an import); reads are of
//! whole captures, each checked by the store against its SHA-256, at random over all of them.

use super::pages::{Dice, Pages, SITE_URLS, VERSIONS};
use super::{Args, files, temporary};
use crate::cpu::Stopwatch;
use crate::latency::Latency;
use crate::peers::{self, PeerReads, peer_reads, say};
use crate::table::{Goals, Table, count, mb, seconds, short, time};
use anyhow::{Context, Result, ensure};
use herodotus_page::{prefix_range, surt};
use herodotus_store::archive::{self, Format, Selection};
use herodotus_store::{EntryKey, Store};
use herodotus_warc::Coding;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Random operations that are timed, of each kind.
const READS: u64 = 100_000;
const LOOKUPS: u64 = 200_000;
const COLD_READS: u64 = 2_000;
/// pywb needs milliseconds for what we need microseconds for: fewer tell as much.
const PEER_LOOKUPS: u64 = 10_000;
/// Sites that are written to .warc.gz files for the peer to read from.
const PEER_SITES: u64 = 20;
/// Reads whose bytes are compared with what was stored.
const CHECKED: u64 = 1_000;

pub(crate) fn run(args: &Args, goals: &mut Goals) -> Result<()> {
    let pages = Pages::for_captures(args.captures);
    let dir = temporary(args)?;
    let data = dir.path().join("archive");
    println!(
        "### {} captures\n\nSynthetic pages of 20 KB with head and request, {} URLs on sites of {SITE_URLS}, one URL in ten \
         with {VERSIONS} versions, filled in a crawler's order, sealed as an import does.\n",
        count(pages.visits().count() as u64),
        count(pages.urls)
    );
    fill(&pages, &data, goals)?;
    cold(&pages, &data)?;
    files::warm(&data)?;
    let store = Store::open(&data)?.0;
    ask(args, &pages, &store, dir.path(), goals)?;
    store.close()?;
    rebuild(&data)
}

fn fill(pages: &Pages, data: &Path, goals: &mut Goals) -> Result<()> {
    let making = Stopwatch::start();
    let sample = 2_000;
    for url in 0..sample {
        std::hint::black_box(pages.body(url, 1));
    }
    let making_cpu_s = making.stop().cpu_s / sample as f64;
    say(&format!("making a page takes {:.0} µs", making_cpu_s * 1e6));

    let watch = Stopwatch::start();
    let store = Store::open(data)?.0;
    let mut captures = 0u64;
    for (url, version) in pages.visits() {
        store.append(pages.capture(url, version)?)?;
        captures += 1;
        if captures.is_multiple_of(100_000) {
            say(&format!("{} captures in {:.0} s", count(captures), watch.stop().wall_s));
        }
    }
    store.seal()?;
    let cost = watch.stop();
    let store_cpu_s = cost.cpu_s - making_cpu_s * captures as f64;
    let totals = store.totals()?;
    ensure!(totals.captures == captures, "{captures} captures went in and the store counts {}", totals.captures);
    let (index, on_disk) = (store.index_bytes(), store.bytes_on_disk()?);
    let resting = Stopwatch::start();
    store.close()?;
    let allocated = files::allocated_bytes(data)?;
    let index_allocated = files::allocated_bytes(&data.join("index"))?;
    let per = |bytes: u64| bytes as f64 / captures as f64;
    let mut table = Table::new(&["filling", ""]);
    let mut row = |what: &str, figure: String| table.row([what.to_owned(), figure]);
    row("captures per second (wall)", short(captures as f64 / cost.wall_s));
    row("seconds in all", seconds(cost.wall_s));
    row("captures per CPU second, making the pages not counted", short(captures as f64 / store_cpu_s.max(1e-9)));
    row("bytes in, MB", mb(totals.bytes_in));
    row("bytes in, MB per CPU second", short(totals.bytes_in as f64 / 1e6 / store_cpu_s.max(1e-9)));
    row("on disk with index, MB", mb(on_disk));
    row("all blocks of the directory, MB", mb(allocated));
    row("on disk per capture, bytes", short(per(on_disk)));
    row("index per capture, bytes", short(per(index)));
    row("all blocks of the index per capture, closed, bytes", short(per(index_allocated)));
    row("closing, seconds", seconds(resting.stop().wall_s));
    row("peak RSS of the process, MB", mb(cost.rss_peak_bytes));
    table.print();
    goals.below("index per capture", 200.0, per(index), " bytes");
    goals.below("index per capture, all blocks of its directory", 200.0, per(index_allocated), " bytes");
    Ok(())
}

/// Opening and reading when nothing of the archive is in memory.
fn cold(pages: &Pages, data: &Path) -> Result<()> {
    files::chill(data)?;
    let open = Instant::now();
    let store = Store::open(data)?.0;
    let cold_open = open.elapsed();
    let mut dice = Dice(11);
    let looked_up = Latency::of(0..COLD_READS, |_| {
        let url = dice.below(pages.urls);
        let entry = store.newest_not_after(&surt(&pages.url(url)), pages.time(url, VERSIONS)?)?;
        let entry = entry.context("a page is missing")?;
        ensure!(store.read(&entry.id)?.is_some(), "a page cannot be read");
        Ok(())
    })?;
    store.close()?;
    let open = Instant::now();
    let store = Store::open(data)?.0;
    let warm_open = open.elapsed();
    store.close()?;
    println!(
        "With nothing in memory the archive opens in {} (again at once: {}); a page is then found and read in {} at the \
         median, {} at p99 ({} reads).\n",
        time(cold_open),
        time(warm_open),
        time(looked_up.at(0.5)),
        time(looked_up.at(0.99)),
        count(COLD_READS)
    );
    Ok(())
}

fn ask(args: &Args, pages: &Pages, store: &Store, dir: &Path, goals: &mut Goals) -> Result<()> {
    let watch = Instant::now();
    let mut ids: Vec<EntryKey> = Vec::new();
    for entry in store.scan_all() {
        ids.push(entry?.id);
    }
    let (scanned, scan_s) = (ids.len() as u64, watch.elapsed().as_secs_f64());
    check(pages, store)?;

    let mut table = Table::new(&["asking, warm", "operations/s", "p50", "p99", "p99.9", "max", "CPU p50", "CPU p99"]);
    let mut row = |what: &str, l: &Latency| {
        let [p50, p99, p999, max] = [l.at(0.5), l.at(0.99), l.at(0.999), l.max()].map(time);
        let [cpu50, cpu99] = [l.cpu_at(0.5), l.cpu_at(0.99)].map(time);
        table.row([what.to_owned(), short(l.per_s()), p50, p99, p999, max, cpu50, cpu99]);
    };
    let read = |seed: u64, n: u64| {
        let mut dice = Dice(seed << 32);
        Latency::of(0..n, |_| {
            let id = ids.get(dice.below(scanned) as usize).context("no captures")?;
            ensure!(store.read(id)?.is_some_and(|c| c.main.body.len() > 10_000), "a capture is missing");
            Ok(())
        })
    };
    say("reading");
    read(1, READS / 10)?;
    let single = read(2, READS)?;
    row("whole capture of 20 KB, one thread", &single);
    goals.below("random read of a 20 KB capture, warm, p99", 1.0, single.at(0.99).as_secs_f64() * 1e3, " ms");
    goals.below("the same, CPU time, p99", 1.0, single.cpu_at(0.99).as_secs_f64() * 1e3, " ms");
    let threads: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = [3, 4].map(|seed| scope.spawn(move || read(seed, READS))).into_iter().collect();
        handles.into_iter().map(|h| h.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a reader panicked")))).collect()
    });
    row("the same, two threads", &Latency::joined(threads.into_iter().collect::<Result<_>>()?));

    say("looking up");
    let questions = questions(pages, LOOKUPS)?;
    let mut found = 0u64;
    let lookups = Latency::of(&questions, |(key, time)| {
        found += u64::from(store.newest_not_after(key, *time)?.is_some());
        Ok(())
    })?;
    ensure!(found > LOOKUPS / 2, "most questions have an answer, but {found} of {LOOKUPS} had");
    row("newest not after a time", &lookups);
    let counts = Latency::of(&questions, |(key, _)| {
        ensure!(store.count(key)? > 0, "a page without versions");
        Ok(())
    })?;
    row("number of versions of a URL", &counts);
    let mut entries = 0u64;
    let mut dice = Dice(5 << 32);
    let sites = Latency::of(0..1000, |_| {
        let (from, to) = prefix_range(&pages.site_url(dice.below(pages.urls.div_ceil(SITE_URLS))));
        for entry in store.scan(&from, &to, false) {
            entry?;
            entries += 1;
        }
        Ok(())
    })?;
    row(&format!("list a site of {SITE_URLS} URLs, {} entries", entries / 1000), &sites);

    let (peer_lookups, peer_reads) = peer(args, pages, store, dir)?;
    let mut row = |what: &str, l: PeerReads| {
        let us = |us: f64| time(Duration::from_secs_f64(us / 1e6));
        let per_s = short(l.operations as f64 / l.seconds.max(1e-9));
        table.row([
            what.to_owned(),
            per_s,
            us(l.p50_us),
            us(l.p99_us),
            String::new(),
            us(l.max_us),
            us(l.cpu_p50_us),
            us(l.cpu_p99_us),
        ]);
    };
    row("*peer:* whole record out of .warc.gz at a known offset, warcio", peer_reads);
    row("*peer:* newest not after a time, pywb's binary search in a sorted CDXJ", peer_lookups);
    table.print();
    println!(
        "CPU is the time that the operation's own thread was running: what the wall clock has beyond it is the disk and, on a \
         shared machine, everybody else.\n"
    );
    println!(
        "Listing gives {} entries/s by site and {} entries/s over the whole archive.\n",
        short(entries as f64 / sites.wall_s),
        short(scanned as f64 / scan_s)
    );
    Ok(())
}

/// What comes out is what went in.
fn check(pages: &Pages, store: &Store) -> Result<()> {
    let mut dice = Dice(6 << 32);
    for _ in 0..CHECKED {
        let url = dice.below(pages.urls);
        let capture = pages.capture(url, dice.below(pages.versions_of(url)))?;
        ensure!(store.read(&capture.id())?.as_ref() == Some(&capture), "{} came back changed", capture.url);
    }
    Ok(())
}

fn questions(pages: &Pages, n: u64) -> Result<Vec<(String, herodotus_base::Timestamp)>> {
    let mut dice = Dice(8 << 32);
    let mut one = || {
        // Half of the questions are about URLs with a history.
        let url = dice.below(pages.urls);
        let url = if dice.below(2) == 0 { url - url % 10 } else { url };
        Ok((surt(&pages.url(url)), pages.time(dice.below(pages.urls), dice.below(VERSIONS))?))
    };
    (0..n).map(|_| one()).collect()
}

/// The same questions, put to the field's own code.
fn peer(args: &Args, pages: &Pages, store: &Store, dir: &Path) -> Result<(PeerReads, PeerReads)> {
    let tools = peers::tools(&args.data)?;
    say("writing a CDXJ and some .warc.gz files for pywb");
    let queries = dir.join("queries");
    let index = dir.join("index.cdxj");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&index)?);
    for (i, entry) in store.scan_all().enumerate() {
        let entry = entry?;
        writeln!(
            out,
            "{} {} {{\"url\": \"{}\", \"mime\": \"{}\", \"status\": \"200\", \"digest\": \"sha1:{:032X}\", \"length\": \"5000\", \
             \"offset\": \"{}\", \"filename\": \"crawl-00001.warc.gz\"}}",
            entry.id.key,
            entry.id.time.digits14(),
            entry.url,
            entry.media,
            i,
            i * 5000
        )?;
    }
    out.flush()?;
    let mut lines = String::new();
    for (key, time) in questions(pages, PEER_LOOKUPS)? {
        lines.push_str(&format!("{key} {}\n", time.digits14()));
    }
    std::fs::write(&queries, lines)?;
    let lookups = peer_reads(&tools, "lookups", &[&queries, &index])?;

    let sites = pages.urls.div_ceil(SITE_URLS);
    let mut warcs: Vec<PathBuf> = Vec::new();
    let mut lines = Vec::new();
    for n in 0..PEER_SITES.min(sites) {
        let selection =
            Selection { prefix: Some(pages.site_url(n * sites / PEER_SITES.min(sites))), ..Selection::default() };
        let (warc, cdxj) = (dir.join(format!("site-{n}.warc.gz")), dir.join(format!("site-{n}.cdxj")));
        archive::export(store, &selection, &warc, Format::Warc(Coding::Gzip), true, |_| {})?;
        let status = std::process::Command::new(tools.join("cdxj-indexer")).arg("-o").arg(&cdxj).arg(&warc).status()?;
        ensure!(status.success(), "cdxj-indexer: {status}");
        for line in std::fs::read_to_string(&cdxj)?.lines() {
            let fields: serde_json::Value = serde_json::from_str(&line[line.find('{').context("no CDXJ")?..])?;
            let field = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
            lines.push(format!("{n} {} {}\n", field("offset"), field("length")));
        }
        warcs.push(warc);
    }
    ensure!(!lines.is_empty(), "nothing was exported for the peer");
    let mut dice = Dice(9 << 32);
    let chosen: String = (0..PEER_LOOKUPS).map(|_| lines[dice.below(lines.len() as u64) as usize].as_str()).collect();
    std::fs::write(&queries, chosen)?;
    let files: Vec<&Path> = std::iter::once(&queries).chain(&warcs).map(PathBuf::as_path).collect();
    let reads = peer_reads(&tools, "reads", &files)?;
    Ok((lookups, reads))
}

/// What losing the whole index costs.
fn rebuild(data: &Path) -> Result<()> {
    say("opening without an index");
    std::fs::remove_dir_all(data.join("index"))?;
    let packs = files::length_bytes(&data.join("packs"))?;
    let watch = Stopwatch::start();
    let (store, recovery) = Store::open(data)?;
    let cost = watch.stop();
    let gb = packs as f64 / 1e9;
    println!(
        "After the whole index was deleted, opening took {} s ({} CPU s): {} captures in {} GB of packs, {} s per GB of packs, \
         {} captures/s.\n",
        seconds(cost.wall_s),
        seconds(cost.cpu_s),
        count(recovery.reindexed),
        short(gb),
        seconds(cost.wall_s / gb.max(1e-9)),
        short(recovery.reindexed as f64 / cost.wall_s.max(1e-9))
    );
    store.close()?;
    Ok(())
}
