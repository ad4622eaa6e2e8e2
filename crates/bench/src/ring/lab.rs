//! Machines that are apart: each in a network namespace of its own, with a line of some rate to all the others and a round trip of some milliseconds. The namespaces and what
//! carries packets between them are those of the checks of rings (`.ci/ring/netlab`); that takes root, iproute2 and a C compiler.

use super::line::Line;
use crate::home::Home;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Lays the lab; for each line that is read, carries packets at that rate and with that round trip from then on; takes all away when there is no more to read.
const SCRIPT: &str = r#"
. "$1" && netlab_up "$2" 10000 0 && echo "$LAB" || exit 1
while read -r rate rtt; do
    kill "$LAB_PID"; wait "$LAB_PID" 2>/dev/null
    "$LAB_BIN/netsim" "$LAB" "$LAB_N" "$rate" "$rtt" >"$LAB_OUT" & LAB_PID=$!
    sleep 0.3
    kill -0 "$LAB_PID" && echo laid
done
netlab_down >/dev/null
"#;
const NETLAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/ring/netlab/netlab.sh");
/// While nothing is measured.
const FAST: &str = "10000 0";

pub(super) struct Lab {
    shell: Child,
    /// Closing it ends the lab.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// What its namespaces are called, but for their numbers.
    prefix: String,
}

impl Lab {
    pub(super) fn start(machines: usize) -> Result<Self> {
        let mut shell = Command::new("bash");
        shell.args(["-c", SCRIPT, "lab", NETLAB, &machines.to_string()]);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting bash")?;
        let orders = shell.stdin.take();
        let answers = BufReader::new(shell.stdout.take().context("bash has no output")?);
        let mut lab = Self { shell, orders, answers, prefix: String::new() };
        lab.prefix = lab.answer().context("laying lines between namespaces")?;
        Ok(lab)
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the lab has ended: it says why above");
        Ok(line.trim().to_owned())
    }

    /// From now on everybody has this line.
    pub(super) fn lay(&mut self, line: Option<Line>) -> Result<()> {
        let order = line.map_or(FAST.to_owned(), |line| format!("{} {}", line.mbit.unwrap_or(10_000), line.rtt_ms));
        writeln!(self.orders.as_mut().context("the lab is being taken away")?, "{order}")?;
        ensure!(self.answer()? == "laid", "the lab answered something else");
        Ok(())
    }

    /// Where a machine of this number lives.
    pub(super) fn home(&self, number: usize) -> Result<Home> {
        let space = format!("/run/netns/{}{number}", self.prefix);
        Home::in_space(Path::new(&space), Ipv4Addr::new(10, 77, 0, number as u8 + 1))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.shell.wait();
    }
}
