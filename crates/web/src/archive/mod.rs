//! The archive as the pages see it: this machine's store alone, or the whole ring as if it were one store.
//!
//! Without a ring every call goes to the store and costs nothing more. In a ring, what this machine holds a filled copy of is its
//! own to answer; of the rest it asks the others ([`Elsewhere`]) and puts their answers together with what happens to lie here,
//! each capture once. What a copy here has lost is read elsewhere.
//!
//! Whoever may not wait, because others wait for the same thread, asks [`Archive::nearby`]: that answers from this disk and from
//! what came a moment ago, or says [`Trouble::NotHere`]. Where the idea comes from: Herodotus answers for any URL on any node.

mod afar;
mod elsewhere;
mod entries;
mod everything;
pub(crate) mod limits;
mod windows;

pub use elsewhere::{Away, Elsewhere, Gathered, Page, PublicAddress};
pub(crate) use entries::Entries;
pub use everything::Everything;

use crate::answer::Trouble;
use afar::{Afar, range_of};
use entries::Walk;
use herodotus_base::Timestamp;
use herodotus_catalogue::{Catalogue, Found, rank};
use herodotus_store::archive::{WarcRecords, original_in};
use herodotus_store::{
    Blobs, Body, Capture, Entity, Entry, EntryKey, Error, Holder, Kind, Scan, Store, Totals, with_original,
};
use limits::{AHEAD_MAX, AHEAD_THREADS, COUNT_WALKED_MAX};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Behind every key: no UTF-8 begins with these bytes.
const END: [u8; 4] = [0xff; 4];

/// What the archive is made of.
#[derive(Debug)]
pub(crate) struct Holdings {
    store: Store,
    catalogue: Arc<Catalogue>,
    afar: OnceLock<Afar>,
}

/// The archive, for one who reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Archive<'a> {
    holdings: &'a Holdings,
    /// Whether the network may be waited for.
    may_wait: bool,
}

/// Machines that did not answer, so that what only they know is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Silence {
    pub(crate) asked: usize,
    pub(crate) silent: usize,
}

impl Silence {
    fn of<T>(gathered: &Gathered<T>) -> Option<Self> {
        (gathered.silent > 0).then_some(Self { asked: gathered.asked, silent: gathered.silent })
    }

    /// The worse of two.
    pub(crate) fn worse(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        [a, b].into_iter().flatten().max_by_key(|silence| silence.silent)
    }
}

impl Holdings {
    pub(crate) fn new(store: Store, catalogue: Arc<Catalogue>) -> Self {
        Self { store, catalogue, afar: OnceLock::new() }
    }

    /// Of several, the first counts.
    pub(crate) fn join(&self, elsewhere: Arc<dyn Elsewhere>, redirects: bool) {
        let _ = self.afar.set(Afar::new(elsewhere, redirects));
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.afar.get().is_none()
    }

    pub(crate) fn archive(&self, may_wait: bool) -> Archive<'_> {
        Archive { holdings: self, may_wait }
    }
}

/// The machines beyond this one, and this one's store.
type Both<'a> = (&'a Afar, &'a Store);

impl<'a> Archive<'a> {
    /// This machine's own part.
    pub(crate) fn here(self) -> &'a Store {
        &self.holdings.store
    }

    fn catalogue(self) -> &'a Catalogue {
        &self.holdings.catalogue
    }

    fn afar(self) -> Option<&'a Afar> {
        self.holdings.afar.get()
    }

    /// Who else is to be asked of a key: nobody, where all of it is here.
    fn afar_of(self, key: &str) -> Option<&'a Afar> {
        self.afar().filter(|afar| !afar.elsewhere.is_here(key))
    }

    fn waits(self) -> Result<(), Trouble> {
        if self.may_wait { Ok(()) } else { Err(Trouble::NotHere) }
    }

    /// Whether all of a key is here.
    pub(crate) fn is_here(self, key: &str) -> bool {
        self.afar_of(key).is_none()
    }

    /// Versions of one key: this machine's, and those of a range of its encoded keys from elsewhere.
    fn of_key(self, key: &str, here: Scan<'a>, range: impl FnOnce() -> windows::Range, backwards: bool) -> Entries<'a> {
        match self.afar_of(key) {
            None => Entries::here(here),
            Some(afar) => {
                let walk = Walk::new(afar, self.here(), self.may_wait, range(), backwards);
                Entries::with(here, walk.of_key(key))
            }
        }
    }

    /// All versions of one key, oldest first, or newest first.
    pub(crate) fn versions(self, key: &str, backwards: bool) -> Entries<'a> {
        self.of_key(key, self.here().versions(key, backwards), || range_of(key), backwards)
    }

    /// Versions of a key up to a time, newest first.
    pub(crate) fn versions_until(self, key: &str, time: Timestamp) -> Entries<'a> {
        self.of_key(key, self.here().versions_until(key, time), || (range_of(key).0, behind(key, time)), true)
    }

    /// Versions of a key after a time, oldest first.
    pub(crate) fn versions_after(self, key: &str, time: Timestamp) -> Entries<'a> {
        self.of_key(key, self.here().versions_after(key, time), || (behind(key, time), range_of(key).1), false)
    }

    /// The newest capture of a key that is not newer than a time.
    pub(crate) fn newest_not_after(self, key: &str, time: Timestamp) -> Result<Option<Entry>, Trouble> {
        self.versions_until(key, time).find(|entry| entry.as_ref().map_or(true, Entry::is_capture)).transpose()
    }

    /// Entries with `from <= key < to`, by key and time, or backwards.
    pub(crate) fn scan(self, from: &str, to: &str, backwards: bool) -> Entries<'a> {
        if let Some(key) = from.strip_suffix('\0').filter(|key| to.strip_suffix('\u{1}') == Some(*key)) {
            return self.versions(key, backwards);
        }
        let here = self.here().scan(from, to, backwards);
        let range = (from.as_bytes().to_vec(), to.as_bytes().to_vec());
        match self.afar().filter(|afar| !afar.elsewhere.is_range_here(&range.0, &range.1)) {
            None => Entries::here(here),
            Some(afar) => Entries::with(here, Walk::new(afar, self.here(), self.may_wait, range, backwards)),
        }
    }

    /// The first entry whose key is not before this one.
    pub(crate) fn first_at_or_after(self, key: &str) -> Result<Option<Entry>, Trouble> {
        let here = self.here().first_at_or_after(key)?;
        let Some(afar) = self.afar().filter(|afar| !afar.elsewhere.is_range_here(key.as_bytes(), &END)) else {
            return Ok(here);
        };
        let range = (key.as_bytes().to_vec(), END.to_vec());
        let there = Walk::new(afar, self.here(), self.may_wait, range, false).next()?;
        Ok(match (here, there) {
            (Some(here), Some(there)) => Some(if there.id < here.id { there } else { here }),
            (here, there) => here.or(there),
        })
    }

    /// What is known of a capture.
    pub(crate) fn entry(self, id: &EntryKey) -> Result<Option<Entry>, Trouble> {
        if let Some(entry) = self.here().entry(id)? {
            return Ok(Some(entry));
        }
        let Some(afar) = self.afar_of(&id.key) else { return Ok(None) };
        let (from, mut to) = (id.encode(), id.encode());
        to.push(0);
        Walk::new(afar, self.here(), self.may_wait, (from, to), false).of_key(&id.key).next()
    }

    /// How many captures of a key there are.
    pub(crate) fn count(self, key: &str) -> Result<u64, Trouble> {
        let here = self.here().count(key)?;
        let Some(afar) = self.afar_of(key) else { return Ok(here) };
        let (from, to) = range_of(key);
        if self.may_wait {
            afar.learn_key(key)?;
        }
        let is_seen = afar.windows.has_all(&from, &to);
        if !is_seen {
            self.waits()?;
            let there = afar.elsewhere.count(key).map_err(Trouble::Away)?;
            if here == 0 {
                return Ok(there);
            }
            if there.saturating_add(here) > COUNT_WALKED_MAX {
                return Ok(there.max(here));
            }
        }
        let mut count = 0;
        for entry in self.versions(key, false) {
            count += u64::from(entry?.is_capture());
        }
        Ok(count)
    }

    /// Reads a capture, whole and checked. `None`: there is none, or it was removed.
    pub(crate) fn read(self, id: &EntryKey) -> Result<Option<Capture>, Trouble> {
        let found = self.here().read(id);
        let Some(afar) = self.afar() else { return Ok(found?) };
        match found {
            Ok(Some(capture)) => return Ok(Some(capture)),
            Ok(None) if self.is_here(&id.key) => return Ok(None),
            // A copy that is damaged is as good as none, while there are others.
            Ok(None) | Err(Error::Damaged(_)) => {}
            Err(other) => return Err(other.into()),
        }
        if self.here().is_removed(id)? {
            return Ok(None);
        }
        Ok(afar.capture(id, self.may_wait)?.map(|capture| Capture::clone(&capture)))
    }

    /// The capture whose payload a revisit stands for.
    pub(crate) fn original_of(self, revisit: &Capture) -> Result<Option<Entry>, Trouble> {
        match self.afar() {
            None => Ok(self.here().original_of(revisit)?),
            Some(_) => original_in(&self, revisit),
        }
    }

    fn original(self, revisit: &Capture) -> Result<Option<Capture>, Trouble> {
        match self.original_of(revisit)? {
            Some(original) => self.read(&original.id),
            None => Ok(None),
        }
    }

    /// Reads a capture with the payload it stands for.
    pub(crate) fn read_resolved(self, id: &EntryKey) -> Result<Option<Capture>, Trouble> {
        if self.afar().is_none() {
            return Ok(self.here().read_resolved(id)?);
        }
        let Some(capture) = self.read(id)? else { return Ok(None) };
        Ok(Some(match self.original(&capture)? {
            Some(original) => with_original(capture, original),
            None => capture,
        }))
    }

    /// A capture as its reader sees it, kept in memory for the next one.
    pub(crate) fn entity(self, id: &EntryKey) -> Result<Option<Arc<Entity>>, Trouble> {
        let found = self.here().entity(id);
        let Some(afar) = self.afar() else { return Ok(found?) };
        if let Some(answer) = self.settled(id, found)? {
            return Ok(answer);
        }
        if let Some(entity) = afar.entities.get(id) {
            let original_is_shown = match &entity.original {
                Some(original) => !self.here().is_removed(original)?,
                None => true,
            };
            if original_is_shown {
                return Ok(Some(entity));
            }
        }
        let Some((entity, lasts)) = self.made((afar, self.here()), id)? else { return Ok(None) };
        let entity = Arc::new(entity);
        if lasts {
            afar.entities.insert(id.clone(), entity.clone());
        }
        Ok(Some(entity))
    }

    /// The same for one who reads much, and should not push out what others read again.
    pub(crate) fn entity_in_passing(self, id: &EntryKey) -> Result<Option<Arc<Entity>>, Trouble> {
        let found = self.here().entity_in_passing(id).map(|entity| entity.map(Arc::new));
        let Some(afar) = self.afar() else { return Ok(found?) };
        if let Some(answer) = self.settled(id, found)? {
            return Ok(answer);
        }
        Ok(self.made((afar, self.here()), id)?.map(|(entity, _)| Arc::new(entity)))
    }

    /// Whether what this store says of an entity is the last word; `None`: others are to be asked.
    fn settled(
        self,
        id: &EntryKey,
        found: herodotus_store::Result<Option<Arc<Entity>>>,
    ) -> Result<Option<Option<Arc<Entity>>>, Trouble> {
        let is_here = self.is_here(&id.key);
        match found {
            // What a revisit stands for may lie elsewhere, though the revisit is here.
            Ok(Some(entity)) if entity.kind != Kind::Revisit || is_here && entity.original.is_some() => {
                Ok(Some(Some(entity)))
            }
            Ok(Some(_)) => Ok(None),
            Ok(None) if is_here || self.here().is_removed(id)? => Ok(Some(None)),
            Ok(None) | Err(Error::Damaged(_)) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Makes an entity of what is here and elsewhere, and says whether it will be the same again.
    fn made(self, (afar, store): Both<'a>, id: &EntryKey) -> Result<Option<(Entity, bool)>, Trouble> {
        let Some(capture) = self.read(id)? else { return Ok(None) };
        let original = self.original(&capture)?;
        let large = original.as_ref().unwrap_or(&capture);
        if let Body::Blob { .. } = large.main.body {
            // Its codings are tried on its first bytes.
            self.waits()?;
        }
        let made = Entity::of(&capture, original.as_ref(), |id| afar.blobs(store, id));
        made.map(Some).map_err(|error| match Trouble::from(error) {
            away @ Trouble::Away(_) => away,
            _ => Trouble::Away(Away::Silent { asked: 1 }),
        })
    }

    /// A capture as WARC records.
    pub(crate) fn records(self, id: &EntryKey, with_request: bool) -> Result<Option<WarcRecords>, Trouble> {
        let Some(afar) = self.afar() else { return Ok(WarcRecords::of(self.here(), id, with_request)?) };
        let Some(capture) = self.read(id)? else { return Ok(None) };
        let blobs = afar.blobs(self.here(), id);
        if let Body::Blob { digests, .. } = &capture.main.body {
            self.waits()?;
            read_through(&*blobs, &digests.sha256)?;
        }
        let original = self.original_of(&capture)?;
        Ok(Some(WarcRecords::of_capture(capture, original.as_ref(), with_request, blobs)?))
    }

    /// Totals of what lies in packs, of this machine or of the ring.
    pub(crate) fn totals(self) -> Result<(Totals, Option<Silence>), Trouble> {
        let Some(afar) = self.afar() else { return Ok((self.here().totals()?, None)) };
        self.waits()?;
        let gathered = afar.totals();
        Ok((gathered.value, Silence::of(&gathered)))
    }

    /// The captures that came last, the newest first.
    pub(crate) fn recent(self, max: usize) -> Result<(Vec<Entry>, Option<Silence>), Trouble> {
        let mut entries = self.here().recent(max)?;
        let Some(afar) = self.afar() else { return Ok((entries, None)) };
        self.waits()?;
        let gathered = afar.recent(max);
        let silence = Silence::of(&gathered);
        let mut seen: HashSet<EntryKey> = entries.iter().map(|entry| entry.id.clone()).collect();
        for entry in gathered.value {
            if entry.is_capture() && seen.insert(entry.id.clone()) && !self.here().is_removed(&entry.id)? {
                entries.push(entry);
            }
        }
        entries.sort_by_key(|entry| Reverse(entry.id.time));
        entries.truncate(max);
        Ok((entries, silence))
    }

    /// Pages with these words in their titles, each once.
    pub(crate) fn search(self, question: &str, max: usize) -> Result<(Vec<Found>, Option<Silence>), Trouble> {
        let ours = |error: herodotus_catalogue::Error| Trouble::Ours(error.to_string());
        let mut found = self.catalogue().search(self.here(), question, max).map_err(ours)?;
        let Some(afar) = self.afar() else { return Ok((found, None)) };
        self.waits()?;
        let gathered = afar.elsewhere.search(question, max);
        let silence = Silence::of(&gathered);
        found.extend(gathered.value);
        let mut ranked: Vec<_> =
            found.into_iter().filter_map(|hit| Some(((rank(question, &hit.title)?, Reverse(hit.time)), hit))).collect();
        ranked.sort_by(|(a, hit), (b, other)| a.cmp(b).then_with(|| hit.key.cmp(&other.key)));
        let mut seen = HashSet::new();
        ranked.retain(|(_, hit)| seen.insert(hit.key.clone()));
        ranked.truncate(max);
        Ok((ranked.into_iter().map(|(_, hit)| hit).collect(), silence))
    }

    /// The newest titles that are known of some URLs, in their order. What goes wrong on the way to one only leaves it out.
    pub(crate) fn titles(self, keys: &[&str]) -> Vec<Option<String>> {
        let known = |key: &str| self.catalogue().title_of(self.here(), key).ok().flatten();
        let Some(afar) = self.afar().filter(|_| self.may_wait) else {
            return keys.iter().map(|key| known(key)).collect();
        };
        let away: Vec<&str> = keys.iter().copied().filter(|key| !afar.elsewhere.is_here(key)).collect();
        let mut told = match away.is_empty() {
            true => Vec::new(),
            false => afar.elsewhere.titles(&away),
        }
        .into_iter();
        let mut away = away.into_iter().peekable();
        let title = |key: &&str| {
            let there = away.next_if_eq(key).and_then(|_| told.next().flatten());
            there.or_else(|| known(key))
        };
        keys.iter().map(title).collect()
    }

    /// The newest title that is known of a URL.
    pub(crate) fn title_of(self, key: &str) -> Option<String> {
        self.titles(&[key]).pop().flatten()
    }

    /// Asks for what is known of some keys, several at a time, before somebody asks for one after the other.
    pub(crate) fn learn(self, keys: &[String]) {
        let Some(afar) = self.afar().filter(|_| self.may_wait) else { return };
        let is_unknown = |key: &&String| {
            let (from, to) = range_of(key);
            !afar.elsewhere.is_here(key) && afar.windows.part(&from, &to, false).is_none()
        };
        at_once(keys.iter().filter(is_unknown), |key| {
            // Whoever needs it will be told what is wrong.
            let _ = afar.learn_key(key);
        });
    }

    /// The same with captures.
    pub(crate) fn fetch(self, ids: &[EntryKey]) {
        let Some(afar) = self.afar().filter(|_| self.may_wait) else { return };
        let is_away = |id: &&EntryKey| {
            let is_known = || self.here().entry(id).is_ok_and(|entry| entry.is_some());
            !afar.elsewhere.is_here(&id.key) && !is_known()
        };
        at_once(ids.iter().filter(is_away), |id| {
            let _ = afar.capture(id, true);
        });
    }

    /// Where a reader of a key is sent, if readers are sent anywhere. May wait.
    pub(crate) fn address_of(self, key: &str) -> Option<PublicAddress> {
        self.afar_of(key).filter(|afar| afar.redirects)?.elsewhere.public_address(key)
    }

    /// Whether readers are sent to whoever holds what they ask for.
    pub(crate) fn redirects(self) -> bool {
        self.afar().is_some_and(|afar| afar.redirects)
    }
}

impl Holder for Archive<'_> {
    type Error = Trouble;

    fn versions_until(&self, key: &str, time: Timestamp) -> impl Iterator<Item = Result<Entry, Trouble>> {
        Archive::versions_until(*self, key, time)
    }

    fn versions_after(&self, key: &str, time: Timestamp) -> impl Iterator<Item = Result<Entry, Trouble>> {
        Archive::versions_after(*self, key, time)
    }

    fn read(&self, id: &EntryKey) -> Result<Option<Capture>, Trouble> {
        Archive::read(*self, id)
    }

    fn is_damage(error: &Trouble) -> bool {
        matches!(error, Trouble::Store(Error::Damaged(_)) | Trouble::Away(Away::False { .. }))
    }
}

/// Behind the versions of a key at a time, before those after it.
fn behind(key: &str, time: Timestamp) -> Vec<u8> {
    let mut end = EntryKey { key: key.to_owned(), time, tag: [0xff; 8] }.encode();
    end.push(0xff);
    end
}

/// Reads a large body once, so that nothing is written of one that is not what it should be.
fn read_through(blobs: &dyn Blobs, digest: &herodotus_base::Sha256) -> Result<(), Trouble> {
    let trouble = |error: std::io::Error| Trouble::from(error.downcast().unwrap_or_else(disk));
    let mut reader = blobs.open_blob_at(digest, 0).map_err(trouble)?;
    let mut buffer = vec![0; 256 * 1024];
    while reader.read(&mut buffer).map_err(trouble)? > 0 {}
    Ok(())
}

fn disk(source: std::io::Error) -> Error {
    Error::Disk { doing: "reading a large body".to_owned(), source }
}

/// Does something with each, a few at a time.
fn at_once<T: Sync>(each: impl Iterator<Item = T>, act: impl Fn(&T) + Sync) {
    let each: Vec<T> = each.take(AHEAD_MAX).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(one) = each.get(next.fetch_add(1, Ordering::Relaxed)) {
            act(one);
        }
    };
    std::thread::scope(|scope| {
        // This thread is one of them, so that all is done even where no other can be had.
        for _ in 1..AHEAD_THREADS.min(each.len()) {
            let _ = std::thread::Builder::new().name("ahead".into()).spawn_scoped(scope, work);
        }
        work();
    });
}
