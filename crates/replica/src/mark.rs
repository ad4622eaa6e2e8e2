//! The digest by which entries are compared, and sums of them.

use herodotus_base::Sha256;
use serde::{Deserialize, Serialize};

/// Digests an entry's name and what is said of it. Equal marks: the same entry in the same state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Mark(pub [u8; 16]);

impl Mark {
    /// `state`: what is said of the entry, such as that it was removed, or the version of a record.
    pub fn of(name: &[u8], state: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(name.len() + state.len() + 24);
        bytes.extend_from_slice(b"herodotus mark 1");
        bytes.extend_from_slice(&(name.len() as u64).to_be_bytes());
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(state);
        let mut mark = [0; 16];
        mark.copy_from_slice(&Sha256::of(&bytes).0[..16]);
        Self(mark)
    }
}

/// What a set of entries comes to, in whatever order they came: equal sums, equal sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sum {
    pub count: u64,
    pub total: u128,
}

impl Sum {
    pub fn add(&mut self, mark: Mark) {
        self.count = self.count.wrapping_add(1);
        self.total = self.total.wrapping_add(u128::from_be_bytes(mark.0));
    }

    pub fn take(&mut self, mark: Mark) {
        self.count = self.count.wrapping_sub(1);
        self.total = self.total.wrapping_sub(u128::from_be_bytes(mark.0));
    }

    pub fn join(&mut self, other: Self) {
        self.count = self.count.wrapping_add(other.count);
        self.total = self.total.wrapping_add(other.total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_mind_the_order_and_what_was_added_can_be_taken() {
        let marks: Vec<_> = (0..9u8).map(|n| Mark::of(&[n], b"present")).collect();
        let (mut there, mut back) = (Sum::default(), Sum::default());
        marks.iter().for_each(|mark| there.add(*mark));
        marks.iter().rev().for_each(|mark| back.add(*mark));
        assert_eq!(there, back);
        back.take(marks[3]);
        assert_ne!(there, back);
        back.add(Mark::of(&[3], b"removed"));
        assert_ne!(there, back);
        marks.iter().for_each(|mark| there.take(*mark));
        assert_eq!(there, Sum::default());
    }
}
