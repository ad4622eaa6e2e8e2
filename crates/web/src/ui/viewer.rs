//! A version on show: the archived page in a frame of the replay origin, under a thin bar of ours.
//!
//! The bar lies outside the frame, so that neither can disturb the other. What the page may do is decided by the frame's sandbox and
//! by both origins' policies: it cannot leave the frame, open windows, or load anything from the live web. What it tells us in
//! messages is text from a stranger (`viewer.js`).

use super::layout::{self, Shell};
use super::{icons, parts, words};
use crate::origin::UiSeat;
use axum::response::Response;
use herodotus_base::Timestamp;
use maud::{Markup, html};

/// A version and its place among the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) url: String,
    pub(crate) title: Option<String>,
    /// Fourteen digits, as all stamps here.
    pub(crate) stamp: String,
    /// The moment that was asked for, where this version is later: there is none from before.
    pub(crate) asked: Option<String>,
    pub(crate) earlier: Option<String>,
    pub(crate) later: Option<String>,
    pub(crate) first: String,
    pub(crate) last: String,
    /// Which it is, from 1, if that was counted.
    pub(crate) position: Option<u64>,
    pub(crate) count: u64,
    /// Where the frame finds it, on the replay origin.
    pub(crate) frame: String,
    pub(crate) media: String,
    pub(crate) status: Option<u16>,
}

pub(crate) fn page(shown: &Shown, seat: &UiSeat) -> Response {
    let name = shown.title.as_deref().unwrap_or_else(|| words::plain(&shown.url));
    let title = format!("{name} · {}", words::date_short(&shown.stamp));
    let frames = seat.frame_sources();
    let shell = Shell { title: &title, frames: &frames, ..Shell::default() };
    layout::bare(&shell, "viewer", &render(shown, seat, name))
}

fn render(shown: &Shown, seat: &UiSeat, name: &str) -> Markup {
    html! {
        // A switch that works without scripts; the script only remembers it.
        input.unseen id="hide" type="checkbox" aria-label="Hide the bar" data-hide;
        header.banner id="banner" data-banner {
            a.brand href="/" title="Herodotus: home" { (icons::mark()) span.unseen { "Herodotus: home" } }
            (time_travel(shown))
            (address_form(shown))
            (tools(shown, seat))
        }
        div.banner-note data-part="note" { (note(shown)) }
        div.banner-note.banner-say role="status" data-say hidden {}
        (frame(&shown.frame, name, &shown.media, seat))
        label.peek for="hide" title="Show the bar" { (icons::mark()) span.unseen { "Show the bar" } }
    }
}

fn time_travel(shown: &Shown) -> Markup {
    html! {
        nav.travel aria-label="Versions" data-part="travel" {
            (step(shown, shown.earlier.as_deref(), "left", "Earlier version", "prev"))
            a.shown href=(words::calendar(&shown.url)) title=(words::moment(&shown.stamp)) {
                (date(shown))
                (mini_timeline(shown))
            }
            (step(shown, shown.later.as_deref(), "right", "Later version", "next"))
        }
    }
}

fn date(shown: &Shown) -> Markup {
    html! {
        span.shown-date {
            time datetime=(words::datetime(&shown.stamp)) { (words::date_short(&shown.stamp)) " " span.clock { (words::clock(&shown.stamp)) } }
        }
        span.shown-place {
            @match (shown.position, shown.count) {
                (_, 0 | 1) => { "the only version" }
                (Some(position), count) => { (words::count(position)) " of " (words::count(count)) }
                (None, count) => { (words::count(count)) " versions" }
            }
        }
    }
}

fn step(shown: &Shown, stamp: Option<&str>, icon: &str, label: &str, rel: &str) -> Markup {
    html! {
        @match stamp {
            Some(stamp) => {
                a.icon-button href=(words::viewer(stamp, &shown.url)) rel=(rel) data-step=(rel) title={ (label) ": " (words::moment(stamp)) } {
                    (icons::icon(icon)) span.unseen { (label) ": " (words::moment(stamp)) }
                }
            }
            None => { span.icon-button.off aria-hidden="true" { (icons::icon(icon)) } }
        }
    }
}

/// Where between the first and the last version this one lies.
fn mini_timeline(shown: &Shown) -> Markup {
    let Shown { first, last, stamp, earlier, later, .. } = shown;
    let mut marks: Vec<(&str, &str)> = vec![("tick", first), ("tick", last)];
    marks.extend(earlier.as_deref().map(|stamp| ("tick", stamp)));
    marks.extend(later.as_deref().map(|stamp| ("tick", stamp)));
    marks.push(("tick tick-here", stamp));
    html! {
        svg.mini width="100%" height="8" aria-hidden="true" focusable="false" {
            line x1="0" y1="4" x2="100%" y2="4" {}
            @for (class, mark) in marks {
                circle class=(class) cx=(parts::percent(0.03 + 0.94 * place(first, last, mark))) cy="4" r=(if class == "tick" { "1.500" } else { "3.500" }) {}
            }
        }
    }
}

/// From 0, at the first, to 1, at the last.
fn place(first: &str, last: &str, stamp: &str) -> f64 {
    let at = |stamp| Timestamp::parse(stamp).map(Timestamp::millis);
    let (Ok(first), Ok(last), Ok(stamp)) = (at(first), at(last), at(stamp)) else { return 0.5 };
    if last <= first { 0.5 } else { (stamp - first) as f64 / (last - first) as f64 }
}

fn address_form(shown: &Shown) -> Markup {
    html! {
        form.banner-address action="/go" method="get" data-address {
            label.unseen for="address" { "Another address, at this date" }
            input id="address" name="url" type="text" inputmode="url" value=(shown.url) autocomplete="off" autocapitalize="none"
                spellcheck="false" maxlength="32768" required title="Another address, at this date" enterkeyhint="go";
            input type="hidden" name="at" value=(shown.stamp) data-at;
            button.unseen-till-focus type="submit" { "Go" }
        }
    }
}

fn tools(shown: &Shown, seat: &UiSeat) -> Markup {
    let Shown { url, stamp, earlier, .. } = shown;
    html! {
        div.tools {
            span data-part="tools" {
                a.icon-button href=(words::calendar(url)) title="All versions" { (icons::icon("calendar")) span.unseen { "All versions" } }
                @match earlier {
                    Some(earlier) => {
                        a.icon-button href=(words::difference(url, earlier, stamp)) title="What changed since the version before" {
                            (icons::icon("difference")) span.unseen { "What changed since the version before" }
                        }
                    }
                    None => { span.icon-button.off aria-hidden="true" { (icons::icon("difference")) } }
                }
                details.menu {
                    summary.icon-button title="Download" { (icons::icon("download")) span.unseen { "Download" } }
                    ul {
                        li { a href=(words::record(stamp, url)) download { "WARC record" } }
                        li { a href={ (seat.bare_replay_origin()) "/web/" (stamp) "id_/" (words::web_url(url)) } { "Original bytes" } }
                    }
                }
            }
            (layout::theme_button())
            label.icon-button for="hide" title="Hide the bar (Esc)" { (icons::icon("close")) span.unseen { "Hide the bar" } }
        }
    }
}

fn note(shown: &Shown) -> Markup {
    html! {
        @if let Some(asked) = &shown.asked {
            p { "There is no version from " (words::date(asked)) " or before. This is the first after it." }
        }
        @if let Some(status @ (400..=599)) = shown.status {
            p { "On this day the server answered with an error, " (status) ". This is what it said." }
        }
    }
}

/// A frame for an archived page. Chromium's reader of PDFs refuses every sandbox; such a frame runs no script of the archive's.
pub(crate) fn frame(address: &str, title: &str, media: &str, seat: &UiSeat) -> Markup {
    let is_pdf = media.split(';').next().unwrap_or(media).trim().eq_ignore_ascii_case("application/pdf");
    let sandbox = match seat.has_names() {
        true => "allow-scripts allow-same-origin allow-forms allow-modals allow-downloads allow-pointer-lock",
        false => "allow-scripts allow-forms allow-modals allow-downloads allow-pointer-lock",
    };
    html! {
        iframe src=(address) title={ "Archived: " (title) } sandbox=[(!is_pdf).then_some(sandbox)] allow="fullscreen" data-frame {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_lies_where_its_time_lies() {
        let (first, last) = ("20200101000000", "20200103000000");
        assert_eq!(place(first, last, first), 0.0);
        assert_eq!(place(first, last, "20200102000000"), 0.5);
        assert_eq!(place(first, last, last), 1.0);
        assert_eq!(place(first, first, first), 0.5);
        assert_eq!(place("x", last, first), 0.5);
    }
}
