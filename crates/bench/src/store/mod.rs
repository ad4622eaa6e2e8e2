//! The store's figures: how small, how fast in, how fast out, how safe at what price.

mod commit;
mod counting;
pub(crate) mod files;
mod import_rate;
mod million;
pub(crate) mod pages;
mod ship;
mod sizes;

use crate::table::Goals;
use anyhow::Result;
use clap::ValueEnum;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the real histories are, or are made
    #[arg(long, value_name = "DIR", default_value = "/tmp/herodotus-bench")]
    pub(crate) data: PathBuf,

    /// Where temporary archives go
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    pub(crate) work: PathBuf,

    /// Captures in the large archive
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) captures: u64,

    /// Runs of each program whose CPU time is measured; the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) repeats: usize,

    /// Only these parts
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    pub(crate) only: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Bytes on disk against .warc.gz
    Sizes,
    /// Import rate against cdxj-indexer and wb-manager
    Import,
    /// Reads, lookups and recovery in a large archive
    Million,
    /// What a durable write costs
    Commit,
    /// What filling another archive costs both
    Ship,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if cfg!(debug_assertions) {
        crate::peers::say("this is a debug build: figures mean nothing. Use `cargo run --release`.");
    }
    let chosen = |part| args.only.is_empty() || args.only.contains(&part);
    let mut goals = Goals::default();
    let given: Vec<String> = std::env::args().skip(1).collect();
    println!("## The store\n\n`cargo run --release -p herodotus-bench -- {}`\n", given.join(" "));
    if chosen(Part::Sizes) {
        sizes::run(args, &mut goals)?;
    }
    if chosen(Part::Import) {
        import_rate::run(args, &mut goals)?;
    }
    if chosen(Part::Million) {
        million::run(args, &mut goals)?;
    }
    if chosen(Part::Commit) {
        commit::run(args)?;
    }
    if chosen(Part::Ship) {
        ship::run(args)?;
    }
    goals.print();
    Ok(())
}

/// A directory for temporary archives that is gone when the measurement is over, also if it fails.
pub(crate) fn temporary(args: &Args) -> Result<tempfile::TempDir> {
    std::fs::create_dir_all(&args.work)?;
    Ok(tempfile::Builder::new().prefix("herodotus-bench-").tempdir_in(&args.work)?)
}
