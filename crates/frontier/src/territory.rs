//! A crawl that many machines make together: which URLs are ours, what is passed on, and what others take over from us.
//!
//! Each machine has a frontier of the same crawl with a [`Territory`] of its own. A link that leads out of it becomes a
//! [`Prospect`], judged here by scope and depth, to be handed to the machine it belongs to; there
//! [`crate::Frontier::handle_prospects`] takes it in. What is known of a URL comes out of
//! [`crate::Frontier::take_news`] whenever it was taken in or visited, so that others can keep it and
//! [`crate::Frontier::adopt`] it when the machine is gone. A territory may change at any time: what is no longer ours is passed on when its turn comes.

use herodotus_page::{LinkKind, WebUrl};
use std::fmt::Debug;

/// Which URLs are ours to visit.
pub trait Territory: Send + Sync + Debug {
    fn holds(&self, url: &WebUrl) -> bool;
}

/// A URL that belongs to the crawl and to another machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Prospect {
    pub url: WebUrl,
    pub kind: LinkKind,
    /// Pages between a seed and this.
    pub depth: u16,
    /// Steps from the page that needs this to be shown; 0 for a page.
    pub hops: u8,
    /// Redirects in a row that led here.
    pub redirects: u8,
    pub seed: bool,
}
