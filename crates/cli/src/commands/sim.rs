//! `sim`: what would happen to a ring, on virtual time.

use super::sim_copies::CopiesSim;
use crate::Session;
use crate::show::{count, json_line};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use herodotus_sim::crawl::{self, Strategy, Workload};
use herodotus_sim::ring::{Options, run};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// See what a protocol does with thousands of machines, on this one.
#[derive(Debug, Args)]
pub(crate) struct Sim {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Simulate a ring: what it costs to keep, how lookups go, and what becomes of it when machines die
    Ring(RingSim),
    /// Simulate a crawl by many machines: who fetches, how evenly, how fast, and what they say to each other
    Crawl(CrawlSim),
    /// Simulate copies over months: what is lost and what repair costs when machines come and go
    Copies(CopiesSim),
}

#[derive(Debug, Args)]
struct RingSim {
    /// Machines
    #[arg(long, default_value_t = 1000, value_name = "N")]
    nodes: usize,

    /// The same seed gives the same simulation, message by message
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,

    /// Virtual minutes that the ring is left alone, that churn lasts, and that it has to mend
    #[arg(long, default_value_t = 5.0, value_name = "M")]
    minutes: f64,

    /// Machines die without a word, half of them within so many minutes, and others come
    #[arg(long, value_name = "MINUTES")]
    churn_median: Option<f64>,

    /// This share of all machines dies at one moment
    #[arg(long, value_name = "SHARE")]
    kill: Option<f64>,

    /// Look up by successors and fingers only, one question at a time, as the Chord paper does
    #[arg(long)]
    fingers_only: bool,

    /// Nobody asks whether its neighbours live, so that nothing mends
    #[arg(long)]
    no_mending: bool,

    /// This share of all messages is lost
    #[arg(long, default_value_t = 0.0, value_name = "P")]
    loss: f64,

    /// Machines in a successor list
    #[arg(long, default_value_t = Options::default().depth, value_name = "R")]
    depth: usize,

    /// Virtual nodes of each machine
    #[arg(long, default_value_t = 1, value_name = "V")]
    virtuals: u16,

    /// Peers that a node remembers
    #[arg(long, default_value_t = Options::default().known_max, value_name = "N")]
    known: usize,

    /// Lookups in each part of the simulation that has any
    #[arg(long, default_value_t = Options::default().lookups, value_name = "N")]
    lookups: usize,

    /// Lookups by each machine before anything else, so that it knows others as after hours of use
    #[arg(long, default_value_t = 0, value_name = "N")]
    warming: usize,

    /// Draw hops, right lookups and traffic into this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct CrawlSim {
    /// Which crawl: exhaustive (every link), sites (within 45 hosts) or one (within a single one)
    #[arg(long, default_value = "exhaustive", value_name = "NAME")]
    workload: Workload,

    /// Who fetches: owner, url, host, host-n, redirect, near; or all of these, one after the other
    #[arg(long, default_value = "owner", value_name = "NAME")]
    strategy: String,

    /// Machines; several numbers are a crawl each
    #[arg(long, default_value = "80", value_name = "N,N…", value_delimiter = ',')]
    nodes: Vec<usize>,

    /// The same seed gives the same simulation, event by event
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,

    /// As Loo, Cooper and Krishnamurthy ran it: links of 750 bytes go straight to whoever fetches, hosts have no rate, nothing is archived
    #[arg(long)]
    paper: bool,

    /// Virtual minutes after which the crawl is cut off
    #[arg(long, default_value_t = 15.0, value_name = "M", conflicts_with = "to_the_end")]
    minutes: f64,

    /// Go on until every page was fetched
    #[arg(long)]
    to_the_end: bool,

    /// Pages of the web [default: 10,000,000]
    #[arg(long, value_name = "N")]
    pages: Option<usize>,

    /// Hosts of the web [default: 75,000, 45 or 1]
    #[arg(long, value_name = "N")]
    hosts: Option<usize>,

    /// Bytes that it costs to send a link, everything counted [default: 20; the thesis has 70]
    #[arg(long, value_name = "BYTES")]
    bytes_per_link: Option<u32>,

    /// Requests a second that all machines together may send to one host; 0 for no limit [default: 1]
    #[arg(long, value_name = "R")]
    rate: Option<f64>,

    /// KB/s of a machine's link, each way [default: 60]
    #[arg(long, value_name = "KB")]
    bandwidth: Option<f64>,

    /// Threads of a machine [default: 3]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Milliseconds that a thread is busy with a page it has [default: 3500]
    #[arg(long, value_name = "MS")]
    handling: Option<f64>,

    /// With host-n: machines for a host [default: 8]
    #[arg(long, value_name = "N")]
    host_nodes: Option<u32>,

    /// With redirect: pass on when more than so many wait [default: 500]
    #[arg(long, value_name = "N")]
    redirect_over: Option<usize>,

    /// With redirect: how often a URL may be passed on [default: 1]
    #[arg(long, value_name = "K")]
    redirects: Option<u8>,

    /// With near: machines of which the nearest to the site is taken [default: 3]
    #[arg(long, value_name = "K")]
    candidates: Option<usize>,

    /// Draw loads, throughput and bytes into this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

impl Sim {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        match self.what {
            What::Ring(ring) => ring.run(session),
            What::Crawl(crawl) => crawl.run(session),
            What::Copies(copies) => copies.run(session),
        }
    }
}

impl RingSim {
    fn run(self, session: &Session) -> Result<ExitCode> {
        let options = Options {
            nodes: self.nodes,
            seed: self.seed,
            minutes: self.minutes,
            churn_median_minutes: self.churn_median,
            kill: self.kill,
            fingers_only: self.fingers_only,
            no_mending: self.no_mending,
            loss: self.loss,
            depth: self.depth,
            virtuals: self.virtuals,
            known_max: self.known,
            lookups: self.lookups,
            warming: self.warming,
        };
        let started = std::time::Instant::now();
        let report = run(&options)?;
        if let Some(file) = &self.plot {
            write_picture(file, &herodotus_sim::plot::of_report(&report))?;
        }
        if session.json {
            json_line(session, &serde_json::to_value(&report)?)?;
        } else {
            session.say(format_args!("{} machines, seed {}\n\n{report}", count(self.nodes as u64), self.seed));
            session.say(format_args!("{:.1} s on this machine", started.elapsed().as_secs_f64()));
            if let Some(file) = &self.plot {
                session.say(format_args!("drawn in {}", file.display()));
            }
        }
        // Promises that hold at every moment are not a matter of luck.
        Ok(if report.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl CrawlSim {
    fn run(self, session: &Session) -> Result<ExitCode> {
        let strategies = self.strategies()?;
        let this = &self;
        let of_strategy = |strategy: Strategy| this.nodes.iter().map(move |nodes| this.options(strategy, *nodes));
        let crawls: Vec<crawl::Options> = strategies.into_iter().flat_map(of_strategy).collect();
        // All of them before the first, which may take minutes.
        crawls.iter().try_for_each(crawl::Options::check)?;
        let started = std::time::Instant::now();
        let mut reports = Vec::new();
        if !session.json {
            session.say(format_args!("{} crawl, seed {}\n\n{}", self.workload, self.seed, crawl::Report::COLUMNS));
        }
        for options in &crawls {
            let report = crawl::run(options)?;
            if session.json {
                json_line(session, &serde_json::to_value(&report)?)?;
            } else {
                session.say(format_args!("{report}"));
            }
            reports.push(report);
        }
        if let Some(file) = &self.plot {
            write_picture(file, &crawl::draw(&reports))?;
        }
        if !session.json {
            session.say(format_args!("\n{:.1} s on this machine", started.elapsed().as_secs_f64()));
            if let Some(file) = &self.plot {
                session.say(format_args!("drawn in {}", file.display()));
            }
        }
        let is_whole = reports.iter().all(|report| report.fetched_twice == 0);
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Options that none of the strategies heeds are a mistake, and are not passed over in silence.
    fn strategies(&self) -> Result<Vec<Strategy>> {
        let strategies = if self.strategy == "all" { Strategy::ALL.to_vec() } else { vec![self.strategy.parse()?] };
        let given = [
            ("--host-nodes", self.host_nodes.is_some(), Strategy::HostN),
            ("--redirect-over", self.redirect_over.is_some(), Strategy::Redirect),
            ("--redirects", self.redirects.is_some(), Strategy::Redirect),
            ("--candidates", self.candidates.is_some(), Strategy::Near),
        ];
        for (name, is_given, heeds) in given {
            if is_given && !strategies.contains(&heeds) {
                bail!("{name} is for --strategy {heeds}, not {}", self.strategy);
            }
        }
        Ok(strategies)
    }

    fn options(&self, strategy: Strategy, nodes: usize) -> crawl::Options {
        let make = if self.paper { crawl::Options::paper } else { crawl::Options::new };
        let usual = make(self.workload, strategy, nodes);
        crawl::Options {
            seed: self.seed,
            minutes: (!self.to_the_end).then_some(self.minutes),
            pages: self.pages.unwrap_or(usual.pages),
            hosts: self.hosts.unwrap_or(usual.hosts),
            bytes_per_link: self.bytes_per_link.unwrap_or(usual.bytes_per_link),
            host_rate: self.rate.unwrap_or(usual.host_rate),
            kilobytes_per_second: self.bandwidth.unwrap_or(usual.kilobytes_per_second),
            threads: self.threads.unwrap_or(usual.threads),
            handling_ms: self.handling.unwrap_or(usual.handling_ms),
            host_nodes: self.host_nodes.unwrap_or(usual.host_nodes),
            redirect_over: self.redirect_over.unwrap_or(usual.redirect_over),
            redirects_max: self.redirects.unwrap_or(usual.redirects_max),
            candidates: self.candidates.unwrap_or(usual.candidates),
            ..usual
        }
    }
}

fn write_picture(file: &Path, svg: &str) -> Result<()> {
    std::fs::write(file, svg).with_context(|| format!("the picture could not be written to {}", file.display()))
}
