//! `sim copies`: months of machines that come and go, and what becomes of what they keep.

use crate::Session;
use crate::show::{count, json_line};
use anyhow::{Context, Result};
use clap::Args;
use herodotus_sim::replica;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct CopiesSim {
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

impl CopiesSim {
    pub(super) fn run(self, session: &Session) -> Result<ExitCode> {
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
