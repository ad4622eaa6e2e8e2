//! How soon a node answers: from the start of the program to the first page, on an archive with many captures, with nothing of it
//! in the disk cache where we may say so.

use super::servers::{free_port, get};
use crate::peers::{self, say};
use crate::table::{Goals, Table, count, short};
use anyhow::{Result, bail};
use herodotus_base::Timestamp;
use herodotus_store::{Body, Capture, Kind, Record, Store};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const GOAL_S: f64 = 2.0;
const RUNS: usize = 3;

pub(super) fn measure(work: &Path, captures: u64, goals: &mut Goals) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("herodotus-bench-start-").tempdir_in(work)?;
    fill(folder.path(), captures)?;
    let mut table = Table::new(&["start", "first page after, s"]);
    let mut worst: f64 = 0.0;
    for run in 0..RUNS {
        let is_cold = forget_files(folder.path());
        let taken = first_page(folder.path())?;
        worst = worst.max(taken);
        table.row([format!("{} ({})", run + 1, if is_cold { "cold" } else { "warm" }), short(taken)]);
    }
    println!("### `herodotus node` on {} captures\n", count(captures));
    table.print();
    goals.below("start of a node, slowest", GOAL_S, worst, " s");
    Ok(())
}

/// Small pages: what matters is how many there are.
fn fill(dir: &Path, captures: u64) -> Result<()> {
    let (store, _) = Store::open(dir)?;
    let began = Timestamp::parse("20260101")?.millis();
    for n in 0..captures {
        let url = format!("http://site-{}.example/articles/{}.html", n % 5_000, n / 5_000);
        let time = Timestamp::from_millis_clamped(began + n as i64 * 100);
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec();
        let body = format!("<title>Article {n}</title><p>The number of this page is {n}.").into_bytes();
        let main = Record::new(Kind::Response, &url, time, head, Body::new(body));
        store.append(Capture { url, time, main, companions: Vec::new() })?;
        if n % 200_000 == 0 {
            say(&format!("{} captures", count(n)));
        }
    }
    store.close()?;
    Ok(())
}

/// Asks the system to drop what it remembers of the archive's files; whether it did.
fn forget_files(dir: &Path) -> bool {
    Command::new("sync").status().is_ok() && std::fs::write("/proc/sys/vm/drop_caches", "1").is_ok() && dir.exists()
}

fn first_page(dir: &Path) -> Result<f64> {
    let (pages, content) = (free_port()?, free_port()?);
    let began = Instant::now();
    let mut node = Command::new(peers::herodotus()?)
        .args(["node", "--data"])
        .arg(dir)
        .args(["--listen", &format!("127.0.0.1:{pages}"), "--replay-listen", &format!("127.0.0.1:{content}")])
        .stdout(Stdio::null())
        .spawn()?;
    let taken = loop {
        if get(pages, "/").is_ok_and(|head| head.contains(" 200 ")) {
            break began.elapsed().as_secs_f64();
        }
        if began.elapsed() > Duration::from_secs(60) {
            let _ = node.kill();
            bail!("no page in a minute");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let _ = Command::new("kill").arg(node.id().to_string()).status();
    node.wait()?;
    Ok(taken)
}
