//! A site: its addresses as a tree, one level at a time, and what it is made of.

use super::layout::{self, Shell};
use super::{Reader, icons, parts, words};
use crate::views::{Child, Host};
use axum::response::Response;
use http::StatusCode;
use maud::{Markup, html};

pub(crate) fn page(host: &Host, reader: &Reader) -> Response {
    let title = format!("{}{}", host.host, host.path.trim_end_matches('/'));
    let shell = Shell { title: &title, query: &title, has_ring: reader.has_ring, ..Shell::default() };
    let status = if host.captures == 0 && host.children.is_empty() { StatusCode::NOT_FOUND } else { StatusCode::OK };
    layout::page(status, &shell, &render(host))
}

fn render(host: &Host) -> Markup {
    html! {
        header.page-head {
            (breadcrumbs(host))
            @if host.captures == 0 && host.children.is_empty() {
                p { "Nothing of this site has been archived." }
            } @else {
                p { (sentence(host)) }
            }
        }
        div.split {
            section aria-labelledby="tree" {
                h2 id="tree" { "What lies here" }
                @if host.children.is_empty() { p.note { "Nothing below this." } }
                ul.tree { @for child in &host.children { (branch(host, child)) } }
                @if let Some(next) = &host.next {
                    p.more { a.button href={ (below(host, &host.path)) "?from=" (words::component(next)) } { "More" (icons::icon("down")) } }
                }
            }
            div.side {
                @if !host.months.is_empty() { (over_time(host)) }
                @if !host.media.is_empty() { (kinds(host)) }
                @if !host.statuses.is_empty() { (statuses(host)) }
            }
        }
    }
}

/// The path of a host that an address of ours asks for, as it came: what is encoded in it belongs to the archived URL.
pub(crate) fn path_of(path: &str) -> String {
    let below = path.strip_prefix("/host/").and_then(|rest| rest.split_once('/'));
    format!("/{}", below.map_or("", |(_, below)| below))
}

fn sentence(host: &Host) -> Markup {
    html! {
        strong { (words::counted(host.captures, "version", "versions")) } " of "
        strong { (words::counted(host.urls, "address", "addresses")) } ", " (words::bytes(host.bytes)) "."
        @if host.partial { " There is more: these numbers are of the first part." }
    }
}

/// The address of a path of a host.
fn below(host: &Host, path: &str) -> String {
    format!("{}{}", words::host(&host.host), words::below(path))
}

/// The steps of a path, each with the path up to it. A step without a name has none to show, but counts.
fn steps(path: &str) -> Vec<(&str, String)> {
    let mut so_far = String::from(if path.starts_with('/') { "" } else { "/" });
    let mut steps = Vec::new();
    for step in path.split_inclusive('/') {
        so_far.push_str(step);
        if step != "/" {
            steps.push((step.trim_end_matches('/'), so_far.clone()));
        }
    }
    steps
}

fn breadcrumbs(host: &Host) -> Markup {
    let steps = steps(&host.path);
    html! {
        nav.crumbs aria-label="Where you are" {
            h1 {
                a href=(words::host(&host.host)) { (host.host) }
                @for (at, (name, path)) in steps.iter().enumerate() {
                    span.slash { "/" }
                    a href=(below(host, path)) aria-current=[(at + 1 == steps.len()).then_some("page")] { (name) }
                }
            }
        }
    }
}

fn branch(host: &Host, child: &Child) -> Markup {
    let many = format!("{}{}", words::count(child.captures), if child.more { "+" } else { "" });
    html! {
        li {
            @if child.is_folder {
                a.branch href=(below(host, &child.path)) { (icons::icon("folder")) span.branch-name { (name(child)) } }
            } @else if let Some(url) = &child.url {
                a.branch href=(words::calendar(url)) { (icons::icon("page")) (leaf(child)) }
            } @else {
                span.branch { (icons::icon("page")) span.branch-name { (name(child)) } }
            }
            @if let Some(url) = child.url.as_ref().filter(|_| child.is_folder) {
                a.branch-self href=(words::calendar(url)) { "the page itself" }
            }
            span.branch-count title="versions" { (many) }
        }
    }
}

fn leaf(child: &Child) -> Markup {
    html! {
        span.branch-name { (name(child)) @if let Some(title) = &child.title { small { (title) } } }
    }
}

fn name(child: &Child) -> &str {
    if child.name.is_empty() || child.name == "/" { "(front page)" } else { &child.name }
}

fn over_time(host: &Host) -> Markup {
    let (first, last) = (host.months.first(), host.months.last());
    html! {
        section.card aria-labelledby="months" {
            h2 id="months" { "Versions over time" }
            (parts::columns(&host.months, "versions"))
            @if let (Some((first, _)), Some((last, _))) = (first, last) {
                p.ends { span { (month(first)) } @if first != last { span { (month(last)) } } }
            }
        }
    }
}

/// `2026-01` as `Jan 2026`.
fn month(text: &str) -> String {
    let (year, month) = text.split_once('-').unwrap_or((text, ""));
    month.parse().map_or_else(|_| text.to_owned(), |month| format!("{} {year}", words::month_short(month)))
}

fn kinds(host: &Host) -> Markup {
    let lines = host.media.iter();
    let lines =
        lines.map(|kind| parts::media_bar(&kind.media, kind.captures, html! { " · " (words::bytes(kind.bytes)) }));
    parts::bars("Kinds", "kinds", &lines.collect::<Vec<_>>())
}

fn statuses(host: &Host) -> Markup {
    html! {
        section.card aria-labelledby="statuses" {
            h2 id="statuses" { "Answers of the server" }
            (parts::status_list(&host.statuses))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_leads_to_its_own_level() {
        let path = |path| steps(path).into_iter().map(|(_, path)| path).collect::<Vec<_>>();
        assert_eq!(path("/"), Vec::<String>::new());
        assert_eq!(path("/a/b/"), ["/a/", "/a/b/"]);
        assert_eq!(path("a//b"), ["/a/", "/a//b"]);
    }

    #[test]
    fn what_follows_the_host_is_its_path() {
        assert_eq!(path_of("/host/a.example"), "/");
        assert_eq!(path_of("/host/a.example/"), "/");
        assert_eq!(path_of("/host/a.example/b/c%20d/"), "/b/c%20d/");
    }
}
