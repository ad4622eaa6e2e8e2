//! What can go wrong with a ledger.

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the ledger of records could not be read or written: {0}")]
    Engine(#[from] fjall::Error),
    /// Something in it is not of our making.
    #[error("the ledger of records is damaged: {0}")]
    Damaged(&'static str),
    /// Whoever gave it has to do better.
    #[error("a record was refused: {0}")]
    Refused(&'static str),
    #[error("this ledger is of version {0}, which this program does not know: a newer one wrote it")]
    Newer(u8),
}
