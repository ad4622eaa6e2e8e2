//! The archive and its crawls, as far as running totals tell them.

use super::text::Text;
use crate::crawls::{CrawlState, CrawlView};
use crate::views::Totals;

pub(super) fn totals(text: &mut Text, totals: &Totals) {
    text.gauge("herodotus_archive_captures", "Captures sealed into packs.").count(&[], totals.captures);
    text.gauge("herodotus_archive_urls", "Distinct URLs among them.").count(&[], totals.urls);
    text.gauge("herodotus_archive_received_bytes", "Bytes of all records as they came over the wire.")
        .count(&[], totals.bytes_in);
    text.gauge("herodotus_archive_disk_bytes", "Bytes of all files of the archive, as they were lately.")
        .count(&[], totals.bytes_on_disk);
}

const STATES: [(CrawlState, &str); 5] = [
    (CrawlState::Running, "running"),
    (CrawlState::Stopping, "stopping"),
    (CrawlState::Stopped, "stopped"),
    (CrawlState::Complete, "complete"),
    (CrawlState::Failed, "failed"),
];

/// All crawls together: their names are people's, and without number. Counts are of each crawl's last run, so that they fall
/// when one begins anew: gauges, not counters.
pub(super) fn crawls(text: &mut Text, crawls: &[CrawlView]) {
    let sum = |of: fn(&CrawlView) -> u64| crawls.iter().map(of).fold(0_u64, u64::saturating_add);
    let mut states = text.gauge("herodotus_crawls", "Crawls by state.");
    for (state, name) in STATES {
        let number = crawls.iter().filter(|crawl| crawl.state == state).count();
        states.count(&[("state", name)], number as u64);
    }
    text.gauge("herodotus_crawl_pages", "Pages fetched in the last run of every crawl, by what became of them.")
        .count(&[("outcome", "new")], sum(|crawl| crawl.new))
        .count(&[("outcome", "changed")], sum(|crawl| crawl.changed))
        .count(&[("outcome", "unchanged")], sum(|crawl| crawl.unchanged))
        .count(&[("outcome", "failed")], sum(|crawl| crawl.failed));
    text.gauge("herodotus_crawl_received_bytes", "Bytes that came in the last run of every crawl.")
        .count(&[], sum(|crawl| crawl.bytes));
    text.gauge("herodotus_crawl_urls", "URLs that crawls know, by whether they wait or are being fetched.")
        .count(&[("state", "waiting")], sum(|crawl| crawl.waiting))
        .count(&[("state", "in_flight")], sum(|crawl| crawl.in_flight))
        .count(
            &[("state", "done")],
            sum(|crawl| crawl.urls.saturating_sub(crawl.waiting).saturating_sub(crawl.in_flight)),
        );
}
