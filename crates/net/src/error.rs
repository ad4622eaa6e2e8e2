//! What can go wrong with peers, and whose fault it is.

use crate::limits;
use herodotus_base::PeerKey;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub type Result<T, E = NetError> = std::result::Result<T, E>;

/// Of this machine and its files, and of what people hand in.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The system does not give us the port, or the settings name none that exists.
    #[error("peers cannot be heard on {listen:?}: {what}. Choose another address or port")]
    Bind { listen: Vec<SocketAddr>, what: String },
    #[error("{0}")]
    Settings(String),
    /// The disk said no. What was written before stands.
    #[error("{doing} {path}: {source}")]
    Disk { doing: &'static str, path: PathBuf, source: io::Error },
    /// A file that we did not write, or that rotted.
    #[error("{path} is damaged: {what}")]
    Damaged { path: PathBuf, what: String },
    /// A file, ticket or list of a newer program.
    #[error("{what} has form {found}, this program knows form {known}: use a newer herodotus")]
    Newer { what: String, found: u8, known: u8 },
    /// A ticket that a person gave us.
    #[error("this is not a ticket: {0}. Copy it whole, from `hdt1` to its end")]
    Ticket(String),
    /// A charter, pass or list that its signature does not cover.
    #[error("{0}")]
    Forged(&'static str),
    /// Only the machine that made the ring can do this.
    #[error("only the machine that made the ring can {0}: it alone has the owner's key")]
    NotOwner(&'static str),
    #[error("{what}: there can be {max} at most")]
    TooMany { what: &'static str, max: usize },
    /// The machine's source of randomness.
    #[error("no random bytes: {0}")]
    Random(String),
    /// The other machine, when we ask it to let us in.
    #[error("the machine that gave the ticket: {0}")]
    Join(#[from] CallError),
}

impl NetError {
    pub(crate) fn disk(doing: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Disk { doing, path, source }
    }
}

/// Why a call came to nothing. Unless it says so, whether the other side did what was asked is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nobody answers at its addresses. Nothing was asked.
    #[error("{peer:?} cannot be reached: {what}")]
    Unreachable { peer: PeerKey, what: String },
    /// Our own time was up.
    #[error("{peer:?} did not answer within {within:?}")]
    TimedOut { peer: PeerKey, within: Duration },
    /// The other side says no. What was asked was not done.
    #[error("{0}")]
    Refused(Refusal),
    /// It says it is of our ring and is not, or was shut out. Nothing was asked.
    #[error("{peer:?} is no member of our ring: {why}")]
    Stranger { peer: PeerKey, why: Refusal },
    /// The connection broke under the call.
    #[error("the connection to {peer:?} broke: {what}")]
    Lost { peer: PeerKey, what: String },
    /// The other side sent what it must not; it is remembered.
    #[error("{peer:?} broke the protocol: {what}")]
    Garbage { peer: PeerKey, what: String },
    /// It did so before. Nothing was asked.
    #[error("{peer:?} broke the protocol and is not spoken to for another {left:?}")]
    Banned { peer: PeerKey, left: Duration },
    /// Our mistake: more than a frame holds, more addresses than a peer has, or a call to ourselves.
    #[error("{0}")]
    Ours(&'static str),
    #[error("the endpoint is closed")]
    Closed,
}

/// Why a peer is not served. It travels, so variants are only ever added at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    #[error("it speaks another version of the protocol, {0}")]
    Version(u16),
    #[error("it belongs to another ring")]
    WrongRing,
    #[error("it asks for a pass: join the ring with a ticket")]
    NoPass,
    #[error("the pass is not valid for this key")]
    BadPass,
    #[error("this key was shut out by the ring's owner")]
    Revoked,
    #[error("the ticket has expired: ask for a new one")]
    TicketExpired,
    #[error("the ticket was used by another machine: ask for a new one")]
    TicketUsed,
    #[error("it did not make this ticket")]
    TicketUnknown,
    /// Rates or room. Ask again later, and less.
    #[error("it has too much to do")]
    Busy,
    /// For garbage; for so many seconds.
    #[error("it does not speak with us for another {0} s")]
    Banned(u32),
    /// A kind of call that nobody there serves.
    #[error("it does not know calls of kind {0}")]
    UnknownKind(u8),
    /// The service's own no, in its words.
    #[error("{0}")]
    Service(String),
    #[error("it is closing")]
    Closing,
}

impl Refusal {
    /// The service's own no. A long sentence is cut.
    pub fn service(words: impl Into<String>) -> Self {
        Self::Service(cut(words.into()))
    }

    /// As it may travel: the words bounded.
    pub(crate) fn bounded(self) -> Self {
        match self {
            Self::Service(words) => Self::Service(cut(words)),
            other => other,
        }
    }
}

fn cut(mut words: String) -> String {
    let mut end = limits::REFUSAL_TEXT_BYTES_MAX.min(words.len());
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    words.truncate(end);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_cut_between_letters() {
        let Refusal::Service(words) = Refusal::service("ä".repeat(1000)) else { panic!() };
        assert_eq!(words.len(), 512);
        let Refusal::Service(words) = Refusal::service(format!("a{}", "ä".repeat(1000))) else { panic!() };
        assert_eq!(words.len(), 511);
    }
}
