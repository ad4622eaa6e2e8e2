//! Shows a [`Web`] over HTTP/1.1, byte for byte as [`Web::response`] says it.
//!
//! Which host is meant is read from the `Host` header or an absolute request target, so that one address plays all
//! hosts: a crawler under test sends them all here, or takes this for its proxy. Nothing is ever added to a response:
//! a connection that ends does so without a word, except after a refusal.

use crate::Web;
use crate::limits::{LINGER_BYTES_MAX, LINGER_WAIT_MAX, REQUEST_HEAD_BYTES_MAX, REQUEST_WAIT_MAX, WRITE_WAIT_MAX};
use crate::listener::Listener;
use crate::request::Request;
use crate::response::Response;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
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
        let desk = Arc::new(Desk { web, round: AtomicU32::new(0), requests: AtomicU64::new(0) });
        let inside = Arc::clone(&desk);
        let listener = Listener::start(move |stream| {
            // A visitor who leaves in the middle is no concern of ours.
            let _ = inside.serve(stream);
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

    pub fn set_round(&self, round: u32) {
        self.desk.round.store(round, Ordering::SeqCst);
    }

    /// Requests answered so far, refusals included. Counted before the answer is sent.
    pub fn requests(&self) -> u64 {
        self.desk.requests.load(Ordering::SeqCst)
    }
}

/// What all connections share.
#[derive(Debug)]
struct Desk {
    web: Web,
    round: AtomicU32,
    requests: AtomicU64,
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
    fn serve(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_WAIT_MAX))?;
        let mut unread = Vec::new();
        loop {
            let head = match receive_head(stream, &mut unread)? {
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
            let round = self.round.load(Ordering::SeqCst);
            let response = self.web.response(&request.host, &request.path, round).unwrap_or_else(|| refusal(421));
            let response = response.conditional(request.if_none_match.as_deref(), request.if_modified_since.as_deref());
            let mut bytes = response.head();
            if request.method != "HEAD" {
                bytes.extend_from_slice(&response.body);
            }
            self.requests.fetch_add(1, Ordering::SeqCst);
            stream.write_all(&bytes)?;
            if !request.keep_alive || request.has_body {
                return Ok(());
            }
        }
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
