//! A host as the frontier sees it: what waits, what is in flight, and how soon it may be asked again.

use crate::code::{Reader, Writer};
use crate::error::{Error, Result};
use crate::keys::{Class, Place, UrlHash};
use crate::limits::{
    ADAPTIVE_DELAY_MS_MAX, BACKOFF_MS_FIRST, BACKOFF_MS_MAX, CRAWL_DELAY_MS_MAX, DELAY_PER_ANSWER, RETRY_AFTER_MS_MAX,
    STRANGER_DELAY_MS, UNREACHED_IN_A_ROW_MAX, WINDOW_URLS_MAX,
};
use crate::settings::Settings;
use crate::visit::{Answer, Pressure};
use herodotus_base::Timestamp;
use std::collections::{HashSet, VecDeque};
use std::net::IpAddr;

const FORM: u8 = 1;

/// A pause from now on. Clocks count whole milliseconds and cut off what is begun: one more makes sure.
pub(crate) fn after(now: Timestamp, pause_ms: u64) -> i64 {
    now.millis() + pause_ms as i64 + i64::from(pause_ms > 0)
}

#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) name: Box<str>,
    /// URLs known of it.
    pub(crate) urls: u64,
    pub(crate) fetched: u64,
    pub(crate) failed: u64,
    pub(crate) bytes: u64,
    /// URLs that wait to be fetched for the first time, or again after a failure.
    pub(crate) waiting: u64,

    // What follows lives as long as the run.
    /// What was read from the queues.
    pub(crate) window: VecDeque<(Place, UrlHash)>,
    /// What is in the window or in flight: a queue that is read from an earlier place must not give it out twice.
    pub(crate) taken: HashSet<UrlHash>,
    /// Where each queue is read on from. Behind it lie the remains of what was taken, which are slow to step over.
    pub(crate) cursors: [(u64, u64); 3],
    pub(crate) in_flight: u32,
    /// When it stands in the heap of hosts that wait for their time. What the heap says otherwise is out of date.
    pub(crate) scheduled_at_ms: Option<i64>,
    pub(crate) next_at_ms: i64,
    pub(crate) address: Option<IpAddr>,
    pub(crate) is_ours: bool,
    answer_ms: u64,
    crawl_delay_ms: u64,
    backoff_ms: u64,
    unreached: u32,
    /// Left alone for this run, and why.
    pub(crate) blocked: Option<&'static str>,
    pub(crate) settled: u32,
}

impl Host {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Puts a URL where it belongs among those already read, if it comes before one of them: what a page needs comes
    /// before other pages.
    pub(crate) fn take_early(&mut self, place: Place, url: UrlHash) -> bool {
        if self.window.len() >= WINDOW_URLS_MAX || self.window.back().is_none_or(|(last, _)| *last < place) {
            return false;
        }
        let at = self.window.partition_point(|(known, _)| known.class != Class::Fresh || known.order < place.order);
        if self.taken.insert(url) {
            self.window.insert(at, (place, url));
        }
        true
    }

    /// The time between two requests.
    pub(crate) fn delay_ms(&self, settings: &Settings) -> u64 {
        let asked = settings.delay.0;
        let floor = if self.is_ours { asked } else { asked.max(STRANGER_DELAY_MS) };
        // Politeness switched off for a server of our own is off altogether.
        let adaptive = if floor == 0 { 0 } else { (self.answer_ms * DELAY_PER_ANSWER).min(ADAPTIVE_DELAY_MS_MAX) };
        floor.max(adaptive).max(self.crawl_delay_ms)
    }

    pub(crate) fn heed(&mut self, crawl_delay_ms: u64) {
        self.crawl_delay_ms = self.crawl_delay_ms.max(crawl_delay_ms.min(CRAWL_DELAY_MS_MAX));
    }

    /// Learns from an answer when it may be asked again.
    pub(crate) fn learn(&mut self, settings: &Settings, now: Timestamp, answer: &Answer) {
        if answer.address.is_some() {
            self.address = answer.address;
            self.is_ours = !answer.stranger;
        }
        if answer.reached {
            self.unreached = 0;
            // A moving mean, so that one slow page does not slow a whole site.
            self.answer_ms = (self.answer_ms * 3 + answer.took_ms) / 4;
        } else {
            self.unreached += 1;
        }
        self.backoff_ms = match answer.pressure {
            Some(pressure) => self.backoff(pressure),
            None => 0,
        };
        let pause = self.delay_ms(settings).max(self.backoff_ms);
        let at_ms = after(now, pause);
        // Until its first answer a host is a stranger. One that turns out to be ours need not wait like one.
        self.next_at_ms = if self.is_ours { at_ms } else { self.next_at_ms.max(at_ms) };
    }

    fn backoff(&self, pressure: Pressure) -> u64 {
        let doubled = (self.backoff_ms * 2).clamp(BACKOFF_MS_FIRST, BACKOFF_MS_MAX);
        pressure.retry_after_ms.map_or(doubled, |asked| asked.min(RETRY_AFTER_MS_MAX).max(doubled.min(asked)))
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.unreached >= UNREACHED_IN_A_ROW_MAX
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes.push(FORM);
        out.number(self.urls).number(self.fetched).number(self.failed).number(self.bytes).number(self.waiting);
        out.text(&self.name);
        out.bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes, "the record of a host");
        let form: u8 = from.small()?;
        if form != FORM {
            return Err(Error::Newer { found: form, known: FORM });
        }
        let (urls, fetched, failed) = (from.number()?, from.number()?, from.number()?);
        let (bytes, waiting) = (from.number()?, from.number()?);
        Ok(Self { urls, fetched, failed, bytes, waiting, ..Self::new(from.text()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::Span;

    fn answer(took_ms: u64) -> Answer {
        Answer { address: Some([192, 0, 2, 1].into()), stranger: true, took_ms, reached: true, pressure: None }
    }

    #[test]
    fn strangers_get_half_a_second_whatever_was_asked() {
        let settings = Settings { delay: Span(0), ..Settings::default() };
        let mut host = Host::new("example.org");
        assert_eq!(host.delay_ms(&settings), 500);
        host.learn(&settings, Timestamp::default(), &answer(1));
        assert_eq!((host.delay_ms(&settings), host.next_at_ms), (500, 501));
        host.learn(&settings, Timestamp::default(), &Answer { stranger: false, ..answer(1) });
        assert_eq!((host.delay_ms(&settings), host.next_at_ms), (0, 0));
    }

    #[test]
    fn a_slow_host_is_asked_less_often() {
        let settings = Settings { delay: Span(500), ..Settings::default() };
        let mut host = Host::new("example.org");
        for _ in 0..20 {
            host.learn(&settings, Timestamp::default(), &answer(1_000));
        }
        assert!((4_900..=5_000).contains(&host.delay_ms(&settings)), "{}", host.delay_ms(&settings));
        host.heed(60_000);
        assert_eq!(host.delay_ms(&settings), 60_000);
        host.heed(u64::MAX);
        assert_eq!(host.delay_ms(&settings), CRAWL_DELAY_MS_MAX);
    }

    #[test]
    fn a_busy_host_is_left_alone_longer_each_time_and_as_long_as_it_asks() {
        let settings = Settings::default();
        let mut host = Host::new("example.org");
        let busy = |retry_after_ms| Answer { pressure: Some(Pressure { retry_after_ms }), ..answer(1) };
        let mut pauses = Vec::new();
        for _ in 0..3 {
            host.next_at_ms = 0;
            host.learn(&settings, Timestamp::default(), &busy(None));
            pauses.push(host.next_at_ms);
        }
        assert_eq!(pauses, [5_001, 10_001, 20_001]);
        for (asked, pause) in [(120_000, 120_001), (u64::MAX, RETRY_AFTER_MS_MAX as i64 + 1)] {
            host.next_at_ms = 0;
            host.learn(&settings, Timestamp::default(), &busy(Some(asked)));
            assert_eq!(host.next_at_ms, pause);
        }
        host.next_at_ms = 0;
        host.learn(&settings, Timestamp::default(), &answer(1));
        assert_eq!(host.next_at_ms, 1_001);
    }

    #[test]
    fn a_host_record_comes_back_as_it_was_written() {
        let host = Host { urls: 9, fetched: 1, failed: 2, bytes: 1 << 40, waiting: 7, ..Host::new("example.org") };
        let back = Host::decode(&host.encode()).unwrap();
        assert_eq!((back.urls, back.bytes, back.waiting, &*back.name), (9, 1 << 40, 7, "example.org"));
        assert!(Host::decode(&host.encode()[..5]).is_err());
    }
}
