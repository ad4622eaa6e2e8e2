//! How long single operations took: percentiles over every one of them, none averaged away.

use anyhow::Result;
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub(crate) struct Latency {
    /// Sorted.
    ns: Vec<u64>,
    /// From the first operation's beginning to the last one's end.
    pub(crate) wall_s: f64,
}

impl Latency {
    /// Times an operation for each item.
    pub(crate) fn of<T>(items: impl IntoIterator<Item = T>, mut operation: impl FnMut(T) -> Result<()>) -> Result<Self> {
        let mut ns = Vec::new();
        let started = Instant::now();
        for item in items {
            let before = Instant::now();
            operation(item)?;
            ns.push(nanos(before.elapsed()));
        }
        let wall_s = started.elapsed().as_secs_f64();
        ns.sort_unstable();
        Ok(Self { ns, wall_s })
    }

    /// What several threads measured at the same time.
    pub(crate) fn joined(parts: Vec<Self>) -> Self {
        let wall_s = parts.iter().map(|p| p.wall_s).fold(0.0, f64::max);
        let mut ns: Vec<u64> = parts.into_iter().flat_map(|p| p.ns).collect();
        ns.sort_unstable();
        Self { ns, wall_s }
    }

    pub(crate) fn per_s(&self) -> f64 {
        self.ns.len() as f64 / self.wall_s.max(1e-9)
    }

    /// The time within which this share of the operations were done.
    pub(crate) fn at(&self, share: f64) -> Duration {
        let last = self.ns.len().saturating_sub(1);
        let index = (self.ns.len() as f64 * share) as usize;
        Duration::from_nanos(self.ns.get(index.min(last)).copied().unwrap_or(0))
    }

    pub(crate) fn max(&self) -> Duration {
        self.at(1.0)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_all_operations() {
        let latency = Latency { ns: (1..=1000).collect(), wall_s: 1.0 };
        assert_eq!(latency.at(0.5).as_nanos(), 501);
        assert_eq!(latency.at(0.99).as_nanos(), 991);
        assert_eq!(latency.max().as_nanos(), 1000);
        assert_eq!(latency.per_s() as u64, 1000);
    }
}
