//! Two versions of a page: their text beside each other, in one column, or both as they looked.

use super::layout::{self, Shell};
use super::{Reader, icons, parts, viewer, words};
use crate::views::{Block, Difference, Version};
use crate::wayback::authority;
use axum::response::Response;
use http::StatusCode;
use maud::{Markup, html};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Look {
    #[default]
    Side,
    Inline,
    Rendered,
}

const LOOKS: [(Look, &str, &str); 3] = [
    (Look::Side, "side", "Side by side"),
    (Look::Inline, "inline", "In one column"),
    (Look::Rendered, "rendered", "As it looked"),
];

impl Look {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        LOOKS.iter().find(|(_, name, _)| *name == text).map(|(look, ..)| *look)
    }
}

/// The versions before the older and after the newer of two: where the neighbouring changes are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    pub(crate) earlier: Option<String>,
    pub(crate) later: Option<String>,
}

/// Lines of one side: each in pieces, `true` on what changed.
type Pieces = [(bool, String)];

pub(crate) fn page(difference: &Difference, around: &Around, look: Look, reader: &Reader) -> Response {
    let title = format!("What changed · {}", words::plain(&difference.url));
    let frames = if look == Look::Rendered { reader.seat.frame_sources() } else { String::new() };
    let shell =
        Shell { title: &title, query: &difference.url, frames: &frames, has_ring: reader.has_ring, ..Shell::default() };
    layout::page(StatusCode::OK, &shell, &render(difference, around, look, reader))
}

fn render(difference: &Difference, around: &Around, look: Look, reader: &Reader) -> Markup {
    let changes = difference.blocks.iter().filter(|block| matches!(block, Block::Changed { .. })).count();
    html! {
        header.page-head {
            h1 { "What changed" }
            p.url { (parts::address(&difference.url)) }
            (which_two(difference, around, look))
            div.diff-bar {
                nav.tabs aria-label="Ways to look" {
                    @for (one, name, words) in LOOKS {
                        a href=(address(&difference.url, &difference.from.stamp, &difference.to.stamp, name))
                            aria-current=[(one == look).then_some("page")] { (words) }
                    }
                }
                @if look != Look::Rendered { (stats(difference, changes)) }
            }
        }
        @match look {
            Look::Rendered => (rendered(difference, reader)),
            _ if difference.note.is_some() && difference.blocks.is_empty() => {
                div.empty.card { p { (difference.note.as_deref().unwrap_or_default()) } }
            }
            _ if changes == 0 => {
                div.empty.card {
                    p { "The text is the same in both." }
                    @if difference.from.digest != difference.to.digest {
                        p { "What changed is in the markup, which readers do not see: scripts, styles, addresses of links." }
                    }
                }
            }
            _ => {
                @if let Some(note) = &difference.note { p.note { (note) } }
                @if look == Look::Side { (side(difference)) } @else { (inline(difference)) }
            }
        }
    }
}

fn address(url: &str, from: &str, to: &str, view: &str) -> String {
    format!("{}&view={view}", words::difference(url, from, to))
}

fn which_two(difference: &Difference, around: &Around, look: Look) -> Markup {
    let Difference { url, from, to, .. } = difference;
    let view = LOOKS.iter().find(|(one, ..)| *one == look).map_or("side", |(_, name, _)| name);
    let step = |from: Option<&String>, to: Option<&String>, icon: &str, label: &str| {
        html! {
            @if let (Some(from), Some(to)) = (from, to) {
                a.icon-button href=(address(url, from, to, view)) title=(label) { (icons::icon(icon)) span.unseen { (label) } }
            } @else {
                span.icon-button.off aria-hidden="true" { (icons::icon(icon)) }
            }
        }
    };
    html! {
        div.from-to {
            (step(around.earlier.as_ref(), Some(&from.stamp), "left", "The change before"))
            (version(from, "older")) span.arrow aria-hidden="true" { "→" } (version(to, "newer"))
            (step(Some(&to.stamp), around.later.as_ref(), "right", "The change after"))
        }
    }
}

fn version(version: &Version, word: &str) -> Markup {
    html! {
        a.chip href=(words::viewer(&version.stamp, &version.url)) title={ "Open the " (word) " version" } {
            (parts::when(&version.stamp))
            @if version.status != Some(200) { (parts::status(version.status)) }
        }
    }
}

fn stats(difference: &Difference, changes: usize) -> Markup {
    html! {
        p.stats {
            span.plus { "+" (words::count(difference.lines_added)) } " "
            span.minus { "−" (words::count(difference.lines_removed)) } " "
            span { @if difference.lines_added + difference.lines_removed == 1 { "line" } @else { "lines" } }
            @if changes > 1 {
                span.jump.js-only data-jump {
                    button.icon-button type="button" data-jump-to="-1" aria-label="Change before (p)" title="Change before (p)" { (icons::icon("up")) }
                    span data-jump-at aria-live="polite" { (changes) " changes" }
                    button.icon-button type="button" data-jump-to="1" aria-label="Next change (n)" title="Next change (n)" { (icons::icon("down")) }
                }
            }
        }
    }
}

fn pieces(line: &Pieces, is_new: bool) -> Markup {
    html! {
        @for (changed, text) in line {
            @match (changed, is_new) {
                (false, _) => (text),
                (true, true) => ins { (text) },
                (true, false) => del { (text) },
            }
        }
    }
}

fn side(difference: &Difference) -> Markup {
    html! {
        table.diff.diff-side {
            thead {
                tr {
                    th scope="col" { (words::moment(&difference.from.stamp)) }
                    th scope="col" { (words::moment(&difference.to.stamp)) }
                }
            }
            @for block in &difference.blocks {
                @match block {
                    Block::Skipped { count } => tbody.skipped { tr { td colspan="2" { (skipped(*count)) } } },
                    Block::Same { lines } => tbody {
                        @for line in lines { tr { td { (line) } td { (line) } } }
                    },
                    Block::Changed { removed, added } => tbody data-change tabindex="-1" {
                        @for at in 0..removed.len().max(added.len()) {
                            tr {
                                (half(removed.get(at), false))
                                (half(added.get(at), true))
                            }
                        }
                    },
                }
            }
        }
    }
}

fn half(line: Option<&Vec<(bool, String)>>, is_new: bool) -> Markup {
    html! {
        @match (line, is_new) {
            (Some(line), true) => td.added { (pieces(line, true)) },
            (Some(line), false) => td.removed { (pieces(line, false)) },
            (None, _) => td.void {},
        }
    }
}

fn inline(difference: &Difference) -> Markup {
    html! {
        div.diff.diff-inline {
            @for block in &difference.blocks {
                @match block {
                    Block::Skipped { count } => p.skipped { (skipped(*count)) },
                    Block::Same { lines } => { @for line in lines { p { (line) } } },
                    Block::Changed { removed, added } => div data-change tabindex="-1" {
                        @for line in removed { p.removed { span.unseen { "Gone: " } (pieces(line, false)) } }
                        @for line in added { p.added { span.unseen { "New: " } (pieces(line, true)) } }
                    },
                }
            }
        }
    }
}

fn skipped(count: u64) -> String {
    format!("{} the same", words::counted(count, "line", "lines"))
}

fn rendered(difference: &Difference, reader: &Reader) -> Markup {
    html! {
        div.frames data-frames {
            @for version in [&difference.from, &difference.to] {
                @let origin = reader.seat.replay_origin(&authority(&version.url));
                @let name = words::moment(&version.stamp);
                figure {
                    figcaption { a href=(words::viewer(&version.stamp, &version.url)) { (name) } }
                    (viewer::frame(&format!("{origin}{}", words::viewer(&version.stamp, &version.url)), &name, &version.media, &reader.seat))
                }
            }
        }
    }
}
