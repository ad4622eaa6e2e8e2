//! A body on its way to the receiver, whatever the protocol: exact bytes to `wire`, decoded ones to `content`, both
//! counted and capped.

use crate::coding::Codings;
use crate::config::Caps;
use crate::limits::DECODED_TURN_BYTES;
use crate::outcome::{CodingError, Failure, Truncated};
use crate::receiver::Receiver;
use herodotus_page::ResponseHead;

#[derive(Debug)]
pub(crate) struct Body<'r, R> {
    receiver: &'r mut R,
    caps: Caps,
    content: Content,
    pub(crate) wire_bytes: u64,
    pub(crate) content_bytes: u64,
    pub(crate) coding_error: Option<CodingError>,
}

#[derive(Debug)]
enum Content {
    /// Not wished for, or past decoding.
    None,
    Plain,
    Coded(Codings),
}

impl<'r, R: Receiver> Body<'r, R> {
    /// For a body that the receiver takes. It has seen the head.
    pub(crate) fn new(receiver: &'r mut R, caps: Caps, head: &ResponseHead<'_>) -> Self {
        let mut coding_error = None;
        let content = if receiver.wants_content() {
            match Codings::new(&codings(head)) {
                Ok(None) => Content::Plain,
                Ok(Some(codings)) => Content::Coded(codings),
                Err(error) => {
                    coding_error = Some(error);
                    Content::None
                }
            }
        } else {
            Content::None
        };
        let caps = Caps { wire_bytes: caps.wire_bytes.min(receiver.wire_bytes_max()), ..caps };
        Self { receiver, caps, content, wire_bytes: 0, content_bytes: 0, coding_error }
    }

    pub(crate) fn wants_content(&self) -> bool {
        !matches!(self.content, Content::None)
    }

    /// Bytes taken at most.
    pub(crate) fn wire_bytes_max(&self) -> u64 {
        self.caps.wire_bytes
    }

    /// How many of so many bytes may still be taken.
    pub(crate) fn room(&self, len: usize) -> usize {
        len.min(usize::try_from(self.caps.wire_bytes - self.wire_bytes).unwrap_or(usize::MAX))
    }

    /// Takes bytes as sent, of which there is [`Self::room`] for all.
    pub(crate) async fn take_wire(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.wire_bytes += bytes.len() as u64;
        self.receiver.wire(bytes).map_err(Failure::Sink)?;
        std::future::poll_fn(|context| self.receiver.poll_ready(context)).await;
        Ok(())
    }

    /// Takes the same bytes without transfer framing.
    pub(crate) async fn take_content(&mut self, mut bytes: &[u8]) -> Result<(), Truncated> {
        let cap = self.caps.decoded_bytes;
        let mut turn_bytes = 0;
        loop {
            let piece = match &mut self.content {
                Content::None => return Ok(()),
                Content::Plain => std::mem::take(&mut bytes),
                Content::Coded(codings) => match codings.next(&mut bytes) {
                    Ok(piece) => piece.unwrap_or_default(),
                    Err(error) => {
                        self.coding_error = Some(error);
                        self.content = Content::None;
                        return Ok(());
                    }
                },
            };
            if piece.is_empty() {
                return Ok(());
            }
            let room = usize::try_from(cap - self.content_bytes).unwrap_or(usize::MAX);
            let taken = piece.get(..room).unwrap_or(piece);
            if !taken.is_empty() {
                self.receiver.content(taken);
            }
            self.content_bytes += taken.len() as u64;
            turn_bytes += taken.len();
            if taken.len() < piece.len() {
                self.content = Content::None;
                return Err(Truncated::Decoded { cap });
            }
            if turn_bytes >= DECODED_TURN_BYTES {
                turn_bytes = 0;
                tokio::task::yield_now().await;
            }
        }
    }

    /// The body is whole: its codings should be too.
    pub(crate) fn finish(&mut self) {
        if let Content::Coded(codings) = &self.content {
            self.coding_error = codings.finish().err();
        }
    }
}

/// Content codings, and then those of the transfer beside `chunked`, in the order in which they were applied.
fn codings(head: &ResponseHead<'_>) -> Vec<String> {
    let mut codings = head.content_encodings();
    for value in head.values("transfer-encoding") {
        for coding in value.split(',').map(|coding| coding.trim().to_ascii_lowercase()) {
            if !matches!(coding.as_str(), "" | "chunked" | "identity") {
                codings.push(coding);
            }
        }
    }
    codings
}
