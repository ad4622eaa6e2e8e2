//! A bounded memory: the oldest goes first. What is forgotten is asked, told or counted again, and never more than that.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Memory<K, V> {
    known: HashMap<K, (Instant, V)>,
    /// As they came; one that came again stands here more than once.
    order: VecDeque<(Instant, K)>,
    max: usize,
}

impl<K: Clone + Eq + Hash, V> Memory<K, V> {
    pub(super) fn new(max: usize) -> Self {
        Self { known: HashMap::new(), order: VecDeque::new(), max }
    }

    pub(super) fn put(&mut self, now: Instant, key: K, value: V) {
        self.order.push_back((now, key.clone()));
        self.known.insert(key, (now, value));
        while self.known.len() > self.max || self.order.len() > 2 * self.max {
            let Some((at, key)) = self.order.pop_front() else { return };
            if self.known.get(&key).is_some_and(|(since, _)| *since == at) {
                self.known.remove(&key);
            }
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.known.get(key).map(|(_, value)| value)
    }

    /// What is not older than that.
    pub(super) fn get_lately(&self, now: Instant, key: &K, age: Duration) -> Option<&V> {
        self.known.get(key).filter(|(at, _)| now.saturating_duration_since(*at) < age).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_newest_and_no_more_than_it_may() {
        let (mut memory, start) = (Memory::new(3), Instant::now());
        let at = |n: u64| start + Duration::from_secs(n);
        for n in 0..5_u64 {
            memory.put(at(n), n, n);
        }
        assert_eq!((0..5).filter(|n| memory.get(n).is_some()).collect::<Vec<_>>(), [2, 3, 4]);
        // One that comes again is as new as the last; however often, nothing grows.
        for n in 5..50 {
            memory.put(at(n), 2, n);
        }
        assert_eq!(memory.get(&2), Some(&49));
        assert!(memory.known.len() <= 3 && memory.order.len() <= 6);
        assert_eq!(memory.get_lately(at(50), &2, Duration::from_secs(10)), Some(&49));
        assert_eq!(memory.get_lately(at(60), &2, Duration::from_secs(10)), None);
    }
}
