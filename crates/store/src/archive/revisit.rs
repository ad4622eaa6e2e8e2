//! Revisits: records that say "the same as before". What they stand for is looked up when it is asked for, so that it does
//! not matter in which order files are imported.

use crate::capture::{Capture, Kind, key_of};
use crate::error::Result;
use crate::{Entry, Store};
use herodotus_base::{Sha1, Timestamp};

/// Versions that are looked at in search of the original.
const LOOKS_MAX: usize = 1000;

impl Store {
    /// The capture whose payload a revisit stands for, if it is here.
    pub fn original_of(&self, revisit: &Capture) -> Result<Option<Entry>> {
        if revisit.main.kind != Kind::Revisit {
            return Ok(None);
        }
        let digest = revisit.main.field("WARC-Payload-Digest").and_then(Sha1::parse);
        let uri = revisit.main.field("WARC-Refers-To-Target-URI").map(|u| u.trim_matches(['<', '>']));
        let date = revisit.main.field("WARC-Refers-To-Date").and_then(|d| Timestamp::parse(d).ok());
        let mut places = vec![(key_of(uri.unwrap_or(&revisit.url)), date.unwrap_or(revisit.time))];
        if uri.is_some_and(|u| u != revisit.url) {
            places.push((revisit.key(), revisit.time));
        }
        for (key, time) in places {
            if let Some(found) = self.nearest_with(&key, time, digest)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The nearest response with this digest: backwards from the time first, then forwards. Without a digest (a 304),
    /// the newest response before.
    fn nearest_with(&self, key: &str, time: Timestamp, digest: Option<Sha1>) -> Result<Option<Entry>> {
        let fits = |e: &Entry| {
            matches!(e.kind, Kind::Response | Kind::Resource) && digest.is_none_or(|d| d == e.sha1) && !e.removed
        };
        let second = Timestamp::from_millis_clamped(time.floor_second().millis() + 999);
        let mut seen = 0;
        for entry in self.versions_until(key, second) {
            let entry = entry?;
            if fits(&entry) {
                return Ok(Some(entry));
            }
            seen += 1;
            if seen >= LOOKS_MAX {
                break;
            }
        }
        if digest.is_some() {
            for entry in self.versions_after(key, second).take(LOOKS_MAX) {
                let entry = entry?;
                if fits(&entry) {
                    return Ok(Some(entry));
                }
            }
        }
        Ok(None)
    }
}
