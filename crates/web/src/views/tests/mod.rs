//! Views of archives with every kind of capture that real ones have, and of large ones.

mod differences;
mod first;
mod hosts;
mod versions;
