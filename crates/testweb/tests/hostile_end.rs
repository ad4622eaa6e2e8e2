//! When the hostile web is dropped, nothing of it is left. In a process of its own, so that its threads can be counted.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use herodotus_testweb::hostile::Hostile;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Threads of this process that belong to a server.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("testweb-")).count()
}

#[test]
fn dropping_it_ends_every_thread_and_connection() {
    assert_eq!(threads(), 0);
    let hostile = Hostile::start().unwrap();
    let connect_to = hostile.connect_to();
    let addr = |host: &str| {
        let fits = |pattern: &str| pattern == host || pattern.strip_prefix('*').is_some_and(|end| host.ends_with(end));
        connect_to.iter().find(|(pattern, _)| fits(pattern)).unwrap().1
    };
    let mut visitors = Vec::new();
    for case in hostile.cases().iter().filter(|case| case.name != "refused") {
        let host = case.url.split('/').nth(2).unwrap();
        let mut stream = TcpStream::connect(addr(host)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        visitors.push(stream);
    }
    // Each has been met, and most of them are still being served.
    while hostile.cases().iter().filter(|case| hostile.requests(case.url.split('/').nth(2).unwrap()) > 0).count() < 150
    {
        std::thread::yield_now();
    }
    assert!(threads() > 50, "{}", threads());
    drop(hostile);
    // They have left the room; the system may need a moment to take the last of them off its list.
    let end = Instant::now() + Duration::from_secs(5);
    while threads() > 0 && Instant::now() < end {
        std::thread::yield_now();
    }
    assert_eq!(threads(), 0);
    for mut stream in visitors {
        // Whatever was under way comes to an end: as one, or as a reset.
        let mut piece = vec![0; 1 << 16];
        while matches!(stream.read(&mut piece), Ok(1..)) {}
    }
}
