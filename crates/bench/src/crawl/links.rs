//! How fast links are read: every HTML file of the site, in memory, on one core, in pieces as they come from a socket.

use super::Args;
use super::site::Site;
use crate::cpu::Stopwatch;
use crate::table::{Goals, Table, count, mb, short};
use anyhow::Result;
use herodotus_page::{Document, PageReader, WebUrl};

/// What one read from a socket gives at most.
const PIECE_BYTES: usize = 16 << 10;

pub(crate) fn run(args: &Args, goals: &mut Goals) -> Result<()> {
    let site = Site::find(&args.data, &args.site)?;
    let mut pages = Vec::new();
    for file in site.html_files()? {
        let path = file.strip_prefix(&site.root)?.display().to_string();
        pages.push((WebUrl::parse(&format!("http://docs.example/{path}"))?, std::fs::read(&file)?));
    }
    let bytes: u64 = pages.iter().map(|(_, body)| body.len() as u64).sum();
    let (mut rates, mut links) = (Vec::new(), 0);
    for _ in 0..args.runs {
        let watch = Stopwatch::start();
        links = 0;
        for (url, body) in &pages {
            let mut reader = PageReader::new(url.clone(), Document::Html, Some("utf-8"));
            body.chunks(PIECE_BYTES).for_each(|piece| reader.push(piece));
            links += reader.finish().links.len() as u64;
        }
        rates.push(bytes as f64 / 1e6 / watch.stop().cpu_s.max(1e-9));
    }
    rates.sort_by(f64::total_cmp);
    let rate = rates.get(rates.len() / 2).copied().unwrap_or_default();
    println!(
        "### Links read, one core\n\nCPU time, median of {} runs over all HTML files of {}.\n",
        args.runs, site.name
    );
    let mut table = Table::new(&["reader", "pages", "MB", "links", "MB/s"]);
    table.row(["**PageReader**".to_owned(), count(pages.len() as u64), mb(bytes), count(links), short(rate)]);
    table.print();
    goals.at_least("links read on one core", 150.0, rate, " MB/s");
    Ok(())
}
