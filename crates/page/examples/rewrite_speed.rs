//! How fast pages are rewritten for replay, in CPU time of one core: the given files, or every `.html` under the given
//! directories, loaded beforehand and pushed in pieces of 64 KiB. Beside it the floor of `lol_html` with one handler
//! for all elements that looks at their attributes and replaces absolute links: less work than a rewriter does.
//!
//! `cargo run --release -p herodotus-page --example rewrite_speed -- [--rounds=5] [--only=ours|lol_html] PATH…`

use herodotus_page::WebUrl;
use herodotus_page::rewrite::{HtmlRewriter, Mode, Setting};
use lol_html::{Settings, element};
use nix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::time::Duration;

const PIECE_BYTES: usize = 64 * 1024;

fn main() -> std::io::Result<()> {
    let (mut rounds, mut only, mut pages) = (5, None, Vec::new());
    for argument in std::env::args().skip(1) {
        if let Some(number) = argument.strip_prefix("--rounds=") {
            rounds = number.parse().unwrap_or(rounds);
        } else if let Some(name) = argument.strip_prefix("--only=") {
            only = Some(name.to_owned());
        } else {
            collect(Path::new(&argument), &mut pages)?;
        }
    }
    if pages.is_empty() {
        eprintln!("usage: rewrite_speed [--rounds=5] [--only=ours|lol_html] PATH…");
        std::process::exit(2);
    }
    let bytes: usize = pages.iter().map(Vec::len).sum();
    println!(
        "{} pages, {:.1} MB, {:.1} KB each",
        pages.len(),
        bytes as f64 / 1e6,
        bytes as f64 / 1e3 / pages.len() as f64
    );
    for (name, rewrite) in [("ours", ours as fn(&WebUrl, &[u8], &mut Vec<u8>)), ("lol_html", lol_html)] {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let url = WebUrl::parse("http://docs.test/reference/library/page.html").map_err(std::io::Error::other)?;
        let (mut best, mut written) = (f64::INFINITY, 0);
        for _ in 0..rounds {
            let mut out = Vec::new();
            written = 0;
            let start = cpu_time()?;
            for page in &pages {
                out.clear();
                rewrite(&url, page, &mut out);
                written += out.len();
            }
            best = best.min((cpu_time()? - start).as_secs_f64());
        }
        println!(
            "{name:>9}: {:>7.1} MB/s, {:>6.1} µs a page, {:.3} ms for 32 KB, {:.1} MB out (best of {rounds})",
            bytes as f64 / best / 1e6,
            best / pages.len() as f64 * 1e6,
            32_768.0 * best / bytes as f64 * 1e3,
            written as f64 / 1e6,
        );
    }
    Ok(())
}

fn ours(url: &WebUrl, page: &[u8], out: &mut Vec<u8>) {
    let setting = Setting { stamp: "20260102030405", url, mode: Mode::Names };
    let mut rewriter = HtmlRewriter::new(&setting, Some("text/html"), &page[..page.len().min(PIECE_BYTES)]);
    page.chunks(PIECE_BYTES).for_each(|piece| rewriter.push(piece, out));
    rewriter.finish(out);
}

fn lol_html(_: &WebUrl, page: &[u8], out: &mut Vec<u8>) {
    let settings = Settings::new().append_element_content_handler(element!("*", |element| {
        let links: Vec<_> = element
            .attributes()
            .iter()
            .map(|attribute| (attribute.name(), attribute.value()))
            .filter(|(name, value)| {
                matches!(name.as_str(), "href" | "src") && (value.starts_with('/') || value.starts_with("http"))
            })
            .collect();
        for (name, value) in links {
            element.set_attribute(&name, &format!("/web/20260102030405/{value}"))?;
        }
        Ok(())
    }));
    let mut rewriter = lol_html::HtmlRewriter::new(settings, |piece: &[u8]| out.extend_from_slice(piece));
    for piece in page.chunks(PIECE_BYTES) {
        if rewriter.write(piece).is_err() {
            return;
        }
    }
    let _ = rewriter.end();
}

/// Of this thread: what other programs take of the core does not count.
fn cpu_time() -> std::io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

fn collect(path: &Path, pages: &mut Vec<Vec<u8>>) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in std::fs::read_dir(path)? {
            let path = entry?.path();
            if path.is_dir() || path.extension().is_some_and(|extension| extension == "html") {
                collect(&path, pages)?;
            }
        }
    } else {
        pages.push(std::fs::read(path)?);
    }
    Ok(())
}
