//! Lookups, counted against the truth: who was responsible among those that the asker could reach, when it asked or when it heard.

use serde::Serialize;
use std::time::Duration;

/// How many lookups ended how.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Tally {
    pub right: u64,
    /// Ended with a node that was not responsible.
    pub wrong: u64,
    /// Ended without an answer.
    pub failed: u64,
    /// Refused at once: by one that was no member, or that had too many under way.
    pub refused: u64,
    /// By hops, how many lookups took so many.
    pub hops: Vec<u64>,
    /// Nodes asked in all, of lookups that ended with an answer.
    pub asked: u64,
    /// Of those too, in milliseconds.
    pub took_ms: Vec<u32>,
    /// When the last one that was wrong, or failed, ended.
    pub last_wrong: Option<Duration>,
    pub last_failed: Option<Duration>,
    /// The first wrong answers, word for word.
    #[serde(skip)]
    pub wrongs: Vec<String>,
}

const WRONGS_MAX: usize = 3;

impl Tally {
    pub fn ended(&self) -> u64 {
        self.right + self.wrong + self.failed
    }

    pub fn count_hops(&mut self, hops: usize) {
        if self.hops.len() <= hops {
            self.hops.resize(hops + 1, 0);
        }
        self.hops[hops] += 1;
    }

    pub(crate) fn say_wrong(&mut self, sentence: impl FnOnce() -> String) {
        if self.wrongs.len() < WRONGS_MAX {
            self.wrongs.push(sentence());
        }
    }

    /// Of those that ended, the share that ended with the right node.
    pub fn share_right(&self) -> f64 {
        share(self.right, self.ended())
    }

    /// Of those that got an answer, the share whose answer was right.
    pub fn share_correct(&self) -> f64 {
        share(self.right, self.right + self.wrong)
    }

    pub fn hops_mean(&self) -> f64 {
        let sum: u64 = self.hops.iter().zip(0..).map(|(count, hops)| count * hops).sum();
        sum as f64 / self.hops.iter().sum::<u64>().max(1) as f64
    }

    pub fn asked_mean(&self) -> f64 {
        self.asked as f64 / (self.right + self.wrong).max(1) as f64
    }

    /// As many hops as that share of lookups took at most.
    pub fn hops_at(&self, share: f64) -> usize {
        let all: u64 = self.hops.iter().sum();
        let mut seen = 0;
        let found = self.hops.iter().position(|count| {
            seen += count;
            seen as f64 >= share * all as f64
        });
        found.unwrap_or(0)
    }

    /// As many milliseconds as that share of lookups took at most.
    pub fn took_ms_at(&self, share: f64) -> u32 {
        let mut all = self.took_ms.clone();
        all.sort_unstable();
        let at = (share * all.len() as f64).ceil() as usize;
        all.get(at.saturating_sub(1)).copied().unwrap_or(0)
    }

    /// What is wrong if the ring was quiet: everything must have been found.
    pub fn check_quiet(&self) -> Option<String> {
        let bad = self.wrong + self.failed + self.refused;
        (bad > 0 || self.right == 0).then(|| {
            format!(
                "of {} lookups {} ended with the wrong node, {} without any, {} were refused; {:?}",
                self.ended() + self.refused,
                self.wrong,
                self.failed,
                self.refused,
                self.wrongs
            )
        })
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_and_times_are_read_off_by_share() {
        let mut tally = Tally { right: 4, took_ms: vec![40, 10, 30, 20], ..Tally::default() };
        [1, 1, 2, 6].into_iter().for_each(|hops| tally.count_hops(hops));
        assert_eq!((tally.hops_at(0.5), tally.hops_at(0.75), tally.hops_at(1.0)), (1, 2, 6));
        assert_eq!((tally.took_ms_at(0.5), tally.took_ms_at(1.0)), (20, 40));
        assert!((tally.hops_mean() - 2.5).abs() < 1e-9);
        assert!(tally.check_quiet().is_none() && Tally::default().check_quiet().is_some());
    }
}
