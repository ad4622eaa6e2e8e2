//! Measures Herodotus beside what people use. Tables go to standard output, ready for `docs/figures.md`; what is going on
//! goes to standard error.
//!
//! Every figure is taken in one run on one machine together with its peer's, and CPU time is told beside wall time, because
//! machines are shared and wall time is not ours alone.

mod cpu;
mod crawl;
mod frontier;
mod home;
mod latency;
mod peers;
mod replay;
mod ring;
mod rpc;
mod store;
mod table;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "herodotus-bench", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The store: sizes, import rate, a million captures, commits
    Store(store::Args),
    /// The crawler: beside other crawlers, a second round, a million pages, links
    Crawl(crawl::Args),
    /// Replay: beside pywb, and how soon a node answers
    Replay(replay::Args),
    /// The frontier alone: fifty million URLs, and what stays in memory
    Frontier(frontier::Args),
    /// Calls between peers: beside bare iroh, small ones and bulk
    Rpc(rpc::Args),
    /// A ring: comparing, acknowledging, reading from afar, filling a new machine; crawls together
    Ring(ring::Args),
    /// Fetch a list of paths and nothing else: the limit that crawlers are measured by
    #[command(hide = true)]
    Bare(crawl::Bare),
    /// Run one command and print what it cost as JSON: how this program measures others
    #[command(hide = true)]
    Measured(cpu::Measured),
}

fn main() -> Result<()> {
    match Cli::parse().what {
        What::Store(args) => store::run(&args),
        What::Crawl(args) => crawl::run(&args),
        What::Replay(args) => replay::run(&args),
        What::Frontier(args) => frontier::run(&args),
        What::Rpc(args) => rpc::run(&args),
        What::Ring(args) => ring::run(&args),
        What::Bare(bare) => bare.run(),
        What::Measured(measured) => measured.run(),
    }
}
