//! From a URL and a moment to the capture that is shown.
//!
//! A *page* is the newest version not newer than the moment, or the first after it. What a page *embeds* is the version
//! nearest to the page's own moment, as in the field: a crawl fetches a page before its pictures, so that the right
//! picture is often seconds younger than the page.

use crate::answer::Trouble;
use crate::archive::Entries;
use crate::limits::VERSIONS_TRIED_MAX;
use crate::site::Site;
use herodotus_base::Timestamp;
use herodotus_page::{ResponseHead, WebUrl};
use herodotus_store::{Entity, EntityBody, Entry, key_of};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Want {
    Page,
    Embed,
}

/// The capture for a URL at a moment; `None`: there is none at all.
pub(crate) fn choose(site: &Site, url: &str, at: Timestamp, want: Want) -> Result<Option<Entry>, Trouble> {
    let key = key_of(url);
    let asked = WebUrl::parse(url).ok();
    let before = first_fit(site, asked.as_ref(), site.archive().versions_until(&key, at))?;
    if want == Want::Page && before.fit.is_some() {
        return Ok(before.fit);
    }
    let after = first_fit(site, asked.as_ref(), site.archive().versions_after(&key, at))?;
    Ok(match (before.fit, after.fit) {
        (Some(before), Some(after)) => {
            let (past, future) = (at.millis() - before.id.time.millis(), after.id.time.millis() - at.millis());
            Some(if past <= future { before } else { after })
        }
        (None, None) => before.circular.or(after.circular),
        (before, after) => before.or(after),
    })
}

/// What a walk over versions found.
#[derive(Debug, Default)]
struct Walked {
    fit: Option<Entry>,
    /// The first that leads back to where we came from: better than nothing.
    circular: Option<Entry>,
}

/// The first that is a capture and does not lead back to where we came from: `http://a/` that sends to `https://a/`, or `/a`
/// to `/a/`, have one key, and would send the reader round in circles.
fn first_fit(site: &Site, asked: Option<&WebUrl>, versions: Entries<'_>) -> Result<Walked, Trouble> {
    let mut walked = Walked::default();
    for entry in versions.take(VERSIONS_TRIED_MAX) {
        let entry = entry?;
        if !entry.is_capture() {
            continue;
        }
        let is_redirect = matches!(entry.status, Some(300..=399)) && entry.status != Some(304);
        if is_redirect && asked.is_some() && redirect_target(site, &entry)?.as_ref() == asked {
            walked.circular.get_or_insert(entry);
            continue;
        }
        walked.fit = Some(entry);
        break;
    }
    Ok(walked)
}

/// Where a captured redirect leads.
fn redirect_target(site: &Site, entry: &Entry) -> Result<Option<WebUrl>, Trouble> {
    let Some(entity) = site.archive().entity(&entry.id)? else { return Ok(None) };
    let location = ResponseHead::parse(&entity.head).and_then(|h| h.header("location").map(|v| v.into_owned()));
    let base = WebUrl::parse(&entry.url).ok();
    Ok(location.zip(base).and_then(|(location, base)| base.join(&location).ok()))
}

/// A capture as its reader sees it.
pub(crate) fn entity(site: &Site, entry: &Entry) -> Result<Arc<Entity>, Trouble> {
    let gone = || Trouble::NotFound(format!("{} of {} is no longer here", entry.url, entry.id.time));
    site.archive().entity(&entry.id)?.ok_or_else(gone)
}

/// Its bytes, where it is small enough to be held and its codings could be taken off.
pub(crate) fn plain_bytes(entity: &Entity) -> Option<bytes::Bytes> {
    match &entity.body {
        EntityBody::Bytes(bytes) if entity.codings_left.is_empty() => Some(bytes.clone()),
        _ => None,
    }
}
