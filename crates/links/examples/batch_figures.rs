//! Bytes for a link in batches of 10 to 10,000, everything counted: `cargo run -p herodotus-links --example batch_figures -- DIRECTORY…`
//!
//! From the files under the directories come two kinds of links. *Across hosts*: every absolute link in texts and pages, at most 300 of a host (changelogs
//! with thousands of commits are not the web), in the order of their hosts' places, as those that go to one owner lie together. *Within a site*: the links of HTML
//! pages to their own site, in any order, as in a ring that places every URL by itself.

#![allow(clippy::unwrap_used, reason = "an example that cannot read its files has nothing to say")]

use herodotus_base::{Id, Sha256};
use herodotus_links::{CrawlId, Prospect, batch, on_the_wire};
use herodotus_page::{Document, LinkKind, PageReader, WebUrl};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LINKS_PER_HOST_MAX: usize = 300;
const FILE_BYTES_MAX: usize = 2 << 20;

/// What this thread has used of a processor: a laden machine makes nothing longer but waiting.
fn cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or_default()
}

fn files(directory: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), out),
            Ok(kind) if kind.is_file() => out.push(entry.path()),
            _ => {}
        }
    }
}

/// Absolute links in any text.
fn absolute(text: &str, out: &mut BTreeSet<WebUrl>) {
    for (at, _) in text.match_indices("http") {
        let rest = &text[at..];
        let end =
            rest.find(|c: char| !c.is_ascii_graphic() || "\"'<>()[]{}|\\^`,;*#".contains(c)).unwrap_or(rest.len());
        let url = rest[..end].trim_end_matches(['.', ':', '!', '?']).replace("&amp;", "&");
        let Ok(url) = WebUrl::parse(&url) else { continue };
        if url.host().contains('.') && url.as_str().len() < 300 {
            out.insert(url);
        }
    }
}

/// What a page's links are to its crawl, by the looks of them.
fn prospect(url: &WebUrl) -> Prospect {
    let kind = match url.as_str().rsplit('.').next() {
        Some("png" | "svg" | "jpg" | "gif") => LinkKind::Image,
        Some("css") => LinkKind::Style,
        Some("js") => LinkKind::Script,
        _ => LinkKind::Page,
    };
    let chance = Sha256::of(url.as_str().as_bytes()).0[31];
    let hops = u8::from(kind.is_requisite());
    // Three of four at the depth that is being crawled, others one less or more.
    let depth = 3 + u16::from(chance & 7 == 0) - u16::from(chance & 7 == 1);
    Prospect { url: url.as_str().into(), kind: kind as u8, depth, hops, redirects: 0, seed: false }
}

fn table(name: &str, links: &[(CrawlId, Prospect)]) {
    let url_bytes: usize = links.iter().map(|(_, prospect)| prospect.url.len()).sum();
    println!("\n{name}: {} links, URLs of {} bytes on average\n", links.len(), url_bytes / links.len().max(1));
    println!(
        "| links in a batch | batches | bytes a link in the batch | everything counted | µs of CPU a link to close | to open |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    for size in [10, 30, 100, 300, 1_000, 10_000] {
        let batches: Vec<_> = links.chunks_exact(size).collect();
        if batches.is_empty() {
            continue;
        }
        // No need to do ten thousand small ones.
        let every = batches.len().div_ceil(400);
        let batches: Vec<_> = batches.into_iter().step_by(every).collect();
        let start = cpu_ns();
        let closed: Vec<Vec<u8>> = batches.iter().map(|links| batch::close(1, links).unwrap()).collect();
        let (close, start) = (cpu_ns() - start, cpu_ns());
        closed.iter().for_each(|bytes| assert!(!batch::open(bytes).unwrap().links.is_empty()));
        let open = cpu_ns() - start;
        let count = (batches.len() * size) as f64;
        let packed = closed.iter().map(Vec::len).sum::<usize>() as f64 / count;
        let wire = closed.iter().map(|bytes| on_the_wire(bytes.len(), 1)).sum::<usize>() as f64 / count;
        println!(
            "| {size} | {} | {packed:.1} | {wire:.1} | {:.2} | {:.2} |",
            batches.len(),
            close as f64 / 1e3 / count,
            open as f64 / 1e3 / count
        );
    }
}

fn main() {
    let mut paths = Vec::new();
    for directory in std::env::args().skip(1) {
        let mut found = Vec::new();
        files(Path::new(&directory), &mut found);
        paths.extend(found.into_iter().map(|path| (directory.clone(), path)));
    }
    let (mut across, mut within) = (BTreeSet::new(), BTreeSet::new());
    for (directory, path) in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_page = name.ends_with(".html");
        if !is_page && ![".htm", ".md", ".rst"].iter().any(|end| name.ends_with(end)) && name != "copyright" {
            continue;
        }
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let bytes = &bytes[..bytes.len().min(FILE_BYTES_MAX)];
        absolute(&String::from_utf8_lossy(bytes), &mut across);
        let Ok(page) = WebUrl::parse(&format!(
            "https://docs.example.org/{}",
            path.strip_prefix(&directory).unwrap_or(&path).display()
        )) else {
            continue;
        };
        if is_page {
            let mut reader = PageReader::new(page.clone(), Document::Html, Some("utf-8"));
            reader.push(bytes);
            within
                .extend(reader.finish().links.into_iter().map(|link| link.url).filter(|url| url.host() == page.host()));
        }
    }
    let mut hosts: BTreeMap<Id, Vec<WebUrl>> = BTreeMap::new();
    across.into_iter().for_each(|url| hosts.entry(Id::of_host(url.host(), 0)).or_default().push(url));
    let shuffle = |urls: &mut Vec<WebUrl>| urls.sort_by_key(|url| Sha256::of(url.as_str().as_bytes()).0);
    hosts.values_mut().for_each(shuffle);
    let across: Vec<_> = hosts
        .values()
        .flat_map(|urls| urls.iter().take(LINKS_PER_HOST_MAX))
        .map(|url| ([7; 16], prospect(url)))
        .collect();
    println!("{} hosts", hosts.len());
    table("Across hosts", &across);
    let mut within: Vec<WebUrl> = within.into_iter().collect();
    shuffle(&mut within);
    table("Within a site", &within.iter().map(|url| ([7; 16], prospect(url))).collect::<Vec<_>>());
}
