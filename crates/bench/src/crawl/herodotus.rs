//! Our own crawl, as a person would start it on a machine of their own: everything that can be reached from the seed, politeness
//! off, into a new archive.

use super::Args;
use crate::cpu::{Cost, measure_accepting};
use crate::peers;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Politeness may be switched off only where we are at home.
const LOOPBACK: &str = "127.0.0.0/8";

#[derive(Debug)]
pub(crate) struct Herodotus {
    program: PathBuf,
    concurrency: String,
    with: Vec<String>,
}

impl Herodotus {
    pub(crate) fn new(args: &Args) -> Result<Self> {
        Ok(Self { program: peers::herodotus()?, concurrency: args.concurrency.to_string(), with: args.with.clone() })
    }

    /// Crawls one site into `archive` below a directory. The same name again is the next round.
    pub(crate) fn crawl(&self, at: &Path, seed: &str, name: &str) -> Result<Cost> {
        self.run(at, &[seed, "--scope", "host", "--name", name])
    }

    /// The next round of a crawl that is there.
    pub(crate) fn again(&self, at: &Path, name: &str) -> Result<Cost> {
        self.run(at, &["--name", name])
    }

    /// Crawls many hosts that are all served at one address.
    pub(crate) fn crawl_all(&self, at: &Path, seed: &str, address: &str) -> Result<Cost> {
        self.run(at, &[seed, "--scope", "any", "--name", "all", "--connect-to", &format!("*={address}")])
    }

    fn run(&self, at: &Path, arguments: &[&str]) -> Result<Cost> {
        let mut all = vec!["--data", "archive", "crawl"];
        all.extend(arguments);
        all.extend(["--delay", "0", "--concurrency", &self.concurrency, "--allow-private", LOOPBACK]);
        all.extend(["--contact", "bench@example.org"]);
        all.extend(self.with.iter().map(String::as_str));
        measure_accepting(at, &self.program, &all, &[0]).context("herodotus crawl")
    }
}
