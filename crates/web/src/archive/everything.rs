//! All that the machines of a ring hold, as one source that is read from its beginning to its end: what an export of the ring is made from.

use super::{Archive, Away, Elsewhere, Holdings};
use crate::answer::Trouble;
use herodotus_base::{Sha256, Timestamp};
use herodotus_catalogue::Catalogue;
use herodotus_store::archive::Source;
use herodotus_store::{Blobs, Capture, Entry, EntryKey, Error, Holder, Result, Store};
use std::sync::Arc;

/// This machine's store and what lies elsewhere, each capture once.
#[derive(Debug)]
pub struct Everything {
    holdings: Holdings,
}

impl Everything {
    pub fn new(store: Store, catalogue: Arc<Catalogue>, elsewhere: Arc<dyn Elsewhere>) -> Self {
        let holdings = Holdings::new(store, catalogue);
        holdings.join(elsewhere, false);
        Self { holdings }
    }

    fn archive(&self) -> Archive<'_> {
        self.holdings.archive(true)
    }
}

impl Holder for Everything {
    type Error = Error;

    fn versions_until(&self, key: &str, time: Timestamp) -> impl Iterator<Item = Result<Entry>> {
        self.archive().versions_until(key, time).map(|entry| entry.map_err(of_list))
    }

    fn versions_after(&self, key: &str, time: Timestamp) -> impl Iterator<Item = Result<Entry>> {
        self.archive().versions_after(key, time).map(|entry| entry.map_err(of_list))
    }

    fn read(&self, id: &EntryKey) -> Result<Option<Capture>> {
        self.archive().read(id).map_err(|trouble| match trouble {
            // One capture that nobody can give says nothing of the others.
            Trouble::Away(away) => Error::Damaged(format!("{}: {away}", id.key)),
            other => of_list(other),
        })
    }

    fn is_damage(error: &Error) -> bool {
        matches!(error, Error::Damaged(_))
    }
}

impl Source for Everything {
    fn entries(&self, from: &str, to: &str) -> impl Iterator<Item = Result<Entry>> {
        self.archive().scan(from, to, false).map(|entry| entry.map_err(of_list))
    }

    fn blobs(&self, id: &EntryKey) -> Arc<dyn Blobs> {
        match self.holdings.afar.get() {
            Some(afar) => afar.blobs(&self.holdings.store, id),
            None => Arc::new(self.holdings.store.clone()),
        }
    }

    /// Nobody knows all of the ring's payloads: the next machine may have the same.
    fn may_share(&self, _: &Sha256) -> bool {
        true
    }
}

fn of_list(trouble: Trouble) -> Error {
    match trouble {
        Trouble::Store(error) => error,
        Trouble::Away(away) => asking(away),
        _ => asking(Away::Silent { asked: 1 }),
    }
}

fn asking(away: Away) -> Error {
    Error::Disk { doing: "asking the other machines of the ring".to_owned(), source: std::io::Error::other(away) }
}
