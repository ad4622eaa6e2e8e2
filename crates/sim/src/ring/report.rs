//! What a simulation found, for people and for programs.

use super::figures::Options;
use crate::checkers::lookups::Tally;
use serde::Serialize;
use std::fmt;

/// One stretch of a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    pub name: String,
    pub seconds: f64,
    /// Machines at its end.
    pub machines: usize,
    pub lookups: u64,
    pub right: u64,
    pub wrong: u64,
    pub failed: u64,
    pub hops_mean: f64,
    pub hops_p50: usize,
    pub hops_p99: usize,
    /// Nodes asked by a lookup in all, those on the way and those beside it.
    pub asked_mean: f64,
    pub took_ms_p50: u32,
    pub took_ms_p99: u32,
    /// Sent by a machine in a minute, lookups of users included if there were any. Without what QUIC, UDP and IP add.
    pub bytes_per_machine_minute: f64,
    pub messages_per_machine_minute: f64,
    /// Machines that started and stopped.
    pub joins: u64,
    pub deaths: u64,
    /// How many lookups took so many hops.
    pub hops: Vec<u64>,
}

/// A moment of the whole.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    pub minute: f64,
    pub lookups: u64,
    pub right: u64,
    pub bytes_per_machine_minute: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub options: Options,
    pub phases: Vec<Phase>,
    pub samples: Vec<Sample>,
    /// Peers that a node remembered at the end, on average.
    pub known_mean: f64,
    /// What a quiet ring promises and was not so at the end: of the first ones, and how many in all. Nothing is expected only if there was no churn.
    pub wrong: Vec<String>,
    pub wrong_count: usize,
    /// Promises of every moment that were broken.
    pub broken: Vec<String>,
    pub messages: u64,
    pub virtual_minutes: f64,
    /// The same for the same options.
    pub trace: String,
}

impl Phase {
    pub(super) fn new(name: &str, seconds: f64, machines: usize, tally: &Tally) -> Self {
        Self {
            name: name.to_owned(),
            seconds,
            machines,
            lookups: tally.ended(),
            right: tally.right,
            wrong: tally.wrong,
            failed: tally.failed,
            hops_mean: tally.hops_mean(),
            hops_p50: tally.hops_at(0.5),
            hops_p99: tally.hops_at(0.99),
            asked_mean: tally.asked_mean(),
            took_ms_p50: tally.took_ms_at(0.5),
            took_ms_p99: tally.took_ms_at(0.99),
            bytes_per_machine_minute: 0.0,
            messages_per_machine_minute: 0.0,
            joins: 0,
            deaths: 0,
            hops: tally.hops.clone(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.phases.iter().map(|phase| phase.name.chars().count()).max().unwrap_or(0).max(5);
        writeln!(
            f,
            "{:<names$} {:>8} {:>9} {:>7} {:>7} {:>6} {:>4} {:>4} {:>6} {:>8} {:>8} {:>11} {:>9}",
            "",
            "machines",
            "lookups",
            "wrong",
            "failed",
            "hops",
            "p50",
            "p99",
            "asked",
            "ms p50",
            "ms p99",
            "bytes/min",
            "msgs/min"
        )?;
        for phase in &self.phases {
            let lookups = phase.lookups > 0;
            let of_lookups = |text: String| if lookups { text } else { "-".to_owned() };
            writeln!(
                f,
                "{:<names$} {:>8} {:>9} {:>7} {:>7} {:>6} {:>4} {:>4} {:>6} {:>8} {:>8} {:>11.0} {:>9.1}",
                phase.name,
                phase.machines,
                of_lookups(phase.lookups.to_string()),
                of_lookups(phase.wrong.to_string()),
                of_lookups(phase.failed.to_string()),
                of_lookups(format!("{:.2}", phase.hops_mean)),
                of_lookups(phase.hops_p50.to_string()),
                of_lookups(phase.hops_p99.to_string()),
                of_lookups(format!("{:.1}", phase.asked_mean)),
                of_lookups(phase.took_ms_p50.to_string()),
                of_lookups(phase.took_ms_p99.to_string()),
                phase.bytes_per_machine_minute,
                phase.messages_per_machine_minute
            )?;
        }
        writeln!(f)?;
        writeln!(
            f,
            "bytes and messages are those that a machine sends; peers known by a node at the end: {:.0}",
            self.known_mean
        )?;
        let end = match self.wrong_count {
            0 => "one ring, every neighbour right".to_owned(),
            count => format!("{count} things are not as in a quiet ring, such as: {}", self.wrong.join("; ")),
        };
        writeln!(f, "at the end: {end}")?;
        for broken in &self.broken {
            writeln!(f, "broken promise: {broken}")?;
        }
        write!(f, "{:.1} virtual minutes, {} messages, trace {}", self.virtual_minutes, self.messages, self.trace)
    }
}
