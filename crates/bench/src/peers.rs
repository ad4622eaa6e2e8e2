//! What else runs on this machine for comparison: the field's tools, our own program, and the data sets.

use crate::table::count;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tools, at the versions that the figures were first taken with.
const NEEDS: [&str; 2] = ["cdxj-indexer~=1.5.0", "pywb~=2.10.0"];
const NEEDS_OF_REPLAY: [&str; 3] = ["pywb~=2.10.0", "uwsgi~=2.0", "gevent"];
/// Where a session may have put them already.
const USUAL: &str = "/tmp/peers";

/// One row of `sets.json`, which `data/histories.py` writes.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Set {
    #[serde(rename = "set")]
    pub(crate) name: String,
    pub(crate) records: u64,
    pub(crate) pages: u64,
    pub(crate) versions_median: f64,
    pub(crate) raw_bytes: u64,
    pub(crate) warc_gz_bytes: u64,
}

pub(crate) fn say(what: &str) {
    eprintln!("[bench] {what}");
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The data sets in a directory, made if they are not there.
pub(crate) fn sets(dir: &Path) -> Result<BTreeMap<String, Set>> {
    let table = dir.join("sets.json");
    if !table.exists() {
        say(&format!("making real histories in {} (minutes, once)", dir.display()));
        let status =
            Command::new("python3").arg(here("data/histories.py")).arg(dir).stdout(std::io::stderr()).status()?;
        ensure!(status.success(), "data/histories.py failed: {status}");
    }
    Ok(serde_json::from_slice(&std::fs::read(&table)?)?)
}

/// The folder with `cdxj-indexer`, `wb-manager` and a Python that has their libraries.
pub(crate) fn tools(dir: &Path) -> Result<PathBuf> {
    venv(dir, "peers", &NEEDS, &["cdxj-indexer", "wb-manager", "python"])
}

/// The same, with the server that pywb is run under.
pub(crate) fn replay_tools(dir: &Path) -> Result<PathBuf> {
    venv(dir, "replay-peers", &NEEDS_OF_REPLAY, &["wb-manager", "uwsgi", "python"])
}

fn venv(dir: &Path, name: &str, needs: &[&str], programs: &[&str]) -> Result<PathBuf> {
    let own = dir.join(name);
    for venv in [own.as_path(), Path::new(USUAL)] {
        if programs.iter().all(|t| venv.join("bin").join(t).exists()) {
            return Ok(venv.join("bin"));
        }
    }
    say(&format!("installing {} into {}", needs.join(" and "), own.display()));
    let run = |command: &mut Command| -> Result<()> {
        let status = command.stdout(std::io::stderr()).status()?;
        ensure!(status.success(), "installing the tools to compare with: {status}");
        Ok(())
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&own))?;
    run(Command::new(own.join("bin/python")).args(["-m", "pip", "install", "--quiet"]).args(needs))?;
    Ok(own.join("bin"))
}

/// The `herodotus` program of the same build as this one.
pub(crate) fn herodotus() -> Result<PathBuf> {
    of_this_build("herodotus", &["-p", "herodotus"])
}

/// An example program of one of our crates, of the same build as this one.
pub(crate) fn example(package: &str, name: &str) -> Result<PathBuf> {
    of_this_build(&format!("examples/{name}"), &["-p", package, "--example", name])
}

fn of_this_build(path: &str, what: &[&str]) -> Result<PathBuf> {
    let me = std::env::current_exe()?;
    let folder = me.parent().context("this program lies in no folder")?;
    let program = folder.join(path);
    // `cargo run -p herodotus-bench` does not build the other program, and an old one would be measured.
    if let (Some(cargo), Some(target)) = (std::env::var_os("CARGO"), folder.parent()) {
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--target-dir"]).arg(target).args(what).current_dir(here(""));
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        let status = build.stdout(std::io::stderr()).status()?;
        ensure!(status.success(), "building {path}: {status}");
    }
    ensure!(program.exists(), "{} is missing: run this through `cargo run --release`", program.display());
    Ok(program)
}

/// What pywb's own code needs for the same questions.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct PeerReads {
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
    pub(crate) cpu_p50_us: f64,
    pub(crate) cpu_p99_us: f64,
}

/// Runs `data/peer_reads.py`, which times pywb's code at looking up or reading.
pub(crate) fn peer_reads(tools: &Path, what: &str, files: &[&Path]) -> Result<PeerReads> {
    let mut command = Command::new(tools.join("python"));
    command.arg("-B").arg(here("data/peer_reads.py")).arg(what).args(files).stderr(std::process::Stdio::inherit());
    let output = command.output()?;
    ensure!(output.status.success(), "data/peer_reads.py {what}: {}", output.status);
    let reads: PeerReads = serde_json::from_slice(&output.stdout)?;
    say(&format!("pywb: {} {what} in {:.1} s", count(reads.operations), reads.seconds));
    Ok(reads)
}
