//! What one machine takes in lies on as many as the ring says, outlives them, and is read from every one of them, byte for byte.

use crate::machines::{Cluster, Machine, WAIT_MAX};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// A capture that was imported: where `/warc` has it, and a body that nothing else has.
pub(crate) struct Truth {
    pub(crate) path: String,
    pub(crate) body: String,
}

/// A WARC file with so many pages on each of some hosts, in so many versions.
pub(crate) fn collection(name: &str, hosts: usize, pages: usize, versions: usize) -> (String, Vec<Truth>) {
    let (mut file, mut truth) = (String::new(), Vec::new());
    for version in 0..versions {
        for host in 0..hosts {
            for page in 0..pages {
                let url = format!("http://{name}-{host}.example/page/{page}");
                let filler: String = (0..60).map(|line| format!("<p>{name} {host} {page} {line}</p>\n")).collect();
                let body = format!("<html><body>{filler}<b>version {version} of {url}</b></body></html>");
                let http = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                let (day, second) = (version + 1, page % 60);
                write!(
                    file,
                    "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-{day:02}T00:00:{second:02}Z\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{version:04}{host:04}{page:04}>\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
                    http.len()
                )
                .unwrap();
                truth.push(Truth { path: format!("/warc/202401{day:02}0000{second:02}000/{url}"), body });
            }
        }
    }
    (file, truth)
}

impl Cluster {
    /// Brings a collection in through one machine; the command ends when it is handed on.
    pub(crate) fn bring_in(&self, at: usize, name: &str, file: &str) {
        let path = self.machines[at].data.join(format!("{name}.warc"));
        std::fs::write(&path, file).unwrap();
        let done = self.command(at, &["import", path.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
        assert!(said.contains("Handed on"), "{said}");
    }

    /// Waits until every object lies on so many machines, as all that are alive say.
    pub(crate) fn lies_on(&self, copies: u64, objects: u64, what: &str) {
        let (began, mut last) = (Instant::now(), String::new());
        while began.elapsed() < WAIT_MAX {
            let wanted = |machine: &Machine| {
                let health = machine.get("/api/v1/ring/health")?;
                let levels = health["objects"].as_array().cloned().unwrap_or_default();
                let is_whole = levels.len() == 1 && levels[0]["copies"] == copies && levels[0]["objects"] == objects;
                let all_answer = health["machines_silent"] == 0;
                if is_whole && all_answer { Ok(()) } else { Err(health["objects"].to_string()) }
            };
            match self
                .living()
                .try_for_each(|machine| wanted(machine).map_err(|why| format!("{}: {why}", machine.number)))
            {
                Ok(()) => {
                    println!(
                        "{what}: {objects} objects on {copies} machines after {:.1} s",
                        began.elapsed().as_secs_f64()
                    );
                    return;
                }
                Err(why) => last = why,
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("{what}: not on {copies} machines within {WAIT_MAX:?}: {last}");
    }

    /// Every capture can be read from every living machine, as it was.
    pub(crate) fn all_read_the_same(&self, truth: &[Truth], what: &str) {
        for machine in self.living() {
            for (n, capture) in truth.iter().enumerate() {
                // Each capture from some machines: together, every machine and every capture several times.
                if (n + machine.number) % 3 == 0 {
                    let (head, body) = machine.ask_patiently(&capture.path);
                    let is_there = body.windows(capture.body.len()).any(|window| window == capture.body.as_bytes());
                    assert!(is_there, "{what}: machine {} has not {}: {head}", machine.number, capture.path);
                }
            }
        }
    }
}

impl Machine {
    /// As a browser does that is told to come again: those who hold it may just have died.
    pub(crate) fn ask_patiently(&self, path: &str) -> (String, Vec<u8>) {
        let began = Instant::now();
        loop {
            match self.ask(path) {
                Ok((head, _)) if head.starts_with("HTTP/1.1 503") && began.elapsed() < WAIT_MAX => {}
                Ok(answer) => return answer,
                Err(error) => panic!("machine {}: {error}", self.number),
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn eight_machines_keep_six_copies_through_deaths_a_wiped_disk_and_rot() {
    let mut cluster = Cluster::of(8, &["--copies", "6"], &["--copies-pace", "0.01", "--scrub-days", "0.00002"]);
    cluster.settle("eight joined");
    let (file, mut truth) = collection("first", 10, 6, 3);
    cluster.bring_in(3, "first", &file);
    // Acknowledged is acknowledged: the machine that took it in may die this moment.
    cluster.kill(3);
    cluster.all_read_the_same(&truth, "right after the one that took it in died");
    cluster.start(3, None);
    cluster.lies_on(6, truth.len() as u64, "imported, and back");
    cluster.all_read_the_same(&truth, "imported");

    // A machine that copies for others already takes something in, and dies for good the moment that it was acknowledged.
    let (file, more) = collection("last", 10, 2, 1);
    cluster.bring_in(4, "last", &file);
    truth.extend(more);
    cluster.kill(4);
    wipe(&cluster.machines[4].data);
    cluster.all_read_the_same(&truth, "right after the disk that took it in was wiped");
    cluster.start(4, None);
    cluster.lies_on(6, truth.len() as u64, "wiped, and back");

    cluster.kill(1);
    cluster.kill(5);
    let (file, more) = collection("second", 5, 4, 2);
    cluster.bring_in(6, "second", &file);
    truth.extend(more);
    cluster.lies_on(6, truth.len() as u64, "two killed, more imported");
    cluster.all_read_the_same(&truth, "two killed");

    // One comes back with its old disk, one with an empty one.
    wipe(&cluster.machines[5].data);
    cluster.start(1, None);
    cluster.start(5, None);
    cluster.settle("two back");
    cluster.lies_on(6, truth.len() as u64, "two back, one of them wiped");
    cluster.all_read_the_same(&truth, "two back");

    // A disk that forgets: what it holds is read through, and mended from the others.
    let rotten = 2;
    cluster.kill(rotten);
    rot(&cluster.machines[rotten].data.join("packs"));
    cluster.start(rotten, None);
    cluster.settle("one with a rotten disk");
    cluster.lies_on(6, truth.len() as u64, "one with a rotten disk");
    cluster.all_read_the_same(&truth, "one with a rotten disk");
    let began = Instant::now();
    while !cluster.command(rotten, &["verify"]).status.success() {
        assert!(
            began.elapsed() < WAIT_MAX,
            "{}",
            String::from_utf8_lossy(&cluster.command(rotten, &["verify"]).stdout)
        );
        std::thread::sleep(Duration::from_millis(500));
    }
    println!("mended after {:.1} s", began.elapsed().as_secs_f64());
}

/// Everything but who the machine is.
fn wipe(data: &Path) {
    for entry in std::fs::read_dir(data).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        match name.as_str() {
            "ring" | "test-port" | "machine" | "machine.key" | "token" => {}
            _ if entry.path().is_dir() => std::fs::remove_dir_all(entry.path()).unwrap(),
            _ => std::fs::remove_file(entry.path()).unwrap(),
        }
    }
}

/// Flips a bit in the middle of every pack that is worth it.
fn rot(packs: &Path) {
    for entry in std::fs::read_dir(packs).unwrap().flatten() {
        let mut bytes = std::fs::read(entry.path()).unwrap();
        if bytes.len() > 4096 {
            let middle = bytes.len() / 3;
            bytes[middle] ^= 0x10;
            std::fs::write(entry.path(), bytes).unwrap();
        }
    }
}
