//! What one machine of a ring does for another, with real stores and connections, two of them in one process. Many at once, with deaths, are in
//! `crates/cli/tests/cluster`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::machines;

use herodotus_base::Sha256;
use herodotus_node::copies::CopiesSettings;
use herodotus_store::archive::{ImportOptions, import};
use herodotus_store::key_of;
use herodotus_web::Elsewhere;
use herodotus_web::archive::Away;
use herodotus_web::peers::Peers;
use machines::{Machine, start, write_pages};
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

const WAIT_MAX: Duration = Duration::from_secs(60);

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < WAIT_MAX, "not within {WAIT_MAX:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the place of a host is this machine's, and not the other's.
fn is_only_with(machine: &Machine, other: &Machine, host: &str) -> bool {
    let key = key_of(&format!("http://{host}/"));
    machine.copies.is_here(&key) && !other.copies.is_here(&key)
}

/// A host whose place is the machine's own, once both know of each other: before that, the first of a ring has every place.
fn host_of(machine: &Machine, other: &Machine) -> String {
    let mut names = (1..).map(|n| format!("place-{n}.example"));
    let mut found = None;
    for (one, two) in [(other, machine), (machine, other)] {
        until("each owns what the other does not", || {
            found = names.by_ref().take(100).find(|host| is_only_with(one, two, host));
            found.is_some()
        });
    }
    found.unwrap()
}

/// Takes pages in that nothing else is like.
fn take_in(machine: &Machine, runtime: &tokio::runtime::Runtime, host: &str, pages: Range<usize>, version: usize) {
    let path = machine.data.join(format!("{version}.warc"));
    write_pages(&path, host, pages, version, |page| {
        (0..40).map(|line| Sha256::of(format!("{version} {page} {line}").as_bytes()).to_string() + "\n").collect()
    });
    import(&machine.store, &path, &ImportOptions::default(), |_| {}).unwrap();
    runtime.block_on(machine.copies.handed_on()).unwrap();
}

fn packed_bytes(data: &Path) -> u64 {
    let packs = std::fs::read_dir(data.join("packs")).unwrap();
    packs.map(|pack| pack.unwrap().metadata().unwrap().len()).sum()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn a_stray_goes_home_without_bringing_what_lies_around_it() {
    const HOSTS: usize = 8;
    const PAGES: usize = 40;
    let (dir, runtime) = (tempfile::tempdir().unwrap(), runtime());
    let settings = CopiesSettings { durable_on: 1, ..CopiesSettings::default().at_pace(0.01) };
    let (owner, ring) = runtime.block_on(start(dir.path().join("owner"), 121, None, 1, settings.clone()));
    let hosts: Vec<String> = (0..HOSTS).map(|n| format!("host-{n}.example")).collect();
    // Before anybody else is there to whom it might be handed.
    for (version, host) in hosts.iter().enumerate() {
        take_in(&owner, &runtime, host, 0..PAGES, version);
    }
    let (other, _ring) = runtime.block_on(start(dir.path().join("other"), 122, Some(&ring), 1, settings));
    host_of(&owner, &other);
    let home = hosts.iter().find(|host| is_only_with(&owner, &other, host));
    // All of the hosts may have gone to the other: one time in many, and then there is nothing to be seen.
    let Some(home) = home else { return };
    let have_their_own = || {
        [(&owner, &other), (&other, &owner)].iter().all(|(one, two)| {
            let places = hosts.iter().filter(|host| is_only_with(one, two, host)).count();
            one.names().len() == places * PAGES
        })
    };
    until("each has its own", have_their_own);
    let before = packed_bytes(&other.data);
    let held = other.names().len();
    take_in(&other, &runtime, home, 0..3, HOSTS);
    until("all of it is at home", || {
        let all = HOSTS * PAGES + 3;
        other.names().len() == held && owner.names().len() == all - held
    });
    let (grown, whole) = (packed_bytes(&other.data) - before, packed_bytes(&owner.data));
    assert!(grown < whole / HOSTS as u64 / 2, "{grown} bytes were written beside the owner's {whole}");
}

#[test]
fn damage_that_an_audit_comes_upon_is_mended_before_the_disk_is_read_through() {
    let (dir, runtime) = (tempfile::tempdir().unwrap(), runtime());
    let mut settings = CopiesSettings::default().at_pace(0.01);
    settings.custody.audit_every = Duration::from_millis(300);
    settings.scrub_every = Duration::from_secs(30 * 24 * 60 * 60);
    let (owner, ring) = runtime.block_on(start(dir.path().join("owner"), 123, None, 2, settings.clone()));
    let (holder, _ring) = runtime.block_on(start(dir.path().join("holder"), 124, Some(&ring), 2, settings));
    let host = host_of(&owner, &holder);
    take_in(&owner, &runtime, &host, 0..10, 0);
    until("both have everything", || holder.names().len() == 10);
    holder.store.seal().unwrap();
    for pack in std::fs::read_dir(holder.data.join("packs")).unwrap() {
        let path = pack.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
    }
    let damaged = || holder.store.scrub(None, u64::MAX).unwrap().0.len();
    assert!(damaged() > 0, "nothing was harmed");
    until("it is mended", || damaged() == 0);
}

/// Whoever shows it tells the reader to try again, and does not take it for a fault of the archive.
#[test]
fn a_large_body_that_breaks_off_on_its_way_is_away_and_not_broken() {
    let (dir, runtime) = (tempfile::tempdir().unwrap(), runtime());
    let settings = CopiesSettings { durable_on: 1, ..CopiesSettings::default().at_pace(0.01) };
    let (owner, ring) = runtime.block_on(start(dir.path().join("owner"), 133, None, 1, settings.clone()));
    let (other, _ring) = runtime.block_on(start(dir.path().join("other"), 134, Some(&ring), 1, settings));
    let (path, host) = (owner.data.join("large.warc"), host_of(&owner, &other));
    let line = |line| Sha256::of(format!("{line}").as_bytes()).to_string() + "\n";
    write_pages(&path, &host, 0..1, 0, |_| (0..120_000).map(line).collect());
    import(&owner.store, &path, &ImportOptions::default(), |_| {}).unwrap();
    let id = owner.names().into_iter().next().unwrap();
    let body = owner.store.read(&id).unwrap().unwrap().main.body;
    let read = || {
        let mut bytes = Vec::new();
        let mut reader = other.copies.blob(&id, &body.digests().sha256, 0).unwrap();
        let result = reader.read_to_end(&mut bytes);
        (result, bytes.len() as u64)
    };
    let (result, len) = read();
    assert!(result.is_ok() && len == body.len(), "{result:?} {len}");
    let blob = std::fs::read_dir(owner.data.join("blobs")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&blob).unwrap();
    let last = bytes.len() - bytes.len() / 8;
    bytes[last] ^= 1;
    std::fs::write(&blob, bytes).unwrap();
    let (result, len) = read();
    let error = result.expect_err("nobody has the rest");
    let away = error.get_ref().and_then(|inner| inner.downcast_ref::<Away>());
    assert!(matches!(away, Some(Away::Silent { .. })), "{error:?}");
    assert!(len > 0 && len < body.len(), "{len}");
}

#[test]
fn what_is_written_against_something_that_the_other_let_go_goes_whole_before_it_counts() {
    const PAGES: usize = 10;
    let (dir, runtime) = (tempfile::tempdir().unwrap(), runtime());
    let mut settings = CopiesSettings::default().at_pace(0.01);
    // Nothing is mended by a comparison meanwhile.
    settings.custody.compare_every = Duration::from_secs(60 * 60);
    let (owner, ring) = runtime.block_on(start(dir.path().join("owner"), 125, None, 2, settings.clone()));
    let (holder, _ring) = runtime.block_on(start(dir.path().join("holder"), 126, Some(&ring), 2, settings));
    let host = host_of(&owner, &holder);
    let take_in = |version: usize| {
        let path = owner.data.join(format!("{version}.warc"));
        write_pages(&path, &host, 0..PAGES, version, |page| {
            let line = |line| Sha256::of(format!("{page} {line}").as_bytes()).to_string() + "\n";
            (0..40).map(line).chain([format!("version {version}\n")]).collect()
        });
        import(&owner.store, &path, &ImportOptions::default(), |_| {}).unwrap();
        runtime.block_on(owner.copies.handed_on()).unwrap();
    };
    take_in(0);
    until("both have the first version", || holder.names().len() == PAGES);
    let first: Vec<_> = holder.names().into_iter().collect();
    holder.store.release(&first).unwrap();
    take_in(1);
    let lacking: Vec<_> =
        owner.names().into_iter().filter(|id| !first.contains(id) && !holder.names().contains(id)).collect();
    assert!(owner.names().len() == 2 * PAGES && lacking.is_empty(), "it counts, and is not there: {lacking:?}");
}

#[test]
fn those_who_hold_copies_have_their_owner_prove_what_it_has() {
    let (dir, runtime) = (tempfile::tempdir().unwrap(), runtime());
    let settings = CopiesSettings::default().at_pace(0.01);
    let (owner, ring) = runtime.block_on(start(dir.path().join("owner"), 127, None, 2, settings.clone()));
    let (holder, _ring) = runtime.block_on(start(dir.path().join("holder"), 128, Some(&ring), 2, settings));
    // Nothing lies on an arc of the holder's: whom it audits it does as one who copies.
    let host = host_of(&owner, &holder);
    take_in(&owner, &runtime, &host, 0..10, 0);
    until("both have everything", || holder.names().len() == 10);
    until("the owner has proved it", || {
        let view = holder.copies.health().unwrap_or_default();
        let audits =
            view.machines.iter().filter(|machine| !machine.is_ours).filter_map(|machine| machine.audit.as_ref());
        let passed: Vec<bool> = audits.map(|audit| audit.is_passed).collect();
        assert!(!passed.contains(&false), "an honest owner failed");
        !passed.is_empty()
    });
}

#[test]
fn beside_an_owner_whose_disk_is_dead_those_who_hold_copies_see_to_enough_of_them() {
    const PAGES: usize = 2;
    let (dir, runtime) = (tempfile::tempdir().unwrap(), runtime());
    let mut settings = CopiesSettings::default().at_pace(0.01);
    // Who is not met for a grace and four surveys is forgotten, with what was found of it: on a busy machine that must not be soon.
    (settings.custody.audit_every, settings.custody.grace) = (Duration::from_millis(300), Duration::from_secs(8));
    let (first, ring) = runtime.block_on(start(dir.path().join("first"), 129, None, 2, settings.clone()));
    let (second, _ring) = runtime.block_on(start(dir.path().join("second"), 130, Some(&ring), 2, settings.clone()));
    let (third, _ring) = runtime.block_on(start(dir.path().join("third"), 131, Some(&ring), 2, settings));
    let machines = [&first, &second, &third];
    // Large bodies have files of their own, and are in nobody's memory.
    let path = dir.path().join("large.warc");
    write_pages(&path, "host.example", 0..PAGES, 0, |page| {
        (0..80_000).map(|line| Sha256::of(format!("{page} {line}").as_bytes()).to_string() + "\n").collect()
    });
    import(&first.store, &path, &ImportOptions::default(), |_| {}).unwrap();
    runtime.block_on(first.copies.handed_on()).unwrap();
    let name = |machine: &Machine| machine.copies.view().machine;
    // The owner first.
    let keepers = |machine: &Machine| -> Vec<String> {
        let found = runtime.block_on(machine.copies.find("http://host.example/"));
        found.map(|found| found.replicas.into_iter().map(|keeper| keeper.machine).collect()).unwrap_or_default()
    };
    until("all know who is to keep it, those have everything, and one has nothing", || {
        let told = machines.map(keepers);
        let is_right = |machine: &&Machine| match told[0].contains(&name(machine)) {
            true => machine.names().len() == PAGES,
            false => machine.names().is_empty(),
        };
        told[0].len() == 2 && told.iter().all(|some| *some == told[0]) && machines.iter().all(is_right)
    });
    until("the owner counts both", || {
        let view = first.copies.health().unwrap_or_default();
        let counted: Vec<_> = view.objects.iter().map(|some| (some.copies, some.objects)).collect();
        counted == [(2, PAGES as u64)]
    });
    let told = keepers(&first);
    let keeper = |n: usize| machines.into_iter().find(|machine| name(machine) == told[n]).unwrap();
    let (owner, holder) = (keeper(0), keeper(1));
    let other = machines.into_iter().find(|machine| !told.contains(&name(machine))).unwrap();
    // What its index names is gone, and cannot be written again.
    for blob in std::fs::read_dir(owner.data.join("blobs")).unwrap() {
        let path = blob.unwrap().path();
        // Who has it open sees that, too.
        std::fs::write(&path, b"").unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
    }
    until("it is found", || {
        let view = holder.copies.health().unwrap_or_default();
        let mut failed = view.machines.iter().filter(|machine| machine.audit.as_ref().is_some_and(|it| !it.is_passed));
        failed.any(|machine| machine.machine == name(owner))
    });
    until("another has the very bytes", || {
        let is_whole = |id| matches!(other.store.audit_digest(id, &[0; 32]), Ok(Some(_)));
        other.names().len() == PAGES && other.names().iter().all(is_whole)
    });
}
