//! What several pages show: moments, addresses, statuses, bars. Everything that comes from outside goes through maud, which
//! escapes it; lengths in drawings are attributes, since the policy allows no inline style.

use super::words;
use crate::archive::Silence;
use crate::views::{Change, Version};
use herodotus_base::Timestamp;
use maud::{Markup, html};

/// A moment, told as how long ago it was, with the exact one behind it.
pub(crate) fn ago(stamp: &str, now: Timestamp) -> Markup {
    html! { time datetime=(words::datetime(stamp)) title=(words::moment(stamp)) { (words::ago(stamp, now)) } }
}

/// A moment as date and clock.
pub(crate) fn when(stamp: &str) -> Markup {
    html! {
        time datetime=(words::datetime(stamp)) title=(words::moment(stamp)) {
            (words::date_short(stamp)) " " span.clock { (words::clock(stamp)) }
        }
    }
}

/// An address as people read it, its host set off from the rest.
pub(crate) fn address(url: &str) -> Markup {
    let text = words::plain(url);
    let (host, rest) = text.find('/').map_or((text, ""), |at| text.split_at(at));
    html! { span.address { b { (host) } (rest) } }
}

/// A page by its title, with its address below; without a title the address alone.
pub(crate) fn titled(title: Option<&str>, url: &str) -> Markup {
    html! {
        @match title {
            Some(title) => { span.entry-title { (title) } (address(url)) }
            None => { span.entry-title { (words::plain(url)) } }
        }
    }
}

/// What a server said, by its kind.
pub(crate) fn status(status: Option<u16>) -> Markup {
    let Some(code) = status else { return html! { span.status.status-none title="no status" { "–" } } };
    let (class, word) = match code {
        200..=299 => ("status-good", "as asked"),
        300..=399 => ("status-turn", "a redirect"),
        400..=499 => ("status-bad", "not given"),
        _ => ("status-bad", "an error of the server"),
    };
    html! { span.status.(class) title=(word) { (code) } }
}

/// Statuses with how often each came. What is not a number (`other`) is shown as it is.
pub(crate) fn status_list<'a>(statuses: impl IntoIterator<Item = &'a (String, u64)>) -> Markup {
    html! {
        ul.statuses {
            @for (name, number) in statuses {
                li { (status_named(name)) span { (words::count(*number)) } }
            }
        }
    }
}

fn status_named(name: &str) -> Markup {
    match name.parse() {
        Ok(code) => status(Some(code)),
        Err(_) => html! { span.status.status-none { (name) } },
    }
}

/// `text/html` as a word.
pub(crate) fn media(media: &str) -> &str {
    let bare = media.split(';').next().unwrap_or(media).trim();
    match bare {
        "" => "unknown",
        "text/html" | "application/xhtml+xml" => "page",
        "text/css" => "style",
        "text/javascript" | "application/javascript" | "application/x-javascript" => "script",
        "application/pdf" => "PDF",
        "application/json" => "JSON",
        "text/plain" => "text",
        _ => match bare.split_once('/') {
            Some((kind @ ("image" | "video" | "audio" | "font"), _)) => kind,
            _ => bare,
        },
    }
}

/// That some machines of the ring did not answer, said calmly.
pub(crate) fn silence(silence: Option<Silence>, missing: &str) -> Markup {
    html! {
        @if let Some(Silence { asked, silent }) = silence {
            p.note role="status" {
                (words::count(silent as u64)) " of " (words::counted(asked as u64, "machine", "machines")) " did not answer: " (missing)
            }
        }
    }
}

/// A bar of a share of 0 to 1. What it says must also stand beside it in words.
pub(crate) fn bar(share: f64, class: &str) -> Markup {
    html! {
        svg.bar.(class) width="100%" height="8" aria-hidden="true" focusable="false" {
            rect.bar-track width="100%" height="8" rx="4" {}
            rect.bar-fill width=(percent(share)) height="8" rx="4" {}
        }
    }
}

/// A line of a card of bars.
pub(crate) struct Bar<'a> {
    pub(crate) name: Markup,
    /// What the name stands for, if it is cut short.
    pub(crate) title: Option<&'a str>,
    pub(crate) number: u64,
    /// What stands after the number.
    pub(crate) more: Markup,
}

/// Numbers beside each other in a card with a heading: the largest has the whole bar.
pub(crate) fn bars(heading: &str, id: &str, lines: &[Bar<'_>]) -> Markup {
    let most = lines.iter().map(|line| line.number).max().unwrap_or(0);
    html! {
        section.card aria-labelledby=(id) {
            h2 id=(id) { (heading) }
            ul.bars {
                @for line in lines {
                    li title=[line.title] {
                        (line.name)
                        span.bars-number { (words::count(line.number)) (line.more) }
                        (bar(share(line.number, most), ""))
                    }
                }
            }
        }
    }
}

/// A kind of content in a card of bars.
pub(crate) fn media_bar(kind: &str, number: u64, more: Markup) -> Bar<'_> {
    Bar { name: html! { span { (media(kind)) } }, title: Some(kind), number, more }
}

/// A share of 0 to 1 as a length of a drawing.
pub(crate) fn percent(share: f64) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    format!("{:.2}%", share * 100.0)
}

pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// How much a version changed: a bar, and words.
pub(crate) fn change(version: &Version) -> Markup {
    match version.change {
        None => html! {},
        Some(Change::First) => html! { span.change.change-first { "first" } },
        Some(Change::Same) => html! { span.change.change-same { "same" } },
        Some(Change::Changed { share: Some(share), .. }) if share > 0.0 => html! {
            span.change title="share of the lines that are new or gone" { (bar(share.into(), "bar-small")) (percent_words(share)) }
        },
        Some(Change::Changed { share: Some(_), .. }) => html! { span.change.change-same { "markup only" } },
        Some(Change::Changed { share: None, bytes }) => html! { span.change { (signed_bytes(bytes)) } },
    }
}

fn percent_words(share: f32) -> String {
    let hundredths = (share.clamp(0.0, 1.0) * 100.0).round();
    if hundredths < 1.0 { "under 1 %".to_owned() } else { format!("{hundredths} %") }
}

fn signed_bytes(bytes: i64) -> String {
    match bytes {
        0 => "other bytes".to_owned(),
        1.. => format!("+{}", words::bytes(bytes.unsigned_abs())),
        _ => format!("−{}", words::bytes(bytes.unsigned_abs())),
    }
}

/// Columns in a row, each with a name and a number, for reading at a glance. Heights grow with the root of the number, so that
/// a quiet month beside a loud one is still seen.
pub(crate) fn columns(numbers: &[(String, u64)], what: &str) -> Markup {
    let most = numbers.iter().map(|(_, number)| *number).max().unwrap_or(0);
    let step = 100.0 / numbers.len().max(1) as f64;
    let total: u64 = numbers.iter().map(|(_, number)| *number).sum();
    html! {
        svg.columns width="100%" height="96" role="img" aria-label={ (words::count(total)) " " (what) " over time" } {
            line.columns-base x1="0" y1="95.5" x2="100%" y2="95.5" {}
            @for (at, (name, number)) in numbers.iter().enumerate() {
                @let height = column_height(*number, most, 92.0);
                rect.column x={ (format!("{:.3}%", step * at as f64 + step * 0.12)) } y=(format!("{:.1}", 95.0 - height))
                    width=(format!("{:.3}%", step * 0.76)) height=(format!("{height:.1}")) rx="1.5" {
                    title { (name) ": " (words::count(*number)) }
                }
            }
        }
    }
}

/// Nothing is nothing; anything is at least seen.
pub(crate) fn column_height(number: u64, most: u64, highest: f64) -> f64 {
    if number == 0 { 0.0 } else { (share(number, most).sqrt() * highest).max(3.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_stay_within_their_drawing() {
        for (value, text) in [(0.5, "50.00%"), (7.0, "100.00%"), (-1.0, "0.00%"), (f64::NAN, "0.00%")] {
            assert_eq!(percent(value), text);
        }
        assert_eq!(share(1, 0), 0.0);
        assert_eq!(column_height(0, 0, 92.0), 0.0);
        assert_eq!(column_height(1, 1_000_000, 92.0), 3.0);
        assert_eq!(column_height(9, 9, 92.0), 92.0);
    }

    #[test]
    fn a_change_is_said_in_words_too() {
        let words = |change| change_words(Some(change));
        assert_eq!(words(Change::First), "first");
        assert_eq!(words(Change::Same), "same");
        assert_eq!(words(Change::Changed { share: Some(0.0), bytes: 7 }), "markup only");
        assert_eq!(words(Change::Changed { share: Some(0.004), bytes: 7 }), "under 1 %");
        assert_eq!(words(Change::Changed { share: Some(0.126), bytes: 7 }), "13 %");
        assert_eq!(words(Change::Changed { share: None, bytes: -1500 }), "−1.5 kB");
        assert_eq!(change_words(None), "");
    }

    fn change_words(change: Option<Change>) -> String {
        let version = Version {
            stamp: String::new(),
            time: String::new(),
            url: String::new(),
            status: None,
            media: String::new(),
            length: 0,
            digest: String::new(),
            truncated: false,
            change,
        };
        let text = super::change(&version).into_string();
        let mut plain = String::new();
        let mut inside = false;
        for c in text.chars() {
            match c {
                '<' => inside = true,
                '>' => inside = false,
                _ if !inside => plain.push(c),
                _ => {}
            }
        }
        plain
    }
}
