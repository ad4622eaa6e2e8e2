//! What can go wrong in a machine that only remembers: its table, or what a person asked for.

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk under the table. What was flushed before is safe; the crawl goes on from there.
    #[error("the crawl's state could not be {doing}: {source}")]
    Table { doing: &'static str, source: std::io::Error },
    /// A record that we did not write, or that rotted.
    #[error("the crawl's state is damaged: {what}")]
    Damaged { what: String },
    /// The state was written by a newer program.
    #[error("the crawl's state has form {found}, this program knows form {known}: use a newer herodotus")]
    Newer { found: u8, known: u8 },
    #[error("{0}")]
    Settings(String),
}

impl Error {
    pub(crate) fn table(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Table { doing, source }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { what: what.into() }
    }
}
