//! A host that is split again and again while machines write and read it, with nothing in between that remembers answers: none lacks what was
//! acknowledged. Real connections on the loop, six machines in one process; processes of their own and deaths are in `crates/cli/tests/cluster`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::machines;

use herodotus_node::copies::CopiesSettings;
use herodotus_node::ring::RingNode;
use herodotus_store::EntryKey;
use herodotus_store::archive::{ImportOptions, import};
use herodotus_web::Elsewhere;
use machines::{Machine, write_pages};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A copy that is not its owner's may be a moment behind (docs/PROMISES.md): on a machine with much else to do, a few seconds.
const SEEN_AFTER: Duration = Duration::from_secs(4);
/// A little longer than what a first place said is believed.
const HEARD_FOR: Duration = Duration::from_secs(11);
const WAIT_MAX: Duration = Duration::from_secs(120);
const COPIES: u16 = 3;
const HOST: &str = "grows.example";
const BUCKET: &str = "example,grows";

/// One more machine: with a ticket of the first, or the first.
async fn start(data: PathBuf, number: usize, first: Option<&RingNode>) -> (Machine, RingNode) {
    let settings = CopiesSettings { split_at: 8, ..CopiesSettings::default().at_pace(0.01) };
    machines::start(data, u8::try_from(101 + number).unwrap(), first, COPIES, settings).await
}

impl Machine {
    /// Takes pages in, and gives what is new when it is acknowledged.
    fn write(&self, runtime: &tokio::runtime::Handle, pages: Range<usize>, version: usize) -> BTreeSet<EntryKey> {
        let path = self.data.join(format!("{}-{version}.warc", pages.start));
        let wanted: BTreeSet<String> =
            pages.clone().map(|page| herodotus_store::key_of(&format!("http://{HOST}/{page}"))).collect();
        write_pages(&path, HOST, pages, version, |page| format!("version {version} of {page}"));
        import(&self.store, &path, &ImportOptions::default(), |_| {}).unwrap();
        let day = 1_704_067_200_000 + version as i64 * 86_400_000;
        let is_new = |id: &EntryKey| wanted.contains(&id.key) && (day..day + 86_400_000).contains(&id.time.millis());
        let new: BTreeSet<EntryKey> = self.names().into_iter().filter(is_new).collect();
        assert_eq!(new.len(), wanted.len());
        runtime.block_on(self.copies.handed_on()).unwrap();
        new
    }

    /// What a page shows of a range: what is here and, unless that is all, what the others say. Nothing: "try again".
    fn read(&self, from: &str, to: &str, is_here: bool) -> Option<BTreeSet<EntryKey>> {
        let mut seen = BTreeSet::new();
        let mut at = from.as_bytes().to_vec();
        loop {
            if is_here {
                break;
            }
            let page = self.copies.entries(&at, to.as_bytes(), false, 2048).ok()?;
            seen.extend(page.entries.iter().map(|entry| entry.id.clone()));
            let Some(last) = page.entries.last().filter(|_| page.more) else { break };
            at = last.id.encode();
            at.push(0);
        }
        let here = self.store.scan_names(from.as_bytes().to_vec(), to.as_bytes().to_vec(), false);
        seen.extend(here.map(|entry| entry.unwrap().id));
        Some(seen)
    }

    fn read_key(&self, key: &str) -> Option<BTreeSet<EntryKey>> {
        self.read(&format!("{key}\0"), &format!("{key}\u{1}"), self.copies.is_here(key))
    }

    fn read_host(&self) -> Option<BTreeSet<EntryKey>> {
        let (from, to) = (format!("{BUCKET})/"), format!("{BUCKET})0"));
        let is_here = self.copies.is_range_here(from.as_bytes(), to.as_bytes());
        self.read(&from, &to, is_here)
    }
}

/// What was acknowledged, and when.
#[derive(Default)]
struct Acknowledged(Mutex<Vec<(Instant, EntryKey)>>);

impl Acknowledged {
    fn add(&self, ids: BTreeSet<EntryKey>) {
        let now = Instant::now();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(ids.into_iter().map(|id| (now, id)));
    }

    fn seen_by_all(&self) -> Vec<EntryKey> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter(|(since, _)| since.elapsed() > SEEN_AFTER).map(|(_, id)| id.clone()).collect()
    }
}

/// Reads until it is over; gives how often, or what was missing.
fn read_on(machine: &Machine, number: usize, known: &Acknowledged, is_over: &AtomicBool) -> Result<usize, String> {
    let (mut read, mut at) = (0, number * 7);
    while !is_over.load(Relaxed) {
        let wanted = known.seen_by_all();
        if wanted.is_empty() {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        }
        at += 1;
        let of_key = &wanted[at * 31 % wanted.len()].key;
        let (found, wanted) = match at % 6 {
            0 => (machine.read_host(), wanted.iter().collect::<Vec<_>>()),
            _ => (machine.read_key(of_key), wanted.iter().filter(|id| id.key == *of_key).collect()),
        };
        let Some(found) = found else { continue };
        if let Some(missing) = wanted.iter().find(|id| !found.contains(id)) {
            let parts = machine.store.parts(BUCKET).unwrap();
            let here = machine.copies.is_here(&missing.key);
            return Err(format!(
                "machine {number}, which knows of {parts} parts, lacks {missing:?} (here: {here}, question {})",
                at % 6
            ));
        }
        read += 1;
    }
    Ok(read)
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < WAIT_MAX, "{what}: not within {WAIT_MAX:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn no_answer_lacks_what_was_acknowledged_while_a_host_is_split() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (mut machines, mut first) = (Vec::new(), None);
    for number in 0..6 {
        let data = folder.path().join(format!("m{number}"));
        let (machine, ring) = runtime.block_on(start(data, number, first.as_ref()));
        machines.push(machine);
        first.get_or_insert(ring);
    }
    let (known, is_over, answers) = (Acknowledged::default(), AtomicBool::new(false), AtomicUsize::new(0));
    let parts = || machines.iter().map(|machine| machine.store.parts(BUCKET).unwrap()).max().unwrap_or(1);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..machines.len())
            .map(|number| {
                let (machine, known, is_over) = (&machines[number], &known, &is_over);
                scope.spawn(move || read_on(machine, number, known, is_over))
            })
            .collect();
        // Too few to be split, and seen by everybody. Then so many more each time that it must be split again, while versions of the first come.
        let mut version = 0;
        let mut pages = 0;
        for upto in [7, 16, 32, 64, 100] {
            let writer = &machines[version % machines.len()];
            known.add(writer.write(runtime.handle(), pages..upto, version));
            pages = upto;
            version += 1;
            known.add(writer.write(runtime.handle(), 0..7, version));
            if upto > 7 {
                wait_until("split", || parts() as usize >= upto / 16);
            }
            // Everything is old enough that nobody may miss it when it moves the next time.
            std::thread::sleep(SEEN_AFTER);
        }
        is_over.store(true, Relaxed);
        let found: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        let missing: Vec<_> = found.iter().filter_map(|found| found.as_ref().err()).collect();
        assert!(missing.is_empty(), "{missing:#?}");
        answers.fetch_add(found.into_iter().flatten().sum(), Relaxed);
    });
    assert!(parts() >= 8, "{} parts", parts());
    let all: BTreeSet<EntryKey> = machines.iter().flat_map(Machine::names).collect();
    assert_eq!(all.len(), 100 + 5 * 7);
    println!("{} answers, {} parts", answers.load(Relaxed), parts());
    let held = || machines.iter().map(|machine| machine.names().len()).sum::<usize>();
    wait_until("every capture on three machines and no other", || held() == all.len() * usize::from(COPIES));
    wait_until("all from every machine", || machines.iter().all(|machine| machine.read_host().as_ref() == Some(&all)));
    the_ignorant_are_told(&machines, &all, runtime.handle());
    runtime.shutdown_background();
}

/// Machines that do not know of the split, and hold nothing at the host's first place: what they read is whole all the same, and what they write is where
/// everybody looks for it when it is acknowledged.
fn the_ignorant_are_told(machines: &[Machine], all: &BTreeSet<EntryKey>, runtime: &tokio::runtime::Handle) {
    // What was heard lately is forgotten by itself, what was noted is not.
    std::thread::sleep(HEARD_FOR);
    let (from, to) = (format!("{BUCKET})/"), format!("{BUCKET})0"));
    let forgets = |machine: &&Machine| {
        let parts = machine.store.parts(BUCKET).unwrap();
        machine.store.set_parts(BUCKET, 1).unwrap();
        let is_first_here = machine.copies.is_range_here(from.as_bytes(), to.as_bytes());
        if is_first_here {
            machine.store.set_parts(BUCKET, parts).unwrap();
        }
        !is_first_here
    };
    let ignorant: Vec<&Machine> = machines.iter().filter(forgets).collect();
    let [readers @ .., writer] = &ignorant[..] else { panic!("three machines hold the first place, and three do not") };
    // One of them may hold just what the owner of the first place does not.
    assert!(readers.len() >= 2, "{} do not hold the first place", ignorant.len());
    for reader in readers {
        let answer = (0..50).find_map(|_| reader.read_host()).unwrap();
        assert_eq!(answer, *all, "who knows nothing is told");
    }
    let new = writer.write(runtime, 100..130, 9);
    // Also what turns out to be the writer's own, now that it is told.
    let disks: Vec<BTreeSet<EntryKey>> = machines.iter().map(Machine::names).collect();
    let alone: Vec<&EntryKey> =
        new.iter().filter(|id| disks.iter().filter(|disk| disk.contains(id)).count() < 2).collect();
    assert!(alone.is_empty(), "acknowledged, and on one disk only: {alone:?}");
    for (number, machine) in machines.iter().enumerate() {
        for id in &new {
            let answer = (0..50).find_map(|_| machine.read_key(&id.key)).unwrap();
            assert!(answer.contains(id), "machine {number} does not see {id:?}, which was acknowledged");
        }
    }
}
