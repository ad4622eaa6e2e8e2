//! Real nodes as processes of their own, each on an address of its own on the loop, and what the ring must look like.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a node asks its neighbours here: tests have less patience than people.
const PACE_MS: &str = "150";
/// Hosts whose owner is looked up from every machine.
const HOSTS: usize = 8;
/// Nothing that is waited for takes longer on a machine that is alive.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(120);

pub(crate) struct Machine {
    pub(crate) number: usize,
    pub(crate) data: PathBuf,
    process: Option<Child>,
    /// Where its pages are.
    pub(crate) http: String,
}

/// A ring of machines that lives as long as the test.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    pub(crate) machines: Vec<Machine>,
    /// Further arguments for every node.
    arguments: Vec<String>,
}

impl Cluster {
    /// The first machine makes the ring, the others join it one after the other with a ticket each.
    pub(crate) fn of(count: usize, create: &[&str], arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let arguments = arguments.iter().map(|&text| text.to_owned()).collect();
        let mut cluster = Self { folder, machines: Vec::new(), arguments };
        let first = cluster.add();
        let made = cluster.command(first, &[&["ring", "create"], create].concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        cluster.start(first, None);
        for _ in 1..count {
            cluster.join();
        }
        cluster
    }

    /// A new machine with a ticket of the first.
    pub(crate) fn join(&mut self) -> usize {
        let ticket = self.ticket("1h");
        let at = self.add();
        self.start(at, Some(&ticket));
        at
    }

    pub(crate) fn ticket(&self, lasts: &str) -> String {
        let out = self.command(0, &["--json", "ring", "invite", "--for", lasts]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let answer: Value = serde_json::from_slice(&out.stdout).unwrap();
        answer["ticket"].as_str().unwrap().to_owned()
    }

    /// A directory for a machine that is not started yet.
    pub(crate) fn add(&mut self) -> usize {
        let number = self.machines.len();
        let data = self.folder.path().join(format!("m{number}"));
        std::fs::create_dir(&data).unwrap();
        self.machines.push(Machine { number, data, process: None, http: String::new() });
        number
    }

    /// Starts a machine's node and waits until it listens.
    pub(crate) fn start(&mut self, at: usize, ticket: Option<&str>) {
        let mut command = self.node(at, ticket);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("machine {at} says `{line}`: {error}"));
        let machine = &mut self.machines[at];
        machine.http = said["ui_address"].as_str().unwrap().to_owned();
        machine.process = Some(process);
    }

    /// The command that starts a machine's node.
    pub(crate) fn node(&self, at: usize, ticket: Option<&str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herodotus"));
        // An address for each machine; the port is the same for ever, as it is for a real machine.
        let peers = format!("127.0.{}.{}:{}", 1 + at / 200, 1 + at % 200, self.port(at));
        command.arg("--data").arg(&self.machines[at].data);
        command.args(["--json", "node", "--listen", "127.0.0.1:0", "--replay-listen", "127.0.0.1:0"]);
        command.args(["--ring-pace", PACE_MS, "--peers", &peers]).args(&self.arguments);
        if let Some(ticket) = ticket {
            command.args(["--join", ticket]);
        }
        command.stdin(Stdio::null());
        command
    }

    /// A port that was free when it was first asked for, then kept.
    fn port(&self, at: usize) -> u16 {
        let file = self.machines[at].data.join("test-port");
        if let Ok(text) = std::fs::read_to_string(&file) {
            return text.parse().unwrap();
        }
        let address = format!("127.0.{}.{}:0", 1 + at / 200, 1 + at % 200);
        let port = std::net::UdpSocket::bind(address).unwrap().local_addr().unwrap().port();
        std::fs::write(file, port.to_string()).unwrap();
        port
    }

    /// Runs a command on a machine's archive.
    pub(crate) fn command(&self, at: usize, arguments: &[&str]) -> std::process::Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herodotus"));
        command.arg("--data").arg(&self.machines[at].data).args(arguments).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self, at: usize) {
        let mut process = self.machines[at].process.take().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Asks politely, and waits until it is gone. Gives whether it ended well.
    pub(crate) fn terminate(&mut self, at: usize) -> bool {
        self.signal(at, "TERM");
        let mut process = self.machines[at].process.take().unwrap();
        process.wait().unwrap().success()
    }

    pub(crate) fn signal(&self, at: usize, name: &str) {
        let pid = self.machines[at].process.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    pub(crate) fn living(&self) -> impl Iterator<Item = &Machine> {
        self.machines.iter().filter(|machine| machine.process.is_some())
    }

    /// Waits until the living are one ring with right neighbours, as each of them tells, and each finds the owner of every host.
    pub(crate) fn settle(&self, what: &str) {
        let (began, mut why) = (Instant::now(), String::new());
        while began.elapsed() < WAIT_MAX {
            let ring = self.is_one_ring();
            let ring_s = began.elapsed().as_secs_f64();
            match ring.and_then(|nodes| self.look_up().map(|()| nodes)) {
                Ok(nodes) => {
                    let all_s = began.elapsed().as_secs_f64();
                    println!("{what}: one ring of {nodes} nodes after {ring_s:.1} s, lookups right after {all_s:.1} s");
                    return;
                }
                Err(reason) => why = reason,
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{what}: not within {WAIT_MAX:?}: {why}");
    }

    /// The number of nodes, or what is wrong.
    pub(crate) fn is_one_ring(&self) -> Result<usize, String> {
        let mut nodes: BTreeMap<String, Value> = BTreeMap::new();
        let mut depth = 0;
        for machine in self.living() {
            let view = machine.get("/api/v1/ring").map_err(|error| format!("machine {}: {error}", machine.number))?;
            depth = view["depth"].as_u64().unwrap_or(0) as usize;
            for node in view["nodes"].as_array().ok_or("no nodes")? {
                nodes.insert(node["contact"]["id"].as_str().ok_or("no id")?.to_owned(), node.clone());
            }
        }
        let order: Vec<&String> = nodes.keys().collect();
        for (at, id) in order.iter().enumerate() {
            let node = &nodes[*id];
            let ids = |list: &Value| -> Vec<String> {
                list.as_array().into_iter().flatten().filter_map(|c| Some(c["id"].as_str()?.to_owned())).collect()
            };
            let round = (1..order.len()).map(|step| order[(at + step) % order.len()].clone());
            let (told, before) = (ids(&node["successors"]), &node["predecessor"]["id"]);
            let wanted: Vec<String> = round.take(told.len().max(depth.min(order.len() - 1))).collect();
            if node["standing"] != "member" {
                return Err(format!("{id} is {}", node["standing"]));
            }
            if told != wanted {
                return Err(format!("after {} comes {told:?}, not {wanted:?}", &id[..8]));
            }
            let last = order[(at + order.len() - 1) % order.len()];
            if order.len() > 1 && before.as_str() != Some(last) {
                return Err(format!("before {} comes {before}, not {last}", &id[..8]));
            }
        }
        Ok(order.len())
    }

    /// Every one of the living finds the node that is responsible for every one of some hosts.
    fn look_up(&self) -> Result<(), String> {
        let mut ids: Vec<String> = Vec::new();
        for machine in self.living() {
            let view = machine.get("/api/v1/ring")?;
            ids.extend(
                view["nodes"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|n| Some(n["contact"]["id"].as_str()?.to_owned())),
            );
        }
        ids.sort();
        for machine in self.living() {
            for host in 0..HOSTS {
                let url = format!("http://host-{host}.example/");
                let at = |error: String| format!("machine {} on {url}: {error}", machine.number);
                let found = machine.get(&format!("/api/v1/ring/lookup?url={url}")).map_err(at)?;
                let (key, told) =
                    (found["key"].as_str().ok_or("no key")?, found["owner"]["id"].as_str().ok_or("no owner")?);
                let owner = ids.iter().find(|id| id.as_str() >= key).unwrap_or(&ids[0]);
                if told != owner {
                    return Err(at(format!("{told} instead of {owner}")));
                }
            }
        }
        Ok(())
    }
}

impl Machine {
    /// Asks its pages for anything, and gives the head and the body as it came.
    pub(crate) fn ask(&self, path: &str) -> Result<(String, Vec<u8>), String> {
        ask(&self.http, path)
    }

    /// Asks its pages for JSON.
    pub(crate) fn get(&self, path: &str) -> Result<Value, String> {
        let (head, body) = self.ask(path)?;
        let body = &*String::from_utf8_lossy(&body);
        if !head.starts_with("HTTP/1.1 200") {
            return Err(format!("{} {body}", head.lines().next().unwrap_or("")));
        }
        // Chunked or not, the JSON is between the first and the last brace.
        let (from, to) = (body.find('{').ok_or("no JSON")?, body.rfind('}').ok_or("no JSON")?);
        let json =
            if head.to_ascii_lowercase().contains("chunked") { unchunk(body) } else { body[from..=to].to_owned() };
        serde_json::from_str(&json).map_err(|error| format!("{error}: {json}"))
    }
}

/// Asks pages for anything, and gives the head and the body as it came.
pub(crate) fn ask(http: &str, path: &str) -> Result<(String, Vec<u8>), String> {
    let mut stream = TcpStream::connect(http).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).map_err(|error| error.to_string())?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(|error| error.to_string())?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or("no answer")?;
    Ok((String::from_utf8_lossy(&answer[..end]).into_owned(), answer.split_off(end + 4)))
}

pub(crate) fn unchunk(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        out.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    out
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for machine in &mut self.machines {
            if let Some(mut process) = machine.process.take() {
                let _ = process.kill();
                let _ = process.wait();
            }
        }
    }
}
