//! How a case is written down: what it is called, what it is for, and the script that plays it.

use super::http2::Stream;
use super::talk::Talk;
use super::{Expect, Group};
use std::io;

/// What a visitor asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    pub(super) host: String,
    /// With query.
    pub(super) path: String,
    pub(super) has_cookie: bool,
    /// Requests to this host up to and including this one.
    pub(super) number: u64,
}

pub(super) type Script = fn(&mut Talk<'_>, &Ask) -> io::Result<()>;
pub(super) type StreamScript = fn(&mut Stream<'_, '_>) -> io::Result<()>;

/// Whose certificate a TLS listener shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Paper {
    Honest,
    Expired,
    NotYetValid,
    SelfSigned,
    WrongName,
    UnknownIssuer,
    SignedByLeaf,
    EndlessChain,
}

/// Which listener a case stands behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Door {
    /// The one for all plain hosts. The script is played when the request has come.
    Plain,
    /// One of its own. The script is played at once, with nothing read.
    Raw,
    /// The same, where the visitor expects TLS.
    RawTls,
    /// Nobody listens there.
    Nobody,
    Tls(Paper),
    /// TLS with the honest certificate and HTTP/2 agreed on.
    Http2,
}

/// When and how an HTTP/2 case is played.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frames {
    /// As soon as the connection stands.
    AtOnce(StreamScript),
    /// For every request but those for robots.txt and the page after.
    OnRequest(StreamScript),
}

pub(super) struct Plan {
    pub(super) name: &'static str,
    pub(super) group: Group,
    pub(super) why: &'static str,
    pub(super) expect: Expect,
    pub(super) door: Door,
    pub(super) at: Option<String>,
    pub(super) robots: Option<Script>,
    pub(super) script: Script,
    pub(super) frames: Option<Frames>,
}

impl Plan {
    pub(super) fn new(name: &'static str, group: Group, expect: Expect, why: &'static str, script: Script) -> Self {
        Self { name, group, why, expect, door: Door::Plain, at: None, robots: None, script, frames: None }
    }

    pub(super) fn http2(name: &'static str, expect: Expect, why: &'static str, frames: Frames) -> Self {
        let plan = Self::new(name, Group::Http2, expect, why, |_, _| Ok(())).door(Door::Http2);
        Self { frames: Some(frames), ..plan }
    }

    pub(super) fn door(self, door: Door) -> Self {
        Self { door, ..self }
    }

    /// What is expected is expected of this path or URL, which the seed leads to, and not of the seed.
    pub(super) fn at(self, at: impl Into<String>) -> Self {
        Self { at: Some(at.into()), ..self }
    }

    pub(super) fn robots(self, robots: Script) -> Self {
        Self { robots: Some(robots), ..self }
    }

    /// Whether robots.txt comes before the trouble.
    pub(super) fn robots_answered(&self) -> bool {
        let honest = match self.door {
            Door::Plain | Door::Tls(Paper::Honest) | Door::Http2 => true,
            Door::Raw | Door::RawTls | Door::Nobody | Door::Tls(_) => false,
        };
        // Sitemaps are named by a robots.txt that is otherwise decent.
        let decent = self.robots.is_none() || self.group == Group::Sitemap;
        honest && decent && !matches!(self.frames, Some(Frames::AtOnce(_)))
    }
}

/// The page that most hosts show at `/after.html`, to see that they go on.
pub(super) const AFTER: &str = "<!DOCTYPE html><title>After</title><p>All is well.</p>\n";

/// A small page with a link to the page after and whatever else is given.
pub(super) fn html(inside: &str) -> String {
    format!("<!DOCTYPE html><title>A page</title>\n{inside}\n<p><a href=\"/after.html\">After</a></p>\n")
}

/// The seed of a case whose trouble lies elsewhere.
pub(super) fn welcome(talk: &mut Talk<'_>, _: &Ask) -> io::Result<()> {
    talk.page(html("<p><a href=\"/private/page.html\">Private</a> <a href=\"/public/page.html\">Public</a></p>"))
}
