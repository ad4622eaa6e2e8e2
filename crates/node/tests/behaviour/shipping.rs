//! Two machines exchange captures as they lie in packs: what one took in before the other came, both ways, byte for byte; and where only some of a block is
//! wanted, in parcels.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::machines;

use herodotus_base::Sha256;
use herodotus_node::copies::CopiesSettings;
use herodotus_store::EntryKey;
use herodotus_store::archive::{ImportOptions, import};
use machines::{Machine, start, write_pages};
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

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

#[test]
fn a_newcomer_gets_blocks_as_they_lie_and_what_is_partly_there_in_parcels() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let settings = CopiesSettings::default().at_pace(0.01);
    let (first, ring) = runtime.block_on(start(dir.path().join("first"), 131, None, 2, settings.clone()));
    for host in 0..HOSTS {
        for version in 0..VERSIONS {
            let path = first.data.join("pages.warc");
            write_pages(&path, &format!("host-{host}.example"), 0..PAGES, version, |page| {
                let line = |line| Sha256::of(format!("{host} {page} {line}").as_bytes()).to_string() + "\n";
                (0..40).map(line).chain([format!("version {version}\n")]).collect()
            });
            import(&first.store, &path, &ImportOptions::default(), |_| {}).unwrap();
        }
    }
    first.store.seal().unwrap();
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
