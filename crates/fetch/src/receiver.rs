//! Who takes a response as it comes. A fetch knows nothing of stores, digests and parsers: they stand behind this.

use herodotus_page::ResponseHead;
use std::io;
use std::task::{Context, Poll};

/// What becomes of a body, once its head is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Take,
    /// The exchange ends here, with [`crate::Exchange::body_left`] set.
    Leave,
}

/// Called in this order: `head` once, then `wire` and `content` for each piece. The pieces of `wire` together are the
/// body. Nothing is called after `wire` failed.
///
/// A fetch that fails on a stale connection is tried again on a new one, but only if `head` has not been called.
pub trait Receiver: Send {
    /// The exact bytes of the head with its empty line, and their meaning. For HTTP/2, the same head as HTTP/1.1
    /// would write it.
    fn head(&mut self, head: &[u8], parsed: &ResponseHead<'_>) -> Wish;

    /// More of the body as it was sent: with its chunks, and still compressed. An error, such as a full disk, ends
    /// the fetch as [`crate::Failure::Sink`].
    fn wire(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// More of the same without chunks and codings, for a parser.
    fn content(&mut self, bytes: &[u8]);

    /// Asked once, after `head`. Without a wish for content, nothing is decoded.
    fn wants_content(&self) -> bool {
        true
    }

    /// Asked once, after `head`: bytes of the body that are taken at most, if fewer than the fetcher's cap.
    fn wire_bytes_max(&self) -> u64 {
        u64::MAX
    }

    /// Waited for after each `wire`: whoever cannot keep up with the server holds the exchange back here.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let _ = context;
        Poll::Ready(())
    }
}

impl<R: Receiver + ?Sized> Receiver for &mut R {
    fn head(&mut self, head: &[u8], parsed: &ResponseHead<'_>) -> Wish {
        (**self).head(head, parsed)
    }

    fn wire(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).wire(bytes)
    }

    fn content(&mut self, bytes: &[u8]) {
        (**self).content(bytes);
    }

    fn wants_content(&self) -> bool {
        (**self).wants_content()
    }

    fn wire_bytes_max(&self) -> u64 {
        (**self).wire_bytes_max()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        (**self).poll_ready(context)
    }
}
