//! What an attribute is to replay, by its element. Attributes of elements that we do not know are left alone, since
//! scripts and style sheets give them their meaning; so are `data-*`.

use super::Modifier;
use crate::links::LinkKind;
use crate::links::element::Element;
use crate::links::html::kind_of_rel;

/// What is done with an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Leave,
    Link(Modifier),
    Srcset,
    /// Declarations of a style sheet.
    Css,
    /// A property that may hold `url()`.
    Paint,
    /// Takes another name, so that browsers do not see it and the curious do.
    Hide,
    Srcdoc,
    /// Where a link opens.
    Target,
    /// How a request is to be made.
    Crossorigin,
}

const NAME_BYTES_MAX: usize = 16;

/// `tag_name` as written; the attribute's name too. `link` is what a `<link>` leads to, `None` if it is but a hint.
pub(super) fn action(
    element: Element,
    tag_name: &[u8],
    name: &[u8],
    is_foreign: bool,
    link: Option<Modifier>,
) -> Action {
    if name.len() > NAME_BYTES_MAX {
        return Action::Leave;
    }
    if !name.iter().any(u8::is_ascii_uppercase) {
        return known(element, tag_name, name, is_foreign, link);
    }
    let mut lower = [0; NAME_BYTES_MAX];
    let lower = &mut lower[..name.len()];
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    known(element, tag_name, lower, is_foreign, link)
}

fn known(element: Element, tag_name: &[u8], name: &[u8], is_foreign: bool, link: Option<Modifier>) -> Action {
    let is_tag = |names: &[&str]| names.iter().any(|known| tag_name.eq_ignore_ascii_case(known.as_bytes()));
    match name {
        b"href" | b"xlink:href" => match element {
            Element::A => Action::Link(Modifier::Document),
            Element::Link => link.map_or(Action::Hide, Action::Link),
            Element::Script => Action::Link(Modifier::Script),
            Element::Image | Element::Drawn => Action::Link(Modifier::Image),
            _ if is_foreign => Action::Link(Modifier::Image),
            _ => Action::Leave,
        },
        b"src" => match element {
            Element::Image | Element::Input => Action::Link(Modifier::Image),
            Element::Script => Action::Link(Modifier::Script),
            Element::Iframe => Action::Link(Modifier::Iframe),
            Element::Frame => Action::Link(Modifier::Frame),
            Element::Media | Element::Embedded => Action::Link(Modifier::Embed),
            _ if is_tag(&["bgsound"]) => Action::Link(Modifier::Embed),
            _ => Action::Leave,
        },
        b"style" => Action::Css,
        b"srcset" if matches!(element, Element::Image | Element::Media) => Action::Srcset,
        b"imagesrcset" if element == Element::Link => link.map_or(Action::Hide, |_| Action::Srcset),
        b"target" if matches!(element, Element::A | Element::Form | Element::Base) => Action::Target,
        b"formtarget" => Action::Target,
        b"action" if element == Element::Form => Action::Link(Modifier::Document),
        b"formaction" => Action::Link(Modifier::Document),
        b"data" if is_tag(&["object"]) => Action::Link(Modifier::Embed),
        b"codebase" | b"archive" if is_tag(&["object", "applet"]) => Action::Link(Modifier::Embed),
        b"poster" if element == Element::Media => Action::Link(Modifier::Image),
        b"lowsrc" | b"dynsrc" if element == Element::Image => Action::Link(Modifier::Image),
        b"background" if is_tag(&["body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"]) => {
            Action::Link(Modifier::Image)
        }
        b"longdesc" if matches!(element, Element::Image | Element::Iframe | Element::Frame) => {
            Action::Link(Modifier::Document)
        }
        b"cite" if is_tag(&["blockquote", "q", "ins", "del"]) => Action::Link(Modifier::Document),
        b"profile" if is_tag(&["head"]) => Action::Link(Modifier::Document),
        b"srcdoc" if element == Element::Iframe => Action::Srcdoc,
        b"crossorigin" => Action::Crossorigin,
        // What they vouch for is rewritten, and what they ask for would leave the archive.
        b"integrity" if matches!(element, Element::Script | Element::Link) => Action::Hide,
        b"manifest" if is_tag(&["html"]) => Action::Hide,
        b"ping" if element == Element::A => Action::Hide,
        b"csp" if element == Element::Iframe => Action::Hide,
        // A page in the archive is told from its address, which strays must send along.
        b"referrerpolicy" | b"attributionsrc" => Action::Hide,
        b"fill" | b"stroke" | b"filter" | b"mask" | b"clip-path" | b"cursor" | b"marker-start" | b"marker-mid"
        | b"marker-end" => Action::Paint,
        _ => Action::Leave,
    }
}

/// Whether a `link` asks for nothing that the page is made of, but for a connection or for what may come next.
pub(super) fn is_hint(rel: &str) -> bool {
    let has = |names: &[&str]| {
        rel.split_ascii_whitespace().any(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name)))
    };
    has(&["dns-prefetch", "preconnect", "prefetch", "prerender"])
        && !has(&["stylesheet", "icon", "preload", "modulepreload", "manifest"])
}

/// What is at the other end of a `link` that is no hint.
pub(super) fn modifier_of_rel(rel: &str, media_type: Option<&str>, purpose: Option<&str>) -> Modifier {
    let has = |name: &str| rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(name));
    match kind_of_rel(rel, media_type, purpose) {
        Some(LinkKind::Style) => Modifier::Style,
        Some(LinkKind::Script) => Modifier::Script,
        Some(LinkKind::Image) => Modifier::Image,
        Some(LinkKind::Font | LinkKind::Media) => Modifier::Embed,
        Some(LinkKind::Frame) => Modifier::Iframe,
        _ if has("manifest") || has("preload") => Modifier::Embed,
        _ => Modifier::Document,
    }
}
