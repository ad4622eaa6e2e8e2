//! WARC headers as we write them.

use crate::Entry;
use crate::capture::{Body, Capture, Fields, Kind, Record};
use crate::entity_of::Blobs;
use crate::error::Result;
use herodotus_base::Sha1;
use std::borrow::Cow;
use std::io::Read;

const REVISIT_1_0: &str = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest";
const REVISIT_1_1: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

const HTTP_RESPONSE: &str = "application/http; msgtype=response";

/// The record that a revisit points to.
#[derive(Clone, Debug)]
pub(super) struct Original {
    pub(super) url: String,
    pub(super) date: String,
    pub(super) id: String,
    pub(super) digest: String,
}

/// A header ready to be written, and how much of the block goes with it.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) version: Cow<'static, str>,
    pub(super) fields: Fields,
    pub(super) head_only: bool,
}

fn remove(fields: &mut Fields, names: &[&str]) {
    fields.retain(|name, _| !names.iter().any(|n| n.eq_ignore_ascii_case(name)));
}

/// `sha1:` and the like, followed by letters and digits. wget has been seen to write uninitialised memory here.
pub(super) fn drop_broken_digests(fields: &mut Fields) {
    fields.retain(|name, value| {
        let is_digest = ["WARC-Block-Digest", "WARC-Payload-Digest"].iter().any(|n| n.eq_ignore_ascii_case(name));
        let is_well_formed = || {
            value.split_once(':').is_some_and(|(algorithm, digest)| {
                let word = |s: &str, more: &str| {
                    !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || more.as_bytes().contains(&b))
                };
                word(algorithm, "-") && word(digest, "+/=-_")
            })
        };
        !is_digest || is_well_formed()
    });
}

/// The header of a record: as it came, or as we make it; always with the digests that other tools rely on.
pub(super) fn of_record(blobs: &dyn Blobs, capture: &Capture, record: &Record) -> Result<Ready> {
    let (version, mut fields) = match &record.warc {
        // A record from an ARC file was given the WARC fields that say the same when it was read.
        Some(header) if header.version.starts_with("ARC") => ("WARC/1.1".into(), header.fields.clone()),
        // What we captured ourselves has only what the exchange alone does not tell.
        Some(header) if header.version.is_empty() => {
            let mut fields = made(capture, record);
            fields.extend(header.fields.iter());
            ("WARC/1.1".into(), fields)
        }
        Some(header) => (header.version.clone(), header.fields.clone()),
        None => ("WARC/1.1".into(), made(capture, record)),
    };
    if fields.get("WARC-Record-ID").is_none() {
        let mut all = Fields::from([("WARC-Record-ID", record.id.bracketed())]);
        all.extend(fields.iter());
        fields = all;
    }
    let has_payload = matches!(record.kind, Kind::Response | Kind::Resource | Kind::Conversion);
    if has_payload && fields.get("WARC-Payload-Digest").is_none() {
        fields.push("WARC-Payload-Digest", &record.body.digests().sha1.to_string());
    }
    if fields.get("WARC-Block-Digest").is_none() {
        fields.push("WARC-Block-Digest", &block_digest(blobs, record)?.to_string());
    }
    fields.set("Content-Length", &record.block_len().to_string());
    Ok(Ready { version, fields, head_only: false })
}

/// The header of a record that no file gave us.
fn made(capture: &Capture, record: &Record) -> Fields {
    let mut fields = Fields::default();
    let mut put = |name: &str, value: &str| fields.push(name, value);
    put("WARC-Type", record.kind.as_str());
    put("WARC-Record-ID", &record.id.bracketed());
    put("WARC-Date", &capture.time.rfc3339());
    put("WARC-Target-URI", &capture.url);
    if record.id != capture.main.id {
        put("WARC-Concurrent-To", &capture.main.id.bracketed());
    }
    let content_type = match record.kind {
        Kind::Response | Kind::Revisit if !record.head.is_empty() => HTTP_RESPONSE,
        Kind::Request => "application/http; msgtype=request",
        Kind::Metadata => "application/warc-fields",
        _ => "application/octet-stream",
    };
    put("Content-Type", content_type);
    fields
}

pub(super) fn block_digest(blobs: &dyn Blobs, record: &Record) -> Result<Sha1> {
    let mut hasher = Sha1::hasher();
    hasher.update(&record.head);
    match &record.body {
        Body::Bytes(bytes, _) => hasher.update(bytes),
        blob => {
            let mut reader = open_body(blobs, blob)?;
            let mut buffer = vec![0; 256 * 1024];
            loop {
                let n = reader.read(&mut buffer).map_err(crate::Error::disk("reading a large body"))?;
                if n == 0 {
                    break;
                }
                hasher.update(&buffer[..n]);
            }
        }
    }
    Ok(hasher.finish())
}

/// Reads a body in order, wherever it is.
pub(super) fn open_body<'a>(blobs: &dyn Blobs, body: &'a Body) -> Result<Box<dyn Read + Send + 'a>> {
    Ok(match body {
        Body::Bytes(bytes, _) => Box::new(&bytes[..]),
        Body::Blob { digests, .. } => {
            let known = |e: std::io::Error| e.downcast().unwrap_or_else(crate::Error::disk("reading a large body"));
            blobs.open_blob_at(&digests.sha256, 0).map_err(known)?
        }
    })
}

/// Whether a response can be written as a revisit of this original and become the same response again. A revisit has one
/// payload digest, which must be its original's in the same spelling for players to find it; and on a revisit,
/// WARC-Truncated only says that the payload was left out.
pub(super) fn may_revisit(ready: &Ready, original: &Original) -> bool {
    let has = |name: &str| ready.fields.get(name).is_some();
    ready.fields.get("WARC-Payload-Digest") == Some(original.digest.as_str())
        && !has("WARC-Truncated")
        && !has("WARC-Segment-Number")
}

/// Turns a response's header into that of a revisit of an earlier record with the same payload.
pub(super) fn into_revisit(mut ready: Ready, record: &Record, original: &Original) -> Ready {
    let fields = &mut ready.fields;
    let profile = if ready.version == "WARC/1.0" { REVISIT_1_0 } else { REVISIT_1_1 };
    fields.set("WARC-Type", "revisit");
    fields.set("WARC-Profile", profile);
    fields.set("WARC-Refers-To-Target-URI", &original.url);
    fields.set("WARC-Refers-To-Date", &original.date);
    fields.set("WARC-Refers-To", &original.id);
    fields.set("WARC-Block-Digest", &Sha1::of(&record.head).to_string());
    fields.set("Content-Length", &record.head.len().to_string());
    ready.head_only = true;
    ready
}

/// Points a revisit that names its original only by id, as wget's do, at what we found it to be: players need the URL.
pub(super) fn complete_revisit(ready: &mut Ready, original: &Entry) {
    // Fractions of a second came with WARC/1.1.
    let time = if ready.version == "WARC/1.0" { original.id.time.floor_second() } else { original.id.time };
    for (name, value) in [("WARC-Refers-To-Target-URI", original.url.clone()), ("WARC-Refers-To-Date", time.rfc3339())]
    {
        if ready.fields.get(name).is_none() {
            ready.fields.set(name, &value);
        }
    }
}

/// Turns a revisit's header into that of the response it stands for. What both have stays as it is spelled.
pub(super) fn into_response(mut ready: Ready, head: &[u8], body: &Body, block: Sha1) -> Ready {
    let fields = &mut ready.fields;
    remove(
        fields,
        &["WARC-Profile", "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-Truncated"],
    );
    fields.set("WARC-Type", "response");
    if !fields.get("Content-Type").is_some_and(is_http) {
        fields.set("Content-Type", HTTP_RESPONSE);
    }
    if fields.get("WARC-Payload-Digest").is_none() {
        fields.set("WARC-Payload-Digest", &body.digests().sha1.to_string());
    }
    fields.set("WARC-Block-Digest", &block.to_string());
    fields.set("Content-Length", &(head.len() as u64 + body.len()).to_string());
    ready
}

/// Whether a record's Content-Type says that its block is an HTTP message.
pub(super) fn is_http(content_type: &str) -> bool {
    content_type.to_ascii_lowercase().contains("application/http")
}
