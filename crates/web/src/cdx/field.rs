//! The fields of an index line: their names, as pywb and as OpenWayback write them, and their values for a capture.
//!
//! Values are what pywb's own indexer says of the same record, where the index of our store knows it. `filename`, `offset` and
//! `length` point into WARC files there, which we have none of: here `filename` is the name under which `/warc/` gives the
//! record, `offset` is 0, and `length` the bytes of the payload.

use crate::tools::put_url;
use data_encoding::BASE32_NOPAD;
use herodotus_base::{Sha1, Timestamp};
use herodotus_store::{Entry, Kind};
use std::fmt::Write;

/// What revisits have for a media type until they are resolved.
const REVISIT: &str = "warc/revisit";

/// What a URL may not hold in a `filename`: pywb takes `*` for a pattern, Python's clients `[` for an address, and every client
/// keeps what follows `#` to itself.
const NOT_IN_NAMES: &[u8] = b"#*[]";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    UrlKey,
    Timestamp,
    Url,
    Mime,
    Status,
    Digest,
    Length,
    Offset,
    Filename,
    OrigLength,
    OrigOffset,
    OrigFilename,
    /// One that no line of ours has.
    Unknown,
}

impl Field {
    /// All of a line of JSON, in order.
    pub(crate) const ALL: [(&'static str, Self); 9] = [
        ("urlkey", Self::UrlKey),
        ("timestamp", Self::Timestamp),
        ("url", Self::Url),
        ("mime", Self::Mime),
        ("status", Self::Status),
        ("digest", Self::Digest),
        ("length", Self::Length),
        ("offset", Self::Offset),
        ("filename", Self::Filename),
    ];
    /// What `resolveRevisits` adds to a line.
    pub(crate) const ORIGINAL: [(&'static str, Self); 3] =
        [("orig.length", Self::OrigLength), ("orig.offset", Self::OrigOffset), ("orig.filename", Self::OrigFilename)];
    /// Those of a line of text: the public format of the Internet Archive's server.
    pub(crate) const IN_TEXT: usize = 7;

    pub(crate) fn of(name: &str) -> Self {
        match name {
            "original" | "u" => Self::Url,
            "mimetype" | "m" => Self::Mime,
            "statuscode" => Self::Status,
            "k" => Self::UrlKey,
            "t" => Self::Timestamp,
            "d" => Self::Digest,
            // pywb's table gives `s` twice, and the last counts.
            "l" | "s" => Self::Length,
            "o" => Self::Offset,
            "f" => Self::Filename,
            _ => {
                let known = Self::ALL.iter().chain(&Self::ORIGINAL).find(|(known, _)| *known == name);
                known.map_or(Self::Unknown, |(_, field)| *field)
            }
        }
    }
}

/// The capture that a revisit stands for, as far as a line tells of it.
#[derive(Clone, Debug)]
pub(crate) struct Original {
    pub(crate) key: String,
    pub(crate) time: Timestamp,
    url: String,
    media: String,
    status: Option<u16>,
    len: u64,
}

impl Original {
    pub(crate) fn of(entry: &Entry) -> Self {
        let Entry { id, url, media, status, len, .. } = entry.clone();
        Self { key: id.key, time: id.time, url, media, status, len }
    }
}

/// One capture as a line shows it.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) entry: &'a Entry,
    /// Its time in fourteen digits.
    pub(crate) stamp: &'a str,
    /// `Some`: revisits are to be resolved, and this one could be, or not.
    pub(crate) original: Option<Option<&'a Original>>,
}

impl Line<'_> {
    /// Appends a value. `false`: the line has none.
    pub(crate) fn put(&self, field: Field, out: &mut String) -> bool {
        let entry = self.entry;
        let original = self.original.flatten();
        match field {
            Field::UrlKey => out.push_str(&entry.id.key),
            Field::Timestamp => out.push_str(self.stamp),
            Field::Url => put_url(out, &entry.url, b""),
            Field::Mime => match original {
                Some(original) => return put_media(out, &original.media, original.status),
                None if entry.kind == Kind::Revisit => out.push_str(REVISIT),
                None => return put_media(out, &entry.media, entry.status),
            },
            Field::Status => {
                // By convention of the field only of responses; a revisit's head may be its original's or none.
                let own = if entry.kind == Kind::Response { entry.status } else { None };
                let Some(status) = original.map_or(own, |original| original.status) else { return false };
                put_number(out, u64::from(status));
            }
            Field::Digest => put_digest(out, &entry.sha1),
            Field::Length => put_number(out, entry.len),
            Field::Offset => out.push('0'),
            Field::Filename => put_filename(out, self.stamp, entry.id.time, &entry.url),
            Field::OrigLength | Field::OrigOffset | Field::OrigFilename => {
                let Some(original) = self.original else { return false };
                match (original, field) {
                    (None, _) => out.push('-'),
                    (Some(original), Field::OrigLength) => put_number(out, original.len),
                    (Some(_), Field::OrigOffset) => out.push('0'),
                    (Some(original), _) => put_filename(out, &original.time.digits14(), original.time, &original.url),
                }
            }
            Field::Unknown => return false,
        }
        true
    }
}

/// pywb says `unk` of an HTTP answer that does not say what it is.
fn put_media(out: &mut String, media: &str, status: Option<u16>) -> bool {
    out.push_str(if media.is_empty() && status.is_some() { "unk" } else { media });
    !media.is_empty() || status.is_some()
}

fn put_number(out: &mut String, number: u64) {
    let _ = write!(out, "{number}");
}

fn put_digest(out: &mut String, digest: &Sha1) {
    let mut text = [0; 32];
    BASE32_NOPAD.encode_mut(&digest.0, &mut text);
    out.extend(text.map(char::from));
}

/// The name of a capture below `/warc/`: its very millisecond, and its URL, as it is or percent-encoded as a whole: Wayback URLs
/// may be written so.
fn put_filename(out: &mut String, stamp: &str, time: Timestamp, url: &str) {
    let _ = write!(out, "{stamp}{:03}/", time.millis().rem_euclid(1000));
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !NOT_IN_NAMES.contains(&byte);
    if url.bytes().all(is_plain) || !url.starts_with("http") {
        return put_url(out, url, NOT_IN_NAMES);
    }
    for byte in url.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => out.push(char::from(byte)),
            false => _ = write!(out, "%{byte:02X}"),
        }
    }
}
