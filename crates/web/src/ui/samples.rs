//! Hand-made values of every view, for the tests of rendering: with a text of the caller's in every place that strangers fill.

use super::difference::{Around, Look};
use super::viewer::Shown;
use super::{Reader, crawl, difference, home, host, ring, search, trouble, versions, viewer};
use crate::answer::Trouble;
use crate::archive::{Away, Silence};
use crate::crawls::{CrawlEvent, CrawlHost, CrawlMachine, CrawlState, CrawlView, Scope};
use crate::origin::Hosts;
use crate::views::{
    Block, Change, Child, DayCount, Difference, Found, Home, Host, MediaCount, ReadAs, Recent, Search, Totals, Version,
    Versions, YearCount,
};
use axum::response::{IntoResponse, Response};
use herodotus_base::Timestamp;

/// What strangers may write: in titles, addresses, reasons, lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    pub(super) title: &'a str,
    pub(super) url: &'a str,
}

pub(super) const PLAIN: Words<'_> =
    Words { title: "Opening hours and how to find us", url: "https://museum.example/visit/hours?lang=en" };

pub(super) fn reader(host: &str, needs_token: bool) -> Reader {
    let hosts = Hosts { ui_port: 8480, replay_port: 8481, ui_url: None, replay_url: None };
    Reader { seat: hosts.ui(host).unwrap(), can_crawl: true, needs_token, has_ring: true }
}

pub(super) fn now() -> Timestamp {
    Timestamp::parse("20261116040000").unwrap()
}

/// Every page there is, with its name.
pub(super) fn pages(words: Words<'_>) -> Vec<(&'static str, Response)> {
    let at_home = reader("127.0.0.1:8480", false);
    let away = reader("192.168.1.5:8480", true);
    let view = crawl_view(words, CrawlState::Running);
    let empty =
        Home { totals: Totals::default(), recent: Vec::new(), crawls: Vec::new(), can_crawl: true, silent: None };
    let missing =
        Versions { total: 0, first: None, last: None, years: Vec::new(), list: Vec::new(), ..versions_of(words) };
    let nothing = Search { found: Vec::new(), ..found(words, ReadAs::Url) };
    let untold = Difference { blocks: Vec::new(), note: Some(words.title.to_owned()), ..difference_of(words) };
    let around = Around { earlier: Some("20240101120000".to_owned()), later: None };
    let states = [CrawlState::Stopping, CrawlState::Stopped, CrawlState::Complete, CrawlState::Failed];
    let mut pages = vec![
        ("home", home::page(&home_of(words), &at_home, now())),
        ("home-away", home::page(&home_of(words), &away, now())),
        ("home-empty", home::page(&empty, &at_home, now())),
        ("home-empty-reading", home::page(&Home { can_crawl: false, ..empty.clone() }, &at_home, now())),
        ("search", search::page(&found(words, ReadAs::Words), &at_home)),
        ("search-host", search::page(&found(words, ReadAs::Host), &at_home)),
        ("search-nothing", search::page(&nothing, &at_home)),
        ("search-no-words", search::page(&Search { read_as: ReadAs::Words, ..nothing.clone() }, &at_home)),
        ("versions", versions::page(&versions_of(words), &at_home)),
        ("versions-missing", versions::page(&missing, &at_home)),
        ("viewer", viewer::page(&shown(words), &at_home.seat)),
        ("viewer-away", viewer::page(&Shown { asked: Some("20100101000000".into()), ..shown(words) }, &away.seat)),
        ("diff-side", difference::page(&difference_of(words), &around, Look::Side, &at_home)),
        ("diff-inline", difference::page(&difference_of(words), &around, Look::Inline, &at_home)),
        ("diff-rendered", difference::page(&difference_of(words), &around, Look::Rendered, &at_home)),
        ("diff-untold", difference::page(&untold, &around, Look::Side, &at_home)),
        ("host", host::page(&host_of(words), &at_home)),
        ("crawl", crawl::page(&view, &at_home, now())),
        ("crawl-away", crawl::page(&view, &away, now())),
        ("crawls", crawl::list_page(&states.map(|state| crawl_view(words, state)), &at_home, now())),
        ("no-such-page", trouble::no_such_page(words.url)),
    ];
    pages.extend(ring::samples::pages(words));
    pages.extend(states.map(|state| ("crawl-over", crawl::page(&crawl_view(words, state), &at_home, now()))));
    let troubles = [
        Trouble::Asked(words.title.to_owned()),
        Trouble::NotFound(words.url.to_owned()),
        Trouble::Forbidden(words.title.to_owned()),
        Trouble::Busy,
        Trouble::Unanswered(words.title.to_owned()),
        Trouble::Ours(words.title.to_owned()),
        Trouble::Away(Away::Silent { asked: 6 }),
        Trouble::Away(Away::Unsure),
        Trouble::Away(Away::False { asked: 6 }),
    ];
    pages.extend(troubles.map(|trouble| ("trouble", trouble::TroublePage(trouble).into_response())));
    pages
}

fn version(words: Words<'_>, stamp: &str, status: u16, change: Option<Change>) -> Version {
    Version {
        stamp: stamp.to_owned(),
        time: Timestamp::parse(stamp).unwrap().rfc3339(),
        url: words.url.to_owned(),
        status: Some(status),
        media: "text/html".to_owned(),
        length: 14_312,
        digest: format!("{stamp}{status}"),
        truncated: status == 500,
        change,
    }
}

fn home_of(words: Words<'_>) -> Home {
    let stamps = ["20261116035500", "20261116021500", "20261115101500", "20261101101500", "20200101101500"];
    let recent = |(at, stamp): (usize, &&str)| Recent {
        title: (at != 2).then(|| words.title.to_owned()),
        version: version(words, stamp, if at == 3 { 404 } else { 200 }, None),
    };
    Home {
        totals: Totals {
            captures: 48_213,
            urls: 9_120,
            bytes_in: 1_913_000_000,
            bytes_on_disk: 214_000_000,
            silent: None,
        },
        recent: stamps.iter().enumerate().map(recent).collect(),
        crawls: vec![crawl_view(words, CrawlState::Running), crawl_view(words, CrawlState::Complete)],
        can_crawl: true,
        silent: Some(Silence { asked: 8, silent: 2 }),
    }
}

fn one_found(words: Words<'_>, versions: u64) -> Found {
    Found {
        url: words.url.to_owned(),
        title: (versions != 2).then(|| words.title.to_owned()),
        versions,
        first: "20190301080000".to_owned(),
        last: "20261110120000".to_owned(),
        stamp: "20261110120000".to_owned(),
    }
}

fn found(words: Words<'_>, read_as: ReadAs) -> Search {
    let found = [42, 1, 2, 17].map(|versions| one_found(words, versions)).to_vec();
    Search {
        query: words.title.to_owned(),
        read_as,
        found,
        exact: false,
        more: true,
        next: Some(words.title.to_owned()),
        behind: true,
        silent: Some(Silence { asked: 8, silent: 1 }),
    }
}

fn versions_of(words: Words<'_>) -> Versions {
    let year = |year: i32| {
        let months =
            std::array::from_fn(
                |month| if year == 2022 { 0 } else { ((year as u32 * 7 + month as u32 * 5) % 11).pow(2) / 4 },
            );
        YearCount { year, months, versions: months.iter().map(|n| u64::from(*n)).sum() }
    };
    let day = |at: u32| {
        let day = format!("2026-{:02}-{:02}", at * 7 % 11 + 1, at * 13 % 28 + 1);
        DayCount {
            stamp: format!("{}120000", day.replace('-', "")),
            day,
            versions: [1, 2, 5, 12, 1, 1, 3][at as usize % 7],
            changed: at % 3,
            only_other: at % 9 == 4,
        }
    };
    let changes = [
        Some(Change::Changed { share: Some(0.126), bytes: 210 }),
        Some(Change::Same),
        Some(Change::Changed { share: Some(0.0), bytes: 3 }),
        Some(Change::Changed { share: Some(0.86), bytes: -4000 }),
        Some(Change::Changed { share: None, bytes: -4000 }),
        Some(Change::First),
        None,
    ];
    let list = changes.iter().enumerate().map(|(at, change)| {
        version(words, &format!("2026{:02}10120000", 11 - at), [200, 200, 301, 200, 404, 500, 200][at], *change)
    });
    Versions {
        url: words.url.to_owned(),
        title: Some(words.title.to_owned()),
        total: 312,
        partial: true,
        first: Some("20190301080000".to_owned()),
        last: Some("20261110120000".to_owned()),
        years: [2019, 2020, 2021, 2023, 2024, 2025, 2026].map(year).to_vec(),
        year: 2026,
        days: (0..60).map(day).collect(),
        list: list.collect(),
        next: Some("20260410120000".to_owned()),
        near: vec![one_found(words, 3), one_found(words, 1)],
    }
}

fn shown(words: Words<'_>) -> Shown {
    Shown {
        url: words.url.to_owned(),
        title: Some(words.title.to_owned()),
        stamp: "20240610120000".to_owned(),
        asked: None,
        earlier: Some("20240301120000".to_owned()),
        later: Some("20241224120000".to_owned()),
        first: "20190301080000".to_owned(),
        last: "20261110120000".to_owned(),
        position: Some(120),
        count: 312,
        frame: "http://habcdefghij234567.localhost:8481/web/20240610120000/https://museum.example/".to_owned(),
        media: "text/html".to_owned(),
        status: Some(200),
    }
}

fn difference_of(words: Words<'_>) -> Difference {
    let pieces = |texts: &[(bool, &str)]| texts.iter().map(|(changed, text)| (*changed, (*text).to_owned())).collect();
    let hostile = || vec![(false, words.url.to_owned()), (true, words.title.to_owned())];
    Difference {
        url: words.url.to_owned(),
        from: version(words, "20240301120000", 200, None),
        to: version(words, "20240610120000", 404, None),
        blocks: vec![
            Block::Skipped { count: 18 },
            Block::Same {
                lines: vec![
                    words.title.to_owned(),
                    "The museum lies by the harbour, ten minutes on foot from the station.".into(),
                ],
            },
            Block::Changed {
                removed: vec![pieces(&[
                    (false, "Open every day from "),
                    (true, "nine to five"),
                    (false, ", except on Mondays."),
                ])],
                added: vec![
                    pieces(&[(false, "Open every day from "), (true, "ten to six"), (false, ", except on Mondays.")]),
                    pieces(&[(true, "On Thursdays until nine in the evening, with music in the court.")]),
                ],
            },
            Block::Same { lines: vec!["Children under twelve are our guests.".into()] },
            Block::Skipped { count: 1 },
            Block::Changed { removed: vec![hostile()], added: Vec::new() },
        ],
        lines_added: 2,
        lines_removed: 2,
        note: None,
    }
}

fn host_of(words: Words<'_>) -> Host {
    let child = |name: &str, is_folder: bool, captures: u64| Child {
        name: name.to_owned(),
        path: format!("/visit/{name}"),
        is_folder,
        url: (!is_folder || captures == 7).then(|| words.url.to_owned()),
        title: Some(words.title.to_owned()),
        captures,
        more: captures > 900,
    };
    let media = |media: &str, captures: u64| MediaCount { media: media.to_owned(), captures, bytes: captures * 21_000 };
    Host {
        host: "museum.example".to_owned(),
        path: "/visit/".to_owned(),
        children: vec![
            child("groups/", true, 1200),
            child("school/", true, 7),
            child("", false, 12),
            child(words.title, false, 3),
        ],
        next: Some(words.url.to_owned()),
        months: (0..30_u32)
            .map(|at| (format!("{}-{:02}", 2024 + at / 12, at % 12 + 1), u64::from((at * 17) % 23)))
            .collect(),
        media: vec![media("text/html", 820), media("image/jpeg", 431), media("text/css", 12), media(words.title, 1)],
        statuses: vec![("200".into(), 1180), ("301".into(), 61), ("404".into(), 22), (words.title.to_owned(), 1)],
        captures: 1264,
        urls: 312,
        bytes: 26_544_000,
        partial: true,
    }
}

fn crawl_view(words: Words<'_>, state: CrawlState) -> CrawlView {
    let is_over = state == CrawlState::Complete;
    let event = |at: usize, what: &str, detail: &str| CrawlEvent {
        time: format!("2026-11-16T03:59:{:02}Z", 59 - at),
        url: words.url.to_owned(),
        what: what.to_owned(),
        detail: detail.to_owned(),
        bytes: if what == "failed" { 0 } else { 14_000 + at as u64 * 999 },
    };
    let reason = |number: u64| (number, words.url.to_owned());
    CrawlView {
        name: if state == CrawlState::Failed { words.title.to_owned() } else { "museum.example".to_owned() },
        state,
        seeds: vec![words.url.to_owned(), "https://museum.example/".to_owned()],
        scope: Scope::Host,
        depth: Some(5),
        limit: Some(5000),
        round: 2,
        began: Some("2026-11-16T03:41:10Z".to_owned()),
        seconds: 1130,
        urls: 4312,
        waiting: if is_over { 0 } else { 1810 },
        in_flight: if is_over { 0 } else { 4 },
        hosts: 3,
        fetched: 2498,
        new: 1301,
        changed: 188,
        unchanged: 1009,
        failed: 12,
        bytes: 81_400_000,
        statuses: [("200", 2301), ("301", 120), ("404", 71), ("503", 6)].map(|(name, n)| (name.to_owned(), n)).into(),
        media: [("text/html", 1400), ("image/png", 611), (words.title, 3)].map(|(name, n)| (name.to_owned(), n)).into(),
        failures: [("connection refused".to_owned(), reason(9)), (words.title.to_owned(), reason(3))].into(),
        skipped: [("robots.txt".to_owned(), reason(40)), (words.title.to_owned(), reason(3))].into(),
        busiest: [("museum.example", 2200, 9), ("pictures.museum.example", 290, 3), (words.title, 8, 0)]
            .map(|(name, fetched, failed)| CrawlHost {
                name: name.to_owned(),
                fetched,
                failed,
                bytes: fetched * 30_000,
                waiting: failed * 7,
            })
            .to_vec(),
        machines: vec![CrawlMachine {
            machine: words.title.to_owned(),
            fetched: 1200,
            waiting: 3,
            failed: 1,
            pages_per_s: f64::NAN,
            ..CrawlMachine::default()
        }],
        events: ["new", "changed", "unchanged", "failed", "skipped"]
            .iter()
            .enumerate()
            .map(|(at, what)| event(at, what, if at == 3 { words.title } else { "200 text/html" }))
            .collect(),
        note: (state == CrawlState::Running).then(|| words.title.to_owned()),
        trouble: (state == CrawlState::Failed).then(|| words.title.to_owned()),
    }
}
