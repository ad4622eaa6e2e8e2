//! What the index says of one capture, and how it is spelled in bytes.

use crate::capture::Kind;
use crate::wire::{Cursor, Put};
use herodotus_base::{Sha1, Timestamp};
use herodotus_page::{compress_url, expand_url};

/// Names one capture: SURT key, time, and a tag that tells captures of one moment apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    pub key: String,
    pub time: Timestamp,
    pub tag: [u8; 8],
}

impl EntryKey {
    /// Key, zero byte, time, tag: byte order is key order, then time order.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Self::up_to(&self.key, self.time);
        out.put_raw(&self.tag);
        out
    }

    /// Where the versions of a key at a time begin.
    pub(crate) fn up_to(key: &str, time: Timestamp) -> Vec<u8> {
        let mut out = Vec::with_capacity(key.len() + 17);
        out.put_raw(key.as_bytes());
        out.push(0);
        out.put_raw(&time.to_sortable());
        out
    }

    /// First and past-the-last key of all versions of one SURT key.
    pub(crate) fn range_of(key: &str) -> (Vec<u8>, Vec<u8>) {
        let (mut from, mut to) = (key.as_bytes().to_vec(), key.as_bytes().to_vec());
        from.push(0);
        to.push(1);
        (from, to)
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (rest, tag) = bytes.split_last_chunk::<8>()?;
        let (rest, time) = rest.split_last_chunk::<8>()?;
        let (zero, key) = rest.split_last()?;
        (*zero == 0).then_some(())?;
        Some(Self { key: std::str::from_utf8(key).ok()?.to_owned(), time: Timestamp::from_sortable(*time)?, tag: *tag })
    }
}

/// A place in the packs: the block, and which item in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub pack: u32,
    pub offset: u64,
    pub slot: u32,
}

/// What is known of a capture without reading it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub id: EntryKey,
    pub kind: Kind,
    pub url: String,
    pub status: Option<u16>,
    /// Without parameters, lower case; empty if unknown.
    pub media: String,
    /// The payload digest by which other tools know it.
    pub sha1: Sha1,
    /// Bytes of the payload as it came.
    pub len: u64,
    /// Bytes of the whole exchange as it came: heads and bodies, request and all.
    pub bytes_in: u64,
    /// How many differences must be resolved to read it.
    pub depth: u8,
    pub truncated: bool,
    /// Its body's bytes are stored with another capture.
    pub shared: bool,
    /// Its body is a file of its own.
    pub in_file: bool,
    /// Taken out by a person, or, if `released` says so, let go because others hold it: no reader sees it; its bytes go at the
    /// next compaction.
    pub removed: bool,
    /// Let go, not taken out: it may come back. Never without `removed`.
    pub released: bool,
    /// `None` once the bytes of a removed capture are gone.
    pub place: Option<Place>,
    /// Where the pack ended, and which it was, when the item was last written anew because its bytes were damaged: what was
    /// stored against it before that was stored against other bytes.
    pub mended: Option<(u32, u64)>,
}

mod flag {
    pub(super) const TRUNCATED: u8 = 1;
    pub(super) const SHARED: u8 = 2;
    pub(super) const REMOVED: u8 = 4;
    pub(super) const GONE: u8 = 8;
    pub(super) const IN_FILE: u8 = 16;
    pub(super) const RELEASED: u8 = 32;
    pub(super) const MENDED: u8 = 64;
}

const FORM: u8 = 1;

/// The media types that make up nearly all of the web, by number. Only ever append to this list.
const MEDIA: [&str; 32] = [
    "",
    "text/html",
    "text/css",
    "text/plain",
    "text/xml",
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/json",
    "application/xml",
    "application/xhtml+xml",
    "application/rss+xml",
    "application/atom+xml",
    "application/pdf",
    "application/octet-stream",
    "application/zip",
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/webp",
    "image/svg+xml",
    "image/x-icon",
    "image/vnd.microsoft.icon",
    "image/avif",
    "font/woff2",
    "font/woff",
    "application/font-woff",
    "video/mp4",
    "audio/mpeg",
    "application/ld+json",
    "text/dns",
    "application/warc-fields",
];

pub fn kind_code(kind: &Kind) -> u8 {
    match kind {
        Kind::Response => 0,
        Kind::Resource => 1,
        Kind::Request => 2,
        Kind::Revisit => 3,
        Kind::Metadata => 4,
        Kind::Warcinfo => 5,
        Kind::Conversion => 6,
        Kind::Continuation => 7,
        Kind::Other(_) => 8,
    }
}

pub fn kind_from_code(code: u8, other: impl FnOnce() -> String) -> Option<Kind> {
    Some(match code {
        0 => Kind::Response,
        1 => Kind::Resource,
        2 => Kind::Request,
        3 => Kind::Revisit,
        4 => Kind::Metadata,
        5 => Kind::Warcinfo,
        6 => Kind::Conversion,
        7 => Kind::Continuation,
        8 => Kind::Other(other()),
        _ => return None,
    })
}

impl Entry {
    /// Whether it answers for its URL: what `list`, `get` and CDX speak of.
    pub fn is_capture(&self) -> bool {
        !self.removed && kind_is_capture(&self.kind)
    }

    /// Whether a person took it out: for ever, and wherever it is.
    pub fn is_removed_for_good(&self) -> bool {
        self.removed && !self.released
    }

    /// The mark that a capture was removed, with nothing left of it.
    pub(crate) fn gone(id: EntryKey) -> Self {
        Self {
            id,
            kind: Kind::Response,
            url: String::new(),
            status: None,
            media: String::new(),
            sha1: Sha1([0; 20]),
            len: 0,
            bytes_in: 0,
            depth: 0,
            truncated: false,
            shared: false,
            in_file: false,
            removed: true,
            released: false,
            place: None,
            mended: None,
        }
    }

    pub fn encode_value(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        let flags = [
            (self.truncated, flag::TRUNCATED),
            (self.shared, flag::SHARED),
            (self.in_file, flag::IN_FILE),
            (self.removed, flag::REMOVED),
            (self.released, flag::RELEASED),
            (self.place.is_some() && self.mended.is_some(), flag::MENDED),
            (self.place.is_none(), flag::GONE),
        ];
        out.push(FORM);
        out.push(kind_code(&self.kind));
        out.push(flags.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum());
        if let Some(place) = self.place {
            out.push(self.depth);
            out.put_u64(u64::from(self.status.unwrap_or(0)));
            match MEDIA.iter().position(|m| *m == self.media) {
                Some(n) => out.put_len(n),
                None => {
                    out.put_u64(255);
                    out.put_bytes(self.media.as_bytes());
                }
            }
            out.put_u64(self.len);
            out.put_u64(self.bytes_in);
            out.put_u64(u64::from(place.pack));
            out.put_u64(place.offset);
            out.put_u64(u64::from(place.slot));
            if let Some((pack, offset)) = self.mended {
                out.put_u64(u64::from(pack));
                out.put_u64(offset);
            }
            out.put_raw(&self.sha1.0);
            if let Kind::Other(name) = &self.kind {
                out.put_bytes(name.as_bytes());
            }
            out.put_raw(&compress_url(&self.id.key, &self.url));
        }
        out
    }

    /// For another machine, to which it says nothing where this lies. One that waits in memory has no place yet, and is told whole too.
    pub fn encode_told(&self) -> Vec<u8> {
        let is_gone = self.removed && self.place.is_none();
        let place = (!is_gone).then_some(Place { pack: 0, offset: 0, slot: 0 });
        Self { place, mended: None, ..self.clone() }.encode_value()
    }

    /// What another machine told.
    pub fn decode_told(id: EntryKey, value: &[u8]) -> Option<Self> {
        Some(Self { place: None, mended: None, ..Self::decode(id, value)? })
    }

    pub fn decode(id: EntryKey, value: &[u8]) -> Option<Self> {
        let mut entry = Self::gone(id);
        entry.read_value(value)?;
        Some(entry)
    }

    /// Fills in all but the name. `None`: this is no value of ours, and nothing here is to be believed.
    pub(crate) fn read_value(&mut self, value: &[u8]) -> Option<()> {
        let mut c = Cursor::new(value);
        (c.u8()? == FORM).then_some(())?;
        let (kind, flags) = (c.u8()?, c.u8()?);
        let on = |bit: u8| flags & bit != 0;
        self.kind = kind_from_code(kind, String::new)?;
        self.truncated = on(flag::TRUNCATED);
        self.shared = on(flag::SHARED);
        self.in_file = on(flag::IN_FILE);
        self.removed = on(flag::REMOVED);
        self.released = on(flag::RELEASED);
        if on(flag::GONE) {
            return Some(());
        }
        self.depth = c.u8()?;
        self.status = u16::try_from(c.u64()?).ok().filter(|s| *s != 0);
        self.media = match c.usize()? {
            255 => c.text()?.to_owned(),
            n => (*MEDIA.get(n)?).to_owned(),
        };
        self.len = c.u64()?;
        self.bytes_in = c.u64()?;
        self.place = Some(Place { pack: c.u32()?, offset: c.u64()?, slot: c.u32()? });
        if on(flag::MENDED) {
            self.mended = Some((c.u32()?, c.u64()?));
        }
        self.sha1 = Sha1(c.array()?);
        if let Kind::Other(name) = &mut self.kind {
            name.push_str(c.text()?);
        }
        self.url = expand_url(&self.id.key, c.rest())?;
        Some(())
    }
}

pub(crate) fn kind_is_capture(kind: &Kind) -> bool {
    matches!(kind, Kind::Response | Kind::Resource | Kind::Revisit | Kind::Conversion)
}

/// Where a body's bytes are, and whether more than one capture has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyPlace {
    pub at: BodyAt,
    pub shared: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyAt {
    /// Inside the item at this place.
    Item(Place),
    /// A block of its own.
    Raw { pack: u32, offset: u64 },
    /// A file of its own, named by the digest.
    Blob,
}

impl BodyPlace {
    pub fn encode(&self) -> Vec<u8> {
        let shared = if self.shared { 0x80 } else { 0 };
        let mut out = Vec::with_capacity(12);
        match self.at {
            BodyAt::Item(place) => {
                out.push(shared);
                out.put_u64(u64::from(place.pack));
                out.put_u64(place.offset);
                out.put_u64(u64::from(place.slot));
            }
            BodyAt::Raw { pack, offset } => {
                out.push(shared | 1);
                out.put_u64(u64::from(pack));
                out.put_u64(offset);
            }
            BodyAt::Blob => out.push(shared | 2),
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut c = Cursor::new(bytes);
        let tag = c.u8()?;
        let at = match tag & 0x7f {
            0 => BodyAt::Item(Place { pack: c.u32()?, offset: c.u64()?, slot: c.u32()? }),
            1 => BodyAt::Raw { pack: c.u32()?, offset: c.u64()? },
            2 => BodyAt::Blob,
            _ => return None,
        };
        Some(Self { at, shared: tag & 0x80 != 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        let url = "https://www.example.org/a/Page?x=1".to_owned();
        Entry {
            id: EntryKey {
                key: herodotus_page::surt(&url),
                time: Timestamp::parse("20260102030405").unwrap(),
                tag: [7; 8],
            },
            kind: Kind::Response,
            url,
            status: Some(200),
            media: "text/html".into(),
            sha1: Sha1::of(b"x"),
            len: 1,
            bytes_in: 500,
            depth: 3,
            truncated: true,
            shared: false,
            in_file: false,
            removed: false,
            released: false,
            place: Some(Place { pack: 1, offset: 70_000, slot: 4 }),
            mended: None,
        }
    }

    #[test]
    fn entries_come_back_whole() {
        let mut e = entry();
        for (kind, media) in [(Kind::Response, "text/html"), (Kind::Other("odd".into()), "application/x-strange")] {
            (e.kind, e.media) = (kind, media.into());
            let id = EntryKey::decode(&e.id.encode()).unwrap();
            assert_eq!(Entry::decode(id.clone(), &e.encode_value()).unwrap(), e);
            let hidden = Entry { removed: true, released: true, mended: Some((300, 1 << 40)), ..e.clone() };
            assert_eq!(Entry::decode(id, &hidden.encode_value()).unwrap(), hidden);
        }
    }

    #[test]
    fn another_machine_is_told_all_but_where_it_lies_even_of_what_waits_in_memory() {
        let packed = Entry { mended: Some((3, 4)), ..entry() };
        let waiting = Entry { place: None, ..entry() };
        for told in [&packed, &waiting] {
            assert_eq!(Entry::decode_told(told.id.clone(), &told.encode_told()).as_ref(), Some(&waiting));
        }
        let gone = Entry::gone(entry().id);
        assert_eq!(Entry::decode_told(gone.id.clone(), &gone.encode_told()), Some(gone));
        // As machines told it before.
        assert_eq!(Entry::decode_told(packed.id.clone(), &packed.encode_value()), Some(waiting));
    }

    #[test]
    fn an_entry_is_short_and_no_prefix_of_it_is_an_entry() {
        let value = entry().encode_value();
        assert!(value.len() < 60, "{}", value.len());
        for n in 0..20 {
            assert_eq!(Entry::decode(entry().id, &value[..n]), None, "{n}");
        }
    }

    #[test]
    fn keys_sort_by_key_then_time() {
        let key = |k: &str, t: &str| EntryKey { key: k.into(), time: Timestamp::parse(t).unwrap(), tag: [0; 8] };
        let sorted = [key("com,a)/", "2020"), key("com,a)/", "2021"), key("com,a)/b", "2019"), key("com,b)/", "2018")];
        assert!(sorted.iter().map(EntryKey::encode).is_sorted());
        let (from, to) = EntryKey::range_of("com,a)/");
        let inside = |k: &EntryKey| (from.clone()..to.clone()).contains(&k.encode());
        assert_eq!(sorted.iter().filter(|k| inside(k)).count(), 2);
    }
}
