//! The first page: how much is here, what came last, which crawls there are.

use super::limits::RECENT_SHOWN_MAX;
use super::title::{is_page, title_of};
use super::versions::seen_version;
use super::{Home, Recent, Totals};
use crate::answer::Trouble;
use crate::crawls::CrawlView;
use crate::site::Site;
use herodotus_store::Entry;
use herodotus_store::limits::RECENT_MAX;
use std::collections::HashSet;

pub(crate) fn home(site: &Site) -> Result<Home, Trouble> {
    let (totals, recent, crawls) = (totals(site)?, recent(site)?, crawls(site)?);
    Ok(Home { totals, recent, crawls, can_crawl: site.crawls().is_some() })
}

pub(crate) fn totals(site: &Site) -> Result<Totals, Trouble> {
    let sealed = site.store().totals()?;
    Ok(Totals {
        captures: sealed.captures,
        urls: sealed.urls,
        bytes_in: sealed.bytes_in,
        bytes_on_disk: site.caches().disk_bytes(site.data()),
    })
}

/// Pages that came last, each URL once; where none of what came last is a page, whatever it was.
pub(crate) fn recent(site: &Site) -> Result<Vec<Recent>, Trouble> {
    let mut seen = HashSet::new();
    let mut entries = site.store().recent(RECENT_MAX)?;
    entries.retain(|entry| seen.insert(entry.id.key.clone()));
    if entries.iter().any(is_page) {
        entries.retain(is_page);
    }
    entries.truncate(RECENT_SHOWN_MAX);
    let shown = |entry: &Entry| Ok(Recent { title: title_of(site, entry), version: seen_version(site, entry)? });
    entries.iter().map(shown).collect()
}

/// Every crawl; none where none can be run.
pub(crate) fn crawls(site: &Site) -> Result<Vec<CrawlView>, Trouble> {
    match site.crawls() {
        Some(crawls) => crawls.list().map_err(|refused| Trouble::Ours(refused.0)),
        None => Ok(Vec::new()),
    }
}
