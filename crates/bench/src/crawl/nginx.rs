//! The server that everyone crawls: one nginx with one worker, its configuration and files in a temporary folder, on two ports
//! that show the same site. One port writes down what was asked, to count by; the other does not, to measure by.
//!
//! It ends with its value; if this program is killed outright, it has to be ended by hand.

use super::site::Site;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// It needs milliseconds; a machine under load may take its time.
const START_SECONDS_MAX: u64 = 20;

#[derive(Debug)]
pub(crate) struct Nginx {
    folder: tempfile::TempDir,
    process: Child,
    logged_port: u16,
    quiet_port: u16,
}

/// What was asked of the logged port.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    /// HTML answered with 200.
    pub(crate) pages: u64,
    /// Everything else answered with 200.
    pub(crate) others: u64,
    pub(crate) not_modified: u64,
    /// Redirects and errors.
    pub(crate) rest: u64,
    pub(crate) body_bytes: u64,
    /// Times each path was answered with 200.
    pub(crate) paths: BTreeMap<String, u64>,
}

impl Nginx {
    pub(crate) fn start(work: &Path, site: &Site) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("herodotus-bench-nginx-").tempdir_in(work)?;
        let (logged_port, quiet_port) = (free_port()?, free_port()?);
        let as_root = folder.path().metadata()?.uid() == 0;
        std::fs::write(folder.path().join("nginx.conf"), configuration(site, as_root, logged_port, quiet_port))?;
        let process =
            command(folder.path()).spawn().context("starting nginx (install the Debian package nginx-light)")?;
        let mut nginx = Self { folder, process, logged_port, quiet_port };
        nginx.wait_until_it_answers()?;
        Ok(nginx)
    }

    /// Where requests are counted.
    pub(crate) fn logged(&self) -> String {
        format!("http://127.0.0.1:{}/", self.logged_port)
    }

    /// Where nothing is written down.
    pub(crate) fn quiet(&self) -> String {
        format!("http://127.0.0.1:{}/", self.quiet_port)
    }

    /// What was asked of the logged port since this was called last.
    pub(crate) fn traffic(&self) -> Result<Traffic> {
        let path = self.log();
        let log = std::fs::read_to_string(&path)?;
        // nginx appends, so that it goes on at the new end.
        std::fs::File::create(&path)?;
        Traffic::of(&log)
    }

    /// Requests answered on both ports so far, without those that ask for this number.
    pub(crate) fn requests(&mut self) -> Result<u64> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.quiet_port))?;
        stream.set_read_timeout(Some(Duration::from_secs(START_SECONDS_MAX)))?;
        stream.write_all(b"GET /.bench-status HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        // "server accepts handled requests\n 3 3 17 \n"
        text.lines()
            .skip_while(|line| !line.starts_with("server accepts"))
            .nth(1)
            .and_then(|line| line.split_whitespace().nth(2)?.parse().ok())
            .with_context(|| format!("nginx's status is not one: {text}"))
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("access.log")
    }

    fn wait_until_it_answers(&mut self) -> Result<()> {
        let until = Instant::now() + Duration::from_secs(START_SECONDS_MAX);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.quiet_port)).is_err() {
            let gone = self.process.try_wait()?;
            ensure!(
                gone.is_none() && Instant::now() < until,
                "nginx did not start: {}",
                std::fs::read_to_string(self.folder.path().join("error.log")).unwrap_or_default().trim()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its master ends its worker; killing the master would leave the worker behind.
        let _ = command(self.folder.path()).args(["-s", "stop"]).status();
        let _ = self.process.wait();
    }
}

impl Traffic {
    pub(crate) fn requests(&self) -> u64 {
        self.pages + self.others + self.not_modified + self.rest
    }

    /// Requests for something that had been answered with 200 before.
    pub(crate) fn repeated(&self) -> u64 {
        self.paths.values().map(|times| times - 1).sum()
    }

    fn of(log: &str) -> Result<Self> {
        let mut traffic = Self::default();
        for line in log.lines() {
            let mut fields = line.split('\t');
            let mut next = || fields.next().with_context(|| format!("not a line of the access log: {line}"));
            let (status, bytes, media, path) = (next()?, next()?, next()?, next()?);
            traffic.body_bytes += bytes.parse::<u64>()?;
            match status {
                "200" if media.starts_with("text/html") => traffic.pages += 1,
                "200" => traffic.others += 1,
                "304" => traffic.not_modified += 1,
                _ => traffic.rest += 1,
            }
            if status == "200" {
                *traffic.paths.entry(path.to_owned()).or_default() += 1;
            }
        }
        Ok(traffic)
    }
}

fn command(folder: &Path) -> Command {
    // Debian keeps it where only administrators look.
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("nginx");
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command.arg("-p").arg(folder).args(["-e", "error.log", "-c", "nginx.conf"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// One that was free a moment ago: nginx cannot tell which one the system gave it.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn configuration(site: &Site, as_root: bool, logged_port: u16, quiet_port: u16) -> String {
    let mut text = String::new();
    if as_root {
        // It would become `nobody`, who may not read what root keeps for itself.
        text.push_str("user root;\n");
    }
    let root = site.root.display();
    let _ = write!(
        text,
        "daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log error;
events {{ worker_connections 4096; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    sendfile on; tcp_nopush on; etag on; gzip off;
    keepalive_requests 100000000; keepalive_timeout 60;
    root \"{root}\";
    log_format counted '$status\\t$body_bytes_sent\\t$sent_http_content_type\\t$request_uri';
    server {{ listen 127.0.0.1:{logged_port}; access_log access.log counted; }}
    server {{ listen 127.0.0.1:{quiet_port} backlog=4096; access_log off; location = /.bench-status {{ stub_status; }} }}
}}
"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_is_counted_by_what_was_answered() {
        let log = "200\t10\ttext/html\t/\n200\t20\timage/png\t/a.png\n304\t0\t-\t/\n404\t7\ttext/html\t/gone\n\
                   200\t10\ttext/html\t/\n";
        let traffic = Traffic::of(log).expect("lines of our own format");
        assert_eq!((traffic.pages, traffic.others, traffic.not_modified, traffic.rest), (2, 1, 1, 1));
        assert_eq!((traffic.body_bytes, traffic.requests(), traffic.repeated()), (47, 5, 1));
        assert!(Traffic::of("200\t10").is_err());
    }
}
