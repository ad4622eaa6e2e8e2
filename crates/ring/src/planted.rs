//! Bugs put in on purpose. They exist only with the feature `planted`, which tests of the model and the simulator switch on: each
//! is one of the rules that the published Chord lacks, undone, and each must be found.

/// What to do wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Planted {
    #[default]
    Nothing,
    /// A small ring is treated as a large one: who is there is not known to all.
    SmallAsLarge,
    /// Who joins takes its successor only, not the list of its predecessor.
    JoinWithoutList,
    /// A nearer successor is adopted on hearsay, before it answered.
    AdoptUnasked,
    /// A dead successor stays where it is.
    KeepDeadHead,
    /// A dead predecessor makes no room for one that is farther.
    KeepDeadPredecessor,
    /// The list of a successor that answered is not taken over.
    ListNotTaken,
}

impl Planted {
    #[cfg(feature = "planted")]
    pub(crate) fn is(self, bug: Self) -> bool {
        self == bug
    }

    #[cfg(not(feature = "planted"))]
    pub(crate) const fn is(self, _: Self) -> bool {
        false
    }
}
