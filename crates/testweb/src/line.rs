//! A line of limited width: all that a server says goes through it, one answer behind the other, as over a cable.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// As wide as the machine's own until it is narrowed.
#[derive(Debug, Default)]
pub(crate) struct Line(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// None: any.
    bytes_per_s: Option<u64>,
    /// When what was sent before is through.
    free: Option<Instant>,
}

impl Line {
    pub(crate) fn narrow(&self, bytes_per_s: Option<u64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = State { bytes_per_s, free: None };
    }

    /// When so many bytes are through that are sent now.
    fn through(&self, now: Instant, bytes: usize) -> Instant {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes_per_s) = state.bytes_per_s else { return now };
        let begins = state.free.map_or(now, |free| free.max(now));
        let ends = begins + Duration::from_secs_f64(bytes as f64 / bytes_per_s.max(1) as f64);
        state.free = Some(ends);
        ends
    }

    /// Waits until so many bytes are through.
    pub(crate) fn pass(&self, bytes: usize) {
        let now = Instant::now();
        let wait = self.through(now, bytes).saturating_duration_since(now);
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_go_through_a_line_one_behind_the_other() {
        let (line, now) = (Line::default(), Instant::now());
        assert_eq!(line.through(now, 1 << 30), now, "a line that nobody narrowed");
        line.narrow(Some(1_000));
        let s = Duration::from_secs;
        assert_eq!(line.through(now, 2_000), now + s(2));
        assert_eq!(line.through(now + s(1), 3_000), now + s(5), "behind the first");
        assert_eq!(line.through(now + s(9), 1_000), now + s(10), "what was not used is not saved up");
    }
}
