//! The two servers over the same captures: ours, and pywb under uwsgi with two processes. Each ends with its value.

use super::corpus::Corpus;
use crate::peers::{self, say};
use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Python takes its time; a machine under load more.
const START_SECONDS_MAX: u64 = 60;

#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    kind: Kind,
    /// Of archived content.
    pub(crate) port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Herodotus,
    Pywb,
}

impl Server {
    pub(crate) fn herodotus(corpus: &Corpus) -> Result<Self> {
        let (pages, content) = (free_port()?, free_port()?);
        let process = Command::new(peers::herodotus()?)
            .args(["serve", "--data"])
            .arg(corpus.archive())
            .args(["--listen", &format!("127.0.0.1:{pages}"), "--replay-listen", &format!("127.0.0.1:{content}")])
            .stdout(Stdio::null())
            .spawn()?;
        let mut server = Self { process, kind: Kind::Herodotus, port: content };
        server.wait(&corpus.pages)?;
        Ok(server)
    }

    pub(crate) fn pywb(data: &Path, corpus: &Corpus) -> Result<Self> {
        let tools = peers::replay_tools(data)?;
        let home = corpus.scratch("pywb");
        std::fs::create_dir_all(&home)?;
        for arguments in [vec!["init", "web"], vec!["add", "web", &corpus.warc().to_string_lossy()]] {
            let status = Command::new(tools.join("wb-manager")).args(&arguments).current_dir(&home).output()?;
            ensure!(status.status.success(), "wb-manager {arguments:?}: {}", String::from_utf8_lossy(&status.stderr));
        }
        let port = free_port()?;
        say("starting pywb under uwsgi");
        let process = Command::new(tools.join("uwsgi"))
            .args(["--http-socket", &format!("127.0.0.1:{port}"), "--master", "--processes", "2", "--gevent", "100"])
            .args(["--gevent-monkey-patch", "--buffer-size", "65536", "--die-on-term", "--disable-logging"])
            .args(["--wsgi", "pywb.apps.wayback"])
            .current_dir(&home)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(home.join("log"))?)
            .spawn()
            .context("starting uwsgi")?;
        let mut server = Self { process, kind: Kind::Pywb, port };
        server.wait(&corpus.pages)?;
        Ok(server)
    }

    /// The paths of each workload.
    pub(crate) fn paths(&self, corpus: &Corpus) -> Vec<Vec<String>> {
        let page = |(stamp, url): &(String, String)| match self.kind {
            Kind::Herodotus => format!("/web/{stamp}/{url}"),
            Kind::Pywb => format!("/web/{stamp}mp_/{url}"),
        };
        let picture = |(stamp, url): &(String, String)| format!("/web/{stamp}im_/{url}");
        let url = &corpus.versions_of;
        vec![
            corpus.pages.iter().map(page).collect(),
            corpus.pages.iter().take(1).map(page).collect(),
            corpus.pictures.iter().map(picture).collect(),
            vec![format!("/web/cdx?url={url}&output=json")],
            vec![format!("/web/timemap/link/{url}")],
        ]
    }

    /// CPU seconds of the server and its workers so far, and their resident bytes now.
    pub(crate) fn usage(&self) -> Result<(f64, u64)> {
        let me = self.process.id();
        let (mut ticks, mut pages) = (0, 0);
        for entry in std::fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
            let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            let number = |i: usize| fields.get(i).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
            if pid == me || number(1) == u64::from(me) {
                ticks += number(11) + number(12);
                pages += number(21);
            }
        }
        // The kernel counts in hundredths everywhere that this runs.
        Ok((ticks as f64 / 100.0, pages * 4096))
    }

    fn wait(&mut self, pages: &[(String, String)]) -> Result<()> {
        let (stamp, url) = pages.first().context("no pages")?;
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(START_SECONDS_MAX) {
            if let Some(status) = self.process.try_wait()? {
                bail!("the server ended at once: {status}");
            }
            if get(self.port, &format!("/web/{stamp}id_/{url}")).is_ok_and(|head| head.contains(" 200 ")) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("the server did not answer in {START_SECONDS_MAX} s")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // uwsgi's master takes its workers with it when it is asked; a kill would leave them.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// The first line of the answer to a request.
pub(super) fn get(port: u16, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(START_SECONDS_MAX)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(4096).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned())
}
