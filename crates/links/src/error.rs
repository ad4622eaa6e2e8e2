//! What can go wrong with links: the disk under the outbox, a peer that sends nonsense, a caller that is too fast.

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk. What was flushed before is safe.
    #[error("the outbox could not be {doing}: {source}")]
    Table { doing: &'static str, source: std::io::Error },
    /// The outbox was written by a newer program.
    #[error("the outbox has form {found}, this program knows form {known}: use a newer herodotus")]
    Newer { found: u8, known: u8 },
    /// A peer sent what is no batch. Nothing of it counts.
    #[error("not a batch of links: {0}")]
    Batch(&'static str),
    /// More waits than the outbox may hold: whoever finds links must wait, whoever sends them must try again. Nothing was added.
    #[error("{pending} links wait to be sent: try again when some are gone")]
    Full { pending: u64 },
    /// Our own mistake: only canonical URLs travel. Nothing was added.
    #[error("not a canonical web URL: {0}")]
    Url(String),
}

impl Error {
    pub(crate) fn table(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Table { doing, source }
    }
}
