//! A host as the ring sees it: how many of its URLs are known, in how many parts they lie, and when it may be asked next.

use super::ring::parts_log;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Host {
    pub(super) known: u32,
    pub(super) parts_log: u32,
    /// As archived so far, so that a split can move it.
    pub(super) kept_bytes: u64,
    pub(super) pace: Pace,
}

/// One rate for the whole ring, granted in the order of asking.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The next request may be granted then …
    grant_at: u64,
    /// … and may reach the server then.
    reach_at: u64,
    /// Machines that have URLs of the host and a thread for it.
    pub(super) waiting: VecDeque<u32>,
    /// There is an event to come that grants.
    pub(super) is_due: bool,
    /// When the server saw the last request, kept apart from what decides, as a witness.
    seen_at: Option<u64>,
}

impl Host {
    pub(super) fn parts(&self) -> u32 {
        1 << self.parts_log
    }

    /// One more URL is known. Tells of how many parts there were, if there are more now.
    pub(super) fn learn(&mut self) -> Option<u32> {
        self.known += 1;
        let (before, now) = (self.parts_log, parts_log(self.known));
        self.parts_log = now;
        (now > before).then_some(1 << before)
    }
}

impl Pace {
    pub(super) fn may_go(&self, now: u64) -> bool {
        now >= self.grant_at && self.waiting.is_empty()
    }

    pub(super) fn next_grant(&self, now: u64) -> u64 {
        self.grant_at.max(now)
    }

    /// Grants a request that could reach the server at a time, and tells when it may. Grants are a gap apart; so are arrivals, however far away those are
    /// who ask: the nearer one waits.
    pub(super) fn grant(&mut self, now: u64, could_reach: u64, gap: u64) -> u64 {
        let reach = could_reach.max(self.reach_at);
        (self.grant_at, self.reach_at) = (now + gap, reach + gap);
        reach
    }

    /// The server sees a request. How long after the last one, if there was one.
    pub(super) fn witness(&mut self, reached: u64) -> Option<u64> {
        let last = self.seen_at.replace(reached)?;
        Some(reached.saturating_sub(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_machine_waits_for_the_request_of_a_far_one() {
        let mut pace = Pace::default();
        assert_eq!(pace.grant(0, 900, 1_000), 900);
        assert!(!pace.may_go(999) && pace.may_go(1_000));
        // Granted a gap later, but it would be there too soon.
        assert_eq!(pace.grant(1_000, 1_050, 1_000), 1_900);
        assert_eq!((pace.witness(900), pace.witness(1_900)), (None, Some(1_000)));
    }
}
