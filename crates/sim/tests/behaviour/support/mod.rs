//! What several tests of the simulator share.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs all these seeds on all cores and gives what became of them, in order.
pub(crate) fn on_all_cores<T: Send>(seeds: Range<u64>, run: impl Fn(u64) -> T + Sync) -> Vec<(u64, T)> {
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut ends: Vec<(u64, T)> = std::thread::scope(|scope| {
        let work = || {
            let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < seeds.end);
            std::iter::from_fn(take).map(|seed| (seed, run(seed))).collect::<Vec<_>>()
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    ends.sort_by_key(|(seed, _)| *seed);
    ends
}
