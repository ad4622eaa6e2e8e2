//! Crawls beside a running node.

use crate::support::{Node, herodotus, run, signal, text, until};
use herodotus_testweb::{Config, Server, Web};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn small_web() -> Server {
    let config = Config { hosts: 2, pages_per_host: 12, late_percent: 0, mortal_percent: 0, ..Config::default() };
    Server::start(Web::new(config)).unwrap()
}

/// More than anybody waits for, at the pace that [`crawl`] is told.
fn large_web() -> Server {
    let config = Config { hosts: 1, pages_per_host: 5_000, late_percent: 0, mortal_percent: 0, ..Config::default() };
    Server::start(Web::new(config)).unwrap()
}

fn seed(server: &Server) -> String {
    format!("http://{}/", server.web().hosts().next().unwrap())
}

fn crawl(data: &Path, server: &Server, delay_ms: &str) -> Command {
    let mut command = herodotus(data);
    command
        .args(["--json", "crawl", "--name", "web", "--scope", "any", "--delay", delay_ms])
        .args(["--allow-private", "127.0.0.0/8"])
        .arg(format!("--connect-to=*.test={}", server.addr()))
        .stdin(Stdio::null());
    command
}

/// A crawl that was seen to fetch something, and would go on for minutes.
fn begin(node: &Node, server: &Server) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = crawl(&node.data, server, "100");
    let mut child = command.arg(seed(server)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"fetched\"") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the crawl was over before it had fetched anything");
    }
    (child, out)
}

fn summary(stdout: &[u8]) -> Value {
    let line = text(stdout).lines().last().unwrap_or_default().to_owned();
    let summary: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(summary["event"], "summary", "{line}");
    summary
}

/// The one crawl that is here.
fn listed(node: &Node) -> Value {
    serde_json::from_slice(&node.run(&["--json", "crawls"]).stdout).unwrap()
}

#[test]
fn a_crawl_does_the_same_as_alone_and_the_pages_know_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let (alone, beside) = (dir.path().join("alone"), dir.path().join("beside"));
    let node = Node::start(&beside);
    let (server, mut said) = (small_web(), Vec::new());
    for data in [&alone, &beside] {
        // Seeds come over standard input: a comment, an empty line, and one URL.
        let mut command = crawl(data, &server, "0");
        let mut child = command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        write!(stdin, "# where to begin\n\n{}\n", seed(&server)).unwrap();
        drop(stdin);
        let Output { status, stdout, .. } = child.wait_with_output().unwrap();
        let summary = summary(&stdout);
        assert_eq!((status.code(), summary["end"].as_str()), (Some(0), Some("complete")), "{summary}");
        let fetched = text(&stdout).matches("\"event\":\"fetched\"").count();
        let shown = run(data, &["--json", "crawls"]);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        let mut urls: Vec<_> = text(&run(data, &["crawls", "web"]).stdout).lines().map(str::to_owned).collect();
        urls.iter_mut().for_each(|line| line.replace_range(..20, ""));
        let count = |value: &Value, name: &str| value["tally"][name].as_u64().unwrap();
        said.push((
            fetched,
            ["fetched", "pages", "new", "failed"].map(|name| count(&summary, name)),
            ["fetched", "new"].map(|name| count(&shown, name)),
            (shown["complete"].as_bool(), shown["urls"].as_u64(), shown["round"].as_u64()),
            urls,
        ));
    }
    assert_eq!(said[0], said[1]);
    assert!(said[0].0 > 20 && said[0].4.len() > 20, "{:?}", said[0]);
    let page = node.get("/api/v1/crawls");
    assert!(page.contains("\"name\":\"web\"") && page.contains("\"state\":\"complete\""), "{page}");
    // For people, in a pipe: what goes on with it is named as the person named the archive.
    let output = node.run(&["crawl", "--name", "web", "--allow-private", "127.0.0.0/8", "--limit", "1"]);
    assert!(text(&output.stdout).contains(&format!("herodotus --data {} crawl", beside.display())));
    assert!(text(&output.stderr).starts_with("Crawl web, round 2"), "{}", text(&output.stderr));
    // No seed can be had: the exit code says so.
    let output = node.run(&["crawl", "http://127.0.0.1:1/"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("please tell servers how to reach you"));
    // The environment that counts is that of the command.
    let mut command = herodotus(&beside);
    command.env("HERODOTUS_CONTACT", "me@example.org").args(["crawl", "--name", "mine", "http://127.0.0.1:1/"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(!text(&output.stderr).contains("please tell servers"), "{}", text(&output.stderr));
    let written = std::fs::read_to_string(beside.join("crawls/mine/crawl.toml")).unwrap();
    assert!(written.contains("me@example.org"), "{written}");
}

#[test]
fn a_crawl_whose_process_is_killed_stops_and_can_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (node, server) = (Node::start(dir.path()), large_web());
    let (mut child, _out) = begin(&node, &server);
    // While it runs, it runs once, and its state is left alone.
    let again = crawl(&node.data, &server, "100").arg(seed(&server)).output().unwrap();
    assert!(text(&again.stderr).contains("the crawl web is running already"), "{}", text(&again.stderr));
    let urls = node.run(&["crawls", "web"]);
    assert!(text(&urls.stderr).contains("the crawl web is running"), "{}", text(&urls.stderr));
    let now = listed(&node);
    assert!(now["complete"] == false && now["urls"].as_u64().unwrap() > 0, "{now}");
    assert!(node.get("/api/v1/crawls").contains("\"state\":\"running\""));
    child.kill().unwrap();
    child.wait().unwrap();
    until("the crawl has stopped", || node.run(&["crawls", "web"]).status.success());
    let stopped = listed(&node);
    assert!(stopped["complete"] == false && stopped["waiting"].as_u64().unwrap() > 0, "{stopped}");
    let (mut child, _out) = begin(&node, &server);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn ctrl_c_stops_a_crawl_gently_and_its_summary_comes() {
    let dir = tempfile::tempdir().unwrap();
    let (node, server) = (Node::start(dir.path()), large_web());
    let (child, mut out) = begin(&node, &server);
    signal(&child, "INT");
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut out, &mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("Stopping: what is in flight is still kept"), "{}", text(&output.stderr));
    assert_eq!(summary(&rest)["end"], "stopped");
}

#[test]
fn a_node_that_stops_lets_its_commands_come_to_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let (node, server) = (Node::start(dir.path()), large_web());
    let (child, mut out) = begin(&node, &server);
    let data = node.data.clone();
    assert!(node.terminate());
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut out, &mut rest).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    let fetched = summary(&rest)["tally"]["fetched"].as_u64().unwrap();
    let alone: Value = serde_json::from_slice(&run(&data, &["--json", "crawls"]).stdout).unwrap();
    assert_eq!(alone["tally"]["fetched"].as_u64(), Some(fetched));
}
