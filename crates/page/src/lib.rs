//! What can be said of a page from its bytes alone: the key it sorts under, its HTTP head, its body without transfer
//! coding, the text a person would read, and the page as replay shows it.
//!
//! Pure functions: bytes in, values out. Every input may be hostile, so each function is total, takes time linear in
//! its input, and answers `None` (or something harmless) instead of guessing.

mod chunk;
mod entity;
mod html;
mod http;
pub mod limits;
mod links;
pub mod rewrite;
mod robots;
mod surt;
mod text;
mod url_form;
mod varint;
mod web_url;

pub use chunk::{ChunkLayout, dechunk, rechunk};
pub use http::{Headers, ResponseHead, head_len};
pub use links::{AGENT_TOKEN, Document, Link, LinkKind, Page, PageReader, Policy, header_links, is_gzip};
pub use robots::Robots;
pub use surt::{domain_range, host_of_key, host_range, prefix_range, surt, surt_bytes};
pub use text::{decode_text, readable_lines, title};
pub use url_form::{compress_url, expand_url};
pub use web_url::{NotWeb, WebUrl};
