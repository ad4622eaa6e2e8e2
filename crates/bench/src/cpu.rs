//! What work costs: wall time, CPU time and peak memory, of this process or of a command.
//!
//! A command is run by a small process of its own (`herodotus-bench measured`), for two reasons: its children's usage is then
//! that of this command alone, and Linux counts the memory of whoever starts a process towards that process's peak, which
//! would make every tool look as large as the benchmark.

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) wall_s: f64,
    /// User and system together.
    pub(crate) cpu_s: f64,
    pub(crate) rss_peak_bytes: u64,
}

/// Measures this process from one moment to another. Peak memory is the process's own since it began.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    started: Instant,
    cpu_s: f64,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), cpu_s: getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |u| cpu_s(&u)) }
    }

    pub(crate) fn stop(&self) -> Cost {
        let wall_s = self.started.elapsed().as_secs_f64();
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Cost { wall_s, ..Cost::default() } };
        Cost { wall_s, cpu_s: cpu_s(&usage) - self.cpu_s, rss_peak_bytes: rss_bytes(&usage) }
    }
}

fn cpu_s(usage: &Usage) -> f64 {
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6
}

fn rss_bytes(usage: &Usage) -> u64 {
    u64::try_from(usage.max_rss()).unwrap_or(0) * 1024
}

#[derive(Debug, clap::Args)]
pub(crate) struct Measured {
    /// Exit statuses that are no failure
    #[arg(long, value_delimiter = ',', default_values_t = [0])]
    accept: Vec<i32>,

    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

impl Measured {
    pub(crate) fn run(&self) -> Result<()> {
        let (program, arguments) = self.command.split_first().context("no command")?;
        let started = Instant::now();
        let status = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status();
        let wall_s = started.elapsed().as_secs_f64();
        let status = status.with_context(|| format!("starting {program}"))?;
        ensure!(status.code().is_some_and(|code| self.accept.contains(&code)), "{program}: {status}");
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let cost = Cost { wall_s, cpu_s: cpu_s(&usage), rss_peak_bytes: rss_bytes(&usage) };
        println!("{}", serde_json::to_string(&cost)?);
        Ok(())
    }
}

/// Runs a command to its end in a directory and tells what it cost. Its output is shown only if it fails.
pub(crate) fn measure(dir: &Path, program: &Path, arguments: &[&str]) -> Result<Cost> {
    measure_accepting(dir, program, arguments, &[0])
}

/// The same for a program that may end with other statuses than 0 although it did what it was asked.
pub(crate) fn measure_accepting(dir: &Path, program: &Path, arguments: &[&str], accepted: &[i32]) -> Result<Cost> {
    let accept: Vec<String> = accepted.iter().map(i32::to_string).collect();
    let mut command = Command::new(std::env::current_exe()?);
    command.current_dir(dir).args(["measured", "--accept", &accept.join(","), "--"]).arg(program).args(arguments);
    let output = command.output()?;
    ensure!(
        output.status.success(),
        "{} {}: {}",
        program.display(),
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The middle one by CPU time.
pub(crate) fn median(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
    costs.get(costs.len() / 2).copied().unwrap_or_default()
}

/// The median of each figure by itself.
pub(crate) fn medians(costs: &[Cost]) -> Cost {
    let middle = |figure: fn(&Cost) -> f64| {
        let mut figures: Vec<f64> = costs.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied().unwrap_or_default()
    };
    Cost {
        wall_s: middle(|cost| cost.wall_s),
        cpu_s: middle(|cost| cost.cpu_s),
        rss_peak_bytes: middle(|cost| cost.rss_peak_bytes as f64) as u64,
    }
}
