//! Reads files and says what is in them, and how long that took: `cargo run --release --example read -- FILE…`.
//! With `--list` as first argument it prints each record too, and with `--make N FILE` it writes a test file of N records
//! of 24 KB, gzipped by record, for measuring.

use herodotus_warc::{Coding, Fields, Item, ReadLimits, Reader, Writer};
use std::io::BufRead;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let list = args.first().is_some_and(|a| a == "--list");
    if list {
        args.remove(0);
    }
    if let [flag, count, path] = &args[..]
        && flag == "--make"
    {
        return make(count.parse()?, Path::new(path));
    }
    for path in &args {
        let start = Instant::now();
        let mut reader = Reader::open(Path::new(path), ReadLimits::default())?;
        let (mut records, mut skips, mut failed, mut bytes) = (0_u64, 0, 0, 0_u64);
        while let Some(item) = reader.next()? {
            match item {
                Item::Skipped(skip) => {
                    skips += 1;
                    println!("skipped at {}: {}", skip.offset, skip.reason);
                }
                Item::Record(mut record) => {
                    records += 1;
                    if list {
                        let kind = record.header.kind();
                        println!("{} {} {}", record.offset, kind.as_str(), record.header.target_uri().unwrap_or("-"));
                    }
                    loop {
                        match record.block.fill_buf() {
                            Ok([]) => break,
                            Ok(ready) => {
                                let n = ready.len();
                                bytes += n as u64;
                                record.block.consume(n);
                            }
                            Err(e) => {
                                failed += 1;
                                println!("failed at {}: {e}", record.offset);
                                break;
                            }
                        }
                    }
                }
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let (mb, each) = (bytes as f64 / 1e6 / seconds, seconds * 1e6 / records.max(1) as f64);
        println!(
            "{path}: {records} records, {failed} failed, {skips} skips, {bytes} bytes in {seconds:.2} s: {mb:.0} MB/s, {each:.1} µs each"
        );
    }
    Ok(())
}

/// Prose of 1,000 words in random order compresses about four times, as pages do.
fn make(count: usize, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let letters = |n: u64| -> String {
        (0..3 + n % 7).map(|i| char::from(b'a' + ((n * 7 + i * i * 11 + n / 26) % 26) as u8)).collect()
    };
    let words: Vec<String> = (0..1000).map(letters).collect();
    let mut writer = Writer::new(std::io::BufWriter::new(std::fs::File::create(path)?), Coding::Gzip)?;
    for n in 0..count {
        let mut block =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<!doctype html><html><body>".to_vec();
        while block.len() < 24_000 {
            let skewed = random(1000) * random(1000) / 1000;
            let text = match random(12) {
                0 => format!("</p>\n<p class=\"c{}\">", random(9)),
                1 => format!("<a href=\"/{}/{}\">", words[skewed as usize], random(99999)),
                _ => format!("{} ", words[skewed as usize]),
            };
            block.extend_from_slice(text.as_bytes());
        }
        let fields = Fields::from([
            ("WARC-Type", "response".to_owned()),
            ("WARC-Target-URI", format!("http://site{}.example/{n}", n % 100)),
            ("WARC-Date", "2026-01-02T03:04:05Z".to_owned()),
            ("WARC-Record-ID", format!("<urn:uuid:00000000-0000-4000-8000-{n:012}>")),
            ("Content-Type", "application/http; msgtype=response".to_owned()),
        ]);
        writer.write("WARC/1.1", &fields, &mut &block[..], block.len() as u64)?;
    }
    writer.finish()?;
    Ok(())
}
