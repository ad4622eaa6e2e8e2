//! Behind the doors: finds out which host is asked for, counts, answers what every host answers decently, and plays
//! the case's script for the rest.

use super::http2::Connection;
use super::plan::{AFTER, Ask, Door, Plan};
use super::talk::{Talk, Wire};
use crate::limits::HOSTILE_HOSTS_MAX;
use crate::request::Request;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

/// The domain that all hosts are under.
pub(super) const DOMAIN: &str = "hostile.test";

/// What all connections share.
pub(super) struct House {
    plans: HashMap<&'static str, Plan>,
    requests: Mutex<HashMap<String, u64>>,
}

impl House {
    pub(super) fn new(plans: Vec<Plan>) -> Self {
        let plans = plans.into_iter().map(|plan| (plan.name, plan)).collect();
        Self { plans, requests: Mutex::default() }
    }

    pub(super) fn requests(&self, host: &str) -> u64 {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).get(host).copied().unwrap_or(0)
    }

    fn count(&self, host: &str) -> u64 {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() >= HOSTILE_HOSTS_MAX && !requests.contains_key(host) {
            return 0;
        }
        let count = requests.entry(host.to_owned()).or_default();
        *count += 1;
        *count
    }

    /// The case that a host plays: `slow-head.hostile.test`, or a host below it.
    fn plan(&self, host: &str) -> Option<&Plan> {
        let name = host.strip_suffix(DOMAIN)?.strip_suffix('.')?;
        self.plans.get(name.rsplit('.').next()?)
    }

    /// A connection to the door that all plain hosts share.
    pub(super) fn serve_plain(&self, tcp: &TcpStream) -> io::Result<()> {
        self.serve_http1(Talk::new(Wire::Plain(tcp), tcp)?)
    }

    /// A connection to a door of one host's own.
    pub(super) fn serve_raw(&self, tcp: &TcpStream, name: &str) -> io::Result<()> {
        let host = format!("{name}.{DOMAIN}");
        let Some(plan) = self.plan(&host) else { return Ok(()) };
        let ask = Ask { number: self.count(&host), host, ..Ask::default() };
        let mut talk = Talk::new(Wire::Plain(tcp), tcp)?;
        (plan.script)(&mut talk, &ask)?;
        talk.close();
        Ok(())
    }

    pub(super) fn serve_tls(&self, tcp: &TcpStream, config: Arc<ServerConfig>) -> io::Result<()> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        let host = stream.conn.server_name().unwrap_or_default().to_ascii_lowercase();
        let agreed = stream.conn.alpn_protocol() == Some(b"h2");
        let talk = Talk::new(Wire::Tls(Box::new(stream)), tcp)?;
        match self.plan(&host) {
            Some(Plan { door: Door::Http2, frames: Some(frames), .. }) if agreed => {
                Connection::new(talk).serve(*frames, || {
                    self.count(&host);
                })
            }
            _ => self.serve_http1(talk),
        }
    }

    fn serve_http1(&self, mut talk: Talk<'_>) -> io::Result<()> {
        while let Some(head) = talk.head()? {
            let Ok(request) = Request::parse(&head) else {
                talk.answer("400 Bad Request", "Connection: close\r\n", "Even we ask for a proper request.\n")?;
                break;
            };
            let number = self.count(&request.host);
            let has_cookie = String::from_utf8_lossy(&head).to_ascii_lowercase().contains("\r\ncookie:");
            let ask = Ask { host: request.host, path: request.path, has_cookie, number };
            match (self.plan(&ask.host), ask.path.as_str()) {
                (None, _) => talk.answer("421 Misdirected Request", "", "There is no such case.\n")?,
                (Some(Plan { robots: Some(script), .. }), "/robots.txt") => script(&mut talk, &ask)?,
                (Some(_), "/robots.txt") => talk.answer("404 Not Found", "Content-Type: text/plain\r\n", "None.\n")?,
                (Some(_), "/after.html") => talk.page(AFTER)?,
                (Some(plan), _) => (plan.script)(&mut talk, &ask)?,
            }
            if !talk.take_keep() || !request.keep_alive {
                break;
            }
        }
        talk.close();
        Ok(())
    }
}
