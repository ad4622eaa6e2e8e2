//! Every chosen program crawls the same site. First each one once where requests are counted, which also warms the caches; then
//! in turns where nothing is written down, so that a busy machine is busy for all.

use super::nginx::{Nginx, Traffic};
use super::programs::{Program, Programs};
use super::site::Site;
use super::{Args, temporary};
use crate::cpu::{Cost, medians};
use crate::peers::say;
use crate::store::files;
use crate::table::{Goals, Table, count, mb, seconds, short};
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;

/// A program may fetch a little more or less from run to run; beyond this share its pages per second would be wrong.
const REQUESTS_APART_MAX: f64 = 0.01;

/// What a program did, and what it cost.
#[derive(Debug)]
struct Outcome {
    program: Program,
    traffic: Traffic,
    written_bytes: u64,
    costs: Vec<Cost>,
}

impl Outcome {
    fn cost(&self) -> Cost {
        medians(&self.costs)
    }

    fn pages_per_s(&self) -> f64 {
        self.traffic.pages as f64 / self.cost().wall_s.max(1e-9)
    }

    fn cpu_s_per_1000_pages(&self) -> f64 {
        self.cost().cpu_s * 1000.0 / self.traffic.pages.max(1) as f64
    }
}

pub(crate) fn run(args: &Args, goals: &mut Goals) -> Result<()> {
    let chosen: Vec<Program> = Program::ALL.into_iter().filter(|p| args.chosen(p.part())).collect();
    if chosen.is_empty() {
        return Ok(());
    }
    let site = Site::find(&args.data, &args.site)?;
    let mut nginx = Nginx::start(&args.work, &site)?;
    let list = paths_of(args, &site, &nginx)?;
    let programs = Programs::get(args, &chosen, list)?;
    let mut outcomes = Vec::new();
    for program in chosen {
        outcomes.push(counted(args, &programs, program, &nginx)?);
    }
    for turn in 1..=args.runs {
        for outcome in &mut outcomes {
            // A minute and a half each; it is counted by its first run.
            if outcome.program != Program::Scrapy {
                say(&format!("{}, turn {turn}", outcome.program.name()));
                measured(args, &programs, outcome, &mut nginx)?;
            }
        }
    }
    print(args, &site, &outcomes);
    compare(&outcomes, goals);
    Ok(())
}

/// The paths that answer with 200, as wget finds them: what the bare loop and `wget -i` fetch. Kept beside the site.
pub(crate) fn paths_of(args: &Args, site: &Site, nginx: &Nginx) -> Result<PathBuf> {
    let list = args.data.join("sites").join(format!("{}.paths", site.name.replace('/', "_")));
    if !list.exists() {
        say("letting wget find the paths of the site (once)");
        let programs = Programs::get(args, &[], PathBuf::new())?;
        nginx.traffic()?;
        programs.run(Program::WgetPlain, temporary(args)?.path(), &nginx.logged())?;
        let paths: Vec<String> = nginx.traffic()?.paths.into_keys().collect();
        std::fs::create_dir_all(list.parent().context("a list beside no site")?)?;
        std::fs::write(&list, paths.join("\n") + "\n")?;
    }
    Ok(list.canonicalize()?)
}

fn counted(args: &Args, programs: &Programs, program: Program, nginx: &Nginx) -> Result<Outcome> {
    say(&format!("{}, counted", program.name()));
    let dir = temporary(args)?;
    nginx.traffic()?;
    let cost = programs.run(program, dir.path(), &nginx.logged())?;
    let traffic = nginx.traffic()?;
    ensure!(traffic.pages > 0, "{} fetched no page", program.name());
    say(&format!(
        "{} pages, {} other files, {} refused or missing, {} asked for again, {:.2} s, CPU {:.2} s",
        count(traffic.pages),
        count(traffic.others),
        traffic.rest,
        traffic.repeated(),
        cost.wall_s,
        cost.cpu_s
    ));
    let costs = if program == Program::Scrapy { vec![cost] } else { Vec::new() };
    Ok(Outcome { program, traffic, written_bytes: files::allocated_bytes(dir.path())?, costs })
}

fn measured(args: &Args, programs: &Programs, outcome: &mut Outcome, nginx: &mut Nginx) -> Result<()> {
    let dir = temporary(args)?;
    let before = nginx.requests()?;
    let cost = programs.run(outcome.program, dir.path(), &nginx.quiet())?;
    // Asking for the number is a request too.
    let requests = nginx.requests()? - before - 1;
    let apart = requests.abs_diff(outcome.traffic.requests()) as f64 / requests.max(1) as f64;
    ensure!(
        apart <= REQUESTS_APART_MAX,
        "{} sent {requests} requests, and {} when they were counted",
        outcome.program.name(),
        outcome.traffic.requests()
    );
    say(&format!("{:.2} s, CPU {:.2} s, {} MB resident", cost.wall_s, cost.cpu_s, mb(cost.rss_peak_bytes)));
    outcome.costs.push(cost);
    Ok(())
}

fn print(args: &Args, site: &Site, outcomes: &[Outcome]) {
    println!(
        "### A crawl of {}, beside others\n\nServed by nginx with one worker on the same machine, politeness off, {} requests at \
         once where a program takes a number. Medians of {} runs taken in turns (scrapy: one run). *Pages* is HTML, *other files* everything \
         else, both answered with 200 and counted at the server; *on disk* is what lay there at the end (`du`).\n",
        site.name, args.concurrency, args.runs
    );
    let mut table = Table::new(&[
        "program",
        "pages",
        "other files",
        "MB fetched",
        "wall s",
        "pages/s",
        "CPU s per 1,000 pages",
        "peak RSS MB",
        "on disk MB",
    ]);
    for outcome in outcomes {
        let cost = outcome.cost();
        table.row([
            outcome.program.name().to_owned(),
            count(outcome.traffic.pages),
            count(outcome.traffic.others),
            mb(outcome.traffic.body_bytes),
            seconds(cost.wall_s),
            short(outcome.pages_per_s()),
            short(outcome.cpu_s_per_1000_pages()),
            mb(cost.rss_peak_bytes),
            mb(outcome.written_bytes),
        ]);
    }
    table.print();
}

fn compare(outcomes: &[Outcome], goals: &mut Goals) {
    let find = |program| outcomes.iter().find(|outcome| outcome.program == program);
    let Some(ours) = find(Program::Herodotus) else { return };
    for (wget, what) in [(Program::WgetGzip, "wget `--warc-file`"), (Program::WgetPlain, "… without gzip")] {
        if let Some(wget) = find(wget) {
            goals.at_least(&format!("pages/s, of {what}"), 8.0, ours.pages_per_s() / wget.pages_per_s(), " ×");
        }
    }
    if let Some(spider) = find(Program::Spider) {
        goals.at_least("pages/s, of `spider`", 1.0, ours.pages_per_s() / spider.pages_per_s(), " ×");
        let share = ours.cpu_s_per_1000_pages() / spider.cpu_s_per_1000_pages();
        goals.at_most("CPU per 1,000 pages, of `spider`", 1.0, share, " ×");
    }
    if let Some(bare) = find(Program::Bare) {
        println!(
            "To the bare loop: {} of its pages per second, {} × its CPU.\n",
            short(ours.pages_per_s() / bare.pages_per_s()),
            short(ours.cpu_s_per_1000_pages() / bare.cpu_s_per_1000_pages())
        );
    }
}
