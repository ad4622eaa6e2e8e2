//! A ring of real `herodotus` processes on the loop, each with an address of its own: so CPU time is the nodes' and nobody else's. They live as long as the
//! value does.

use crate::peers::{self, say};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const WAIT_MAX: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// What the kernel counts CPU time in (`proc(5)`, USER_HZ).
const TICKS_PER_S: f64 = 100.0;
const NAME: &str = "bench";

/// What a ring is like.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) copies: u16,
    pub(super) virtual_nodes: u16,
    /// Where each node dials every host: as many nodes as there are.
    pub(super) dials: Vec<String>,
    /// More arguments for every node.
    pub(super) with: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Nodes {
    program: PathBuf,
    kept: TempDir,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    data: PathBuf,
    process: Child,
    /// Where its pages are.
    http: String,
}

impl Nodes {
    pub(super) fn start(plan: &Plan) -> Result<Self> {
        let mut ring = Self { program: peers::herodotus()?, kept: tempfile::tempdir()?, nodes: Vec::new() };
        let first = ring.folder(0)?;
        let copies = plan.copies.to_string();
        ring.command(&first, &["ring", "create", "--name", NAME, "--copies", &copies])?;
        for at in 0..plan.dials.len() {
            let ticket = match at {
                0 => None,
                _ => {
                    let said: Value = serde_json::from_str(&ring.command(&first, &["--json", "ring", "invite"])?)?;
                    Some(said["ticket"].as_str().context("an invitation without a ticket")?.to_owned())
                }
            };
            ring.join(plan, at, ticket.as_deref())?;
        }
        let count = plan.dials.len() * usize::from(plan.virtual_nodes);
        ring.wait("the ring to come together", |ring| ring.is_whole(count))?;
        // A crawl is over when each machine knows all that lies on its part of the circle, not before: one of nothing shows it.
        ring.crawl_named("nothing", &["http://nothing.invalid/".to_owned()], &["--delay", "0"])?;
        Ok(ring)
    }

    /// One node that belongs to no ring.
    pub(super) fn alone(plan: &Plan) -> Result<Self> {
        let mut nodes = Self { program: peers::herodotus()?, kept: tempfile::tempdir()?, nodes: Vec::new() };
        nodes.join(plan, 0, None)?;
        Ok(nodes)
    }

    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    fn folder(&self, at: usize) -> Result<PathBuf> {
        let data = self.kept.path().join(at.to_string());
        std::fs::create_dir_all(&data)?;
        Ok(data)
    }

    fn join(&mut self, plan: &Plan, at: usize, ticket: Option<&str>) -> Result<()> {
        let data = self.folder(at)?;
        let address = format!("127.0.2.{}:0", at + 1);
        let peers = UdpSocket::bind(address)?.local_addr()?.to_string();
        let mut command = Command::new(&self.program);
        command.arg("--data").arg(&data);
        command.args(["--json", "node", "--listen", "127.0.0.1:0", "--replay-listen", "127.0.0.1:0"]);
        command.args(["--peers", &peers, "--virtual-nodes", &plan.virtual_nodes.to_string()]);
        command.args(["--allow-private", "127.0.0.0/8", "--connect-to", &format!("*={}", plan.dials[at])]);
        command.args(["--contact", "bench@example.org"]).args(&plan.with);
        if let Some(ticket) = ticket {
            command.args(["--join", ticket]);
        }
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output of a node")?).read_line(&mut line)?;
        let said: Option<Value> = serde_json::from_str(&line).ok();
        let Some(http) = said.as_ref().and_then(|said| said["ui_address"].as_str()) else {
            let _ = process.kill();
            let _ = process.wait();
            bail!("node {at} says {line:?} instead of its address");
        };
        self.nodes.push(Node { data, process, http: http.to_owned() });
        Ok(())
    }

    /// Whether each knows all the others, or as many as it wants to, and what lies on its arcs.
    fn is_whole(&self, count: usize) -> Result<bool> {
        for node in &self.nodes {
            let view: Value = serde_json::from_str(&get(&node.http, "/api/v1/ring")?)?;
            let wanted = view["depth"].as_u64().unwrap_or(0).min(count as u64 - 1);
            let is_settled = |node: &Value| {
                let known = node["successors"].as_array().map_or(0, Vec::len);
                node["standing"] == "member" && known as u64 >= wanted
            };
            if !view["nodes"].as_array().is_some_and(|nodes| nodes.iter().all(is_settled)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn command(&self, data: &Path, arguments: &[&str]) -> Result<String> {
        let output = Command::new(&self.program).arg("--data").arg(data).args(arguments).output()?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        ensure!(output.status.success(), "herodotus {}: {said}", arguments.join(" "));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Lets the ring crawl, begun on the last node, and waits until the first says that it is over. Seconds that it took, and how it stands.
    pub(super) fn crawl(&self, seeds: &[String], more: &[&str]) -> Result<(f64, Value)> {
        let (took_s, status) = self.crawl_named(NAME, seeds, more)?;
        say(&format!("complete after {took_s:.1} s: {} fetched, {} failed", status["fetched"], status["failed"]));
        ensure!(status["fetched"].as_u64() > Some(0), "the ring says that there is nothing to crawl");
        Ok((took_s, status))
    }

    fn crawl_named(&self, name: &str, seeds: &[String], more: &[&str]) -> Result<(f64, Value)> {
        let list = self.kept.path().join("seeds");
        std::fs::write(&list, seeds.join("\n"))?;
        let from = list.display().to_string();
        let begin = ["crawl", "--together", "--no-wait", "--name", name, "--scope", "any", "--seeds-from", &from];
        let last = self.nodes.last().context("no nodes")?;
        let began = Instant::now();
        self.command(&last.data, &[&begin[..], more].concat())?;
        let mut status = Value::Null;
        self.wait("the crawl to end", |ring| {
            let told = ring.command(&ring.nodes[0].data, &["--json", "ring", "crawls"])?;
            let all = told.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
            // The order may not have come here yet.
            let Some(found) = all.into_iter().find(|crawl| crawl["name"] == name) else { return Ok(false) };
            status = found;
            Ok(status["state"] != "running")
        })?;
        let took_s = began.elapsed().as_secs_f64();
        ensure!(status["state"] == "complete", "the crawl is {}: {}", status["state"], status["reason"]);
        Ok((took_s, status))
    }

    /// Lets the first node crawl by itself, to the end.
    pub(super) fn crawl_alone(&self, seeds: &[String], more: &[&str]) -> Result<()> {
        let first = self.nodes.first().context("no nodes")?;
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        self.command(&first.data, &[&["crawl", "--name", NAME, "--scope", "any"][..], more, &seeds].concat())?;
        Ok(())
    }

    fn wait(&self, what: &str, mut is_done: impl FnMut(&Self) -> Result<bool>) -> Result<()> {
        let began = Instant::now();
        while !is_done(self)? {
            ensure!(began.elapsed() < WAIT_MAX, "{WAIT_MAX:?} were not enough for {what}");
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// CPU time of all nodes since each was started.
    pub(super) fn cpu_s(&self) -> Result<f64> {
        self.nodes.iter().map(|node| cpu_s_of(node.process.id())).sum()
    }

    /// A number of `/metrics`, over all nodes.
    pub(super) fn sum(&self, name: &str) -> Result<u64> {
        let mut sum = 0.0;
        for node in &self.nodes {
            let text = get(&node.http, "/metrics")?;
            let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
            sum += found.with_context(|| format!("no {name} in /metrics"))?;
        }
        Ok(sum as u64)
    }

    /// What the nodes have sent each other over the connections that stand now, as QUIC counts it: without IP and UDP.
    pub(super) fn peer_bytes(&self) -> Result<u64> {
        let mut sum = 0;
        for node in &self.nodes {
            let view: Value = serde_json::from_str(&get(&node.http, "/api/v1/ring")?)?;
            let peers = view["peers"].as_array().into_iter().flatten();
            sum += peers.filter_map(|peer| peer["bytes_out"].as_u64()).sum::<u64>();
        }
        Ok(sum)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            let _ = node.process.kill();
            let _ = node.process.wait();
        }
    }
}

/// CPU time of a process and of its threads, also of those that have ended.
pub(super) fn cpu_s_of(pid: u32) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // A name may have blanks and brackets in it; nothing behind it has.
    let rest = text.rsplit_once(')').map(|(_, rest)| rest).context("an odd /proc/…/stat")?;
    let ticks = rest.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()? as f64 / TICKS_PER_S)
}

fn get(http: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(http)?;
    stream.set_read_timeout(Some(WAIT_MAX))?;
    // The old version: its answers are not cut into chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {http}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").with_context(|| format!("{path}: no answer"))?;
    ensure!(head.split(' ').nth(1) == Some("200"), "{path}: {}", head.lines().next().unwrap_or_default());
    Ok(body.to_owned())
}
