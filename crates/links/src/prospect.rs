//! A link on its way: a URL that somebody found, and what its owner must know to decide whether to visit it.

use crate::error::{Error, Result};
use herodotus_base::limits::URL_BYTES_MAX;
use herodotus_frontier as frontier;
use herodotus_page::WebUrl;

/// Which crawl wants it.
pub type CrawlId = [u8; 16];

/// A [`frontier::Prospect`] as it travels. What it means is the frontier's to say; here it is only carried.
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

    /// For the frontier again. Nothing for what is no canonical URL: nobody of ours has sent it.
    pub fn open(self) -> Option<frontier::Prospect> {
        let Self { url, kind, depth, hops, redirects, seed } = self;
        let (url, kind) = (WebUrl::parse(&url).ok()?, frontier::kind_of_code(kind));
        Some(frontier::Prospect { url, kind, depth, hops, redirects, seed })
    }
}

impl From<&frontier::Prospect> for Prospect {
    fn from(prospect: &frontier::Prospect) -> Self {
        let frontier::Prospect { url, kind, depth, hops, redirects, seed } = prospect;
        let (url, kind) = (url.as_str().to_owned(), frontier::kind_code(*kind));
        Self { url, kind, depth: *depth, hops: *hops, redirects: *redirects, seed: *seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herodotus_page::LinkKind;

    #[test]
    fn a_link_comes_out_as_it_was_put_in() {
        let url = WebUrl::parse("https://example.org/a?b").unwrap();
        for kind in [LinkKind::Page, LinkKind::Redirect, LinkKind::Sitemap, LinkKind::Other] {
            let prospect = frontier::Prospect { url: url.clone(), kind, depth: 300, hops: 2, redirects: 1, seed: true };
            assert_eq!(Prospect::from(&prospect).open(), Some(prospect));
        }
        let odd = Prospect { url: "https:/".into(), kind: 0, depth: 0, hops: 0, redirects: 0, seed: false };
        assert_eq!(odd.open(), None);
    }
}
