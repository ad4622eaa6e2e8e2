//! One capture as WARC, for a player that asks for records one by one: the same records that an export of it would
//! hold, with its HTTP messages exactly as they came.

use super::header::{self, Ready};
use crate::capture::{Body, Capture, Kind, Record};
use crate::entity_of::Blobs;
use crate::error::Result;
use crate::{Entry, EntryKey, Store};
use herodotus_warc::{Coding, Writer};
use std::io::{Read, Write};
use std::sync::Arc;

/// The records of a capture, ready to be written. A revisit stays one: whoever asks knows where to ask for its
/// original.
#[derive(Debug)]
pub struct WarcRecords {
    blobs: Arc<dyn Blobs>,
    records: Vec<(Ready, Record)>,
}

impl WarcRecords {
    /// The main record of a capture and, if it is wanted and was kept, the request. `None`: the capture is not here. A
    /// large body is read through once, so that nothing is written of one that is damaged.
    pub fn of(store: &Store, id: &EntryKey, with_request: bool) -> Result<Option<Self>> {
        let Some(capture) = store.read(id)? else { return Ok(None) };
        if let Body::Blob { digests, .. } = &capture.main.body {
            store.open_blob(&digests.sha256)?.check()?;
        }
        let original = store.original_of(&capture)?;
        Self::of_capture(capture, original.as_ref(), with_request, Arc::new(store.clone())).map(Some)
    }

    /// The same of a capture that was read, wherever it lies. `original`: what a revisit was found to be one of; `blobs`:
    /// where its large bodies are, read through by whoever brings it.
    pub fn of_capture(
        capture: Capture,
        original: Option<&Entry>,
        with_request: bool,
        blobs: Arc<dyn Blobs>,
    ) -> Result<Self> {
        let mut ready = header::of_record(&*blobs, &capture, &capture.main)?;
        if let Some(original) = original {
            header::complete_revisit(&mut ready, original);
        }
        let mut records = Vec::with_capacity(2);
        if let Some(request) = capture.companions.iter().find(|r| with_request && r.kind == Kind::Request) {
            records.push((header::of_record(&*blobs, &capture, request)?, request.clone()));
        }
        let Capture { main, .. } = capture;
        records.insert(0, (ready, main));
        Ok(Self { blobs, records })
    }

    /// Bytes that [`WarcRecords::write`] writes without compression.
    pub fn len(&self) -> u64 {
        let header_len = |ready: &Ready| {
            // Content-Length is among the fields; a version line before and an empty line after.
            let fields: usize = ready.fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
            (ready.version.len() + 2 + fields + 2) as u64
        };
        self.records.iter().map(|(ready, record)| header_len(ready) + record.block_len() + 4).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Writes them one after the other, with `gzip` each in a member of its own. Says how many bytes that were.
    pub fn write(&self, out: &mut dyn Write, gzip: bool) -> Result<u64> {
        let mut writer = Writer::new(out, if gzip { Coding::Gzip } else { Coding::Plain })?;
        for (ready, record) in &self.records {
            let body = header::open_body(&*self.blobs, &record.body)?;
            let mut block = record.head.as_slice().chain(body);
            writer.write(&ready.version, &ready.fields, &mut block, record.block_len())?;
        }
        let written = writer.written();
        writer.finish()?;
        Ok(written)
    }
}
