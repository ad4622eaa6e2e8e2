//! The crawler's figures: pages per second, CPU and memory beside what people crawl with, on real documentation served by nginx
//! on the same machine, politeness off; what a second round costs; memory over a million pages; how fast links are read.
//!
//! What a program fetched is counted at the server, the same way for all of them.

mod bare;
mod herodotus;
mod links;
mod million;
mod nginx;
mod programs;
mod second;
mod side_by_side;
mod site;

pub(crate) use bare::Bare;
pub(crate) use site::Site;

use crate::table::Goals;
use anyhow::Result;
use clap::ValueEnum;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where sites and peers are, or are made
    #[arg(long, value_name = "DIR", default_value = "/tmp/herodotus-bench")]
    pub(crate) data: PathBuf,

    /// Where archives and mirrors go for as long as they are needed
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    pub(crate) work: PathBuf,

    /// The site: small (about 4,300 pages), large (above 20,000), or a folder of your own with an index.html
    #[arg(long, value_name = "DIR|small|large", default_value = "small")]
    pub(crate) site: String,

    /// Runs of each program, in turns; the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) runs: usize,

    /// Requests at once, for every program that takes a number
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(crate) concurrency: usize,

    /// Pages of the large crawl
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) pages: u64,

    /// More arguments for `herodotus crawl`, to try one setting beside another
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub(crate) with: Vec<String>,

    /// Only these parts
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    pub(crate) only: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Our crawl, beside the others chosen
    Herodotus,
    /// wget with a WARC file, compressed and not
    Wget,
    /// The crate `spider`
    Spider,
    /// Scrapy, keeping bodies only
    Scrapy,
    /// A loop that only fetches: the limit
    Bare,
    /// A second round over the unchanged site
    Second,
    /// Memory of a crawl of a million pages
    Million,
    /// Links read per second on one core
    Links,
}

impl Args {
    pub(crate) fn chosen(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if cfg!(debug_assertions) {
        crate::peers::say("this is a debug build: figures mean nothing. Use `cargo run --release`.");
    }
    let mut goals = Goals::default();
    let given: Vec<String> = std::env::args().skip(1).collect();
    println!("## The crawler\n\n`cargo run --release -p herodotus-bench -- {}`\n", given.join(" "));
    side_by_side::run(args, &mut goals)?;
    if args.chosen(Part::Second) {
        second::run(args, &mut goals)?;
    }
    if args.chosen(Part::Million) {
        million::run(args, &mut goals)?;
    }
    if args.chosen(Part::Links) {
        links::run(args, &mut goals)?;
    }
    goals.print();
    Ok(())
}

/// A directory that is gone when the measurement is over, also if it fails.
fn temporary(args: &Args) -> Result<tempfile::TempDir> {
    Ok(tempfile::Builder::new().prefix("herodotus-bench-").tempdir_in(&args.work)?)
}
