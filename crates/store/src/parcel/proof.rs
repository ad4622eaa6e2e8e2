//! From bytes that anybody may have written to a capture. There is one way, [`Unproven::prove`], and it computes every digest and
//! the name anew.

use super::LackingBlob;
use super::limits::{BROTLI_QUALITY_MAX, FIELD_WEIGHT};
use crate::blob::BlobReader;
use crate::capture::{Body, Capture, Kind, Record, RecordId};
use crate::coding;
use crate::envelope::{self, Envelope, Where};
use crate::hashing;
use crate::index::{EntryKey, kind_code};
use crate::limits::COMPANIONS_MAX;
use crate::wire::Cursor;
use herodotus_base::limits::BODY_IN_MEMORY_BYTES_MAX;
use herodotus_base::{Digests, Sha1, Sha256};
use std::borrow::Cow;

/// An item as it came. Nothing of it is believed.
#[derive(Debug)]
pub(super) struct Unproven<'a> {
    envelope: Envelope,
    rest: &'a [u8],
}

/// A body in memory whose digests were computed here.
#[derive(Clone, Debug)]
pub(super) struct ProvenBody(Body);

/// What was computed here of a body whose bytes stay where they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attested {
    digests: Digests,
    len: u64,
}

impl Attested {
    pub(super) fn of(body: &[u8]) -> Self {
        Self { digests: hashing::of_body(body), len: body.len() as u64 }
    }

    /// Of many bodies: together they take less than one by one.
    pub(super) fn of_all(bodies: &[&[u8]]) -> Vec<Self> {
        let lens = bodies.iter().map(|body| body.len() as u64);
        lens.zip(hashing::of_bodies(bodies)).map(|(len, digests)| Self { digests, len }).collect()
    }

    /// Of the body of a capture that was attested before, or that the store gave out.
    pub(super) fn of_main(capture: &Capture) -> Self {
        Self { digests: capture.main.body.digests(), len: capture.main.body.len() }
    }

    pub(super) fn sha256(&self) -> Sha256 {
        self.digests.sha256
    }
}

/// What proving an item gives.
#[derive(Debug)]
pub(super) enum Proof {
    Whole(Capture),
    /// Everything but its body, which is a file.
    Large(LargeCapture),
}

/// A capture whose large body is still to be seen.
#[derive(Debug)]
pub(super) struct LargeCapture(Capture);

impl ProvenBody {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Body::new(bytes))
    }

    /// What the store gave out it has checked.
    pub(super) fn read(capture: Capture) -> Option<Self> {
        matches!(capture.main.body, Body::Bytes(..)).then_some(Self(capture.main.body))
    }

    pub(super) fn digest(&self) -> Sha256 {
        self.0.digests().sha256
    }

    pub(super) fn len(&self) -> usize {
        self.0.len() as usize
    }
}

impl<'a> Unproven<'a> {
    /// Reads an item that was weighed.
    pub(super) fn read(item: &'a [u8]) -> Option<Self> {
        let mut c = Cursor::new(item);
        let envelope = envelope::decode(&mut c)?;
        Some(Self { envelope, rest: c.rest() })
    }

    /// Where it says its body is.
    pub(super) fn place(&self) -> &Where {
        &self.envelope.body
    }

    /// The digest that its body must have.
    pub(super) fn digest(&self) -> Sha256 {
        self.envelope.sha256
    }

    /// The capture, if it is the one of this name and its body is the one it says. `elsewhere` is the body, where the item
    /// does not have it.
    pub(super) fn prove(self, id: &EntryKey, elsewhere: Option<&ProvenBody>) -> Result<Proof, String> {
        if self.envelope.id() != *id {
            return Err("it is listed under a name that is not its own".into());
        }
        if self.envelope.body == Where::Blob {
            return self.announce();
        }
        let body = self.body(elsewhere)?;
        if body.digests().sha256 != self.envelope.sha256 || body.len() != self.envelope.body_len {
            return Err("its body fails its digest".into());
        }
        let capture = self.envelope.with_body(body);
        check_names(&capture)?;
        Ok(Proof::Whole(capture))
    }

    /// The same for one who keeps the item as it is: nothing is copied, and what comes out has its body's digests in place of its bytes.
    /// `body` is what was found of the body that [`Unproven::wire`] gave, or of one that the item does not have.
    pub(super) fn attest(self, id: &EntryKey, body: Attested) -> Result<Capture, String> {
        if self.envelope.id() != *id {
            return Err("it is listed under a name that is not its own".into());
        }
        if body.digests.sha256 != self.envelope.sha256 || body.len != self.envelope.body_len {
            return Err("its body fails its digest".into());
        }
        let capture = self.envelope.with_body(Body::Blob { len: body.len, digests: body.digests });
        check_names(&capture)?;
        capture.check().map_err(|error| error.to_string())?;
        Ok(capture)
    }

    fn body(&self, elsewhere: Option<&ProvenBody>) -> Result<Body, String> {
        match (self.wire(elsewhere.is_some())?, elsewhere) {
            (Some(wire), _) => {
                let digests = hashing::of_body(&wire);
                Ok(Body::Bytes(wire.into(), digests))
            }
            (None, Some(body)) => Ok(body.0.clone()),
            (None, None) => Err("its body is not in the parcel".into()),
        }
    }

    /// The body as it came over the wire, if the item has it; nothing, if it is to be elsewhere, and there is one.
    pub(super) fn wire(&self, is_elsewhere: bool) -> Result<Option<Cow<'a, [u8]>>, String> {
        let envelope = &self.envelope;
        if envelope.body_len > BODY_IN_MEMORY_BYTES_MAX as u64 {
            return Err(format!("a body of {} bytes that is no file", envelope.body_len));
        }
        if envelope.body != Where::Here {
            let lacking = || "its body is not in the parcel".to_owned();
            return (is_elsewhere && self.rest.is_empty()).then_some(None).ok_or_else(lacking);
        }
        if envelope.layers.is_empty() {
            return Ok(Some(Cow::Borrowed(self.rest)));
        }
        let folded = is_cheap(&envelope.layers).then(|| coding::fold(&envelope.layers, self.rest)).flatten();
        Ok(Some(Cow::Owned(folded.ok_or("its body cannot be put together again")?)))
    }

    fn announce(self) -> Result<Proof, String> {
        let sha1 = Sha1(self.rest.try_into().map_err(|_| "its large body has no SHA-1")?);
        let digests = Digests { sha256: self.envelope.sha256, sha1 };
        let len = self.envelope.body_len;
        let capture = self.envelope.with_body(Body::Blob { len, digests });
        check_names(&capture)?;
        Ok(Proof::Large(LargeCapture(capture)))
    }
}

impl LargeCapture {
    pub(super) fn lacking(&self) -> LackingBlob {
        let body = &self.0.main.body;
        LackingBlob { sha256: body.digests().sha256, len: body.len(), media: self.0.media().unwrap_or_default() }
    }

    /// The capture, now that its body is here.
    pub(super) fn with_blob(self, blob: &BlobReader) -> Result<Capture, String> {
        let body = &self.0.main.body;
        if blob.digests != body.digests() || blob.len != body.len() {
            return Err("its large body is not the one it says".into());
        }
        Ok(self.0)
    }

    /// The capture for one who will check the body when reading it.
    pub(super) fn unseen(self) -> Capture {
        self.0
    }
}

/// What we captured ourselves is named after its content. Who names its own records so and means something else by it writes them
/// to a WARC file, and then they have a version.
fn check_names(capture: &Capture) -> Result<(), String> {
    let is_ours = |record: &Record| {
        let unversioned = record.warc.as_ref().is_none_or(|header| header.version.is_empty());
        unversioned && matches!(&record.id, RecordId::Uuid(uuid) if uuid[6] >> 4 == 8)
    };
    for record in std::iter::once(&capture.main).chain(&capture.companions).filter(|r| is_ours(r)) {
        let digest = record.body.digests().sha256;
        if record.id != RecordId::of_content(&record.kind, &capture.url, capture.time, &record.head, &digest) {
            return Err(format!("its {} is named after another content", record.kind.as_str()));
        }
    }
    Ok(())
}

/// Whether a recipe asks for no more work than ours do.
fn is_cheap(recipe: &[u8]) -> bool {
    const BROTLI: u8 = 3;
    let mut c = Cursor::new(recipe);
    while let (Some(code), Some(params)) = (c.u8(), c.bytes()) {
        if code == BROTLI && params.first().is_some_and(|quality| *quality > BROTLI_QUALITY_MAX) {
            return false;
        }
    }
    c.is_empty()
}

/// What an item will take in memory when it is read: its fields may stand for far more than they take here. `None`: it is no item.
pub(super) fn weigh(item: &[u8]) -> Option<usize> {
    let mut c = Cursor::new(item);
    let mut tally = Tally::default();
    c.u8()?;
    c.i64()?;
    let url = c.bytes()?.len();
    match c.u8()? {
        0..=2 => {}
        3 => {
            c.i64()?;
        }
        4 => {
            c.bytes()?;
        }
        _ => return None,
    }
    tally.record(&mut c)?;
    for _ in 0..c.usize().filter(|n| *n <= COMPANIONS_MAX)? {
        tally.record(&mut c)?;
        c.bytes()?;
    }
    item.len().checked_add(tally.fields.checked_mul(FIELD_WEIGHT)?)?.checked_add(tally.derived.checked_mul(url)?)
}

#[derive(Debug, Default)]
struct Tally {
    fields: usize,
    /// Fields whose value is worked out when they are read; the longest is the URL.
    derived: usize,
}

impl Tally {
    fn record(&mut self, c: &mut Cursor<'_>) -> Option<()> {
        if c.u8()? == kind_code(&Kind::Other(String::new())) {
            c.bytes()?;
        }
        let fields = c.usize()?;
        if fields > 0 {
            skip_name(c)?;
        }
        for _ in 1..fields {
            skip_name(c)?;
            match c.usize()? {
                0 => self.derived += 1,
                len => {
                    c.take(len - 1)?;
                }
            }
            self.fields += 1;
        }
        c.bytes()?;
        Some(())
    }
}

fn skip_name(c: &mut Cursor<'_>) -> Option<()> {
    const LITERAL: u8 = 0xff;
    if c.u8()? == LITERAL {
        c.bytes()?;
    }
    Some(())
}
