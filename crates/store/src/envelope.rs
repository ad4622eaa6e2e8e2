//! The bytes of one capture in a pack or journal: everything but the body, then, where it is kept here, the body.
//!
//! Two versions of a page give nearly the same envelope, so that the difference coder sees heads, requests and WARC
//! fields as repetitions too. What a reader can work out again (lengths, digests, dates, links between the records of
//! one exchange) is not written; what is random (ids, SHA-256) stands together at the end.

use crate::capture::{Body, Capture, Fields, Kind, Record, RecordId, WarcHeader, capture_key, key_of};
use crate::index::{EntryKey, kind_code, kind_from_code};
use crate::limits::{BLOCK_DIGEST_BODY_BYTES_MAX, COMPANIONS_MAX, UNFOLDED_BYTES_MAX};
use crate::wire::{Cursor, Put};
use herodotus_base::limits::BODY_IN_MEMORY_BYTES_MAX;
use herodotus_base::{Sha1, Sha256, Timestamp};
use std::borrow::Cow;

const FORM: u8 = 1;

/// Field names that are written as a number. Only ever append to this list.
const NAMES: [&str; 24] = [
    "WARC-Type",
    "WARC-Record-ID",
    "WARC-Date",
    "WARC-Target-URI",
    "Content-Type",
    "Content-Length",
    "WARC-Block-Digest",
    "WARC-Payload-Digest",
    "WARC-Concurrent-To",
    "WARC-IP-Address",
    "WARC-Warcinfo-ID",
    "WARC-Identified-Payload-Type",
    "WARC-Refers-To",
    "WARC-Refers-To-Target-URI",
    "WARC-Refers-To-Date",
    "WARC-Profile",
    "WARC-Truncated",
    "WARC-Filename",
    "WARC-Segment-Number",
    "WARC-Segment-Origin-ID",
    "WARC-Segment-Total-Length",
    "WARC-Protocol",
    "WARC-Cipher-Suite",
    "WARC-Page-ID",
];
const VERSIONS: [&str; 3] = ["WARC/1.0", "WARC/1.1", "ARC/1.0"];
const LITERAL: u8 = 0xff;

/// Where the body of an envelope is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// Right behind the envelope.
    Here,
    /// In a block of its own: its digest finds it.
    Raw,
    /// In a file of its own.
    Blob,
    /// With another capture that has the same one. Named, not placed, so that the other may move.
    With(EntryKey),
}

/// The envelope read back: the capture without its body, and how to get at the body.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    pub(crate) url: String,
    pub(crate) time: Timestamp,
    pub(crate) main: Skeleton,
    pub(crate) companions: Vec<(Skeleton, Body)>,
    pub(crate) body: Where,
    /// How the stored body is turned into the one on the wire: see [`crate::coding`]. Empty: it is the same.
    pub(crate) layers: Vec<u8>,
    pub(crate) body_len: u64,
    pub(crate) sha256: Sha256,
}

/// A record whose derived fields are still to be filled in.
#[derive(Clone, Debug)]
pub(crate) struct Skeleton {
    kind: Kind,
    id: RecordId,
    head: Vec<u8>,
    warc: Option<(Cow<'static, str>, Vec<MaybeDerived>)>,
}

/// A field, with its value unless it is derived.
type MaybeDerived = (Cow<'static, str>, Option<String>);

/// What a record's derived fields are derived from.
struct Known<'a> {
    kind: &'a Kind,
    id: &'a RecordId,
    url: &'a str,
    time: Timestamp,
    head: &'a [u8],
    body: &'a Body,
    /// SHA-1 of head and body, where it is known already.
    block_sha1: Option<Sha1>,
    partner: Option<&'a RecordId>,
}

impl Known<'_> {
    /// Whether a field says what [`Known::derive`] would: then it need not be stored, unless that is too much work. `date` is the time as a header has it. An
    /// import asks this some twenty times for each capture, so nothing is built here only to be compared.
    fn derives(&self, name: &str, value: &str, date: &str) -> bool {
        let is_digest =
            |sha1: &Sha1| value.strip_prefix("sha1:").is_some_and(|said| said.as_bytes() == base32(&sha1.0));
        match name {
            "WARC-Type" => value == self.kind.as_str(),
            "WARC-Record-ID" => self.id.is_spelled(value),
            "WARC-Target-URI" => value == self.url,
            "WARC-Date" => value == date,
            "Content-Length" => is_spelled_number(value, self.head.len() as u64 + self.body.len()),
            "WARC-Payload-Digest" => is_digest(&self.body.digests().sha1),
            "WARC-Block-Digest" if self.body.len() > BLOCK_DIGEST_BODY_BYTES_MAX => false,
            "WARC-Block-Digest" => self.block_digest().is_some_and(|sha1| is_digest(&sha1)),
            "WARC-Concurrent-To" => self.partner.is_some_and(|partner| partner.is_spelled(value)),
            _ => false,
        }
    }

    /// What we would write for a field of this name.
    fn derive(&self, name: &str) -> Option<String> {
        Some(match name {
            "WARC-Type" => self.kind.as_str().to_owned(),
            "WARC-Record-ID" => self.id.bracketed(),
            "WARC-Target-URI" => self.url.to_owned(),
            "WARC-Date" => self.time.rfc3339(),
            "Content-Length" => (self.head.len() as u64 + self.body.len()).to_string(),
            "WARC-Payload-Digest" => self.body.digests().sha1.to_string(),
            "WARC-Block-Digest" => self.block_digest()?.to_string(),
            "WARC-Concurrent-To" => self.partner?.bracketed(),
            _ => return None,
        })
    }

    fn block_digest(&self) -> Option<Sha1> {
        if self.block_sha1.is_some() {
            return self.block_sha1;
        }
        if self.head.is_empty() {
            return Some(self.body.digests().sha1);
        }
        let Body::Bytes(bytes, _) = self.body else { return None };
        let mut d = Sha1::hasher();
        d.update(self.head);
        d.update(bytes);
        Some(d.finish())
    }
}

/// A digest's twenty bytes as letters (RFC 4648, base 32), as [`Sha1`] spells itself.
fn base32(bytes: &[u8; 20]) -> [u8; 32] {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut out = [0; 32];
    for (five, eight) in bytes.as_chunks::<5>().0.iter().zip(out.as_chunks_mut::<8>().0) {
        let bits = five.iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        for (i, letter) in eight.iter_mut().enumerate() {
            *letter = LETTERS[(bits >> (35 - 5 * i)) as usize & 31];
        }
    }
    out
}

/// Whether a text is a number as we would write it: without a sign, and without zeros before it.
fn is_spelled_number(text: &str, number: u64) -> bool {
    let plain = text == "0" || text.starts_with(|c: char| c.is_ascii_digit() && c != '0');
    plain && text.parse() == Ok(number)
}

/// Writes the envelope of a capture whose body is kept as said, without the body itself. `block_sha1` is that of the main
/// record's block, from whoever has computed it already.
pub(crate) fn encode(capture: &Capture, body: &Where, layers: &[u8], block_sha1: Option<Sha1>) -> Vec<u8> {
    encode_before(capture, body, layers, block_sha1, 0)
}

/// The same, with room for so many bytes behind it, so that a body can be put there without moving anything.
pub(crate) fn encode_before(
    capture: &Capture,
    body: &Where,
    layers: &[u8],
    block_sha1: Option<Sha1>,
    room: usize,
) -> Vec<u8> {
    let records = std::iter::once(&capture.main).chain(&capture.companions);
    // Of a field that is not derived, mostly its value; of all others a byte or two.
    let room = room + capture.url.len() + records.map(|record| record.head.len() + 300).sum::<usize>();
    let mut out = Vec::with_capacity(room);
    let mut tail = Vec::with_capacity(96);
    out.push(FORM);
    out.put_i64(capture.time.millis());
    out.put_bytes(capture.url.as_bytes());
    match body {
        Where::Here => out.push(0),
        Where::Raw => out.push(1),
        Where::Blob => out.push(2),
        Where::With(owner) if owner.key == key_of(&capture.url) => {
            out.push(3);
            out.put_i64(owner.time.millis());
            tail.put_raw(&owner.tag);
        }
        Where::With(owner) => {
            out.push(4);
            out.put_bytes(&owner.encode());
        }
    }
    let date = capture.time.rfc3339();
    let partner = capture.companions.first().map(|c| &c.id);
    put_record(&mut out, &mut tail, capture, &date, &capture.main, partner, block_sha1);
    out.put_len(capture.companions.len());
    for companion in &capture.companions {
        put_record(&mut out, &mut tail, capture, &date, companion, Some(&capture.main.id), None);
        if let Body::Bytes(bytes, _) = &companion.body {
            out.put_bytes(bytes);
        } else {
            // Companions never have large bodies: `Store::append` refuses them.
            out.put_bytes(&[]);
        }
    }
    out.put_bytes(layers);
    out.put_u64(capture.main.body.len());
    tail.put_raw(&capture.main.body.digests().sha256.0);
    out.put_bytes(&tail);
    out
}

fn put_record(
    out: &mut Vec<u8>,
    tail: &mut Vec<u8>,
    capture: &Capture,
    date: &str,
    record: &Record,
    partner: Option<&RecordId>,
    block_sha1: Option<Sha1>,
) {
    out.push(kind_code(&record.kind));
    if let Kind::Other(name) = &record.kind {
        out.put_bytes(name.as_bytes());
    }
    match &record.warc {
        None => out.push(0),
        Some(header) => {
            let known = Known {
                kind: &record.kind,
                id: &record.id,
                url: &capture.url,
                time: capture.time,
                head: &record.head,
                body: &record.body,
                block_sha1,
                partner,
            };
            out.put_len(header.fields.len() + 1);
            put_name(out, &VERSIONS, &header.version);
            for (name, value) in header.fields.iter() {
                put_name(out, &NAMES, name);
                if known.derives(name, value, date) {
                    out.push(0);
                } else {
                    out.put_len(value.len() + 1);
                    out.put_raw(value.as_bytes());
                }
            }
        }
    }
    out.put_bytes(&record.head);
    match &record.id {
        RecordId::Uuid(uuid) => {
            tail.push(0);
            tail.put_raw(uuid);
        }
        RecordId::Text(text) => {
            tail.push(1);
            tail.put_bytes(text.as_bytes());
        }
    }
}

fn put_name(out: &mut Vec<u8>, table: &[&str], name: &str) {
    match table.iter().position(|known| *known == name) {
        Some(n) => out.push(n as u8),
        None => {
            out.push(LITERAL);
            out.put_bytes(name.as_bytes());
        }
    }
}

/// Reads an envelope; the cursor is left at the body, if it is here.
pub(crate) fn decode(c: &mut Cursor<'_>) -> Option<Envelope> {
    (c.u8()? == FORM).then_some(())?;
    let time = Timestamp::from_millis(c.i64()?)?;
    let url = c.text()?.to_owned();
    let place = c.u8()?;
    let mut body = match place {
        0 => Where::Here,
        1 => Where::Raw,
        2 => Where::Blob,
        3 => Where::With(EntryKey { key: key_of(&url), time: Timestamp::from_millis(c.i64()?)?, tag: [0; 8] }),
        4 => Where::With(EntryKey::decode(c.bytes()?)?),
        _ => return None,
    };
    let mut main = take_record(c)?;
    let count = c.usize().filter(|n| *n <= COMPANIONS_MAX)?;
    let mut companions = Vec::with_capacity(count);
    for _ in 0..count {
        let record = take_record(c)?;
        companions.push((record, Body::new(c.bytes()?)));
    }
    let layers = c.bytes()?.to_vec();
    let body_len = c.u64()?;
    let mut tail = Cursor::new(c.bytes()?);
    if let (Where::With(owner), 3) = (&mut body, place) {
        owner.tag = tail.array()?;
    }
    main.id = take_id(&mut tail)?;
    for (record, _) in &mut companions {
        record.id = take_id(&mut tail)?;
    }
    let sha256 = Sha256(tail.array()?);
    if body != Where::Blob && body_len > UNFOLDED_BYTES_MAX.max(BODY_IN_MEMORY_BYTES_MAX) as u64 {
        return None;
    }
    Some(Envelope { url, time, main, companions, body, layers, body_len, sha256 })
}

/// Time and tag of the capture that an item is of, without reading more of it than that takes.
pub(crate) fn name_of(item: &[u8]) -> Option<(Timestamp, [u8; 8])> {
    let mut c = Cursor::new(item);
    (c.u8()? == FORM).then_some(())?;
    let time = Timestamp::from_millis(c.i64()?)?;
    c.bytes()?;
    let place = c.u8()?;
    match place {
        0..=2 => {}
        3 => {
            c.i64()?;
        }
        4 => {
            c.bytes()?;
        }
        _ => return None,
    }
    skip_record(&mut c)?;
    for _ in 0..c.usize().filter(|n| *n <= COMPANIONS_MAX)? {
        skip_record(&mut c)?;
        c.bytes()?;
    }
    c.bytes()?;
    c.u64()?;
    let mut tail = Cursor::new(c.bytes()?);
    if place == 3 {
        tail.array::<8>()?;
    }
    Some((time, take_id(&mut tail)?.tag()))
}

fn skip_record(c: &mut Cursor<'_>) -> Option<()> {
    if let Kind::Other(_) = kind_from_code(c.u8()?, String::new)? {
        c.bytes()?;
    }
    let fields = c.usize()?;
    if fields > 0 {
        skip_name(c)?;
    }
    for _ in 1..fields {
        skip_name(c)?;
        let value_len = c.usize()?;
        c.take(value_len.saturating_sub(1))?;
    }
    c.bytes().map(|_| ())
}

fn skip_name(c: &mut Cursor<'_>) -> Option<()> {
    if c.u8()? == LITERAL { c.bytes().map(|_| ()) } else { Some(()) }
}

fn take_record(c: &mut Cursor<'_>) -> Option<Skeleton> {
    let mut kind = kind_from_code(c.u8()?, String::new)?;
    if let Kind::Other(name) = &mut kind {
        name.push_str(c.text()?);
    }
    let warc = match c.usize()? {
        0 => None,
        n => {
            let version = take_name(c, &VERSIONS)?;
            let mut fields = Vec::with_capacity((n - 1).min(c.rest().len()));
            for _ in 1..n {
                let name = take_name(c, &NAMES)?;
                let value = match c.usize()? {
                    0 => None,
                    len => Some(std::str::from_utf8(c.take(len - 1)?).ok()?.to_owned()),
                };
                fields.push((name, value));
            }
            Some((version, fields))
        }
    };
    Some(Skeleton { kind, id: RecordId::Text(String::new()), head: c.bytes()?.to_vec(), warc })
}

fn take_id(c: &mut Cursor<'_>) -> Option<RecordId> {
    Some(match c.u8()? {
        0 => RecordId::Uuid(c.array()?),
        1 => RecordId::Text(c.text()?.to_owned()),
        _ => return None,
    })
}

fn take_name(c: &mut Cursor<'_>, table: &[&'static str]) -> Option<Cow<'static, str>> {
    Some(match c.u8()? {
        LITERAL => Cow::Owned(c.text()?.to_owned()),
        n => Cow::Borrowed(*table.get(usize::from(n))?),
    })
}

impl Envelope {
    /// The name of the capture that this is the envelope of.
    pub(crate) fn id(&self) -> EntryKey {
        EntryKey { key: capture_key(&self.main.kind, &self.url), time: self.time, tag: self.main.id.tag() }
    }

    /// URL, kind, HTTP head, and the media type that the main record gives itself.
    pub(crate) fn into_main(self) -> (String, Kind, Vec<u8>, Option<String>) {
        let fields = self.main.warc.map(|(_, fields)| fields).unwrap_or_default();
        let found = fields.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("Content-Type"));
        (self.url, self.main.kind, self.main.head, found.and_then(|(_, value)| value))
    }

    /// The capture, once its body is there.
    pub(crate) fn with_body(self, body: Body) -> Capture {
        let Self { url, time, main, companions, .. } = self;
        let main_id = main.id.clone();
        let partner = companions.first().map(|(skeleton, _)| skeleton.id.clone());
        let main = main.finish(&url, time, body, partner.as_ref());
        let companions =
            companions.into_iter().map(|(record, body)| record.finish(&url, time, body, Some(&main_id))).collect();
        Capture { url, time, main, companions }
    }
}

impl Skeleton {
    fn finish(self, url: &str, time: Timestamp, body: Body, partner: Option<&RecordId>) -> Record {
        let Self { kind, id, head, warc } = self;
        let known = Known { kind: &kind, id: &id, url, time, head: &head, body: &body, block_sha1: None, partner };
        let warc = warc.map(|(version, fields)| {
            let mut all = Fields::with_capacity(fields.len(), 64 * fields.len());
            for (name, value) in fields {
                all.push(&name, &value.or_else(|| known.derive(&name)).unwrap_or_default());
            }
            WarcHeader { version, fields: all }
        });
        Record { kind, id, warc, head, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn capture() -> Capture {
        let url = "https://example.org/".to_owned();
        let time = Timestamp::parse("2026-01-02T03:04:05.678Z").unwrap();
        let id = RecordId::parse("<urn:uuid:00112233-4455-6677-8899-aabbccddeeff>");
        let request_id = RecordId::parse("<urn:uuid:10112233-4455-6677-8899-aabbccddeeff>");
        let (head, body) = (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), Body::new(*b"hello"));
        let block = Sha1::of(&[head.as_slice(), b"hello"].concat()).to_string();
        let field = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        let fields = Fields::from([
            field("WARC-Type", "response"),
            field("WARC-Record-ID", &id.bracketed()),
            field("WARC-Date", "2026-01-02T03:04:05.678Z"),
            field("WARC-Target-URI", &url),
            field("WARC-Payload-Digest", &Sha1::of(b"hello").to_string()),
            field("WARC-Block-Digest", &block),
            field("X-Odd", "value \u{e9}"),
            field("Content-Length", "24"),
        ]);
        let request = Record {
            kind: Kind::Request,
            warc: Some(WarcHeader {
                version: "WARC/1.1".into(),
                fields: [field("WARC-Concurrent-To", &id.bracketed()), field("WARC-Date", "2026-01-02T03:04:05Z")]
                    .into(),
            }),
            id: request_id,
            head: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            body: Body::new(*b""),
        };
        let warc = Some(WarcHeader { version: "WARC/1.0".into(), fields });
        Capture { url, time, main: Record { kind: Kind::Response, id, warc, head, body }, companions: vec![request] }
    }

    #[test]
    fn a_capture_comes_back_field_by_field() {
        let capture = capture();
        let bytes = encode(&capture, &Where::Raw, b"", None);
        let envelope = decode(&mut Cursor::new(&bytes)).unwrap();
        assert_eq!(envelope.with_body(capture.main.body.clone()), capture);
    }

    #[test]
    fn a_field_is_left_out_exactly_if_it_says_what_would_be_derived() {
        let capture = capture();
        let date = capture.time.rfc3339();
        let partner = capture.companions[0].id.clone();
        let odd = RecordId::parse("<http://example.org/record/7>");
        for (id, partner) in [(&capture.main.id, Some(&partner)), (&odd, Some(&odd)), (&odd, None)] {
            let known = Known {
                kind: &capture.main.kind,
                id,
                url: &capture.url,
                time: capture.time,
                head: &capture.main.head,
                body: &capture.main.body,
                block_sha1: None,
                partner,
            };
            let derived: Vec<_> = NAMES.iter().filter_map(|name| known.derive(name)).collect();
            assert_eq!(derived.len(), if partner.is_some() { 8 } else { 7 });
            let near = |text: &String| {
                let lower = text.to_ascii_lowercase();
                let upper = text.to_ascii_uppercase();
                [
                    text.clone(),
                    lower,
                    upper,
                    format!("{text} "),
                    format!("0{text}"),
                    format!("+{text}"),
                    text[1..].to_owned(),
                ]
            };
            for value in derived.iter().flat_map(near).chain([String::new(), "<>".into(), "0".into()]) {
                for name in NAMES {
                    let is_derived = known.derive(name).as_ref() == Some(&value);
                    assert_eq!(known.derives(name, &value, &date), is_derived, "{name}: {value}");
                }
            }
        }
        for n in 0..=255u8 {
            let sha1 = Sha1::of(&[n]);
            assert_eq!(format!("sha1:{}", String::from_utf8_lossy(&base32(&sha1.0))), sha1.to_string());
        }
    }

    #[test]
    fn a_name_is_the_same_as_that_of_the_whole_envelope() {
        let mut capture = capture();
        let near = EntryKey { key: key_of(&capture.url), time: capture.time, tag: [1; 8] };
        let elsewhere = EntryKey { key: "org,example)/elsewhere".into(), ..near.clone() };
        let places = [Where::Here, Where::Raw, Where::Blob, Where::With(near), Where::With(elsewhere)];
        for kind in [Kind::Response, Kind::Other("odd".into())] {
            capture.main.kind = kind;
            for place in &places {
                let bytes = encode(&capture, place, b"layers", None);
                let id = decode(&mut Cursor::new(&bytes)).unwrap().id();
                assert_eq!(name_of(&bytes), Some((id.time, id.tag)), "{place:?}");
                assert_eq!((id.time, id.tag), (capture.time, capture.main.id.tag()));
            }
        }
    }

    #[test]
    fn the_block_digest_of_a_large_body_is_kept_as_it_came_right_or_wrong() {
        for (len, is_kept) in [(BLOCK_DIGEST_BODY_BYTES_MAX, false), (BLOCK_DIGEST_BODY_BYTES_MAX + 1, true)] {
            let mut capture = capture();
            let body = vec![b'x'; len as usize];
            let right = Sha1::of(&[capture.main.head.as_slice(), &body].concat()).to_string();
            capture.main.body = Body::new(body);
            for said in [right.clone(), Sha1::of(b"another").to_string()] {
                capture.main.warc.as_mut().unwrap().fields.set("WARC-Block-Digest", &said);
                let bytes = encode(&capture, &Where::Raw, b"", None);
                assert_eq!(String::from_utf8_lossy(&bytes).contains(&said), is_kept || said != right, "{len}");
                let envelope = decode(&mut Cursor::new(&bytes)).unwrap();
                assert_eq!(envelope.with_body(capture.main.body.clone()), capture);
            }
        }
    }

    #[test]
    fn what_can_be_worked_out_is_not_written() {
        let bytes = encode(&capture(), &Where::Raw, b"", None);
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sha1:") && !text.contains("urn:uuid") && !text.contains("Payload"), "{text}");
    }

    #[test]
    fn no_prefix_of_an_envelope_is_an_envelope() {
        let bytes = encode(&capture(), &Where::Raw, b"", None);
        for n in 0..bytes.len() {
            assert!(decode(&mut Cursor::new(&bytes[..n])).is_none(), "{n}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = (decode(&mut Cursor::new(&bytes)), name_of(&bytes));
            let mut with_form = vec![FORM, 0];
            with_form.extend(bytes);
            let _ = (decode(&mut Cursor::new(&with_form)), name_of(&with_form));
        }
    }
}
