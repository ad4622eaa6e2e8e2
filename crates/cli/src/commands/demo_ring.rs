//! `demo`: a ring of five nodes on this machine, and a small web that changes every few seconds. They crawl it together, one of them is killed, and
//! the others go on and mend what it held.

use crate::Session;
use crate::show::{bytes, count, json_line, plural};
use anyhow::{Context, Result, ensure};
use herodotus_testweb::{Config, Server, Web, get};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const NODES: usize = 5;
const COPIES: &str = "3";
/// The web changes, and is crawled again, this often.
const ROUND: Duration = Duration::from_secs(5);
/// When one of the nodes is killed: by then most of the first round is archived.
const KILL_AFTER: Duration = Duration::from_secs(12);
/// How often a line is said.
const TELL_EVERY: Duration = Duration::from_secs(2);
/// What was fetched last is on its way to its copies when the crawl is stopped: nodes are given so long to agree.
const AGREE_WITHIN: Duration = Duration::from_secs(20);

/// A node that lives as long as the demo.
struct Node {
    data: PathBuf,
    process: Child,
    /// Where its pages are, and where programs ask.
    url: String,
    content: SocketAddr,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(super) fn run(session: &Session, lasts: Option<Duration>) -> Result<ExitCode> {
    let folder = tempfile::tempdir().context("making a temporary directory")?;
    let config = Config { hosts: 8, pages_per_host: 12, late_percent: 0, mortal_percent: 0, ..Config::default() };
    let server = Server::start(Web::new(config)).context("serving on loopback")?;
    let say = |text: String| {
        if !session.json {
            session.say(text);
        }
    };
    say(format!("A small web of 8 sites is served on {}; it changes every {} s.", server.addr(), ROUND.as_secs()));
    let mut nodes = begin(folder.path(), &server)?;
    say(format!("{NODES} nodes on this machine are a ring; everything is to lie on {COPIES} of them.\n"));
    say(format!("  Open {}\n", nodes[0].url));
    let mut crawl = vec!["crawl", "--together", "--no-wait", "--name", "demo", "--scope", "any", "--delay", "0"];
    let period = format!("{}s", ROUND.as_secs());
    let seeds: Vec<String> = server.web().hosts().map(|host| format!("http://{host}/")).collect();
    crawl.extend(["--rounds", "100000", "--period", &period]);
    crawl.extend(seeds.iter().map(String::as_str));
    ask(&nodes[0].data, &crawl)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.context("starting threads")?;
    let stopped = listen(&runtime, session);
    let began = Instant::now();
    let mut is_killed = false;
    let (mut last, mut counted) = (Value::Null, 0);
    while lasts.is_none_or(|lasts| began.elapsed() < lasts) && !stopped.load(Relaxed) {
        std::thread::sleep(TELL_EVERY);
        server.set_round((began.elapsed().as_secs() / ROUND.as_secs()) as u32);
        if !is_killed && began.elapsed() >= KILL_AFTER {
            // From one moment to the next, as a plug is pulled.
            drop(nodes.pop());
            is_killed = true;
            say("A node was killed. The others take over its part, and make its copies again.".to_owned());
        }
        // Ctrl-C reaches the nodes too: then there is nobody left to ask.
        let Ok(now) = status(&nodes[0].data) else { break };
        last = now;
        say(line(&last, counted));
        counted = counted.max(objects(&last));
    }
    if stopped.load(Relaxed) {
        return Ok(ExitCode::SUCCESS);
    }
    ask(&nodes[0].data, &["ring", "stop", "demo"])?;
    let summary = summary(&nodes, &server, &last, counted, is_killed, began.elapsed())?;
    match session.json {
        true => json_line(session, &summary)?,
        false => {
            session.say(format_args!(
                "\n{} fetched in {} rounds, {} kept; {} of {} sites read the same from every node that is left.",
                plural(summary["fetched"].as_u64().unwrap_or(0), "page", "pages"),
                summary["rounds"],
                plural(summary["objects"].as_u64().unwrap_or(0), "version", "versions"),
                summary["sites_read"],
                seeds.len(),
            ));
            session.say("`herodotus ring --help` says how to begin a ring with others; `herodotus demo --alone` shows what one node does.");
        }
    }
    let (read, sites) = (summary["sites_read"].as_u64(), seeds.len() as u64);
    ensure!(read == Some(sites), "not every node shows every site: {summary}");
    Ok(ExitCode::SUCCESS)
}

/// Set when the person has seen enough.
fn listen(runtime: &tokio::runtime::Runtime, session: &Session) -> Arc<AtomicBool> {
    let stopped = Arc::new(AtomicBool::new(false));
    let (set, console) = (stopped.clone(), session.console.clone());
    runtime.spawn(async move {
        if let Ok(mut stops) = console.stops() {
            stops.next().await;
            set.store(true, Relaxed);
        }
    });
    stopped
}

fn begin(folder: &Path, server: &Server) -> Result<Vec<Node>> {
    let first = folder.join("node-1");
    std::fs::create_dir(&first).context("making a directory")?;
    ask(&first, &["ring", "create", "--name", "demo", "--neighbours", "4", "--copies", COPIES])?;
    let mut nodes = vec![start(first, None, server)?];
    for number in 2..=NODES {
        let invited = ask(&nodes[0].data, &["--json", "ring", "invite", "--for", "1h"])?;
        let ticket = invited["ticket"].as_str().context("no ticket")?.to_owned();
        let data = folder.join(format!("node-{number}"));
        std::fs::create_dir(&data).context("making a directory")?;
        nodes.push(start(data, Some(&ticket), server)?);
    }
    Ok(nodes)
}

fn start(data: PathBuf, ticket: Option<&str>, server: &Server) -> Result<Node> {
    let peers = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).context("finding a free port")?;
    let log = std::fs::File::create(data.join("log")).context("making a log")?;
    let mut command = program()?;
    command.arg("--data").arg(&data).args(["--json", "node", "--listen", "127.0.0.1:0"]);
    command.args(["--replay-listen", "127.0.0.1:0", "--ring-pace", "300", "--copies-pace", "0.01"]);
    command.args(["--peers", &peers.to_string(), "--allow-private", "127.0.0.0/8"]);
    command.args(["--connect-to", &format!("*={}", server.addr())]);
    command.args(ticket.iter().flat_map(|ticket| ["--join", ticket]));
    let mut process =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().context("starting a node")?;
    let mut said = String::new();
    if let Some(out) = process.stdout.take() {
        BufReader::new(out).read_line(&mut said).context("hearing from a node")?;
    }
    let said: Value = serde_json::from_str(&said).context("a node did not start")?;
    let text = |name: &str| said[name].as_str().context("a node has no address");
    let (url, content) = (text("pages")?.to_owned(), text("replay_address")?.parse()?);
    Ok(Node { data, process, url, content })
}

fn program() -> Result<Command> {
    Ok(Command::new(std::env::current_exe().context("finding this program")?))
}

/// Runs a command on a node's archive. The last line that it says, if it is for programs.
fn ask(data: &Path, arguments: &[&str]) -> Result<Value> {
    let out =
        program()?.arg("--data").arg(data).args(arguments).stdin(Stdio::null()).output().context("asking a node")?;
    let said = String::from_utf8_lossy(&out.stdout);
    ensure!(out.status.success(), "{}: {}", arguments.join(" "), String::from_utf8_lossy(&out.stderr).trim());
    Ok(said.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or(Value::Null))
}

fn status(data: &Path) -> Result<Value> {
    let crawl = ask(data, &["--json", "ring", "crawls"])?;
    let health = ask(data, &["--json", "ring", "health"]).unwrap_or(Value::Null);
    Ok(json!({ "crawl": crawl, "health": health }))
}

/// Versions that the ring counts.
fn objects(status: &Value) -> u64 {
    let levels = status["health"]["objects"].as_array();
    levels.into_iter().flatten().filter_map(|level| level["objects"].as_u64()).sum()
}

/// How the crawl and its copies stand. `counted`: the most versions that were counted so far.
fn line(status: &Value, counted: u64) -> String {
    let crawl = &status["crawl"];
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    format!(
        "round {:>3}  {:>6} fetched  {:>5} changed  {:>5} waiting  {:>9}   {} machines  {}",
        number(&crawl["round"]),
        count(number(&crawl["fetched"])),
        count(number(&crawl["changed"])),
        count(number(&crawl["waiting"])),
        bytes(number(&crawl["bytes"])),
        crawl["machines"].as_array().map_or(0, Vec::len),
        copies_line(status, counted),
    )
}

fn copies_line(status: &Value, counted: u64) -> String {
    let wanted = status["health"]["copies"].as_u64().unwrap_or(0);
    let levels = status["health"]["objects"].as_array();
    let at_level = |level: &Value| level["copies"].as_u64().zip(level["objects"].as_u64());
    let levels = levels.into_iter().flatten().filter_map(at_level);
    let whole: u64 = levels.filter(|(copies, _)| *copies >= wanted).map(|(_, objects)| objects).sum();
    let all = objects(status);
    let share = format!("{:>3.0}% on {wanted}", 100.0 * whole as f64 / all.max(1) as f64);
    match all {
        0 => "versions are not counted yet".to_owned(),
        // Each is counted by who is responsible for it: those of a machine that died, by who has taken over.
        _ if all < counted => format!("{} of {} versions counted anew, {share}", count(all), count(counted)),
        _ => format!("{:>5} versions, {share}", count(all)),
    }
}

fn summary(
    nodes: &[Node],
    server: &Server,
    last: &Value,
    counted: u64,
    is_killed: bool,
    took: Duration,
) -> Result<Value> {
    let (began, hosts) = (Instant::now(), server.web().hosts().count());
    let mut sites_read = agreed(nodes, server);
    while sites_read < hosts && began.elapsed() < AGREE_WITHIN {
        std::thread::sleep(Duration::from_millis(250));
        sites_read = agreed(nodes, server);
    }
    Ok(json!({
        "nodes": nodes.len(),
        "killed": is_killed,
        "rounds": last["crawl"]["round"],
        "fetched": last["crawl"]["fetched"],
        "changed": last["crawl"]["changed"],
        "objects": counted,
        "copies": last["health"]["objects"],
        "sites_read": sites_read,
        "seconds": took.as_secs_f64(),
    }))
}

/// Of how many sites every node shows the same: the front page in all its versions.
fn agreed(nodes: &[Node], server: &Server) -> usize {
    let is_same = |host: &str| {
        let path = format!("/cdx?url=http://{host}/");
        let lists: Vec<Vec<u8>> = nodes
            .iter()
            .filter_map(|node| get(node.content, &node.content.to_string(), &path).ok())
            .filter(|answer| answer.status() == 200 && !answer.body.is_empty())
            .map(|answer| answer.body)
            .collect();
        lists.len() == nodes.len() && lists.windows(2).all(|pair| pair[0] == pair[1])
    };
    server.web().hosts().filter(|host| is_same(host)).count()
}
