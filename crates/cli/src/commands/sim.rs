//! `sim`: what would happen to a ring, on virtual time.

use crate::Session;
use crate::show::{count, json_line};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use herodotus_sim::replica;
use herodotus_sim::ring::{Options, run};
use std::path::PathBuf;
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

    /// Draw hops, right lookups and traffic into this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct CopiesSim {
    /// Machines
    #[arg(long, default_value_t = 200, value_name = "N")]
    nodes: usize,

    /// The same seed gives the same simulation, event by event
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,

    /// Virtual days
    #[arg(long, default_value_t = replica::Options::default().days, value_name = "D")]
    days: f64,

    /// Half of all sessions last no longer; several with commas between
    #[arg(long, value_delimiter = ',', default_value = "720", value_name = "HOURS")]
    session_median: Vec<f64>,

    /// Machines on which everything lies; several with commas between
    #[arg(long, value_delimiter = ',', default_value = "6", value_name = "R")]
    copies: Vec<usize>,

    /// What a machine holds, copies for others included
    #[arg(long, default_value_t = replica::Options::default().gigabytes, value_name = "GB")]
    gigabytes: f64,

    /// What a machine can send and what it can receive, for repair, in kbit/s
    #[arg(long, default_value_t = replica::Options::default().kbit_per_s, value_name = "KBIT")]
    rate: f64,

    /// The share of sessions after which a machine comes back with its disk; after others it is gone for good, and an empty one joins
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    returns: f64,

    /// Half of those who come back are away no longer
    #[arg(long, default_value_t = replica::Options::default().away_median_hours, value_name = "HOURS")]
    away_median: f64,

    /// Draw losses and repair into this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

impl Sim {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        match self.what {
            What::Ring(ring) => ring.run(session),
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
        };
        let started = std::time::Instant::now();
        let report = run(&options)?;
        if let Some(file) = &self.plot {
            std::fs::write(file, herodotus_sim::plot::of_report(&report))
                .with_context(|| format!("the picture could not be written to {}", file.display()))?;
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

impl CopiesSim {
    fn run(self, session: &Session) -> Result<ExitCode> {
        let options = replica::Options {
            nodes: self.nodes,
            seed: self.seed,
            days: self.days,
            session_median_hours: self.session_median,
            copies: self.copies,
            gigabytes: self.gigabytes,
            kbit_per_s: self.rate,
            returns: self.returns,
            away_median_hours: self.away_median,
        };
        let started = std::time::Instant::now();
        let report = replica::run(&options)?;
        if let Some(file) = &self.plot {
            std::fs::write(file, report.svg())
                .with_context(|| format!("the picture could not be written to {}", file.display()))?;
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
        Ok(ExitCode::SUCCESS)
    }
}
