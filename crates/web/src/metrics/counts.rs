//! Requests answered, by listener, kind and status class. A count is an atomic word: it costs a reader nothing to be counted.

use super::text::Text;
use http::StatusCode;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which of the two listeners was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    Pages,
    Replay,
}

/// What was asked for, by the first step of its path, which is all that is sure before a route is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Page,
    Asset,
    Api,
    Cdx,
    Memento,
    Warc,
    Metrics,
    Content,
}

const LISTENERS: [(Listener, &str); 2] = [(Listener::Pages, "pages"), (Listener::Replay, "replay")];

const KINDS: [(Kind, &str); 8] = [
    (Kind::Page, "page"),
    (Kind::Asset, "asset"),
    (Kind::Api, "api"),
    (Kind::Cdx, "cdx"),
    (Kind::Memento, "memento"),
    (Kind::Warc, "warc"),
    (Kind::Metrics, "metrics"),
    (Kind::Content, "content"),
];

const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

impl Kind {
    pub(crate) fn of(listener: Listener, path: &str) -> Self {
        let path = path.strip_prefix('/').unwrap_or(path);
        // Tools have places below that of the pages.
        let tool =
            path.strip_prefix("web/").map(first_step).filter(|step| matches!(*step, "cdx" | "timemap" | "timegate"));
        match (tool.unwrap_or_else(|| first_step(path)), listener) {
            ("cdx", _) => Self::Cdx,
            ("timemap" | "timegate", _) => Self::Memento,
            ("warc", _) => Self::Warc,
            ("herodotus", Listener::Replay) | ("assets" | "favicon.ico", Listener::Pages) => Self::Asset,
            ("api", Listener::Pages) => Self::Api,
            ("metrics", Listener::Pages) => Self::Metrics,
            (_, Listener::Pages) => Self::Page,
            (_, Listener::Replay) => Self::Content,
        }
    }
}

fn first_step(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

/// Since the program started.
#[derive(Debug, Default)]
pub(crate) struct Counts([[[AtomicU64; CLASSES.len()]; KINDS.len()]; LISTENERS.len()]);

impl Counts {
    /// One more answer, of which the head is ready.
    pub(crate) fn add(&self, listener: Listener, kind: Kind, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        let count = self.0.get(listener as usize).and_then(|kinds| kinds.get(kind as usize)?.get(class));
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn write(&self, text: &mut Text) {
        let mut family = text.counter(
            "herodotus_http_requests_total",
            "Requests answered, by listener, kind and class of status. What never came is left out.",
        );
        for ((_, listener), kinds) in LISTENERS.iter().zip(&self.0) {
            for ((_, kind), classes) in KINDS.iter().zip(kinds) {
                for (class, count) in CLASSES.iter().zip(classes) {
                    let count = count.load(Ordering::Relaxed);
                    if count > 0 {
                        family.count(&[("listener", listener), ("kind", kind), ("code", class)], count);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_a_kind_and_every_answer_is_counted_once() {
        let counts = Counts::default();
        for (listener, path, kind, status) in [
            (Listener::Pages, "/", "page", 200),
            (Listener::Pages, "/web/2026/http://a/", "page", 302),
            (Listener::Pages, "/assets/ui.js", "asset", 200),
            (Listener::Pages, "/api/v1/ring", "api", 404),
            (Listener::Pages, "/metrics", "metrics", 200),
            (Listener::Replay, "/metrics", "content", 404),
            (Listener::Replay, "/cdx", "cdx", 503),
            (Listener::Replay, "/web/cdx", "cdx", 200),
            (Listener::Replay, "/web/timemap/link/http://a/", "memento", 200),
            (Listener::Pages, "/warc/2026/http://a/", "warc", 200),
            (Listener::Replay, "/herodotus/replay.js", "asset", 200),
        ] {
            let found = Kind::of(listener, path);
            assert_eq!(KINDS.iter().find(|(known, _)| *known == found).unwrap().1, kind, "{path}");
            counts.add(listener, found, StatusCode::from_u16(status).unwrap());
        }
        counts.add(Listener::Pages, Kind::Page, StatusCode::OK);
        // No class that we know of.
        counts.add(Listener::Pages, Kind::Page, StatusCode::from_u16(999).unwrap());
        let mut text = Text::default();
        counts.write(&mut text);
        let text = text.done();
        assert!(
            text.contains("herodotus_http_requests_total{listener=\"pages\",kind=\"page\",code=\"2xx\"} 2\n"),
            "{text}"
        );
        assert!(text.contains("{listener=\"replay\",kind=\"cdx\",code=\"5xx\"} 1\n"), "{text}");
        assert_eq!(text.lines().count(), 2 + 11, "{text}");
    }

    /// Places in the arrays are those of the enums.
    #[test]
    fn names_stand_in_the_order_of_their_kinds() {
        assert!(KINDS.iter().enumerate().all(|(at, (kind, _))| *kind as usize == at));
        assert!(LISTENERS.iter().enumerate().all(|(at, (listener, _))| *listener as usize == at));
    }
}
