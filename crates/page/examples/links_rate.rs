//! How fast links are read, in CPU time of one core: every `.html` file under a directory, loaded beforehand, given to `PageReader`
//! in pieces of 64 KiB, and to `lol_html` with selectors for the same attributes, its values resolved and deduplicated.
//!
//! `cargo run --release -p herodotus-page --example links_rate -- DIRECTORY [ROUNDS] [PageReader|lol_html]`

use herodotus_page::{Document, PageReader, WebUrl};
use lol_html::{HtmlRewriter, Settings, element};
use nix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

const PIECE_BYTES: usize = 64 * 1024;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        eprintln!("usage: links_rate DIRECTORY [ROUNDS] [PageReader|lol_html]");
        std::process::exit(2);
    };
    let rounds: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3);
    let only = arguments.next();
    let mut pages = Vec::new();
    collect(Path::new(&directory), Path::new(&directory), &mut pages)?;
    let bytes: usize = pages.iter().map(|(_, body)| body.len()).sum();
    println!("{} pages, {:.1} MB", pages.len(), bytes as f64 / 1e6);
    for (name, read) in [("PageReader", page_reader as fn(&WebUrl, &[u8]) -> usize), ("lol_html", lol)] {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let mut best = f64::INFINITY;
        let mut links = 0;
        for _ in 0..rounds {
            let start = cpu_time()?;
            links = pages.iter().map(|(url, body)| read(url, body)).sum();
            best = best.min((cpu_time()? - start).as_secs_f64());
        }
        let per_page = best / pages.len().max(1) as f64;
        println!(
            "{name:>12}: {:>7.1} MB/s, {links} links, {:.1} µs a page (best of {rounds})",
            bytes as f64 / best / 1e6,
            per_page * 1e6
        );
    }
    Ok(())
}

/// Of this thread: what other programs take of the core does not count.
fn cpu_time() -> std::io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

fn collect(root: &Path, directory: &Path, pages: &mut Vec<(WebUrl, Vec<u8>)>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            collect(root, &path, pages)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "html") {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
            if let Ok(url) = WebUrl::parse(&format!("http://docs.example/{name}")) {
                pages.push((url, std::fs::read(&path)?));
            }
        }
    }
    Ok(())
}

fn page_reader(url: &WebUrl, body: &[u8]) -> usize {
    let mut reader = PageReader::new(url.clone(), Document::Html, None);
    body.chunks(PIECE_BYTES).for_each(|piece| reader.push(piece));
    reader.finish().links.len()
}

fn lol(url: &WebUrl, body: &[u8]) -> usize {
    let Ok(base) = url.to_url() else { return 0 };
    let links = RefCell::new(HashSet::new());
    let add = |value: Option<String>| {
        if let Some(url) = value.and_then(|value| base.join(&value).ok()).and_then(|url| WebUrl::from_url(url).ok()) {
            links.borrow_mut().insert(url);
        }
        Ok(())
    };
    let settings = Settings::new()
        .append_element_content_handler(element!("[href]", |element| add(element.get_attribute("href"))))
        .append_element_content_handler(element!("[src]", |element| add(element.get_attribute("src"))))
        .append_element_content_handler(element!("[srcset], [style], form[action], [poster]", |_| Ok(())));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    for piece in body.chunks(PIECE_BYTES) {
        if rewriter.write(piece).is_err() {
            return 0;
        }
    }
    let _ = rewriter.end();
    links.into_inner().len()
}
