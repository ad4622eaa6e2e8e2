//! Every version of a URL: how many on which day, and a page of the list, newest first, each with how much it changed.
//!
//! The numbers come from one scan over the index, which reads no body; bodies are read only for the versions listed whose
//! digests differ, within a budget, and what was found out is remembered.

use super::cache::name_of;
use super::limits::{
    CHANGE_BYTES_MAX, CHANGE_BYTES_PER_LIST_MAX, NEAR_MAX, VERSIONS_COUNTED_MAX, VERSIONS_LISTED_MAX,
    VERSIONS_LISTED_OF_A_SECOND_MAX,
};
use super::lines::{Bag, Reading, read};
use super::title::{is_page, title_of};
use super::walk::near;
use super::{Change, DayCount, Version, Versions, YearCount};
use crate::answer::Trouble;
use crate::site::Site;
use herodotus_base::{Sha1, Timestamp};
use herodotus_store::{Entry, Kind, key_of};
use std::collections::BTreeMap;

/// `year`: whose days are told, and where the list begins, unless `before` says it: only versions before that moment are
/// listed, as [`Versions::next`] gave it.
pub(crate) fn versions(site: &Site, url: &str, year: Option<i32>, before: Option<&str>) -> Result<Versions, Trouble> {
    let before =
        before.map(|text| Timestamp::parse(text).map_err(|error| Trouble::Asked(error.to_string()))).transpose()?;
    let key = key_of(url);
    let counted = count(site, &key)?;
    let near = if counted.marks.is_empty() { near(site, &key, NEAR_MAX)? } else { Vec::new() };
    let (first, last) = (counted.marks.first(), counted.marks.last());
    let year = year.or_else(|| last.map(|mark| year_of(&mark.time.digits14()))).unwrap_or_else(this_year);
    let until = match before {
        Some(before) => Timestamp::from_millis_clamped(before.millis().saturating_sub(1)),
        None => end_of_year(year),
    };
    let (list, next) = list(site, &key, until)?;
    let (years, days) = calendar(&counted.marks, year);
    Ok(Versions {
        url: counted.url.unwrap_or_else(|| url.to_owned()),
        title: counted.page.and_then(|page| title_of(site, &page)),
        total: if counted.partial { site.archive().count(&key)? } else { counted.marks.len() as u64 },
        partial: counted.partial,
        first: first.map(|mark| mark.time.digits14()),
        last: last.map(|mark| mark.time.digits14()),
        years,
        year,
        days,
        list,
        next,
        near,
    })
}

fn year_of(stamp: &str) -> i32 {
    stamp.get(..4).and_then(|year| year.parse().ok()).unwrap_or_default()
}

fn this_year() -> i32 {
    year_of(&Timestamp::now().digits14())
}

fn end_of_year(year: i32) -> Timestamp {
    match year {
        ..0 => Timestamp::MIN,
        0..=9999 => Timestamp::parse_end(&format!("{year:04}")).unwrap_or(Timestamp::MAX),
        _ => Timestamp::MAX,
    }
}

/// What a calendar needs to know of a version.
struct Mark {
    time: Timestamp,
    /// The first bytes of the payload's digest; `None`: the same as before.
    digest: Option<u64>,
    is_good: bool,
}

struct Counted {
    /// Oldest first.
    marks: Vec<Mark>,
    /// As the newest version is spelled.
    url: Option<String>,
    /// The newest version that has a title.
    page: Option<Entry>,
    partial: bool,
}

fn count(site: &Site, key: &str) -> Result<Counted, Trouble> {
    let mut counted = Counted { marks: Vec::new(), url: None, page: None, partial: false };
    for (n, entry) in site.archive().versions(key, true).enumerate() {
        if n >= VERSIONS_COUNTED_MAX {
            counted.partial = true;
            break;
        }
        let entry = entry?;
        if !entry.is_capture() {
            continue;
        }
        let digest = entry.sha1.0.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
        counted.marks.push(Mark {
            time: entry.id.time,
            digest: digest.filter(|_| !is_unchanged(&entry)),
            is_good: is_good(&entry),
        });
        if counted.url.is_none() {
            counted.url = Some(entry.url.clone());
        }
        if counted.page.is_none() && is_page(&entry) {
            counted.page = Some(entry);
        }
    }
    counted.marks.reverse();
    Ok(counted)
}

/// The server said that nothing changed: the digest is that of an empty answer.
fn is_unchanged(entry: &Entry) -> bool {
    entry.kind == Kind::Revisit && (entry.status == Some(304) || entry.sha1 == Sha1::of(b""))
}

fn is_good(entry: &Entry) -> bool {
    match entry.status {
        Some(status) => matches!(status, 200..=299 | 304),
        // No HTTP message: a resource, or a revisit without a head.
        None => true,
    }
}

fn calendar(marks: &[Mark], year: i32) -> (Vec<YearCount>, Vec<DayCount>) {
    let mut years: BTreeMap<i32, YearCount> = BTreeMap::new();
    let mut days: BTreeMap<String, DayCount> = BTreeMap::new();
    let mut before = None;
    for mark in marks {
        let stamp = mark.time.digits14();
        let digest = mark.digest.or(before);
        let is_changed = digest != before;
        before = digest;
        let this = year_of(&stamp);
        let count = years.entry(this).or_insert_with(|| YearCount { year: this, months: [0; 12], versions: 0 });
        count.versions += 1;
        let month: usize = stamp.get(4..6).and_then(|month| month.parse().ok()).unwrap_or(1);
        if let Some(of_month) = count.months.get_mut(month.saturating_sub(1)) {
            *of_month += 1;
        }
        if this != year {
            continue;
        }
        let part = |from: usize, to: usize| stamp.get(from..to).unwrap_or_default();
        let day = format!("{}-{}-{}", part(0, 4), part(4, 6), part(6, 8));
        let count = days.entry(day.clone()).or_insert_with(|| DayCount {
            day,
            versions: 0,
            changed: 0,
            stamp: String::new(),
            only_other: true,
        });
        count.versions += 1;
        count.changed += u32::from(is_changed);
        count.only_other &= !mark.is_good;
        count.stamp = stamp;
    }
    (years.into_values().collect(), days.into_values().collect())
}

/// A version, and the one whose payload it stands for, if it is a revisit.
struct Row {
    entry: Entry,
    original: Option<Entry>,
}

impl Row {
    fn read(site: &Site, entry: Entry) -> Result<Self, Trouble> {
        let mut original = None;
        if entry.kind == Kind::Revisit
            && let Some(capture) = site.archive().read(&entry.id)?
        {
            original = site.archive().original_of(&capture)?;
        }
        Ok(Self { entry, original })
    }

    /// What a reader sees.
    fn payload(&self) -> &Entry {
        self.original.as_ref().unwrap_or(&self.entry)
    }

    fn version(&self, change: Option<Change>) -> Version {
        Version { change, ..Version::seen(&self.entry, self.original.as_ref()) }
    }
}

/// A version as its reader sees it: a revisit with what it stands for.
pub(super) fn seen_version(site: &Site, entry: &Entry) -> Result<Version, Trouble> {
    Ok(Row::read(site, entry.clone())?.version(None))
}

/// The versions up to a moment, newest first, and the moment to go on from.
fn list(site: &Site, key: &str, until: Timestamp) -> Result<(Vec<Version>, Option<String>), Trouble> {
    let mut listed: Vec<Entry> = Vec::new();
    // The last one is only there to tell what the one before it changed.
    let mut older = None;
    for entry in site.archive().versions_until(key, until).take(VERSIONS_COUNTED_MAX) {
        let entry = entry?;
        if !entry.is_capture() {
            continue;
        }
        let second = entry.id.time.floor_second();
        let is_same_second = listed.last().is_some_and(|last| last.id.time.floor_second() == second);
        let max = if is_same_second { VERSIONS_LISTED_OF_A_SECOND_MAX } else { VERSIONS_LISTED_MAX };
        if listed.len() >= max {
            older = Some(entry);
            break;
        }
        listed.push(entry);
    }
    let revisits = listed.iter().chain(&older).filter(|entry| entry.kind == Kind::Revisit);
    site.archive().fetch(&revisits.map(|entry| entry.id.clone()).collect::<Vec<_>>());
    let rows = listed.into_iter().map(|entry| Row::read(site, entry)).collect::<Result<Vec<_>, _>>()?;
    let older = older.map(|entry| Row::read(site, entry)).transpose()?;
    fetch_changed(site, &rows, older.as_ref());
    let next = rows.last().filter(|_| older.is_some()).map(|last| last.entry.id.time.digits14());
    let mut changes = Changes { site, budget: CHANGE_BYTES_PER_LIST_MAX, last: None };
    let mut versions = Vec::with_capacity(rows.len());
    let mut pairs = rows.iter().chain(&older).peekable();
    while let Some(newer) = pairs.next() {
        if versions.len() == rows.len() {
            break;
        }
        let change = match pairs.peek() {
            Some(older) => changes.between(older, newer),
            None => Change::First,
        };
        versions.push(newer.version(Some(change)));
    }
    Ok((versions, next))
}

/// Gets what will be compared, where that lies elsewhere, as far as the budget will last.
fn fetch_changed(site: &Site, rows: &[Row], older: Option<&Row>) {
    let rows: Vec<&Row> = rows.iter().chain(older).collect();
    let (mut ids, mut bytes) = (Vec::new(), 0);
    for pair in rows.windows(2) {
        let [newer, older] = [pair.first(), pair.last()].map(|row| row.map(|row| row.payload()));
        for entry in [newer, older].into_iter().flatten().filter(|_| newer.map(|e| e.sha1) != older.map(|e| e.sha1)) {
            let len = usize::try_from(entry.len).unwrap_or(usize::MAX);
            if len <= CHANGE_BYTES_MAX && bytes <= CHANGE_BYTES_PER_LIST_MAX && ids.last() != Some(&entry.id) {
                bytes += len;
                ids.push(entry.id.clone());
            }
        }
    }
    site.archive().fetch(&ids);
}

/// Tells how versions differ, as long as the budget lasts.
struct Changes<'a> {
    site: &'a Site,
    budget: usize,
    /// The version read last: the newer of the next pair is its older one.
    last: Option<([u8; 16], Option<Bag>)>,
}

impl Changes<'_> {
    fn between(&mut self, older: &Row, newer: &Row) -> Change {
        let (a, b) = (older.payload(), newer.payload());
        if a.sha1 == b.sha1 || is_unchanged(&newer.entry) && newer.original.is_none() {
            return Change::Same;
        }
        let bytes = i64::try_from(b.len).unwrap_or(i64::MAX).saturating_sub_unsigned(a.len);
        let shares = &self.site.caches().shares;
        let name = name_of(&[&a.id, &b.id]);
        if let Some(share) = shares.get(&name) {
            return Change::Changed { share, bytes };
        }
        let Some(after) = self.bag(b) else { return Change::Changed { share: None, bytes } };
        let before = self.bag(a);
        let Some(before) = before else { return Change::Changed { share: None, bytes } };
        let share = after.as_ref().zip(before.as_ref()).map(|(after, before)| after.share_changed(before));
        shares.insert(name, share);
        self.last = Some((name_of(&[&a.id]), before));
        Change::Changed { share, bytes }
    }

    /// The lines of a capture. The outer `None`: it was not looked at; the inner: it is no text.
    fn bag(&mut self, entry: &Entry) -> Option<Option<Bag>> {
        let name = name_of(&[&entry.id]);
        if let Some((_, bag)) = self.last.take_if(|(of, _)| *of == name) {
            return Some(bag);
        }
        let max = CHANGE_BYTES_MAX.min(self.budget);
        // What cannot be read is said where somebody asks for it; here it only has no share.
        let (reading, bytes) = read(self.site, entry, max).ok()?;
        self.budget -= bytes.min(self.budget);
        match reading {
            Reading::Lines(lines) => Some(Some(Bag::of(&lines))),
            Reading::NotText => Some(None),
            Reading::TooLarge => None,
        }
    }
}
