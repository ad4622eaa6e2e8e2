//! What the pages need of whoever knows the other machines of a ring, to answer from all of them.
//!
//! Everything here may wait for the network, so that it is called only on threads that may block; but [`Elsewhere::is_here`] and
//! [`Elsewhere::is_range_here`], which are asked for every request and must answer from memory. Answers are believed in so far as
//! the other side checked them; `archive` looks once more at what it can see for itself.

use herodotus_base::Sha256;
use herodotus_catalogue::Found;
use herodotus_store::{Capture, Entry, EntryKey, Totals};
use std::fmt::Debug;
use std::io::Read;

/// The other machines of a ring.
pub trait Elsewhere: Send + Sync + Debug {
    /// This machine holds a filled copy of the place of this key: what its own store says of it is the whole answer.
    fn is_here(&self, key: &str) -> bool;

    /// The same for every place that a range of encoded entry keys touches, as in a ring of fewer machines than copies.
    fn is_range_here(&self, _from: &[u8], _to: &[u8]) -> bool {
        false
    }

    /// Entries of the ring with `from <= key < to` (encoded entry keys), in order, or backwards from the end of the range: at most
    /// `max`, or fewer where that would be too many bytes. The caller comes back behind the last one. A range within one
    /// host is asked of its holders, any other of every machine. Removed ones are left out.
    fn entries(&self, from: &[u8], to: &[u8], backwards: bool, max: usize) -> Result<Page, Away>;

    /// How many captures of a key its holders have.
    fn count(&self, key: &str) -> Result<u64, Away>;

    /// A whole capture, checked against its digests, from the nearest live copy. `None`: nobody who should hold it has it.
    fn capture(&self, id: &EntryKey) -> Result<Option<Capture>, Away>;

    /// The large body of a capture from an offset on. Every byte that comes out was checked; what cannot be is an error, and so is
    /// whatever ends it before its end.
    fn blob(&self, id: &EntryKey, digest: &Sha256, offset: u64) -> Result<Box<dyn Read + Send>, Away>;

    /// Of the whole ring, this machine included, every object counted once.
    fn totals(&self) -> Gathered<Totals>;

    /// What came last to the others, the newest first.
    fn recent(&self, max: usize) -> Gathered<Vec<Entry>>;

    /// Pages of the others with these words in their titles.
    fn search(&self, words: &str, max: usize) -> Gathered<Vec<Found>>;

    /// The newest titles that the holders of these keys know, in the order of the keys. A title is an ornament: whoever does not
    /// answer knows none.
    fn titles(&self, keys: &[&str]) -> Vec<Option<String>>;

    /// How people reach the machine that answers for a key; `None`: that is this one, or it has no such address. Two machines
    /// that each take the other for it would send a reader to and fro: whoever is not sure says nothing.
    fn public_address(&self, key: &str) -> Option<PublicAddress>;
}

/// Some entries, in the order asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub entries: Vec<Entry>,
    /// There may be more behind the last of them, which then is not missing.
    pub more: bool,
}

/// What was put together from the answers of many machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered<T> {
    pub value: T,
    /// Machines that were asked, this one included.
    pub asked: usize,
    /// Those of them that did not answer: what only they know is missing.
    pub silent: usize,
}

/// Why there is no answer from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Away {
    /// It may go better the next time.
    #[error("none of the machines that hold this answered ({asked} were asked)")]
    Silent { asked: usize },
    /// Nothing was found, and too many of those who may have it are away to say that there is nothing. It may go better the next time.
    #[error("nothing was found on the machines that are there, and too many are away to say that there is nothing")]
    Unsure,
    /// The others are at fault, all of them: their disks, or their honesty.
    #[error("what the machines that hold this gave fails its digest, so that none of it is shown ({asked} were asked)")]
    False { asked: usize },
}

/// How people reach a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicAddress {
    /// `https://archive.example.org`
    pub pages: String,
    /// Archived content, where that has a name of its own: `https://replay.example.org`, or `https://*.replay.example.org`.
    pub replay: Option<String>,
}
