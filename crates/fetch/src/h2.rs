//! Exchanges over HTTP/2, by the `h2` crate, several at a time over one connection.
//!
//! The receiver sees the head that HTTP/1.1 would have had; the body is the data as sent. A server cannot make us work
//! for nothing: whatever it sends beyond bodies that are taken (pings, settings, resets, empty frames, endless heads)
//! is counted, and too much ends the connection. It is closed when nobody uses it and the pool lets it go.

use crate::body::Body;
use crate::config::Config;
use crate::errand::{Errand, Lost, Pace};
use crate::limits::{
    H2_CONNECTION_WINDOW_BYTES, H2_FRAME_OVERHEAD_BYTES, H2_OVERHEAD_BYTES_MAX, H2_STREAM_WINDOW_BYTES, H2_STREAMS_MAX,
};
use crate::outcome::{Exchange, Failure, H2Reason, Protocol, TlsInfo, Took, Truncated};
use crate::receiver::{Receiver, Wish};
use crate::stream::{Line, Stream};
use crate::watch::Watch;
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use herodotus_base::Timestamp;
use herodotus_page::{ResponseHead, WebUrl};
use http::header::{HOST, HeaderName, HeaderValue};
use http::response::Parts;
use http::{Request, Version};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

/// A handle to a connection.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    send: SendRequest<Bytes>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    remote: SocketAddr,
    tls: Option<TlsInfo>,
    meter: Arc<Meter>,
    driver: AbortHandle,
}

impl Drop for Shared {
    /// Nobody listens any more, so nobody need wait for the server's goodbye.
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Link {
    pub(crate) async fn open(config: &Config, line: Line, whole_at: Instant) -> Result<Self, Failure> {
        let meter = Arc::new(Meter { left: AtomicU64::new(H2_OVERHEAD_BYTES_MAX), ..Meter::default() });
        let io = Metered { stream: line.stream, meter: Arc::clone(&meter) };
        let mut builder = h2::client::Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(H2_STREAM_WINDOW_BYTES)
            .initial_connection_window_size(H2_CONNECTION_WINDOW_BYTES)
            .initial_max_send_streams(H2_STREAMS_MAX)
            // Up to twice the cap, so that a head beyond it can be told from a head that is broken.
            .max_header_list_size(u32::try_from(2 * config.caps.head_bytes).unwrap_or(u32::MAX));
        let until = whole_at.min(Instant::now() + config.deadlines.first_byte);
        let (send, connection) = timeout_at(until, builder.handshake(io))
            .await
            .map_err(|_| Failure::FirstByteTimeout)?
            .map_err(|error| Failure::Http2(reason_of(&error, &meter)))?;
        let ended = Arc::clone(&meter);
        let driver = tokio::spawn(async move {
            // Each exchange learns of the error by itself.
            let _ = connection.await;
            ended.has_ended.store(true, Ordering::Relaxed);
        });
        let shared = Shared { remote: line.remote, tls: line.tls, meter, driver: driver.abort_handle() };
        Ok(Self { send, shared: Arc::new(shared) })
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.shared.meter.has_ended.load(Ordering::Relaxed)
    }

    /// Whether any handle exists besides this one.
    pub(crate) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

/// Asks over this connection.
pub(crate) async fn exchange<R: Receiver>(
    errand: &Errand<'_>,
    link: &Link,
    url: &WebUrl,
    reused: bool,
    receiver: &mut R,
) -> Result<Exchange, Lost> {
    let time = Timestamp::now();
    let sent = Instant::now();
    let connect = if reused { Duration::ZERO } else { sent - errand.start };
    let head_at = errand.whole_at.min(sent + errand.config.deadlines.first_byte);
    let mut watch = Watch::new(head_at);
    link.shared.meter.fill_up();
    let request = request(errand.request, url).ok_or(Failure::Http2(H2Reason::Protocol(1)))?;
    let ask = async {
        let (response, _) = link.send.clone().ready().await?.send_request(request, true)?;
        response.await
    };
    let (parts, mut stream) = match watch.until(head_at, ask).await {
        None => return Err(Failure::FirstByteTimeout.into()),
        Some(Ok(response)) => response.into_parts(),
        Some(Err(error)) => return Err(lost(&error, &link.shared.meter, reused)),
    };
    let first_byte = sent.elapsed();
    let cap = errand.config.caps.header_count;
    if parts.headers.len() > cap {
        return Err(Failure::TooManyHeaders { cap }.into());
    }
    let head = head(&parts);
    let cap = errand.config.caps.head_bytes;
    if head.len() > cap {
        return Err(Failure::HeadTooLarge { cap }.into());
    }
    let (mut intake, body_left) = {
        let parsed = ResponseHead::parse(&head).ok_or(Failure::NotHttp)?;
        match receiver.head(&head, &parsed) {
            Wish::Take => (Some(Body::new(receiver, errand.config.caps, &parsed)), false),
            Wish::Leave => (None, !stream.is_end_stream()),
        }
    };
    let truncated = match &mut intake {
        Some(body) => take_body(errand, &link.shared.meter, &mut watch, &mut stream, body).await?,
        None => None,
    };
    let whole = errand.start.elapsed();
    Ok(Exchange {
        time,
        request: errand.request.to_vec(),
        status: parts.status.as_u16(),
        remote: link.shared.remote,
        protocol: Protocol::Http2,
        tls: link.shared.tls,
        truncated,
        body_left,
        wire_bytes: intake.as_ref().map_or(0, |body| body.wire_bytes),
        content_bytes: intake.as_ref().map_or(0, |body| body.content_bytes),
        coding_error: intake.and_then(|body| body.coding_error),
        took: Took { connect, first_byte, whole },
        reused,
    })
}

async fn take_body<R: Receiver>(
    errand: &Errand<'_>,
    meter: &Meter,
    watch: &mut Watch,
    stream: &mut RecvStream,
    body: &mut Body<'_, R>,
) -> Result<Option<Truncated>, Failure> {
    let mut pace = Pace::new(errand);
    loop {
        let until = match pace.next_until(body.wire_bytes) {
            Ok(until) => until,
            Err(truncated) => return Ok(Some(truncated)),
        };
        let piece = match watch.until(until, stream.data()).await {
            None => return Ok(Some(pace.timeout())),
            Some(None) => {
                body.finish();
                return Ok(None);
            }
            Some(Some(Ok(piece))) => piece,
            Some(Some(Err(error))) => {
                return Ok(Some(match reason_of(&error, meter) {
                    H2Reason::Closed => Truncated::Disconnect,
                    reason => Truncated::Reset(reason),
                }));
            }
        };
        pace.came();
        meter.grant(piece.len());
        let taken = body.room(piece.len());
        body.take_wire(&piece[..taken]).await?;
        if let Err(truncated) = body.take_content(&piece[..taken]).await {
            return Ok(Some(truncated));
        }
        if taken < piece.len() {
            return Ok(Some(Truncated::Length { cap: body.wire_bytes_max() }));
        }
        // Refused only if the stream has ended meanwhile, which the next turn tells.
        let _ = stream.flow_control().release_capacity(piece.len());
    }
}

/// The same request as these bytes of HTTP/1.1 are.
fn request(bytes: &[u8], url: &WebUrl) -> Option<Request<()>> {
    let mut request = Request::builder().version(Version::HTTP_2).uri(url.as_str()).body(()).ok()?;
    for line in str::from_utf8(bytes).ok()?.split("\r\n").skip(1) {
        let Some((name, value)) = line.split_once(": ") else { continue };
        let (name, value) = (HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?);
        // HTTP/2 says it in `:authority`.
        if name != HOST {
            request.headers_mut().append(name, value);
        }
    }
    Some(request)
}

/// The head as HTTP/1.1 would have it.
fn head(parts: &Parts) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} ", parts.status.as_str()).into_bytes();
    head.extend_from_slice(parts.status.canonical_reason().unwrap_or_default().as_bytes());
    for (name, value) in &parts.headers {
        head.extend_from_slice(b"\r\n");
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
    }
    head.extend_from_slice(b"\r\n\r\n");
    head
}

fn lost(error: &h2::Error, meter: &Meter, reused: bool) -> Lost {
    let reason = reason_of(error, meter);
    // The server did not look at the request: it may have left while we asked.
    let was_unseen = match reason {
        H2Reason::Closed => true,
        H2Reason::GoAway(code) => code == u32::from(Reason::NO_ERROR),
        H2Reason::Reset(code) => code == u32::from(Reason::REFUSED_STREAM),
        H2Reason::Protocol(_) | H2Reason::Flood => false,
    };
    if reused && was_unseen {
        return Lost::Stale;
    }
    Failure::Http2(reason).into()
}

fn reason_of(error: &h2::Error, meter: &Meter) -> H2Reason {
    if meter.is_flooded.load(Ordering::Relaxed) {
        return H2Reason::Flood;
    }
    let Some(reason) = error.reason() else { return H2Reason::Closed };
    let code = u32::from(reason);
    if !error.is_remote() {
        // What `h2` itself calls too much.
        return if reason == Reason::ENHANCE_YOUR_CALM { H2Reason::Flood } else { H2Reason::Protocol(code) };
    }
    if error.is_go_away() { H2Reason::GoAway(code) } else { H2Reason::Reset(code) }
}

/// Counts what a server sends against what it was asked for.
#[derive(Debug, Default)]
struct Meter {
    /// Bytes that may still come.
    left: AtomicU64,
    is_flooded: AtomicBool,
    has_ended: AtomicBool,
}

impl Meter {
    fn fill_up(&self) {
        self.left.fetch_max(H2_OVERHEAD_BYTES_MAX, Ordering::Relaxed);
    }

    /// So many bytes of a body were taken, and made room for as many. An empty piece is no reason for another.
    fn grant(&self, len: usize) {
        if len > 0 {
            self.left.fetch_add(len as u64 + H2_FRAME_OVERHEAD_BYTES, Ordering::Relaxed);
        }
    }

    fn count(&self, len: usize) {
        let spend = |left: u64| Some(left.saturating_sub(len as u64));
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok_and(|left| left < len as u64) {
            self.is_flooded.store(true, Ordering::Relaxed);
        }
    }
}

/// A stream whose incoming bytes are counted.
struct Metered {
    stream: Stream,
    meter: Arc<Meter>,
}

impl AsyncRead for Metered {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.meter.is_flooded.load(Ordering::Relaxed) {
            return Poll::Ready(Err(io::Error::other("flooded")));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        this.meter.count(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
