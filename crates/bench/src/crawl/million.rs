//! Memory of a large crawl: a million pages of testweb on many hosts. Its server is a process of its own on the same two cores, so
//! pages per second here are a lower bound.

use super::herodotus::Herodotus;
use super::{Args, temporary};
use crate::peers::{self, say};
use crate::store::files;
use crate::table::{Goals, Table, count, mb, seconds, short};
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Wide rather than deep: per-host state is what a crawler's memory tends to go into.
const PAGES_PER_HOST: u64 = 1000;
const MIB: f64 = 1024.0 * 1024.0;

pub(crate) fn run(args: &Args, goals: &mut Goals) -> Result<()> {
    let ours = Herodotus::new(args)?;
    let mut web = Web::start(args.pages.div_ceil(PAGES_PER_HOST))?;
    say(&format!("crawling {} pages of testweb from {} on", count(args.pages), web.seed));
    let dir = temporary(args)?;
    let cost = ours.crawl_all(dir.path(), &web.seed, &web.address)?;
    let requests = web.requests()?;
    ensure!(requests >= args.pages, "{requests} requests are fewer than the {} pages", args.pages);
    println!(
        "### {} pages of testweb on {} hosts\n\nThe server shares the machine. Requests are for pages, what they show, and robots.txt.\n",
        count(args.pages),
        count(args.pages.div_ceil(PAGES_PER_HOST))
    );
    let mut table = Table::new(&[
        "crawl",
        "requests",
        "wall s",
        "requests/s",
        "CPU s per 1,000 requests",
        "peak RSS MiB",
        "archive MB",
    ]);
    let rss_mib = cost.rss_peak_bytes as f64 / MIB;
    table.row([
        "**herodotus crawl**".to_owned(),
        count(requests),
        seconds(cost.wall_s),
        short(requests as f64 / cost.wall_s.max(1e-9)),
        short(cost.cpu_s * 1000.0 / requests.max(1) as f64),
        short(rss_mib),
        mb(files::allocated_bytes(dir.path())?),
    ]);
    table.print();
    goals.below(&format!("resident memory, crawl of {} pages", count(args.pages)), 500.0, rss_mib, " MiB");
    Ok(())
}

/// `testweb`'s example `serve`, which ends when it is told to or when its input ends.
struct Web {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// `ADDRESS:PORT`
    address: String,
    seed: String,
}

impl Web {
    fn start(hosts: u64) -> Result<Self> {
        let mut process = Command::new(peers::example("herodotus-testweb", "serve")?)
            .args(["--hosts", &hosts.to_string(), "--pages", &PAGES_PER_HOST.to_string()])
            .args(["--busy", "0", "--crawl-delay", "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take().context("no input to testweb")?;
        let mut output = BufReader::new(process.stdout.take().context("no output of testweb")?).lines();
        let mut line = || output.next().context("testweb ended at once")?.context("reading from testweb");
        let (address, seed) = (line()?, line()?);
        let address = address.strip_prefix("http://").context("testweb's first line is no address")?.to_owned();
        Ok(Self { process, input, output, address, seed })
    }

    fn requests(&mut self) -> Result<u64> {
        writeln!(self.input, "requests")?;
        let line = self.output.next().context("testweb ended")??;
        let number = line.split(' ').next().and_then(|word| word.parse().ok());
        number.with_context(|| format!("testweb said {line:?} to `requests`"))
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
