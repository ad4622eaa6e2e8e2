//! The elements whose tags mean something to a reader of links.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// `a` and `area`.
    A,
    Base,
    /// `audio`, `video`, `source`, `track`.
    Media,
    /// `object` and `embed`.
    Embedded,
    Form,
    Frame,
    Head,
    Iframe,
    /// `img`, and `image`, which is another word for it in HTML and another thing in drawings.
    Image,
    /// `use` and `feImage`, of drawings.
    Drawn,
    Input,
    Link,
    Math,
    Meta,
    Noscript,
    Plaintext,
    /// Its content is not markup, and nothing to us.
    Raw(&'static [u8]),
    Script,
    Style,
    Svg,
    /// An element of a drawing whose content is HTML, as is that of its `title`.
    SvgIsland,
    /// The same of a formula.
    MathIsland,
    Title,
    /// Any other.
    Plain,
}

const NAME_BYTES_MAX: usize = 14;

fn known(name: &[u8]) -> Option<Element> {
    Some(match name {
        b"a" => Element::A,
        b"img" | b"image" => Element::Image,
        b"use" | b"feimage" => Element::Drawn,
        b"svg" => Element::Svg,
        b"xmp" => Element::Raw(b"xmp"),
        b"area" => Element::A,
        b"base" => Element::Base,
        b"desc" | b"foreignobject" => Element::SvgIsland,
        b"mi" | b"mo" | b"mn" | b"ms" | b"mtext" | b"annotation-xml" => Element::MathIsland,
        b"form" => Element::Form,
        b"head" | b"html" => Element::Head,
        b"link" => Element::Link,
        b"math" => Element::Math,
        b"meta" => Element::Meta,
        b"embed" | b"object" => Element::Embedded,
        b"frame" => Element::Frame,
        b"iframe" => Element::Iframe,
        b"input" => Element::Input,
        b"style" => Element::Style,
        b"title" => Element::Title,
        b"audio" | b"video" | b"track" | b"source" => Element::Media,
        b"script" => Element::Script,
        b"noembed" => Element::Raw(b"noembed"),
        b"noframes" => Element::Raw(b"noframes"),
        b"noscript" => Element::Noscript,
        b"textarea" => Element::Raw(b"textarea"),
        b"plaintext" => Element::Plaintext,
        _ => return None,
    })
}

impl Element {
    /// By its name in any case.
    #[inline]
    pub(crate) fn of(name: &[u8]) -> Self {
        if name.len() > NAME_BYTES_MAX {
            return Self::Plain;
        }
        known(name)
            .or_else(|| {
                if !name.iter().any(u8::is_ascii_uppercase) {
                    return None;
                }
                let mut lower = [0; NAME_BYTES_MAX];
                let lower = &mut lower[..name.len()];
                lower.copy_from_slice(name);
                lower.make_ascii_lowercase();
                known(lower)
            })
            .unwrap_or(Self::Plain)
    }

    /// Whether it can stand before a `<base>` in an honest page.
    pub(crate) fn is_of_head(self) -> bool {
        matches!(
            self,
            Self::Head
                | Self::Link
                | Self::Meta
                | Self::Noscript
                | Self::Script
                | Self::Style
                | Self::Title
                | Self::Base
        )
    }
}

/// Whether a start tag of this name ends a drawing or formula that was left open, by the standard's list.
pub(crate) fn leaves_foreign(name: &[u8]) -> bool {
    const NAMES: [&str; 44] = [
        "b",
        "big",
        "blockquote",
        "body",
        "br",
        "center",
        "code",
        "dd",
        "div",
        "dl",
        "dt",
        "em",
        "embed",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "hr",
        "i",
        "img",
        "li",
        "listing",
        "menu",
        "meta",
        "nobr",
        "ol",
        "p",
        "pre",
        "ruby",
        "s",
        "small",
        "span",
        "strong",
        "strike",
        "sub",
        "sup",
        "table",
        "tt",
        "u",
        "ul",
        "var",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}
