//! The frontier alone: so many URLs on disk, and what stays in memory.

use crate::cpu::Stopwatch;
use crate::peers::say;
use crate::store::files;
use crate::table::{Goals, Table, count, mb, seconds, short};
use anyhow::{Context, Result, ensure};
use herodotus_base::Timestamp;
use herodotus_frontier::{Frontier, Next, Scope, Settings};
use herodotus_node::crawl::DiskTable;
use herodotus_page::WebUrl;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// URLs to take in
    #[arg(long, value_name = "N", default_value_t = 50_000_000)]
    urls: u64,

    /// Hosts that they are spread over
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    hosts: u64,

    /// Where the state goes for as long as it is needed
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    work: PathBuf,
}

/// Taken in between two writes, as a page with many links would bring.
const URLS_AT_ONCE: u64 = 2_000;
const MIB: f64 = 1024.0 * 1024.0;

pub(crate) fn run(args: &Args) -> Result<()> {
    let dir = tempfile::tempdir_in(&args.work).context("making a temporary directory")?;
    let settings = Settings { scope: Scope::Any, ..Settings::default() };
    let now = Timestamp::now();
    let watch = Stopwatch::start();
    let began = Instant::now();
    let mut frontier = Frontier::open(DiskTable::open(dir.path())?, settings.clone(), now)?;
    let mut first = 0;
    while first < args.urls {
        let last = (first + URLS_AT_ONCE).min(args.urls);
        // Hosts come in no order, as links do.
        let url = |n: u64| {
            WebUrl::parse(&format!(
                "http://site-{}.example/articles/{n}.html",
                n.wrapping_mul(0x9e37_79b9) % args.hosts
            ))
        };
        let urls: Vec<WebUrl> = (first..last).map(url).collect::<Result<_, _>>()?;
        frontier.handle_seeds(now, &urls)?;
        if first / 5_000_000 != last / 5_000_000 {
            say(&format!(
                "{} URLs, {:.0} s, {:.0} MiB at most",
                count(last),
                began.elapsed().as_secs_f64(),
                watch.stop().rss_peak_bytes as f64 / MIB
            ));
        }
        first = last;
    }
    frontier.sync()?;
    let cost = watch.stop();
    drop(frontier);
    let opening = Instant::now();
    let mut frontier = Frontier::open(DiskTable::open(dir.path())?, settings, now)?;
    let open_s = opening.elapsed().as_secs_f64();
    ensure!(frontier.progress().urls == args.urls, "{:?}", frontier.progress());
    ensure!(matches!(frontier.poll(now)?, Next::Visit(_)), "nothing to visit");
    println!("### {} URLs on {} hosts\n", count(args.urls), count(args.hosts));
    let mut table =
        Table::new(&["URLs", "wall s", "URLs/s", "CPU µs per URL", "peak RSS MiB", "on disk MB", "opened again s"]);
    let rss_mib = watch.stop().rss_peak_bytes as f64 / MIB;
    table.row([
        count(args.urls),
        seconds(cost.wall_s),
        short(args.urls as f64 / cost.wall_s),
        short(cost.cpu_s * 1e6 / args.urls as f64),
        short(rss_mib),
        mb(files::allocated_bytes(dir.path())?),
        seconds(open_s),
    ]);
    table.print();
    let mut goals = Goals::default();
    goals.below(&format!("resident memory with {} URLs", count(args.urls)), 1024.0, rss_mib, " MiB");
    goals.print();
    Ok(())
}
