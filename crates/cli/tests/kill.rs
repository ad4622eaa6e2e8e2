//! The real program, killed with SIGKILL at fifty random moments of imports: what it had called durable is there each time,
//! and the import goes on where it was.

#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub, reason = "a test fails by panicking")]

use herodotus_base::Timestamp;
use herodotus_store::{Body, Kind, Store, key_of};
use herodotus_warc::{Coding, Fields, Writer};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const RECORDS: u64 = 8_000;
const KILLS: u32 = 50;

fn url(n: u64) -> String {
    format!("https://site-{}.example/page/{}", n % 7, n / 3)
}

fn body(n: u64) -> Vec<u8> {
    let mut out = format!("<html><title>{n}</title>").into_bytes();
    for i in 0..150u64 {
        let x = (n / 3 * 1000 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        out.extend(format!("<p>line {i} {x} of {}</p>", if i == n % 150 { n } else { 0 }).bytes());
    }
    out
}

fn time(n: u64) -> Timestamp {
    Timestamp::from_millis(1_600_000_000_000 + n as i64 * 1000).unwrap()
}

/// One response record per capture, so that record numbers and captures agree.
fn make_warc(path: &Path) {
    let mut writer = Writer::new(BufWriter::new(File::create(path).unwrap()), Coding::Plain).unwrap();
    for n in 0..RECORDS {
        let body = body(n);
        let mut block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", body.len())
            .into_bytes();
        block.extend(body);
        let fields = Fields::from([
            ("WARC-Type", "response".to_owned()),
            ("WARC-Record-ID", format!("<urn:uuid:00000000-0000-4000-8000-{n:012x}>")),
            ("WARC-Date", time(n).rfc3339()),
            ("WARC-Target-URI", url(n)),
            ("Content-Type", "application/http; msgtype=response".to_owned()),
        ]);
        writer.write("WARC/1.1", &fields, &mut block.as_slice(), block.len() as u64).unwrap();
    }
    writer.finish().unwrap();
}

/// Runs an import and kills it after a while; returns how many records it had called durable, and whether it ended first.
fn import_and_kill(data: &Path, warc: &Path, after: Duration) -> (u64, bool) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_herodotus"))
        .args(["--json", "--data"])
        .arg(data)
        .args(["import", "--memory", "1"])
        .arg(warc)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut durable = 0;
        let mut finished = false;
        for line in BufReader::new(stdout).lines() {
            let Ok(value) = serde_json::from_str::<serde_json::Value>(&line.unwrap()) else { continue };
            match value["event"].as_str() {
                Some("durable") => durable = value["records"].as_u64().unwrap(),
                Some("imported") => finished = true,
                _ => {}
            }
        }
        (durable, finished)
    });
    // Not a synchronisation: the moment of the kill is the random input of this test.
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

fn check(data: &Path, durable: u64) {
    let (store, _) = Store::open(data).unwrap();
    let step = (durable / 300).max(1);
    let last = durable.saturating_sub(20)..durable;
    for n in (0..durable).step_by(step as usize).chain(last) {
        let entry = store.newest_not_after(&key_of(&url(n)), time(n)).unwrap();
        let entry = entry.filter(|e| e.id.time == time(n)).unwrap_or_else(|| panic!("record {n} of {durable} is gone"));
        let capture = store.read(&entry.id).unwrap().unwrap();
        assert_eq!(capture.main.kind, Kind::Response);
        assert_eq!(capture.main.body, Body::new(body(n)), "record {n} is not what it was");
    }
}

#[test]
fn a_killed_import_loses_nothing_it_called_durable_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let warc = dir.path().join("big.warc");
    make_warc(&warc);
    let mut seed = 20_261_115u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let (mut kills, mut archives, mut seen) = (0, 0, 0);
    while kills < KILLS {
        let data = dir.path().join(format!("archive-{archives}"));
        archives += 1;
        let mut durable = 0;
        loop {
            let (now, finished) = import_and_kill(&data, &warc, Duration::from_millis(random(400)));
            durable = durable.max(now);
            kills += u32::from(!finished);
            if data.join("packs").is_dir() {
                check(&data, durable);
            }
            if finished {
                break;
            }
        }
        let (store, _) = Store::open(&data).unwrap();
        assert_eq!(store.totals().unwrap().captures, RECORDS, "archive {archives}");
        assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
        drop(store);
        std::fs::remove_dir_all(&data).unwrap();
        seen = seen.max(durable);
    }
    assert!(seen > 0, "no import got as far as calling anything durable");
    println!("{kills} kills, {archives} archives");
}
