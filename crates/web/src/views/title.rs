//! Titles of pages: from the catalogue, or from the page itself where no catalogue has it (yet). A title is an ornament:
//! what goes wrong on the way to it is no reason to show nothing else.

use super::cache::name_of;
use super::limits::{TITLE_CHARS_MAX, TITLE_WITHIN_BYTES_MAX};
use crate::lookup::plain_bytes;
use crate::site::Site;
use herodotus_page::{decode_text, title};
use herodotus_store::Entry;
use std::sync::Arc;

/// Whether a reader would call it a page.
pub(super) fn is_page(entry: &Entry) -> bool {
    entry.status == Some(200) && matches!(entry.media.as_str(), "text/html" | "application/xhtml+xml")
}

/// The newest title that a catalogue knows of a URL.
pub(super) fn known_title(site: &Site, key: &str) -> Option<String> {
    site.archive().title_of(key)
}

/// The title of a capture. Reads it only if it is a page that no catalogue knows.
pub(super) fn title_of(site: &Site, entry: &Entry) -> Option<String> {
    titles_of(site, &[entry]).pop().flatten()
}

/// The titles of some captures, in their order: asked for together, since they may lie on many machines.
pub(super) fn titles_of(site: &Site, entries: &[&Entry]) -> Vec<Option<String>> {
    let pages: Vec<&Entry> = entries.iter().copied().filter(|entry| is_page(entry)).collect();
    let keys: Vec<&str> = pages.iter().map(|page| page.id.key.as_str()).collect();
    let known = site.archive().titles(&keys);
    let unknown = pages.iter().zip(&known).filter(|(_, title)| title.is_none());
    site.archive().fetch(&unknown.map(|(page, _)| page.id.clone()).collect::<Vec<_>>());
    let mut known = known.into_iter();
    let mut title = |entry: &Entry| match is_page(entry) {
        true => known.next().flatten().or_else(|| own_title(site, entry)),
        false => None,
    };
    entries.iter().map(|entry| title(entry)).collect()
}

/// The title as the capture itself has it.
pub(super) fn own_title(site: &Site, entry: &Entry) -> Option<String> {
    let titles = &site.caches().titles;
    let name = name_of(&[&entry.id]);
    if let Some(known) = titles.get(&name) {
        return known.map(|title| title.to_string());
    }
    let title = read_title(site, entry);
    titles.insert(name, title.as_deref().map(Arc::from));
    title
}

fn read_title(site: &Site, entry: &Entry) -> Option<String> {
    let entity = site.archive().entity_in_passing(&entry.id).ok()??;
    let body = plain_bytes(&entity)?;
    let start = body.get(..TITLE_WITHIN_BYTES_MAX).unwrap_or(&body);
    let title = title(&decode_text(start, entity.content_type.as_deref()))?;
    let shown: String = title.chars().filter(|c| !steers(*c)).take(TITLE_CHARS_MAX).collect();
    (!shown.trim().is_empty()).then(|| shown.trim().to_owned())
}

/// Signs that steer a terminal or turn the direction of writing: a title must not rearrange what stands around it.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
