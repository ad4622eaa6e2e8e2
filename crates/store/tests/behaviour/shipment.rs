//! Captures travelling as they lie in packs: they arrive byte for byte, whatever the receiver has already, and an adopted block is to everything
//! that reads the packs one that was sealed there. `src/parcel/shipment/tests.rs` has the forgers who know the format.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::fixtures;
use crate::support;

use fixtures::{assert_same, everything, ids_of, large, open, open_on, put_blob, send, store_with};
use herodotus_ring::placement::Placement;
use herodotus_store::disk::{Disk, DiskFile, sim::SimDisk};
use herodotus_store::index::MemoryEngine;
use herodotus_store::limits::RESERVE_BYTES;
use herodotus_store::parcel::limits::PARCEL_BYTES;
use herodotus_store::parcel::shipment::limits::SHIPMENT_BYTES_MAX;
use herodotus_store::parcel::shipment::shipment_names;
use herodotus_store::{Appended, Capture, EntryKey, Error, Outcome, RecordId, Store, Taken};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use support::{check_places, contents, noise, page, picture, with_body};

/// Pages of some hosts, of which every third has versions, with bodies that are repeated here and there, pictures, and coded pages.
fn sites() -> Vec<Capture> {
    let mut out = everything();
    for host in 0..4 {
        for n in 0..40 {
            let url = format!("https://host-{host}.example/{n}");
            out.push(page(&url, n, n as u32));
            if n % 3 == 0 {
                out.extend((1..20).map(|v| page(&url, n + v * 100, (n + v / 2) as u32)));
            }
        }
        out.push(with_body(&format!("https://host-{host}.example/same"), 7, "text/html", noise(1, 2000)));
        out.push(picture(&format!("https://host-{host}.example/logo.png"), 7, 1));
        out.push(picture(&format!("https://host-{host}.example/logo.png"), 8, host + 50));
        // Text that is coded in no way that we know has a block of its own, too, and nobody tells by its media type.
        out.push(with_body(
            &format!("https://host-{host}.example/c"),
            9,
            "text/html\r\nContent-Encoding: x",
            noise(host, 3000),
        ));
    }
    out
}

fn sealed(captures: &[Capture]) -> Store {
    let store = store_with(captures);
    store.seal().unwrap();
    store
}

/// What it took.
#[derive(Debug, Default)]
struct Trip {
    shipments: usize,
    bytes: usize,
    outcomes: BTreeMap<EntryKey, Outcome>,
    left: Vec<EntryKey>,
}

/// Ships captures as a replica would, and sends the rest in parcels.
fn ship(from: &Store, to: &Store, ids: &[EntryKey], block_bytes_min: usize) -> Trip {
    let mut ids = ids.to_vec();
    ids.sort();
    let mut shipper = from.shipper(ids, block_bytes_min).unwrap();
    let mut trip = Trip::default();
    let mut lacking = Vec::new();
    while let Some(shipment) = shipper.next_shipment().unwrap() {
        assert!(shipment.len() <= SHIPMENT_BYTES_MAX);
        trip.shipments += 1;
        trip.bytes += shipment.len();
        let taken = to.take_shipment(&shipment).unwrap();
        assert_eq!(
            shipment_names(&shipment).unwrap(),
            taken.entries.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>()
        );
        for (id, outcome) in taken.entries {
            assert!(!matches!(outcome, Outcome::Refused(_) | Outcome::LacksBlob), "{id:?}: {outcome:?}");
            if outcome == Outcome::LacksBase {
                lacking.push(id.clone());
            }
            trip.outcomes.insert(id, outcome);
        }
    }
    trip.left = shipper.left();
    lacking.extend(trip.left.iter().cloned());
    lacking.sort();
    send(from, to, &lacking, |id| !lacking.contains(id));
    trip
}

fn pack_bytes(disk: &SimDisk) -> Vec<u8> {
    let mut all = Vec::new();
    for (name, len) in disk.list("packs").unwrap() {
        let mut bytes = vec![0; len as usize];
        disk.open(&format!("packs/{name}")).unwrap().read_exact_at(&mut bytes, 0).unwrap();
        all.extend(bytes);
    }
    all
}

#[test]
fn what_is_removed_while_shipments_are_made_does_not_travel() {
    let from = sealed(&sites());
    let ids: Vec<EntryKey> = from.scan_all().map(|e| e.unwrap().id).collect();
    let removed = ids_of(&[page("https://host-2.example/1", 1, 1)])[0].clone();
    let mut shipper = from.shipper(ids, 0).unwrap();
    from.remove(&removed).unwrap();
    let to = open();
    while let Some(shipment) = shipper.next_shipment().unwrap() {
        assert!(!shipment_names(&shipment).unwrap().contains(&removed));
        to.take_shipment(&shipment).unwrap();
    }
    assert!(to.entry(&removed).unwrap().is_none());
    assert!(shipper.left().contains(&removed), "whoever makes a parcel tells that it was removed");
}

#[test]
fn everything_arrives_as_it_lay_and_is_as_if_it_was_sealed_here() {
    let from = sealed(&sites());
    let film = large("https://example.org/film", 1, put_blob(&from, &noise(3, 2_500_000)));
    from.append(film).unwrap();
    from.seal().unwrap();
    let ids: Vec<EntryKey> = from.scan_all().map(|e| e.unwrap().id).collect();
    let disk = SimDisk::new();
    let to = open_on(&disk);
    to.set_placement(Placement::ByHost).unwrap();
    from.set_placement(Placement::ByHost).unwrap();
    let trip = ship(&from, &to, &ids, 0);
    let stored = trip.outcomes.values().filter(|outcome| **outcome == Outcome::Stored).count();
    println!("{} captures: {stored} shipped in {} bytes, {} left", ids.len(), trip.bytes, trip.left.len());
    assert!(stored * 10 > ids.len() * 8, "{stored} of {}", ids.len());
    assert_same(&from, &to);
    to.seal().unwrap();
    assert_same(&from, &to);
    // All that is told of them is the same, but for where they lie.
    assert_eq!(from.totals().unwrap(), to.totals().unwrap());
    for entry in from.scan_all() {
        let there = entry.unwrap();
        let here = to.entry(&there.id).unwrap().unwrap();
        assert_eq!(here.encode_told(), there.encode_told(), "{:?}", there.id);
    }
    let present = contents(&to).into_keys().collect();
    check_places(&to, &present, &Default::default(), "shipped");
    assert_eq!(to.feed(None, 10_000).unwrap().0.len(), ids.len());
    assert_eq!(to.recent(50).unwrap().len(), 50);
    assert!(to.verify(|_, _| {}).unwrap().damaged.is_empty());
    assert_eq!(to.scrub(None, u64::MAX).unwrap(), (Vec::new(), None));
    // An index that was lost is made again from the directories.
    let (again, recovery) = Store::open_simulated(Arc::new(disk.clone()), Arc::new(MemoryEngine::new())).unwrap();
    assert!(recovery.damaged.is_empty() && recovery.cut.is_empty(), "{recovery:?}");
    assert_same(&from, &again);
    assert_eq!(again.totals().unwrap(), from.totals().unwrap());
    drop(again);
    // Shipped on from there, too.
    let third = open();
    ship(&to, &third, &ids, 0);
    assert_same(&from, &third);
    // And all of it is moved, byte for byte.
    to.compact(true, |_, _| {}).unwrap();
    assert_same(&from, &to);
    assert_eq!(from.totals().unwrap(), to.totals().unwrap());
    let fourth = open();
    ship(&to, &fourth, &ids, 0);
    assert_same(&from, &fourth);
}

#[test]
fn a_block_lies_with_the_receiver_as_it_lay_and_no_journal_is_written() {
    let pages: Vec<Capture> = (0..80).map(|n| page(&format!("https://example.org/{n}"), n, n as u32)).collect();
    let (there, here) = (SimDisk::new(), SimDisk::new());
    let from = open_on(&there);
    pages.iter().for_each(|page| _ = from.append(page.clone()).unwrap());
    from.seal().unwrap();
    let to = open_on(&here);
    let trip = ship(&from, &to, &ids_of(&pages), 0);
    assert!(trip.left.is_empty() && trip.shipments == 1, "{trip:?}");
    assert!(here.list("journal").unwrap().is_empty());
    // File header and block header, then the payload.
    let (theirs, ours) = (pack_bytes(&there), pack_bytes(&here));
    let len = u32::from_le_bytes(theirs[24..28].try_into().unwrap()) as usize;
    assert!(len > 2000 && theirs[16..32 + len] == ours[16..32 + len]);
    // Durable without a commit.
    let image = here.crash_image(here.steps(), herodotus_store::disk::sim::Luck::Worst);
    let (again, _) = Store::open_simulated(Arc::new(image), Arc::new(MemoryEngine::new())).unwrap();
    assert_same(&from, &again);
}

#[test]
fn whatever_the_receiver_has_everything_arrives_and_what_was_removed_stays_so() {
    let all = sites();
    let from = sealed(&all);
    for seed in 0..8u64 {
        let draws = noise(seed, all.len());
        let to = open();
        let (mut removed, mut released) = (Vec::new(), Vec::new());
        for (capture, draw) in all.iter().zip(&draws) {
            // More and more of it.
            if u64::from(*draw) >= seed * seed * 4 {
                continue;
            }
            match draw % 5 {
                0 => removed.push(capture.id()),
                1 => released.push(capture.id()),
                _ => {}
            }
            to.append(capture.clone()).unwrap();
        }
        if seed % 2 == 0 {
            to.seal().unwrap();
        }
        removed.iter().for_each(|id| to.remove(id).unwrap());
        to.release(&released).unwrap();
        if seed % 3 == 0 {
            to.seal().unwrap();
        }
        let trip = ship(&from, &to, &ids_of(&all), 0);
        let mut expected = contents(&from);
        for id in &removed {
            assert!(matches!(trip.outcomes.get(id), None | Some(Outcome::Removed | Outcome::LacksBase)));
            expected.remove(&id.encode());
        }
        for step in ["as it came", "sealed", "compacted"] {
            assert!(contents(&to) == expected, "{seed}, {step}");
            match step {
                "as it came" => to.seal().unwrap(),
                _ => _ = to.compact(true, |_, _| {}).unwrap(),
            }
            assert!(to.verify(|_, _| {}).unwrap().damaged.is_empty(), "{seed}, {step}");
        }
        // What leaned on what is let go now stays whole.
        let some: Vec<EntryKey> = expected.keys().step_by(3).map(|key| EntryKey::decode(key).unwrap()).collect();
        to.release(&some).unwrap();
        to.compact(false, |_, _| {}).unwrap();
        some.iter().for_each(|id| _ = expected.remove(&id.encode()));
        assert!(contents(&to) == expected, "{seed}");
    }
}

#[test]
fn only_blocks_of_which_all_is_wanted_travel_and_what_was_removed_never_does() {
    let pages: Vec<Capture> = (0..80).map(|n| page(&format!("https://example.org/{n}"), n, n as u32)).collect();
    let from = sealed(&pages);
    let to = open();
    let some = ids_of(&pages[..79]);
    let trip = ship(&from, &to, &some, 0);
    assert!(trip.left.len() > 1 && contents(&to).len() == 79, "{trip:?}");
    from.remove(&pages[3].id()).unwrap();
    from.seal().unwrap();
    let to = open();
    let trip = ship(&from, &to, &ids_of(&pages[..3]).into_iter().chain(ids_of(&pages[4..])).collect::<Vec<_>>(), 0);
    assert!(trip.left.len() > 1 && contents(&to).len() == 79, "{trip:?}");
    assert!(to.read(&pages[3].id()).unwrap().is_none());
}

#[test]
fn differences_go_to_one_who_has_what_they_are_to_and_only_in_the_form_that_is_meant() {
    let versions: Vec<Capture> = (0..40).map(|v| page("https://example.org/", i64::from(v) * 60, v)).collect();
    let from = sealed(&versions);
    // The same form: both wrote the first whole.
    let to = sealed(&versions[..1]);
    let trip = ship(&from, &to, &ids_of(&versions[1..]), 0);
    assert!(trip.outcomes.values().filter(|outcome| **outcome == Outcome::Stored).count() >= 15, "{trip:?}");
    assert_same(&from, &to);
    // Another: here its body lies with another capture.
    let mirror = page("https://example.org/", 0, 0);
    let herodotus_store::Body::Bytes(bytes, _) = &mirror.main.body else { panic!() };
    let other = with_body("https://a.example/", 1, "text/html", bytes.to_vec());
    let to = sealed(std::slice::from_ref(&other));
    to.append(versions[0].clone()).unwrap();
    to.seal().unwrap();
    let trip = ship(&from, &to, &ids_of(&versions[1..16]), 0);
    assert!(trip.outcomes.values().all(|outcome| *outcome == Outcome::LacksBase), "{trip:?}");
    assert_eq!(contents(&to).len(), 17);
    // Not here at all.
    let to = open();
    let trip = ship(&from, &to, &ids_of(&versions[1..16]), 0);
    assert!(trip.outcomes.values().all(|outcome| *outcome == Outcome::LacksBase), "{trip:?}");
    assert_eq!(contents(&to).len(), 15);
}

#[test]
fn versions_sealed_one_by_one_arrive_and_chains_stay_as_long_as_they_are() {
    let versions: Vec<Capture> = (0..50).map(|v| page("https://example.org/", i64::from(v) * 60, v)).collect();
    let from = open();
    for version in &versions {
        from.append(version.clone()).unwrap();
        from.seal().unwrap();
    }
    let to = open();
    let trip = ship(&from, &to, &ids_of(&versions), 0);
    assert!(trip.left.is_empty() && trip.outcomes.values().all(|outcome| *outcome == Outcome::Stored), "{trip:?}");
    assert_same(&from, &to);
    for version in &versions {
        let depth = |store: &Store| store.entry(&version.id()).unwrap().unwrap().depth;
        assert_eq!(depth(&from), depth(&to));
    }
    // And go on.
    let next = page("https://example.org/", 5000, 7);
    to.append(next.clone()).unwrap();
    to.seal().unwrap();
    assert_eq!(to.read(&next.id()).unwrap(), Some(next));
}

#[test]
fn two_who_ship_the_same_at_once_harm_nobody() {
    let all = sites();
    let from = sealed(&all);
    let to = open();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| ship(&from, &to, &ids_of(&all), 0));
        }
        scope.spawn(|| all.iter().step_by(7).for_each(|capture| _ = to.append(capture.clone()).unwrap()));
        scope.spawn(|| (0..5).for_each(|_| to.seal().unwrap()));
    });
    assert_same(&from, &to);
    to.seal().unwrap();
    assert_same(&from, &to);
    assert_eq!(to.totals().unwrap().captures, from.totals().unwrap().captures);
    assert!(to.verify(|_, _| {}).unwrap().damaged.is_empty());
}

/// A patch to an item that was written anew with other bytes comes out with another head, under a name that says nothing of it: whoever puts it on the new
/// item finds nothing wrong.
#[test]
fn a_patch_to_what_was_mended_since_is_left_for_a_parcel_at_once() {
    const PACK: &str = "packs/00000001.pack";
    let (disk, engine) = (SimDisk::new(), MemoryEngine::new());
    let open_again = || Store::open_simulated(Arc::new(disk.clone()), Arc::new(engine.clone())).unwrap().0;
    let named = |n: u8, note: &str| {
        let mut capture = page("https://example.org/", i64::from(n), u32::from(n));
        capture.main.id = RecordId::Uuid([n; 16]);
        capture.main.head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Note: {note}\r\n\r\n").into_bytes();
        capture
    };
    let (first, second, third) = (named(1, "aaaa"), named(2, "aaaa"), named(3, "aaaa"));
    let twin = named(1, "bbbb");
    assert_eq!(first.id(), twin.id());
    let from = open_again();
    for capture in [&first, &second, &third] {
        from.append(capture.clone()).unwrap();
        from.seal().unwrap();
    }
    assert_eq!(from.entry(&third.id()).unwrap().unwrap().depth, 2);
    disk.flip_bit(PACK, 100, 1);
    drop(from);
    let from = open_again();
    assert!(from.mend(twin.clone()).unwrap());
    let to = open();
    let leaning = [second.id(), third.id()];
    // With what it was made to, and to one who has that already.
    for ids in [vec![first.id(), second.id(), third.id()], leaning.to_vec()] {
        let mut shipper = from.shipper(ids, 0).unwrap();
        while let Some(shipment) = shipper.next_shipment().unwrap() {
            let taken = to.take_shipment(&shipment).unwrap();
            assert_eq!(taken.entries, [(twin.id(), Outcome::Stored)]);
        }
        assert_eq!(shipper.left(), leaning);
    }
    assert_eq!(to.read(&first.id()).unwrap().as_ref(), Some(&twin));
    // Whoever makes a parcel of them finds that they cannot be read.
    let (parcel, covered) = from.parcel(&leaning, |_| true, PARCEL_BYTES).unwrap();
    let unreadable: Vec<EntryKey> = parcel.unreadable.into_iter().map(|(id, _)| id).collect();
    assert_eq!((covered, parcel.entries, &unreadable[..]), (2, 0, &leaning[..]));
    // Mended, they go.
    for capture in [&second, &third] {
        assert!(from.mend(capture.clone()).unwrap());
    }
    ship(&from, &to, &leaning, 0);
    for capture in [&twin, &second, &third] {
        assert_eq!(to.read(&capture.id()).unwrap().as_ref(), Some(capture));
    }
}

/// The shipments of these captures, for one who lacks just them.
fn shipments(from: &Store, captures: &[Capture]) -> Vec<Vec<u8>> {
    let mut shipper = from.shipper(ids_of(captures), 0).unwrap();
    std::iter::from_fn(|| shipper.next_shipment().unwrap()).collect()
}

#[test]
fn what_is_proved_before_its_turn_leans_on_what_came_before_it() {
    let versions: Vec<Capture> = (0..3).map(|v| page("https://example.org/", i64::from(v) * 60, v)).collect();
    let pages: Vec<Capture> = (0..6).map(|n| page(&format!("https://example.org/{n}"), n, n as u32)).collect();
    let from = sealed(&[&versions[..], &pages].concat());
    let first = shipments(&from, &[&versions[..1], &pages].concat());
    let second = shipments(&from, &versions[1..]);
    let (to, is_stored) = (open(), |taken: &Taken| taken.entries.iter().all(|(_, o)| *o == Outcome::Stored));
    // Nothing of the first is here before the second's turn.
    let taken = to.take_shipment_in_turn(&second[0], || {
        assert_eq!(to.scan_all().count(), 0);
        first.iter().for_each(|shipment| assert!(is_stored(&to.take_shipment(shipment).unwrap())));
        Ok::<_, Error>(())
    });
    assert!(is_stored(taken.as_ref().unwrap()), "{taken:?}");
    assert_same(&from, &to);
}

#[test]
fn a_shipment_whose_turn_never_comes_leaves_nothing() {
    let pages: Vec<Capture> = (0..6).map(|n| page(&format!("https://example.org/{n}"), n, n as u32)).collect();
    let (from, to) = (sealed(&pages), open());
    for shipment in shipments(&from, &pages) {
        let taken = to.take_shipment_in_turn(&shipment, || Err(Error::Refused("the one before was not kept".into())));
        assert!(matches!(taken, Err(Error::Refused(_))));
        to.seal().unwrap();
        assert_eq!(to.scan_all().count(), 0);
        to.take_shipment(&shipment).unwrap();
    }
    assert_same(&from, &to);
}

#[test]
fn where_the_same_body_is_damaged_already_a_body_beside_is_kept_and_mends_it() {
    let (ours, theirs) = (picture("https://example.org/a.png", 1, 1), picture("https://mirror.example/b.png", 2, 1));
    let from = sealed(std::slice::from_ref(&theirs));
    let disk = SimDisk::new();
    let to = open_on(&disk);
    to.append(ours.clone()).unwrap();
    to.seal().unwrap();
    // The first block of a pack: the picture's own.
    disk.flip_bit("packs/00000001.pack", 100, 1);
    assert!(matches!(to.read(&ours.id()), Err(Error::Damaged(_))));
    let trip = ship(&from, &to, &[theirs.id()], 0);
    assert_eq!(trip.outcomes.get(&theirs.id()), Some(&Outcome::Stored), "{trip:?}");
    to.seal().unwrap();
    for capture in [theirs, ours] {
        assert_eq!(to.read(&capture.id()).unwrap(), Some(capture));
    }
}

#[test]
fn without_room_nothing_of_a_shipment_is_taken_nothing_breaks_and_with_room_it_goes_on() {
    let pages: Vec<Capture> = (0..80).map(|n| page(&format!("https://example.org/{n}"), n, n as u32)).collect();
    let from = sealed(&pages);
    let shipment = from.shipper(ids_of(&pages), 0).unwrap().next_shipment().unwrap().unwrap();
    let disk = SimDisk::new();
    let to = open_on(&disk);
    let is_full = || matches!(to.take_shipment(&shipment), Err(Error::Full { .. }));
    disk.set_free_bytes(Some(RESERVE_BYTES));
    assert!(is_full());
    assert_eq!((to.poisoned(), to.scan_all().count()), (None, 0));
    // What waits was promised its room when it was taken in: a shipment must not take that.
    disk.set_free_bytes(Some(RESERVE_BYTES + 2 * shipment.len() as u64));
    let waiting = with_body("https://waiting.example/", 1, "text/plain", noise(1, shipment.len()));
    to.append(waiting.clone()).unwrap();
    assert!(is_full());
    assert_eq!((to.poisoned(), to.scan_all().count()), (None, 1));
    to.seal().unwrap();
    let taken = to.take_shipment(&shipment).unwrap();
    assert!(taken.entries.iter().all(|(_, outcome)| *outcome == Outcome::Stored), "{taken:?}");
    for capture in pages.into_iter().chain([waiting]) {
        assert_eq!(to.read(&capture.id()).unwrap(), Some(capture));
    }
}

/// A disk that does something when a pack is made.
struct Nosy {
    inner: SimDisk,
    then: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Nosy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl Disk for Nosy {
    fn open(&self, name: &str) -> std::io::Result<Arc<dyn DiskFile>> {
        self.inner.open(name)
    }

    fn create(&self, name: &str) -> std::io::Result<Arc<dyn DiskFile>> {
        if name.starts_with("packs/")
            && let Some(then) = self.then.lock().unwrap().take()
        {
            then();
        }
        self.inner.create(name)
    }

    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.inner.remove(name)
    }

    fn list(&self, folder: &str) -> std::io::Result<Vec<(String, u64)>> {
        self.inner.list(folder)
    }

    fn sync_dir(&self, folder: &str) -> std::io::Result<()> {
        self.inner.sync_dir(folder)
    }

    fn free_bytes(&self) -> Option<u64> {
        self.inner.free_bytes()
    }
}

/// Found by the bench of a ring, where parcels and shipments met: what was appended while its block was being adopted was sealed as a capture that has
/// the body of itself.
#[test]
fn what_is_appended_while_its_block_is_adopted_is_written_once() {
    let all = sites();
    let from = sealed(&all);
    let disk = Arc::new(Nosy { inner: SimDisk::new(), then: Mutex::new(None) });
    let (to, _) = Store::open_simulated(disk.clone(), Arc::new(MemoryEngine::new())).unwrap();
    let (meanwhile, some) = (to.clone(), all.iter().step_by(3).cloned().collect::<Vec<_>>());
    *disk.then.lock().unwrap() = Some(Box::new(move || {
        some.into_iter().for_each(|capture| assert_eq!(meanwhile.append(capture).unwrap(), Appended::Stored));
    }));
    ship(&from, &to, &ids_of(&all), 0);
    assert!(disk.then.lock().unwrap().is_none());
    to.seal().unwrap();
    assert_same(&from, &to);
    assert!(to.verify(|_, _| {}).unwrap().damaged.is_empty());
    assert_eq!(to.totals().unwrap().captures, from.totals().unwrap().captures);
    to.compact(true, |_, _| {}).unwrap();
    assert_same(&from, &to);
}

#[test]
fn what_was_cut_or_changed_on_the_way_is_refused_and_nothing_of_it_is_taken() {
    let pages: Vec<Capture> = (0..20).map(|n| page(&format!("https://example.org/{n}"), n, n as u32)).collect();
    let from = sealed(&pages);
    let shipment = from.shipper(ids_of(&pages), 0).unwrap().next_shipment().unwrap().unwrap();
    let to = open();
    let refused = |bytes: &[u8]| matches!(to.take_shipment(bytes), Err(Error::Refused(_)));
    for cut in (0..shipment.len()).step_by(13) {
        assert!(refused(&shipment[..cut]), "{cut}");
    }
    let mut changed = shipment.clone();
    for bit in (0..changed.len() * 8).step_by(53) {
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(refused(&changed), "{bit}");
        changed[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(refused(&[&shipment[..], b"x"].concat()));
    assert_eq!(to.scan_all().count(), 0);
    assert!(to.take_shipment(&shipment).is_ok());
    assert_same(&from, &to);
}

/// What each form was: written once, read for ever.
const GOLDEN: [&[u8]; 2] = [include_bytes!("../data/shipment-v1.bin"), include_bytes!("../data/shipment-v2.bin")];

/// What is in it: a block, a difference, a body beside it.
fn golden() -> Vec<Capture> {
    let mut out: Vec<Capture> = (0..6).map(|n| page(&format!("https://example.org/{n}"), n, n as u32)).collect();
    out.extend((1..4).map(|v| page("https://example.org/2", 100 + i64::from(v), v)));
    out.push(picture("https://example.org/2.png", 9, 4));
    out
}

#[test]
fn a_shipment_of_any_form_is_read_for_ever() {
    for shipment in GOLDEN {
        let to = open();
        let taken = to.take_shipment(shipment).unwrap();
        assert!(taken.entries.iter().all(|(_, outcome)| *outcome == Outcome::Stored), "{taken:?}");
        assert_same(&sealed(&golden()), &to);
    }
}

#[test]
fn one_who_knows_only_an_earlier_form_is_sent_that() {
    for (known, sent) in [(1, 1), (2, 2), (9, 2)] {
        let from = sealed(&golden());
        let mut shipper = from.shipper(ids_of(&golden()), 0).unwrap().for_one_who_knows(known);
        let shipment = shipper.next_shipment().unwrap().unwrap();
        assert_eq!(shipment[4], sent);
        let to = open();
        assert!(to.take_shipment(&shipment).unwrap().entries.iter().all(|(_, outcome)| *outcome == Outcome::Stored));
        // What one form's sum is says nothing under another's.
        let mut other = shipment.clone();
        other[4] = 3 - sent;
        assert!(matches!(to.take_shipment(&other), Err(Error::Refused(_))));
    }
}

#[test]
#[ignore = "writes the golden file, once"]
fn write_the_golden_file() {
    let from = sealed(&golden());
    let mut ids = ids_of(&golden());
    ids.sort();
    let mut shipper = from.shipper(ids, 0).unwrap();
    let shipment = shipper.next_shipment().unwrap().unwrap();
    assert!(shipper.next_shipment().unwrap().is_none() && shipper.left().is_empty());
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/shipment-v2.bin"), shipment).unwrap();
}
