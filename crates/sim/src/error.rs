//! What can be wrong with a simulation that somebody asks for. What is wrong inside one is a finding, not an error.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The person asked for something that cannot be.
    #[error("{what} must be {must}, not {is}")]
    Option { what: &'static str, must: &'static str, is: String },
}

pub type Result<T> = std::result::Result<T, Error>;
