//! Release: a machine that is no longer responsible for a capture lets it go. Not a removal, which is for ever and travels: what was
//! released is just not here any more, and is stored again if it comes again.
//!
//! From the seal on, no reader sees it, and counts and sums are without it. Its bytes stay until [`Store::compact`] has freed
//! what leans on them, as a removed one's do; one that comes back before that is made visible again where it is, since items
//! never change. After that nothing is left of it.
//!
//! **A release never hides what was put later.** Directories are read in the order in which they were written, so a put behind a
//! release counts. Compaction is the only one that moves operations, and always to the end; so, under the writer's lock, it
//! carries on a release only while the capture is still released, and a letting-go only while it is not here at all, that is,
//! when nothing was put since. The latter is needed only for packs that are damaged and so cannot be deleted: every other
//! pack that held the capture is gone before (packs are rewritten in order), and the index was persisted before that. Coming
//! back is an ordinary put. Within a batch, releases are sealed behind what is stored, and a store takes an earlier release
//! back.

use crate::Store;
use crate::error::Result;
use crate::index::EntryKey;
use crate::journal::Act;
use crate::store::Appended;

impl Store {
    /// Lets captures go, and says how many of them were here. Durable as an append is.
    pub fn release(&self, ids: &[EntryKey]) -> Result<u64> {
        let mut released = 0;
        for id in ids {
            released += u64::from(self.act(Act::Release(id.clone()))? == Appended::Stored);
        }
        Ok(released)
    }
}
