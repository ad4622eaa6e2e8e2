//! A response that another machine fetched, handed to a [`Receiver`] as if it came over the wire here.
//!
//! What travels between the two are the bytes of the wire alone: chunks and codings are undone here, within this machine's caps, so that a
//! machine that means no good can send us no more than a server could.

use crate::body::Body;
use crate::chunked::Chunked;
use crate::config::Caps;
use crate::outcome::{Exchange, Failure, Truncated};
use crate::receiver::{Receiver, Wish};
use herodotus_page::ResponseHead;

#[derive(Debug)]
pub struct Replay<'r, R> {
    /// `None` if the receiver does not want it.
    body: Option<Body<'r, R>>,
    status: u16,
    /// Where the data lie, in a body of chunks.
    chunked: Option<Chunked>,
    /// Cut here, wherever it ended elsewhere.
    truncated: Option<Truncated>,
}

impl<'r, R: Receiver> Replay<'r, R> {
    /// Begins with a whole head.
    pub fn new(head: &[u8], caps: Caps, receiver: &'r mut R) -> Result<Self, Failure> {
        if head.len() > caps.head_bytes {
            return Err(Failure::HeadTooLarge { cap: caps.head_bytes });
        }
        let parsed = ResponseHead::parse(head).ok_or(Failure::NotHttp)?;
        let status = parsed.status.filter(|&status| status >= 200).ok_or(Failure::NotHttp)?;
        let chunked = (parsed.is_chunked() && !matches!(status, 204 | 304)).then(Chunked::new);
        let wish = receiver.head(head, &parsed);
        let body = (wish == Wish::Take).then(|| Body::new(receiver, caps, &parsed));
        Ok(Self { body, status, chunked, truncated: None })
    }

    /// More of the body as it was sent.
    pub async fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Some(body) = self.body.as_mut().filter(|_| self.truncated.is_none()) else { return Ok(()) };
        let taken = &bytes[..body.room(bytes.len())];
        body.take_wire(taken).await?;
        let walked = match &mut self.chunked {
            _ if !body.wants_content() => Ok(()),
            None => body.take_content(taken).await,
            Some(chunked) => walk(chunked, taken, body).await,
        };
        self.truncated = walked.err();
        if taken.len() < bytes.len() {
            self.truncated = self.truncated.or(Some(Truncated::Length { cap: body.wire_bytes_max() }));
        }
        Ok(())
    }

    /// The other machine's account of the exchange, with what was seen here put right.
    pub fn finish(self, mut exchange: Exchange) -> Exchange {
        exchange.status = self.status;
        exchange.truncated = self.truncated.or(exchange.truncated);
        (exchange.wire_bytes, exchange.content_bytes, exchange.coding_error) = (0, 0, None);
        if let Some(mut body) = self.body {
            if exchange.truncated.is_none() {
                body.finish();
            }
            (exchange.wire_bytes, exchange.content_bytes) = (body.wire_bytes, body.content_bytes);
            exchange.coding_error = body.coding_error;
        }
        exchange
    }
}

async fn walk<R: Receiver>(chunked: &mut Chunked, bytes: &[u8], body: &mut Body<'_, R>) -> Result<(), Truncated> {
    let mut at = 0;
    // Nonsense was found elsewhere too, and is told at the end.
    while let Ok(Some(range)) = chunked.next(bytes, &mut at) {
        body.take_content(&bytes[range]).await?;
    }
    Ok(())
}
