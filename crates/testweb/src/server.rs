//! Shows a [`Web`] over HTTP/1.1, byte for byte as [`Web::response`] says it.
//!
//! Which host is meant is read from the `Host` header or an absolute request target, so that one address plays all
//! hosts: a crawler under test sends them all here, or takes this for its proxy. Nothing is ever added to a response:
//! a connection that ends does so without a word, except after a refusal.

use crate::dice::fingerprint;
use crate::limits::{
    BUSY_URLS_MAX, LINGER_BYTES_MAX, LINGER_WAIT_MAX, REQUEST_HEAD_BYTES_MAX, REQUEST_WAIT_MAX, WRITE_WAIT_MAX,
};
use crate::line::Line;
use crate::listener::{Guest, Listener};
use crate::log::{self, Log};
use crate::request::Request;
use crate::response::Response;
use crate::web::{Busy, Web};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A web on a loopback address, until it is dropped.
#[derive(Debug)]
pub struct Server {
    desk: Arc<Desk>,
    // Dropped with the server: closes every connection and waits for their threads.
    listener: Listener,
}

impl Server {
    /// Serves a web on a free port, from round 0.
    pub fn start(web: Web) -> io::Result<Self> {
        Self::start_on(web, (Ipv4Addr::LOCALHOST, 0).into())
    }

    /// The same, on an address of the caller's choice.
    pub fn start_on(web: Web, addr: SocketAddr) -> io::Result<Self> {
        let desk = Arc::new(Desk {
            web,
            round: AtomicU32::new(0),
            requests: AtomicU64::new(0),
            log: Log::default(),
            line: Line::default(),
            asked: Mutex::default(),
        });
        let inside = Arc::clone(&desk);
        let listener = Listener::start_on(addr, move |guest| {
            // A visitor who leaves in the middle is no concern of ours.
            let _ = inside.serve(guest);
        })?;
        Ok(Self { desk, listener })
    }

    pub fn addr(&self) -> SocketAddr {
        self.listener.addr()
    }

    pub fn web(&self) -> &Web {
        &self.desk.web
    }

    /// The round that is on show. A request is answered wholly from one round.
    pub fn round(&self) -> u32 {
        self.desk.round.load(Ordering::SeqCst)
    }

    /// Shows another round. Whatever was busy and had become free is as it would be at that round's beginning.
    pub fn set_round(&self, round: u32) {
        self.desk.round.store(round, Ordering::SeqCst);
        self.desk.asked.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Requests answered so far, refusals included. Counted before the answer is sent.
    pub fn requests(&self) -> u64 {
        self.desk.requests.load(Ordering::SeqCst)
    }

    /// So many bytes a second go out at most, over all connections together. `None`: as many as there are.
    pub fn narrow(&self, bytes_per_s: Option<u64>) {
        self.desk.line.narrow(bytes_per_s);
    }

    /// Begins to remember requests, with none so far, or forgets them and stops. At most 200,000 are kept.
    pub fn record(&self, on: bool) {
        self.desk.log.record(on);
    }

    /// The requests since recording began, as they were answered. Refusals of what was no request are not among them.
    pub fn log(&self) -> Vec<log::Request> {
        self.desk.log.read()
    }
}

/// What all connections share.
#[derive(Debug)]
struct Desk {
    web: Web,
    round: AtomicU32,
    requests: AtomicU64,
    log: Log,
    line: Line,
    /// How often each busy URL has been asked for in this round, by a fingerprint of host and path.
    asked: Mutex<HashMap<u64, u32>>,
}

/// How waiting for a request ended.
enum Arrival {
    Head(Vec<u8>),
    /// The visitor left or fell silent between requests.
    Nobody,
    /// Not a request: the status to refuse it with.
    Refused(u16),
}

impl Desk {
    fn serve(&self, guest: &Guest) -> io::Result<()> {
        let mut stream = guest.stream();
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_WAIT_MAX))?;
        let mut unread = Vec::new();
        let mut bytes = Vec::new();
        loop {
            let arrival = receive_head(stream, &mut unread)?;
            let at = Instant::now();
            guest.set_idle(false);
            let head = match arrival {
                Arrival::Head(head) => head,
                Arrival::Nobody => return Ok(()),
                Arrival::Refused(status) => return self.refuse(stream, status),
            };
            let request = match Request::parse(&head) {
                Ok(request) if request.has_body && request.method == "GET" => return self.refuse(stream, 400),
                Ok(request) if !matches!(request.method.as_str(), "GET" | "HEAD") => return self.refuse(stream, 405),
                Ok(request) => request,
                Err(status) => return self.refuse(stream, status),
            };
            let response = self.answer(&request);
            bytes.clear();
            bytes.extend_from_slice(&response.head());
            if request.method != "HEAD" {
                bytes.extend_from_slice(&response.body);
            }
            self.requests.fetch_add(1, Ordering::SeqCst);
            let last = !request.keep_alive || request.has_body;
            if self.log.is_on() {
                let conditional = request.if_none_match.is_some() || request.if_modified_since.is_some();
                let Request { host, path, .. } = request;
                self.log.add(log::Request { host, path, at, status: response.status, conditional });
            }
            self.line.pass(bytes.len());
            stream.write_all(&bytes)?;
            if last {
                return Ok(());
            }
            guest.set_idle(unread.is_empty());
        }
    }

    fn answer(&self, request: &Request) -> Response {
        let round = self.round.load(Ordering::SeqCst);
        if let Some(busy) = self.web.busy(&request.host, &request.path, round)
            && self.is_busy(request, busy)
        {
            return Response::busy(busy, round);
        }
        let response = self.web.response(&request.host, &request.path, round).unwrap_or_else(|| refusal(421));
        let gzip = request.accepts_gzip && self.web.gzips(&request.host);
        let response = if gzip { response.varied() } else { response };
        response.conditional(request.if_none_match.as_deref(), request.if_modified_since.as_deref()).compressed()
    }

    /// Counts the request, and says whether it came too early.
    fn is_busy(&self, request: &Request, busy: Busy) -> bool {
        let name = fingerprint([request.host.as_bytes(), request.path.as_bytes()].concat().as_slice());
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() >= BUSY_URLS_MAX && !asked.contains_key(&name) {
            return false;
        }
        let count = asked.entry(name).or_default();
        *count = count.saturating_add(1);
        *count <= busy.asks
    }

    /// Says no and closes, slowly enough for the answer to arrive.
    fn refuse(&self, mut stream: &TcpStream, status: u16) -> io::Result<()> {
        let mut response = refusal(status);
        response.push("Connection", "close".to_owned());
        self.requests.fetch_add(1, Ordering::SeqCst);
        stream.write_all(&[response.head(), response.body].concat())?;
        stream.shutdown(Shutdown::Write)?;
        let (end, mut heard, mut piece) = (Instant::now() + LINGER_WAIT_MAX, 0, [0; 4096]);
        while heard < LINGER_BYTES_MAX {
            match read_until(stream, &mut piece, end)? {
                Some(0) | None => break,
                Some(count) => heard += count,
            }
        }
        Ok(())
    }
}

fn refusal(status: u16) -> Response {
    let mut response = Response::new(status);
    if status == 405 {
        response.push("Allow", "GET, HEAD".to_owned());
    }
    let words = if status == 421 { "There is no such host on this web.\n" } else { "We do not follow you.\n" };
    response.with_body("text/plain; charset=utf-8", words.into())
}

/// Takes the next request's head from the connection. What follows it stays in `unread`.
fn receive_head(stream: &TcpStream, unread: &mut Vec<u8>) -> io::Result<Arrival> {
    let end = Instant::now() + REQUEST_WAIT_MAX;
    let mut searched = 0;
    loop {
        let from = searched.min(unread.len());
        let found = unread.get(from..).unwrap_or_default().windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(at) = found {
            let rest = unread.split_off(from + at + 4);
            return Ok(Arrival::Head(std::mem::replace(unread, rest)));
        }
        if unread.len() > REQUEST_HEAD_BYTES_MAX {
            return Ok(Arrival::Refused(431));
        }
        searched = unread.len().saturating_sub(3);
        let mut piece = [0; 4096];
        let silent = unread.is_empty();
        match read_until(stream, &mut piece, end)? {
            Some(0) | None if silent => return Ok(Arrival::Nobody),
            Some(0) => return Ok(Arrival::Refused(400)),
            None => return Ok(Arrival::Refused(408)),
            Some(count) => unread.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
}

/// Reads some bytes; `None` when the time is up.
pub(crate) fn read_until(mut stream: &TcpStream, piece: &mut [u8], end: Instant) -> io::Result<Option<usize>> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        // The system counts in coarse steps and takes zero for "for ever".
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(piece) {
            Ok(count) => return Ok(Some(count)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Ok(None),
                io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
}
