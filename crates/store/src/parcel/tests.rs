//! Forgers who know the format: every digest over a parcel is right here, and what is in it is not.

use super::form::Form;
use super::head::HEAD_BYTES;
use super::layout::{Coded, Fit, Layout, Writer, form_tag, sealed};
use super::limits::{BROTLI_QUALITY_MAX, ENTRIES_MAX, PARCEL_BYTES, PARCEL_BYTES_MAX, WEIGHT_ALONE_MAX, WEIGHT_MAX};
use super::proof::weigh;
use super::{Outcome, open_capture};
use crate::capture::{Body, Capture, Kind, Record, RecordId, WarcHeader};
use crate::compress::{pack, pack_delta};
use crate::disk::sim::SimDisk;
use crate::envelope::{self, Where};
use crate::index::{EntryKey, MemoryEngine};
use crate::wire::Put;
use crate::{Error, Store};
use herodotus_base::{Sha256, Timestamp};
use std::sync::Arc;

fn open() -> Store {
    Store::open_simulated(Arc::new(SimDisk::new()), Arc::new(MemoryEngine::new())).unwrap().0
}

fn time(n: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + n).unwrap()
}

fn page(n: i64) -> Capture {
    let url = "https://example.org/";
    let body: Vec<u8> =
        (0..200u32).flat_map(|i| format!("<p>{}, {n}</p>", i.wrapping_mul(2_654_435_761)).into_bytes()).collect();
    let main = Record::new(Kind::Response, url, time(n), b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), Body::new(body));
    let request = Record::new(Kind::Request, url, time(n), b"GET / HTTP/1.1\r\n\r\n".to_vec(), Body::new(*b""));
    Capture { url: url.into(), time: time(n), main, companions: vec![request] }
}

/// A page whose record somebody else named: nothing says that it is named after its content.
fn foreign(n: i64, fields: Vec<(String, String)>) -> Capture {
    let mut capture = page(n);
    capture.main.id = RecordId::Uuid([n as u8; 16]);
    capture.main.warc = Some(WarcHeader { version: "WARC/1.1".into(), fields: fields.into() });
    capture
}

fn whole(id: &EntryKey, item: &[u8], beside: Option<&[u8]>) -> Vec<u8> {
    let mut writer = Writer::new(usize::MAX);
    let coded = Coded::Whole { raw_len: item.len() };
    assert_eq!(writer.put(id, item, item.len(), &coded, beside).unwrap(), Fit::Taken);
    writer.finish().unwrap()
}

fn outcomes(store: &Store, parcel: &[u8]) -> Vec<Outcome> {
    store.take_parcel(parcel).unwrap().entries.into_iter().map(|(_, outcome)| outcome).collect()
}

/// The one entry is refused, for this reason, and nothing is stored.
fn assert_refused(parcel: &[u8], why: &str) {
    let store = open();
    let outcomes = outcomes(&store, parcel);
    assert!(matches!(outcomes.as_slice(), [Outcome::Refused(told)] if told.contains(why)), "{why}: {outcomes:?}");
    assert_eq!(store.scan_all().count(), 0, "{why}");
}

/// It is no parcel at all.
fn assert_no_parcel(parcel: &[u8]) {
    assert!(matches!(open().take_parcel(parcel), Err(Error::Refused(_))));
    assert!(matches!(open_capture(&page(1).id(), parcel), Err(Error::Refused(_))));
}

#[test]
fn the_forgers_tools_make_good_parcels_too() {
    let store = open();
    let item = Form::plain(&page(1)).item;
    assert_eq!(outcomes(&store, &whole(&page(1).id(), &item, None)), [Outcome::Stored]);
    assert_eq!(store.read(&page(1).id()).unwrap(), Some(page(1)));
}

#[test]
fn a_forged_name_is_refused() {
    let item = Form::plain(&page(1)).item;
    let id = page(1).id();
    for forged in [
        EntryKey { key: "org,other)/".into(), ..id.clone() },
        EntryKey { time: time(2), ..id.clone() },
        EntryKey { tag: [0; 8], ..id },
    ] {
        let parcel = whole(&forged, &item, None);
        assert_refused(&parcel, "name");
        assert!(open_capture(&forged, &parcel).is_err());
    }
}

#[test]
fn a_body_that_fails_its_digest_is_refused_wherever_it_is() {
    // Foreign, so that only the digest of the body can tell.
    let capture = foreign(1, vec![]);
    let id = capture.id();
    let mut here = Form::plain(&capture).item;
    *here.last_mut().unwrap() ^= 1;
    assert_refused(&whole(&id, &here, None), "fails its digest");
    let mut short = Form::plain(&capture).item;
    short.pop();
    assert_refused(&whole(&id, &short, None), "fails its digest");
    let raw = envelope::encode(&capture, &Where::Raw, &[], None);
    assert_refused(&whole(&id, &raw, Some(b"another body")), "not in the parcel");
    assert_refused(&whole(&id, &raw, None), "not in the parcel");
    assert!(open_capture(&id, &whole(&id, &raw, Some(b"another body"))).is_err());
}

#[test]
fn a_coded_body_that_folds_to_something_else_is_refused() {
    let mut capture = foreign(1, vec![]);
    capture.main.head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
    capture.main.body = Body::new(*include_bytes!("../../tests/data/coded/page0.gz"));
    let mut item = Form::plain(&capture).item;
    assert!(item.len() > capture.main.body.len() as usize * 2, "it is unfolded");
    assert_eq!(outcomes(&open(), &whole(&capture.id(), &item, None)), [Outcome::Stored]);
    *item.last_mut().unwrap() ^= 1;
    assert_refused(&whole(&capture.id(), &item, None), "fails its digest");
    for recipe in [b"\x09\x00".as_slice(), b"\x02\x01\x00", b"\x03\x02\x05", b"\x01"] {
        let mut item = envelope::encode(&capture, &Where::Here, recipe, None);
        item.extend_from_slice(b"inner");
        assert_refused(&whole(&capture.id(), &item, None), "put together");
    }
}

#[test]
fn a_recipe_that_takes_too_long_is_not_followed() {
    let capture = foreign(1, vec![]);
    let mut item = envelope::encode(&capture, &Where::Here, &[3, 2, BROTLI_QUALITY_MAX + 1, 22], None);
    item.extend_from_slice(b"inner");
    assert_refused(&whole(&capture.id(), &item, None), "put together");
}

#[test]
fn what_we_captured_ourselves_cannot_be_changed_without_its_name_telling() {
    let id = page(1).id();
    let changes: [fn(&mut Capture); 4] = [
        |c| c.main.head = b"HTTP/1.1 404 No\r\n\r\n".to_vec(),
        |c| c.main.body = Body::new(*b"other"),
        |c| c.companions[0].head = b"GET /other HTTP/1.1\r\n\r\n".to_vec(),
        |c| c.url = "https://EXAMPLE.org/".into(),
    ];
    for change in changes {
        let mut capture = page(1);
        change(&mut capture);
        assert_eq!(capture.id(), id);
        assert_refused(&whole(&id, &Form::plain(&capture).item, None), "another content");
    }
}

#[test]
fn a_difference_to_another_form_of_its_base_lacks_its_base() {
    let store = open();
    store.append(page(1)).unwrap();
    let (base, new) = (Form::plain(&page(1)).item, Form::plain(&page(2)).item);
    let packed = pack_delta(&new, &base, 3).unwrap();
    let (far, id) = (page(1).id(), page(2).id());
    let parcel = |time, form| {
        let mut writer = Writer::new(usize::MAX);
        let coded = Coded::Far { time, tag: far.tag, form, raw_len: new.len(), packed: &packed };
        writer.put(&id, &new, new.len(), &coded, None).unwrap();
        writer.finish().unwrap()
    };
    let tag = form_tag(&base);
    assert_eq!(outcomes(&store, &parcel(far.time, [0; 8])), [Outcome::LacksBase]);
    assert_eq!(outcomes(&store, &parcel(time(9), tag)), [Outcome::LacksBase]);
    assert_eq!(store.scan_all().count(), 1);
    assert_eq!(outcomes(&store, &parcel(far.time, tag)), [Outcome::Stored]);
    assert_eq!(store.read(&id).unwrap(), Some(page(2)));
}

#[test]
fn a_difference_that_unpacks_to_something_else_is_refused() {
    let store = open();
    store.append(page(1)).unwrap();
    // Made to another base than it names, whose tag it knows.
    let (base, other, new) = (Form::plain(&page(1)).item, Form::plain(&page(77)).item, Form::plain(&page(2)).item);
    let packed = pack_delta(&new, &other, 3).unwrap();
    let far = page(1).id();
    let mut writer = Writer::new(usize::MAX);
    let coded = Coded::Far { time: far.time, tag: far.tag, form: form_tag(&base), raw_len: new.len(), packed: &packed };
    writer.put(&page(2).id(), &new, new.len(), &coded, None).unwrap();
    assert!(matches!(outcomes(&store, &writer.finish().unwrap()).as_slice(), [Outcome::Refused(_)]));
    assert_eq!(store.scan_all().count(), 1);
}

#[test]
fn a_body_of_a_capture_that_is_not_here_or_has_another_is_lacking() {
    let store = open();
    store.append(page(1)).unwrap();
    for owner in [page(1).id(), page(9).id(), page(2).id()] {
        let item = Form::repeat(&page(2), &owner).item;
        assert_eq!(outcomes(&store, &whole(&page(2).id(), &item, None)), [Outcome::LacksBase]);
    }
    assert_eq!(store.scan_all().count(), 1);
}

#[test]
fn a_large_body_that_is_here_but_is_not_what_the_capture_says_is_refused() {
    use std::io::Write;
    let store = open();
    let mut writer = store.blob_writer("text/plain").unwrap();
    writer.write_all(b"large").unwrap();
    let Body::Blob { len, digests } = writer.finish().unwrap() else { panic!("no blob") };
    let mut capture = foreign(1, vec![]);
    for (len, sha1) in [(len + 1, digests.sha1), (len, herodotus_base::Sha1([0; 20]))] {
        capture.main.body = Body::Blob { len, digests };
        let item = Form::large(Form::plain(&capture).item, &sha1).item;
        assert!(matches!(outcomes(&store, &whole(&capture.id(), &item, None)).as_slice(), [Outcome::Refused(_)]));
    }
    let without = Form::plain(&capture).item;
    assert!(matches!(outcomes(&store, &whole(&capture.id(), &without, None)).as_slice(), [Outcome::Refused(_)]));
    capture.main.body = Body::Blob { len, digests };
    let item = Form::large(Form::plain(&capture).item, &digests.sha1).item;
    assert_eq!(outcomes(&store, &whole(&capture.id(), &item, None)), [Outcome::Stored]);
}

#[test]
fn one_bad_entry_does_not_spoil_the_others() {
    let mut writer = Writer::new(usize::MAX);
    for n in 1..=3 {
        let mut item = Form::plain(&page(n)).item;
        if n == 2 {
            *item.last_mut().unwrap() ^= 1;
        }
        writer.put(&page(n).id(), &item, item.len(), &Coded::Whole { raw_len: item.len() }, None).unwrap();
    }
    let store = open();
    let outcomes = outcomes(&store, &writer.finish().unwrap());
    assert!(matches!(outcomes.as_slice(), [Outcome::Stored, Outcome::Refused(_), Outcome::Stored]), "{outcomes:?}");
    assert_eq!(store.read(&page(3).id()).unwrap(), Some(page(3)));
}

/// A parcel of one entry that is written by hand: its kind and what follows its name.
fn by_hand(kind: u8, rest: &[u8], frames: &[u8]) -> Vec<u8> {
    let id = page(1).id();
    let mut out = vec![1, kind, 0];
    out.put_bytes(id.key.as_bytes());
    out.put_i64(id.time.millis());
    out.put_raw(&id.tag);
    out.put_raw(rest);
    out.put_raw(frames);
    sealed(&out)
}

#[test]
fn sizes_that_no_parcel_has_are_refused_before_anything_is_unpacked() {
    for len in [WEIGHT_ALONE_MAX as u64 + 1, u64::MAX] {
        let mut raw_len = Vec::new();
        raw_len.put_u64(len);
        assert_no_parcel(&by_hand(1, &raw_len, &[1, 1, 1, 0, 0]));
    }
    // More entries than any parcel has, frames and bodies that nothing asks for, an entry before the first, one against itself.
    let mut many = Vec::new();
    many.put_len(ENTRIES_MAX + 1);
    for rest in [&many[..], &[0xff; 10], &[0, 1, 1, 0, 0, 0], &[0, 0, 1, 0], &[0, 0], &[]] {
        assert_no_parcel(&sealed(rest));
    }
    assert_no_parcel(&by_hand(2, &[1, 5, 0], &[0, 0]));
    assert_no_parcel(&by_hand(2, &[0, 5, 0], &[0, 0]));
    assert_no_parcel(&by_hand(9, &[], &[0, 0]));
    assert_no_parcel(&by_hand(1, &[5], &[0, 0]));
    assert_no_parcel(&vec![0; PARCEL_BYTES_MAX + 1]);
    assert!(Layout::read(&sealed(&[0, 0, 0])).unwrap().entries.is_empty());
}

#[test]
fn a_newer_form_is_refused_in_those_words() {
    let mut parcel = whole(&page(1).id(), &Form::plain(&page(1)).item, None);
    parcel[4] = 2;
    let error = open().take_parcel(&parcel).unwrap_err().to_string();
    assert!(error.contains("newer herodotus"), "{error}");
}

#[test]
fn a_frame_that_unpacks_to_more_or_less_than_it_says_is_refused() {
    let bomb = pack(&vec![0; 60_000_000], 3).unwrap();
    for (raw_len, frame) in [(100u64, &bomb[..]), (60_000_001, &bomb), (60_000_000, &bomb), (5, b"garbage")] {
        let (mut rest, mut frames) = (Vec::new(), vec![1, 1, 1]);
        rest.put_u64(raw_len);
        frames.put_bytes(frame);
        frames.push(0);
        assert_refused(&by_hand(1, &rest, &frames), if raw_len == 60_000_000 { "read" } else { "unpacked" });
    }
}

#[test]
fn keys_that_repeat_each_other_do_not_fill_the_memory() {
    let id = page(1).id();
    let key = "k".repeat(30_000);
    let mut out = Vec::new();
    out.put_len(ENTRIES_MAX);
    for n in 0..ENTRIES_MAX {
        out.push(0);
        out.put_len(if n == 0 { 0 } else { key.len() });
        out.put_bytes(if n == 0 { key.as_bytes() } else { &[] });
        out.put_i64(0);
        out.put_raw(&id.tag);
    }
    out.put_raw(&[0, 0]);
    assert!(out.len() < 80_000);
    assert_no_parcel(&sealed(&out));
}

#[test]
fn differences_to_differences_do_not_unpack_without_end() {
    let item = vec![0; 1_000_000];
    let same = pack_delta(&item, &item, 3).unwrap();
    let mut writer = Writer::new(usize::MAX);
    let id = page(1).id();
    assert_eq!(writer.put(&id, &item, 1, &Coded::Whole { raw_len: item.len() }, None).unwrap(), Fit::Taken);
    for _ in 0..100 {
        // The forger's own count says that each weighs a byte.
        let coded = Coded::Near { back: 1, raw_len: item.len(), packed: &same };
        assert_eq!(writer.put(&id, &item, 1, &coded, None).unwrap(), Fit::Taken);
    }
    assert_no_parcel(&writer.finish().unwrap());
}

#[test]
fn fields_that_stand_for_more_than_they_take_do_not_fill_the_memory() {
    // Each takes two bytes here, and would be a URL of 30 KB.
    let url = format!("https://example.org/{}", "u".repeat(30_000));
    let fields = vec![("WARC-Target-URI".to_owned(), url.clone()); 20_000];
    let mut capture = foreign(1, fields);
    capture.url = url;
    let item = Form::plain(&capture).item;
    assert!(item.len() < 100_000 && weigh(&item).unwrap() > 600_000_000);
    let parcel = whole(&capture.id(), &item, None);
    assert_refused(&parcel, "memory");
    assert!(open_capture(&capture.id(), &parcel).is_err());
    // And short ones, many times over.
    let short = foreign(1, vec![("WARC-Type".to_owned(), "response".to_owned()); 100_000]);
    let item = Form::plain(&short).item;
    let mut writer = Writer::new(usize::MAX);
    for n in 1..=2 {
        let id = EntryKey { time: time(n), ..short.id() };
        writer.put(&id, &item, 1, &Coded::Whole { raw_len: item.len() }, None).unwrap();
    }
    let outcomes = outcomes(&open(), &writer.finish().unwrap());
    assert!(matches!(&outcomes[1], Outcome::Refused(why) if why.contains("memory")), "{outcomes:?}");
}

#[test]
fn a_parcel_that_is_filled_here_weighs_no_more_than_is_taken_there() {
    let mut writer = Writer::new(usize::MAX);
    let item = vec![0; 1000];
    let mut n = 0;
    while writer.put(&page(n).id(), &item, 1_000_000, &Coded::Whole { raw_len: 1000 }, None).unwrap() == Fit::Taken {
        n += 1;
    }
    assert_eq!(n as usize, WEIGHT_MAX / 1_000_000);
    let mut alone = Writer::new(PARCEL_BYTES);
    assert_eq!(
        alone.put(&page(1).id(), &item, WEIGHT_ALONE_MAX + 1, &Coded::Whole { raw_len: 1000 }, None).unwrap(),
        Fit::TooHeavy
    );
    assert_eq!(
        alone.put(&page(1).id(), &item, WEIGHT_ALONE_MAX, &Coded::Whole { raw_len: 1000 }, None).unwrap(),
        Fit::Taken
    );
}

/// Every kind of entry, and bodies beside.
fn mixed() -> (Store, Vec<u8>) {
    let from = open();
    let mut ids: Vec<EntryKey> = (1..6).map(|n| page(n).id()).collect();
    for n in 0..6 {
        from.append(page(n)).unwrap();
    }
    let noise: Vec<u8> = (0..3000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for n in 0..2 {
        let (url, time) = (format!("https://example.org/{n}.png"), time(n));
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n".to_vec();
        let main = Record::new(Kind::Response, &url, time, head, Body::new(noise.clone()));
        let capture = Capture { url, time, main, companions: vec![] };
        ids.push(capture.id());
        from.append(capture).unwrap();
    }
    from.remove(&page(5).id()).unwrap();
    let has = page(0).id();
    let (parcel, covered) = from.parcel(&ids, |id| *id == has, PARCEL_BYTES).unwrap();
    assert_eq!((covered, parcel.entries), (ids.len(), ids.len()));
    (from, parcel.bytes)
}

#[test]
fn a_flipped_bit_under_a_right_digest_never_stores_another_capture() {
    let (from, parcel) = mixed();
    let mut stored = 0;
    for at in HEAD_BYTES..parcel.len() {
        let mut rest = parcel[HEAD_BYTES..].to_vec();
        rest[at - HEAD_BYTES] ^= 1 << (at % 8);
        let to = open();
        to.append(page(0)).unwrap();
        let _ = to.take_parcel(&sealed(&rest));
        for entry in to.scan_all() {
            let id = entry.unwrap().id;
            // The companions' names, and what the record says of how it was fetched, are the sender's word.
            let (here, there) = (to.read(&id).unwrap().unwrap(), from.read(&id).unwrap());
            assert_eq!(Some(&here.main), there.as_ref().map(|capture| &capture.main), "byte {at}");
            stored += 1;
        }
    }
    assert!(stored > parcel.len(), "most entries are unharmed by most flips: {stored}");
}

#[test]
fn a_cut_under_a_right_digest_never_stores_another_capture() {
    let (from, parcel) = mixed();
    for end in HEAD_BYTES..parcel.len() {
        let to = open();
        to.append(page(0)).unwrap();
        let _ = to.take_parcel(&sealed(&parcel[HEAD_BYTES..end]));
        for entry in to.scan_all() {
            let id = entry.unwrap().id;
            assert_eq!(to.read(&id).unwrap(), from.read(&id).unwrap(), "cut at {end}");
        }
    }
}

#[test]
fn the_digest_is_over_everything() {
    let (_, parcel) = mixed();
    assert_eq!(parcel[5..HEAD_BYTES], Sha256::of(&parcel[HEAD_BYTES..]).0);
}
