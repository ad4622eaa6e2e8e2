//! How long single operations took: percentiles over every one of them, none averaged away.
//!
//! Two clocks run: the wall's, and that of the thread's own CPU time. On a machine that others use too, the first has the
//! scheduler's turns in it (milliseconds, in one operation of a hundred); the second is what the operation itself needed,
//! waiting for the disk not counted.

use anyhow::Result;
use nix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub(crate) struct Latency {
    /// Sorted, each.
    wall_ns: Vec<u64>,
    cpu_ns: Vec<u64>,
    /// From the first operation's beginning to the last one's end.
    pub(crate) wall_s: f64,
}

impl Latency {
    /// Times an operation for each item.
    pub(crate) fn of<T>(
        items: impl IntoIterator<Item = T>,
        mut operation: impl FnMut(T) -> Result<()>,
    ) -> Result<Self> {
        let (mut wall_ns, mut cpu_ns) = (Vec::new(), Vec::new());
        let started = Instant::now();
        let mut cpu = thread_cpu();
        for item in items {
            let before = Instant::now();
            operation(item)?;
            wall_ns.push(nanos(before.elapsed()));
            let now = thread_cpu();
            cpu_ns.push(nanos(now.saturating_sub(cpu)));
            cpu = now;
        }
        let wall_s = started.elapsed().as_secs_f64();
        Ok(Self::sorted(wall_ns, cpu_ns, wall_s))
    }

    /// What several threads measured at the same time.
    pub(crate) fn joined(parts: Vec<Self>) -> Self {
        let wall_s = parts.iter().map(|p| p.wall_s).fold(0.0, f64::max);
        let wall_ns = parts.iter().flat_map(|p| p.wall_ns.iter().copied()).collect();
        let cpu_ns = parts.iter().flat_map(|p| p.cpu_ns.iter().copied()).collect();
        Self::sorted(wall_ns, cpu_ns, wall_s)
    }

    fn sorted(mut wall_ns: Vec<u64>, mut cpu_ns: Vec<u64>, wall_s: f64) -> Self {
        wall_ns.sort_unstable();
        cpu_ns.sort_unstable();
        Self { wall_ns, cpu_ns, wall_s }
    }

    pub(crate) fn per_s(&self) -> f64 {
        self.wall_ns.len() as f64 / self.wall_s.max(1e-9)
    }

    /// The time within which this share of the operations were done.
    pub(crate) fn at(&self, share: f64) -> Duration {
        percentile(&self.wall_ns, share)
    }

    /// The CPU time within which this share of them were done.
    pub(crate) fn cpu_at(&self, share: f64) -> Duration {
        percentile(&self.cpu_ns, share)
    }

    pub(crate) fn max(&self) -> Duration {
        self.at(1.0)
    }
}

fn percentile(sorted_ns: &[u64], share: f64) -> Duration {
    let index = (sorted_ns.len() as f64 * share) as usize;
    let last = sorted_ns.len().saturating_sub(1);
    Duration::from_nanos(sorted_ns.get(index.min(last)).copied().unwrap_or(0))
}

fn thread_cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_all_operations() {
        let latency = Latency::sorted((1..=1000).rev().collect(), vec![7], 1.0);
        assert_eq!(latency.at(0.5).as_nanos(), 501);
        assert_eq!(latency.at(0.99).as_nanos(), 991);
        assert_eq!(latency.max().as_nanos(), 1000);
        assert_eq!(latency.cpu_at(0.99).as_nanos(), 7);
        assert_eq!(latency.per_s() as u64, 1000);
    }
}
