//! What the store keeps: a [`Capture`] is one exchange with an origin, in the words of WARC, so that nothing that comes
//! in from the field's files is lost on the way out.

use crate::error::{Error, Result};
use crate::hashing;
use crate::index::EntryKey;
use crate::limits::{COMPANION_BYTES_MAX, COMPANIONS_MAX};
use herodotus_base::limits::{BODY_IN_MEMORY_BYTES_MAX, HTTP_HEAD_BYTES_MAX, URL_BYTES_MAX};
use herodotus_base::{Digests, Sha1, Sha256, Timestamp};
use std::borrow::Cow;
use std::sync::Arc;

pub use herodotus_warc::{Fields, Kind};

/// One exchange: the record that answers for the URL (response, revisit, resource …) and the records that belong to it
/// (the request, metadata).
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// The URL as asked.
    pub url: String,
    /// When, in UTC milliseconds.
    pub time: Timestamp,
    pub main: Record,
    pub companions: Vec<Record>,
}

/// One WARC record, or what becomes one.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub kind: Kind,
    pub id: RecordId,
    /// The WARC header as it was in the file we have it from. Of what we captured ourselves: without a version, and only
    /// with what the exchange alone does not tell (address, truncation, protocol); or `None`.
    pub warc: Option<WarcHeader>,
    /// The HTTP head with its empty line; empty where the record holds no HTTP message.
    pub head: Vec<u8>,
    pub body: Body,
}

/// The name of a record. Ours and most others' are UUIDs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordId {
    Uuid([u8; 16]),
    /// Whatever else a file calls it, without the angle brackets.
    Text(String),
}

/// A WARC header: version and named fields in their order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct WarcHeader {
    pub version: Cow<'static, str>,
    pub fields: Fields,
}

/// The bytes after the head.
#[derive(Clone, Debug)]
pub enum Body {
    /// In memory: at most [`herodotus_base::limits::BODY_IN_MEMORY_BYTES_MAX`].
    Bytes(Arc<[u8]>, Digests),
    /// A large body that already lies in the store, written through [`crate::Store::blob_writer`].
    Blob { len: u64, digests: Digests },
}

impl Body {
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let digests = hashing::of_body(&bytes);
        Self::Bytes(bytes, digests)
    }

    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes, _) => bytes.len() as u64,
            Self::Blob { len, .. } => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn digests(&self) -> Digests {
        match self {
            Self::Bytes(_, digests) | Self::Blob { digests, .. } => *digests,
        }
    }
}

/// Bodies are equal when their bytes are: SHA-256 says so.
impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.digests() == other.digests()
    }
}

impl RecordId {
    /// Reads `<urn:uuid:…>` or anything else.
    pub fn parse(text: &str) -> Self {
        let text = text.trim().trim_start_matches('<').trim_end_matches('>');
        Self::parse_uuid(text).map_or_else(|| Self::Text(text.to_owned()), Self::Uuid)
    }

    /// Only the one spelling that we write ourselves counts, so that every other comes back as it was.
    fn parse_uuid(text: &str) -> Option<[u8; 16]> {
        let hex = text.strip_prefix("urn:uuid:")?.as_bytes();
        if hex.len() != 36 {
            return None;
        }
        let mut out = [0; 16];
        let mut nibbles = 0;
        for (i, byte) in hex.iter().enumerate() {
            let value = match byte {
                b'-' if matches!(i, 8 | 13 | 18 | 23) => continue,
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => return None,
            };
            *out.get_mut(nibbles / 2)? |= if nibbles % 2 == 0 { value << 4 } else { value };
            nibbles += 1;
        }
        (nibbles == 32).then_some(out)
    }

    /// A name made from what it names: the same record has the same name on every machine.
    pub fn of_content(kind: &Kind, url: &str, time: Timestamp, head: &[u8], body: &Sha256) -> Self {
        let parts = [kind.as_str().as_bytes(), url.as_bytes(), &time.to_sortable(), head, &body.0];
        let mut named = Vec::with_capacity(parts.iter().map(|part| 8 + part.len()).sum());
        for part in parts {
            named.extend_from_slice(&(part.len() as u64).to_be_bytes());
            named.extend_from_slice(part);
        }
        let hash = Sha256::of(&named).0;
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&hash[..16]);
        // Version 8 (made by its own rule), variant 1: RFC 9562.
        uuid[6] = uuid[6] & 0x0f | 0x80;
        uuid[8] = uuid[8] & 0x3f | 0x80;
        Self::Uuid(uuid)
    }

    /// With angle brackets, as in a WARC header.
    pub fn bracketed(&self) -> String {
        match self {
            Self::Text(text) => format!("<{text}>"),
            Self::Uuid(u) => {
                let mut out = String::with_capacity(47);
                out.push_str("<urn:uuid:");
                out.extend(spelled_uuid(u).map(char::from));
                out.push('>');
                out
            }
        }
    }

    /// Whether this is how [`RecordId::bracketed`] spells it.
    pub(crate) fn is_spelled(&self, text: &str) -> bool {
        let Some(inner) = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')) else { return false };
        match self {
            Self::Text(text) => inner == text,
            Self::Uuid(u) => inner.strip_prefix("urn:uuid:").is_some_and(|hex| hex.as_bytes() == spelled_uuid(u)),
        }
    }

    /// Eight bytes that tell captures of one URL and moment apart.
    pub fn tag(&self) -> [u8; 8] {
        let hash = match self {
            Self::Uuid(u) => Sha256::of(u),
            Self::Text(t) => Sha256::of(t.as_bytes()),
        };
        let mut tag = [0; 8];
        tag.copy_from_slice(&hash.0[..8]);
        tag
    }
}

fn spelled_uuid(uuid: &[u8; 16]) -> [u8; 36] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut out = [b'-'; 36];
    let mut at = 0;
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            at += 1;
        }
        out[at] = HEX[usize::from(byte >> 4)];
        out[at + 1] = HEX[usize::from(byte & 15)];
        at += 2;
    }
    out
}

impl Record {
    /// A record of our own making, named after its content.
    pub fn new(kind: Kind, url: &str, time: Timestamp, head: Vec<u8>, body: Body) -> Self {
        let id = RecordId::of_content(&kind, url, time, &head, &body.digests().sha256);
        Self { kind, id, warc: None, head, body }
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        self.warc.as_ref()?.fields.get(name)
    }

    /// The length of the WARC block.
    pub fn block_len(&self) -> u64 {
        self.head.len() as u64 + self.body.len()
    }

    /// The digest by which the field knows this payload: what the file said, or what we computed.
    pub fn payload_sha1(&self) -> Sha1 {
        self.field("WARC-Payload-Digest").and_then(Sha1::parse).unwrap_or_else(|| self.body.digests().sha1)
    }
}

/// The key that a URL is found under: its SURT form.
pub fn key_of(url: &str) -> String {
    herodotus_page::surt(url)
}

/// Records about a file rather than a URL sort before every host.
pub(crate) fn capture_key(kind: &Kind, url: &str) -> String {
    if *kind == Kind::Warcinfo { format!("!warcinfo/{}", key_of(url)) } else { key_of(url) }
}

impl Capture {
    pub fn key(&self) -> String {
        capture_key(&self.main.kind, &self.url)
    }

    /// The name of this capture in the store.
    pub fn id(&self) -> EntryKey {
        EntryKey { key: self.key(), time: self.time, tag: self.main.id.tag() }
    }

    /// What cannot be stored is refused before anything changes.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::Refused(what));
        if self.url.len() > URL_BYTES_MAX {
            return refuse(format!("a URL of {} bytes; at most {URL_BYTES_MAX} are kept", self.url.len()));
        }
        if self.companions.len() > COMPANIONS_MAX {
            return refuse(format!(
                "{} records belong to one capture; at most {COMPANIONS_MAX} do",
                self.companions.len()
            ));
        }
        for record in std::iter::once(&self.main).chain(&self.companions) {
            if record.head.len() > HTTP_HEAD_BYTES_MAX {
                return refuse(format!(
                    "an HTTP head of {} bytes; at most {HTTP_HEAD_BYTES_MAX} are kept",
                    record.head.len()
                ));
            }
            if let Body::Bytes(bytes, _) = &record.body
                && bytes.len() > BODY_IN_MEMORY_BYTES_MAX
            {
                return refuse(format!("a body of {} bytes in memory: write it through a blob writer", bytes.len()));
            }
        }
        let large = |body: &Body| matches!(body, Body::Blob { .. }) || body.len() > COMPANION_BYTES_MAX;
        if self.companions.iter().any(|c| large(&c.body)) {
            return refuse(format!(
                "a request or metadata record of more than {COMPANION_BYTES_MAX} bytes beside a capture"
            ));
        }
        Ok(())
    }

    pub fn status(&self) -> Option<u16> {
        herodotus_page::ResponseHead::parse(&self.main.head)?.status
    }

    /// The media type, without parameters, in lower case.
    pub fn media(&self) -> Option<String> {
        if self.main.head.is_empty() {
            return self.main.field("Content-Type").map(|t| essence(t).to_ascii_lowercase());
        }
        herodotus_page::ResponseHead::parse(&self.main.head)?.content_type_essence()
    }

    /// Why the capture is shorter than what the origin had (`length`, `time`, `disconnect`, `unspecified`).
    pub fn truncated(&self) -> Option<&str> {
        self.main.field("WARC-Truncated")
    }

    /// The address that answered.
    pub fn remote(&self) -> Option<std::net::IpAddr> {
        self.main.field("WARC-IP-Address")?.parse().ok()
    }

    /// The request that was answered, if it was kept.
    pub fn request(&self) -> Option<&Record> {
        self.companions.iter().find(|r| r.kind == Kind::Request)
    }

    /// Rough weight in memory.
    pub(crate) fn weight(&self) -> usize {
        let one = |r: &Record| {
            let body = if let Body::Bytes(b, _) = &r.body { b.len() } else { 0 };
            body + r.head.len() + 400
        };
        one(&self.main) + self.companions.iter().map(one).sum::<usize>() + self.url.len()
    }
}

fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_ids_come_back_as_they_were_written() {
        for text in [
            "<urn:uuid:00112233-4455-6677-8899-aabbccddeeff>",
            "<urn:uuid:00112233-4455-6677-8899-AABBCCDDEEFF>",
            "<urn:sha1:abc>",
            "<http://example.org/record/7>",
            "<urn:uuid:0011223344556677-8899-aabbccddeeff-->",
            "<>",
        ] {
            assert_eq!(RecordId::parse(text).bracketed(), text);
        }
        let id = RecordId::parse("<urn:uuid:00112233-4455-6677-8899-aabbccddeeff>");
        assert!(matches!(id, RecordId::Uuid(u) if u[1] == 0x11 && u[15] == 0xff));
    }

    #[test]
    fn a_name_made_from_content_follows_the_content() {
        let t = Timestamp::parse("2026").unwrap();
        let a = Record::new(Kind::Response, "http://a/", t, b"x".to_vec(), Body::new(*b"1"));
        let b = Record::new(Kind::Response, "http://a/", t, b"x".to_vec(), Body::new(*b"1"));
        let c = Record::new(Kind::Response, "http://a/", t, b"x".to_vec(), Body::new(*b"2"));
        assert_eq!(a.id, b.id);
        assert_ne!(a.id, c.id);
    }
}
