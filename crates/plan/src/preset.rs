//! Two sets of inputs: the thesis's, and today's with what we have measured ourselves. Every number has its source.

use crate::{Crawl, Inputs, Links, Machine, Packing, Repair, Ring, Web};
use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    Thesis,
    Today,
}

impl Preset {
    pub fn inputs(self) -> Inputs {
        match self {
            Self::Thesis => THESIS,
            Self::Today => TODAY,
        }
    }
}

const THESIS: Inputs = Inputs {
    web: Web {
        pages_count: 2e9,
        others_per_page: 0.77,
        page_bytes: 12e3,
        other_bytes: 32e3,
        pages_changed_share_per_day: 0.05,
        others_changed_share_per_day: 0.0,
        added_share_per_day: 0.005,
        links_per_page: 36.0,
        changed_links_share: 0.1,
    },
    packing: Packing {
        page_gzip_ratio: 0.25,
        page_first_of_gzip: 1.0,
        page_version_of_gzip: 1.0,
        other_ratio: 1.0,
        index_bytes_per_capture: 0.0,
        record_bytes_per_url: 0.0,
    },
    crawl: Crawl {
        months: 9.0,
        round_days: 1.0,
        fetchers_count: 6,
        request_bytes: 80.0,
        answer_bytes: 20.0,
        resent_share: 0.0,
        is_sent_gzipped: false,
    },
    links: Links { bytes_per_link: 59.0, leaving_share: 1.0, receivers_count: 6 },
    ring: Ring {
        copies_count: 6,
        nodes_count: Some(20_000),
        handed_of_stored: 1.0,
        upkeep_bytes_per_minute: 0.0,
        grace_hours: None,
        repair: Repair::Days(60.0),
        is_repair_spread: false,
    },
    machine: Machine {
        disk_bytes: 100e9,
        disk_fill_share: 1.0,
        up_bits_per_s: None,
        down_bits_per_s: Some(1e6),
        stay_days: 360.0,
        session_hours: 19.2,
        absence_hours: 4.8,
    },
};

const TODAY: Inputs = Inputs {
    web: Web {
        pages_count: 2.5e9,
        others_per_page: 0.77,
        page_bytes: 100e3,
        other_bytes: 58e3,
        pages_changed_share_per_day: 0.05,
        others_changed_share_per_day: 0.0001,
        added_share_per_day: 0.005,
        links_per_page: 71.0,
        changed_links_share: 0.1,
    },
    packing: Packing {
        page_gzip_ratio: 0.248,
        page_first_of_gzip: 0.732,
        page_version_of_gzip: 0.105,
        other_ratio: 0.986,
        index_bytes_per_capture: 98.8,
        record_bytes_per_url: 55.0,
    },
    crawl: Crawl {
        months: 12.0,
        round_days: 1.0,
        fetchers_count: 1,
        request_bytes: 450.0,
        answer_bytes: 350.0,
        resent_share: 0.23,
        is_sent_gzipped: true,
    },
    links: Links { bytes_per_link: 20.0, leaving_share: 0.24, receivers_count: 1 },
    ring: Ring {
        copies_count: 6,
        nodes_count: None,
        handed_of_stored: 1.09,
        upkeep_bytes_per_minute: 78_696.0,
        grace_hours: Some(0.25),
        repair: Repair::Share(0.5),
        is_repair_spread: true,
    },
    machine: Machine {
        disk_bytes: 4e12,
        disk_fill_share: 0.7,
        up_bits_per_s: Some(10e6),
        down_bits_per_s: Some(50e6),
        stay_days: 360.0,
        session_hours: 720.0,
        absence_hours: 6.0,
    },
};

/// Where a preset's number comes from. Inputs go by the names of the command's flags.
pub fn source(preset: Preset, input: &str) -> Option<&'static str> {
    let sources = match preset {
        Preset::Thesis => THESIS_SOURCES,
        Preset::Today => TODAY_SOURCES,
    };
    sources.iter().find(|(name, _)| *name == input).map(|(_, source)| *source)
}

const THESIS_SOURCES: &[(&str, &str)] = &[
    ("pages", "3.2.1: what Google said it had"),
    ("others-per-page", "3.2.1: MIT's pictures per page"),
    ("page-size", "table 3.1"),
    ("other-size", "table 3.1"),
    ("changing", "3.2.2: Brewington; MIT's pages 1%"),
    ("others-changing", "3.2.2: neglected; table 3.1: under 0.01%"),
    ("growing", "table 3.1"),
    ("links", "table 3.1"),
    ("new-links", "6.1.2: no more than that at MIT"),
    ("gzip", "3.2.1: a factor of four; table 3.1: 24.8%"),
    ("first", "stored with gzip"),
    ("version", "3.2.2: a changed page is stored whole"),
    ("other", "3.2.1: pictures are compressed already"),
    ("index-size", "not counted"),
    ("record-size", "not counted"),
    ("months", "6.1.1"),
    ("round-days", "4.8: daily"),
    ("fetchers", "4.6: every holder fetches for itself"),
    ("request-size", "6.1.2"),
    ("answer-size", "6.1.2"),
    ("resent", "4.7.1: every server answers a condition"),
    ("link-size", "6.1.2: the length of a URL; 4.4.1 counts 70"),
    ("leaving", "4.3.4: placed by the whole URL"),
    ("receivers", "4.6: all six are told"),
    ("copies", "4.6"),
    ("nodes", "6.1.1: to be on the safe side of 12,810"),
    ("handed", "nothing is handed on"),
    ("upkeep", "not counted"),
    ("grace-hours", "4.6: who comes back has kept all"),
    ("repair-days", "6.1.2"),
    ("disk", "6.1.1"),
    ("fill", "6.1.1: full"),
    ("up", "asked for, not given"),
    ("down", "3.3.2"),
    ("stay-days", "6.1.3"),
    ("session-hours", "6.1.3 says 80% of the time, not in what pieces"),
    ("absence-hours", "6.1.3 says 80% of the time, not in what pieces"),
];

const TODAY_SOURCES: &[(&str, &str)] = &[
    ("pages", "Common Crawl, October 2024 (CC-MAIN-2024-42)"),
    ("others-per-page", "as the thesis: no newer count of files that no other page has"),
    ("page-size", "25 kB with gzip: an archive of Common Crawl is about 75 TB (arXiv 2404.09770)"),
    ("other-size", "Web Almanac 2024: 18 pictures of 1,054 KB a page"),
    ("changing", "as the thesis (Brewington and Cybenko 2000)"),
    ("others-changing", "as MIT's pictures in the thesis"),
    ("growing", "as the thesis"),
    ("links", "measured: docs/figures.md, links read"),
    ("new-links", "as the thesis"),
    ("gzip", "table 3.1 of the thesis"),
    ("first", "measured: 0.745 with the index, 0.732 without"),
    ("version", "measured: 0.118 with the index, 0.105 without"),
    ("other", "table 3.1 of the thesis"),
    ("index-size", "measured: a million captures"),
    ("record-size", "measured: fifty million URLs"),
    ("months", "assumed"),
    ("round-days", "our default"),
    ("fetchers", "decided: fetch once, copy between peers"),
    ("request-size", "counted: what we ask with, and its packet"),
    ("answer-size", "assumed"),
    ("resent", "HTTP Archive, November 2014: neither ETag nor Last-Modified"),
    ("link-size", "the goal; not measured yet"),
    ("leaving", "4.3.3 of the thesis: 76% of links stay on their site, whose place is one"),
    ("receivers", "decided: the owner is told"),
    ("copies", "our default"),
    ("nodes", "as many as it takes"),
    ("handed", "measured: docs/figures.md, what travels"),
    ("upkeep", "measured: a ring of 1,000 in the simulator"),
    ("grace-hours", "our default"),
    ("repair-share", "assumed"),
    ("disk", "assumed"),
    ("fill", "assumed: shares of the ring are not equal"),
    ("up", "assumed"),
    ("down", "assumed"),
    ("stay-days", "as the thesis"),
    ("session-hours", "assumed: a machine that is always on, and starts anew once a month"),
    ("absence-hours", "assumed"),
];
