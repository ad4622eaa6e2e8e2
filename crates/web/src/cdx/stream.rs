//! A long answer as a body: the next piece is read when the one before was taken.

use super::lines::Lines;
use crate::answer::Trouble;
use crate::limits::CDX_PIECE_BYTES;
use crate::site::Site;
use crate::tools;
use bytes::Bytes;
use http_body::{Body, Frame};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

type Reading = Pin<Box<dyn Future<Output = Result<(Lines, Bytes), Trouble>> + Send>>;

pub(super) struct Pieces {
    site: Site,
    state: State,
}

enum State {
    Ready(Box<Lines>, Bytes),
    Reading(Reading),
    End,
}

/// Reads one piece.
pub(super) async fn next(site: &Site, mut lines: Lines) -> Result<(Lines, String), Trouble> {
    site.blocking(move |site| {
        let mut piece = String::with_capacity(16 * 1024);
        lines.piece(site.archive(), &mut piece)?;
        Ok((lines, piece))
    })
    .await
}

async fn next_held(site: Site, lines: Lines) -> Result<(Lines, Bytes), Trouble> {
    let permit = site.hold(CDX_PIECE_BYTES).await?;
    let (lines, piece) = next(&site, lines).await?;
    Ok((lines, tools::held(piece, permit)))
}

impl Pieces {
    pub(super) fn new(site: Site, lines: Lines, first: String) -> Self {
        Self { site, state: State::Ready(Box::new(lines), first.into()) }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        loop {
            match std::mem::replace(&mut self.state, State::End) {
                State::End => return Poll::Ready(None),
                State::Ready(lines, piece) => {
                    if !lines.is_done() {
                        self.state = State::Reading(Box::pin(next_held(self.site.clone(), *lines)));
                    }
                    if !piece.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(piece))));
                    }
                }
                State::Reading(mut reading) => match reading.as_mut().poll(cx) {
                    Poll::Pending => {
                        self.state = State::Reading(reading);
                        return Poll::Pending;
                    }
                    // The answer ends before its end, which HTTP can say; a cut answer must not look whole.
                    Poll::Ready(Err(trouble)) => {
                        return Poll::Ready(Some(Err(std::io::Error::other(trouble.sentence()))));
                    }
                    Poll::Ready(Ok((lines, piece))) => self.state = State::Ready(Box::new(lines), piece),
                },
            }
        }
    }
}
