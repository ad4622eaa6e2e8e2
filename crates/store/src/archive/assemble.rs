//! Puts exchanges together again: WARC files hold a request and its response as two records, in either order, linked by
//! WARC-Concurrent-To; here they are one capture. A record that belongs to no other stands alone; none is dropped.

use crate::capture::{Capture, Kind, Record, RecordId};
use crate::index::kind_is_capture;
use crate::limits::{COMPANION_BYTES_MAX, COMPANIONS_MAX};
use herodotus_base::{Sha1, Timestamp};

/// A record as read, with what it says of itself.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) record: Record,
    /// SHA-1 of its block, where reading it gave that too.
    pub(super) block_sha1: Option<Sha1>,
    pub(super) url: String,
    pub(super) time: Timestamp,
    pub(super) place: Place,
}

/// Where a record stands: the file within a container, and the byte.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) member: Option<String>,
    pub(super) offset: u64,
}

/// A capture that is complete, and where its main record stands.
#[derive(Debug)]
pub(super) struct Assembled {
    pub(super) capture: Capture,
    /// Of the main record's block.
    pub(super) block_sha1: Option<Sha1>,
    pub(super) place: Place,
}

impl Read {
    fn is_main(&self) -> bool {
        kind_is_capture(&self.record.kind)
    }

    /// Small requests and notes about a fetch go with the capture they belong to. Other metadata is something that
    /// indexes list, so it stands alone.
    fn may_join(&self) -> bool {
        let small = matches!(self.record.body, crate::Body::Bytes(..)) && self.record.body.len() <= COMPANION_BYTES_MAX;
        let fields_only = self.record.field("Content-Type").is_some_and(|t| t.starts_with("application/warc-fields"));
        small && (self.record.kind == Kind::Request || self.record.kind == Kind::Metadata && fields_only)
    }

    fn names(&self, other: &RecordId) -> bool {
        let header = self.record.warc.as_ref();
        let fields = header.into_iter().flat_map(|h| h.fields.iter());
        fields
            .filter(|(name, _)| name.eq_ignore_ascii_case("WARC-Concurrent-To"))
            .any(|(_, value)| RecordId::parse(value) == *other)
    }

    fn alone(self) -> Assembled {
        let capture = Capture { url: self.url, time: self.time, main: self.record, companions: Vec::new() };
        Assembled { capture, block_sha1: self.block_sha1, place: self.place }
    }
}

/// Holds the exchange that is being put together: at most one main record and its companions.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    main: Option<Read>,
    companions: Vec<Read>,
}

impl Assembler {
    pub(super) fn is_empty(&self) -> bool {
        self.main.is_none() && self.companions.is_empty()
    }

    /// Takes the next record; gives back what is complete now.
    pub(super) fn push(&mut self, read: Read) -> Vec<Assembled> {
        let mut done = Vec::new();
        if read.is_main() {
            // Requests may come first and wait for the answer that names them, or that they name.
            let linked = self.companions.iter().all(|c| read.names(&c.record.id) || c.names(&read.record.id));
            if self.main.is_some() || !linked {
                done = self.take();
            }
            self.main = Some(read);
        } else if read.may_join() {
            let linked = match &self.main {
                Some(main) => read.names(&main.record.id) || main.names(&read.record.id),
                None => true,
            };
            if !linked || self.companions.len() >= COMPANIONS_MAX {
                done = self.take();
            }
            self.companions.push(read);
        } else {
            done = self.take();
            done.push(read.alone());
        }
        done
    }

    /// Everything that is left.
    pub(super) fn take(&mut self) -> Vec<Assembled> {
        let companions = self.companions.drain(..);
        match self.main.take() {
            Some(main) => {
                let mut whole = main.alone();
                // Into room of their own size: what was read takes more, and would wait in memory as long as the capture does.
                let mut records = Vec::with_capacity(companions.len());
                records.extend(companions.map(|c| c.record));
                whole.capture.companions = records;
                vec![whole]
            }
            None => companions.map(Read::alone).collect(),
        }
    }
}
