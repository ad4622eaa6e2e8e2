//! Where things are: every URL of the web read as a thing, and every thing written as its URL.
//!
//! A path carries its thing's number, so reading one means writing what should be there and comparing. Nothing needs
//! a table, and no second spelling of a path is accepted.

use crate::dice::{Dice, Topic};
use crate::limits::{LISTING_PAGES, SITEMAP_PAGES};
use crate::{Web, prose, words};

/// A thing on a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Page 0 is the front page.
    Page(u32),
    /// A picture that a page owns.
    Picture {
        page: u32,
        picture: u32,
    },
    /// A short address that redirects to a page.
    Short(u32),
    /// A list of pages; together they lead to all that exist.
    Listing(u32),
    Robots,
    Sitemap,
    SitemapPart(u32),
    Style,
    Logo,
}

/// What a host is, as far as its template shows it.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) host: u32,
    pub(crate) name: String,
    pub(crate) class: &'static str,
    pub(crate) title: String,
    pub(crate) motto: String,
    /// Degrees on the colour wheel.
    pub(crate) hue: u32,
}

/// The part of every site that its robots.txt asks robots to leave alone.
pub(crate) const CLOSED: &str = "/staff/";
/// Where links lead that lead nowhere.
pub(crate) const LOST: &str = "/lost/";

/// Share of pages in the closed part, and of those with a short address.
const CLOSED_PERCENT: u8 = 3;
const SHORT_PERCENT: u8 = 8;

impl Web {
    pub(crate) fn host_name(&self, host: u32) -> String {
        let word = words::HOSTS.get(host as usize % words::HOSTS.len()).copied().unwrap_or_default();
        format!("{word}-{host}.test")
    }

    pub(crate) fn host_number(&self, name: &str) -> Option<u32> {
        let host = name.strip_suffix(".test")?.rsplit_once('-')?.1.parse().ok()?;
        (host < self.config().hosts && self.host_name(host) == name).then_some(host)
    }

    pub(crate) fn site(&self, host: u32) -> Site {
        let mut dice = self.dice(Topic::Site, &[host]);
        let kind = dice.below(words::SITES.len() as u64) as usize;
        let (class, title, motto, _) = words::SITES.get(kind).copied().unwrap_or_default();
        Site {
            host,
            name: self.host_name(host),
            class,
            title: prose::fill(title, &mut dice),
            motto: prose::fill(motto, &mut dice),
            hue: dice.below32(360),
        }
    }

    pub(crate) fn dice(&self, topic: Topic, keys: &[u32]) -> Dice {
        Dice::new(self.config().seed, topic, keys)
    }

    /// The title of a page other than the front page. It never changes.
    pub(crate) fn subject(&self, host: u32, page: u32) -> String {
        let mut dice = self.dice(Topic::Subject, &[host, page]);
        prose::fill(dice.pick(words::SUBJECTS), &mut dice)
    }

    pub(crate) fn page_path(&self, host: u32, page: u32) -> String {
        if page == 0 {
            return "/".to_owned();
        }
        let mut dice = self.dice(Topic::Path, &[host, page]);
        let closed = dice.percent(CLOSED_PERCENT);
        let shape = dice.below(10);
        if !closed && shape == 0 {
            return format!("/catalogue?room={}&item={page}", dice.within(1, 40));
        }
        let kind = self.dice(Topic::Site, &[host]).below(words::SITES.len() as u64) as usize;
        let sections = words::SITES.get(kind).map_or(&[""; 4], |site| &site.3);
        let section = if closed { CLOSED.trim_matches('/') } else { dice.pick(sections) };
        let slug = prose::slug(&self.subject(host, page));
        let end = if shape < 3 { "/" } else { ".html" };
        format!("/{section}/{slug}-{page}{end}")
    }

    pub(crate) fn picture_path(&self, host: u32, page: u32, picture: u32) -> String {
        format!("/images/{}-{page}-{picture}.png", prose::slug(&self.subject(host, page)))
    }

    /// How many pictures a page has of its own.
    pub(crate) fn pictures(&self, host: u32, page: u32) -> u32 {
        self.dice(Topic::Pictures, &[host, page]).within(0, u64::from(self.config().pictures_max)) as u32
    }

    /// The status with which the page's short address redirects, if it has one.
    pub(crate) fn short_status(&self, host: u32, page: u32) -> Option<u16> {
        let mut dice = self.dice(Topic::Redirect, &[host, page]);
        let status = [301, 301, 301, 302, 307, 308].get(dice.below(6) as usize).copied();
        status.filter(|_| page > 0 && dice.percent(SHORT_PERCENT))
    }

    pub(crate) fn listing_count(&self) -> u32 {
        self.config().pages_per_host.div_ceil(LISTING_PAGES)
    }

    /// Zero where one sitemap holds all.
    pub(crate) fn sitemap_part_count(&self) -> u32 {
        let parts = self.config().pages_per_host.div_ceil(SITEMAP_PAGES);
        if parts > 1 { parts } else { 0 }
    }

    pub(crate) fn path(&self, host: u32, place: Place) -> String {
        match place {
            Place::Page(page) => self.page_path(host, page),
            Place::Picture { page, picture } => self.picture_path(host, page, picture),
            Place::Short(page) => format!("/p/{page}"),
            Place::Listing(listing) => format!("/pages/{listing}/"),
            Place::Robots => "/robots.txt".to_owned(),
            Place::Sitemap => "/sitemap.xml".to_owned(),
            Place::SitemapPart(part) => format!("/sitemap-{part}.xml"),
            Place::Style => "/static/site.css".to_owned(),
            Place::Logo => "/static/logo.png".to_owned(),
        }
    }

    /// The thing that a path names, at whatever round.
    pub(crate) fn place(&self, host: u32, path: &str) -> Option<Place> {
        let place = self.guess(path)?;
        let known = match place {
            Place::Page(page) => page < self.config().pages_per_host,
            Place::Picture { page, picture } => {
                page < self.config().pages_per_host && (1..=self.pictures(host, page)).contains(&picture)
            }
            Place::Short(page) => page < self.config().pages_per_host && self.short_status(host, page).is_some(),
            Place::Listing(listing) => listing < self.listing_count(),
            Place::SitemapPart(part) => part < self.sitemap_part_count(),
            Place::Robots | Place::Sitemap | Place::Style | Place::Logo => true,
        };
        (known && self.path(host, place) == path).then_some(place)
    }

    /// What a path would name if everything but its numbers were right.
    fn guess(&self, path: &str) -> Option<Place> {
        let last_number = |text: &str| text.rsplit(['-', '/', '=']).next()?.parse::<u32>().ok();
        Some(match path {
            "/" => Place::Page(0),
            "/robots.txt" => Place::Robots,
            "/sitemap.xml" => Place::Sitemap,
            "/static/site.css" => Place::Style,
            "/static/logo.png" => Place::Logo,
            path if path.starts_with("/p/") => Place::Short(last_number(path)?),
            path if path.starts_with("/pages/") => Place::Listing(last_number(path.strip_suffix('/')?)?),
            path if path.starts_with("/sitemap-") => Place::SitemapPart(last_number(path.strip_suffix(".xml")?)?),
            path if path.starts_with("/images/") => {
                let (page, picture) = path.strip_suffix(".png")?.rsplit_once('-')?;
                Place::Picture { page: last_number(page)?, picture: picture.parse().ok()? }
            }
            path => {
                let stem = path.strip_suffix(".html").or_else(|| path.strip_suffix('/')).unwrap_or(path);
                Place::Page(last_number(stem)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn web() -> Web {
        Web::new(Config { hosts: 30, pages_per_host: 2500, ..Config::default() })
    }

    #[test]
    fn every_place_is_found_again_by_its_path() {
        let web = web();
        for host in [0, 7, 29] {
            let numbered = (0..2500).flat_map(|page| {
                let pictures = (1..=web.pictures(host, page)).map(move |picture| Place::Picture { page, picture });
                let short = web.short_status(host, page).map(|_| Place::Short(page));
                pictures.chain(short).chain([Place::Page(page)])
            });
            let fixed = [Place::Robots, Place::Sitemap, Place::Style, Place::Logo];
            let parts = (0..3).map(Place::SitemapPart).chain((0..63).map(Place::Listing));
            for place in numbered.chain(fixed).chain(parts) {
                assert_eq!(web.place(host, &web.path(host, place)), Some(place));
            }
        }
    }

    #[test]
    fn no_other_spelling_names_a_place() {
        let web = web();
        let path = web.page_path(3, 17);
        let bent = [path.replace("17", "017"), path.replace("17", "+17"), format!("{path}?"), path.to_uppercase()];
        let strange =
            ["", "*", "//", "/p/", "/p/0", "/p/99999999999", "/pages/63/", "/sitemap-3.xml", "/images/-.png", "/é-1/"];
        for path in bent.iter().map(String::as_str).chain(strange) {
            assert_eq!(web.place(3, path), None, "{path}");
        }
        assert_eq!(web.host_number("orchard-24.test"), Some(24));
        for name in ["orchard-30.test", "orchard-1.test", "orchard-024.test", "atlantis-0.test", "orchard.test", ""] {
            assert_eq!(web.host_number(name), None, "{name}");
        }
    }
}
