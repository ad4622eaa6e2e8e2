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
    /// A crawl is over when everybody rests once.
    OneWave,
    /// Links on their way do not keep a crawl from its end.
    UnsentForgotten,
    /// Nobody looks whether those who answered are the whole circle.
    ArcsUnchecked,
    /// A part answers for what is ours before it has taken over what others knew of it.
    AnswersEarly,
    /// What was begun is counted from nought in each life.
    LivesAlike,
    /// Seeds are taken in when a part is opened, and not when one of them becomes ours.
    SeedsOnce,
    /// Who has links of a crawl that was called complete does not say so.
    EndIsFinal,
    /// Links are acknowledged and known to the frontier while the records of them are not on the disk.
    RecordsUnsynced,
    /// A later word about a crawl counts, whatever whoever said it had heard.
    LastWordCounts,
}

impl Planted {
    #[cfg(feature = "planted")]
    pub fn is(self, bug: Self) -> bool {
        self == bug
    }

    #[cfg(not(feature = "planted"))]
    pub const fn is(self, _: Self) -> bool {
        false
    }
}
