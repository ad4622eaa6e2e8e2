//! Bodies on their way to a reader, piece by piece: what is large is read and rewritten as the reader takes it, never before.

use crate::limits::REWRITE_STEP_BYTES;
use crate::tools::held;
use bytes::Bytes;
use herodotus_page::rewrite::{CssRewriter, HtmlRewriter};
use herodotus_store::{Entity, EntityBody};
use http_body::{Body, Frame, SizeHint};
use std::future::Future;
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

/// Bytes that an entity holds in memory.
pub(super) fn held_bytes(entity: &Entity) -> usize {
    match &entity.body {
        EntityBody::Bytes(bytes) => bytes.len(),
        EntityBody::Blob(_) => 0,
    }
}

/// How a body is changed on its way.
#[derive(Debug)]
pub(super) enum Rewriter {
    Html(Box<HtmlRewriter>),
    Css(Box<CssRewriter>),
}

impl Rewriter {
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Html(rewriter) => rewriter.push(bytes, out),
            Self::Css(rewriter) => rewriter.push(bytes, out),
        }
    }

    pub(super) fn finish(self, out: &mut Vec<u8>) {
        match self {
            Self::Html(rewriter) => rewriter.finish(out),
            Self::Css(rewriter) => rewriter.finish(out),
        }
    }
}

/// A body that is made while it is sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    source: Source,
    rewriter: Option<Rewriter>,
    /// Leave to read a piece, where that may take long.
    gate: Option<Arc<Semaphore>>,
    /// Given back when the reader has it all, or is gone. None where it is too little to count.
    _hold: Option<OwnedSemaphorePermit>,
}

enum Source {
    Memory(Bytes),
    File(FileState),
    Done,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Source")
    }
}

type Reading = (Box<dyn Read + Send>, u64, io::Result<Vec<u8>>);

enum FileState {
    /// The reader, and how many bytes are still to be taken from it.
    Idle(Box<dyn Read + Send>, u64),
    Busy(JoinHandle<Reading>),
}

impl Outgoing {
    pub(super) fn memory(bytes: Bytes, rewriter: Option<Rewriter>, hold: Option<OwnedSemaphorePermit>) -> Self {
        // The connection keeps the last pieces after this value is gone: so the bytes themselves carry the permit.
        match (rewriter, hold) {
            (None, Some(hold)) => {
                Self { source: Source::Memory(held(bytes, hold)), rewriter: None, gate: None, _hold: None }
            }
            (rewriter, hold) => Self { source: Source::Memory(bytes), rewriter, gate: None, _hold: hold },
        }
    }

    /// At most `len` bytes of what the reader gives.
    pub(super) fn file(
        reader: Box<dyn Read + Send>,
        len: u64,
        rewriter: Option<Rewriter>,
        hold: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self { source: Source::File(FileState::Idle(reader, len)), rewriter, gate: None, _hold: hold }
    }

    /// The same, with leave asked for every piece.
    pub(super) fn through(self, gate: Option<Arc<Semaphore>>) -> Self {
        Self { gate, ..self }
    }

    /// The next piece as it is stored; `None` at the end.
    fn poll_source(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        loop {
            match std::mem::replace(&mut self.source, Source::Done) {
                Source::Done => return Poll::Ready(Ok(None)),
                Source::Memory(mut bytes) => {
                    if bytes.is_empty() {
                        return Poll::Ready(Ok(None));
                    }
                    let step = if self.rewriter.is_some() { REWRITE_STEP_BYTES } else { bytes.len() };
                    let piece = bytes.split_to(step.min(bytes.len()));
                    self.source = Source::Memory(bytes);
                    return Poll::Ready(Ok(Some(piece)));
                }
                Source::File(FileState::Idle(_, 0)) => return Poll::Ready(Ok(None)),
                Source::File(FileState::Idle(reader, left)) => {
                    let work = match &self.gate {
                        None => tokio::task::spawn_blocking(move || read_piece(reader, left)),
                        Some(gate) => tokio::spawn(read_through(gate.clone(), reader, left)),
                    };
                    self.source = Source::File(FileState::Busy(work));
                }
                Source::File(FileState::Busy(mut work)) => {
                    let Poll::Ready(done) = Pin::new(&mut work).poll(cx) else {
                        self.source = Source::File(FileState::Busy(work));
                        return Poll::Pending;
                    };
                    let (reader, left, piece) = done.map_err(io::Error::other)?;
                    let piece = piece?;
                    if piece.is_empty() {
                        return Poll::Ready(Ok(None));
                    }
                    self.source = Source::File(FileState::Idle(reader, left));
                    return Poll::Ready(Ok(Some(piece.into())));
                }
            }
        }
    }
}

/// The same when leave was given.
async fn read_through(gate: Arc<Semaphore>, reader: Box<dyn Read + Send>, left: u64) -> Reading {
    let permit = gate.acquire_owned().await;
    let read = tokio::task::spawn_blocking(move || {
        let reading = read_piece(reader, left);
        drop(permit);
        reading
    });
    read.await.unwrap_or_else(|error| (Box::new(io::empty()), 0, Err(io::Error::other(error))))
}

/// Reads up to one step, in a thread that may block.
fn read_piece(mut reader: Box<dyn Read + Send>, left: u64) -> Reading {
    let mut piece = Vec::with_capacity(REWRITE_STEP_BYTES * 4);
    let most = left.min(REWRITE_STEP_BYTES as u64 * 4);
    let result = reader.by_ref().take(most).read_to_end(&mut piece);
    let left = left - piece.len() as u64;
    (reader, left, result.map(|_| piece))
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        loop {
            let piece = match ready!(this.poll_source(cx)) {
                Ok(piece) => piece,
                Err(error) => return Poll::Ready(Some(Err(error))),
            };
            let Some(piece) = piece else {
                let Some(rewriter) = this.rewriter.take() else { return Poll::Ready(None) };
                let mut out = Vec::new();
                rewriter.finish(&mut out);
                return Poll::Ready((!out.is_empty()).then(|| Ok(Frame::data(out.into()))));
            };
            let Some(rewriter) = &mut this.rewriter else { return Poll::Ready(Some(Ok(Frame::data(piece)))) };
            let mut out = Vec::with_capacity(piece.len() + piece.len() / 4);
            rewriter.push(&piece, &mut out);
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out.into()))));
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.source, &self.rewriter) {
            (Source::Memory(bytes), None) => SizeHint::with_exact(bytes.len() as u64),
            _ => SizeHint::default(),
        }
    }
}
