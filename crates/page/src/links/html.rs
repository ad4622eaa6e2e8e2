//! The links, title and policy of an HTML page, from its tags as they pass.

use super::collect::{Bytes, Links, text_of};
use super::css::CssScan;
use super::element::Element;
use super::policy::{AGENT_TOKEN, Policy};
use super::space::Spaces;
use super::tag::{Attribute, Tag};
use super::tokens::{Content, Sink, Tokenizer};
use super::{LinkKind, Page};
use crate::entity;
use crate::limits::TITLE_BYTES_MAX;
use crate::text::fold;
use std::borrow::Cow;

/// What is done with the content of the raw element we are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Raw {
    Skip,
    Title,
    Style,
}

#[derive(Debug)]
pub(super) struct HtmlPage {
    links: Links,
    bytes: Bytes,
    /// Read by the rules of XML.
    is_xml: bool,
    policy: Policy,
    title: Option<String>,
    title_bytes: Vec<u8>,
    has_title: bool,
    has_base: bool,
    /// Nothing has come yet that belongs behind the head.
    in_head: bool,
    raw: Raw,
    css: CssScan,
    spaces: Spaces,
    /// Within the document that an attribute of a frame holds.
    in_srcdoc: bool,
}

impl HtmlPage {
    pub(super) fn new(mut links: Links, bytes: Bytes, is_xml: bool) -> Self {
        links.wait_for_base();
        Self {
            links,
            bytes,
            is_xml,
            policy: Policy::default(),
            title: None,
            title_bytes: Vec::new(),
            has_title: false,
            has_base: false,
            in_head: true,
            raw: Raw::Skip,
            css: CssScan::new(),
            spaces: Spaces::default(),
            in_srcdoc: false,
        }
    }

    pub(super) fn finish(self) -> Page {
        Page { title: self.title, policy: self.policy, ..self.links.finish() }
    }

    fn content_of(&mut self, element: Element, is_closed: bool, is_foreign: bool) -> Content {
        let content = content_of(element, is_closed && (self.is_xml || is_foreign), is_foreign);
        self.raw = match content {
            Content::Raw(b"style") => Raw::Style,
            Content::Raw(b"title") if !self.has_title && !self.in_srcdoc => {
                self.has_title = true;
                Raw::Title
            }
            _ => Raw::Skip,
        };
        content
    }

    fn value<'a>(&self, tag: &Tag<'a>, attribute: Attribute) -> Option<Cow<'a, str>> {
        tag.get(attribute).map(|value| self.links.decode(value).0)
    }

    fn add(&mut self, tag: &Tag<'_>, attribute: Attribute, kind: LinkKind) {
        if let Some(value) = tag.get(attribute) {
            self.links.add(value, kind, false);
        }
    }

    fn add_srcset(&mut self, tag: &Tag<'_>, attribute: Attribute) {
        if let Some(value) = tag.get(attribute) {
            self.links.add_srcset(value);
        }
    }

    fn links_of(&mut self, element: Element, tag: &Tag<'_>, is_foreign: bool) {
        use Attribute as A;
        // What an element of a drawing refers to, by the new attribute or the old.
        let reference = || tag.get(A::Href).or_else(|| tag.get(A::XlinkHref)).filter(|_| is_foreign);
        match element {
            Element::A => {
                let nofollow = self.value(tag, A::Rel).is_some_and(|rel| is_nofollow(&rel));
                if let Some(value) = reference().or_else(|| tag.get(A::Href)) {
                    self.links.add(value, LinkKind::Page, nofollow);
                }
            }
            Element::Image | Element::Drawn if is_foreign => {
                if let Some(value) = reference() {
                    self.links.add(value, LinkKind::Image, false);
                }
            }
            Element::Image => {
                for attribute in [A::Src, A::DataSrc, A::DataLazySrc, A::DataOriginal] {
                    self.add(tag, attribute, LinkKind::Image);
                }
                for attribute in [A::Srcset, A::DataSrcset, A::DataLazySrcset] {
                    self.add_srcset(tag, attribute);
                }
            }
            Element::Link => self.link(tag),
            Element::Script => {
                self.add(tag, A::Src, LinkKind::Script);
                self.add(tag, A::DataSrc, LinkKind::Script);
                if let Some(value) = reference() {
                    self.links.add(value, LinkKind::Script, false);
                }
            }
            Element::Iframe | Element::Frame => {
                self.add(tag, A::Src, LinkKind::Frame);
                self.add(tag, A::DataSrc, LinkKind::Frame);
                self.srcdoc(tag);
            }
            Element::Embedded => {
                let kind = self.value(tag, A::Type).map_or(LinkKind::Frame, |kind| kind_of_type(&kind));
                self.add(tag, A::Data, kind);
                self.add(tag, A::Src, kind);
            }
            Element::Media => {
                self.add(tag, A::Src, LinkKind::Media);
                self.add(tag, A::DataSrc, LinkKind::Media);
                self.add(tag, A::Poster, LinkKind::Image);
                self.add_srcset(tag, A::Srcset);
                self.add_srcset(tag, A::DataSrcset);
                self.add_srcset(tag, A::DataLazySrcset);
            }
            Element::Form => {
                let is_get =
                    self.value(tag, A::Method).is_none_or(|method| !is_one_of(method.trim(), &["post", "dialog"]));
                if is_get && let Some(action) = tag.get(A::Action) {
                    let nofollow = self.value(tag, A::Rel).is_some_and(|rel| is_nofollow(&rel));
                    self.links.add(action, LinkKind::Page, nofollow);
                }
            }
            Element::Input if self.value(tag, A::Type).is_some_and(|kind| kind.eq_ignore_ascii_case("image")) => {
                self.add(tag, A::Src, LinkKind::Image);
            }
            Element::Meta => self.meta(tag),
            Element::Base => {
                if !self.has_base
                    && !self.in_srcdoc
                    && let Some(href) = tag.get(A::Href)
                {
                    self.has_base = true;
                    self.links.set_base(href);
                }
            }
            _ => {}
        }
        if let Some(style) = tag.get(A::Style)
            && memchr::memchr(b'(', style).is_some()
        {
            let (style, _) = self.links.decode(style);
            let mut css = CssScan::new();
            css.push(style.as_bytes(), &mut self.links);
            css.finish(&mut self.links);
        }
        self.add(tag, A::Background, LinkKind::Image);
    }

    /// A `link` element, by what it says of the other end.
    fn link(&mut self, tag: &Tag<'_>) {
        let Some(rel) = self.value(tag, Attribute::Rel) else { return };
        let kind = self.value(tag, Attribute::Type);
        let purpose = self.value(tag, Attribute::As);
        let Some(kind) = kind_of_rel(&rel, kind.as_deref(), purpose.as_deref()) else { return };
        self.add(tag, Attribute::Href, kind);
        self.add_srcset(tag, Attribute::ImageSrcset);
    }

    fn meta(&mut self, tag: &Tag<'_>) {
        let Some(content) = tag.get(Attribute::Content) else { return };
        let (content, encoding) = self.links.decode(content);
        if self.value(tag, Attribute::HttpEquiv).is_some_and(|name| name.eq_ignore_ascii_case("refresh"))
            && let Some(link) = refresh_target(&content)
        {
            self.links.add_decoded(link, encoding, LinkKind::Page);
        }
        if !self.in_srcdoc
            && self.value(tag, Attribute::Name).is_some_and(|name| is_one_of(name.trim(), &["robots", AGENT_TOKEN]))
        {
            self.policy = self.policy.merge(Policy::of_meta(&content));
        }
    }

    /// The document that an attribute holds; such a document within such a document is not read.
    fn srcdoc(&mut self, tag: &Tag<'_>) {
        if self.in_srcdoc {
            return;
        }
        let Some(text) = self.value(tag, Attribute::Srcdoc) else { return };
        let spaces = std::mem::take(&mut self.spaces);
        self.in_srcdoc = true;
        let mut tokens = Tokenizer::new();
        tokens.push(text.as_bytes(), self);
        tokens.finish(self);
        self.spaces = spaces;
        self.in_srcdoc = false;
    }
}

impl Sink for HtmlPage {
    const WANTS_TEXT: bool = false;

    #[inline]
    fn start(&mut self, tag: &Tag<'_>) -> Content {
        let element = Element::of(tag.name);
        let is_foreign = self.spaces.start(element, tag);
        if self.in_head && !element.is_of_head() {
            self.in_head = false;
            self.links.base_is_known();
        }
        if tag.has_attributes() {
            self.links_of(element, tag, is_foreign);
        }
        if element == Element::Plain { Content::Markup } else { self.content_of(element, tag.is_closed, is_foreign) }
    }

    fn start_too_long(&mut self, name: Option<&[u8]>) -> Content {
        let element = name.map_or(Element::Plain, Element::of);
        if element != Element::Plain {
            self.links.count_dropped();
        }
        self.content_of(element, false, self.spaces.is_foreign())
    }

    #[inline]
    fn end(&mut self, name: &[u8]) {
        self.spaces.end(name);
    }

    fn raw(&mut self, piece: &[u8]) {
        match self.raw {
            Raw::Skip => {}
            Raw::Title => {
                let room = (TITLE_BYTES_MAX + 1).saturating_sub(self.title_bytes.len());
                self.title_bytes.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            Raw::Style => self.css.push(piece, &mut self.links),
        }
    }

    fn raw_end(&mut self) {
        match self.raw {
            Raw::Skip => {}
            Raw::Title => self.title = title_of(&self.title_bytes, self.bytes),
            Raw::Style => self.css.finish(&mut self.links),
        }
        self.raw = Raw::Skip;
    }

    fn has_cdata(&self) -> bool {
        self.is_xml || self.spaces.is_foreign()
    }
}

/// How the content of an element is to be read, unless it has none.
pub(crate) fn content_of(element: Element, is_empty: bool, is_foreign: bool) -> Content {
    match element {
        _ if is_empty => Content::Markup,
        Element::Style => Content::Raw(b"style"),
        Element::Title if !is_foreign => Content::Raw(b"title"),
        Element::Script if !is_foreign => Content::Raw(b"script"),
        Element::Iframe if !is_foreign => Content::Raw(b"iframe"),
        Element::Raw(name) if !is_foreign => Content::Raw(name),
        Element::Plaintext if !is_foreign => Content::Rest,
        _ => Content::Markup,
    }
}

fn title_of(mut bytes: &[u8], how: Bytes) -> Option<String> {
    if bytes.len() > TITLE_BYTES_MAX {
        bytes = &bytes[..TITLE_BYTES_MAX];
        // A character that was cut in two would make the rest look like another encoding.
        if let Err(error) = str::from_utf8(bytes)
            && error.error_len().is_none()
        {
            bytes = &bytes[..error.valid_up_to()];
        }
    }
    let (text, _) = text_of(bytes, how, encoding_rs::UTF_8);
    let title = fold(&entity::decode(&text, false));
    (!title.is_empty()).then_some(title)
}

fn is_one_of(word: &str, names: &[&str]) -> bool {
    names.iter().any(|name| word.eq_ignore_ascii_case(name))
}

pub(super) fn is_nofollow(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|word| is_one_of(word, &["nofollow", "ugc", "sponsored"]))
}

fn kind_of_type(media_type: &str) -> LinkKind {
    let kind = media_type.trim().split('/').next().unwrap_or_default();
    if kind.eq_ignore_ascii_case("image") {
        LinkKind::Image
    } else if is_one_of(kind, &["video", "audio"]) {
        LinkKind::Media
    } else {
        LinkKind::Frame
    }
}

/// What is at the other end of a `link` or a `Link:`; `None` if nothing can be fetched there.
pub(crate) fn kind_of_rel(rel: &str, media_type: Option<&str>, purpose: Option<&str>) -> Option<LinkKind> {
    let has = |names: &[&str]| rel.split_ascii_whitespace().any(|word| is_one_of(word, names));
    let media_type = media_type.unwrap_or_default().trim();
    let is_type = |names: &[&str]| is_one_of(media_type.split(';').next().unwrap_or_default().trim(), names);
    Some(if has(&["stylesheet"]) {
        LinkKind::Style
    } else if has(&[
        "icon",
        "apple-touch-icon",
        "apple-touch-icon-precomposed",
        "apple-touch-startup-image",
        "mask-icon",
        "image_src",
        "fluid-icon",
    ]) {
        LinkKind::Image
    } else if has(&["sitemap"]) {
        LinkKind::Sitemap
    } else if has(&["preload", "prefetch", "prerender", "modulepreload"]) {
        match purpose.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "style" => LinkKind::Style,
            "script" | "worker" | "sharedworker" | "serviceworker" => LinkKind::Script,
            "image" => LinkKind::Image,
            "font" => LinkKind::Font,
            "audio" | "video" | "track" => LinkKind::Media,
            "document" => LinkKind::Frame,
            _ if has(&["modulepreload"]) => LinkKind::Script,
            _ => LinkKind::Other,
        }
    } else if has(&["alternate", "feed", "self"])
        && is_type(&["application/rss+xml", "application/atom+xml", "application/rdf+xml"])
    {
        LinkKind::Feed
    } else if has(&["alternate"]) && !media_type.is_empty() && !is_type(&["text/html", "application/xhtml+xml"]) {
        LinkKind::Other
    } else if has(&["preconnect", "dns-prefetch"]) {
        return None;
    } else if has(&[
        "alternate",
        "canonical",
        "next",
        "prev",
        "previous",
        "first",
        "last",
        "start",
        "begin",
        "end",
        "up",
        "top",
        "home",
        "index",
        "contents",
        "toc",
        "chapter",
        "section",
        "subsection",
        "appendix",
        "glossary",
        "copyright",
        "author",
        "license",
        "help",
        "bookmark",
        "amphtml",
        "shortlink",
        "me",
        "archives",
        "related",
        "about",
        "privacy-policy",
        "terms-of-service",
    ]) {
        LinkKind::Page
    } else {
        LinkKind::Other
    })
}

/// Where `5; url='x'` leads, as the HTML standard reads it.
pub(crate) fn refresh_target(content: &str) -> Option<&str> {
    let rest = content.trim_ascii_start();
    let time_len = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    if time_len == 0 {
        return None;
    }
    let rest = &rest[time_len..];
    let after = rest.trim_ascii_start();
    let rest = match after.strip_prefix([';', ',']) {
        Some(after) => after.trim_ascii_start(),
        None if after.len() < rest.len() => after,
        None => return None,
    };
    let named = rest
        .get(..3)
        .filter(|word| word.eq_ignore_ascii_case("url"))
        .and_then(|_| rest[3..].trim_ascii_start().strip_prefix('='));
    let target = named.map_or(rest, str::trim_ascii_start);
    let target = match target.strip_prefix(['"', '\'']) {
        Some(quoted) => quoted.split(target.chars().next()?).next()?,
        None => target,
    };
    (!target.is_empty()).then_some(target)
}
