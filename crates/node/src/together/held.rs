//! Visits that others are not told of yet: their pages are not copied, or the links that were found there are on their way.
//!
//! Promised: whoever takes over from a machine that is gone for good knows of no visit whose page or links went with it. It reads the page again, from the archive or,
//! where that has it not, from the site.

use crate::copies::Followed;
use herodotus_ledger::{Name, Record};
use std::collections::VecDeque;

/// Times that visits were held back, before nothing more is begun until copies are made again.
const HELD_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Held(VecDeque<Visits>);

#[derive(Debug)]
struct Visits {
    /// The outbox has let go of everything up to this when their links have arrived.
    sent: u64,
    copied: Followed,
    records: Vec<Record>,
}

impl Held {
    pub(super) fn hold(&mut self, sent: u64, copied: Followed, records: Vec<Record>) {
        if !records.is_empty() {
            self.0.push_back(Visits { sent, copied, records });
        }
    }

    /// What may be told by now. `is_aside`: pages of this key are not copied, however far the rest is. They keep nobody else's visits back, or one machine whose disk is full would stop every crawl.
    pub(super) fn take_ready(
        &mut self,
        arrived: u64,
        followed: Followed,
        is_aside: impl Fn(&str) -> bool,
    ) -> Vec<Record> {
        let is_copied = |record: &mut Record| match &record.name {
            Name::Url { key, .. } => !is_aside(key),
            Name::Crawl(_) => true,
        };
        let mut ready = Vec::new();
        self.0.retain_mut(|visits| {
            if visits.sent <= arrived && visits.copied <= followed {
                ready.extend(visits.records.extract_if(.., is_copied));
            }
            !visits.records.is_empty()
        });
        ready
    }

    pub(super) fn has_room(&self) -> bool {
        self.0.len() < HELD_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herodotus_ledger::CrawlId;

    fn visit(n: u8) -> Vec<Record> {
        let name = Name::Url { key: format!("org,example)/{n}"), crawl: CrawlId([0; 16]), spelling: 0 };
        vec![Record { name, version: 2, value: Vec::new() }]
    }

    fn ready(held: &mut Held, arrived: u64, followed: Followed) -> Vec<Record> {
        held.take_ready(arrived, followed, |_| false)
    }

    #[test]
    fn a_visit_is_told_when_its_links_have_arrived_and_its_page_is_copied() {
        let (begun, mut held) = (Followed::default(), Held::default());
        let copied = begun.after_now();
        held.hold(7, copied, visit(1));
        held.hold(9, copied, visit(2));
        held.hold(3, copied.after_now(), visit(3));
        held.hold(0, begun, Vec::new());
        assert_eq!(ready(&mut held, 9, begun), [], "no page is copied");
        assert_eq!(ready(&mut held, 6, copied), [], "no links of copied pages have arrived");
        assert_eq!(ready(&mut held, 7, copied), visit(1));
        assert_eq!(ready(&mut held, 9, copied), visit(2));
        assert_eq!(ready(&mut held, 9, copied.after_now()), visit(3));
        assert_eq!(ready(&mut held, u64::MAX, copied.after_now()), []);
    }

    #[test]
    fn a_page_that_some_machine_refuses_keeps_its_own_visit_back_and_no_other() {
        let (copied, mut held) = (Followed::default().after_now(), Held::default());
        held.hold(1, copied, [visit(1), visit(2)].concat());
        held.hold(1, copied, visit(3));
        let is_first = |key: &str| key.ends_with("/1");
        assert_eq!(held.take_ready(1, copied, is_first), [visit(2), visit(3)].concat());
        assert_eq!(held.take_ready(1, copied.after_now(), is_first), [], "it is not copied yet");
        assert_eq!(ready(&mut held, 1, copied), visit(1));
        assert!(held.0.is_empty());
    }

    #[test]
    fn with_too_many_nothing_more_is_begun() {
        let mut held = Held::default();
        (0..HELD_MAX).for_each(|_| held.hold(1, Followed::default(), visit(1)));
        assert!(!held.has_room());
        ready(&mut held, 1, Followed::default());
        assert!(held.has_room());
    }
}
