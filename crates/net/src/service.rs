//! What peers ask of us: one trait, served by whoever wires the node.

use crate::address::{Caller, Kind};
use crate::error::Refusal;
use crate::stream::Stream;
use bytes::Bytes;
use std::pin::Pin;

pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Called only for peers whose hello was accepted, within their rates, and for as many calls at once as
/// [`crate::Limits::streams_max`] allows. A future runs on a task of its own; it goes on to its end even if the caller has gone.
pub trait Service: Send + Sync + 'static {
    /// Answers with at most [`crate::limits::CALL_BYTES_MAX`] bytes. Longer is our own mistake and becomes a refusal.
    fn call(&self, from: Caller, kind: Kind, payload: Bytes) -> BoxFuture<Result<Bytes, Refusal>>;

    /// Something that wants no answer. It may be lost, and comes at most once.
    fn notice(&self, from: Caller, kind: Kind, payload: Bytes) -> BoxFuture<()> {
        let _ = (from, kind, payload);
        Box::pin(async {})
    }

    /// A stream that the other side opened. Dropping it without `shutdown` tells the other side that it was given up.
    fn stream(&self, from: Caller, kind: Kind, head: Bytes, stream: Stream) -> BoxFuture<()> {
        let _ = (from, kind, head, stream);
        Box::pin(async {})
    }
}
