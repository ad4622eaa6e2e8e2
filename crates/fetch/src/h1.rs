//! One exchange over HTTP/1.x, read by hand: the archive wants the bytes exactly as they came, and takes what browsers
//! take, both of which a library that hides the bytes and refuses odd heads is in the way of.
//!
//! A connection is used again only if the response ended where its framing says, nothing came after it, and the server
//! means to keep it open. Where framing is doubtful, the body goes on to the end of the connection, so a response can
//! never be taken for a part of another.

use crate::body::Body;
use crate::chunked::{Chunked, Nonsense};
use crate::config::Config;
use crate::errand::{Errand, Lost, Pace};
use crate::limits::{INTERIM_HEADS_MAX, LEFT_BYTES_MAX, LEFT_WAIT_MAX, READ_BYTES, SLOP_BYTES_MAX};
use crate::outcome::{Exchange, Failure, Protocol, TlsFailure, Took, Truncated, is_end};
use crate::receiver::{Receiver, Wish};
use crate::stream::{Line, Stream};
use crate::watch::Watch;
use herodotus_base::Timestamp;
use herodotus_page::{ResponseHead, head_len};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

/// Asks over this connection, which comes back if it can be used again.
pub(crate) async fn exchange<R: Receiver>(
    errand: &Errand<'_>,
    mut line: Line,
    reused: bool,
    receiver: &mut R,
) -> Result<(Exchange, Option<Line>), Lost> {
    let time = Timestamp::now();
    let sent = Instant::now();
    let connect = if reused { Duration::ZERO } else { sent - errand.start };
    let head_at = errand.whole_at.min(sent + errand.config.deadlines.first_byte);
    let mut reader = Reader { stream: &mut line.stream, watch: Watch::new(head_at), buffer: Vec::new(), from: 0 };
    let head_len = match reader.head(errand, head_at).await {
        Err(HeadError::Closed { silent: true }) if reused => return Err(Lost::Stale),
        Err(HeadError::Closed { .. }) => return Err(Failure::ClosedBeforeHead.into()),
        Err(HeadError::Failure(failure)) => return Err(failure.into()),
        Ok(len) => len,
    };
    let first_byte = sent.elapsed();
    let Plan { status, protocol, framing, mut keep, body: mut intake } =
        Plan::new(&reader.unread()[..head_len], errand.config, receiver)?;
    reader.from += head_len;
    let (truncated, body_left) = match &mut intake {
        Some(body) => (reader.body(errand, framing, body, &mut keep).await?, false),
        None => (None, !reader.skip(errand, framing, &mut keep).await),
    };
    let whole = errand.start.elapsed();
    let exchange = Exchange {
        time,
        request: errand.request.to_vec(),
        status,
        remote: line.remote,
        protocol,
        tls: line.tls,
        truncated,
        body_left,
        wire_bytes: intake.as_ref().map_or(0, |body| body.wire_bytes),
        content_bytes: intake.as_ref().map_or(0, |body| body.content_bytes),
        coding_error: intake.and_then(|body| body.coding_error),
        took: Took { connect, first_byte, whole },
        reused,
    };
    Ok((exchange, keep.then_some(line)))
}

/// Where a body ends.
#[derive(Clone, Copy, Debug)]
enum Framing {
    Length { left: u64 },
    Chunked(Chunked),
    ToTheEnd,
}

/// What a head says about what follows it.
struct Plan<'r, R> {
    status: u16,
    protocol: Protocol,
    framing: Framing,
    /// Whether the connection may be used again after the body.
    keep: bool,
    /// `None` if it is to be left.
    body: Option<Body<'r, R>>,
}

impl<'r, R: Receiver> Plan<'r, R> {
    fn new(bytes: &[u8], config: &Config, receiver: &'r mut R) -> Result<Self, Failure> {
        let head = ResponseHead::parse(bytes).ok_or(Failure::NotHttp)?;
        let status = head.status.filter(|&status| status >= 200).ok_or(Failure::NotHttp)?;
        let cap = config.caps.header_count;
        if head.headers().count() > cap {
            return Err(Failure::TooManyHeaders { cap });
        }
        let protocol = match head.version.as_bytes() {
            [.., b'0', b'.', _] | [.., b'1', b'.', b'0'] => Protocol::Http10,
            _ => Protocol::Http11,
        };
        let (framing, is_sound) = framing(&head, status);
        let connection = |word: &str| {
            head.values("connection").any(|value| value.split(',').any(|item| item.trim().eq_ignore_ascii_case(word)))
        };
        let stays = match protocol {
            Protocol::Http10 => connection("keep-alive"),
            _ => !connection("close"),
        };
        let wish = receiver.head(bytes, &head);
        let body = (wish == Wish::Take).then(|| Body::new(receiver, config.caps, &head));
        Ok(Self { status, protocol, framing, keep: stays && is_sound, body })
    }
}

/// Where the body ends (RFC 9112, 6.3), and whether the head leaves no doubt of it.
fn framing(head: &ResponseHead<'_>, status: u16) -> (Framing, bool) {
    if matches!(status, 204 | 304) {
        return (Framing::Length { left: 0 }, true);
    }
    let mut transfer_codings = 0;
    for value in head.values("transfer-encoding") {
        transfer_codings += value.split(',').filter(|item| !item.trim().eq_ignore_ascii_case("identity")).count();
    }
    let mut length = None;
    let mut is_sound = true;
    for value in head.values("content-length") {
        for item in value.split(',').map(str::trim) {
            if item.is_empty() || !item.bytes().all(|byte| byte.is_ascii_digit()) {
                is_sound = false;
                continue;
            }
            // Only a number too large for us is left to fail, and no body is that long.
            let number = item.parse().unwrap_or(u64::MAX);
            is_sound &= length.is_none_or(|known| known == number);
            length = Some(number);
        }
    }
    if head.is_chunked() {
        // Both framings at once, or chunks in HTTP/1.0: read as chunks, but trust the connection no further.
        let is_sound = length.is_none() && is_sound && !head.version.ends_with("1.0");
        return (Framing::Chunked(Chunked::new()), is_sound);
    }
    match length {
        Some(left) if is_sound && transfer_codings == 0 => (Framing::Length { left }, true),
        _ => (Framing::ToTheEnd, false),
    }
}

enum HeadError {
    /// The connection ended; `silent` if not one byte had come.
    Closed {
        silent: bool,
    },
    Failure(Failure),
}

/// A piece of the connection's bytes, measured by the framing.
struct Piece {
    /// So many bytes of the buffer belong to the body.
    len: usize,
    is_last: bool,
    is_nonsense: bool,
}

struct Reader<'l> {
    stream: &'l mut Stream,
    watch: Watch,
    /// What came; what was not yet handed on begins at `from`.
    buffer: Vec<u8>,
    from: usize,
}

impl Reader<'_> {
    /// Sends the request and waits until the buffer begins with a whole head; its length.
    async fn head(&mut self, errand: &Errand<'_>, until: Instant) -> Result<usize, HeadError> {
        let timeout = HeadError::Failure(Failure::FirstByteTimeout);
        let send = async {
            self.stream.write_all(errand.request).await?;
            self.stream.flush().await
        };
        // A server that refuses before it has read everything may have answered all the same: the reading tells.
        let Some(_sent) = self.watch.until(until, send).await else { return Err(timeout) };
        let cap = errand.config.caps.head_bytes;
        let (mut silent, mut slop, mut interim, mut searched) = (true, 0, 0, 0);
        loop {
            match self.read(until).await {
                None => return Err(timeout),
                Some(Ok(0)) => return Err(HeadError::Closed { silent }),
                Some(Ok(_)) => silent = false,
                Some(Err(error)) if is_end(&error) => return Err(HeadError::Closed { silent }),
                Some(Err(error)) => return Err(HeadError::Failure(broken(error))),
            }
            loop {
                while searched == 0 && matches!(self.unread(), [b'\r' | b'\n', ..]) {
                    self.from += 1;
                    slop += 1;
                }
                let unread = self.unread();
                let begun = &unread[..unread.len().min(5)];
                if slop > SLOP_BYTES_MAX || !begun.eq_ignore_ascii_case(&b"HTTP/"[..begun.len()]) {
                    return Err(HeadError::Failure(Failure::NotHttp));
                }
                let found = head_end(unread, &mut searched);
                // Interim heads count, too, so that they cannot fill the memory.
                if self.from + found.unwrap_or(unread.len()) > cap {
                    return Err(HeadError::Failure(Failure::HeadTooLarge { cap }));
                }
                let Some(len) = found else { break };
                let status = ResponseHead::parse(&unread[..len]).and_then(|head| head.status);
                // A server that changes the protocol unasked no longer speaks HTTP.
                if !status.is_some_and(|status| (100..200).contains(&status) && status != 101) {
                    return Ok(len);
                }
                interim += 1;
                if interim > INTERIM_HEADS_MAX {
                    return Err(HeadError::Failure(Failure::NotHttp));
                }
                self.from += len;
                searched = 0;
            }
        }
    }

    /// Hands the body on to its end, or to where it must be cut.
    async fn body<R: Receiver>(
        &mut self,
        errand: &Errand<'_>,
        mut framing: Framing,
        body: &mut Body<'_, R>,
        keep: &mut bool,
    ) -> Result<Option<Truncated>, Failure> {
        let mut pace = Pace::new(errand);
        let truncated = loop {
            let before = framing;
            let unread = self.unread();
            let piece = framing.measure(unread);
            let taken = body.room(piece.len);
            body.take_wire(&unread[..taken]).await?;
            if body.wants_content()
                && let Err(truncated) = before.walk(&unread[..taken], body).await
            {
                break Some(truncated);
            }
            if taken < piece.len {
                break Some(Truncated::Length { cap: body.wire_bytes_max() });
            }
            if piece.is_nonsense {
                break Some(Truncated::Chunking);
            }
            if piece.is_last {
                // What follows is no part of this response, and of no other.
                *keep &= unread.len() == piece.len;
                body.finish();
                return Ok(None);
            }
            self.clear();
            let until = match pace.next_until(body.wire_bytes) {
                Ok(until) => until,
                Err(truncated) => break Some(truncated),
            };
            match self.read(until).await {
                None => break Some(pace.timeout()),
                Some(Ok(0)) => break framing.at_end(),
                // TLS: the connection ended without a farewell, which servers often spare themselves.
                Some(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break framing.at_end(),
                Some(Err(_)) => break Some(Truncated::Disconnect),
                Some(Ok(_)) => pace.came(),
            }
        };
        *keep = false;
        if truncated.is_none() {
            body.finish();
        }
        Ok(truncated)
    }

    /// Reads a body that nobody wants if that is cheaper than a new connection. Whether there was none.
    async fn skip(&mut self, errand: &Errand<'_>, mut framing: Framing, keep: &mut bool) -> bool {
        if let Framing::Length { left: 0 } = framing {
            *keep &= self.unread().is_empty();
            return true;
        }
        let (mut skipped, until) = (0, errand.whole_at.min(Instant::now() + LEFT_WAIT_MAX));
        *keep &= match framing {
            Framing::Length { left } => left <= LEFT_BYTES_MAX,
            Framing::Chunked(_) => true,
            Framing::ToTheEnd => false,
        };
        while *keep {
            let unread = self.unread();
            let piece = framing.measure(unread);
            skipped += piece.len as u64;
            if piece.is_last {
                *keep = unread.len() == piece.len && !piece.is_nonsense;
                break;
            }
            self.clear();
            *keep = skipped <= LEFT_BYTES_MAX && matches!(self.read(until).await, Some(Ok(1..)));
        }
        false
    }

    /// More bytes behind those unread. `None` if the time is up.
    async fn read(&mut self, until: Instant) -> Option<io::Result<usize>> {
        self.buffer.reserve(READ_BYTES);
        self.watch.until(until, self.stream.read_buf(&mut self.buffer)).await
    }

    fn unread(&self) -> &[u8] {
        &self.buffer[self.from..]
    }

    fn clear(&mut self) {
        self.buffer.clear();
        self.from = 0;
    }
}

/// Where the head ends in what came so far. Remembers how far it looked, so that a head that comes byte by byte does not
/// cost its square.
fn head_end(bytes: &[u8], searched: &mut usize) -> Option<usize> {
    let end = head_len(bytes.get(*searched..)?).map(|len| *searched + len);
    if end.is_none() {
        // The end may have come but for its last byte or two.
        *searched = bytes.len().saturating_sub(2);
    }
    end
}

/// A connection that fails while a head is awaited, other than by its end. Within TLS 1.3 that may be the server's
/// refusal of the handshake, which comes after we believed it done.
fn broken(error: io::Error) -> Failure {
    if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        Failure::Tls(TlsFailure::of(&error))
    } else {
        Failure::Connect(error)
    }
}

impl Framing {
    /// How much of this belongs to the body; goes on to behind it.
    fn measure(&mut self, bytes: &[u8]) -> Piece {
        match self {
            Self::Length { left } => {
                let len = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= len as u64;
                Piece { len, is_last: *left == 0, is_nonsense: false }
            }
            Self::Chunked(chunked) => {
                let mut len = 0;
                loop {
                    match chunked.next(bytes, &mut len) {
                        Ok(Some(_)) => {}
                        Ok(None) => return Piece { len, is_last: chunked.is_done(), is_nonsense: false },
                        // Nobody knows where such a body ends: what came is kept.
                        Err(Nonsense) => return Piece { len: bytes.len(), is_last: true, is_nonsense: true },
                    }
                }
            }
            Self::ToTheEnd => Piece { len: bytes.len(), is_last: false, is_nonsense: false },
        }
    }

    /// Hands on the data in bytes that were measured.
    async fn walk<R: Receiver>(self, bytes: &[u8], body: &mut Body<'_, R>) -> Result<(), Truncated> {
        let Self::Chunked(mut chunked) = self else { return body.take_content(bytes).await };
        let mut at = 0;
        while let Ok(Some(range)) = chunked.next(bytes, &mut at) {
            body.take_content(&bytes[range]).await?;
        }
        Ok(())
    }

    /// What the end of the connection means.
    fn at_end(&self) -> Option<Truncated> {
        match self {
            Self::ToTheEnd => None,
            Self::Chunked(chunked) if chunked.has_all_data() => None,
            _ => Some(Truncated::Disconnect),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_head_is_found_wherever_the_pieces_meet() {
        for text in [
            &b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody"[..],
            b"HTTP/1.1 200 OK\nA: b\n\nbody",
            b"HTTP/1.1 200 OK\n\r\nbody",
        ] {
            let end = text.len() - 4;
            for first in 0..text.len() {
                for second in first..text.len() {
                    let mut searched = 0;
                    let found = [first, second, text.len()].map(|len| head_end(&text[..len], &mut searched));
                    assert_eq!(found.into_iter().flatten().next(), Some(end), "{first} {second}");
                }
            }
        }
    }
}
