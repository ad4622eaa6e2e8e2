//! Into how many parts a host is split, and where its keys then lie. Pure.

use herodotus_base::Id;
use herodotus_ring::placement::{Placement, bucket_of_key, place_of_key, place_of_part};
use herodotus_store::limits::HOST_PARTS_MAX;

/// What is known of a host's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::copies) struct Shape {
    /// Into how many it is split.
    pub(in crate::copies) parts: u32,
    /// Up to so many parts everything has moved. Once true, it stays so.
    pub(in crate::copies) settled: u32,
}

impl Shape {
    pub(in crate::copies) const WHOLE: Self = Self { parts: 1, settled: 1 };

    /// A host is split again only when the last time is settled: less than half of its parts was never said in good faith.
    pub(in crate::copies) fn new(parts: u32, settled: u32) -> Option<Self> {
        let is_one = |n: u32| n.is_power_of_two() && n <= HOST_PARTS_MAX;
        (is_one(parts) && is_one(settled)).then(|| Self { parts, settled: settled.clamp((parts / 2).max(1), parts) })
    }

    /// What two machines know together.
    pub(in crate::copies) fn join(self, other: Self) -> Self {
        let (parts, settled) = (self.parts.max(other.parts), self.settled.max(other.settled));
        Self { parts, settled: settled.clamp((parts / 2).max(1), parts) }
    }

    pub(in crate::copies) fn is_settled(self) -> bool {
        self.settled == self.parts
    }

    /// Where a key is to be looked for: where it belongs, and while not everything has moved there, where it was.
    pub(in crate::copies) fn places_of(self, key: &str) -> Vec<Id> {
        let mut places = vec![place_of_key(Placement::ByHost, key, self.parts)];
        let before = place_of_key(Placement::ByHost, key, self.settled);
        if before != places[0] {
            places.push(before);
        }
        places
    }

    /// Every place of a host. Where its entries were is among them: parts keep their places.
    pub(in crate::copies) fn places_of_all(self, bucket: &str) -> impl Iterator<Item = Id> + use<'_> {
        (0..self.parts).map(|part| place_of_part(bucket, part))
    }
}

/// Whether a key would lie on what is owned if its host had fewer parts than it has: whoever brought it here does not know how many.
pub(in crate::copies) fn lies_elsewhere(key: &str, parts: u32, owns: impl Fn(Id) -> bool) -> bool {
    let at = |parts| place_of_key(Placement::ByHost, key, parts);
    let fewer = std::iter::successors(Some(parts / 2), |n| Some(n / 2)).take_while(|n| *n > 0);
    parts > 1 && !owns(at(parts)) && fewer.into_iter().any(|parts| owns(at(parts)))
}

/// The different keys among entries in their order, counted up to a number.
pub(super) fn count_keys<E>(keys: impl Iterator<Item = Result<String, E>>, max: u64) -> Result<u64, E> {
    let (mut count, mut last) = (0, None);
    for key in keys {
        let key = Some(key?);
        if key != last {
            (count, last) = (count + 1, key);
        }
        if count >= max {
            break;
        }
    }
    Ok(count)
}

/// The host of a key, for those who place by host.
pub(in crate::copies) fn host_of(key: &str) -> &str {
    bucket_of_key(Placement::ByHost, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> impl Iterator<Item = String> {
        (0..200).map(|n| format!("org,example)/{n}"))
    }

    #[test]
    fn a_key_is_looked_for_where_it_belongs_and_where_it_was_until_all_have_moved() {
        let (moving, done) = (Shape::new(8, 4).unwrap(), Shape::new(8, 8).unwrap());
        let mut stay = 0;
        for key in keys() {
            let at = |parts| place_of_key(Placement::ByHost, &key, parts);
            assert_eq!(done.places_of(&key), [at(8)]);
            match at(8) == at(4) {
                true => assert_eq!(moving.places_of(&key), [at(8)]),
                false => assert_eq!(moving.places_of(&key), [at(8), at(4)]),
            }
            stay += usize::from(at(8) == at(4));
            let all: Vec<Id> = moving.places_of_all("org,example").collect();
            assert!(moving.places_of(&key).iter().all(|place| all.contains(place)));
        }
        assert!((60..140).contains(&stay), "half of them stay: {stay}");
    }

    #[test]
    fn of_two_that_differ_the_larger_counts() {
        let shape = |parts, settled| Shape::new(parts, settled).unwrap();
        assert_eq!(shape(2, 1).join(Shape::WHOLE), shape(2, 1));
        assert_eq!(shape(4, 4).join(shape(8, 4)), shape(8, 4));
        // What was split again was settled before.
        assert_eq!(shape(2, 1).join(shape(8, 4)), shape(8, 4));
        assert_eq!(shape(8, 1), shape(8, 4));
        assert_eq!(shape(2, 2).join(shape(2, 1)), shape(2, 2));
        assert_eq!(shape(2, 4), shape(2, 2));
        for (parts, settled) in [(0, 1), (3, 1), (2, 0), (1 << 20, 1), (2, 1 << 20)] {
            assert_eq!(Shape::new(parts, settled), None);
        }
    }

    #[test]
    fn a_key_for_another_part_is_told_from_one_that_was_never_ours() {
        for key in keys() {
            let at = |parts| place_of_key(Placement::ByHost, &key, parts);
            let ours = place_of_part("org,example", 0);
            assert_eq!(lies_elsewhere(&key, 4, |place| place == ours), at(4) != ours);
            assert!(!lies_elsewhere(&key, 1, |place| place == ours));
            assert!(!lies_elsewhere(&key, 4, |_| false), "the ring is mending, or it was never ours");
            assert!(!lies_elsewhere(&key, 4, |_| true));
        }
    }

    #[test]
    fn versions_of_a_url_count_once_and_no_more_is_read_than_needed() {
        let mut read = 0;
        let keys = ["a", "a", "b", "b", "b", "c", "d"].into_iter().map(|key| {
            read += 1;
            Ok::<_, ()>(key.to_owned())
        });
        assert_eq!(count_keys(keys, 3), Ok(3));
        assert_eq!(read, 6);
        assert_eq!(count_keys(["a", "a"].into_iter().map(|key| Ok::<_, ()>(key.to_owned())), 3), Ok(1));
        assert_eq!(count_keys([Err(())].into_iter(), 3), Err(()));
    }
}
