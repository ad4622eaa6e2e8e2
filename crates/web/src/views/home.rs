//! The first page: how much is here, what came last, which crawls there are.

use super::limits::RECENT_SHOWN_MAX;
use super::title::{is_page, titles_of};
use super::versions::seen_version;
use super::{Home, Recent, Totals};
use crate::answer::Trouble;
use crate::archive::Silence;
use crate::crawls::CrawlView;
use crate::site::Site;
use herodotus_store::limits::RECENT_MAX;
use herodotus_store::{Entry, Kind};
use std::collections::HashSet;

pub(crate) fn home(site: &Site) -> Result<Home, Trouble> {
    let (totals, (recent, silent), crawls) = (totals(site)?, recent(site)?, crawls(site)?);
    let silent = Silence::worse(totals.silent, silent);
    Ok(Home { totals, recent, crawls, can_crawl: site.crawls().is_some(), silent })
}

pub(crate) fn totals(site: &Site) -> Result<Totals, Trouble> {
    let (sealed, silent) = site.archive().totals()?;
    Ok(told(site, sealed, silent))
}

/// Of this machine alone, whatever ring it is in: who watches many machines adds them up.
pub(crate) fn own_totals(site: &Site) -> Result<Totals, Trouble> {
    Ok(told(site, site.archive().here().totals()?, None))
}

fn told(site: &Site, sealed: herodotus_store::Totals, silent: Option<Silence>) -> Totals {
    Totals {
        captures: sealed.captures,
        urls: sealed.urls,
        bytes_in: sealed.bytes_in,
        bytes_on_disk: site.caches().disk_bytes(site.data()),
        silent,
    }
}

/// Pages that came last, each URL once; where none of what came last is a page, whatever it was.
pub(crate) fn recent(site: &Site) -> Result<(Vec<Recent>, Option<Silence>), Trouble> {
    let mut seen = HashSet::new();
    let (mut entries, silent) = site.archive().recent(RECENT_MAX)?;
    entries.retain(|entry| seen.insert(entry.id.key.clone()));
    if entries.iter().any(is_page) {
        entries.retain(is_page);
    }
    entries.truncate(RECENT_SHOWN_MAX);
    let revisits = entries.iter().filter(|entry| entry.kind == Kind::Revisit);
    site.archive().fetch(&revisits.map(|entry| entry.id.clone()).collect::<Vec<_>>());
    let titles = titles_of(site, &entries.iter().collect::<Vec<_>>());
    let shown = |(entry, title): (&Entry, Option<String>)| Ok(Recent { title, version: seen_version(site, entry)? });
    let recent = entries.iter().zip(titles).map(shown).collect::<Result<_, Trouble>>()?;
    Ok((recent, silent))
}

/// Every crawl; none where none can be run.
pub(crate) fn crawls(site: &Site) -> Result<Vec<CrawlView>, Trouble> {
    match site.crawls() {
        Some(crawls) => crawls.list().map_err(|refused| Trouble::Ours(refused.0)),
        None => Ok(Vec::new()),
    }
}
