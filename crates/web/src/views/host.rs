//! A host: the steps of its paths as a tree, one level at a time, and what it is made of.
//!
//! Children are found by hopping from key to key: below a step, everything is one hop. So a folder with a million URLs in it costs
//! its parent as much as an empty one, and a page of 200 children is 200 hops, whatever the host.
//!
//! Keys sort `b`, `b-c`, `b/d`, `b?e`: a step, what lies below it, and its queries are not neighbours. A step that is a URL and a
//! folder too is shown once, where the URL sorts.

use super::limits::{
    CHILD_CAPTURES_COUNTED_MAX, CHILDREN_MAX, HOPS_MAX, HOST_CAPTURES_COUNTED_MAX, HOST_MEDIA_MAX, HOST_NUMBERS_TIME,
};
use super::walk::{behind, end_of, end_version};
use super::{Child, Host, MediaCount};
use crate::answer::{Trouble, if_sure};
use crate::site::Site;
use herodotus_base::limits::URL_BYTES_MAX;
use herodotus_page::{host_range, surt};
use herodotus_store::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

/// `path`: from the root of the host, `/` or `/a/b/`; with `?` at its end: the queries of a page. `from`: the key to go on
/// from, as [`Host::next`] gave it.
pub(crate) fn host(site: &Site, host: &str, path: &str, from: Option<&str>) -> Result<Host, Trouble> {
    let host = host.trim();
    if host.is_empty() || host.len() + path.len() > URL_BYTES_MAX || host.contains(['/', '?', '#', '@', '\\']) {
        return Err(Trouble::Asked("name a host, as in example.org or example.org:8080".to_owned()));
    }
    let (root, _) = host_range(host);
    let numbers = numbers(site, &root)?;
    if numbers.captures == 0 {
        return Err(Trouble::NotFound(format!("nothing of {host} is in the archive")));
    }
    let folder = Folder::new(&root, path);
    let (children, next) = folder.children(site, from)?;
    Ok(Host {
        host: host.to_owned(),
        path: folder.path,
        children,
        next,
        months: numbers.months.clone(),
        media: numbers.media.clone(),
        statuses: numbers.statuses.clone(),
        captures: numbers.captures,
        urls: numbers.urls,
        bytes: numbers.bytes,
        partial: numbers.partial,
    })
}

/// A path whose children are looked for.
struct Folder {
    /// As it is shown.
    path: String,
    /// What the keys of all below it begin with.
    prefix: String,
}

/// A child, and the key whose title it has. Titles are asked for together.
type Untitled = (Child, Option<String>);

/// How a key goes on behind the folder.
enum Step<'a> {
    /// `b`: it is a URL itself.
    Page(&'a str),
    /// `b/…`
    Below(&'a str),
    /// `b?…`
    Query(&'a str),
}

impl<'a> Step<'a> {
    fn of(rest: &'a str) -> Self {
        match rest.find(['/', '?']) {
            None => Self::Page(rest),
            Some(at) if rest.as_bytes().get(at) == Some(&b'/') => Self::Below(rest.get(..at).unwrap_or(rest)),
            Some(at) => Self::Query(rest.get(..at).unwrap_or(rest)),
        }
    }
}

impl Folder {
    /// `root`: `org,example)/`.
    fn new(root: &str, path: &str) -> Self {
        let path = path.trim();
        let mut path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        // Where the path is part of an address of ours, its question mark is escaped.
        if let Some(page) = path.strip_suffix("%3F").or_else(|| path.strip_suffix("%3f")) {
            path = format!("{page}?");
        }
        if !path.ends_with(['/', '?']) {
            path.push('/');
        }
        // The path as it stands in keys: of any host, since the root is known.
        let key = surt(&format!("http://h{}", path.trim_end_matches('?')));
        let step = key.split_once(")/").map_or("", |(_, step)| step);
        let mut prefix = format!("{root}{step}");
        let end = if path.ends_with('?') { '?' } else { '/' };
        if !prefix.ends_with(end) {
            prefix.push(end);
        }
        Self { path, prefix }
    }

    fn children(&self, site: &Site, from: Option<&str>) -> Result<(Vec<Child>, Option<String>), Trouble> {
        let (mut children, next) = self.untitled(site, from)?;
        let keys: Vec<&str> = children.iter().filter_map(|(_, key)| key.as_deref()).collect();
        let mut titles = site.archive().titles(&keys).into_iter();
        for (child, _) in children.iter_mut().filter(|(_, key)| key.is_some()) {
            child.title = titles.next().flatten();
        }
        Ok((children.into_iter().map(|(child, _)| child).collect(), next))
    }

    fn untitled(&self, site: &Site, from: Option<&str>) -> Result<(Vec<Untitled>, Option<String>), Trouble> {
        let end = end_of(&self.prefix);
        let mut children = Vec::new();
        let mut at = match from.filter(|from| from.starts_with(&self.prefix)) {
            Some(from) => from.to_owned(),
            None => {
                children.extend(self.itself(site)?);
                self.prefix.clone()
            }
        };
        for hop in 0.. {
            let Some(entry) = site.archive().first_at_or_after(&at)? else { break };
            let key = &entry.id.key;
            let Some(rest) = key.strip_prefix(&self.prefix).filter(|_| *key < end) else { break };
            if children.len() >= CHILDREN_MAX || hop >= HOPS_MAX {
                return Ok((children, Some(key.clone())));
            }
            let child;
            (child, at) = if self.prefix.ends_with('?') {
                (self.page(site, &entry, None)?, behind(key))
            } else {
                self.step(site, &entry, rest)?
            };
            children.extend(child);
        }
        Ok((children, None))
    }

    /// The URL of the folder itself, which its parent shows as the folder. (The host's root is found on the way.)
    fn itself(&self, site: &Site) -> Result<Option<Untitled>, Trouble> {
        let key = self.prefix.trim_end_matches(['/', '?']);
        if key.ends_with(')') {
            return Ok(None);
        }
        let Some(entry) = end_version(site, key, true)? else { return Ok(None) };
        self.page(site, &entry, Some(self.path.trim_end_matches('?')))
    }

    /// The child that a key belongs to, if this is where it is shown, and where the next begins.
    fn step(&self, site: &Site, entry: &Entry, rest: &str) -> Result<(Option<Untitled>, String), Trouble> {
        let archive = site.archive();
        let key = &entry.id.key;
        match Step::of(rest) {
            Step::Page(name) => {
                let below = format!("{key}/");
                let next = archive.first_at_or_after(&below)?.filter(|next| next.id.key.starts_with(&below));
                let next_at = behind(key);
                Ok(match next.filter(|_| !name.is_empty()) {
                    Some(next) => (self.folder(site, &next, name, Some(entry))?, next_at),
                    None => (self.page(site, entry, name.is_empty().then_some("/"))?, next_at),
                })
            }
            Step::Below(name) => {
                let page = format!("{}{name}", self.prefix);
                // `0` comes next after `/`.
                let next_at = format!("{page}0");
                let is_shown_already = if_sure(archive.count(&page))? > 0 && !name.is_empty();
                Ok((if is_shown_already { None } else { self.folder(site, entry, name, None)? }, next_at))
            }
            Step::Query(name) => {
                // `@` comes next after `?`.
                let all = format!("{}{name}?", self.prefix);
                let next = archive.first_at_or_after(&behind(key))?;
                let is_only = next.is_none_or(|next| !next.id.key.starts_with(&all));
                let child = if is_only { self.page(site, entry, None)? } else { self.queries(site, entry, &all)? };
                Ok((child, format!("{}{name}@", self.prefix)))
            }
        }
    }

    /// A URL without anything below it. `name`: if it is not the last step of its path.
    fn page(&self, site: &Site, entry: &Entry, name: Option<&str>) -> Result<Option<Untitled>, Trouble> {
        let key = &entry.id.key;
        let captures = site.archive().count(key)?;
        let Some(newest) = end_version(site, key, true)?.filter(|_| captures > 0) else { return Ok(None) };
        let target = target_of(&newest.url);
        let path = target.split('?').next().unwrap_or(target);
        let last = path.trim_end_matches('/').rfind('/').map_or(0, |slash| slash + 1);
        let name = match name {
            Some(name) => name,
            None if self.prefix.ends_with('?') => target.get(path.len()..).unwrap_or(target),
            None => target.get(last..).filter(|name| !name.is_empty()).unwrap_or(target),
        };
        let child = Child {
            name: name.to_owned(),
            path: target.to_owned(),
            is_folder: false,
            title: None,
            captures,
            more: false,
            url: Some(newest.url.clone()),
        };
        Ok(Some((child, Some(key.clone()))))
    }

    /// A step with more below it, and perhaps a URL itself.
    fn folder(
        &self,
        site: &Site,
        below: &Entry,
        name: &str,
        page: Option<&Entry>,
    ) -> Result<Option<Untitled>, Trouble> {
        let prefix = format!("{}{name}/", self.prefix);
        let (mut captures, more) = count(site, &prefix)?;
        let mut newest = None;
        if let Some(page) = page {
            captures += site.archive().count(&page.id.key)?;
            newest = end_version(site, &page.id.key, true)?;
        }
        if captures == 0 && !more {
            return Ok(None);
        }
        let name = self.spelled(below, name);
        let key = newest.as_ref().map(|newest| newest.id.key.clone());
        let child = Child {
            path: format!("{}{name}/", self.path),
            name: format!("{name}/"),
            is_folder: true,
            title: None,
            captures,
            more,
            url: newest.map(|newest| newest.url),
        };
        Ok(Some((child, key)))
    }

    /// A page with several queries.
    fn queries(&self, site: &Site, entry: &Entry, prefix: &str) -> Result<Option<Untitled>, Trouble> {
        let (captures, more) = count(site, prefix)?;
        if captures == 0 && !more {
            return Ok(None);
        }
        let name = prefix.strip_prefix(&self.prefix).unwrap_or(prefix).trim_end_matches('?');
        let name = self.spelled(entry, name);
        let path = format!("{}{name}?", self.path);
        let name = format!("{name}?");
        Ok(Some((Child { name, path, is_folder: true, url: None, title: None, captures, more }, None)))
    }

    /// The step as the URL spells it: keys are in lower case and unescaped. Where a key has left something out on the way (a session
    /// id, a doubled slash), the key's spelling it is.
    fn spelled(&self, entry: &Entry, name: &str) -> String {
        let path = target_of(&entry.url).split('?').next().unwrap_or_default();
        let depth = self.path.split('/').filter(|step| !step.is_empty()).count();
        let step = path.split('/').filter(|step| !step.is_empty()).nth(depth);
        let is_it = |step: &&str| surt(&format!("http://h/{step}")) == format!("h)/{name}");
        step.filter(is_it).unwrap_or(name).to_owned()
    }
}

/// Path and query of a URL.
fn target_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find(['/', '?', '#']).and_then(|at| rest.get(at..)).unwrap_or("/")
}

/// Captures whose keys begin so, as far as they are counted, and whether there are more.
fn count(site: &Site, prefix: &str) -> Result<(u64, bool), Trouble> {
    let mut captures = 0;
    for (n, entry) in site.archive().scan(prefix, &end_of(prefix), false).enumerate() {
        if n >= CHILD_CAPTURES_COUNTED_MAX {
            return Ok((captures, true));
        }
        captures += u64::from(entry?.is_capture());
    }
    Ok((captures, false))
}

/// What a host is made of.
#[derive(Debug)]
pub(super) struct Numbers {
    made: Instant,
    months: Vec<(String, u64)>,
    media: Vec<MediaCount>,
    statuses: Vec<(String, u64)>,
    captures: u64,
    urls: u64,
    bytes: u64,
    partial: bool,
}

/// Made once a minute; whoever comes meanwhile waits for them rather than making them too.
fn numbers(site: &Site, root: &str) -> Result<Arc<Numbers>, Trouble> {
    let hosts = &site.caches().hosts;
    hosts.remove_if(root, |numbers| numbers.made.elapsed() >= HOST_NUMBERS_TIME);
    // A host that is not here is not remembered: names cost nothing to invent.
    if site.archive().first_at_or_after(root)?.is_none_or(|entry| !entry.id.key.starts_with(root)) {
        return Ok(Arc::new(Numbers::default()));
    }
    hosts.get_or_insert_with(root, || count_host(site, root, HOST_CAPTURES_COUNTED_MAX).map(Arc::new))
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            made: Instant::now(),
            months: Vec::new(),
            media: Vec::new(),
            statuses: Vec::new(),
            captures: 0,
            urls: 0,
            bytes: 0,
            partial: false,
        }
    }
}

fn count_host(site: &Site, root: &str, max: usize) -> Result<Numbers, Trouble> {
    let mut numbers = Numbers::default();
    let mut months: BTreeMap<String, u64> = BTreeMap::new();
    let mut statuses: BTreeMap<String, u64> = BTreeMap::new();
    let mut media: HashMap<String, (u64, u64)> = HashMap::new();
    let mut last_key = String::new();
    for (n, entry) in site.archive().scan(root, &end_of(root), false).enumerate() {
        if n >= max {
            numbers.partial = true;
            break;
        }
        let entry = entry?;
        if !entry.is_capture() {
            continue;
        }
        numbers.captures += 1;
        numbers.bytes += entry.bytes_in;
        if entry.id.key != last_key {
            numbers.urls += 1;
            last_key = entry.id.key;
        }
        let stamp = entry.id.time.digits14();
        let month = format!("{}-{}", stamp.get(..4).unwrap_or_default(), stamp.get(4..6).unwrap_or_default());
        *months.entry(month).or_default() += 1;
        *statuses.entry(entry.status.map_or_else(|| "none".to_owned(), |status| status.to_string())).or_default() += 1;
        let is_known = media.contains_key(&entry.media) || media.len() < HOST_MEDIA_MAX;
        let name = if is_known { entry.media } else { "other".to_owned() };
        let of_media = media.entry(name).or_default();
        *of_media = (of_media.0 + 1, of_media.1 + entry.bytes_in);
    }
    numbers.months = months.into_iter().collect();
    numbers.statuses = statuses.into_iter().collect();
    numbers.media = media.into_iter().map(|(media, (captures, bytes))| MediaCount { media, captures, bytes }).collect();
    numbers.media.sort_by(|a, b| b.captures.cmp(&a.captures).then_with(|| a.media.cmp(&b.media)));
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::fixture::{Archive, page};

    #[test]
    fn numbers_that_cover_only_a_part_say_so() {
        let archive = Archive::of((0..5).map(|n| page(&format!("http://example.org/{n}"), "20260101", "<p>x")));
        for (max, captures, partial) in [(3, 3, true), (5, 5, false)] {
            let numbers = count_host(&archive.site, "org,example)/", max).unwrap();
            assert_eq!((numbers.captures, numbers.urls, numbers.partial), (captures, captures, partial), "{max}");
        }
    }
}
