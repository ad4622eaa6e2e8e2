//! Crawls of a ring: what links cost on the wire, how many pages a second more machines bring, and what a page costs in CPU beside a crawl of one machine alone.
//!
//! The nodes are real processes; the web is `testweb`, served from this process on the same two cores.

mod links;
mod nodes;
mod scale;
mod work;

use crate::peers::say;
use crate::table::Goals;
use anyhow::Result;
use herodotus_testweb::{Config, Server, Web};
use nodes::{Nodes, Plan};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Crawls: hosts of the web, and pages of each
    #[arg(long, value_name = "N", default_value_t = 150)]
    hosts: u32,
    #[arg(long, value_name = "N", default_value_t = 60)]
    pages_per_host: u32,

    /// Crawls: machines where their number is not what is measured
    #[arg(long, value_name = "N", default_value_t = 5)]
    machines: usize,

    /// Crawls with a narrow line: KB/s of each machine
    #[arg(long, value_name = "KB", default_value_t = 256)]
    line_kb_per_s: u64,

    /// Crawls with a narrow line: numbers of machines
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 4, 8])]
    numbers: Vec<usize>,

    /// Crawls with a narrow line: pages of the web for each machine
    #[arg(long, value_name = "N", default_value_t = 1_500)]
    pages_per_machine: u32,

    /// Crawls with a narrow line: places on the circle of each machine
    #[arg(long, value_name = "N", default_value_t = 16)]
    virtual_nodes: u16,

    /// Crawls: who fetches
    #[arg(long, value_name = "STRATEGY", default_value = "owner")]
    strategy: String,

    /// Crawls: runs, alone and together in turns; the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,

    /// More arguments for every node, to try one setting beside another
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    with: Vec<String>,
}

/// The parts that `--only` may name.
pub(super) const PARTS: [&str; 3] = ["links", "scale", "work"];

pub(super) fn run(args: &Args, wants: impl Fn(&str) -> bool, goals: &mut Goals) -> Result<()> {
    if cfg!(debug_assertions) {
        say("this is a debug build: figures mean nothing. Use `cargo run --release`.");
    }
    if wants("links") {
        links::run(args, goals)?;
    }
    if wants("scale") {
        scale::run(args, goals)?;
    }
    if wants("work") {
        work::run(args, goals)?;
    }
    Ok(())
}

/// Politeness is off: what is measured is us.
fn definition(strategy: &str) -> [&str; 8] {
    ["--delay", "0", "--concurrency", "8", "--requests", "32", "--strategy", strategy]
}

/// A web whose pages have as many links as pages of the web have, and of which nothing comes or goes.
fn web(hosts: u32, pages_per_host: u32) -> Web {
    let (late_percent, mortal_percent) = (0, 0);
    let (links_max, pictures_max) = (60, 1);
    Web::new(Config {
        hosts,
        pages_per_host,
        late_percent,
        mortal_percent,
        links_max,
        pictures_max,
        ..Config::default()
    })
}

fn seed(server: &Server) -> Vec<String> {
    server.web().hosts().take(1).map(|host| format!("http://{host}/")).collect()
}

impl Args {
    fn plan(&self, machines: usize, copies: u16, virtual_nodes: u16, servers: &[&Server]) -> Plan {
        let dials = (0..machines).map(|at| servers[at % servers.len()].addr().to_string()).collect();
        Plan { copies, virtual_nodes, dials, with: self.with.clone() }
    }

    fn ring(&self, plan: &Plan) -> Result<Nodes> {
        say(&format!("a ring of {} machines, {} copies", plan.dials.len(), plan.copies));
        Nodes::start(plan)
    }
}
