//! What comparing a million entries costs, ours and the thesis's (the example `compare_figures` of `herodotus-replica`), and what rsync spends on
//! the same: a file for each of ten thousand places, with a line for each entry, and nothing known beforehand.

use crate::peers::{example, say};
use crate::store::pages::stir;
use crate::table::{Table, count, seconds};
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const ENTRIES: u64 = 1_000_000;
const PLACES: u64 = 10_000;

pub(super) fn run() -> Result<()> {
    println!("\n### Comparing a million entries\n");
    let status = Command::new(example("herodotus-replica", "compare_figures")?).status()?;
    ensure!(status.success(), "compare_figures: {status}");
    let Ok(version) = Command::new("rsync").arg("--version").output() else {
        say("rsync is not here: left out");
        return Ok(());
    };
    let version = String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or_default().to_owned();
    println!(
        "\n{version}, `rsync -a --checksum --no-whole-file --stats` between two folders, 10,000 files of 100 lines of 33 bytes:\n"
    );
    let mut table = Table::new(&["differences", "bytes", "per difference", "seconds"]);
    let work = tempfile::tempdir()?;
    let (from, to) = (work.path().join("from"), work.path().join("to"));
    for differences in [0, 10, 1_000, 100_000] {
        write(&from, 0)?;
        write(&to, differences)?;
        let began = Instant::now();
        let bytes = rsync(&from, &to)?;
        let each =
            if differences == 0 { "–".to_owned() } else { format!("{:.0}", bytes as f64 / differences as f64) };
        table.row([count(differences), count(bytes), each, seconds(began.elapsed().as_secs_f64())]);
    }
    table.print();
    Ok(())
}

/// Writes the files of all places; so many entries are missing from them.
fn write(folder: &Path, missing: u64) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir(folder)?;
    let step = ENTRIES.checked_div(missing).unwrap_or(u64::MAX);
    for place in 0..PLACES {
        let mut text = String::new();
        for number in (place..ENTRIES).step_by(PLACES as usize) {
            // One of each stretch, by a stride that comes round to all places.
            let is_missing = missing > 0 && number % step == (number / step * 7919) % step;
            if !is_missing {
                writeln!(text, "{:016x}{:016x}", stir(number), stir(number ^ 0x5555))?;
            }
        }
        std::fs::write(folder.join(format!("{:016x}", stir(place))), text)?;
    }
    Ok(())
}

/// Bytes that rsync sent and received.
fn rsync(from: &Path, to: &Path) -> Result<u64> {
    let mut command = Command::new("rsync");
    command.args(["-a", "--checksum", "--no-whole-file", "--stats", "--no-human-readable"]);
    let output = command.arg(format!("{}/", from.display())).arg(to).output()?;
    ensure!(output.status.success(), "rsync: {}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = |what: &str| -> Result<u64> {
        let line = said.lines().find_map(|line| line.strip_prefix(what)).context("what rsync says has changed")?;
        Ok(line.trim().replace(',', "").parse()?)
    };
    Ok(told("Total bytes sent:")? + told("Total bytes received:")?)
}
