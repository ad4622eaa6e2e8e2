//! Revisits: records that say "the same as before". What they stand for is looked up when it is asked for, so that it does
//! not matter in which order files are imported.

use crate::capture::{Capture, Kind, key_of};
use crate::entity_of::Holder;
use crate::error::Result;
use crate::{Entry, Store};
use herodotus_base::{Sha1, Timestamp};

/// Versions that are looked at in search of the original.
const LOOKS_MAX: usize = 1000;

impl Store {
    /// The capture whose payload a revisit stands for, if it is here.
    pub fn original_of(&self, revisit: &Capture) -> Result<Option<Entry>> {
        original_in(self, revisit)
    }
}

/// The same among all captures that somebody holds.
pub fn original_in<H: Holder>(holder: &H, revisit: &Capture) -> Result<Option<Entry>, H::Error> {
    if revisit.main.kind != Kind::Revisit {
        return Ok(None);
    }
    let digest = revisit.main.field("WARC-Payload-Digest").map(Wanted::parse);
    let uri = revisit.main.field("WARC-Refers-To-Target-URI").map(|u| u.trim_matches(['<', '>']));
    let date = revisit.main.field("WARC-Refers-To-Date").and_then(|d| Timestamp::parse(d).ok());
    let mut places = vec![(key_of(uri.unwrap_or(&revisit.url)), date.unwrap_or(revisit.time))];
    if uri.is_some_and(|u| u != revisit.url) {
        places.push((revisit.key(), revisit.time));
    }
    for (key, time) in places {
        if let Some(found) = nearest_with(holder, &key, time, digest.as_ref())? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The nearest response with this digest: backwards from the time first, then forwards. Without a digest (a 304),
/// the newest response before.
fn nearest_with<H: Holder>(
    holder: &H,
    key: &str,
    time: Timestamp,
    digest: Option<&Wanted>,
) -> Result<Option<Entry>, H::Error> {
    let second = Timestamp::from_millis_clamped(time.floor_second().millis() + 999);
    for entry in holder.versions_until(key, second).take(LOOKS_MAX) {
        let entry = entry?;
        if fits(holder, &entry, digest)? {
            return Ok(Some(entry));
        }
    }
    if digest.is_some() {
        for entry in holder.versions_after(key, second).take(LOOKS_MAX) {
            let entry = entry?;
            if fits(holder, &entry, digest)? {
                return Ok(Some(entry));
            }
        }
    }
    Ok(None)
}

fn fits<H: Holder>(holder: &H, entry: &Entry, digest: Option<&Wanted>) -> Result<bool, H::Error> {
    if entry.removed || !matches!(entry.kind, Kind::Response | Kind::Resource) {
        return Ok(false);
    }
    Ok(match digest {
        None => true,
        Some(Wanted::Sha1(digest)) => *digest == entry.sha1,
        Some(Wanted::Other(digest)) => match holder.read(&entry.id) {
            Ok(capture) => capture.is_some_and(|c| has_digest(&c, digest)),
            // What cannot be read is the original of nothing.
            Err(error) if H::is_damage(&error) => false,
            Err(other) => return Err(other),
        },
    })
}

/// The digest of a payload that is looked for.
enum Wanted {
    /// The one that the index holds.
    Sha1(Sha1),
    /// Any other, as the file spells it: captures must be read to compare it.
    Other(String),
}

impl Wanted {
    fn parse(text: &str) -> Self {
        Sha1::parse(text).map_or_else(|| Self::Other(text.to_owned()), Self::Sha1)
    }
}

/// Whether a capture's file gives it this digest, or it is the SHA-256 of its payload.
fn has_digest(capture: &Capture, digest: &str) -> bool {
    let sha256 = || capture.main.body.digests().sha256.to_string();
    let is_sha256 =
        |(name, hex): (&str, &str)| name.eq_ignore_ascii_case("sha256") && hex.eq_ignore_ascii_case(&sha256());
    capture.main.field("WARC-Payload-Digest") == Some(digest) || digest.split_once(':').is_some_and(is_sha256)
}
