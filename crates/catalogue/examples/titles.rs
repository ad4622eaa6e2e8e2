//! How fast the catalogue catches up, and answers.
//!
//! `cargo run --release -p herodotus-catalogue --example titles -- COUNT [WARC…]` makes so many small pages with titles of
//! made-up words as common as real ones, or imports the files, and prints CPU time, which does not depend on what else
//! the machine does.

use herodotus_base::Timestamp;
use herodotus_catalogue::Catalogue;
use herodotus_store::archive::{ImportOptions, import};
use herodotus_store::{Body, Capture, Kind, Record, Store};
use nix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn cpu_s(clock: ClockId) -> f64 {
    clock_gettime(clock).map_or(0.0, |t| t.tv_sec() as f64 + t.tv_nsec() as f64 / 1e9)
}

struct Words(u64);

impl Words {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Word number n is as common as 1/n (Zipf), of fifty thousand.
    fn word(&mut self) -> String {
        let share = (self.number() % 1_000_000) as f64 / 1e6;
        spell(50_000_f64.powf(share) as u64)
    }

    fn title(&mut self) -> String {
        let words: Vec<String> = (0..4 + self.number() % 7).map(|_| self.word()).collect();
        words.join(" ")
    }
}

fn spell(n: u64) -> String {
    let parts = ["ka", "lo", "mi", "ter", "san", "ve", "dor", "qui", "na", "psa", "hel", "os"];
    let mut n = n.wrapping_mul(2_654_435_761) % 2_985_984;
    let mut word = String::new();
    while word.len() < 4 || n > 0 {
        word.push_str(parts[(n % 12) as usize]);
        n /= 12;
    }
    word
}

fn page(n: u64, words: &mut Words) -> Capture {
    let url = format!("http://site{}.example/{}/{n}", n % 2000, n % 30);
    let time = Timestamp::from_millis_clamped(1_700_000_000_000 + n as i64);
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n".to_vec();
    let body = format!("<!doctype html><title>{}</title><p>{n}", words.title()).into_bytes();
    let main = Record::new(Kind::Response, &url, time, head, Body::new(body));
    Capture { url, time, main, companions: Vec::new() }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let count: u64 = args.next().ok_or("say how many titles")?.parse()?;
    let dir = tempfile::tempdir()?;
    let (store, _) = Store::open(&dir.path().join("data"))?;
    let mut words = Words(1);
    for n in 0..count {
        store.append(page(n, &mut words))?;
    }
    for path in args {
        import(&store, Path::new(&path), &ImportOptions::default(), |_| {})?;
    }
    store.seal()?;
    let catalogue = Catalogue::open(&dir.path().join("catalogue"))?;
    let (cpu, wall) = (cpu_s(ClockId::CLOCK_PROCESS_CPUTIME_ID), std::time::Instant::now());
    let read = catalogue.catch_up(&store, usize::MAX, &AtomicBool::new(false))?.read;
    let cpu = cpu_s(ClockId::CLOCK_PROCESS_CPUTIME_ID) - cpu;
    println!(
        "{read} captures in {cpu:.1} CPU s, {:.1} s: {:.0} per CPU s",
        wall.elapsed().as_secs_f64(),
        read as f64 / cpu
    );
    for (what, terms, cut) in [
        ("one rare word", 0, false),
        ("one common word", 1, false),
        ("two words", 2, false),
        ("three words", 3, false),
        ("a word half typed", 0, true),
        ("two letters", 9, true),
    ] {
        let mut times = Vec::new();
        let mut found = 0;
        for n in 0..500_u64 {
            let question = match terms {
                0 => spell(20_000 + n * 13),
                1 => spell(1 + n % 20),
                9 => spell(1 + n)[..2].to_owned(),
                terms => (0..terms).map(|_| words.word()).collect::<Vec<_>>().join(" "),
            };
            let question = if cut { &question[..question.len().div_ceil(2).max(2)] } else { &question };
            let before = cpu_s(ClockId::CLOCK_THREAD_CPUTIME_ID);
            found += catalogue.search(&store, question, 20)?.len();
            times.push(cpu_s(ClockId::CLOCK_THREAD_CPUTIME_ID) - before);
        }
        times.sort_by(f64::total_cmp);
        let ms = |at: usize| times[at] * 1000.0;
        println!("{what:<20} {:>8.2} ms p50 {:>8.2} p99, {:.1} found", ms(250), ms(495), found as f64 / 500.0);
    }
    Ok(())
}
