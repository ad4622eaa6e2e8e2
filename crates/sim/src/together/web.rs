//! A web of which everything is known.

use crate::chance::Chance;
use herodotus_page::{Link, LinkKind, WebUrl};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub struct Web {
    pages: BTreeMap<String, Vec<Link>>,
}

impl Web {
    /// Some pages on some hosts, with links to each other. Not everything can be reached from everywhere.
    pub fn new(chance: &mut Chance) -> Self {
        // Small ones come to their end often, and much of what can go wrong goes wrong there.
        let (hosts, pages) = match chance.happens(0.6) {
            true => (chance.between(3, 8), chance.between(4, 16)),
            false => (chance.between(4, 14), chance.between(14, 70)),
        };
        let names: Vec<String> = (0..pages)
            .map(|page| format!("http://h{}.example/{page}", if page < hosts { page } else { chance.below(hosts) }))
            .collect();
        let mut pages = BTreeMap::new();
        for (at, name) in names.iter().enumerate() {
            // Mostly on to the next few, so that the way to the last page is long; some back and across.
            let count = chance.between(0, 4);
            let mut targets: BTreeSet<&String> = (0..count)
                .filter_map(|_| match chance.happens(0.7) {
                    true => names.get(at + chance.between(1, 4)),
                    false => chance.pick(&names),
                })
                .collect();
            if chance.happens(0.8) {
                targets.extend(names.get(at + 1));
            }
            pages.insert(name.clone(), targets.into_iter().filter_map(|text| link_to(text)).collect());
        }
        Self { pages }
    }

    /// These pages, and where each leads.
    pub fn of(pages: &[(&str, &[&str])]) -> Self {
        let links = |to: &[&str]| to.iter().filter_map(|text| link_to(text)).collect();
        Self { pages: pages.iter().map(|(url, to)| ((*url).to_owned(), links(to))).collect() }
    }

    pub fn urls(&self) -> impl Iterator<Item = &String> {
        self.pages.keys()
    }

    pub fn links(&self, url: &str) -> &[Link] {
        self.pages.get(url).map_or(&[], |links| &links[..])
    }

    /// All that can be reached from there, with where it begins.
    pub fn reach<'a>(&self, from: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
        let mut waiting: Vec<String> = from.into_iter().cloned().collect();
        let mut found = BTreeSet::new();
        while let Some(url) = waiting.pop() {
            if found.insert(url.clone()) {
                waiting.extend(self.links(&url).iter().map(|link| link.url.as_str().to_owned()));
            }
        }
        found
    }
}

fn link_to(text: &str) -> Option<Link> {
    let url = WebUrl::parse(text).ok()?;
    Some(Link { url, kind: LinkKind::Page, nofollow: false })
}
