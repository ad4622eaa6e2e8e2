//! Copies in a ring: what comparing costs, how soon a write is acknowledged, how fast a new machine is filled, and what it costs to read from
//! a machine that has to ask another. All machines live in this process and speak over the loop, so that CPU time is everybody's. And crawls ([`crawl`]), by nodes
//! that are processes of their own.

mod acknowledge;
mod compare;
mod crawl;
mod lab;
mod line;
mod machines;
mod reading;
mod refill;

use crate::store::pages::Pages;
use crate::table::Goals;
use anyhow::{Result, ensure};
use machines::Ring;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Captures that the ring holds, 20 KB each
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    captures: u64,

    /// Writes that wait to be acknowledged, one after another
    #[arg(long, value_name = "N", default_value_t = 300)]
    writes: u64,

    /// Pages read, each once on a machine that holds it and once on one that does not
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    reads: usize,

    /// Lines that a new machine is filled over: Mbit/s, with a round trip in ms or without, or `loop`
    #[arg(long, value_name = "LINE", value_delimiter = ',', default_value = "100/20,100/100,300/20,300/100,1000,loop")]
    lines: Vec<line::Line>,

    #[command(flatten)]
    crawl: crawl::Args,

    /// Only these: compare, acknowledge, read, refill; links, scale, work, or crawl for these three [default: all]
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    only: Vec<String>,
}

/// Copies of everything, on one machine more.
const COPIES: u16 = 6;

pub(crate) fn run(args: &Args) -> Result<()> {
    let known = [&["compare", "acknowledge", "read", "refill", "crawl"][..], &crawl::PARTS].concat();
    for what in &args.only {
        ensure!(known.contains(&what.as_str()), "{what} is none of {}", known.join(", "));
    }
    let wants = |what: &str| args.only.is_empty() || args.only.iter().any(|only| only == what);
    // First of all: it may start the program again.
    let lines = if wants("refill") { line::where_they_can_be(&args.lines)? } else { Vec::new() };
    let mut goals = Goals::default();
    if wants("compare") {
        compare::run()?;
    }
    let pages = Pages::for_captures(args.captures);
    if wants("acknowledge") || wants("read") {
        let ring = Ring::of(usize::from(COPIES) + 1, COPIES)?;
        if wants("acknowledge") {
            acknowledge::run(&ring, &pages, args.writes)?;
        }
        if wants("read") {
            reading::run(&ring, &pages, args.reads, &mut goals)?;
        }
    }
    if wants("refill") {
        refill::run(&pages, &lines, &mut goals)?;
    }
    crawl::run(&args.crawl, |what| wants(what) || args.only.iter().any(|only| only == "crawl"), &mut goals)?;
    goals.print();
    Ok(())
}
