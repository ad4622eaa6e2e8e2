//! Reading what other machines hold, for the pages of this one. Blocking, as the pages want it: called on threads that may wait.

use super::exchange::from_others;
use super::wire::{Ask, Bytes, ENTRIES_MAX, Hit, Reply, Status, TITLES_MAX};
use super::{Copies, CopiesError, Inner, health};
use herodotus_base::{Id, Sha256, Timestamp};
use herodotus_catalogue::Found;
use herodotus_page::host_of_key;
use herodotus_ring::placement::place_of_part;
use herodotus_store::{Capture, Entry, EntryKey, Error as StoreError, Totals};
use herodotus_web::archive::{Away, Elsewhere, Gathered, Page, PublicAddress};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

impl Elsewhere for Copies {
    fn is_here(&self, key: &str) -> bool {
        let place = self.inner.place_of(key);
        let (is_here, is_own) = {
            let custodian = self.inner.custodian();
            (custodian.is_here(place), custodian.owns(place))
        };
        // A copy may be a moment behind its owner. Of a page that it has, that is no harm; of one that it has not, the owner is asked.
        is_here && (is_own || self.inner.store.count(key).is_ok_and(|count| count > 0))
    }

    fn is_range_here(&self, from: &[u8], to: &[u8]) -> bool {
        match places_of_range(&self.inner, from, to) {
            Some(places) => places.into_iter().all(|place| self.inner.custodian().is_here(place)),
            None => self.inner.custodian().is_everything_here(),
        }
    }

    fn entries(&self, from: &[u8], to: &[u8], backwards: bool, max: usize) -> Result<Page, Away> {
        let max = max.clamp(1, ENTRIES_MAX);
        let ask = Ask::Entries { from: Bytes(from.to_vec()), to: Bytes(to.to_vec()), backwards, max: max as u32 };
        let inner = &self.inner;
        let lists = match places_of_range(inner, from, to) {
            Some(places) => {
                let mut lists = Vec::new();
                for place in places {
                    lists.push(entries_of(self.ask_holders(place, &ask)?));
                }
                lists
            }
            None => {
                let (replies, silent) = inner.runtime.block_on(inner.reach.ask_all(&ask));
                // In a range over many hosts the silent ones' are missing; others hold copies of most of it.
                if replies.is_empty() && silent > 0 {
                    return Err(Away::Silent { asked: silent });
                }
                replies.into_iter().map(|(_, reply)| entries_of(reply)).collect()
            }
        };
        Ok(merge(lists, backwards, max))
    }

    fn count(&self, key: &str) -> Result<u64, Away> {
        match self.ask_holders(self.inner.place_of(key), &Ask::Count { key: key.to_owned() })? {
            Reply::Count(count) => Ok(count),
            _ => Err(Away::Silent { asked: 1 }),
        }
    }

    fn capture(&self, id: &EntryKey) -> Result<Option<Capture>, Away> {
        let found = self.inner.runtime.block_on(from_others(&self.inner, id));
        found.map_err(|error| match error {
            CopiesError::Store(StoreError::Refused(_) | StoreError::Damaged(_)) => Away::False { asked: 1 },
            _ => Away::Silent { asked: 1 },
        })
    }

    fn blob(&self, _: &EntryKey, digest: &Sha256, offset: u64) -> Result<Box<dyn Read + Send>, Away> {
        // It came, checked, with the capture.
        let blob = self.inner.store.open_blob_at(digest, offset).map_err(|_| Away::Silent { asked: 1 })?;
        Ok(Box::new(blob))
    }

    fn totals(&self) -> Gathered<Totals> {
        let (mut statuses, silent) = self.statuses();
        statuses.extend(health::status(&self.inner));
        let mut value = Totals::default();
        for own in statuses.iter().map(|status| &status.own) {
            value.captures += own.captures;
            value.urls += own.urls;
            value.bytes_in += own.bytes_in;
            value.shared += own.shared;
            value.other_records += own.entries.saturating_sub(own.captures);
        }
        Gathered { value, asked: statuses.len() + silent, silent }
    }

    fn recent(&self, max: usize) -> Gathered<Vec<Entry>> {
        let (replies, silent) = self.inner.runtime.block_on(self.inner.reach.ask_all(&Ask::Recent { max: max as u32 }));
        let asked = replies.len() + silent + 1;
        let lists = replies.into_iter().flat_map(|(_, reply)| entries_of(reply).0);
        let by_name: BTreeMap<Vec<u8>, Entry> = lists.map(|entry| (entry.id.encode(), entry)).collect();
        let mut value: Vec<Entry> = by_name.into_values().collect();
        value.sort_by_key(|entry| std::cmp::Reverse(entry.id.time));
        value.truncate(max);
        Gathered { value, asked, silent }
    }

    fn search(&self, words: &str, max: usize) -> Gathered<Vec<Found>> {
        let ask = Ask::Search { words: words.to_owned(), max: max as u32 };
        let (replies, silent) = self.inner.runtime.block_on(self.inner.reach.ask_all(&ask));
        let asked = replies.len() + silent + 1;
        let mut best: Vec<Found> = Vec::new();
        // Each machine has put the best first; in turns, so that each machine's best are among ours.
        let mut lists: Vec<_> = replies.into_iter().map(|(_, reply)| hits_of(reply).into_iter()).collect();
        while best.len() < max {
            let before = best.len();
            for list in &mut lists {
                if let Some(hit) = list.find(|hit| !best.iter().any(|known| known.key == hit.key)) {
                    let time = Timestamp::from_millis_clamped(hit.time_ms);
                    best.push(Found { key: hit.key, url: hit.url, title: hit.title, time });
                }
            }
            if best.len() == before {
                break;
            }
        }
        best.truncate(max);
        Gathered { value: best, asked, silent }
    }

    fn titles(&self, keys: &[&str]) -> Vec<Option<String>> {
        let mut titles = vec![None; keys.len()];
        let mut by_place: BTreeMap<Id, Vec<usize>> = BTreeMap::new();
        for (n, key) in keys.iter().enumerate() {
            by_place.entry(self.inner.place_of(key)).or_default().push(n);
        }
        for (place, numbers) in by_place {
            for numbers in numbers.chunks(TITLES_MAX) {
                let asked = numbers.iter().map(|n| keys[*n].to_owned()).collect();
                if let Ok(Reply::Titles(found)) = self.ask_holders(place, &Ask::Titles { keys: asked }) {
                    numbers.iter().zip(found).for_each(|(n, title)| titles[*n] = title);
                }
            }
        }
        titles
    }

    fn public_address(&self, key: &str) -> Option<PublicAddress> {
        let place = self.inner.place_of(key);
        let told = self.inner.runtime.block_on(self.inner.holders(place)).ok()?;
        if told.owner.key == self.inner.reach.machine() {
            return None;
        }
        let reply = self.inner.runtime.block_on(self.inner.reach.ask(&told.owner, &Ask::Status)).ok()?;
        let Reply::Status(status) = reply else { return None };
        Some(PublicAddress { pages: status.public?, replay: None })
    }
}

impl Copies {
    /// Asks those who hold a place, its owner first, until one answers for all that lies there: what was acknowledged the owner has, and the
    /// others perhaps a moment later. What was remembered of them may be out of date: then once more.
    fn ask_holders(&self, place: Id, ask: &Ask) -> Result<Reply, Away> {
        let inner = &self.inner;
        let ask = Ask::At { place, ask: Box::new(ask.clone()) };
        inner.runtime.block_on(async {
            let mut asked = 0;
            for _ in 0..2 {
                let told = inner.holders(place).await.map_err(|_| Away::Silent { asked: 1 })?;
                let mut contacts = inner.reach.nearest(&told);
                contacts.sort_by_key(|contact| contact.key != told.owner.key);
                for contact in &contacts {
                    asked += 1;
                    match inner.reach.ask(contact, &ask).await {
                        Ok(Reply::NotHere) | Err(_) => {}
                        Ok(reply) => return Ok(reply),
                    }
                }
                inner.reach.forget(place);
            }
            Err(Away::Silent { asked })
        })
    }

    /// What every other machine says of itself, and how many said nothing.
    fn statuses(&self) -> (Vec<Status>, usize) {
        let (replies, silent) = self.inner.runtime.block_on(self.inner.reach.ask_all(&Ask::Status));
        let statuses = replies.into_iter().filter_map(|(_, reply)| match reply {
            Reply::Status(status) => Some(status),
            _ => None,
        });
        (statuses.collect(), silent)
    }
}

/// The places that a range of encoded entry keys touches, if it lies within one host.
fn places_of_range(inner: &Arc<Inner>, from: &[u8], to: &[u8]) -> Option<Vec<Id>> {
    let host = |bytes: &[u8]| {
        let text = bytes.split(|byte| *byte == 0).next().and_then(|key| std::str::from_utf8(key).ok())?;
        text.contains(')').then(|| host_of_key(text).to_owned())
    };
    let bucket = host(from)?;
    let prefix = format!("{bucket})");
    // The end may be written as the host with the byte after the bracket.
    let is_within = host(to).is_some_and(|end| end == bucket) || to == end_of(&prefix).as_slice();
    if !is_within {
        return None;
    }
    let key = std::str::from_utf8(from.split(|byte| *byte == 0).next()?).ok()?;
    let is_one_key =
        to.starts_with(key.as_bytes()) && to.get(key.len()).is_some_and(|byte| *byte <= 1) && from.contains(&0);
    if is_one_key {
        return Some(vec![inner.place_of(key)]);
    }
    let parts = inner.store.parts(&bucket).unwrap_or(1);
    Some((0..parts).map(|part| place_of_part(&bucket, part)).collect())
}

fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// The entries of a reply, and whether there may be more.
fn entries_of(reply: Reply) -> (Vec<Entry>, usize) {
    match reply {
        Reply::Entries(entries) => {
            let count = entries.len();
            (entries.iter().filter_map(super::wire::WireEntry::entry).collect(), count)
        }
        _ => (Vec::new(), 0),
    }
}

fn hits_of(reply: Reply) -> Vec<Hit> {
    match reply {
        Reply::Hits(hits) => hits,
        _ => Vec::new(),
    }
}

/// Puts lists in order together. Behind the end of a list that was cut off, others' entries may not be the next.
fn merge(lists: Vec<(Vec<Entry>, usize)>, backwards: bool, max: usize) -> Page {
    let before = |a: &[u8], b: &[u8]| if backwards { a > b } else { a < b };
    let mut bound: Option<Vec<u8>> = None;
    let mut all: BTreeMap<Vec<u8>, Entry> = BTreeMap::new();
    for (entries, told) in lists {
        if told >= max
            && let Some(last) = entries.last().map(|entry| entry.id.encode())
        {
            bound = Some(match bound.take() {
                Some(earlier) if before(&earlier, &last) => earlier,
                _ => last,
            });
        }
        all.extend(entries.into_iter().map(|entry| (entry.id.encode(), entry)));
    }
    let is_cut = bound.is_some();
    let known = |name: &[u8]| bound.as_deref().is_none_or(|bound| !before(bound, name));
    let mut entries: Vec<Entry> = all.into_iter().filter(|(name, _)| known(name)).map(|(_, entry)| entry).collect();
    if backwards {
        entries.reverse();
    }
    let more = is_cut || entries.len() > max;
    entries.truncate(max);
    Page { entries, more }
}
