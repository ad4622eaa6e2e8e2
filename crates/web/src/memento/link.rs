//! Links between an original and its mementos, and the dates that go with them (RFC 7089, RFC 8288).

use crate::answer::Trouble;
use crate::archive::Archive;
use crate::tools::put_url;
use herodotus_base::Timestamp;
use herodotus_store::{Entry, EntryKey};
use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

/// What would end a link, or its place in a line, too soon.
const NOT_IN_LINKS: &[u8] = b"<>\"";

/// `Sun, 06 Nov 1994 08:49:37 GMT`. HTTP knows no years before 1970, nor did the web.
pub(crate) fn http_date(time: Timestamp) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(u64::try_from(time.millis()).unwrap_or(0)))
}

/// The addresses of everything that has to do with an original, below one origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses<'a> {
    base: &'a str,
}

impl<'a> Addresses<'a> {
    pub(crate) fn below(base: &'a str) -> Self {
        Self { base }
    }

    fn put(self, out: &mut String, path: &str, url: &str) {
        out.push_str(self.base);
        out.push_str(path);
        put_url(out, url, NOT_IN_LINKS);
    }

    pub(crate) fn memento(self, out: &mut String, entry: &Entry) {
        self.put(out, &format!("/web/{}/", entry.id.time.digits14()), &entry.url);
    }

    pub(crate) fn timegate(self, out: &mut String, url: &str) {
        self.put(out, "/web/timegate/", url);
    }

    /// `start`: the moment from which on it lists, in 17 digits; empty: the first page.
    pub(crate) fn timemap(self, out: &mut String, start: &str, url: &str) {
        let slash = if start.is_empty() { "" } else { "/" };
        self.put(out, &format!("/web/timemap/link/{start}{slash}"), url);
    }
}

/// `<original>; rel="original"` and the links to TimeGate and TimeMap, with `between` between them.
pub(crate) fn put_common(out: &mut String, at: Addresses<'_>, url: &str, between: &str) {
    out.push('<');
    put_url(out, url, NOT_IN_LINKS);
    let _ = write!(out, ">; rel=\"original\"{between}<");
    at.timegate(out, url);
    let _ = write!(out, ">; rel=\"timegate\"{between}<");
    at.timemap(out, "", url);
    out.push('>');
}

/// What makes a link one to a TimeMap in link format.
pub(crate) const TIMEMAP: &str = "; rel=\"timemap\"; type=\"application/link-format\"";

pub(crate) fn put_memento(out: &mut String, at: Addresses<'_>, entry: &Entry, rel: &str) {
    out.push('<');
    at.memento(out, entry);
    let _ = write!(out, ">; rel=\"{rel}\"; datetime=\"{}\"", http_date(entry.id.time));
}

/// The mementos that a reader of one wants to know of: first, previous, this, next, last, each once, in order of time.
pub(crate) fn around(archive: Archive<'_>, entry: &Entry) -> Result<Vec<(Entry, String)>, Trouble> {
    let EntryKey { key, time, .. } = &entry.id;
    if archive.count(key)? == 1 {
        // As most are: then there is nothing to look for.
        return Ok(vec![(entry.clone(), "first last memento".to_owned())]);
    }
    let capture = |found: &Result<Entry, Trouble>| found.as_ref().map_or(true, Entry::is_capture);
    let first = archive.versions(key, false).find(capture).transpose()?;
    let last = archive.versions(key, true).find(capture).transpose()?;
    let other = |found: &Result<Entry, Trouble>, is_after: bool| {
        found.as_ref().map_or(true, |e| e.is_capture() && e.id != entry.id && (e.id > entry.id) == is_after)
    };
    let is_first = first.as_ref().is_some_and(|e| e.id == entry.id);
    let is_last = last.as_ref().is_some_and(|e| e.id == entry.id);
    let prev = match is_first {
        true => None,
        false => archive.versions_until(key, *time).find(|e| other(e, false)).transpose()?,
    };
    let next = match is_last {
        true => None,
        false => {
            // Those of the same millisecond that sort behind come first.
            let same = archive.versions_until(key, *time).take_while(|e| e.as_ref().is_ok_and(|e| e.id > entry.id));
            let same = same.filter(|e| other(e, true)).last().transpose()?;
            match same {
                Some(same) => Some(same),
                None => archive.versions_after(key, *time).find(|e| other(e, true)).transpose()?,
            }
        }
    };
    let mut found: Vec<(Entry, String)> = Vec::with_capacity(5);
    let named = [(first, "first "), (prev, "prev "), (Some(entry.clone()), ""), (next, "next "), (last, "last ")];
    for (entry, rel) in named.into_iter().filter_map(|(entry, rel)| Some((entry?, rel))) {
        match found.iter_mut().find(|(known, _)| known.id == entry.id) {
            Some((_, rels)) => rels.push_str(rel),
            None => found.push((entry, rel.to_owned())),
        }
    }
    found.iter_mut().for_each(|(_, rels)| rels.push_str("memento"));
    Ok(found)
}
