//! Reading what other machines hold, for the pages of this one. Blocking, as the pages want it: called on threads that may wait.

use super::exchange::{blob_from_others, from_others};
use super::far_blob::FarBlob;
use super::reach::GATHER_WAIT;
use super::split::{self, Shape};
use super::voices::{self, Voices};
use super::wire::{Ask, Bytes, ENTRIES_MAX, Hit, Reply, Status, TITLES_MAX};
use super::{Copies, CopiesError, Inner, desk, health};
use herodotus_base::{Id, Sha256, Timestamp};
use herodotus_catalogue::Found;
use herodotus_page::host_of_key;
use herodotus_ring::Contact;
use herodotus_ring::placement::Placement;
use herodotus_store::{Capture, Entry, EntryKey, Error as StoreError, Totals};
use herodotus_web::archive::{Away, Elsewhere, Gathered, Page, PublicAddress};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Places that are asked at once for one answer: more would only queue at the other end.
const PLACES_AT_ONCE: usize = 16;
/// Times that a question is asked again because the host turned out to be split into more parts: it doubles no faster than that.
const SHAPES_MAX: usize = 4;

impl Elsewhere for Copies {
    fn is_here(&self, key: &str) -> bool {
        self.comes_first();
        let places = self.inner.places_here(key);
        let (is_here, is_own) = {
            let custodian = self.inner.custodian();
            let all = |is: &dyn Fn(Id) -> bool| places.iter().all(|place| is(*place));
            (all(&|place| custodian.is_here(place)), all(&|place| custodian.owns(place)))
        };
        // A copy may be a moment behind its owner. Of a page that it has, that is no harm; of one that it has not, the owner is asked, who may have to say that it is not sure.
        let is_sure = || !places.iter().any(|place| self.inner.is_unsure_of(*place, key));
        is_here && (is_own && is_sure() || self.inner.store.count(key).is_ok_and(|count| count > 0))
    }

    fn is_range_here(&self, from: &[u8], to: &[u8]) -> bool {
        self.comes_first();
        let custodian = || self.inner.custodian();
        match reach_of(&self.inner, from, to) {
            Range::Key(key) => self.inner.places_here(&key).into_iter().all(|place| custodian().is_here(place)),
            Range::Host(bucket) => {
                self.inner.shape_here(&bucket).places_of_all(&bucket).all(|place| custodian().is_here(place))
            }
            Range::Many => custodian().is_everything_here(),
        }
    }

    fn entries(&self, from: &[u8], to: &[u8], backwards: bool, max: usize) -> Result<Page, Away> {
        let max = max.clamp(1, ENTRIES_MAX);
        let ask = Ask::Entries { from: Bytes(from.to_vec()), to: Bytes(to.to_vec()), backwards, max: max as u32 };
        let inner = &self.inner;
        let lists = match reach_of(inner, from, to) {
            Range::Key(key) => self.ask_key(&key, &ask)?.into_iter().map(entries_of).collect(),
            Range::Host(bucket) => {
                let places = |shape: Shape| shape.places_of_all(&bucket).collect();
                let replies = inner.runtime.block_on(ask_host(inner, &bucket, places, &ask))?;
                replies.into_iter().map(entries_of).collect()
            }
            Range::Many => {
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
        let replies = self.ask_key(key, &Ask::Count { key: key.to_owned() })?;
        let count_of = |reply: &Reply| if let Reply::Count(count) = reply { Some(*count) } else { None };
        let counts: Vec<u64> = replies.iter().filter_map(count_of).collect();
        if let [.., _, _] = counts[..] {
            // On its way from one place to another: what is in both counts once.
            let (from, to) = (format!("{key}\0"), format!("{key}\u{1}"));
            let page = self.entries(from.as_bytes(), to.as_bytes(), false, ENTRIES_MAX)?;
            let seen = page.entries.iter().filter(|entry| entry.is_capture()).count() as u64;
            return Ok(counts.into_iter().fold(seen, u64::max));
        }
        counts.first().copied().ok_or(Away::Silent { asked: 1 })
    }

    fn capture(&self, id: &EntryKey) -> Result<Option<Capture>, Away> {
        // Whoever asks here has not found it in the store: what is there all the same cannot be read.
        if self.inner.store.entry(id).is_ok_and(|entry| entry.is_some()) {
            self.inner.come_upon_damage(id);
        }
        let found = self.inner.runtime.block_on(from_others(&self.inner, id));
        found.map_err(|error| match error {
            CopiesError::Store(StoreError::Refused(_) | StoreError::Damaged(_)) => Away::False { asked: 1 },
            _ => Away::Silent { asked: 1 },
        })
    }

    fn blob(&self, id: &EntryKey, digest: &Sha256, offset: u64) -> Result<Box<dyn Read + Send>, Away> {
        let silent = |_| Away::Silent { asked: 1 };
        let inner = &self.inner;
        let capture = self.capture(id)?.ok_or(Away::Silent { asked: 1 })?;
        if offset == 0 {
            let len = capture.main.body.len();
            return Ok(Box::new(FarBlob::open(inner, id, *digest, len).map_err(silent)?));
        }
        // The digest is of the whole: a part of it can be believed only of a body that is here, and was checked.
        inner.runtime.block_on(blob_from_others(inner, id, &capture)).map_err(silent)?;
        Ok(Box::new(inner.store.open_blob_at(digest, offset).map_err(|_| Away::Silent { asked: 1 })?))
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
        // Where a key belongs, and where it was for those that have no title there.
        for nth in 0..2 {
            let mut by_place: BTreeMap<Id, Vec<usize>> = BTreeMap::new();
            for (n, key) in keys.iter().enumerate().filter(|(n, _)| titles[*n].is_none()) {
                let places = self.inner.runtime.block_on(split::places_to_read(&self.inner, key, false));
                if let Some(place) = places.ok().and_then(|places| places.get(nth).copied()) {
                    by_place.entry(place).or_default().push(n);
                }
            }
            for (place, numbers) in by_place {
                for numbers in numbers.chunks(TITLES_MAX) {
                    let asked = numbers.iter().map(|n| keys[*n].to_owned()).collect();
                    let ask = Ask::At { place, ask: Box::new(Ask::Titles { keys: asked }) };
                    let replies = self.inner.runtime.block_on(ask_place(&self.inner, place, &ask));
                    for reply in replies.unwrap_or_default() {
                        let Reply::Titles(found) = reply else { continue };
                        numbers.iter().zip(found).for_each(|(n, title)| titles[*n] = titles[*n].take().or(title));
                    }
                }
            }
        }
        titles
    }

    fn public_address(&self, key: &str) -> Option<PublicAddress> {
        let places = self.inner.runtime.block_on(split::places_to_read(&self.inner, key, false)).ok()?;
        // On its way from one place to another, two machines may each take the other for it.
        let [place] = places[..] else { return None };
        let told = self.inner.runtime.block_on(self.inner.holders(place)).ok()?;
        if told.owner.key == self.inner.reach.machine() {
            return None;
        }
        let reply = self.inner.runtime.block_on(self.inner.reach.ask(&told.owner, &Ask::Status)).ok()?;
        let Reply::Status(status) = reply else { return None };
        Some(PublicAddress { pages: status.public?, replay: None })
    }
}

impl Inner {
    /// Whether there is nothing of a key at a place that is ours, and that is not to say that there is nothing. Asked for every request: while nobody is away, only memory is looked at.
    pub(super) fn is_unsure_of(&self, place: Id, key: &str) -> bool {
        let is_all_here = self.custodian().is_all_here(place, usize::from(self.settings.durable_on));
        !is_all_here && self.store.count(key).is_ok_and(|count| count == 0)
    }
}

impl Copies {
    /// Asks those who hold a key: at one place, or at two while it moves from one to the other.
    fn ask_key(&self, key: &str, ask: &Ask) -> Result<Vec<Reply>, Away> {
        let inner = &self.inner;
        let replies = inner.runtime.block_on(async {
            match inner.placement {
                Placement::ByHost => ask_host(inner, split::host_of(key), |shape| shape.places_of(key), ask).await,
                Placement::ByUrl => {
                    let place = inner.place_of(key);
                    let ask = Ask::At { place, ask: Box::new(ask.clone()) };
                    ask_place(inner, place, &ask).await
                }
            }
        });
        voices::together(replies?).ok_or(Away::Unsure)
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

/// Asks at places of a host. Whoever is asked may know that it is split into more parts than we think: then again, elsewhere.
async fn ask_host(
    inner: &Arc<Inner>,
    bucket: &str,
    places: impl Fn(Shape) -> Vec<Id>,
    ask: &Ask,
) -> Result<Vec<Reply>, Away> {
    for _ in 0..SHAPES_MAX {
        let shape = split::shape(inner, bucket).await.map_err(|_| Away::Silent { asked: 1 })?;
        let replies = ask_places(inner, bucket, shape.parts, places(shape), ask).await?;
        let said = replies.iter().filter_map(|reply| match reply {
            Reply::Parts { parts, settled } => Shape::new(*parts, *settled),
            _ => None,
        });
        match said.reduce(Shape::join) {
            None => return Ok(replies),
            Some(said) => inner.heard(bucket, said),
        }
    }
    Err(Away::Silent { asked: 1 })
}

/// Asks at places, some at once. Ends where one of them cannot be asked, or knows better.
async fn ask_places(
    inner: &Arc<Inner>,
    bucket: &str,
    parts: u32,
    places: Vec<Id>,
    ask: &Ask,
) -> Result<Vec<Reply>, Away> {
    let (mut waiting, mut replies) = (places.into_iter(), Vec::new());
    let mut under_way = JoinSet::new();
    loop {
        while under_way.len() < PLACES_AT_ONCE
            && let Some(place) = waiting.next()
        {
            let (inner, bucket, ask) = (inner.clone(), bucket.to_owned(), Box::new(ask.clone()));
            under_way.spawn(async move { ask_place(&inner, place, &Ask::Within { place, bucket, parts, ask }).await });
        }
        match under_way.join_next().await {
            Some(Ok(said)) => {
                let said = said?;
                let is_better_known = said.iter().any(|reply| matches!(reply, Reply::Parts { .. }));
                replies.extend(said);
                if is_better_known {
                    return Ok(replies);
                }
            }
            Some(Err(_)) => return Err(Away::Silent { asked: 1 }),
            None => return Ok(replies),
        }
    }
}

/// Asks the owner of a place: what was acknowledged it has, and others perhaps a moment later. If it does not answer for the place, all who hold
/// copies are the answer together. What was remembered of them may be out of date: then once more.
async fn ask_place(inner: &Arc<Inner>, place: Id, ask: &Ask) -> Result<Vec<Reply>, Away> {
    let is_ours = {
        let custodian = inner.custodian();
        custodian.owns(place) && custodian.is_here(place)
    };
    if is_ours {
        let ask = plain(ask);
        let read = inner.blocking(move |inner| desk::read_at(inner, place, ask)).await;
        return read.map(|reply| vec![reply]).map_err(|_| Away::Silent { asked: 1 });
    }
    let mut asked = 0;
    for _ in 0..2 {
        let told = inner.holders(place).await.map_err(|_| Away::Silent { asked: 1 })?;
        let mut contacts = inner.reach.nearest(&told);
        asked += contacts.len();
        let mut is_owner_silent = false;
        if told.owner.key != inner.reach.machine() {
            match inner.reach.ask(&told.owner, ask).await {
                // It is being filled, and may have this all the same.
                Ok(Reply::NotHere) => {}
                Ok(reply) => return Ok(vec![reply]),
                // Everything that was acknowledged somebody else has too; but that may be only the machine that took it in, which nobody asks here.
                Err(_) => {
                    contacts.retain(|contact| contact.key != told.owner.key);
                    is_owner_silent = true;
                }
            }
        }
        let mut voices = ask_holders(inner, contacts, ask).await;
        if is_owner_silent {
            voices.miss();
        }
        if let Some(replies) = voices.verdict() {
            return Ok(replies);
        }
        inner.reach.forget(place);
    }
    Err(Away::Silent { asked })
}

/// Asks all who hold a place at once.
async fn ask_holders(inner: &Arc<Inner>, holders: Vec<Contact>, ask: &Ask) -> Voices {
    let mut under_way = JoinSet::new();
    for holder in holders {
        let (reach, ask) = (inner.reach.clone(), ask.clone());
        let asking = async move {
            Ok::<_, CopiesError>(match reach.ask(&holder, &ask).await? {
                Reply::NotHere => (reach.ask(&holder, &plain(&ask)).await?, false),
                reply => (reply, true),
            })
        };
        under_way.spawn(async move { tokio::time::timeout(GATHER_WAIT, asking).await });
    }
    let mut voices = Voices::default();
    while let Some(heard) = under_way.join_next().await {
        match heard {
            Ok(Ok(Ok((reply, is_sure)))) => voices.hear(reply, is_sure),
            _ => voices.miss(),
        }
    }
    voices
}

/// A question without where it is asked: answered by whoever has something, whether or not that is all.
fn plain(ask: &Ask) -> Ask {
    match ask {
        Ask::At { ask, .. } | Ask::Within { ask, .. } => Ask::clone(ask),
        other => other.clone(),
    }
}

/// What a range of encoded entry keys touches.
enum Range {
    Key(String),
    /// Some of one host, and nothing else.
    Host(String),
    Many,
}

fn reach_of(inner: &Inner, from: &[u8], to: &[u8]) -> Range {
    match (range_of(from, to), inner.placement) {
        // Its URLs lie everywhere.
        (Range::Host(_), Placement::ByUrl) => Range::Many,
        (range, _) => range,
    }
}

fn range_of(from: &[u8], to: &[u8]) -> Range {
    let Some(key) = from.split(|byte| *byte == 0).next().and_then(|key| std::str::from_utf8(key).ok()) else {
        return Range::Many;
    };
    if one_key(from, to).is_some() {
        return Range::Key(key.to_owned());
    }
    let bucket = host_of_key(key);
    let paths = format!("{bucket})/");
    match key.starts_with(&paths) && to <= end_of(&paths).as_slice() {
        true => Range::Host(bucket.to_owned()),
        false => Range::Many,
    }
}

/// The key, if a range of encoded entry keys is of one.
pub(super) fn one_key<'a>(from: &'a [u8], to: &[u8]) -> Option<&'a str> {
    let zero = from.iter().position(|byte| *byte == 0)?;
    let key = from.get(..zero)?;
    let is_one = to.starts_with(key) && to.get(key.len()).is_some_and(|byte| *byte <= 1);
    if is_one { std::str::from_utf8(key).ok() } else { None }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_of_one_key_or_of_one_host_or_of_many() {
        let range = |from: &str, to: &str| match range_of(from.as_bytes(), to.as_bytes()) {
            Range::Key(key) => format!("key {key}"),
            Range::Host(bucket) => format!("host {bucket}"),
            Range::Many => "many".to_owned(),
        };
        assert_eq!(range("org,example)/a\0", "org,example)/a\u{1}"), "key org,example)/a");
        assert_eq!(range("org,example)/a\0x", "org,example)/a\0y"), "key org,example)/a");
        assert_eq!(range("org,example)/a", "org,example)/b"), "host org,example");
        assert_eq!(range("org,example)/", "org,example)0"), "host org,example");
        assert_eq!(range("org,example)/b\0x", "org,example)0"), "host org,example");
        assert_eq!(range("org,example)/", "org,example)1"), "many");
        assert_eq!(range("dns:example.org\0", "dns:example.org\u{1}"), "key dns:example.org");
        assert_eq!(range("org,example)/a\0", "org,example)/b\0"), "host org,example");
        assert_eq!(range("org,example)/a", "org,example,sub)/b"), "many");
        assert_eq!(range("org,", "org-"), "many");
        assert_eq!(range("", "\u{7f}"), "many");
    }
}
