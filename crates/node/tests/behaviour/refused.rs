//! A machine of a ring whose disk is full: what it refuses holds up nothing else, is not acknowledged, and goes when there is room. Real connections on the loop, the full disk simulated.

use crate::machines::{Machine, start, start_on, write_pages};
use herodotus_node::copies::{Copies, CopiesSettings};
use herodotus_node::ring::RingNode;
use herodotus_store::archive::{ImportOptions, import};
use herodotus_store::disk::sim::SimDisk;
use herodotus_store::index::MemoryEngine;
use herodotus_store::{FeedCursor, Store, key_of};
use herodotus_web::Elsewhere;
use herodotus_web::peers::Peers;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

const WAIT_MAX: Duration = Duration::from_secs(60);
/// As many as are handed on in one go: what is taken in behind them is in another.
const BATCH: usize = 1000;

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < WAIT_MAX, "not within {WAIT_MAX:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Nothing is brought by anything but handing on.
fn settings() -> CopiesSettings {
    let mut settings = CopiesSettings { split_at: 0, ..CopiesSettings::default().at_pace(0.01) };
    settings.custody.survey_every = Duration::from_secs(60 * 60);
    settings.custody.compare_every = Duration::from_secs(60 * 60);
    settings
}

/// One more machine, on a disk that can be told to be full.
async fn start_on_sim(data: PathBuf, number: u8, first: &RingNode, copies: u16) -> (Machine, RingNode, SimDisk) {
    let disk = SimDisk::new();
    let on = disk.clone();
    let open = |_: &std::path::Path| Store::open_simulated(Arc::new(on), Arc::new(MemoryEngine::new())).unwrap().0;
    let (machine, ring) = start_on(data, number, Some(first), copies, settings(), open).await;
    (machine, ring, disk)
}

/// Takes pages in that nothing else is like, and does not wait for anybody.
fn take_in(machine: &Machine, host: &str, pages: usize) {
    let path = machine.data.join(format!("{host}.warc"));
    write_pages(&path, host, 0..pages, 0, |page| format!("page {page} of {host}"));
    import(&machine.store, &path, &ImportOptions::default(), |_| {}).unwrap();
    machine.store.commit().unwrap();
}

fn begin_to_wait(runtime: &tokio::runtime::Runtime, copies: &Copies) -> JoinHandle<()> {
    let copies = copies.clone();
    runtime.spawn(async move { copies.handed_on().await.unwrap() })
}

/// Captures behind the place in the feed that the machine would go on from if it was started again.
fn left_after_a_restart(machine: &Machine, host: &str) -> usize {
    let noted = std::fs::read(machine.data.join("ring/followed")).ok().and_then(|bytes| FeedCursor::decode(&bytes));
    let (entries, _) = machine.store.feed(noted, 10 * BATCH).unwrap();
    entries.iter().filter(|entry| entry.url.contains(host)).count()
}

#[test]
fn what_a_full_disk_refuses_holds_up_nothing_else_and_is_acknowledged_when_there_is_room() {
    const BEHIND: usize = 7;
    let (dir, runtime) = (tempfile::tempdir().unwrap(), runtime());
    let (taker, ring) = runtime.block_on(start(dir.path().join("taker"), 141, None, 1, settings()));
    let (full, _ring, disk) = runtime.block_on(start_on_sim(dir.path().join("full"), 142, &ring, 1));
    let (well, _ring) = runtime.block_on(start(dir.path().join("well"), 143, Some(&ring), 1, settings()));
    let host_of = |owner: &Machine| {
        let (mut n, mut host) = (0, String::new());
        until("each has places of its own", || {
            n += 1;
            host = format!("host-{n}.example");
            let key = key_of(&format!("http://{host}/"));
            [&taker, &full, &well].iter().all(|one| one.copies.is_here(&key) == (one.data == owner.data))
        });
        host
    };
    // The last that came first: until it counts, what will be its own may be another's.
    let (behind, refused) = (host_of(&well), host_of(&full));
    disk.set_free_bytes(Some(0));
    take_in(&taker, &refused, BATCH);
    take_in(&taker, &behind, BEHIND);
    let acknowledged = begin_to_wait(&runtime, &taker.copies);
    until("what is behind it has come", || well.names().len() == BEHIND);
    assert!(!acknowledged.is_finished(), "some of it is on one disk");
    assert_eq!(full.names().len(), 0);
    assert_eq!(left_after_a_restart(&taker, &refused), BATCH, "a restart would forget that it is not handed on");
    until("all of it is set aside", || taker.copies.set_aside() == BATCH);
    until("its health says so", || taker.copies.health().is_some_and(|view| view.set_aside == BATCH as u64));
    disk.set_free_bytes(None);
    runtime.block_on(async { tokio::time::timeout(WAIT_MAX, acknowledged).await }).expect("it goes").unwrap();
    assert_eq!(full.names().len(), BATCH);
    until("the place in the feed is noted", || left_after_a_restart(&taker, &refused) == 0);
    assert_eq!(taker.copies.set_aside(), 0);
}

#[test]
fn what_the_one_that_is_to_hold_it_refuses_is_made_durable_with_one_that_follows() {
    const PAGES: usize = 5;
    let (dir, runtime) = (tempfile::tempdir().unwrap(), runtime());
    let (first, ring) = runtime.block_on(start(dir.path().join("first"), 144, None, 2, settings()));
    let (full, _ring, disk) = runtime.block_on(start_on_sim(dir.path().join("full"), 145, &ring, 2));
    let (third, _ring) = runtime.block_on(start(dir.path().join("third"), 146, Some(&ring), 2, settings()));
    let name = |machine: &Machine| machine.copies.view().machine;
    let keepers = |machine: &Machine, host: &str| -> Vec<String> {
        let found = runtime.block_on(machine.copies.find(&format!("http://{host}/")));
        found.map(|found| found.replicas.into_iter().map(|keeper| keeper.machine).collect()).unwrap_or_default()
    };
    // Of one of the other two, the full one is the only one that is to hold its copies.
    let (mut n, mut found) = (0, None);
    until("the ring is whole, and somebody is followed by the full one", || {
        n += 1;
        let host = format!("host-{n}.example");
        let told = [&first, &full, &third].map(|machine| keepers(machine, &host));
        let owner = [&first, &third].into_iter().find(|owner| told[0] == [name(owner), name(&full)]);
        found = owner
            .filter(|owner| {
                told.iter().all(|some| *some == told[0]) && owner.copies.is_here(&key_of(&format!("http://{host}/")))
            })
            .map(|owner| (owner, host));
        found.is_some()
    });
    let (owner, host) = found.unwrap();
    let other = if owner.data == first.data { &third } else { &first };
    disk.set_free_bytes(Some(0));
    take_in(owner, &host, PAGES);
    let acknowledged = begin_to_wait(&runtime, &owner.copies);
    runtime.block_on(async { tokio::time::timeout(WAIT_MAX, acknowledged).await }).expect("it goes on").unwrap();
    assert_eq!((full.names().len(), other.names().len()), (0, PAGES), "it is acknowledged, and on two disks");
}
