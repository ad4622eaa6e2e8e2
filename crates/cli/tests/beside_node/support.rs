//! A node as a process of its own, commands beside it, and a small archive.

use herodotus_base::Timestamp;
use herodotus_warc::{Coding, Fields, Writer};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Nothing that is waited for takes longer on a machine that is alive.
const WAIT_MAX: Duration = Duration::from_secs(120);

pub(crate) struct Node {
    pub(crate) process: Child,
    pub(crate) data: PathBuf,
    /// Where its pages are.
    pub(crate) http: String,
}

impl Node {
    /// Starts a node, and waits until it listens.
    pub(crate) fn start(data: &Path) -> Self {
        let mut process = herodotus(data)
            .args(["--json", "node", "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        Self { process, data: data.to_owned(), http: said["ui_address"].as_str().unwrap().to_owned() }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        run(&self.data, arguments)
    }

    /// Asks its pages.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.http).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.http).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Asks it to stop, and says whether it ended well.
    pub(crate) fn terminate(mut self) -> bool {
        signal(&self.process, "TERM");
        self.process.wait().unwrap().success()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn herodotus(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_herodotus"));
    command.env_remove("HERODOTUS_DATA").env_remove("HERODOTUS_CONTACT").arg("--data").arg(data);
    command
}

pub(crate) fn run(data: &Path, arguments: &[&str]) -> Output {
    herodotus(data).args(arguments).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn signal(process: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &process.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Looks again and again until it is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < WAIT_MAX, "not in {WAIT_MAX:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Three versions of each page.
pub(crate) fn make_warc(path: &Path, first: u64, pages: u64) {
    let mut writer = Writer::new(BufWriter::new(File::create(path).unwrap()), Coding::Gzip).unwrap();
    for n in first * 3..(first + pages) * 3 {
        let body = format!("<html><title>{0}</title><p>version {1} of page {0}</p></html>", n / 3, n % 3);
        let block =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let time = Timestamp::from_millis(1_600_000_000_000 + n as i64 * 1000).unwrap();
        let fields = Fields::from([
            ("WARC-Type", "response".to_owned()),
            ("WARC-Record-ID", format!("<urn:uuid:00000000-0000-4000-8000-{n:012x}>")),
            ("WARC-Date", time.rfc3339()),
            ("WARC-Target-URI", format!("https://site.example/page/{}", n / 3)),
            ("Content-Type", "application/http; msgtype=response".to_owned()),
        ]);
        writer.write("WARC/1.1", &fields, &mut block.as_bytes(), block.len() as u64).unwrap();
    }
    writer.finish().unwrap();
}
