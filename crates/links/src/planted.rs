//! Bugs put in on purpose. They exist only with the feature `planted`, which tests of the simulator switch on; each must be found.

/// What to do wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Planted {
    #[default]
    Nothing,
    /// A flush says that everything is on the disk while it is still in memory: so links are acknowledged too soon.
    AckBeforeDisk,
    /// What lay in the outbox when the process ended is forgotten.
    ForgetAtCrash,
    /// What came from others and is not ours is dropped instead of sent on.
    DropRest,
    /// A link that comes back while it is under way is taken for the one that is under way, and goes with its acknowledgement.
    AckTakesReturned,
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
