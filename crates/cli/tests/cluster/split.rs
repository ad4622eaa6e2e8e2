//! A host that grows is split over more places while it is written and read: no answer lacks what was acknowledged, and in the end everything lies
//! where it belongs. And a ring that places every URL by itself.

use crate::copies::Truth;
use crate::machines::{Cluster, Machine, WAIT_MAX, ask, unchunk};
use std::fmt::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is acknowledged is on its owner's disk. Pages of other machines may show what they were told three seconds ago, and a copy may be
/// a moment behind: on a busy machine, two.
const SEEN_AFTER: Duration = Duration::from_secs(6);
const COPIES: &[&str] = &["--copies", "3"];
const QUICKLY: &[&str] = &["--copies-pace", "0.01", "--split-at", "8"];

/// A WARC file with one version of some pages of a host.
fn pages(host: &str, pages: Range<usize>, version: usize) -> (String, Vec<Truth>) {
    let (mut file, mut truth) = (String::new(), Vec::new());
    for page in pages {
        let url = format!("http://{host}/page/{page}");
        let filler: String = (0..20).map(|line| format!("<p>{host} {page} {line}</p>\n")).collect();
        let body = format!("<html><body>{filler}<b>version {version} of {url}</b></body></html>");
        let http =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let (day, second) = (version + 1, page % 60);
        write!(
            file,
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-{day:02}T00:00:{second:02}Z\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{version:04}{page:08}>\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            http.len()
        )
        .unwrap();
        truth.push(Truth { path: format!("/warc/202401{day:02}0000{second:02}000/{url}"), body });
    }
    (file, truth)
}

/// What was acknowledged, with the moment.
type Acknowledged = Arc<Mutex<Vec<(Instant, Arc<Truth>)>>>;

/// People who read all the while, on several machines, and what they found missing.
struct Readers {
    known: Acknowledged,
    is_over: Arc<AtomicBool>,
    read: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<Option<String>>>,
}

impl Readers {
    /// `host`: its list of captures is read too, and counted.
    fn start(machines: &[&Machine], host: &str) -> Self {
        let (known, is_over, read) = (Acknowledged::default(), Arc::default(), Arc::default());
        let mut readers = Self { known, is_over, read, threads: Vec::new() };
        for (nth, machine) in machines.iter().enumerate() {
            let (number, http, host) = (machine.number, machine.http.clone(), host.to_owned());
            let (known, is_over, read) = (readers.known.clone(), readers.is_over.clone(), readers.read.clone());
            readers.threads.push(std::thread::spawn(move || {
                let mut at = nth * 7;
                while !is_over.load(Relaxed) {
                    let now = Instant::now();
                    let all: Vec<Arc<Truth>> = {
                        let known = known.lock().unwrap();
                        let is_seen = |(since, _): &&(Instant, _)| now.duration_since(*since) > SEEN_AFTER;
                        known.iter().filter(is_seen).map(|(_, truth)| truth.clone()).collect()
                    };
                    if all.is_empty() {
                        std::thread::sleep(Duration::from_millis(20));
                        continue;
                    }
                    at += 1;
                    let wrong = match at % 8 {
                        0 => lacks_in_list(&http, &host, all.len()),
                        _ => lacks(&http, &all[at * 31 % all.len()]),
                    };
                    if let Some(wrong) = wrong {
                        return Some(format!("machine {number}: {wrong}"));
                    }
                    read.fetch_add(1, Relaxed);
                }
                None
            }));
        }
        readers
    }

    fn acknowledge(&self, truth: &[Arc<Truth>]) {
        let now = Instant::now();
        self.known.lock().unwrap().extend(truth.iter().map(|truth| (now, truth.clone())));
    }

    /// Nothing that was acknowledged was ever missing in an answer.
    fn stop(self, what: &str) {
        // What was acknowledged a moment ago is not asked for yet: those who read must have come to something.
        let began = Instant::now();
        let has_ended = |threads: &[JoinHandle<_>]| threads.iter().any(JoinHandle::is_finished);
        while self.read.load(Relaxed) == 0 && !has_ended(&self.threads) && began.elapsed() < WAIT_MAX {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.is_over.store(true, Relaxed);
        let found: Vec<String> = self.threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
        assert!(found.is_empty(), "{what}: {found:#?}");
        println!("{what}: {} answers, and nothing was missing", self.read.load(Relaxed));
        assert!(self.read.load(Relaxed) > 0);
    }
}

/// What is wrong with the answer, if there is one: "try again" is none.
fn lacks(http: &str, truth: &Truth) -> Option<String> {
    let (head, body) = ask(http, &truth.path).ok()?;
    let is_there = body.windows(truth.body.len()).any(|window| window == truth.body.as_bytes());
    let is_answer = !head.starts_with("HTTP/1.1 503");
    (is_answer && !is_there).then(|| format!("{} is not {}", head.lines().next().unwrap_or(""), truth.path))
}

/// The lines of the list of a host's captures. `None`: it could not be had, or not to its end.
fn list(http: &str, host: &str) -> Option<usize> {
    let (head, body) = ask(http, &format!("/cdx?url={host}/page/*")).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let is_chunked = head.to_ascii_lowercase().contains("chunked");
    if !head.starts_with("HTTP/1.1 200") || is_chunked && !body.ends_with("\r\n0\r\n\r\n") {
        return None;
    }
    let text = if is_chunked { unchunk(&body) } else { body };
    Some(text.lines().filter(|line| line.contains(")/page/")).count())
}

fn lacks_in_list(http: &str, host: &str, wanted: usize) -> Option<String> {
    let found = list(http, host)?;
    (found < wanted).then(|| format!("the list of {host} has {found} of {wanted} captures"))
}

impl Cluster {
    /// Waits until the owner of a host's first place says that it has so many parts at least, and that all have moved.
    fn is_split(&self, host: &str, parts: u64, what: &str) -> u64 {
        let (began, mut last) = (Instant::now(), String::new());
        while began.elapsed() < WAIT_MAX {
            for machine in self.living() {
                let health = machine.get("/api/v1/ring/health").unwrap_or_default();
                for split in health["splits"].as_array().into_iter().flatten() {
                    let now = split["parts"].as_u64().unwrap_or(0);
                    if split["host"] == host && now >= parts && split["is_settled"] == true {
                        println!("{what}: split into {now} after {:.1} s", began.elapsed().as_secs_f64());
                        return now;
                    }
                }
                last = health["splits"].to_string();
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("{what}: {host} is not split into {parts} within {WAIT_MAX:?}: {last}");
    }

    /// Waits until nothing lies on any machine that is not its to hold.
    fn holds_nothing_astray(&self, copies: u64, objects: u64, what: &str) {
        let (began, mut last) = (Instant::now(), 0);
        while began.elapsed() < WAIT_MAX {
            let health = self.living().next().unwrap().get("/api/v1/ring/health").unwrap_or_default();
            let held = health["machines"].as_array().into_iter().flatten().filter_map(|m| m["objects_held"].as_u64());
            last = held.sum();
            if last == copies * objects && health["machines_silent"] == 0 {
                println!("{what}: nothing astray after {:.1} s", began.elapsed().as_secs_f64());
                return;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("{what}: {last} copies are held, not {copies} of {objects} each");
    }

    /// Every machine shows the whole host: in the list of captures, and on the host's page.
    fn all_show_all(&self, host: &str, captures: usize, what: &str) {
        for machine in self.living() {
            let began = Instant::now();
            loop {
                let listed = list(&machine.http, host);
                let page = machine.get(&format!("/api/v1/host?host={host}")).unwrap_or_default();
                if listed == Some(captures) && page["captures"] == captures {
                    break;
                }
                // "Try again", or numbers of a moment ago.
                assert!(
                    began.elapsed() < WAIT_MAX && listed.is_none_or(|listed| listed == captures),
                    "{what}: machine {} lists {listed:?} and shows {} of {captures}",
                    machine.number,
                    page["captures"]
                );
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    }

    /// Brings in some pages through the first machine; they are acknowledged when it returns.
    fn write(&self, host: &str, range: Range<usize>, version: usize, all: &mut Vec<Arc<Truth>>) -> Vec<Arc<Truth>> {
        let name = format!("{host}-{}-{version}", range.start);
        let (file, truth) = pages(host, range, version);
        self.bring_in(0, &name, &file);
        let truth: Vec<Arc<Truth>> = truth.into_iter().map(Arc::new).collect();
        all.extend(truth.iter().cloned());
        truth
    }

    fn all_read_all(&self, truth: &[Arc<Truth>], what: &str) {
        for machine in self.living() {
            for capture in truth {
                let (head, body) = machine.ask_patiently(&capture.path);
                let is_there = body.windows(capture.body.len()).any(|window| window == capture.body.as_bytes());
                assert!(is_there, "{what}: machine {} has not {}: {head}", machine.number, capture.path);
            }
        }
    }
}

#[test]
fn a_host_is_split_while_it_is_written_and_read() {
    let cluster = Cluster::of(6, COPIES, QUICKLY);
    cluster.settle("six joined");
    let host = "grows.example";
    let readers = Readers::start(&[1, 3, 5].map(|at| &cluster.machines[at]), host);
    let mut all = Vec::new();
    let mut pages = 0;
    for (version, upto) in [7, 20, 45, 100].into_iter().enumerate() {
        readers.acknowledge(&cluster.write(host, pages..upto, version, &mut all));
        pages = upto;
        // Versions of what is there already, while it may be on its way to another place.
        readers.acknowledge(&cluster.write(host, 0..7, version + 1, &mut all));
        // Old enough that nobody may miss it when it moves the next time.
        std::thread::sleep(SEEN_AFTER);
    }
    cluster.is_split("example,grows", 8, "written");
    cluster.lies_on(3, all.len() as u64, "written");
    cluster.holds_nothing_astray(3, all.len() as u64, "written");
    std::thread::sleep(SEEN_AFTER);
    readers.stop("while it was written and split");
    cluster.all_read_all(&all, "split");
    cluster.all_show_all(host, all.len(), "split");
}

#[test]
fn a_machine_dies_while_a_host_is_split() {
    let mut cluster = Cluster::of(6, COPIES, QUICKLY);
    cluster.settle("six joined");
    for (round, wait_ms) in [0, 700].into_iter().enumerate() {
        let host = format!("dies-{round}.example");
        let what = format!("the owner died {wait_ms} ms after the write");
        let mut all = Vec::new();
        // Old ones, which lie on three machines: whoever dies, they are there.
        let old = cluster.write(&host, 0..6, 0, &mut all);
        let before = 60 * round as u64;
        cluster.lies_on(3, before + old.len() as u64, &what);
        let owner = cluster.machines[0].get(&format!("/api/v1/ring/lookup?url=http://{host}/")).unwrap();
        let owner = owner["owner"]["machine"].as_str().unwrap().to_owned();
        let is_owner = |machine: &&Machine| machine.get("/api/v1/ring").is_ok_and(|ring| ring["machine"] == owner);
        let owner = cluster.living().find(is_owner).unwrap().number;
        // The one that takes it in must live: only two have what has just been acknowledged.
        let dying = if owner == 0 { 1 } else { owner };
        let readers =
            Readers::start(&cluster.living().filter(|machine| machine.number != dying).collect::<Vec<_>>(), &host);
        readers.acknowledge(&old);
        cluster.write(&host, 6..60, 0, &mut all);
        std::thread::sleep(Duration::from_millis(wait_ms));
        cluster.kill(dying);
        cluster.is_split(&format!("example,dies-{round}"), 2, &what);
        cluster.lies_on(3, before + all.len() as u64, &what);
        readers.stop(&what);
        cluster.all_read_all(&all, &what);
        cluster.all_show_all(&host, all.len(), &what);
        cluster.start(dying, None);
        cluster.settle(&format!("{what}, and is back"));
        cluster.lies_on(3, before + all.len() as u64, "back");
        cluster.all_show_all(&host, all.len(), "back");
    }
    cluster.holds_nothing_astray(3, 120, "back");
}

#[test]
fn a_ring_may_place_every_url_by_itself() {
    let mut cluster = Cluster::of(5, &["--copies", "3", "--placement", "url"], QUICKLY);
    cluster.settle("five joined");
    let status = cluster.command(2, &["ring", "status"]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("placed by url"), "{status}");
    let (host, mut all) = ("scattered.example", Vec::new());
    for version in 0..2 {
        cluster.write(host, 0..30, version, &mut all);
    }
    cluster.lies_on(3, all.len() as u64, "by URL");
    cluster.holds_nothing_astray(3, all.len() as u64, "by URL");
    cluster.all_read_all(&all, "by URL");
    cluster.all_show_all(host, all.len(), "by URL");
    // They do not lie together.
    let place = |page: usize| {
        let path = format!("/api/v1/ring/lookup?url=http://{host}/page/{page}");
        cluster.machines[1].get(&path).unwrap()["key"].as_str().unwrap().to_owned()
    };
    assert_ne!(place(1), place(2));
    let health = cluster.machines[0].get("/api/v1/ring/health").unwrap();
    assert_eq!(health["hosts_split"], 0);
    cluster.kill(3);
    cluster.lies_on(3, all.len() as u64, "one killed");
    cluster.all_read_all(&all, "one killed");
    cluster.all_show_all(host, all.len(), "one killed");
}
