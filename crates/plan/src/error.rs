//! What cannot be planned, and what to do about it. The person is at fault in all of them; nothing has state to change.

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    #[error("{what} must be {must}, not {is}")]
    Input { what: &'static str, must: String, is: String },

    #[error(
        "{copies} copies lie on {copies} machines, and there are {nodes}: give more machines, or ask for fewer copies"
    )]
    TooFewNodes { copies: u32, nodes: u64 },

    #[error("{fetchers} machines would fetch what {copies} keep: let at most {copies} fetch, or keep more copies")]
    TooManyFetchers { fetchers: u32, copies: u32 },

    #[error(
        "how long a repair takes follows from what a machine sends and receives: give both up and down, or give repair-days"
    )]
    NoBandwidth,

    #[error(
        "no number of machines is enough: keeping up the ring alone takes {takes_bits_per_s:.0} of the {given_bits_per_s:.0} bit/s \
         that a machine {does}. Give it more bandwidth, or longer sessions"
    )]
    Upkeep { does: &'static str, takes_bits_per_s: f64, given_bits_per_s: f64 },

    #[error(
        "more than {max:e} machines would be needed, since {what} decides: give each more of it, keep fewer copies, or archive less",
        max = crate::limits::NODES_MAX as f64
    )]
    TooManyNodes { what: &'static str },
}

pub type Result<T> = std::result::Result<T, Error>;
