//! Lines between the machines of a ring: the loop of a network namespace, made to carry no more than the line would. The program starts itself
//! again in such a namespace before it has any threads.

use crate::peers::say;
use anyhow::{Context, Result, ensure};
use std::fmt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Set where the program was started again.
const MARK: &str = "HERODOTUS_BENCH_LINES";

/// What a line carries, and how long it is. Without a number it is the loop as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    pub(super) mbit: Option<u32>,
    /// With a round trip, machines are in namespaces of their own ([`super::lab`]).
    pub(super) rtt_ms: u32,
}

impl std::str::FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "loop" {
            return Ok(Self::default());
        }
        let (rate, round_trip) = text.split_once('/').unwrap_or((text, "0"));
        match (rate.parse(), round_trip.parse()) {
            (Ok(mbit), Ok(rtt_ms)) if mbit > 0 => Ok(Self { mbit: Some(mbit), rtt_ms }),
            _ => Err("a line is Mbit/s, Mbit/s and the milliseconds of a round trip (100/20), or `loop`".to_owned()),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { mbit: Some(mbit), rtt_ms: 0 } => write!(f, "{mbit} Mbit/s"),
            Self { mbit: Some(mbit), rtt_ms } => write!(f, "{mbit} Mbit/s, {rtt_ms} ms"),
            Self { mbit: None, .. } => f.write_str("the loop as it is"),
        }
    }
}

/// Goes on where lines can be laid; if the system does not let us, only the loop is left of them.
pub(super) fn where_they_can_be(lines: &[Line]) -> Result<Vec<Line>> {
    if is_there() || lines.iter().all(|line| line.mbit.is_none()) {
        return Ok(lines.to_vec());
    }
    let first = ["--net", "sh", "-c", "ip link set lo up && tc -V >/dev/null && exec \"$0\" \"$@\""];
    if !run(Command::new("unshare").args(first).arg("true")) {
        say("no lines can be laid here (that takes root and iproute2): only the loop is measured");
        return Ok(vec![Line::default()]);
    }
    let program = std::env::current_exe().context("finding this program")?;
    let mut again = Command::new("unshare");
    again.args(first).arg(program).args(std::env::args_os().skip(1)).env(MARK, "1");
    Err(again.exec()).context("starting again where lines can be laid")
}

impl Line {
    /// From now on the loop is this line. The machine's own loop is never touched.
    pub(super) fn lay(self) -> Result<()> {
        if !is_there() {
            return Ok(());
        }
        run(Command::new("tc").args(["qdisc", "del", "dev", "lo", "root"]));
        let Some(mbit) = self.mbit else { return Ok(()) };
        let rate = format!("{mbit}mbit");
        // A burst with which bare iroh still fills 1 Gbit/s (115 MB/s of payload).
        let tbf = ["qdisc", "add", "dev", "lo", "root", "tbf", "rate", &rate, "burst", "256kb", "latency", "50ms"];
        ensure!(run(Command::new("tc").args(tbf)), "a line of {self} could not be laid");
        Ok(())
    }
}

/// Whether this is the program that was started again.
fn is_there() -> bool {
    std::env::var_os(MARK).is_some()
}

fn run(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}
