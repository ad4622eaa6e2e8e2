//! Writing: `record` makes WARC files, `cdx` the lines that index them, `wacz` packs both.

mod cdx;
mod record;
mod wacz;

pub use cdx::CdxLine;
pub use record::{Coding, Span, Writer};
pub use wacz::{Page, WaczAbout, WaczWriter};
