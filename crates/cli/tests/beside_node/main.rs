//! Commands beside a running node: they say and do the same as alone, because the node does it for them.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

mod crawling;
mod support;

use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use support::{Node, herodotus, make_warc, run, text, until};

#[test]
fn reading_says_the_same_as_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (data, warc) = (dir.path().join("archive"), dir.path().join("pages.warc.gz"));
    make_warc(&warc, 0, 400);
    assert!(run(&data, &["import", warc.to_str().unwrap()]).status.success());
    let page = "https://site.example/page/7";
    let commands: &[&[&str]] = &[
        &["list", "--all"],
        &["list", page],
        &["list", page, "--limit", "1"],
        &["--json", "list", "--host", "site.example"],
        &["list", "https://site.example/nowhere"],
        &["list", "https://elsewhere.example/"],
        &["get", page],
        &["get", page, "--headers", "--at", "2001"],
        &["--json", "get", page],
        &["get", page, "--request"],
        &["diff", page],
        &["--json", "diff", page],
        &["diff", "https://elsewhere.example/"],
        &["stats", "--by-host"],
        &["verify"],
        &["--json", "verify"],
        &["crawls"],
        &["crawls", "nobody"],
        &["remove", page],
    ];
    let alone: Vec<_> = commands.iter().map(|command| run(&data, command)).collect();
    let node = Node::start(&data);
    for (command, alone) in commands.iter().zip(&alone) {
        let beside = node.run(command);
        assert_eq!(text(&beside.stdout), text(&alone.stdout), "{command:?}");
        assert_eq!(text(&beside.stderr), text(&alone.stderr), "{command:?}");
        assert_eq!(beside.status.code(), alone.status.code(), "{command:?}");
    }
    assert_eq!(alone[0].stdout.iter().filter(|byte| **byte == b'\n').count(), 1200);
    let codes: Vec<_> = alone.iter().map(|output| output.status.code().unwrap()).collect();
    assert!(codes.contains(&0) && codes.contains(&1) && codes.contains(&2), "{codes:?}");
    let stats: Value = serde_json::from_slice(&node.run(&["--json", "stats"]).stdout).unwrap();
    assert_eq!((stats["captures"].as_u64(), stats["urls"].as_u64()), (Some(1200), Some(400)));
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let (data, warc) = (dir.path().join("archive"), dir.path().join("pages.warc.gz"));
    make_warc(&warc, 0, 2000);
    assert!(run(&data, &["import", warc.to_str().unwrap()]).status.success());
    let node = Node::start(&data);
    let mut child =
        herodotus(&data).args(["list", "--all"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut some = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    assert!(node.run(&["list", "--all", "--limit", "1"]).status.success());
}

#[test]
fn writing_does_the_same_as_alone_and_finds_files_where_the_command_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path().join("here");
    std::fs::create_dir_all(here.join("out")).unwrap();
    make_warc(&dir.path().join("pages.warc.gz"), 0, 400);
    make_warc(&here.join("more.warc.gz"), 400, 10);
    let (alone, beside) = (dir.path().join("alone"), dir.path().join("beside"));
    let node = Node::start(&beside);
    let commands: &[&[&str]] = &[
        &["import", "../pages.warc.gz", "more.warc.gz"],
        &["import", "../pages.warc.gz"],
        &["--json", "import", "--again", "more.warc.gz"],
        &["import", "nothing.warc.gz"],
        &["remove", "--yes", "https://site.example/page/1"],
        &["list", "https://site.example/page/1"],
        &["export", "-o", "out/pages.warc.gz"],
        &["--json", "export", "-o", "out/page.cdxj", "--prefix", "https://site.example/page/2"],
        &["export", "-o", "missing/pages.warc"],
        &["export", "-o", "pages.txt"],
        &["verify"],
    ];
    for command in commands {
        let [alone, beside] = [&alone, &beside].map(|data| {
            let output = herodotus(data).args(*command).current_dir(&here).stdin(Stdio::null()).output().unwrap();
            let files = ["out/pages.warc.gz", "out/page.cdxj"].map(|file| std::fs::read(here.join(file)).ok());
            // A complaint names a file as this process finds it.
            let stderr = text(&output.stderr).replace(&format!("{}/", here.display()), "");
            (text(&output.stdout), stderr, output.status.code(), files)
        });
        assert_eq!(beside.0, alone.0, "{command:?}");
        assert_eq!(beside.1, alone.1, "{command:?}");
        assert_eq!(beside.2, alone.2, "{command:?}");
        assert!(beside.3 == alone.3, "{command:?} wrote something else");
    }
    assert!(here.join("out/pages.warc.gz").metadata().unwrap().len() > 10_000);
    // And it is there when the node is gone.
    assert!(node.terminate());
    assert!(!beside.join("node.sock").exists());
    assert_eq!(text(&run(&beside, &["list", "--all"]).stdout), text(&run(&alone, &["list", "--all"]).stdout));
}

#[test]
fn what_a_node_cannot_do_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path());
    let pid = format!("process {}", node.process.id());
    for (command, reason) in [
        (&["compact"][..], "stop it first"),
        (&["node", "--listen", "127.0.0.1:0"], "a second one cannot be started"),
        (&["serve", "--listen", "127.0.0.1:0"], "open its pages"),
    ] {
        let output = node.run(command);
        let stderr = text(&output.stderr);
        assert!(stderr.contains(reason) && stderr.contains(&pid), "{command:?}: {stderr}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{command:?}");
    }
    assert!(node.run(&["stats"]).status.success());
}

#[test]
fn an_archive_that_is_in_use_by_anything_but_a_node_says_by_whom() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = herodotus_store::Store::open(dir.path()).unwrap();
    let output = run(dir.path(), &["stats"]);
    let stderr = text(&output.stderr);
    assert!(stderr.contains(&format!("in use by process {}", std::process::id())), "{stderr}");
    assert_eq!(output.status.code(), Some(1));
    drop(store);
}

#[test]
fn what_a_killed_node_leaves_is_in_nobodys_way() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("archive");
    let mut node = Node::start(&data);
    assert!(node.run(&["stats"]).status.success());
    node.process.kill().unwrap();
    node.process.wait().unwrap();
    assert!(data.join("node.sock").exists());
    let output = run(&data, &["stats"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let node = Node::start(&data);
    assert!(node.run(&["stats"]).status.success());
}

#[test]
fn a_node_that_dies_in_the_middle_is_an_error_of_the_command() {
    let dir = tempfile::tempdir().unwrap();
    // A node that hears one request and is gone.
    let listener = std::os::unix::net::UnixListener::bind(dir.path().join("node.sock")).unwrap();
    let node = std::thread::spawn(move || {
        for answer in [&b""[..], &[4, 5, 0, 0, 0, b'h', b'a', b'l', b'f', b'\n']] {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
            stream.write_all(answer).unwrap();
        }
    });
    for said in ["", "half\n"] {
        let output = run(dir.path(), &["stats"]);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), said));
        assert!(text(&output.stderr).contains("went away before it had answered"), "{}", text(&output.stderr));
    }
    node.join().unwrap();
    // One that closes the door at once: whatever the command was doing then, it says so.
    let listener = std::os::unix::net::UnixListener::bind(dir.path().join("other.sock")).unwrap();
    std::fs::rename(dir.path().join("other.sock"), dir.path().join("node.sock")).unwrap();
    let node = std::thread::spawn(move || drop(listener.accept().unwrap()));
    let output = run(dir.path(), &["stats"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("went away before it had answered"), "{}", text(&output.stderr));
    node.join().unwrap();
}

#[test]
fn a_data_directory_with_a_long_name_is_served_too() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("a-name-that-is-much-too-long-for-a-socket".repeat(4));
    let node = Node::start(&data);
    let output = node.run(&["stats"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let elsewhere = std::fs::read_to_string(data.join("node.sock.path")).unwrap();
    assert!(node.terminate());
    assert!(!std::path::Path::new(&elsewhere).exists() && !data.join("node.sock.path").exists());
}

#[test]
fn garbage_on_the_socket_is_dropped_and_the_node_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path());
    let socket = dir.path().join("node.sock");
    let too_long = [&[1][..], &u32::MAX.to_le_bytes()].concat();
    let no_request = [&[1][..], &7u32.to_le_bytes(), &[1, 0, 0xff, 0xff, 0xff, 0xff, 0xff]].concat();
    let half = [&[1][..], &100u32.to_le_bytes(), b"half"].concat();
    let not_first = [&[2][..], &0u32.to_le_bytes()].concat();
    for garbage in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &[0; 64], &too_long, &no_request, &half, &not_first] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(garbage).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // Closed with our bytes unread, it may also be reset; an answer there is none.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{garbage:?}: {answer:?}");
    }
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(&[&[1][..], &2u32.to_le_bytes(), &[9, 0]].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(text(&answer).contains("another version of this program"), "{}", text(&answer));
    // Visitors who say nothing hold the others up for some seconds, and not for ever.
    let silent: Vec<_> = (0..40).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let output = node.run(&["stats"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    drop(silent);
}

#[test]
fn a_ninth_command_is_told_to_come_again() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path());
    // Each waits for seeds that never come.
    let wait = || {
        let mut command = herodotus(dir.path());
        command.args(["crawl", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut waiting: Vec<_> = (0..8).map(|_| wait()).collect();
    let mut refused = String::new();
    until("a ninth command is refused", || {
        let output = node.run(&["stats"]);
        refused = text(&output.stderr);
        // One of the eight may have been the ninth itself, beside the one that asks here.
        for one in waiting.iter_mut().filter_map(|one| one.try_wait().unwrap().is_some().then_some(one)) {
            *one = wait();
        }
        output.status.code() == Some(1)
    });
    assert!(refused.contains("busy with 8 other commands"), "{refused}");
    let mut first = waiting.remove(0);
    drop(first.stdin.take());
    let output = first.wait_with_output().unwrap();
    assert!(text(&output.stderr).contains("there is nothing to crawl"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
    until("there is room again", || node.run(&["stats"]).status.success());
    // Those that are killed end in the node too: it stops without having to wait for anybody.
    for mut child in waiting {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(node.terminate());
}
