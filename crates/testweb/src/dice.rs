//! Chance that can be asked twice: a throw depends only on what it is about.
//!
//! SplitMix64 (Steele, Lea, Flood 2014) over a folded list of keys. Not for secrets.

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a throw is about. Two topics never share their luck, even with equal keys. New topics go at the end, so that
/// old seeds keep their worlds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Topic {
    Site,
    Subject,
    Path,
    Life,
    Retired,
    Shape,
    Sentence,
    Volatile,
    Link,
    Table,
    News,
    Pictures,
    Picture,
    Redirect,
    Style,
    Gzip,
    Delay,
    Busy,
}

/// A fresh, endless row of throws about one thing.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64, topic: Topic, keys: &[u32]) -> Self {
        let start = mix(seed.wrapping_add(GOLDEN)) ^ (topic as u64).wrapping_mul(GOLDEN);
        Self(mix(start)).about(keys)
    }

    /// Throws about something more particular: the same as if these keys had stood behind the first ones.
    pub(crate) fn about(&self, keys: &[u32]) -> Self {
        Self(keys.iter().fold(self.0, |state, key| mix((state ^ u64::from(*key)).wrapping_add(GOLDEN))))
    }

    pub(crate) fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// From zero to one below `end`; zero if `end` is.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.throw()) * u128::from(end)) >> 64) as u64
    }

    /// The same, for the numbers of hosts, pages and rounds.
    pub(crate) fn below32(&mut self, end: u32) -> u32 {
        self.below(u64::from(end)) as u32
    }

    /// Both ends included.
    pub(crate) fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    pub(crate) fn percent(&mut self, share: u8) -> bool {
        self.below(100) < u64::from(share)
    }

    /// One of a list; nothing, of an empty one.
    pub(crate) fn pick(&mut self, list: &[&'static str]) -> &'static str {
        list.get(self.below(list.len() as u64) as usize).copied().unwrap_or_default()
    }
}

/// A fingerprint of bytes (FNV-1a, mixed): the ETag of a body.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let fold = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold))
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throws_depend_on_the_seed_the_topic_and_every_key() {
        let first = |seed, topic, keys: &[u32]| Dice::new(seed, topic, keys).throw();
        let base = first(1, Topic::Link, &[2, 3]);
        assert_eq!(base, first(1, Topic::Link, &[2, 3]));
        for other in [
            first(2, Topic::Link, &[2, 3]),
            first(1, Topic::News, &[2, 3]),
            first(1, Topic::Link, &[3, 2]),
            first(1, Topic::Link, &[2, 3, 0]),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn ranges_are_reached_at_both_ends_and_never_left() {
        let mut dice = Dice::new(7, Topic::Life, &[]);
        let throws: Vec<u64> = (0..1000).map(|_| dice.within(3, 6)).collect();
        assert_eq!((throws.iter().min(), throws.iter().max()), (Some(&3), Some(&6)));
        assert_eq!((dice.below(0), dice.pick(&[])), (0, ""));
        assert!((0..100).all(|_| dice.percent(100) && !dice.percent(0)));
    }
}
