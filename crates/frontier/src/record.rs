//! What is known of a URL: where it stands in the queue, how often it was visited and changed, how to ask again.

use crate::code::{Reader, Writer};
use crate::error::{Error, Result};
use crate::keys::{Class, HostHash, Place, UrlHash};
use herodotus_page::{LinkKind, WebUrl};

const FORM: u8 = 1;

/// A URL's record.
#[derive(Clone, Debug, PartialEq)]
pub struct UrlRecord {
    pub url: WebUrl,
    pub kind: LinkKind,
    /// Pages between a seed and this.
    pub depth: u16,
    /// Steps from the page that needs this to be shown; 0 for a page.
    pub hops: u8,
    /// Redirects in a row that led here.
    pub redirects: u8,
    pub seed: bool,
    /// The round it was last visited in; 0 for never.
    pub round: u32,
    pub visits: u32,
    pub changes: u32,
    /// Dead so often in a row.
    pub dead: u8,
    /// Tries in this round that failed in a way that may pass.
    pub tries: u8,
    pub status: u16,
    pub last_visit_ms: i64,
    /// How soon it is due again.
    pub period_ms: u64,
    pub digest: Option<[u8; 16]>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Links that were found there were left out, for reasons that may be others when the crawl is changed.
    pub(crate) left_out: bool,
    pub(crate) place: Option<Place>,
    /// What redirected here.
    pub(crate) via: Option<(HostHash, UrlHash)>,
}

impl UrlRecord {
    pub(crate) fn new(url: WebUrl, kind: LinkKind, period_ms: u64) -> Self {
        Self {
            url,
            kind,
            depth: 0,
            hops: 0,
            redirects: 0,
            seed: false,
            round: 0,
            visits: 0,
            changes: 0,
            dead: 0,
            tries: 0,
            status: 0,
            last_visit_ms: 0,
            period_ms,
            digest: None,
            etag: None,
            last_modified: None,
            left_out: false,
            place: None,
            via: None,
        }
    }

    /// No longer visited: dead too often, or never to be asked for.
    pub fn is_retired(&self) -> bool {
        self.place.is_none()
    }

    /// Whether it is still to be visited in a run of the crawl, or to be settled otherwise.
    pub fn is_open(&self, run: u32) -> bool {
        match self.place.map(|place| place.class) {
            None => false,
            Some(Class::Fresh | Class::Retry) => true,
            Some(Class::Again) => self.round < run,
        }
    }

    /// Its bytes, as they lie in the table and with other machines.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes.push(FORM);
        let flags = u8::from(self.seed)
            | u8::from(self.digest.is_some()) << 1
            | u8::from(self.etag.is_some()) << 2
            | u8::from(self.last_modified.is_some()) << 3
            | self.place.map_or(0, |place| place.class as u8) << 4
            | u8::from(self.via.is_some()) << 6
            | u8::from(self.left_out) << 7;
        out.bytes.extend_from_slice(&[flags, kind_code(self.kind), self.hops, self.redirects, self.dead, self.tries]);
        out.number(u64::from(self.depth)).number(u64::from(self.round)).number(u64::from(self.visits));
        out.number(u64::from(self.changes)).number(u64::from(self.status));
        out.number(self.last_visit_ms.max(0) as u64).number(self.period_ms);
        if let Some(place) = self.place {
            out.number(place.order);
        }
        if let Some((host, url)) = self.via {
            out.bytes.extend_from_slice(&host.0.to_be_bytes());
            out.bytes.extend_from_slice(&url.0.to_be_bytes());
        }
        if let Some(digest) = &self.digest {
            out.bytes.extend_from_slice(digest);
        }
        for text in [&self.etag, &self.last_modified].into_iter().flatten() {
            out.text(text);
        }
        out.text(self.url.as_str());
        out.bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes, "the record of a URL");
        let head: [u8; 7] = from.bytes(7)?.try_into().map_err(|_| Error::damaged("a URL record without a head"))?;
        let [form, flags, kind, hops, redirects, dead, tries] = head;
        if form != FORM {
            return Err(Error::Newer { found: form, known: FORM });
        }
        let depth = from.small()?;
        let (round, visits, changes) = (from.small()?, from.small()?, from.small()?);
        let status = from.small()?;
        let (last_visit_ms, period_ms) = (from.small()?, from.number()?);
        let class = flags >> 4 & 3;
        let place = match Class::from_code(class) {
            Some(class) => Some(Place { class, order: from.number()? }),
            None => None,
        };
        let via = if flags & 64 != 0 { Some((HostHash(from.hash()?), UrlHash(from.hash()?))) } else { None };
        let digest = if flags & 2 != 0 { from.bytes(16)?.try_into().ok() } else { None };
        let etag = if flags & 4 != 0 { Some(from.text()?.to_owned()) } else { None };
        let last_modified = if flags & 8 != 0 { Some(from.text()?.to_owned()) } else { None };
        let text = from.text()?;
        let url = WebUrl::parse(text).map_err(|e| Error::damaged(format!("a record of `{text}`, which {e}")))?;
        let kind = kind_of_code(kind);
        let (seed, left_out) = (flags & 1 != 0, flags & 128 != 0);
        Ok(Self {
            url,
            kind,
            depth,
            hops,
            redirects,
            seed,
            round,
            visits,
            changes,
            dead,
            tries,
            status,
            last_visit_ms,
            period_ms,
            digest,
            etag,
            last_modified,
            left_out,
            place,
            via,
        })
    }
}

const KINDS: [LinkKind; 11] = [
    LinkKind::Page,
    LinkKind::Redirect,
    LinkKind::Frame,
    LinkKind::Style,
    LinkKind::Script,
    LinkKind::Image,
    LinkKind::Media,
    LinkKind::Font,
    LinkKind::Feed,
    LinkKind::Sitemap,
    LinkKind::Other,
];

/// A kind as it is written down. Numbers are for ever.
pub fn kind_code(kind: LinkKind) -> u8 {
    KINDS.iter().position(|k| *k == kind).unwrap_or(10) as u8
}

/// [`LinkKind::Other`] for what a newer program wrote.
pub fn kind_of_code(code: u8) -> LinkKind {
    KINDS.get(usize::from(code)).copied().unwrap_or(LinkKind::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let url = WebUrl::parse("https://example.org/a?b").unwrap();
        let plain = UrlRecord::new(url.clone(), LinkKind::Page, 1);
        let full = UrlRecord {
            depth: 300,
            hops: 2,
            redirects: 3,
            seed: true,
            round: 70_000,
            visits: 9,
            changes: 4,
            dead: 1,
            tries: 2,
            status: 404,
            last_visit_ms: 1_800_000_000_000,
            digest: Some([7; 16]),
            etag: Some("\"x\"".into()),
            last_modified: Some("Thu, 01 Jan 1970 00:00:00 GMT".into()),
            place: Some(Place { class: Class::Again, order: u64::MAX }),
            via: Some((HostHash(1), UrlHash(2))),
            ..UrlRecord::new(url, LinkKind::Sitemap, 86_400_000)
        };
        for record in [plain, full] {
            assert_eq!(UrlRecord::decode(&record.encode()).unwrap(), record);
        }
    }

    #[test]
    fn a_damaged_record_is_an_error() {
        let url = WebUrl::parse("https://example.org/a?b").unwrap();
        let bytes = UrlRecord::new(url, LinkKind::Page, 1).encode();
        for len in 0..bytes.len() {
            assert!(UrlRecord::decode(&bytes[..len]).is_err(), "{len}");
        }
        let mut newer = bytes;
        newer[0] = 9;
        assert!(matches!(UrlRecord::decode(&newer), Err(Error::Newer { found: 9, .. })));
    }
}
