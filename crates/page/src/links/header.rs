//! Links in the head of a response: `Link:` (RFC 8288), `Refresh:` and `Location:`.

use super::html::{is_nofollow, kind_of_rel, refresh_target};
use super::{Link, LinkKind};
use crate::{ResponseHead, WebUrl};

/// Links of one head; enough for preloads, and a head is bounded anyway.
const HEADER_LINKS_MAX: usize = 1_000;

/// What the head of a response leads to, in its order. `Location` counts where the status redirects or creates.
pub fn header_links(page: &WebUrl, head: &ResponseHead<'_>) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut add = |link: &str, kind: LinkKind, nofollow: bool| {
        if let Ok(url) = page.join(link)
            && (url != *page || kind == LinkKind::Redirect)
            && links.len() < HEADER_LINKS_MAX
            && !links.iter().any(|known| known.url == url && known.kind == kind)
        {
            links.push(Link { url, kind, nofollow });
        }
    };
    if matches!(head.status, Some(201 | 300..=399))
        && let Some(location) = head.header("location")
    {
        add(&location, LinkKind::Redirect, false);
    }
    if let Some(refresh) = head.header("refresh")
        && let Some(target) = refresh_target(&refresh)
    {
        add(target, LinkKind::Page, false);
    }
    for value in head.values("link") {
        for item in items(&value) {
            // Another context than this page: the link is not this page's.
            if item.anchor.is_some() {
                continue;
            }
            let rel = item.rel.unwrap_or_default();
            if let Some(kind) = kind_of_rel(&rel, item.media_type.as_deref(), item.purpose.as_deref()) {
                add(item.target, kind, is_nofollow(&rel));
            }
        }
    }
    links
}

/// One link of a `Link:`.
#[derive(Debug, Default)]
pub(crate) struct Item<'a> {
    pub(crate) target: &'a str,
    /// All of them as written, from the first `;`.
    pub(crate) parameters: &'a str,
    pub(crate) rel: Option<String>,
    pub(crate) media_type: Option<String>,
    pub(crate) purpose: Option<String>,
    anchor: Option<String>,
}

pub(crate) fn items(value: &str) -> impl Iterator<Item = Item<'_>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let start = rest.find('<')? + 1;
        let end = start + rest[start..].find('>')?;
        let mut item = Item { target: &rest[start..end], ..Item::default() };
        rest = &rest[end + 1..];
        let parameters = rest;
        loop {
            item.parameters = &parameters[..parameters.len() - rest.len()];
            rest = rest.trim_ascii_start();
            let Some(after) = rest.strip_prefix(';') else { break };
            let (name, value);
            (name, value, rest) = parameter(after);
            let place = match name.to_ascii_lowercase().as_str() {
                "rel" => &mut item.rel,
                "type" => &mut item.media_type,
                "as" => &mut item.purpose,
                "anchor" => &mut item.anchor,
                _ => continue,
            };
            // The first of a name counts.
            place.get_or_insert(value);
        }
        Some(item)
    })
}

/// A parameter's name and value, and what follows it.
fn parameter(text: &str) -> (&str, String, &str) {
    let text = text.trim_ascii_start();
    let name_len = text.find(['=', ';', ',']).unwrap_or(text.len());
    let (name, rest) = text.split_at(name_len);
    let Some(rest) = rest.strip_prefix('=') else { return (name.trim_ascii(), String::new(), rest) };
    let rest = rest.trim_ascii_start();
    let Some(quoted) = rest.strip_prefix('"') else {
        let len = rest.find([';', ',']).unwrap_or(rest.len());
        return (name.trim_ascii(), rest[..len].trim_ascii().to_owned(), &rest[len..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (name.trim_ascii(), value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            _ => value.push(c),
        }
    }
    (name.trim_ascii(), value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &str) -> Vec<String> {
        let page = WebUrl::parse("http://example.org/a/b").unwrap();
        let text = format!("HTTP/1.1 {lines}\r\n\r\n");
        header_links(&page, &ResponseHead::parse(text.as_bytes()).unwrap())
            .into_iter()
            .map(|link| {
                let target = link.url.as_str().trim_start_matches("http://example.org");
                format!("{:?} {target}{}", link.kind, if link.nofollow { " nofollow" } else { "" })
            })
            .collect()
    }

    #[test]
    fn links_of_a_head_are_read_however_they_are_written() {
        for (lines, expected) in [
            ("200 OK\r\nLink: <c>; rel=next", &["Page /a/c"][..]),
            (
                "200 OK\r\nLink: </s.css>; rel=\"preload\"; as=style, <f.woff>;rel=preload;as=font",
                &["Style /s.css", "Font /a/f.woff"],
            ),
            ("200 OK\r\nLink: <a,b>; title=\"x, <y>; \\\"z\"; rel=\"canonical\"", &["Page /a/a,b"]),
            ("200 OK\r\nLink: <c>; rel=next; rel=stylesheet", &["Page /a/c"]),
            ("200 OK\r\nLink: <c>; rel=next; anchor=\"/other\"", &[]),
            ("200 OK\r\nLink: <http://x.example>; rel=preconnect, <c>", &["Other /a/c"]),
            (
                "200 OK\r\nLink: <c>; rel=\"next nofollow\"\r\nlink: <d>;rel=alternate;type=\"application/rss+xml\"",
                &["Page /a/c nofollow", "Feed /a/d"],
            ),
            ("200 OK\r\nLink: c>; rel=next, <d", &[]),
            ("200 OK\r\nRefresh: 0;URL='/x'", &["Page /x"]),
            ("302 Found\r\nLocation: /x y", &["Redirect /x%20y"]),
            ("302 Found\r\nLocation: b", &["Redirect /a/b"]),
            ("200 OK\r\nLocation: /x", &[]),
            ("302 Found\r\nLocation: javascript:x", &[]),
            ("200 OK\r\nContent-Location: /x", &[]),
        ] {
            assert_eq!(found(lines), expected, "{lines}");
        }
    }
}
