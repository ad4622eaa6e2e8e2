//! Two machines exchange captures as they lie in packs: what one took in before the other came, both ways, byte for byte; and where only some of a block is
//! wanted, in parcels.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::machines;

use bytes::Bytes;
use herodotus_base::{Sha256, Timestamp};
use herodotus_node::copies::CopiesSettings;
use herodotus_store::archive::{ImportOptions, import};
use herodotus_store::parcel::shipment::limits::SHIPMENT_BYTES_MAX;
use herodotus_store::{Body, Capture, EntryKey, Kind, Record};
use herodotus_web::peers::{HealthView, Peers};
use machines::{COPIES, COUNT_OF_A, COUNTED_NONE, Machine, asking, start, write_pages};
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

const WAIT_MAX: Duration = Duration::from_secs(60);
const HOSTS: usize = 12;
const PAGES: usize = 40;
const VERSIONS: usize = 4;
const ALL: usize = HOSTS * PAGES * VERSIONS;

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < WAIT_MAX, "not within {WAIT_MAX:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The payloads of shared frames in a machine's packs.
fn frames(data: &Path) -> HashSet<Vec<u8>> {
    const GROUP: u8 = 1;
    let mut found = HashSet::new();
    for pack in std::fs::read_dir(data.join("packs")).unwrap() {
        let bytes = std::fs::read(pack.unwrap().path()).unwrap();
        let mut rest = &bytes[16..];
        while let Some((header, behind)) = rest.split_first_chunk::<16>() {
            let len = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
            if header[4] == GROUP {
                found.insert(behind[..len].to_vec());
            }
            rest = &behind[len..];
        }
    }
    found
}

fn assert_same(one: &Machine, other: &Machine) {
    let names = one.names();
    assert_eq!(names, other.names());
    for id in names {
        assert_eq!(one.store.read(&id).unwrap(), other.store.read(&id).unwrap(), "{id:?}");
    }
    assert!(other.store.verify(|_, _| {}).unwrap().damaged.is_empty());
}

/// Pages of some hosts, in some versions; and what else there is of each.
fn fill(machine: &Machine, besides: impl Fn(&str) -> Option<Capture>) {
    for host in 0..HOSTS {
        if let Some(capture) = besides(&format!("http://host-{host}.example/besides")) {
            machine.store.append(capture).unwrap();
        }
        for version in 0..VERSIONS {
            let path = machine.data.join("pages.warc");
            write_pages(&path, &format!("host-{host}.example"), 0..PAGES, version, |page| {
                let line = |line| Sha256::of(format!("{host} {page} {line}").as_bytes()).to_string() + "\n";
                (0..40).map(line).chain([format!("version {version}\n")]).collect()
            });
            import(&machine.store, &path, &ImportOptions::default(), |_| {}).unwrap();
        }
    }
    machine.store.seal().unwrap();
}

#[test]
fn a_newcomer_gets_blocks_as_they_lie_and_what_is_partly_there_in_parcels() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let settings = CopiesSettings::default().at_pace(0.01);
    let (first, ring) = runtime.block_on(start(dir.path().join("first"), 131, None, 2, settings.clone()));
    fill(&first, |_| None);
    assert_eq!(first.names().len(), ALL);
    let (second, _ring) = runtime.block_on(start(dir.path().join("second"), 132, Some(&ring), 2, settings));
    until("the newcomer has everything", || second.names().len() == ALL);
    assert_same(&first, &second);
    let (theirs, ours) = (frames(&first.data), frames(&second.data));
    let adopted = theirs.intersection(&ours).count();
    println!("{adopted} of {} frames lie as they lay", theirs.len());
    assert!(adopted * 2 > theirs.len(), "{adopted} of {}", theirs.len());

    // One page of each host goes, with all of its versions, and others with some.
    let some: Vec<EntryKey> =
        second.names().into_iter().enumerate().filter(|(n, _)| n % 7 < 2).map(|(_, id)| id).collect();
    assert!(some.len() > 64);
    assert_eq!(second.store.release(&some).unwrap(), some.len() as u64);
    second.store.seal().unwrap();
    until("they are back", || second.names().len() == ALL);
    assert_same(&first, &second);
    // Where nothing is left of them, too.
    second.store.release(&some).unwrap();
    second.store.compact(false, |_, _| {}).unwrap();
    until("they are back once more", || second.names().len() == ALL);
    assert_same(&first, &second);
}

/// Names of 8 KB, of which some hundred make a page: the next is asked for while those before still come.
#[test]
fn a_newcomer_gets_everything_where_its_names_fill_many_pages() {
    const NAMES: usize = 300;
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let settings = CopiesSettings::default().at_pace(0.01);
    let (first, ring) = runtime.block_on(start(dir.path().join("first"), 166, None, 2, settings.clone()));
    for host in 0..HOSTS / 2 {
        for n in 0..NAMES {
            let url = format!("http://host-{host}.example/{n:04}{}", "/deeper".repeat(1_150));
            let (time, head) = (Timestamp::parse("20240301").unwrap(), b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
            let main = Record::new(Kind::Response, &url, time, head, Body::new(format!("{host} {n}").into_bytes()));
            first.store.append(Capture { url, time, main, companions: Vec::new() }).unwrap();
        }
    }
    first.store.seal().unwrap();
    let all = first.names().len();
    assert_eq!(all, HOSTS / 2 * NAMES);
    let (second, _ring) = runtime.block_on(start(dir.path().join("second"), 167, Some(&ring), 2, settings));
    until("the newcomer has everything", || second.names().len() == all);
    assert_same(&first, &second);
    assert!(second.store.shipments_taken() > 1, "not in parcels alone");
}

/// All who hold an arc are compared with at once, and each has everything to send.
#[test]
fn a_newcomer_gets_nothing_twice_however_many_have_it() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let settings = CopiesSettings::default().at_pace(0.01);
    let (first, ring) = runtime.block_on(start(dir.path().join("first"), 161, None, 8, settings.clone()));
    fill(&first, |_| None);
    let mut machines = vec![first];
    let mut sent = Vec::new();
    for (number, name) in [(162, "second"), (163, "third"), (164, "fourth"), (165, "fifth")] {
        let data = dir.path().join(name);
        let (newcomer, _) = runtime.block_on(start(data, number, Some(&ring), 8, settings.clone()));
        until("the newcomer has everything", || newcomer.names().len() == ALL);
        machines.push(newcomer);
        let is_counted = |view: &HealthView| matches!(view.objects[..], [o] if usize::from(o.copies) == machines.len());
        let mut view = None;
        until("all of it is counted", || {
            view = machines[0].copies.health().filter(is_counted);
            view.is_some()
        });
        sent.push(view.unwrap().machines.iter().map(|m| m.bytes_served).sum::<u64>());
    }
    let each: Vec<u64> = sent.iter().scan(0, |before, all| Some(all - std::mem::replace(before, *all))).collect();
    let held: usize = frames(&dir.path().join("first")).iter().map(Vec::len).sum();
    println!("bytes that were sent to each: {each:?}; bytes of frames: {held}");
    // With all that belongs to them, frames are a quarter more; and of what an owner brings meanwhile, some comes twice, most of all where there are two.
    let (newcomers, sent) = (each.len() - 1, each.iter().skip(1).sum::<u64>());
    assert!(sent < (newcomers * held * 8 / 5) as u64, "{sent} for {newcomers} times {held}");
}

/// A capture whose bytes are not those of its digest, as bad memory would have written it: the disk finds nothing wrong with it.
fn bad(url: &str) -> Capture {
    let (time, head) = (Timestamp::parse("20240301").unwrap(), b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
    let text: String = (0..40).map(|line| format!("{line} of {url}\n")).collect();
    let mut main = Record::new(Kind::Response, url, time, head, Body::new(text.clone().into_bytes()));
    main.body = Body::Bytes(text.replace('4', "5").into_bytes().into(), main.body.digests());
    Capture { url: url.to_owned(), time, main, companions: Vec::new() }
}

/// Breaking off there would break off each time, and nothing would ever be known to lie on two machines.
#[test]
fn what_is_refused_is_left_out_and_its_comparison_ends_well() {
    // Enough for shipments, and for a block that is not too small for them.
    const BAD: usize = 80;
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut settings = CopiesSettings::default().at_pace(0.01);
    // Nobody fails an audit for what is damaged: this is about what is brought and fetched.
    settings.custody.audit_every = Duration::from_secs(60 * 60);
    let (first, ring) = runtime.block_on(start(dir.path().join("first"), 135, None, 2, settings.clone()));
    // On arcs of either machine, a block of nothing else, which is shipped each time; and one in a block with others.
    for host in 0..HOSTS {
        for n in 0..BAD {
            first.store.append(bad(&format!("http://host-{host}.example/bad/{n}"))).unwrap();
        }
        first.store.seal().unwrap();
    }
    fill(&first, |url| Some(bad(url)));
    let (damaged, _) = first.store.scrub(None, u64::MAX).unwrap();
    assert_eq!((first.names().len(), damaged.len()), (ALL + HOSTS * (BAD + 1), HOSTS * (BAD + 1)));
    let (second, _ring) = runtime.block_on(start(dir.path().join("second"), 136, Some(&ring), 2, settings));
    let good: Vec<EntryKey> = first.names().into_iter().filter(|id| !damaged.contains(id)).collect();
    until("the newcomer has everything that is good", || second.names().iter().eq(&good));
    until("all of it is known to lie on two machines", || {
        let view = first.copies.health().unwrap_or_default();
        matches!(view.objects[..], [objects] if objects.copies == 2 && objects.objects >= ALL as u64)
    });
    assert!(second.store.verify(|_, _| {}).unwrap().damaged.is_empty());
}

/// They last for as long as a machine is being filled.
#[test]
fn while_as_many_streams_of_shipments_are_under_way_as_may_be_questions_are_answered() {
    // As the wire has them, for ever.
    const TAKE_SHIPMENTS: &[u8] = &[4];
    const GIVE_SHIPMENTS: &[u8] = &[5];
    const STREAMS_AT_ONCE: usize = 4;
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (_first, ring) =
        runtime.block_on(start(dir.path().join("first"), 137, None, 2, CopiesSettings::default().at_pace(0.01)));
    runtime.block_on(async {
        let (asking, ticket) = asking(dir.path(), 138, &ring).await;
        let mut streams = Vec::new();
        for head in [TAKE_SHIPMENTS, GIVE_SHIPMENTS].repeat(STREAMS_AT_ONCE) {
            let mut stream = asking.stream(ticket.issuer(), COPIES, Bytes::from_static(head)).await.unwrap();
            // The beginning of something long, and more of it than is let in unread: the other has begun to read when this is written.
            let len = (SHIPMENT_BYTES_MAX as u32).to_be_bytes();
            stream.write_all(&len).await.unwrap();
            stream.write_all(&vec![0; 2 << 20]).await.unwrap();
            streams.push(stream);
        }
        let question = Bytes::from_static(COUNT_OF_A);
        let answer = asking.call(ticket.issuer(), COPIES, question, WAIT_MAX / 2).await;
        assert_eq!(answer.expect("nobody waits for shipments"), COUNTED_NONE);
        drop(streams);
        asking.close().await;
    });
}
