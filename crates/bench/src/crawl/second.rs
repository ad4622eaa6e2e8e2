//! A second round over a site that did not change, beside `wget -N` over the list of its files: no peer that writes WARC
//! files asks conditionally.

use super::herodotus::Herodotus;
use super::nginx::Nginx;
use super::programs::wget_list;
use super::side_by_side::paths_of;
use super::site::Site;
use super::{Args, temporary};
use crate::cpu::{Cost, medians};
use crate::peers::say;
use crate::table::{Goals, Table, count, mb, seconds, short};
use anyhow::{Result, ensure};

const NAME: &str = "twice";

/// Requests and costs of one kind of visit.
#[derive(Debug, Default)]
struct Visits {
    requests: u64,
    costs: Vec<Cost>,
}

impl Visits {
    fn add(&mut self, nginx: &mut Nginx, visit: impl FnOnce() -> Result<Cost>) -> Result<()> {
        let before = nginx.requests()?;
        self.costs.push(visit()?);
        self.requests = nginx.requests()? - before - 1;
        Ok(())
    }

    fn cost(&self) -> Cost {
        medians(&self.costs)
    }

    fn cpu_s_per_1000(&self) -> f64 {
        self.cost().cpu_s * 1000.0 / self.requests.max(1) as f64
    }
}

pub(crate) fn run(args: &Args, goals: &mut Goals) -> Result<()> {
    let site = Site::find(&args.data, &args.site)?;
    let mut nginx = Nginx::start(&args.work, &site)?;
    let ours = Herodotus::new(args)?;
    conditional_only(args, &ours, &nginx)?;
    let paths = std::fs::read_to_string(paths_of(args, &site, &nginx)?)?;
    let [mut first, mut second, mut wget] = [const { Visits { requests: 0, costs: Vec::new() } }; 3];
    for turn in 1..=args.runs {
        say(&format!("first and second round, turn {turn}"));
        let dir = temporary(args)?;
        let seed = nginx.quiet();
        first.add(&mut nginx, || ours.crawl(dir.path(), &seed, NAME))?;
        second.add(&mut nginx, || ours.again(dir.path(), NAME))?;
        let dir = temporary(args)?;
        let list = dir.path().join("urls");
        let urls: String = paths.lines().map(|path| format!("{seed}{}\n", path.trim_start_matches('/'))).collect();
        std::fs::write(&list, urls)?;
        wget_list(dir.path(), &list, false)?;
        wget.add(&mut nginx, || wget_list(dir.path(), &list, true))?;
    }
    println!(
        "### A second round of {}, unchanged\n\nMedians of {} runs taken in turns. Requests are counted at the server.\n",
        site.name, args.runs
    );
    let mut table = Table::new(&["visit", "requests", "wall s", "requests/s", "CPU s per 1,000 URLs", "peak RSS MB"]);
    for (name, visits) in [
        ("**herodotus crawl**, first round", &first),
        ("**herodotus crawl**, second round", &second),
        ("`wget -N` over a list", &wget),
    ] {
        let cost = visits.cost();
        table.row([
            name.to_owned(),
            count(visits.requests),
            seconds(cost.wall_s),
            short(visits.requests as f64 / cost.wall_s.max(1e-9)),
            short(visits.cpu_s_per_1000()),
            mb(cost.rss_peak_bytes),
        ]);
    }
    table.print();
    let faster = first.cost().wall_s / second.cost().wall_s.max(1e-9);
    goals.at_least("a second, unchanged round, times as fast as the first", 3.0, faster, " ×");
    goals.at_most("… CPU s per 1,000 URLs", 0.2, second.cpu_s_per_1000(), "");
    Ok(())
}

/// A fast second round that fetched everything again, or nothing, would be no second round.
fn conditional_only(args: &Args, ours: &Herodotus, nginx: &Nginx) -> Result<()> {
    let dir = temporary(args)?;
    nginx.traffic()?;
    ours.crawl(dir.path(), &nginx.logged(), NAME)?;
    let first = nginx.traffic()?;
    ours.again(dir.path(), NAME)?;
    let second = nginx.traffic()?;
    let known = first.pages + first.others - first.repeated();
    say(&format!(
        "second round: {} of {known} answered with 304, {} with 200",
        second.not_modified,
        second.pages + second.others
    ));
    ensure!(
        second.not_modified == known && second.pages == 0,
        "the second round of {known} URLs got {} answers 304, {} pages and {} other files",
        second.not_modified,
        second.pages,
        second.others
    );
    Ok(())
}
