//! What can live in a simulated world: any machine with inputs, outputs and a time to be woken.

use std::time::Duration;

/// A machine. It sees only its own clock, and what others send.
pub trait Node {
    type Message: Clone;
    /// What it tells the world that watches it, beside what it tells other nodes.
    type Note;

    fn handle_message(&mut self, now: Duration, message: Self::Message);

    /// A message of its own could not be delivered, and the network said so.
    fn handle_unreachable(&mut self, now: Duration, message: &Self::Message);

    fn handle_timeout(&mut self, now: Duration);

    fn poll_timeout(&self) -> Option<Duration>;

    fn poll_output(&mut self) -> Option<Out<Self::Message, Self::Note>>;

    /// How long the message is on the wire.
    fn bytes(message: &Self::Message) -> usize;

    /// A short name of the message, so that two traces can be told apart.
    fn fingerprint(message: &Self::Message) -> u64;
}

/// What a machine gives out.
#[derive(Clone, Debug)]
pub enum Out<M, N> {
    /// For the machine with that number, sent after a while.
    Send {
        to: usize,
        message: M,
        after: Duration,
    },
    Note(N),
}
