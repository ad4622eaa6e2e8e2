//! One conversation with a visitor, plain or over TLS, in raw bytes.
//!
//! Whatever a script says, it ends: when the visitor leaves, when the server is dropped, which shuts the connection, or
//! when more bytes or time have gone into it than [`limits`](crate::limits) allow. A script learns of each as an error
//! and gives up. Waiting is done on the connection, never by sleeping.

use crate::limits::{HOSTILE_BYTES_MAX, HOSTILE_CONNECTION_MAX, HOSTILE_DRIP_EVERY, REQUEST_HEAD_BYTES_MAX};
use rustls::{ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// What the bytes travel through.
pub(super) enum Wire<'a> {
    Plain(&'a TcpStream),
    Tls(Box<StreamOwned<ServerConnection, &'a TcpStream>>),
}

pub(super) struct Talk<'a> {
    wire: Wire<'a>,
    tcp: &'a TcpStream,
    unread: Vec<u8>,
    sent: u64,
    end: Instant,
    keep: bool,
}

impl<'a> Talk<'a> {
    pub(super) fn new(wire: Wire<'a>, tcp: &'a TcpStream) -> io::Result<Self> {
        tcp.set_nodelay(true)?;
        tcp.set_write_timeout(Some(HOSTILE_CONNECTION_MAX))?;
        let end = Instant::now() + HOSTILE_CONNECTION_MAX;
        Ok(Self { wire, tcp, unread: Vec::new(), sent: 0, end, keep: false })
    }

    /// Says bytes as they are. The connection then ends after this answer, unless [`Talk::keep`] says otherwise.
    pub(super) fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sent = self.sent.saturating_add(bytes.len() as u64);
        if self.sent > HOSTILE_BYTES_MAX || Instant::now() >= self.end {
            return Err(io::Error::other("enough has been said"));
        }
        match &mut self.wire {
            Wire::Plain(stream) => stream.write_all(bytes),
            Wire::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// Says the same for ever.
    pub(super) fn flood(&mut self, piece: &[u8]) -> io::Result<()> {
        let pieces = piece.repeat((64 * 1024 / piece.len().max(1)).max(1));
        loop {
            self.say(&pieces)?;
        }
    }

    /// Says it so many times.
    pub(super) fn repeat(&mut self, piece: &[u8], times: usize) -> io::Result<()> {
        let at_once = (64 * 1024 / piece.len().max(1)).clamp(1, times.max(1));
        let pieces = piece.repeat(at_once);
        for _ in 0..times / at_once {
            self.say(&pieces)?;
        }
        self.say(&piece.repeat(times % at_once))
    }

    /// Says it a byte at a time.
    pub(super) fn drip(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            self.say(&[*byte])?;
            self.pause(HOSTILE_DRIP_EVERY)?;
        }
        Ok(())
    }

    /// Does nothing for a while, unless the visitor leaves. What is heard meanwhile is kept for later.
    pub(super) fn pause(&mut self, time: Duration) -> io::Result<()> {
        let (end, mut piece) = (Instant::now() + time, [0; 4096]);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            match self.read_within(&mut piece, left) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) if self.unread.len() > REQUEST_HEAD_BYTES_MAX => {
                    return Err(io::Error::other("too much was said"));
                }
                Ok(count) => self.unread.extend_from_slice(piece.get(..count).unwrap_or_default()),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Says nothing more until the visitor has gone.
    pub(super) fn hold(&mut self) -> io::Result<()> {
        let mut piece = [0; 4096];
        while self.read(&mut piece)? > 0 {}
        Ok(())
    }

    /// Ends the connection with a reset in place of a farewell.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        socket2::SockRef::from(self.tcp).set_linger(Some(Duration::ZERO))?;
        Err(io::Error::other("the connection is reset"))
    }

    /// Ends the TCP stream without the farewell that TLS asks for.
    pub(super) fn cut(&mut self) -> io::Result<()> {
        self.tcp.shutdown(Shutdown::Write)?;
        Err(io::Error::other("the connection is cut"))
    }

    /// The connection goes on after this answer.
    pub(super) fn keep(&mut self) {
        self.keep = true;
    }

    /// Whether the last answer left the connection open; asked once per answer.
    pub(super) fn take_keep(&mut self) -> bool {
        std::mem::take(&mut self.keep)
    }

    /// An honest answer, after which the connection goes on.
    pub(super) fn answer(&mut self, status: &str, headers: &str, body: impl AsRef<[u8]>) -> io::Result<()> {
        let body = body.as_ref();
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        self.say(&[head.as_bytes(), body].concat())?;
        self.keep();
        Ok(())
    }

    /// An honest page.
    pub(super) fn page(&mut self, body: impl AsRef<[u8]>) -> io::Result<()> {
        self.answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", body)
    }

    /// Reads some bytes; none when the visitor has gone.
    pub(super) fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        if !self.unread.is_empty() {
            let count = self.unread.len().min(piece.len());
            for (to, from) in piece.iter_mut().zip(self.unread.drain(..count)) {
                *to = from;
            }
            return Ok(count);
        }
        self.read_within(piece, self.end.saturating_duration_since(Instant::now()))
    }

    fn read_within(&mut self, piece: &mut [u8], time: Duration) -> io::Result<usize> {
        // The system takes zero for "for ever".
        self.tcp.set_read_timeout(Some(time.max(Duration::from_millis(1))))?;
        match &mut self.wire {
            Wire::Plain(stream) => stream.read(piece),
            Wire::Tls(stream) => stream.read(piece),
        }
    }

    pub(super) fn read_exact(&mut self, piece: &mut [u8]) -> io::Result<()> {
        let mut from = 0;
        while let Some(rest) = piece.get_mut(from..).filter(|rest| !rest.is_empty()) {
            match self.read(rest)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => from += count,
            }
        }
        Ok(())
    }

    /// The next request's head, with the empty line that ends it. `None` when the visitor has gone.
    pub(super) fn head(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut head = Vec::new();
        loop {
            if let Some(at) = head.windows(4).position(|four| four == b"\r\n\r\n") {
                self.unread = head.split_off(at + 4);
                return Ok(Some(head));
            }
            let mut piece = [0; 4096];
            match self.read(&mut piece)? {
                0 => return Ok(None),
                _ if head.len() > REQUEST_HEAD_BYTES_MAX => return Err(io::Error::other("the request is too long")),
                count => head.extend_from_slice(piece.get(..count).unwrap_or_default()),
            }
        }
    }

    /// Says farewell as an honest server would.
    pub(super) fn close(mut self) {
        if let Wire::Tls(stream) = &mut self.wire {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
        let _ = self.tcp.shutdown(Shutdown::Write);
    }
}
