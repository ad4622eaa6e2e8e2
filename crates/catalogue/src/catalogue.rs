//! Keeping the catalogue: opened or made anew, brought up to the archive step by step.
//!
//! A step takes in a few hundred entries of the feed and is written as one batch, together with the cursor behind them.
//! The batch is in the operating system's hands when it returns, so it survives the death of the process; a loss of
//! power may cost the last batches, wholly, cursor and all.

use crate::error::{Error, Result};
use crate::limits::{
    BUFFER_BYTES, CACHE_BYTES, JOURNAL_BYTES, KEY_BYTES_MAX, STEP_ENTRIES, TITLES_PER_URL_MAX, VERSIONS_AGAIN_MAX,
};
use crate::rows::{self, CURSOR_KEY, FORM, FORM_KEY, NEXT_KEY, Posting, TitleRow};
use crate::{title, words};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use herodotus_store::{EntityBody, Entry, EntryKey, FeedCursor, Store};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Titles by word. Searches go on while it catches up.
pub struct Catalogue {
    database: Database,
    pub(crate) rows: Keyspace,
    /// Held by the one who catches up.
    catching_up: Mutex<()>,
}

/// What became of [`Catalogue::catch_up`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaughtUp {
    /// Entries of the feed that were read.
    pub read: usize,
    /// There may be more.
    pub behind: bool,
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").finish_non_exhaustive()
    }
}

impl Catalogue {
    /// Opens the catalogue in a folder of its own, making it if it is missing. One that is of another version, or
    /// cannot be read, is thrown away with the folder.
    pub fn open(dir: &Path) -> Result<Self> {
        match Self::open_as_it_is(dir) {
            Ok(Some(catalogue)) => return Ok(catalogue),
            Ok(None) => {}
            Err(fjall::Error::Locked) => return Err(Error::Locked(dir.to_owned())),
            // A disk that is full or gone is no reason to delete anything.
            Err(error) if is_disk(&error) => return Err(error.into()),
            Err(_) => {}
        }
        std::fs::remove_dir_all(dir)
            .map_err(|source| Error::Disk { doing: format!("throwing {} away", dir.display()), source })?;
        let made = Self::open_as_it_is(dir)?;
        made.ok_or_else(|| Error::Disk {
            doing: format!("making {} anew", dir.display()),
            source: io::Error::other("it is not empty"),
        })
    }

    /// `None`: it is of another version.
    fn open_as_it_is(dir: &Path) -> Result<Option<Self>, fjall::Error> {
        let database = Database::builder(dir)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES)
            .worker_threads(1)
            .open()?;
        let rows =
            database.keyspace("catalogue", || KeyspaceCreateOptions::default().max_memtable_size(BUFFER_BYTES))?;
        match rows.get(FORM_KEY)? {
            Some(form) if *form == [FORM] => {}
            None if rows.is_empty()? => rows.insert(FORM_KEY, [FORM])?,
            _ => return Ok(None),
        }
        Ok(Some(Self { database, rows, catching_up: Mutex::new(()) }))
    }

    /// Takes in what the archive has sealed since the last time, up to about `budget` entries, or until `stop` is set.
    pub fn catch_up(&self, store: &Store, budget: usize, stop: &AtomicBool) -> Result<CaughtUp> {
        let _one = self.catching_up.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cursor = self.rows.get(CURSOR_KEY)?.and_then(|bytes| FeedCursor::decode(&bytes));
        let mut read = 0;
        while read < budget {
            let (entries, next) = store.feed(cursor, STEP_ENTRIES)?;
            let mut step = Step::new(self)?;
            for entry in &entries {
                if stop.load(Ordering::Relaxed) {
                    return Ok(CaughtUp { read, behind: true });
                }
                step.take(store, entry)?;
            }
            if cursor != Some(next) {
                step.commit(next)?;
            }
            read += entries.len();
            cursor = Some(next);
            if entries.len() < STEP_ENTRIES {
                return Ok(CaughtUp { read, behind: false });
            }
        }
        Ok(CaughtUp { read, behind: true })
    }

    /// The newest title of a URL that may be seen.
    pub fn title_of(&self, store: &Store, key: &str) -> Result<Option<String>> {
        let mut titles = Vec::new();
        for number in self.rows.get(rows::url_key(key))?.map(|row| rows::decode_numbers(&row)).unwrap_or_default() {
            titles.extend(self.title_row(number)?);
        }
        titles.sort_by_key(|row| std::cmp::Reverse(row.id.time));
        for row in titles {
            if store.entry(&row.id)?.is_some() {
                return Ok(Some(row.title));
            }
        }
        Ok(None)
    }

    pub(crate) fn title_row(&self, number: u32) -> Result<Option<TitleRow>> {
        Ok(self.rows.get(rows::title_key(number))?.and_then(|row| TitleRow::decode(&row)))
    }
}

fn is_disk(error: &fjall::Error) -> bool {
    match error {
        // What ends too early is a broken file, and not a broken disk.
        fjall::Error::Io(e) | fjall::Error::Storage(fjall::LsmError::Io(e)) => {
            !matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
        }
        _ => false,
    }
}

/// Changes that take effect together; what was changed is seen by what comes after.
struct Step<'a> {
    catalogue: &'a Catalogue,
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    next: u32,
}

impl<'a> Step<'a> {
    fn new(catalogue: &'a Catalogue) -> Result<Self> {
        let next =
            catalogue.rows.get(NEXT_KEY)?.and_then(|row| Some(u32::from_be_bytes(row.as_ref().try_into().ok()?)));
        Ok(Self { catalogue, changes: BTreeMap::new(), next: next.unwrap_or(0) })
    }

    fn take(&mut self, store: &Store, entry: &Entry) -> Result<()> {
        if entry.removed {
            return self.remove(store, &entry.id);
        }
        match page_title(store, entry)? {
            Some(title) => self.put(TitleRow { id: entry.id.clone(), url: entry.url.clone(), title }),
            None => Ok(()),
        }
    }

    fn put(&mut self, row: TitleRow) -> Result<()> {
        let url_key = rows::url_key(&row.id.key);
        let mut known = self.titles_of(&url_key)?;
        if let Some((number, same)) = known.iter().find(|(_, known)| known.title == row.title) {
            if same.id.time < row.id.time {
                self.changes.insert(rows::title_key(*number), Some(row.encode()));
            }
            return Ok(());
        }
        if known.len() >= TITLES_PER_URL_MAX {
            known.sort_by_key(|(_, known)| std::cmp::Reverse(known.id.time));
            match known.pop() {
                Some((number, oldest)) if oldest.id.time < row.id.time => self.forget(number, &oldest),
                _ => return Ok(()),
            }
        }
        let number = self.next;
        // Four thousand million titles are beyond what one archive holds; the numbers are then used up, not used twice.
        let Some(next) = number.checked_add(1) else { return Ok(()) };
        self.next = next;
        for (key, value) in postings(number, &row.title) {
            self.changes.insert(key, Some(value));
        }
        self.changes.insert(rows::title_key(number), Some(row.encode()));
        let numbers: Vec<u32> = known.iter().map(|(number, _)| *number).chain([number]).collect();
        self.changes.insert(url_key, Some(rows::encode_numbers(&numbers)));
        Ok(())
    }

    /// Forgets what only a removed capture is known to say, and asks the others of its URL again.
    fn remove(&mut self, store: &Store, id: &EntryKey) -> Result<()> {
        let url_key = rows::url_key(&id.key);
        let (gone, left): (Vec<_>, Vec<_>) = self.titles_of(&url_key)?.into_iter().partition(|(_, row)| row.id == *id);
        if gone.is_empty() {
            return Ok(());
        }
        for (number, row) in gone {
            self.forget(number, &row);
        }
        let numbers: Vec<u32> = left.iter().map(|(number, _)| *number).collect();
        self.changes.insert(url_key, (!numbers.is_empty()).then(|| rows::encode_numbers(&numbers)));
        for entry in store.versions(&id.key, true).take(VERSIONS_AGAIN_MAX) {
            let entry = entry?;
            if let Some(title) = page_title(store, &entry)? {
                self.put(TitleRow { id: entry.id, url: entry.url, title })?;
            }
        }
        Ok(())
    }

    fn forget(&mut self, number: u32, row: &TitleRow) {
        for (key, _) in postings(number, &row.title) {
            self.changes.insert(key, None);
        }
        self.changes.insert(rows::title_key(number), None);
    }

    fn titles_of(&self, url_key: &[u8]) -> Result<Vec<(u32, TitleRow)>> {
        let mut titles = Vec::new();
        for number in self.get(url_key)?.map(|row| rows::decode_numbers(&row)).unwrap_or_default() {
            if let Some(row) = self.get(&rows::title_key(number))?.and_then(|row| TitleRow::decode(&row)) {
                titles.push((number, row));
            }
        }
        Ok(titles)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.changes.get(key) {
            Some(value) => Ok(value.clone()),
            None => Ok(self.catalogue.rows.get(key)?.map(|value| value.to_vec())),
        }
    }

    /// What was learnt and how far we have come, in one batch: the cursor is never ahead.
    fn commit(mut self, cursor: FeedCursor) -> Result<()> {
        self.changes.insert(CURSOR_KEY.to_vec(), Some(cursor.encode().to_vec()));
        self.changes.insert(NEXT_KEY.to_vec(), Some(self.next.to_be_bytes().to_vec()));
        let Catalogue { database, rows, .. } = self.catalogue;
        let mut batch = database.batch().durability(Some(PersistMode::Buffer));
        for (key, value) in self.changes {
            match value {
                Some(value) => batch.insert(rows, key, value),
                None => batch.remove(rows, key),
            }
        }
        Ok(batch.commit()?)
    }
}

fn postings(number: u32, title: &str) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let words = words::of_title(title);
    let posting = Posting::new(number, words.len());
    words.into_iter().map(move |word| (posting.key(&word), Vec::new()))
}

/// The title of a capture, if it is a page and has one. What cannot be read has none.
fn page_title(store: &Store, entry: &Entry) -> Result<Option<String>> {
    let is_page = entry.is_capture()
        && entry.status == Some(200)
        && matches!(entry.media.as_str(), "text/html" | "application/xhtml+xml")
        && entry.id.key.len() <= KEY_BYTES_MAX;
    if !is_page {
        return Ok(None);
    }
    let entity = match store.entity_in_passing(&entry.id) {
        Ok(Some(entity)) => entity,
        Ok(None) | Err(herodotus_store::Error::Damaged(_)) => return Ok(None),
        Err(other) => return Err(other.into()),
    };
    Ok(match &entity.body {
        EntityBody::Bytes(body) => title::of_page(body, entity.content_type.as_deref()),
        EntityBody::Blob(_) => None,
    })
}
