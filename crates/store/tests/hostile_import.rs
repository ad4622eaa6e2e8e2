//! What bad input gets, and what a bad archive gets: a clear error or a counted skip, never a panic, never a hang, never an
//! earlier capture lost. Every case goes through `archive::import` into a real store that already holds captures, and ends
//! with all of them read back byte for byte. `crates/warc/tests/behaviour/hostile_*.rs` has the cases of the reader alone.

mod hostile;
