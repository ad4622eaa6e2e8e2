//! Paper for a document: text that remembers every link written on it, so that the truth about links is kept by the
//! hand that writes them and not by a second reading.

use crate::Web;
use crate::place::{Place, Site};

/// Where a link leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) path: String,
    /// What the link says.
    pub(crate) label: String,
}

/// How a link is spelled. All mean the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spelling {
    /// `/p/1` within a site, `http://host/p/1` across sites.
    Short,
    /// `http://host/p/1`
    Full,
    /// `//host/p/1`
    SameScheme,
    /// As short, with `#notes` behind it.
    Fragment,
}

/// A document being written on one host.
#[derive(Clone, Debug)]
pub(crate) struct Sheet<'a> {
    site: &'a Site,
    text: String,
    links: Vec<String>,
}

impl<'a> Sheet<'a> {
    pub(crate) fn new(site: &'a Site) -> Self {
        Self { site, text: String::with_capacity(4096), links: Vec::new() }
    }

    /// Writes markup as it is.
    pub(crate) fn raw(&mut self, markup: &str) -> &mut Self {
        self.text.push_str(markup);
        self
    }

    /// Writes text, escaped for HTML and XML.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        // Nearly all text goes in whole runs: pages are made anew for every request.
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"')) {
            let (before, from) = rest.split_at(at);
            self.text.push_str(before);
            self.text.push_str(match from.as_bytes().first() {
                Some(b'&') => "&amp;",
                Some(b'<') => "&lt;",
                Some(b'>') => "&gt;",
                _ => "&quot;",
            });
            rest = from.get(1..).unwrap_or_default();
        }
        self.text.push_str(rest);
        self
    }

    /// Writes an anchor.
    pub(crate) fn link(&mut self, target: &Target, spelling: Spelling) -> &mut Self {
        let url = self.note(&target.host, &target.path);
        let away = target.host != self.site.name;
        let href = match spelling {
            Spelling::Full => url,
            Spelling::SameScheme => format!("//{}{}", target.host, target.path),
            Spelling::Short if away => url,
            Spelling::Fragment if away => format!("{url}#notes"),
            Spelling::Short => target.path.clone(),
            Spelling::Fragment => format!("{}#notes", target.path),
        };
        self.raw("<a href=\"").text(&href).raw("\">").text(&target.label).raw("</a>")
    }

    /// Writes the full address of something on this site, bare, as sitemaps and robots.txt do.
    pub(crate) fn address(&mut self, path: &str) -> &mut Self {
        let url = self.note(&self.site.name, path);
        self.text(&url)
    }

    /// Writes a path on this site into an attribute that the caller has opened.
    pub(crate) fn source(&mut self, path: &str) -> &mut Self {
        self.note(&self.site.name, path);
        self.text(path)
    }

    pub(crate) fn finish(self) -> (Vec<u8>, Vec<String>) {
        (self.text.into_bytes(), self.links)
    }

    fn note(&mut self, host: &str, path: &str) -> String {
        let url = format!("http://{host}{path}");
        self.links.push(url.clone());
        url
    }
}

impl Web {
    pub(crate) fn target(&self, host: u32, place: Place) -> Target {
        let label = match place {
            Place::Page(0) => self.site(host).title,
            Place::Page(page) | Place::Short(page) => self.subject(host, page),
            Place::Listing(listing) => format!("All our pages, leaf {}", listing + 1),
            _ => String::new(),
        };
        Target { host: self.host_name(host), path: self.path(host, place), label }
    }
}
