//! `sim`: what would happen to a ring, on virtual time.

use crate::Session;
use crate::show::{count, json_line};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
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

impl Sim {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        match self.what {
            What::Ring(ring) => ring.run(session),
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
