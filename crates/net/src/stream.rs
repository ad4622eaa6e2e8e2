//! Bulk: a stream to a peer that nobody has to hold in memory. QUIC's windows hold the sender back where the reader is slow.
//!
//! A stream on which nothing moves for [`crate::Limits::stream_silence_max`] fails, in either direction, so that a peer that
//! never reads or never writes holds nothing for ever. Whoever drops the writing half without `shutdown` has given up: the other
//! side sees an error, not an end.

use crate::frame::{Reader, Writer};
use crate::link::Busy;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

#[derive(Debug)]
pub struct Stream {
    reader: StreamReader,
    writer: StreamWriter,
}

#[derive(Debug)]
pub struct StreamReader {
    inner: Reader,
    patience: Patience,
    _busy: Busy,
}

#[derive(Debug)]
pub struct StreamWriter {
    inner: Writer,
    patience: Patience,
    _busy: Busy,
}

impl Stream {
    pub(crate) fn new(reader: Reader, writer: Writer, busy: &Busy, silence_max: Duration) -> Self {
        Self {
            reader: StreamReader { inner: reader, patience: Patience::new(silence_max), _busy: busy.clone() },
            writer: StreamWriter { inner: writer, patience: Patience::new(silence_max), _busy: busy.clone() },
        }
    }

    pub fn into_split(self) -> (StreamReader, StreamWriter) {
        (self.reader, self.writer)
    }
}

impl AsyncRead for StreamReader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.inner.ahead.is_empty() {
            let taken = this.inner.ahead.len().min(buf.remaining());
            buf.put_slice(&this.inner.ahead.split_to(taken));
            return Poll::Ready(Ok(()));
        }
        let polled = AsyncRead::poll_read(Pin::new(&mut this.inner.recv), cx, buf);
        this.patience.watch(cx, polled)
    }
}

impl AsyncWrite for StreamWriter {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = AsyncWrite::poll_write(Pin::new(&mut this.inner.send), cx, buf);
        this.patience.watch(cx, polled)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.get_mut().inner.send), cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().inner.finish();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().reader).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().writer).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().writer).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().writer).poll_shutdown(cx)
    }
}

/// Runs out while nothing moves, and begins anew when something does.
#[derive(Debug)]
struct Patience {
    max: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
}

impl Patience {
    fn new(max: Duration) -> Self {
        Self { max, sleep: None, is_waiting: false }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.is_waiting = false;
            return polled;
        }
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(self.max)));
        if !self.is_waiting {
            sleep.as_mut().reset(Instant::now() + self.max);
            self.is_waiting = true;
        }
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nothing has moved on the stream for too long")))
    }
}
