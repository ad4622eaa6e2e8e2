//! Forgers who know the format: every digest over a shipment is right here, and what is in it is not.

use super::layout::{FORM, HEAD, OwnPayload, Target, Writer};
use super::limits::{BLOCK_BYTES_MAX, SHIPMENT_WEIGHT_MAX};
use super::take::ROUNDS_MAX;
use crate::block::Kind as BlockKind;
use crate::capture::{Body, Capture, Kind, Record};
use crate::compress::pack;
use crate::disk::sim::SimDisk;
use crate::envelope::{self, Where};
use crate::index::{EntryKey, MemoryEngine};
use crate::parcel::Outcome;
use crate::parcel::head::HEAD_BYTES;
use crate::parcel::layout::form_tag;
use crate::patch::Differ;
use crate::read::encode_group;
use crate::wire::Put;
use crate::{Error, Store};
use herodotus_base::{Sha256, Timestamp};
use std::sync::Arc;

fn open() -> Store {
    Store::open_simulated(Arc::new(SimDisk::new()), Arc::new(MemoryEngine::new())).unwrap().0
}

fn page(path: &str, n: i64) -> Capture {
    let body: Vec<u8> =
        (0..100u32).flat_map(|i| format!("<p>{}, {n}</p>", i.wrapping_mul(2_654_435_761)).into_bytes()).collect();
    with_body(path, n, Body::new(body))
}

/// A capture with the body of another.
fn repeat_of(other: &Capture, path: &str, n: i64) -> Capture {
    with_body(path, n, other.main.body.clone())
}

fn with_body(path: &str, n: i64, body: Body) -> Capture {
    let url = format!("https://example.org/{path}");
    let time = Timestamp::from_millis(1_700_000_000_000 + n).unwrap();
    let main = Record::new(Kind::Response, &url, time, b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), body);
    Capture { url, time, main, companions: vec![] }
}

fn item(capture: &Capture) -> Vec<u8> {
    let Body::Bytes(body, _) = &capture.main.body else { panic!() };
    [envelope::encode(capture, &Where::Here, &[], None), body.to_vec()].concat()
}

fn payload(raw: &[u8]) -> OwnPayload {
    OwnPayload { is_packed: true, raw_len: raw.len(), bytes: pack(raw, 3).unwrap() }
}

fn block_of(ids: &[EntryKey], items: &[Vec<u8>]) -> Writer {
    let mut writer = Writer::default();
    put_block(&mut writer, ids, items);
    writer
}

fn put_block(writer: &mut Writer, ids: &[EntryKey], items: &[Vec<u8>]) {
    writer.put_block(BlockKind::Group, payload(&encode_group(items)), ids.to_vec(), vec![]);
}

/// Whether a capture was kept the ordinary way: it waits for a seal. What was adopted is in a pack at once.
fn waits(store: &Store, id: &EntryKey) -> bool {
    store.inner.waiting(id).is_some()
}

fn outcomes(store: &Store, writer: Writer) -> Vec<Outcome> {
    let taken = store.take_shipment(&writer.finish(FORM).unwrap()).unwrap();
    taken.entries.into_iter().map(|(_, outcome)| outcome).collect()
}

fn is_refused(outcome: &Outcome, why: &str) -> bool {
    matches!(outcome, Outcome::Refused(told) if told.contains(why))
}

/// The only capture is refused, and nothing is stored.
fn assert_refused(writer: Writer, why: &str) {
    let store = open();
    let outcomes = outcomes(&store, writer);
    assert!(outcomes.iter().all(|outcome| is_refused(outcome, why)), "{why}: {outcomes:?}");
    assert_eq!(store.scan_all().count(), 0, "{why}");
}

#[test]
fn one_honest_block_is_kept() {
    let pages = [page("a", 1), page("b", 2)];
    let store = open();
    let writer = block_of(&pages.each_ref().map(Capture::id), &pages.each_ref().map(item));
    assert_eq!(outcomes(&store, writer), [Outcome::Stored, Outcome::Stored]);
    assert!(pages.iter().all(|page| store.read(&page.id()).unwrap().as_ref() == Some(page)));
    assert!(pages.iter().all(|page| !waits(&store, &page.id())));
}

/// Whoever reads one page out of it would unpack all of it, each time.
#[test]
fn a_block_larger_than_we_make_them_is_not_adopted_and_what_is_in_it_is_kept() {
    let long = |path: &str, n: u32| {
        let lines = (0..60_000u32).map(|i| format!("{:x} of {n}\n", i.wrapping_mul(2_654_435_761)));
        with_body(path, i64::from(n), Body::new(lines.collect::<String>().into_bytes()))
    };
    let pages: Vec<Capture> = (0..6).map(|n| long(&n.to_string(), n)).collect();
    let (ids, items): (Vec<_>, Vec<_>) = pages.iter().map(|page| (page.id(), item(page))).unzip();
    for (count, is_large) in [(4, false), (6, true)] {
        let (ids, items) = (&ids[..count], &items[..count]);
        assert_eq!(encode_group(items).len() > BLOCK_BYTES_MAX, is_large);
        let store = open();
        assert!(outcomes(&store, block_of(ids, items)).iter().all(|outcome| *outcome == Outcome::Stored));
        assert!(ids.iter().all(|id| waits(&store, id) == is_large));
        store.seal().unwrap();
        assert!(pages[..count].iter().all(|page| store.read(&page.id()).unwrap().as_ref() == Some(page)));
    }
}

/// Blocks that each lean on the next: the last is not to be kept as it came, and each round gives up one more.
#[test]
fn a_longer_chain_of_giving_up_than_any_honest_one_ends_with_nothing_adopted_and_everything_kept() {
    for links in [3, ROUNDS_MAX as i64 + 8] {
        let owner = |n: i64| page(&format!("owner/{n}"), n);
        let repeat = |n: i64| repeat_of(&owner(n + 1), &format!("repeat/{n}"), n);
        let mut writer = Writer::default();
        for n in 0..links {
            let leaning = envelope::encode(&repeat(n), &Where::With(owner(n + 1).id()), &[], None);
            put_block(&mut writer, &[owner(n).id(), repeat(n).id()], &[item(&owner(n)), leaning]);
        }
        let (last, alone) = (owner(links), page("alone", -1));
        put_block(&mut writer, &[last.id()], &[item(&last)]);
        put_block(&mut writer, &[alone.id()], &[item(&alone)]);
        let store = open();
        store.append(last.clone()).unwrap();
        store.seal().unwrap();
        let outcomes = outcomes(&store, writer);
        let stored = outcomes.iter().filter(|outcome| **outcome == Outcome::Stored).count();
        assert_eq!((stored, outcomes.len() - stored), (links as usize * 2 + 1, 1));
        let leaning = (0..links).flat_map(|n| [owner(n), repeat(n)]);
        let all: Vec<Capture> = leaning.chain([last, alone.clone()]).collect();
        for step in ["as it came", "sealed"] {
            for capture in &all {
                assert_eq!(store.read(&capture.id()).unwrap().as_ref(), Some(capture), "{links} {step}");
            }
            let is_adopted = |capture: &Capture| !waits(&store, &capture.id());
            if step == "as it came" {
                assert!(!all[..all.len() - 2].iter().any(is_adopted), "{links}");
                // Nobody honest is kept waiting by a chain that is as long as chains are.
                assert_eq!(is_adopted(&alone), links < ROUNDS_MAX as i64);
            }
            store.seal().unwrap();
        }
        assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
    }
}

#[test]
fn a_body_that_is_another_is_refused_and_the_good_rest_of_its_block_is_kept_the_ordinary_way() {
    let pages = [page("a", 1), page("b", 2), page("c", 3)];
    let mut items = pages.each_ref().map(item);
    let last = items[1].len() - 5;
    items[1][last] ^= 1;
    let store = open();
    let outcomes = outcomes(&store, block_of(&pages.each_ref().map(Capture::id), &items));
    assert!(is_refused(&outcomes[1], "fails its digest"), "{outcomes:?}");
    assert_eq!((&outcomes[0], &outcomes[2]), (&Outcome::Stored, &Outcome::Stored));
    store.seal().unwrap();
    assert_eq!(store.scan_all().count(), 2);
    assert_eq!(store.read(&pages[0].id()).unwrap().as_ref(), Some(&pages[0]));
    assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
}

/// A shipment is proved a part at a time: one that is bad in whatever part is found, and what is a patch to it, and nothing else.
#[test]
fn wherever_in_a_large_shipment_something_is_bad_it_alone_is_refused() {
    const PAGES: usize = 12;
    let long = |n: usize, version: usize| {
        let lines = (0..30_000u32).map(|i| format!("{:x} of {n}\n", i.wrapping_mul(2_654_435_761)));
        let body = lines.chain([format!("version {version}")]).collect::<String>().into_bytes();
        with_body(&n.to_string(), (n + version * PAGES) as i64, Body::new(body))
    };
    let pages: Vec<Capture> = (0..2 * PAGES).map(|n| long(n % PAGES, n / PAGES)).collect();
    let (ids, items): (Vec<_>, Vec<_>) = pages.iter().map(|page| (page.id(), item(page))).unzip();
    for bad in [0, 5, PAGES - 1] {
        let mut sent = items[..PAGES].to_vec();
        let middle = sent[bad].len() / 2;
        sent[bad][middle] ^= 1;
        let mut writer = Writer::default();
        for (ids, items) in ids.chunks(2).zip(sent.chunks(2)) {
            put_block(&mut writer, ids, items);
        }
        for n in 0..PAGES {
            let patch = Differ::default().patch(&items[PAGES + n], &items[n]);
            writer.put_patch(
                ids[PAGES + n].clone(),
                Target::Block(n / 2, n % 2),
                items[PAGES + n].len(),
                patch,
                vec![],
            );
        }
        let store = open();
        let outcomes = outcomes(&store, writer);
        for (n, (outcome, page)) in outcomes.iter().zip(&pages).enumerate() {
            let is_bad = n % PAGES == bad;
            assert_eq!(
                (*outcome == Outcome::Stored, is_refused(outcome, "fails its digest")),
                (!is_bad, is_bad),
                "{n}"
            );
            assert_eq!(store.read(&page.id()).unwrap().as_ref(), (!is_bad).then_some(page), "{n}");
        }
    }
}

#[test]
fn names_that_are_not_their_own_are_refused() {
    let pages = [page("a", 1), page("b", 2)];
    // The slots of two are exchanged.
    let ids = [pages[1].id(), pages[0].id()];
    assert_refused(block_of(&ids, &pages.each_ref().map(item)), "a name that is not its own");
    // Named after another content: the head was changed, and the digest of the body is right.
    let mut forged = page("a", 1);
    forged.main.head = b"HTTP/1.1 404 Not Found\r\n\r\n".to_vec();
    assert_refused(block_of(&[forged.id()], &[item(&forged)]), "named after another content");
}

#[test]
fn more_or_fewer_slots_than_names_are_refused_and_so_are_bytes_that_nobody_names() {
    let pages = [page("a", 1), page("b", 2)];
    let (ids, items) = (pages.each_ref().map(Capture::id), pages.each_ref().map(item));
    assert_refused(block_of(&ids[..1], &items), "cannot be unpacked");
    assert_refused(block_of(&ids, &items[..1]), "cannot be unpacked");
    let mut raw = encode_group(&items);
    raw.extend_from_slice(b"behind the last");
    let mut writer = Writer::default();
    writer.put_block(BlockKind::Group, payload(&raw), ids.to_vec(), vec![]);
    assert_refused(writer, "cannot be unpacked");
    for kind in [BlockKind::Raw, BlockKind::Deltas, BlockKind::Directory, BlockKind::Synced] {
        let mut writer = Writer::default();
        writer.put_block(kind, payload(&encode_group(&items)), ids.to_vec(), vec![]);
        assert_refused(writer, "cannot be unpacked");
    }
}

#[test]
fn a_payload_that_another_reader_would_unpack_otherwise_is_refused() {
    let pages = [page("a", 1)];
    let (ids, raw) = (pages.each_ref().map(Capture::id), encode_group(&pages.each_ref().map(item)));
    let (first, second) = raw.split_at(100);
    let two = [pack(first, 3).unwrap(), pack(second, 3).unwrap()].concat();
    // A frame that is skipped, behind the one that counts.
    let skipped = [&pack(&raw, 3).unwrap()[..], &[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]].concat();
    let behind = [&pack(&raw, 3).unwrap()[..], b"x"].concat();
    let empty = [pack(&raw, 3).unwrap(), pack(b"", 3).unwrap()].concat();
    for bytes in [two, skipped.clone(), behind, empty, b"\x28\xb5\x2f\xfd".to_vec(), vec![]] {
        let mut writer = Writer::default();
        let payload = OwnPayload { is_packed: true, raw_len: raw.len(), bytes };
        writer.put_block(BlockKind::Group, payload, ids.to_vec(), vec![]);
        assert_refused(writer, "cannot be unpacked");
    }
    // The same of a body beside: nobody has it then.
    let Body::Bytes(body, _) = &pages[0].main.body else { panic!("a page is in memory") };
    let of_body = pack(body, 3).unwrap();
    for (bytes, outcome) in [
        (of_body.clone(), Outcome::Stored),
        ([&of_body[..], &skipped[skipped.len() - 11..]].concat(), Outcome::LacksBase),
        ([&of_body[..], b"x"].concat(), Outcome::LacksBase),
    ] {
        let leaning = envelope::encode(&pages[0], &Where::Raw, &[], None);
        let group = payload(&encode_group(std::slice::from_ref(&leaning)));
        let beside = OwnPayload { is_packed: true, raw_len: body.len(), bytes };
        let mut writer = Writer::default();
        writer.put_block(BlockKind::Group, group, ids.to_vec(), vec![(Sha256::of(b""), beside)]);
        assert_eq!(outcomes(&open(), writer), [outcome]);
    }
    for raw_len in [raw.len() - 1, raw.len() + 1] {
        let mut writer = Writer::default();
        let payload = OwnPayload { is_packed: true, raw_len, bytes: pack(&raw, 3).unwrap() };
        writer.put_block(BlockKind::Group, payload, ids.to_vec(), vec![]);
        assert_refused(writer, "cannot be unpacked");
    }
}

#[test]
fn what_would_unpack_to_too_much_is_refused_before_it_is_unpacked() {
    let pages = [page("a", 1), page("b", 2)];
    let ids = pages.each_ref().map(Capture::id);
    let is_none =
        |writer: Writer| matches!(open().take_shipment(&writer.finish(FORM).unwrap()), Err(Error::Refused(_)));
    let mut writer = Writer::default();
    let zeros = payload(&vec![0; SHIPMENT_WEIGHT_MAX + 1]);
    assert!(zeros.bytes.len() < 10_000);
    writer.put_block(BlockKind::Group, zeros, ids.to_vec(), vec![]);
    assert!(is_none(writer));
    // Patches that copy what is there again and again.
    let mut writer = block_of(&ids[..1], &[item(&pages[0])]);
    writer.put_patch(ids[1].clone(), Target::Block(0, 0), SHIPMENT_WEIGHT_MAX, vec![0], vec![]);
    assert!(is_none(writer));
    // A body beside.
    let mut writer = block_of(&ids[..1], &[item(&pages[0])]);
    let body = OwnPayload { is_packed: true, raw_len: SHIPMENT_WEIGHT_MAX, bytes: vec![] };
    writer.put_patch(ids[1].clone(), Target::Block(0, 0), 1, vec![0], vec![(Sha256::of(b""), body)]);
    assert!(is_none(writer));
    // A count that nothing stands for.
    let mut many = block_of(&ids[..1], &[item(&pages[0])]).finish(FORM).unwrap();
    many.truncate(HEAD_BYTES);
    many.put_u64(u64::MAX);
    HEAD.seal(&mut many);
    assert!(matches!(open().take_shipment(&many), Err(Error::Refused(_))));
    // A group that says it has more items than bytes.
    let mut raw = Vec::new();
    raw.put_u64(1 << 60);
    let mut writer = Writer::default();
    writer.put_block(BlockKind::Group, payload(&raw), ids.to_vec(), vec![]);
    assert_refused(writer, "cannot be unpacked");
}

#[test]
fn the_same_name_twice_is_no_shipment() {
    let page = page("a", 1);
    let writer = block_of(&[page.id(), page.id()], &[item(&page), item(&page)]);
    assert!(matches!(open().take_shipment(&writer.finish(FORM).unwrap()), Err(Error::Refused(_))));
}

#[test]
fn patches_are_proved_as_everything_is() {
    let (base, next) = (page("a", 1), page("a", 2));
    let (base_item, next_item) = (item(&base), item(&next));
    let good = Differ::default().patch(&next_item, &base_item);
    let with = |target: Target, raw_len: usize, patch: &[u8]| {
        let mut writer = block_of(&[base.id()], std::slice::from_ref(&base_item));
        writer.put_patch(next.id(), target, raw_len, patch.to_vec(), vec![]);
        writer
    };
    let here = Target::Block(0, 0);
    let store = open();
    assert_eq!(outcomes(&store, with(here, next_item.len(), &good)), [Outcome::Stored, Outcome::Stored]);
    assert_eq!(store.read(&next.id()).unwrap().as_ref(), Some(&next));
    assert_eq!(store.entry(&next.id()).unwrap().unwrap().depth, 1);
    let second = |writer: Writer| {
        let store = open();
        let outcome = outcomes(&store, writer).remove(1);
        assert_eq!(store.scan_all().count(), 1);
        outcome
    };
    assert!(is_refused(&second(with(here, next_item.len() + 1, &good)), "does not fit"));
    assert!(is_refused(&second(with(here, next_item.len(), &good[..good.len() / 2])), "does not fit"));
    // A patch that makes the base again, under another name.
    let mut again = Vec::new();
    again.put_bytes(&base_item);
    assert!(is_refused(&second(with(here, base_item.len(), &again)), "not its own"));
    // To what is not here, or has other bytes.
    let far = |form| Target::Far { time: Timestamp::default(), tag: [1; 8], form };
    assert_eq!(second(with(far([0; 8]), next_item.len(), &good)), Outcome::LacksBase);
    let store = open();
    store.append(base.clone()).unwrap();
    store.seal().unwrap();
    for form in [[7; 8], form_tag(&base_item)] {
        let mut writer = Writer::default();
        let far = Target::Far { time: base.time, tag: base.id().tag, form };
        writer.put_patch(next.id(), far, next_item.len(), good.clone(), vec![]);
        let is_right = form != [7; 8];
        let expected = if is_right { Outcome::Stored } else { Outcome::LacksBase };
        assert_eq!(outcomes(&store, writer), [expected]);
        assert_eq!(store.read(&next.id()).unwrap().is_some(), is_right);
    }
    // To itself, or to what comes behind it, nothing can be written.
    let mut writer = Writer::default();
    writer.put_patch(next.id(), Target::Patch(0), next_item.len(), good, vec![]);
    assert!(matches!(open().take_shipment(&writer.finish(FORM).unwrap()), Err(Error::Refused(_))));
}

#[test]
fn chains_longer_than_ours_and_patches_to_another_url_are_kept_without_leaning() {
    let versions: Vec<Capture> = (0..40).map(|n| page("a", n)).collect();
    let items: Vec<Vec<u8>> = versions.iter().map(item).collect();
    let mut writer = block_of(&[versions[0].id()], &items[..1]);
    let mut target = Target::Block(0, 0);
    for n in 1..versions.len() {
        let patch = Differ::default().patch(&items[n], &items[n - 1]);
        target = Target::Patch(writer.put_patch(versions[n].id(), target, items[n].len(), patch, vec![]));
    }
    let other = page("other", 1);
    let patch = Differ::default().patch(&item(&other), &items[0]);
    writer.put_patch(other.id(), Target::Block(0, 0), item(&other).len(), patch, vec![]);
    let store = open();
    assert!(outcomes(&store, writer).iter().all(|outcome| *outcome == Outcome::Stored));
    store.seal().unwrap();
    for capture in versions.iter().chain([&other]) {
        let entry = store.entry(&capture.id()).unwrap().unwrap();
        assert!(entry.depth <= crate::limits::CHAIN_DEPTH_MAX);
        assert_eq!(store.read(&capture.id()).unwrap().as_ref(), Some(capture));
    }
}

#[test]
fn bodies_are_where_they_are_said_to_be_or_the_capture_goes_another_way() {
    let owner = page("a", 1);
    let Body::Bytes(bytes, _) = &owner.main.body else { panic!() };
    let repeat = repeat_of(&owner, "b", 2);
    let with = |of: &EntryKey| envelope::encode(&repeat, &Where::With(of.clone()), &[], None);
    // The owner behind whoever leans on it, in the same block.
    let store = open();
    let writer = block_of(&[repeat.id(), owner.id()], &[with(&owner.id()), item(&owner)]);
    assert_eq!(outcomes(&store, writer), [Outcome::Stored, Outcome::Stored]);
    assert_eq!(store.read(&repeat.id()).unwrap().as_ref(), Some(&repeat));
    assert!(store.entry(&repeat.id()).unwrap().unwrap().shared);
    // Nobody has it, or one that has another.
    for of in [page("c", 3).id(), page("d", 4).id()] {
        let store = open();
        store.append(page("d", 4)).unwrap();
        store.seal().unwrap();
        assert_eq!(outcomes(&store, block_of(&[repeat.id()], &[with(&of)])), [Outcome::LacksBase]);
        assert!(store.read(&repeat.id()).unwrap().is_none());
    }
    // Each with the other.
    let crossed = |capture: &Capture, of: &EntryKey| envelope::encode(capture, &Where::With(of.clone()), &[], None);
    let pair = [crossed(&repeat, &owner.id()), crossed(&owner, &repeat.id())];
    let writer = block_of(&[repeat.id(), owner.id()], &pair);
    assert_eq!(outcomes(&open(), writer), [Outcome::LacksBase, Outcome::LacksBase]);
    // In a block of its own that is not there, or is another.
    let raw = envelope::encode(&repeat, &Where::Raw, &[], None);
    assert_eq!(outcomes(&open(), block_of(&[repeat.id()], std::slice::from_ref(&raw))), [Outcome::LacksBase]);
    let beside = |body: &[u8]| {
        let mut writer = Writer::default();
        let body = OwnPayload { is_packed: false, raw_len: body.len(), bytes: body.to_vec() };
        let group = payload(&encode_group(std::slice::from_ref(&raw)));
        writer.put_block(BlockKind::Group, group, vec![repeat.id()], vec![(Sha256::of(b""), body)]);
        writer
    };
    assert_eq!(outcomes(&open(), beside(b"another")), [Outcome::LacksBase]);
    let store = open();
    assert_eq!(outcomes(&store, beside(bytes)), [Outcome::Stored]);
    assert_eq!(store.read(&repeat.id()).unwrap().as_ref(), Some(&repeat));
    // Where the same body lies in an item already, a block of its own would not be found.
    let store = open();
    store.append(owner.clone()).unwrap();
    store.seal().unwrap();
    assert_eq!(outcomes(&store, beside(bytes)), [Outcome::Stored]);
    store.seal().unwrap();
    assert_eq!(store.read(&repeat.id()).unwrap().as_ref(), Some(&repeat));
    assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
}

/// One machine sealed the body within an item, another as a block of its own, and a third ships both.
#[test]
fn a_body_that_comes_in_an_item_and_beside_is_read_for_both() {
    let owner = page("a", 1);
    let repeat = repeat_of(&owner, "b", 2);
    let Body::Bytes(bytes, _) = &owner.main.body else { panic!("a page is in memory") };
    for ids in [[owner.id(), repeat.id()], [repeat.id(), owner.id()]] {
        let raw = envelope::encode(&repeat, &Where::Raw, &[], None);
        let items = ids.each_ref().map(|id| if *id == owner.id() { item(&owner) } else { raw.clone() });
        let body = OwnPayload { is_packed: false, raw_len: bytes.len(), bytes: bytes.to_vec() };
        let mut writer = Writer::default();
        let group = payload(&encode_group(&items));
        writer.put_block(BlockKind::Group, group, ids.to_vec(), vec![(Sha256::of(b""), body)]);
        let store = open();
        assert_eq!(outcomes(&store, writer), [Outcome::Stored, Outcome::Stored]);
        store.seal().unwrap();
        assert_eq!(store.read(&owner.id()).unwrap().as_ref(), Some(&owner));
        assert_eq!(store.read(&repeat.id()).unwrap().as_ref(), Some(&repeat));
        assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
    }
}

/// Whatever bytes a forger writes who can seal a shipment: nothing panics, and what is stored is what it says it is.
#[test]
fn no_flipped_bit_under_a_right_digest_brings_in_anything_else() {
    let (base, next) = (page("a", 1), page("a", 2));
    let pages = [base.clone(), page("b", 3)];
    let mut writer = block_of(&pages.each_ref().map(Capture::id), &pages.each_ref().map(item));
    let patch = Differ::default().patch(&item(&next), &item(&base));
    writer.put_patch(next.id(), Target::Block(0, 0), item(&next).len(), patch, vec![]);
    let mut shipment = writer.finish(FORM).unwrap();
    let honest = [&pages[0], &pages[1], &next];
    for bit in HEAD_BYTES * 8..shipment.len() * 8 {
        shipment[bit / 8] ^= 1 << (bit % 8);
        HEAD.seal(&mut shipment);
        let store = open();
        if let Ok(taken) = store.take_shipment(&shipment) {
            for (id, outcome) in taken.entries {
                let read = store.read(&id).unwrap();
                assert_eq!(read.is_some(), outcome == Outcome::Stored, "{bit}: {id:?} {outcome:?}");
                assert!(read.is_none_or(|read| honest.contains(&&read)), "{bit}: {id:?}");
            }
            store.seal().unwrap();
            assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty(), "{bit}");
        }
        shipment[bit / 8] ^= 1 << (bit % 8);
    }
}
