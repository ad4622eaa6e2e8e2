//! Captures travelling between two archives: they arrive byte for byte, cost little where the other side has a version already,
//! and nothing that was cut, changed or forged on the way is ever stored. `src/parcel/tests.rs` has the forgers who know the
//! format.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::fixtures;
use crate::support;

use fixtures::{assert_same, everything, gzipped, ids_of, imported, large, open, open_on, put_blob, send, store_with};
use herodotus_base::{Digests, Sha256};
use herodotus_store::disk::{Disk, sim::SimDisk};
use herodotus_store::parcel::limits::PARCEL_BYTES;
use herodotus_store::{Body, Capture, EntryKey, Error, Kind, Outcome, Store, Taken, open_capture};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use support::{contents, noise, page, picture, with_body};

/// Stores nothing, whatever the parcel is.
fn assert_nothing_taken(store: &Store, parcel: &[u8], why: &str) {
    match store.take_parcel(parcel) {
        Err(Error::Refused(_)) => {}
        other => panic!("{why}: {other:?}"),
    }
    assert_eq!(store.scan_all().count(), 0, "{why}");
}

fn only_outcome(taken: &Taken) -> &Outcome {
    let [(_, outcome)] = taken.entries.as_slice() else { panic!("{taken:?}") };
    outcome
}

#[test]
fn everything_arrives_byte_for_byte_from_memory_and_from_packs() {
    for sealed in [false, true] {
        let from = store_with(&everything());
        let film = large("https://example.org/film", 1, put_blob(&from, &noise(3, 2_500_000)));
        let again = large("https://example.org/film", 2, film.main.body.clone());
        from.append(film).unwrap();
        from.append(again).unwrap();
        if sealed {
            from.seal().unwrap();
        }
        let ids: Vec<EntryKey> = from.scan_all().map(|e| e.unwrap().id).collect();
        assert_eq!(ids.len(), everything().len() + 2);
        let to = open();
        let trip = send(&from, &to, &ids, |_| false);
        assert_eq!((trip.again, trip.blobs), (0, 1), "sealed: {sealed}");
        assert_same(&from, &to);
        to.seal().unwrap();
        assert_same(&from, &to);
        assert!(to.verify(|_, _| {}).unwrap().damaged.is_empty());
        // All of it again: it is known, and nothing changes.
        let (parcel, _) = from.parcel(&ids, |_| false, PARCEL_BYTES).unwrap();
        let taken = to.take_parcel(&parcel.bytes).unwrap();
        assert!(taken.entries.iter().all(|(_, outcome)| *outcome == Outcome::Known));
    }
}

#[test]
fn whatever_order_and_whatever_the_receiver_has_everything_arrives() {
    let all = everything();
    for seed in 0..30u64 {
        let from = store_with(&all);
        if seed % 2 == 0 {
            from.seal().unwrap();
        }
        // Some it has, some it is wrongly believed to have.
        let draws = noise(seed, all.len() * 3);
        let to = open();
        let mut believed = BTreeSet::new();
        for (n, capture) in all.iter().enumerate() {
            if draws[n].is_multiple_of(3) {
                to.append(capture.clone()).unwrap();
            }
            if draws[n].is_multiple_of(3) || draws[n].is_multiple_of(7) {
                believed.insert(capture.id());
            }
        }
        if seed % 3 == 0 {
            to.seal().unwrap();
        }
        let mut ids = ids_of(&all);
        match seed % 4 {
            0 => ids.reverse(),
            1 => ids.sort(),
            2 => ids.sort_by_key(|id| id.tag),
            _ => {}
        }
        send(&from, &to, &ids, |id| believed.contains(id));
        assert_same(&from, &to);
    }
}

#[test]
fn thirty_versions_cost_a_fraction_of_thirty_wholes() {
    let versions: Vec<Capture> = (0..30).map(|v| page("https://example.org/", i64::from(v) * 60, v)).collect();
    for sealed in [false, true] {
        let from = store_with(&versions);
        if sealed {
            from.seal().unwrap();
        }
        let whole: usize =
            versions.iter().map(|c| from.parcel(&[c.id()], |_| false, PARCEL_BYTES).unwrap().0.bytes.len()).sum();
        let trip = send(&from, &open(), &ids_of(&versions), |_| false);
        println!("thirty versions: {} bytes, whole one by one {whole}", trip.bytes);
        assert!(trip.bytes * 4 < whole, "{} of {whole}", trip.bytes);
    }
}

#[test]
fn a_new_version_against_one_that_the_receiver_has_costs_under_a_tenth_of_the_page() {
    let pairs = [
        [page("https://example.org/", 0, 0), page("https://example.org/", 60, 1)],
        [gzipped("https://example.org/coded", 0, 0), gzipped("https://example.org/coded", 60, 1)],
    ];
    for (pair, content_len) in pairs.iter().zip([pairs[0][1].main.body.len() as usize, 4879]) {
        for sealed in [false, true] {
            let (from, to) = (store_with(pair), store_with(&pair[..1]));
            if sealed {
                from.seal().unwrap();
            } else {
                to.seal().unwrap();
            }
            let has = pair[0].id();
            let (parcel, _) = from.parcel(&[pair[1].id()], |id| *id == has, PARCEL_BYTES).unwrap();
            println!("one new version of {}: {} bytes", pair[1].url, parcel.bytes.len());
            assert!(parcel.bytes.len() * 10 < content_len, "{} of {content_len}", parcel.bytes.len());
            assert_eq!(*only_outcome(&to.take_parcel(&parcel.bytes).unwrap()), Outcome::Stored);
            assert_eq!(to.read(&pair[1].id()).unwrap().as_ref(), Some(&pair[1]));
        }
    }
}

#[test]
fn what_did_not_change_is_not_sent_again() {
    for pair in [
        [picture("https://example.org/a.png", 0, 1), picture("https://example.org/a.png", 60, 1)],
        [page("https://example.org/", 0, 1), page("https://example.org/", 60, 1)],
        [gzipped("https://example.org/c", 0, 1), gzipped("https://example.org/c", 60, 1)],
    ] {
        for sealed in [false, true] {
            let (from, to) = (store_with(&pair), store_with(&pair[..1]));
            if sealed {
                from.seal().unwrap();
                to.seal().unwrap();
            }
            let (parcel, _) = from.parcel(&[pair[1].id()], |_| true, PARCEL_BYTES).unwrap();
            println!("unchanged {}: {} bytes", pair[1].url, parcel.bytes.len());
            assert!(parcel.bytes.len() < 300, "{}: {}", pair[1].url, parcel.bytes.len());
            assert_eq!(*only_outcome(&to.take_parcel(&parcel.bytes).unwrap()), Outcome::Stored);
            assert_eq!(to.read(&pair[1].id()).unwrap().as_ref(), Some(&pair[1]));
        }
    }
}

#[test]
fn a_body_that_several_captures_of_a_parcel_have_travels_once() {
    // Too large for two of them to meet in one frame, where they would be found to be the same anyway.
    for (media, body) in
        [("image/png", noise(1, 400_000)), ("text/plain", noise(1, 400_000)), ("text/html", noise(2, 400_000))]
    {
        let captures: Vec<Capture> =
            (0..10).map(|n| with_body(&format!("https://{n}.example/"), n, media, body.clone())).collect();
        for sealed in [false, true] {
            let from = store_with(&captures);
            if sealed {
                from.seal().unwrap();
            }
            let to = open();
            let trip = send(&from, &to, &ids_of(&captures), |_| false);
            assert!(trip.bytes < 405_000, "{media}: {} bytes", trip.bytes);
            assert_same(&from, &to);
            // Alone, one of them has its body with it, whoever it is stored with.
            let other = open();
            assert_eq!(send(&from, &other, &ids_of(&captures[7..8]), |_| true).again, 0);
            assert_eq!(contents(&other).len(), 1);
        }
    }
}

#[test]
fn a_missing_base_is_told_and_the_capture_goes_whole() {
    let pair = [page("https://example.org/", 0, 0), page("https://example.org/", 60, 1)];
    let from = store_with(&pair);
    let to = open();
    let (parcel, _) = from.parcel(&[pair[1].id()], |_| true, PARCEL_BYTES).unwrap();
    let taken = to.take_parcel(&parcel.bytes).unwrap();
    assert_eq!(taken.lacking_bases().collect::<Vec<_>>(), [&pair[1].id()]);
    assert_eq!(to.scan_all().count(), 0);
    let trip = send(&from, &to, &[pair[1].id()], |_| true);
    assert_eq!((trip.parcels, trip.again), (2, 1));
    assert_eq!(to.read(&pair[1].id()).unwrap().as_ref(), Some(&pair[1]));
}

#[test]
fn a_base_that_was_removed_at_the_receiver_is_missing_there() {
    let pair = [page("https://example.org/", 0, 0), page("https://example.org/", 60, 1)];
    let (from, to) = (store_with(&pair), store_with(&pair[..1]));
    to.seal().unwrap();
    to.remove(&pair[0].id()).unwrap();
    let (parcel, _) = from.parcel(&[pair[1].id()], |_| true, PARCEL_BYTES).unwrap();
    assert_eq!(*only_outcome(&to.take_parcel(&parcel.bytes).unwrap()), Outcome::LacksBase);
}

#[test]
fn removals_travel_and_what_was_removed_stays_away() {
    let all = everything();
    let (from, to) = (store_with(&all), store_with(&all[..3]));
    from.seal().unwrap();
    for capture in &all[..2] {
        from.remove(&capture.id()).unwrap();
    }
    // And one that the receiver removed itself.
    to.remove(&all[2].id()).unwrap();
    let (parcel, covered) = from.parcel(&ids_of(&all[..3]), |_| false, PARCEL_BYTES).unwrap();
    assert_eq!((covered, parcel.entries), (3, 3));
    let taken = to.take_parcel(&parcel.bytes).unwrap();
    assert!(taken.entries.iter().all(|(_, outcome)| *outcome == Outcome::Removed), "{taken:?}");
    assert_eq!(to.scan_all().count(), 0);
    // A mark holds for what was never here, too.
    let never = open();
    never.take_parcel(&parcel.bytes).unwrap();
    assert_eq!(never.append(all[0].clone()).unwrap(), herodotus_store::Appended::Removed);
    assert_eq!(never.read(&all[2].id()).unwrap().as_ref(), Some(&all[2]));
}

#[test]
fn what_was_let_go_is_no_removal_and_comes_back() {
    let all = everything();
    let from = store_with(&all[..4]);
    for sealed in [false, true] {
        from.release(&ids_of(&all[..2])).unwrap();
        let (parcel, covered) = from.parcel(&ids_of(&all[..4]), |_| false, PARCEL_BYTES).unwrap();
        assert_eq!((covered, parcel.entries, parcel.unknown), (4, 2, ids_of(&all[..2])), "sealed: {sealed}");
        assert_eq!(from.capture_bytes(&all[0].id()).unwrap(), None);
        // And back again.
        let (parcel, _) = store_with(&all).parcel(&ids_of(&all[..4]), |_| false, PARCEL_BYTES).unwrap();
        let outcomes: Vec<Outcome> =
            from.take_parcel(&parcel.bytes).unwrap().entries.into_iter().map(|e| e.1).collect();
        assert_eq!(outcomes, [Outcome::Stored, Outcome::Stored, Outcome::Known, Outcome::Known]);
        from.seal().unwrap();
    }
    assert_eq!(contents(&from).len(), 4);
}

#[test]
fn what_is_unknown_is_told_and_does_not_hold_up_the_rest() {
    let here = page("https://example.org/", 1, 1);
    let from = store_with(std::slice::from_ref(&here));
    let unknown = page("https://example.org/other", 1, 1).id();
    let (parcel, covered) = from.parcel(&[unknown.clone(), here.id()], |_| true, PARCEL_BYTES).unwrap();
    assert_eq!((covered, parcel.entries, parcel.unknown), (2, 1, vec![unknown]));
}

#[test]
fn what_is_damaged_here_is_told_and_does_not_hold_up_the_rest() {
    let disk = SimDisk::new();
    let from = open_on(&disk);
    let captures = [page("https://a.example/", 1, 1), page("https://b.example/", 1, 2)];
    for capture in &captures {
        from.append(capture.clone()).unwrap();
        from.seal().unwrap();
    }
    let pack = "packs/00000001.pack";
    disk.flip_bit(pack, 200, 3);
    let from = open_on(&disk);
    let (parcel, covered) = from.parcel(&ids_of(&captures), |_| true, PARCEL_BYTES).unwrap();
    assert_eq!((covered, parcel.entries), (2, 1));
    assert_eq!(parcel.unreadable.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), [captures[0].id()]);
}

#[test]
fn what_the_disk_gives_no_more_is_told_and_does_not_hold_up_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let (from, _) = Store::open(dir.path()).unwrap();
    let film = large("https://example.org/film", 1, put_blob(&from, &noise(3, 2_500_000)));
    let captures = [film, page("https://example.org/", 1, 1)];
    for capture in &captures {
        from.append(capture.clone()).unwrap();
    }
    from.seal().unwrap();
    for blob in std::fs::read_dir(dir.path().join("blobs")).unwrap() {
        let path = blob.unwrap().path();
        std::fs::remove_file(&path).unwrap();
        // Not damage, but an error whenever it is read.
        std::fs::create_dir(&path).unwrap();
    }
    let (parcel, covered) = from.parcel(&ids_of(&captures), |_| true, PARCEL_BYTES).unwrap();
    assert_eq!((covered, parcel.entries), (2, 1));
    assert_eq!(parcel.unreadable.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), [captures[0].id()]);
}

#[test]
fn parcels_are_bounded_and_a_capture_larger_than_one_says_that_it_needs_a_stream() {
    let words =
        |seed: u64| -> Vec<u8> { noise(seed, 60_000).iter().map(|b| b"etaoin shrdlu\n"[*b as usize % 14]).collect() };
    let mut captures: Vec<Capture> =
        (0..60).map(|n| with_body(&format!("https://example.org/{n}"), n, "text/plain", words(n as u64))).collect();
    captures.push(with_body("https://example.org/zzz", 99, "image/png", noise(9, 3_000_000)));
    captures.push(with_body("https://example.org/zzzz", 99, "text/plain", b"after".to_vec()));
    let (from, to) = (store_with(&captures), open());
    from.seal().unwrap();
    let mut ids: Vec<EntryKey> = from.scan_all().map(|e| e.unwrap().id).collect();
    let mut sizes = Vec::new();
    while !ids.is_empty() {
        let (parcel, covered) = from.parcel(&ids, |_| false, 200_000).unwrap();
        assert_eq!(parcel.needs_stream, parcel.bytes.len() > 200_000);
        assert!(!parcel.needs_stream || covered == 1);
        assert!(to.take_parcel(&parcel.bytes).unwrap().entries.iter().all(|(_, o)| *o == Outcome::Stored));
        sizes.push(parcel.bytes.len());
        ids.drain(..covered);
    }
    assert_eq!(sizes.iter().filter(|n| **n > 200_000).count(), 1, "{sizes:?}");
    assert!(sizes.iter().filter(|n| **n > 160_000).count() >= sizes.len() - 3, "they are filled: {sizes:?}");
    assert_same(&from, &to);
}

#[test]
fn a_parcel_that_was_cut_anywhere_is_refused() {
    let from = store_with(&everything()[..12]);
    let (parcel, _) = from.parcel(&ids_of(&everything()[..12]), |_| false, PARCEL_BYTES).unwrap();
    let to = open();
    for n in 0..parcel.bytes.len() {
        assert_nothing_taken(&to, &parcel.bytes[..n], &format!("cut at {n}"));
    }
    assert_nothing_taken(&to, &[&parcel.bytes[..], b"x"].concat(), "something behind it");
}

#[test]
fn a_parcel_with_a_flipped_bit_is_refused() {
    let from = store_with(&everything());
    let (parcel, _) = from.parcel(&ids_of(&everything()), |_| false, PARCEL_BYTES).unwrap();
    let to = open();
    let mut bytes = parcel.bytes;
    for at in (0..bytes.len()).step_by(37).chain(0..60) {
        bytes[at] ^= 1 << (at % 8);
        assert_nothing_taken(&to, &bytes, &format!("byte {at}"));
        bytes[at] ^= 1 << (at % 8);
    }
    assert!(to.take_parcel(&bytes).is_ok());
}

#[test]
fn a_large_body_comes_first_and_only_if_it_is_the_right_one() {
    let bytes = noise(3, 2_500_000);
    let (from, disk) = (open(), SimDisk::new());
    let to = open_on(&disk);
    let film = large("https://example.org/film", 1, put_blob(&from, &bytes));
    from.append(film.clone()).unwrap();
    from.seal().unwrap();
    let (parcel, _) = from.parcel(&[film.id()], |_| false, PARCEL_BYTES).unwrap();
    assert!(parcel.bytes.len() < 1000 && !parcel.needs_stream);
    let taken = to.take_parcel(&parcel.bytes).unwrap();
    assert_eq!(*only_outcome(&taken), Outcome::LacksBlob);
    let [lacking] = taken.lacking_blobs.as_slice() else { panic!("{taken:?}") };
    assert_eq!((lacking.len, lacking.sha256, lacking.media.as_str()), (2_500_000, Sha256::of(&bytes), "video/mp4"));
    assert_eq!(to.read(&film.id()).unwrap(), None);
    // Another, a short one, one that breaks off: nothing is kept.
    let mut other = bytes.clone();
    other[1_700_000] ^= 1;
    for wrong in [&other[..], &bytes[..2_499_999], &[]] {
        assert!(matches!(to.receive_blob(&lacking.sha256, lacking.len, "video/mp4", wrong), Err(Error::Refused(_))));
        assert!(disk.list("blobs").unwrap().is_empty() && disk.list("tmp").unwrap().is_empty());
    }
    assert!(to.receive_blob(&lacking.sha256, lacking.len - 1, "video/mp4", &bytes[..]).is_err());
    to.receive_blob(&lacking.sha256, lacking.len, "video/mp4", &bytes[..]).unwrap();
    assert_eq!(*only_outcome(&to.take_parcel(&parcel.bytes).unwrap()), Outcome::Stored);
    assert_same(&from, &to);
    // It is here: the stream is not read.
    to.receive_blob(&lacking.sha256, lacking.len, "video/mp4", Broken(0)).unwrap();
    // Unless what is here is damaged: then it is replaced.
    let [(name, len)] = &disk.list("blobs").unwrap()[..] else { panic!("one large body") };
    disk.flip_bit(&format!("blobs/{name}"), len / 2, 3);
    assert!(to.open_blob(&lacking.sha256).unwrap().check().is_err());
    assert!(to.receive_blob(&lacking.sha256, lacking.len, "video/mp4", Broken(0)).is_err());
    to.receive_blob(&lacking.sha256, lacking.len, "video/mp4", &bytes[..]).unwrap();
    assert_same(&from, &to);
}

/// A stream that gives so many zeros and then an error.
struct Broken(usize);

impl Read for Broken {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.min(buf.len());
        self.0 -= n;
        buf[..n].fill(0);
        if n == 0 { Err(std::io::ErrorKind::ConnectionReset.into()) } else { Ok(n) }
    }
}

#[test]
fn a_large_body_goes_on_where_a_stream_broke_off() {
    let bytes = vec![0; 3_000_000];
    let (to, digest) = (open(), Sha256::of(&vec![0; 3_000_000]));
    let mut arrival = to.blob_arrival(&digest, 3_000_000, "text/plain").unwrap();
    assert!(arrival.fill(Broken(1_234_567)).is_err());
    assert_eq!(arrival.at(), 1_234_567);
    // One that merely ends.
    arrival.fill(&bytes[1_234_567..2_000_000]).unwrap();
    assert!(!arrival.is_whole());
    arrival.fill(&bytes[2_000_000..]).unwrap();
    arrival.finish().unwrap();
    assert_eq!(to.open_blob(&digest).unwrap().len, 3_000_000);
}

#[test]
fn an_audit_gives_the_same_digest_however_a_capture_is_stored() {
    let mut captures = everything();
    let (from, to) = (store_with(&captures), open());
    let film = large("https://example.org/film", 1, put_blob(&from, &noise(3, 2_500_000)));
    from.append(film.clone()).unwrap();
    captures.push(film);
    from.seal().unwrap();
    let mut ids = ids_of(&captures);
    ids.reverse();
    send(&from, &to, &ids, |_| false);
    let nonce = [7; 32];
    let digests: BTreeSet<Sha256> = ids.iter().map(|id| from.audit_digest(id, &nonce).unwrap().unwrap()).collect();
    assert_eq!(digests.len(), ids.len(), "each has its own");
    for sealed in [false, true] {
        for id in &ids {
            let digest = to.audit_digest(id, &nonce).unwrap();
            assert!(digest.is_some_and(|digest| digests.contains(&digest)), "{id:?} {sealed}");
            assert_eq!(digest, from.audit_digest(id, &nonce).unwrap());
            assert_ne!(digest, from.audit_digest(id, &[8; 32]).unwrap());
        }
        to.seal().unwrap();
    }
    to.remove(&ids[0]).unwrap();
    assert_eq!(to.audit_digest(&ids[0], &nonce).unwrap(), None);
}

#[test]
fn an_audit_covers_every_part_of_a_capture() {
    let whole = imported("https://example.org/", 1, Kind::Response, b"HTTP/1.1 200 OK\r\n\r\n", b"body");
    let request = imported("https://example.org/", 2, Kind::Request, b"GET / HTTP/1.1\r\n\r\n", b"").main;
    let changes: [fn(&mut Capture); 8] = [
        |_| {},
        |c| c.main.body = Body::new(*b"bodz"),
        |c| c.main.head[9] = b'3',
        |c| c.main.warc.as_mut().unwrap().fields.set("X-Odd", "other"),
        |c| c.main.warc.as_mut().unwrap().version = "WARC/1.1".into(),
        |c| c.companions[0].head[0] = b'P',
        |c| c.companions[0].body = Body::new(*b"x"),
        |c| drop(c.companions.pop()),
    ];
    let mut digests = BTreeSet::new();
    for change in changes {
        let mut capture = whole.clone();
        capture.companions.push(request.clone());
        change(&mut capture);
        let store = store_with(&[capture]);
        digests.insert(store.audit_digest(&whole.id(), &[0; 32]).unwrap().unwrap());
    }
    assert_eq!(digests.len(), changes.len());
}

#[test]
fn one_capture_is_opened_on_another_machine_and_no_other_passes_for_it() {
    let mut captures = everything();
    let from = store_with(&captures);
    let film = large("https://example.org/film", 1, put_blob(&from, &noise(3, 2_500_000)));
    from.append(film.clone()).unwrap();
    captures.push(film);
    for sealed in [false, true] {
        for capture in &captures {
            let bytes = from.capture_bytes(&capture.id()).unwrap().unwrap();
            assert_eq!(open_capture(&capture.id(), &bytes).unwrap(), *capture, "{sealed}");
            let other = if capture.id() == captures[0].id() { captures[1].id() } else { captures[0].id() };
            assert!(matches!(open_capture(&other, &bytes), Err(Error::Refused(_))));
            for at in (0..bytes.len()).step_by(101) {
                let mut spoiled = bytes.clone();
                spoiled[at] ^= 4;
                assert!(open_capture(&capture.id(), &spoiled).is_err());
            }
        }
        from.seal().unwrap();
    }
    assert_eq!(from.capture_bytes(&page("https://nowhere.example/", 1, 1).id()).unwrap(), None);
    from.remove(&captures[0].id()).unwrap();
    assert_eq!(from.capture_bytes(&captures[0].id()).unwrap(), None);
    let two = from.parcel(&ids_of(&captures[1..3]), |_| false, PARCEL_BYTES).unwrap().0.bytes;
    assert!(open_capture(&captures[1].id(), &two).is_err());
}

/// What the golden parcel brings to a store that has `golden_base`.
fn golden() -> Vec<Capture> {
    let mut out = everything();
    out.push(large("https://example.org/film", 1, Body::Blob { len: 5000, digests: Digests::of(&noise(4, 5000)) }));
    out
}

fn golden_base() -> Capture {
    page("https://base.example/", 0, 0)
}

fn golden_new() -> Capture {
    page("https://base.example/", 60, 1)
}

#[test]
fn a_parcel_of_form_1_is_taken_for_ever() {
    let parcel = std::fs::read("tests/data/parcel/v1.parcel").unwrap();
    let to = store_with(&[golden_base()]);
    put_blob(&to, &noise(4, 5000));
    let removed = page("https://gone.example/", 0, 0).id();
    let taken = to.take_parcel(&parcel).unwrap();
    for (id, outcome) in &taken.entries {
        let expected = if *id == removed { Outcome::Removed } else { Outcome::Stored };
        assert_eq!(*outcome, expected, "{id:?}");
    }
    for capture in golden().iter().chain([&golden_new()]) {
        assert_eq!(to.read(&capture.id()).unwrap().as_ref(), Some(capture), "{} {}", capture.url, capture.time);
    }
    assert_eq!(taken.entries.len(), golden().len() + 2);
    // Unfolded and as differences: all of its ways of writing are used.
    assert!(parcel.len() < 60_000, "{}", parcel.len());
}

/// How the golden parcel was made. Run by hand, once per form.
#[test]
#[ignore = "writes a golden parcel: set HERODOTUS_GOLDEN=FILE"]
fn write_a_golden_parcel() {
    let file = std::env::var_os("HERODOTUS_GOLDEN").unwrap();
    let from = store_with(&golden());
    put_blob(&from, &noise(4, 5000));
    from.append(golden_base()).unwrap();
    from.append(golden_new()).unwrap();
    let removed = page("https://gone.example/", 0, 0).id();
    from.remove(&removed).unwrap();
    let mut ids = ids_of(&golden());
    ids.extend([golden_new().id(), removed]);
    let has = golden_base().id();
    let (parcel, covered) = from.parcel(&ids, |id| *id == has, PARCEL_BYTES).unwrap();
    assert_eq!(covered, ids.len());
    std::fs::write(Path::new(&file), parcel.bytes).unwrap();
}

/// `cargo test -p herodotus-store --test behaviour parcel::bytes_per -- --nocapture` prints the figures.
#[test]
fn bytes_per_capture_are_about_those_of_a_pack() {
    let site: Vec<Capture> = (0..200).map(|n| page(&format!("https://example.org/{n}"), n, n as u32)).collect();
    let versions: Vec<Capture> = (0..200).map(|n| page("https://example.org/", n * 60, n as u32)).collect();
    let pictures: Vec<Capture> =
        (0..100).map(|n| picture(&format!("https://example.org/{n}.png"), n, n as u64)).collect();
    let coded: Vec<Capture> = (0..60).map(|n| gzipped("https://example.org/coded", n, n as usize % 3)).collect();
    let sets = [
        ("everything", everything()),
        ("site", site),
        ("versions", versions),
        ("pictures", pictures),
        ("coded", coded),
    ];
    for (name, captures) in sets {
        let disk = SimDisk::new();
        let from = open_on(&disk);
        for capture in &captures {
            from.append(capture.clone()).unwrap();
        }
        from.seal().unwrap();
        let ids: Vec<EntryKey> = from.scan_all().map(|e| e.unwrap().id).collect();
        let trip = send(&from, &open(), &ids, |_| false);
        let pack: u64 = disk.list("packs").unwrap().iter().map(|(_, len)| len).sum();
        let n = captures.len();
        println!("{name}: {n} captures, parcels {} bytes each, packs {}", trip.bytes / n, pack as usize / n);
        assert!(trip.bytes as u64 <= pack * 5 / 4, "{name}: {} and {pack}", trip.bytes);
    }
}
