//! What is asked of the other machines, and what is kept of their answers for a moment.
//!
//! Promises: an answer is put in order and within what was asked before anybody believes it; no capture is passed on that is
//! another than the one asked for, or whose bytes are not those of its digests; a large body that is read from its beginning never
//! ends as if it were whole unless it is.

use super::elsewhere::{Away, Elsewhere, Gathered};
use super::limits::{CAPTURES_BYTES_MAX, ENTITIES_BYTES_MAX, GATHERED_TIME, KEY_PAGE, PAGE_FIRST, PAGE_MAX};
use super::windows::{Part, Windows};
use crate::answer::Trouble;
use herodotus_base::{Digester, Sha256};
use herodotus_store::{Blobs, Body, Capture, Entity, EntityBody, Entry, EntryKey, Store, Totals};
use quick_cache::{Weighter, sync::Cache};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The other machines, and what they said lately.
pub(super) struct Afar {
    pub(super) elsewhere: Arc<dyn Elsewhere>,
    /// Readers are sent to whoever holds what they ask for.
    pub(super) redirects: bool,
    pub(super) windows: Windows,
    captures: Cache<EntryKey, Arc<Capture>, Weight>,
    pub(super) entities: Cache<EntryKey, Arc<Entity>, Weight>,
    totals: Lately<Gathered<Totals>>,
    recent: Lately<Gathered<Vec<Entry>>>,
}

impl std::fmt::Debug for Afar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Afar").field("elsewhere", &self.elsewhere).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Weight;

fn held(body: &Body) -> usize {
    if let Body::Bytes(bytes, _) = body { bytes.len() } else { 0 }
}

impl Weighter<EntryKey, Arc<Capture>> for Weight {
    fn weight(&self, key: &EntryKey, capture: &Arc<Capture>) -> u64 {
        let records = std::iter::once(&capture.main).chain(&capture.companions);
        let records: usize = records.map(|record| held(&record.body) + record.head.len() + 1000).sum();
        (records + capture.url.len() + key.key.len()) as u64
    }
}

impl Weighter<EntryKey, Arc<Entity>> for Weight {
    fn weight(&self, key: &EntryKey, entity: &Arc<Entity>) -> u64 {
        let body = if let EntityBody::Bytes(bytes) = &entity.body { bytes.len() } else { 0 };
        (body + entity.head.len() + entity.url.len() + key.key.len() * 2 + 400) as u64
    }
}

/// Behind all versions of one key.
pub(super) fn range_of(key: &str) -> (Vec<u8>, Vec<u8>) {
    (format!("{key}\0").into_bytes(), format!("{key}\u{1}").into_bytes())
}

impl Afar {
    pub(super) fn new(elsewhere: Arc<dyn Elsewhere>, redirects: bool) -> Self {
        // The numbers decide into how many parts a cache is split: few, so that a part takes in the largest body.
        Self {
            elsewhere,
            redirects,
            windows: Windows::default(),
            captures: Cache::with_weighter(64, CAPTURES_BYTES_MAX, Weight),
            entities: Cache::with_weighter(64, ENTITIES_BYTES_MAX, Weight),
            totals: Lately::default(),
            recent: Lately::default(),
        }
    }

    /// The first part of a range. `nth`: how many parts came before; `is_kept`: what comes is worth remembering.
    pub(super) fn part(
        &self,
        (from, to): (&[u8], &[u8]),
        backwards: bool,
        key: Option<&str>,
        nth: u32,
        may_wait: bool,
        is_kept: bool,
    ) -> Result<Part, Trouble> {
        if let Some(part) = self.windows.part(from, to, backwards) {
            return Ok(part);
        }
        if !may_wait {
            return Err(Trouble::NotHere);
        }
        if let Some(key) = key.filter(|_| nth == 0) {
            self.learn_key(key)?;
            if let Some(part) = self.windows.part(from, to, backwards) {
                return Ok(part);
            }
        }
        let max = PAGE_FIRST.saturating_mul(4_usize.saturating_pow(nth)).min(PAGE_MAX);
        self.ask(from, to, backwards, max, is_kept)
    }

    /// Asks for all versions of a key at once, unless they were seen lately.
    pub(super) fn learn_key(&self, key: &str) -> Result<(), Trouble> {
        let (from, to) = range_of(key);
        // A URL with many versions has a window at its beginning: it was asked for before, and more was there.
        if self.windows.part(&from, &to, false).is_none() {
            self.ask(&from, &to, false, KEY_PAGE, true)?;
        }
        Ok(())
    }

    fn ask(&self, from: &[u8], to: &[u8], backwards: bool, max: usize, is_kept: bool) -> Result<Part, Trouble> {
        let page = self.elsewhere.entries(from, to, backwards, max).map_err(Trouble::Away)?;
        let mut entries = page.entries;
        let in_range = |entry: &Entry| {
            let key = entry.id.encode();
            *from <= *key && *key < *to && !entry.removed
        };
        entries.retain(in_range);
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        entries.dedup_by(|a, b| a.id == b.id);
        let last = if backwards { entries.first() } else { entries.last() };
        let last = last.filter(|_| page.more).map(|entry| entry.id.encode());
        if page.more && last.is_none() {
            // More is promised, and nothing comes.
            return Err(Trouble::Away(Away::Silent { asked: 1 }));
        }
        let behind = |mut key: Vec<u8>| {
            // The very next string of bytes.
            key.push(0);
            key
        };
        let (seen, rest) = match (last, backwards) {
            (None, _) => ((from.to_vec(), to.to_vec()), None),
            (Some(last), false) => {
                let end = behind(last);
                ((from.to_vec(), end.clone()), Some((end, to.to_vec())))
            }
            (Some(last), true) => ((last.clone(), to.to_vec()), Some((from.to_vec(), last))),
        };
        if is_kept {
            self.windows.put(&seen.0, &seen.1, entries.clone());
        }
        if backwards {
            entries.reverse();
        }
        Ok(Part { entries, rest })
    }

    /// A capture that is not here. Those who ask for the same at once wait for one answer.
    pub(super) fn capture(&self, id: &EntryKey, may_wait: bool) -> Result<Option<Arc<Capture>>, Trouble> {
        if let Some(known) = self.captures.get(id) {
            return Ok(Some(known));
        }
        if !may_wait {
            return Err(Trouble::NotHere);
        }
        let fetch = || match self.elsewhere.capture(id) {
            Ok(Some(capture)) if is_it(&capture, id, self.windows.entry(id).as_ref()) => Ok(Arc::new(capture)),
            Ok(Some(_)) => Err(Some(Away::False { asked: 1 })),
            Ok(None) => Err(None),
            Err(away) => Err(Some(away)),
        };
        // What moves to another machine may go while it is read: false is what is so twice.
        let fetched = self.captures.get_or_insert_with(id, || match fetch() {
            Err(Some(Away::False { .. })) => fetch(),
            other => other,
        });
        match fetched {
            Ok(capture) => Ok(Some(capture)),
            Err(None) => Ok(None),
            Err(Some(away)) => Err(Trouble::Away(away)),
        }
    }

    /// Where the large bodies of a capture are read.
    pub(super) fn blobs(&self, store: &Store, id: &EntryKey) -> Arc<dyn Blobs> {
        Arc::new(AwayBlobs { store: store.clone(), elsewhere: self.elsewhere.clone(), id: id.clone() })
    }

    pub(super) fn totals(&self) -> Gathered<Totals> {
        self.totals.get(|| self.elsewhere.totals())
    }

    pub(super) fn recent(&self, max: usize) -> Gathered<Vec<Entry>> {
        let mut recent = self.recent.get(|| self.elsewhere.recent(herodotus_store::limits::RECENT_MAX));
        recent.value.truncate(max);
        recent
    }
}

/// Whether a capture is the one asked for, its bytes are those of its digests, and it is what the index said of it.
fn is_it(capture: &Capture, id: &EntryKey, entry: Option<&Entry>) -> bool {
    let mut records = std::iter::once(&capture.main).chain(&capture.companions);
    let is_whole = |body: &Body| match body {
        Body::Bytes(bytes, digests) => {
            let mut digester = Digester::new();
            digester.update(bytes);
            digester.finish() == *digests
        }
        Body::Blob { .. } => true,
    };
    let as_told = |entry: &Entry| entry.sha1 == capture.main.payload_sha1() && entry.len == capture.main.body.len();
    capture.id() == *id && records.all(|record| is_whole(&record.body)) && entry.is_none_or(as_told)
}

/// What was worked out a moment ago. Whoever comes while it is being worked out waits for it.
#[derive(Debug)]
struct Lately<T>(Mutex<Option<(Instant, T)>>);

impl<T> Default for Lately<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> Lately<T> {
    fn get(&self, make: impl FnOnce() -> T) -> T {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((when, value)) if when.elapsed() < GATHERED_TIME => value.clone(),
            _ => {
                let value = make();
                *known = Some((Instant::now(), value.clone()));
                value
            }
        }
    }
}

/// Large bodies of one capture: this disk's where it has them, else from elsewhere.
#[derive(Debug)]
struct AwayBlobs {
    store: Store,
    elsewhere: Arc<dyn Elsewhere>,
    id: EntryKey,
}

impl Blobs for AwayBlobs {
    fn open_blob_at(&self, digest: &Sha256, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        if let Ok(reader) = self.store.open_blob_at(digest, offset) {
            let away = Self { store: self.store.clone(), elsewhere: self.elsewhere.clone(), id: self.id.clone() };
            return Ok(Box::new(Mixed { reader: Box::new(reader), at: offset, away: Some((away, *digest)) }));
        }
        let reader = self.elsewhere.blob(&self.id, digest, offset).map_err(io::Error::other)?;
        Ok(if offset == 0 { Box::new(Checked::new(reader, *digest)) } else { reader })
    }
}

/// A body that is read here as far as it is whole, and from there on elsewhere.
struct Mixed {
    reader: Box<dyn Read + Send>,
    at: u64,
    /// Not tried yet.
    away: Option<(AwayBlobs, Sha256)>,
}

impl Read for Mixed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = match self.reader.read(out) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let Some((away, digest)) = self.away.take() else { return Err(error) };
                // From the beginning, since the digest is of the whole.
                let reader = away.elsewhere.blob(&away.id, &digest, 0).map_err(io::Error::other)?;
                let mut reader = Checked::new(reader, digest);
                io::copy(&mut reader.by_ref().take(self.at), &mut io::sink())?;
                self.reader = Box::new(reader);
                self.reader.read(out)?
            }
            read => read?,
        };
        self.at += read as u64;
        Ok(read)
    }
}

/// Bytes held back until those behind them are known.
const HELD_BACK: usize = 64 * 1024;

/// A body read to its end gives its last bytes only if all of them are what the digest says: whoever counts the bytes, as every
/// browser does, will not take a false one for whole.
struct Checked {
    reader: Box<dyn Read + Send>,
    digest: Sha256,
    digester: Option<Digester>,
    /// Read, but not given yet: what is left of it from `at` on.
    ready: Vec<u8>,
    at: usize,
    held: Vec<u8>,
}

impl Checked {
    fn new(reader: Box<dyn Read + Send>, digest: Sha256) -> Self {
        Self { reader, digest, digester: Some(Digester::new()), ready: Vec::new(), at: 0, held: Vec::new() }
    }

    /// Gets more to give: what was held back, once it is known what follows.
    fn fill(&mut self) -> io::Result<()> {
        let Some(digester) = &mut self.digester else { return Ok(()) };
        let mut next = Vec::with_capacity(HELD_BACK);
        self.reader.by_ref().take(HELD_BACK as u64).read_to_end(&mut next)?;
        digester.update(&next);
        if next.is_empty() {
            let is_true = self.digester.take().is_some_and(|digester| digester.finish().sha256 == self.digest);
            if !is_true {
                self.held = Vec::new();
                return Err(io::Error::other(Away::False { asked: 1 }));
            }
        }
        (self.ready, self.at) = (std::mem::replace(&mut self.held, next), 0);
        Ok(())
    }
}

impl Read for Checked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.ready.len() && self.digester.is_some() {
            self.fill()?;
        }
        let rest = self.ready.get(self.at..).unwrap_or_default();
        let n = rest.len().min(out.len());
        let (Some(into), Some(given)) = (out.get_mut(..n), rest.get(..n)) else { return Ok(0) };
        into.copy_from_slice(given);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_false_body_never_seems_whole() {
        for len in [0, 1, HELD_BACK - 1, HELD_BACK, HELD_BACK + 1, 3 * HELD_BACK + 17] {
            let bytes: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            let read = |digest| {
                let mut out = Vec::new();
                let mut checked = Checked::new(Box::new(io::Cursor::new(bytes.clone())), digest);
                let result = checked.read_to_end(&mut out);
                (result.is_ok(), out)
            };
            assert_eq!(read(Sha256::of(&bytes)), (true, bytes.clone()), "{len}");
            let (is_ok, given) = read(Sha256::of(b"other"));
            assert!(!is_ok && (given.len() < bytes.len() || len == 0), "{len}: {}", given.len());
        }
    }
}
