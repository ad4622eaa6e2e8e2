//! Three machines in this process, asked as the node asks its peers: what they say is put together, checked, and cut into small
//! pages. They can fall silent, lie, and keep those who ask waiting.

use super::captures::is_here;
use herodotus_base::Sha256;
use herodotus_catalogue::{Catalogue, Found};
use herodotus_store::{Body, Capture, Entry, EntryKey, Store, Totals};
use herodotus_web::Elsewhere;
use herodotus_web::archive::{Away, Gathered, Page, PublicAddress};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Entries of one answer: few, so that everybody must come back.
const PAGE_MAX: usize = 5;

#[derive(Debug)]
pub(crate) struct Machines {
    machines: Vec<Machine>,
    /// Counts what nobody counts twice, and knows the titles that the holders of a URL know.
    whole: Store,
    titles: Catalogue,
    _titles_folder: tempfile::TempDir,
    /// Every entry, and the machines that have it.
    index: BTreeMap<Vec<u8>, (Entry, Vec<usize>)>,
    pub(crate) asked: AtomicUsize,
    /// Whoever speaks for the others looks at what they give.
    pub(crate) checks: AtomicBool,
    /// Whether anything is taken to be here.
    pub(crate) knows_here: AtomicBool,
    /// Whether everything is: a ring of no more machines than copies.
    pub(crate) has_all_here: AtomicBool,
    /// Large bodies come as far as this, and then nobody is left who would give the rest.
    pub(crate) blobs_break_at: AtomicU64,
    /// But so many are given whole before that.
    pub(crate) blobs_whole: AtomicUsize,
    /// So many are away that nobody says of a URL that there is nothing.
    pub(crate) is_unsure: AtomicBool,
    pub(crate) gate: Gate,
    pub(crate) address: Option<PublicAddress>,
}

#[derive(Debug)]
struct Machine {
    store: Store,
    catalogue: Catalogue,
    is_silent: AtomicBool,
    lie: AtomicUsize,
    _folder: tempfile::TempDir,
}

/// What a machine says that is not so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Other bytes, under the digests of the true ones.
    Bytes = 1,
    /// Other bytes, and their digests.
    Digests = 2,
    /// Another capture.
    Another = 3,
}

/// Lets nobody through before so many wait, and then only when it is opened.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<(usize, bool)>,
    is_shut: AtomicBool,
    changed: Condvar,
}

/// No test waits so long unless it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

impl Gate {
    pub(crate) fn shut(&self) {
        self.is_shut.store(true, Ordering::SeqCst);
    }

    fn pass(&self) {
        if !self.is_shut.load(Ordering::SeqCst) {
            return;
        }
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        let (state, late) = self.changed.wait_timeout_while(state, PATIENCE, |(_, is_open)| !*is_open).unwrap();
        assert!(!late.timed_out(), "{} waited at the gate, and nobody opened it", state.0);
    }

    /// Waits until so many stand before it.
    pub(crate) fn await_crowd(&self, wanted: usize) {
        let state = self.state.lock().unwrap();
        let (state, late) = self.changed.wait_timeout_while(state, PATIENCE, |(waiting, _)| *waiting < wanted).unwrap();
        assert!(!late.timed_out(), "only {} of {wanted} came", state.0);
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

impl Machines {
    pub(crate) fn new(count: usize, whole: &Store) -> Self {
        let machine = |_| {
            let folder = tempfile::tempdir().unwrap();
            let (store, _) = Store::open(folder.path()).unwrap();
            let catalogue = Catalogue::open(&folder.path().join("catalogue")).unwrap();
            Machine { store, catalogue, is_silent: AtomicBool::new(false), lie: AtomicUsize::new(0), _folder: folder }
        };
        let folder = tempfile::tempdir().unwrap();
        let titles = Catalogue::open(folder.path()).unwrap();
        titles.catch_up(whole, usize::MAX, &AtomicBool::new(false)).unwrap();
        Self {
            machines: (0..count).map(machine).collect(),
            whole: whole.clone(),
            titles,
            _titles_folder: folder,
            index: BTreeMap::new(),
            asked: AtomicUsize::new(0),
            checks: AtomicBool::new(true),
            knows_here: AtomicBool::new(true),
            has_all_here: AtomicBool::new(false),
            blobs_break_at: AtomicU64::new(u64::MAX),
            blobs_whole: AtomicUsize::new(0),
            is_unsure: AtomicBool::new(false),
            gate: Gate::default(),
            address: None,
        }
    }

    pub(crate) fn store(&self, machine: usize) -> &Store {
        &self.machines[machine].store
    }

    pub(crate) fn seal(&mut self) {
        for (n, Machine { store, catalogue, .. }) in self.machines.iter().enumerate() {
            store.seal().unwrap();
            catalogue.catch_up(store, usize::MAX, &AtomicBool::new(false)).unwrap();
            for entry in store.scan_all().map(|entry| entry.unwrap()) {
                self.index.entry(entry.id.encode()).or_insert((entry, Vec::new())).1.push(n);
            }
        }
    }

    /// Entries that somebody who answers has.
    fn told(&self, from: &[u8], to: &[u8]) -> impl DoubleEndedIterator<Item = &Entry> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let is_told = |machines: &[usize]| machines.iter().any(|n| !self.machines[*n].is_silent.load(Ordering::SeqCst));
        let range = self.index.range::<[u8], _>((Bound::Included(from), Bound::Excluded(to)));
        range.filter(move |(_, (_, machines))| is_told(machines)).map(|(_, (entry, _))| entry)
    }

    pub(crate) fn silence(&self, machine: usize, is_silent: bool) {
        self.machines[machine].is_silent.store(is_silent, Ordering::SeqCst);
    }

    pub(crate) fn tell_lies(&self, machine: usize, lie: Lie) {
        self.machines[machine].lie.store(lie as usize, Ordering::SeqCst);
    }

    fn ask(&self) -> impl Iterator<Item = &Machine> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.machines.iter().filter(|machine| !machine.is_silent.load(Ordering::SeqCst))
    }

    fn silent(&self) -> usize {
        self.machines.iter().filter(|machine| machine.is_silent.load(Ordering::SeqCst)).count()
    }

    fn gathered<T>(&self, value: T) -> Gathered<T> {
        Gathered { value, asked: self.machines.len() + 1, silent: self.silent() }
    }

    fn nobody(&self) -> Away {
        Away::Silent { asked: self.machines.len() }
    }

    /// Whether there is anything of a key, or it is certain that there is not. Not of other ranges.
    fn certainly(&self, from: &[u8], to: &[u8]) -> Result<(), Away> {
        let key = from.split(|byte| *byte == 0).next().unwrap_or_default();
        let is_key = from.contains(&0) && to.strip_prefix(key).is_some_and(|rest| rest.first() <= Some(&1));
        let has_any = || self.told(&[key, &[0]].concat(), &[key, &[1]].concat()).next().is_some();
        let is_unsure = self.is_unsure.load(Ordering::SeqCst) && is_key && !has_any();
        if is_unsure { Err(Away::Unsure) } else { Ok(()) }
    }

    fn somebody(&self) -> Result<(), Away> {
        if self.silent() == self.machines.len() { Err(self.nobody()) } else { Ok(()) }
    }
}

impl Machine {
    fn lie(&self) -> usize {
        self.lie.load(Ordering::SeqCst)
    }

    fn give(&self, id: &EntryKey) -> Option<Capture> {
        let mut capture = self.store.read(id).unwrap()?;
        if let Body::Bytes(bytes, digests) = &capture.main.body {
            let mut other = bytes.to_vec();
            other.push(b'!');
            capture.main.body = match self.lie() {
                lie if lie == Lie::Bytes as usize => Body::Bytes(other.into(), *digests),
                lie if lie == Lie::Digests as usize => Body::new(other),
                _ => capture.main.body,
            };
        }
        if self.lie() == Lie::Another as usize {
            capture.url.push('x');
        }
        Some(capture)
    }
}

/// As the node says it of a body of which nobody gives the rest.
struct BrokenOff(Away);

impl Read for BrokenOff {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other(self.0))
    }
}

/// As the node will look at what a peer gives, if it does.
fn is_true(capture: &Capture, id: &EntryKey) -> bool {
    let is_whole = match &capture.main.body {
        Body::Bytes(bytes, digests) => Body::new(bytes.clone()).digests() == *digests,
        Body::Blob { .. } => true,
    };
    capture.id() == *id && is_whole
}

impl Elsewhere for Machines {
    fn is_here(&self, key: &str) -> bool {
        self.has_all_here.load(Ordering::SeqCst) || self.knows_here.load(Ordering::SeqCst) && is_here(key)
    }

    fn is_range_here(&self, _: &[u8], _: &[u8]) -> bool {
        self.has_all_here.load(Ordering::SeqCst)
    }

    fn entries(&self, from: &[u8], to: &[u8], backwards: bool, max: usize) -> Result<Page, Away> {
        self.somebody()?;
        self.certainly(from, to)?;
        let (told, max) = (self.told(from, to).cloned(), max.min(PAGE_MAX));
        // One more, to see whether there is more.
        let mut entries: Vec<Entry> =
            if backwards { told.rev().take(max + 1).collect() } else { told.take(max + 1).collect() };
        let more = entries.len() > max;
        entries.truncate(max);
        Ok(Page { entries, more })
    }

    fn count(&self, key: &str) -> Result<u64, Away> {
        self.somebody()?;
        let (from, to) = (format!("{key}\0"), format!("{key}\u{1}"));
        self.certainly(from.as_bytes(), to.as_bytes())?;
        Ok(self.told(from.as_bytes(), to.as_bytes()).filter(|entry| entry.is_capture()).count() as u64)
    }

    fn capture(&self, id: &EntryKey) -> Result<Option<Capture>, Away> {
        self.gate.pass();
        self.somebody()?;
        let given: Vec<Capture> = self.ask().filter_map(|machine| machine.give(id)).collect();
        let is_empty = given.is_empty();
        let checks = self.checks.load(Ordering::SeqCst);
        let asked = given.len();
        match given.into_iter().find(|capture| !checks || is_true(capture, id)) {
            Some(capture) => Ok(Some(capture)),
            None if is_empty && self.silent() > 0 => Err(self.nobody()),
            None if is_empty => Ok(None),
            None => Err(Away::False { asked }),
        }
    }

    fn blob(&self, _: &EntryKey, digest: &Sha256, offset: u64) -> Result<Box<dyn Read + Send>, Away> {
        self.somebody()?;
        for machine in self.ask() {
            if let Ok(reader) = machine.store.open_blob_at(digest, offset) {
                let fewer = |whole: usize| whole.checked_sub(1);
                let left = match self.blobs_whole.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer) {
                    Ok(_) => u64::MAX,
                    Err(_) => self.blobs_break_at.load(Ordering::SeqCst).saturating_sub(offset),
                };
                return Ok(match (machine.lie(), left) {
                    (0, left) if left < reader.len => Box::new(reader.take(left).chain(BrokenOff(self.nobody()))),
                    (0, _) => Box::new(reader),
                    _ => Box::new(reader.chain(&b"!"[..])),
                });
            }
        }
        Err(self.nobody())
    }

    fn totals(&self) -> Gathered<Totals> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.gathered(self.whole.totals().unwrap())
    }

    fn recent(&self, max: usize) -> Gathered<Vec<Entry>> {
        self.gathered(self.ask().flat_map(|machine| machine.store.recent(max).unwrap()).collect())
    }

    fn search(&self, words: &str, max: usize) -> Gathered<Vec<Found>> {
        let found = |machine: &Machine| machine.catalogue.search(&machine.store, words, max).unwrap();
        self.gathered(self.ask().flat_map(found).collect())
    }

    fn titles(&self, keys: &[&str]) -> Vec<Option<String>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        keys.iter().map(|key| self.titles.title_of(&self.whole, key).unwrap()).collect()
    }

    fn public_address(&self, _: &str) -> Option<PublicAddress> {
        self.address.clone()
    }
}
