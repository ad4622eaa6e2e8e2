//! Archived content made ready for replay: every address in it that a browser would follow or fetch is turned into one
//! of the archive, `/web/<stamp><modifier>/<url>`, as the bytes stream by.
//!
//! What it promises: any input is taken and nothing panics; the output does not depend on how the input was cut; memory
//! is bounded by [`crate::limits`], not by the page; bytes that need no change stay as they are, in the page's own
//! encoding. What can be lost: addresses that scripts make, and those in tags or tokens beyond the bounds, which pass
//! unchanged. The policy that replay sends is the wall against leaks; this is there so that pages look as they did.
//! The URL form and the modifiers are the Wayback Machine's.

mod attributes;
mod css;
mod element;
mod escape;
mod header;
mod html;
mod import_map;
mod lexer;
mod meta;
mod place;
mod script;

pub use css::CssRewriter;
pub use header::{rewrite_link, rewrite_link_header, rewrite_refresh};
pub use html::HtmlRewriter;
pub use script::{ScriptRewriter, rewrite_script};

use crate::WebUrl;

/// Where and when the content is replayed.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// 14 digits.
    pub stamp: &'a str,
    /// The address that the content was captured from.
    pub url: &'a WebUrl,
    pub mode: Mode,
}

/// How archived sites are kept apart: what the client script is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each archived origin has a host name of its own.
    Names,
    /// Documents have no origin at all.
    Opaque,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Opaque => "opaque",
        }
    }
}

/// What is asked for at an address: what stands behind the stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// A page to go to.
    Document,
    Image,
    Script,
    Style,
    Iframe,
    Frame,
    /// Objects, media, fonts, and what has no better name.
    Embed,
}

impl Modifier {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Document => "",
            Self::Image => "im_",
            Self::Script => "js_",
            Self::Style => "cs_",
            Self::Iframe => "if_",
            Self::Frame => "fr_",
            Self::Embed => "oe_",
        }
    }

    /// Relative links to pages can stay as they are, since they lead to the right place from where the page is
    /// replayed. What a page is made of always says what it is: the archive answers it with the nearest capture, and a
    /// module that is named in two ways would be run twice.
    fn is_always_written(self) -> bool {
        self != Self::Document
    }
}
