//! What the rest of a ring says of a URL of which it has nothing: that there is nothing, unless so many machines are missing that these may have it alone. Real connections on the loop.

use crate::machines::{Machine, start, write_pages};
use herodotus_node::copies::CopiesSettings;
use herodotus_store::archive::{ImportOptions, import};
use herodotus_store::key_of;
use herodotus_web::Elsewhere;
use herodotus_web::archive::{Away, Page};
use herodotus_web::peers::Peers;
use std::time::{Duration, Instant};

const WAIT_MAX: Duration = Duration::from_secs(60);
const MACHINES: u16 = 4;

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < WAIT_MAX, "not within {WAIT_MAX:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a page would be told of a URL.
fn versions(machine: &Machine, url: &str) -> Result<Page, Away> {
    let key = key_of(url);
    machine.copies.entries(format!("{key}\0").as_bytes(), format!("{key}\u{1}").as_bytes(), false, 100)
}

fn neighbours(machine: &Machine) -> usize {
    machine.copies.view().nodes.first().map_or(0, |node| node.successors.len())
}

#[test]
fn a_url_is_called_nowhere_only_while_fewer_machines_are_away_than_a_write_needs() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut settings = CopiesSettings::default().at_pace(0.01);
    // Nobody is given up meanwhile.
    settings.custody.grace = Duration::from_secs(60 * 60);
    let mut all = vec![runtime.block_on(start(dir.path().join("0"), 151, None, MACHINES, settings.clone()))];
    for (n, number) in (1..MACHINES).zip(152..) {
        let first = all[0].1.clone();
        let data = dir.path().join(n.to_string());
        all.push(runtime.block_on(start(data, number, Some(&first), MACHINES, settings.clone())));
    }
    until("all know of all", || all.iter().all(|(machine, _)| neighbours(machine) == usize::from(MACHINES) - 1));
    let (owner, reader) = (&all[0].0, &all[1].0);
    let (mut n, mut host) = (0, String::new());
    until("the owner has places of its own", || {
        n += 1;
        host = format!("host-{n}.example");
        let key = key_of(&format!("http://{host}/"));
        owner.copies.is_here(&key) && !reader.copies.is_here(&key)
    });
    let path = dir.path().join("pages.warc");
    write_pages(&path, &host, 0..1, 0, |_| "here".to_owned());
    import(&owner.store, &path, &ImportOptions::default(), |_| {}).unwrap();
    runtime.block_on(owner.copies.handed_on()).unwrap();
    let (kept, never) = (format!("http://{host}/0"), format!("http://{host}/never"));
    let is_nowhere = |page: Result<Page, Away>| page.is_ok_and(|page| page.entries.is_empty());
    until("it is nowhere, say all", || all.iter().all(|(machine, _)| is_nowhere(versions(machine, &never))));

    runtime.block_on(all[3].1.pause());
    until("one is missed", || [owner, reader].map(neighbours) == [2, 2]);
    assert!(owner.copies.is_here(&key_of(&never)), "what was acknowledged is on one more");
    until("it is still nowhere", || is_nowhere(versions(reader, &never)));

    runtime.block_on(all[2].1.pause());
    until("nobody is sure", || [owner, reader].iter().all(|one| versions(one, &never) == Err(Away::Unsure)));
    assert!(!owner.copies.is_here(&key_of(&never)), "its pages would not ask");
    assert!(owner.copies.is_here(&key_of(&kept)), "what is here is here");
    for machine in [owner, reader] {
        let found = versions(machine, &kept).unwrap();
        assert_eq!(found.entries.iter().map(|entry| entry.url.as_str()).collect::<Vec<_>>(), [kept.as_str()]);
        assert_eq!(
            (machine.copies.count(&key_of(&kept)), machine.copies.count(&key_of(&never))),
            (Ok(1), Err(Away::Unsure))
        );
        // A part of it that is empty says nothing of the rest.
        let key = key_of(&kept);
        let behind = [key.as_bytes(), &[0, 0xff]].concat();
        assert!(is_nowhere(machine.copies.entries(&behind, format!("{key}\u{1}").as_bytes(), false, 100)));
    }
}
