//! The text of a page as a person reads it: decoded as a browser would, cut into lines where blocks begin and end,
//! without scripts, styles and markup. It exists to compare two captures of a page, so it keeps text in doubt (style
//! sheets are not applied, so hidden text shows) and folds what the eye does not see. The title is not among the lines.

use crate::entity;
use crate::html::{Scanner, Token};
use crate::http::media_type_essence;
use crate::limits::PRESCAN_BYTES_MAX;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use std::borrow::Cow;

/// The body as text, its encoding found as browsers find it: byte order mark, `Content-Type`, `<meta>` or XML
/// declaration, else UTF-8 if it is valid, else windows-1252.
pub fn decode_text(body: &[u8], content_type: Option<&str>) -> String {
    let encoding = content_type
        .and_then(charset_of)
        .or_else(|| declared_encoding(body))
        .unwrap_or_else(|| if str::from_utf8(body).is_ok() { UTF_8 } else { WINDOWS_1252 });
    // `decode` looks at the byte order mark first and drops it.
    encoding.decode(body).0.into_owned()
}

/// The page's title, blanks folded; `None` if it has none or an empty one.
pub fn title(html: &str) -> Option<String> {
    let mut scanner = Scanner::new(html);
    let mut in_title = false;
    while let Some(token) = scanner.next() {
        match token {
            Token::Start(tag) => in_title = tag.name.eq_ignore_ascii_case("title") && !scanner.is_foreign(),
            Token::Raw(text) if in_title => {
                let title = fold(&entity::decode(text, false));
                return (!title.is_empty()).then_some(title);
            }
            _ => {}
        }
    }
    None
}

/// The lines a person would read. For HTML its visible text; for other text its lines; for anything else one line with
/// the media type and size.
pub fn readable_lines(body: &[u8], content_type: Option<&str>) -> Vec<String> {
    let essence = content_type.and_then(media_type_essence);
    match kind_of(body, essence.as_deref()) {
        Kind::Html => html_lines(&decode_text(body, content_type)),
        Kind::Text => text_lines(&decode_text(body, content_type)),
        Kind::Binary => {
            vec![format!("{}, {} bytes", essence.as_deref().unwrap_or("unknown media type"), body.len())]
        }
    }
}

#[derive(Debug, PartialEq)]
enum Kind {
    Html,
    Text,
    Binary,
}

fn kind_of(body: &[u8], essence: Option<&str>) -> Kind {
    match essence {
        Some("text/html" | "application/xhtml+xml") => Kind::Html,
        Some(essence) if is_text_type(essence) => Kind::Text,
        // Servers say this when they do not know.
        None | Some("application/octet-stream" | "unknown/unknown" | "application/unknown") => sniff(body),
        Some(_) => Kind::Binary,
    }
}

fn is_text_type(essence: &str) -> bool {
    let Some((kind, name)) = essence.split_once('/') else { return false };
    let name = name.strip_prefix("x-").unwrap_or(name);
    kind == "text"
        || name.ends_with("+json")
        || name.ends_with("+xml")
        || (kind == "application"
            && matches!(
                name,
                "json"
                    | "ndjson"
                    | "jsonl"
                    | "xml"
                    | "xml-dtd"
                    | "javascript"
                    | "ecmascript"
                    | "css"
                    | "yaml"
                    | "toml"
                    | "sql"
                    | "www-form-urlencoded"
                    | "mpegurl"
                    | "sh"
                    | "tex"
            ))
}

fn sniff(body: &[u8]) -> Kind {
    let has_mark = Encoding::for_bom(body).is_some();
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    let begins = |tag: &[u8]| start.get(..tag.len()).is_some_and(|text| text.eq_ignore_ascii_case(tag));
    if [&b"<!doctype html"[..], b"<html", b"<head", b"<body", b"<!--"].into_iter().any(begins) {
        Kind::Html
    } else if has_mark || (str::from_utf8(body).is_ok() && memchr::memchr(0, body).is_none()) {
        Kind::Text
    } else {
        Kind::Binary
    }
}

pub(crate) fn charset_of(content_type: &str) -> Option<&'static Encoding> {
    let at = content_type.bytes().position(|byte| byte == b';')?;
    charset_in(&content_type.as_bytes()[at..])
}

/// The encoding after `charset=`, quoted or not.
fn charset_in(text: &[u8]) -> Option<&'static Encoding> {
    let mut rest = text;
    loop {
        let at = rest.windows(7).position(|window| window.eq_ignore_ascii_case(b"charset"))?;
        rest = rest[at + 7..].trim_ascii_start();
        let Some(value) = rest.strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        let value = match value.split_first() {
            Some((quote @ (b'"' | b'\''), value)) => value.split(|byte| byte == quote).next()?,
            _ => value.split(|byte| byte.is_ascii_whitespace() || matches!(byte, b';' | b',')).next()?,
        };
        return Encoding::for_label(value);
    }
}

/// What the page says of itself near its beginning.
pub(crate) fn declared_encoding(body: &[u8]) -> Option<&'static Encoding> {
    let start = &body[..body.len().min(PRESCAN_BYTES_MAX)];
    // Declarations are ASCII, and so are their positions once each byte is a character.
    let start = match str::from_utf8(start) {
        Ok(start) => Cow::Borrowed(start),
        Err(_) => Cow::Owned(start.iter().map(|&byte| char::from(byte)).collect::<String>()),
    };
    let found = if start.starts_with("<?xml") { xml_encoding(&start) } else { None };
    let found = found.or_else(|| meta_encoding(&start))?;
    // A page whose bytes could be read as ASCII so far is not UTF-16, whatever it claims.
    Some(if found == UTF_16LE || found == UTF_16BE {
        UTF_8
    } else if found == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        found
    })
}

pub(crate) fn xml_encoding(start: &str) -> Option<&'static Encoding> {
    let declaration = &start[..start.find("?>")?];
    let value = declaration[declaration.find("encoding")? + "encoding".len()..].trim_ascii_start();
    let value = value.strip_prefix('=')?.trim_ascii_start();
    let quote = value.chars().next().filter(|&c| c == '"' || c == '\'')?;
    Encoding::for_label(value[1..].split(quote).next()?.as_bytes())
}

fn meta_encoding(start: &str) -> Option<&'static Encoding> {
    Scanner::new(start).find_map(|token| {
        let Token::Start(tag) = token else { return None };
        if !tag.name.eq_ignore_ascii_case("meta") {
            return None;
        }
        if let Some(label) = tag.attribute("charset") {
            return Encoding::for_label(label.as_bytes());
        }
        tag.attribute("http-equiv").filter(|value| value.eq_ignore_ascii_case("content-type"))?;
        charset_in(tag.attribute("content")?.as_bytes())
    })
}

fn text_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        lines.push(rest[..end].to_owned());
        rest = &rest[end..];
        rest = rest.strip_prefix("\r\n").or_else(|| rest.get(1..)).unwrap_or("");
    }
    lines
}

/// Elements that begin and end a line of their own.
fn breaks_line(name: &str) -> bool {
    const NAMES: [&str; 58] = [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "br",
        "button",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "dir",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "frameset",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "header",
        "hgroup",
        "hr",
        "html",
        "iframe",
        "legend",
        "li",
        "listing",
        "main",
        "menu",
        "nav",
        "ol",
        "optgroup",
        "option",
        "p",
        "plaintext",
        "pre",
        "search",
        "section",
        "select",
        "summary",
        "table",
        "tbody",
        "textarea",
        "tfoot",
        "thead",
        "tr",
        "ul",
        "xmp",
    ];
    let mut lower = [0u8; 10];
    let Some(lower) = lower.get_mut(..name.len()) else { return false };
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    NAMES.binary_search_by(|known| known.as_bytes().cmp(lower)).is_ok()
}

fn html_lines(html: &str) -> Vec<String> {
    let mut lines = Lines::default();
    let mut hidden_depth = 0usize;
    let mut preformatted_depth = 0usize;
    let mut opened = "";
    for token in Scanner::new(html) {
        match token {
            Token::Start(tag) => {
                let is = |name: &str| tag.name.eq_ignore_ascii_case(name);
                opened = tag.name;
                if is("template") {
                    hidden_depth += 1;
                } else if is("pre") || is("listing") {
                    preformatted_depth += 1;
                }
                if hidden_depth > 0 {
                    continue;
                }
                if breaks_line(tag.name) {
                    lines.end_line();
                } else if is("td") || is("th") {
                    lines.push(" ", false);
                } else if (is("img") || (is("input") && tag.attribute("type").is_some_and(is_image)))
                    && let Some(alt) = tag.attribute("alt")
                {
                    lines.push(" ", false);
                    lines.push(&entity::decode(alt, true), false);
                    lines.push(" ", false);
                }
            }
            Token::End(name) => {
                let is = |other: &str| name.eq_ignore_ascii_case(other);
                if is("template") {
                    hidden_depth = hidden_depth.saturating_sub(1);
                } else if is("pre") || is("listing") {
                    preformatted_depth = preformatted_depth.saturating_sub(1);
                }
                if hidden_depth == 0 && breaks_line(name) {
                    lines.end_line();
                }
            }
            Token::Text(text) if hidden_depth == 0 => lines.push(&entity::decode(text, false), preformatted_depth > 0),
            Token::Raw(text) if hidden_depth == 0 => {
                let is = |name: &str| opened.eq_ignore_ascii_case(name);
                if is("textarea") {
                    lines.push(&entity::decode(text, false), true);
                } else if is("xmp") || is("plaintext") {
                    lines.push(text, true);
                }
            }
            Token::Cdata(text) if hidden_depth == 0 => lines.push(text, false),
            Token::Text(_) | Token::Raw(_) | Token::Cdata(_) => {}
        }
    }
    lines.end_line();
    lines.done
}

fn is_image(kind: &str) -> bool {
    kind.eq_ignore_ascii_case("image")
}

/// Lines under construction: blanks folded, empty lines dropped.
#[derive(Default)]
struct Lines {
    done: Vec<String>,
    line: String,
    /// A blank is owed before the next visible character.
    blank: bool,
}

impl Lines {
    fn push(&mut self, text: &str, keep_breaks: bool) {
        for c in text.chars() {
            if keep_breaks && c == '\n' {
                self.end_line();
            } else if c.is_whitespace() {
                self.blank = true;
            } else if !is_invisible(c) {
                if self.blank && !self.line.is_empty() {
                    self.line.push(' ');
                }
                self.blank = false;
                self.line.push(c);
            }
        }
    }

    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.done.push(std::mem::take(&mut self.line));
        }
        self.blank = false;
    }
}

/// Soft hyphens, zero-width blanks and controls: nobody sees them come or go.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}') || c.is_control()
}

pub(crate) fn fold(text: &str) -> String {
    let mut lines = Lines::default();
    lines.push(text, false);
    lines.line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_blocks_are_found_in_any_case_and_nothing_else_is() {
        for name in ["address", "DIV", "p", "xmp", "Blockquote", "figcaption", "li", "br", "hr", "ul"] {
            assert!(breaks_line(name), "{name}");
        }
        for name in ["span", "a", "", "é", "td", "blockquotes", "averyveryverylongname"] {
            assert!(!breaks_line(name), "{name}");
        }
    }

    #[test]
    fn the_kind_of_a_body_follows_its_type_and_only_then_its_bytes() {
        for (body, essence, kind) in [
            (&b"x"[..], Some("text/html"), Kind::Html),
            (b"<html>", Some("text/plain"), Kind::Text),
            (b"{}", Some("application/ld+json"), Kind::Text),
            (b"x", Some("application/x-javascript"), Kind::Text),
            (b"<svg/>", Some("image/svg+xml"), Kind::Text),
            (b"x", Some("image/png"), Kind::Binary),
            (b" <!DOCTYPE HTML>", None, Kind::Html),
            (b"\xef\xbb\xbf<html>", Some("application/octet-stream"), Kind::Html),
            (b"plain", None, Kind::Text),
            (b"a\0b", None, Kind::Binary),
            (b"\xff\xfea\0", None, Kind::Text),
            (b"\xff\xd8\xff", None, Kind::Binary),
        ] {
            assert_eq!(kind_of(body, essence), kind, "{essence:?} {body:?}");
        }
    }
}
