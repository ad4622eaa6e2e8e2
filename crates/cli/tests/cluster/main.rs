//! Rings of real processes on the loop: they form, lose members to `kill -9`, take them back with their old disks, and let nobody in who
//! was not invited. What needs a network that can be cut is in `.ci/ring`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod changes;
mod copies;
mod machines;
mod site;
mod split;
mod strategies;
mod together;

use machines::Cluster;

#[test]
fn sixteen_machines_form_a_ring_lose_four_and_take_them_back() {
    let mut cluster = Cluster::of(16, &["--name", "test", "--neighbours", "6"], &[]);
    cluster.settle("sixteen joined");
    for dead in [3, 7, 8, 12] {
        cluster.kill(dead);
    }
    cluster.settle("four killed");
    for dead in [3, 7, 8, 12] {
        cluster.start(dead, None);
    }
    cluster.settle("four back with their disks");
    // The way of a lookup, for people and for programs.
    let shown = cluster.command(5, &["ring", "lookup", "http://host-1.example/"]);
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    assert!(String::from_utf8_lossy(&shown.stdout).contains("Responsible:"));
    let status = cluster.command(5, &["ring", "status"]);
    assert!(
        String::from_utf8_lossy(&status.stdout).contains("of the circle"),
        "{}",
        String::from_utf8_lossy(&status.stdout)
    );
    // Leaving in good order: at once nobody misses it.
    assert!(cluster.terminate(9));
    cluster.settle("one left");
}

#[test]
fn a_machine_of_several_nodes_counts_once() {
    let mut cluster = Cluster::of(1, &["--neighbours", "3"], &["--virtual-nodes", "4"]);
    for _ in 0..3 {
        cluster.join();
    }
    let found = || cluster.machines[2].get("/api/v1/ring/lookup?url=http://host-1.example/");
    // Sixteen nodes of four machines.
    let began = std::time::Instant::now();
    let found = loop {
        match found() {
            Ok(found) if found["replicas"].as_array().unwrap().len() == 4 => break found,
            other => assert!(began.elapsed() < machines::WAIT_MAX, "{other:?}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    let mut machines: Vec<_> = found["replicas"].as_array().unwrap().iter().map(|c| c["machine"].to_string()).collect();
    machines.sort();
    machines.dedup();
    assert_eq!(machines.len(), 4);
}

#[test]
fn a_ticket_lets_one_machine_in_and_no_second_one() {
    let mut cluster = Cluster::of(2, &["--name", "closed"], &[]);
    cluster.settle("two joined");
    let ticket = cluster.ticket("1h");
    let first = cluster.add();
    cluster.start(first, Some(&ticket));
    cluster.settle("a third");
    let second = cluster.add();
    let refused = cluster.node(second, Some(&ticket)).output().unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("ticket was used by another machine"), "{said}");
    let short = cluster.ticket("1s");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let late = cluster.node(second, Some(&short)).output().unwrap();
    assert!(String::from_utf8_lossy(&late.stderr).contains("expired"), "{}", String::from_utf8_lossy(&late.stderr));
    // Shut out: the others close the gap, and it does not come back.
    let machine = cluster.machines[first].get("/api/v1/ring").unwrap()["machine"].as_str().unwrap().to_owned();
    let revoked = cluster.command(0, &["ring", "revoke", &machine]);
    assert!(revoked.status.success(), "{}", String::from_utf8_lossy(&revoked.stderr));
    cluster.kill(first);
    cluster.settle("one shut out");
}

#[test]
fn all_machines_start_again_at_once() {
    let mut cluster = Cluster::of(6, &["--neighbours", "3"], &[]);
    cluster.settle("six joined");
    // What they know of one another is written down in good order too, not only now and then.
    for at in 0..6 {
        assert!(cluster.terminate(at));
    }
    for at in 0..6 {
        cluster.start(at, None);
    }
    cluster.settle("six started again");
}

#[test]
fn nodes_that_stood_still_come_back() {
    let cluster = Cluster::of(8, &["--neighbours", "3"], &[]);
    cluster.settle("eight joined");
    for at in [1, 2, 3, 4] {
        cluster.signal(at, "STOP");
    }
    // The others go on without them.
    let began = std::time::Instant::now();
    let is_missed = || {
        let view = cluster.machines[0].get("/api/v1/ring").unwrap();
        view["nodes"][0]["successors"].as_array().unwrap().len() == 3
            && view["counters"]["peers_died"].as_u64() >= Some(1)
    };
    while !is_missed() {
        assert!(began.elapsed() < machines::WAIT_MAX, "nobody missed them");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    for at in [1, 2, 3, 4] {
        cluster.signal(at, "CONT");
    }
    cluster.settle("eight together again");
}
