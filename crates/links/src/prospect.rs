//! A link on its way: a URL that somebody found, and what its owner must know to decide whether to visit it.

use crate::error::{Error, Result};
use herodotus_base::limits::URL_BYTES_MAX;

/// Which crawl wants it.
pub type CrawlId = [u8; 16];

/// A link that was found for a crawl. What it means is the frontier's to say; here it is only carried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prospect {
    /// Absolute and canonical, as `WebUrl` writes it.
    pub url: String,
    /// What it is to the page that named it.
    pub kind: u8,
    /// Pages from the seed.
    pub depth: u16,
    /// Requisites in a row.
    pub hops: u8,
    /// Redirects in a row.
    pub redirects: u8,
    pub seed: bool,
}

impl Prospect {
    /// Whether it can travel: an `http` or `https` URL in printable ASCII, as every canonical one is, and not too long.
    pub fn check(&self) -> Result<()> {
        let is_web = self.url.starts_with("https://") || self.url.starts_with("http://");
        if is_web && self.url.len() <= URL_BYTES_MAX && self.url.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(())
        } else {
            Err(Error::Url(self.url.chars().take(100).collect()))
        }
    }
}
