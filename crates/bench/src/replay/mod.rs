//! Replay's figures: requests per second, p99 and CPU beside pywb under uwsgi with two processes, over the same captures, on the
//! same machine, asked by wrk in the same way; and how soon `herodotus node` answers on a million captures.
//!
//! Pages, pictures, index queries and TimeMaps are each asked in a round over many of them, so that neither side answers one thing
//! out of its memory; and once more one page alone.

mod corpus;
mod servers;
mod start;
mod wrk;

use crate::table::{Goals, Table, count, short};
use anyhow::Result;
use clap::ValueEnum;
use corpus::Corpus;
use servers::Server;
use std::path::PathBuf;
use wrk::Load;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where sites and peers are, or are made
    #[arg(long, value_name = "DIR", default_value = "/tmp/herodotus-bench")]
    data: PathBuf,

    /// Where archives go for as long as they are needed
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    work: PathBuf,

    /// Seconds for each measurement
    #[arg(long, value_name = "N", default_value_t = 8)]
    seconds: u64,

    /// Connections at once
    #[arg(long, value_name = "N", default_value_t = 64)]
    connections: u64,

    /// Captures that a cold start finds
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    captures: u64,

    /// Only these parts
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    only: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Requests per second, ours alone
    Herodotus,
    /// The same of pywb
    Pywb,
    /// Cold start on many captures
    Start,
}

/// What is asked, how it is named, and how many times faster than pywb it is to be.
const WORK: [(&str, f64); 5] =
    [("rewritten pages", 25.0), ("one page alone", 25.0), ("pictures", 30.0), ("CDX", 30.0), ("TimeMap", 30.0)];
const P99_MS_MAX: f64 = 20.0;
const PAGE_CPU_MS_MAX: f64 = 0.6;

pub(crate) fn run(args: &Args) -> Result<()> {
    if cfg!(debug_assertions) {
        crate::peers::say("this is a debug build: figures mean nothing. Use `cargo run --release`.");
    }
    let chosen = |part| args.only.is_empty() || args.only.contains(&part);
    let given: Vec<String> = std::env::args().skip(1).collect();
    println!("## Replay\n\n`cargo run --release -p herodotus-bench -- {}`\n", given.join(" "));
    let mut goals = Goals::default();
    if chosen(Part::Herodotus) || chosen(Part::Pywb) {
        side_by_side(args, &mut goals, chosen(Part::Herodotus), chosen(Part::Pywb))?;
    }
    if chosen(Part::Start) {
        start::measure(&args.work, args.captures, &mut goals)?;
    }
    goals.print();
    Ok(())
}

fn side_by_side(args: &Args, goals: &mut Goals, ours: bool, theirs: bool) -> Result<()> {
    let corpus = Corpus::make(&args.data, &args.work)?;
    println!("{}\n", corpus.words());
    let ours = ours.then(|| loads(args, &corpus, Server::herodotus(&corpus)?)).transpose()?;
    let theirs = theirs.then(|| loads(args, &corpus, Server::pywb(&args.data, &corpus)?)).transpose()?;
    let mut table = Table::new(&[
        "asked",
        "server",
        "requests/s",
        "p50 ms",
        "p99 ms",
        "CPU ms per request",
        "not 200",
        "peak RSS MB",
    ]);
    for (i, (what, times)) in WORK.iter().enumerate() {
        let pair = [("herodotus", &ours), ("pywb", &theirs)];
        for (name, loads) in pair {
            let Some(load) = loads.as_ref().and_then(|l| l.get(i)) else { continue };
            table.row([
                (*what).to_owned(),
                name.to_owned(),
                short(load.requests_per_s),
                short(load.p50_ms),
                short(load.p99_ms),
                short(load.cpu_ms),
                count(load.errors),
                short(load.rss_mb),
            ]);
        }
        let (Some(ours), theirs) = (ours.as_ref().and_then(|l| l.get(i)), theirs.as_ref().and_then(|l| l.get(i)))
        else {
            continue;
        };
        if let Some(theirs) = theirs {
            goals.at_least(
                &format!("{what}, of pywb's requests/s"),
                *times,
                ours.requests_per_s / theirs.requests_per_s,
                " ×",
            );
        }
        goals.below(&format!("{what}, p99 at {} connections", args.connections), P99_MS_MAX, ours.p99_ms, " ms");
        if i == 0 {
            goals.below(&format!("{what}, CPU per page"), PAGE_CPU_MS_MAX, ours.cpu_ms, " ms");
        }
    }
    table.print();
    Ok(())
}

/// Every workload against one server, in order.
fn loads(args: &Args, corpus: &Corpus, server: Server) -> Result<Vec<Load>> {
    let lists = server.paths(corpus);
    lists.iter().map(|paths| wrk::load(&server, paths, args.connections, args.seconds)).collect()
}
