//! Replay through a machine that does not hold the page, beside one that does: each page once, over HTTP, one after another.

use super::COPIES;
use super::machines::{Machine, Ring};
use crate::latency::Latency;
use crate::peers::say;
use crate::store::pages::Pages;
use crate::table::{Goals, Table, time};
use anyhow::{Context, Result, ensure};
use herodotus_store::key_of;
use herodotus_web::Elsewhere;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

/// How much longer than on a machine that holds it, and a round trip.
const TIMES_MAX: f64 = 3.0;

pub(super) fn run(ring: &Ring, pages: &Pages, reads: usize, goals: &mut Goals) -> Result<()> {
    let taker = &ring.machines[0];
    for (url, version) in pages.visits() {
        taker.store.append(pages.capture(url, version)?)?;
    }
    taker.store.commit()?;
    say("handing on what is to be read");
    ring.hand_on()?;
    ring.wait_for_copies(COPIES)?;
    // Each page where it is, and where it is not.
    let mut asked: Vec<(&Machine, &Machine, String)> = Vec::new();
    for url in (0..pages.urls).filter(|url| pages.versions_of(*url) == 1).take(reads) {
        let key = key_of(&pages.url(url));
        let holds = |machine: &&Machine| machine.copies.is_here(&key);
        let Some(without) = ring.machines.iter().find(|machine| !holds(machine)) else { continue };
        let with = ring.machines.iter().find(holds).context("a page that nobody holds")?;
        let stamp = pages.time(url, 0)?.digits14();
        asked.push((with, without, format!("/web/{stamp}/{}", pages.url(url))));
    }
    ensure!(!asked.is_empty(), "every machine holds every page");
    let here = Latency::of(&asked, |(with, _, path)| get(with.replay, path))?;
    let away = Latency::of(&asked, |(_, without, path)| get(without.replay, path))?;
    println!("\n### Replay of {} pages of 20 KB, one after another, none asked for before\n", asked.len());
    let mut table = Table::new(&["", "p50", "p99", "longest"]);
    for (name, latency) in [("from a machine that holds it", &here), ("through one that does not", &away)] {
        table.row([name.to_owned(), time(latency.at(0.5)), time(latency.at(0.99)), time(latency.max())]);
    }
    table.print();
    // Over the loop a round trip is nothing to speak of.
    let times = away.at(0.5).as_secs_f64() / here.at(0.5).as_secs_f64();
    goals.at_most("replay through a machine without the page, p50, times that of one with it", TIMES_MAX, times, "");
    Ok(())
}

fn get(port: u16, path: &str) -> Result<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head = String::from_utf8_lossy(answer.get(..64).unwrap_or_default()).into_owned();
    ensure!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
    Ok(())
}
