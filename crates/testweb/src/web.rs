//! The world and the truth about it. Pure: no clock, no socket, nothing stored but the configuration.

use crate::date::{http_date, round_time};
use crate::dice::{Topic, fingerprint};
use crate::life::{Fate, Life, Rhythm};
use crate::limits::{BUSY_ASKS_MAX, BUSY_RETRY_AFTER_S, LINKS_MAX, PARAGRAPHS_MAX, PICTURES_MAX};
use crate::page::Written;
use crate::place::{CLOSED, LOST, Place, Site};
use crate::response::Response;

/// What a web is made from. Equal configurations make equal webs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Any number. Another one gives other sites, titles, texts, links and lives.
    pub seed: u64,
    /// Hosts, from one up.
    pub hosts: u32,
    /// Pages that each host has over all rounds, from one up: the front page is one of them.
    pub pages_per_host: u32,
    /// Of a hundred pages, those that are never revised. At 100 nothing at all changes its text.
    pub never_percent: u8,
    /// Those that are revised in every round. Front pages always are, unless `never_percent` is 100.
    pub every_round_percent: u8,
    /// Those that go back and forth between two texts. What remains is revised every 2 to 40 rounds.
    pub alternate_percent: u8,
    /// Of a hundred pages, those that appear only in a later round (by round 30).
    pub late_percent: u8,
    /// Those that disappear again, within 40 rounds of their appearance.
    pub mortal_percent: u8,
    /// Most paragraphs of a page; its size follows. Most pages have far fewer.
    pub paragraphs_max: u32,
    /// Most links under a page's text, besides its site's navigation and those within the text.
    pub links_max: u32,
    /// Most pictures that a page has of its own.
    pub pictures_max: u32,
    /// Of a hundred hosts, those that compress text with gzip for visitors who take it.
    pub gzip_percent: u8,
    /// Of a hundred hosts, those whose robots.txt asks for `crawl_delay_s` seconds between requests.
    pub crawl_delay_percent: u8,
    pub crawl_delay_s: u32,
    /// Of a hundred URLs, those that answer the first request or two of a round with 429 or 503 and `Retry-After`.
    pub busy_percent: u8,
}

impl Default for Config {
    /// A few sites with a little of everything, small enough to read through in a test.
    fn default() -> Self {
        Self {
            seed: 484,
            hosts: 8,
            pages_per_host: 50,
            never_percent: 50,
            every_round_percent: 8,
            alternate_percent: 6,
            late_percent: 15,
            mortal_percent: 10,
            paragraphs_max: PARAGRAPHS_MAX,
            links_max: LINKS_MAX,
            pictures_max: PICTURES_MAX,
            gzip_percent: 0,
            crawl_delay_percent: 0,
            crawl_delay_s: 1,
            busy_percent: 0,
        }
    }
}

/// How a URL behaves that is busy in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy {
    /// 429 or 503.
    pub status: u16,
    /// So many requests of the round are answered with it; then it has time for us.
    pub asks: u32,
    pub retry_after_s: u32,
}

/// A web: hosts, what they show at every round, and what may be said about it.
///
/// Paths are as in a request line, query included, and are known in one spelling only. Hosts are lower case, without
/// a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Web {
    config: Config,
}

impl Web {
    pub fn new(config: Config) -> Self {
        let (hosts, pages_per_host) = (config.hosts.max(1), config.pages_per_host.max(1));
        Self { config: Config { hosts, pages_per_host, ..config } }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The names of all hosts. The first one's front page leads to everything.
    pub fn hosts(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.config.hosts).map(|host| self.host_name(host))
    }

    /// The paths of all pages that a host has at any round. Nothing, for a host that is not on this web.
    pub fn pages<'a>(&'a self, host: &str) -> impl Iterator<Item = String> + use<'a> {
        let host = self.host_number(host).into_iter();
        host.flat_map(move |host| (0..self.config.pages_per_host).map(move |page| self.page_path(host, page)))
    }

    /// Every URL that exists at a round, host by host: pages, pictures, redirects, listings and furniture.
    pub fn urls(&self, round: u32) -> impl Iterator<Item = String> + '_ {
        (0..self.config.hosts).flat_map(move |host| {
            let name = self.host_name(host);
            self.places(host, round).map(move |place| format!("http://{name}{}", self.path(host, place)))
        })
    }

    /// What a host answers to `GET path` at a round: 200, 301, 302, 307, 308, 404 or 410. `None` if there is no such
    /// host.
    pub fn response(&self, host: &str, path: &str, round: u32) -> Option<Response> {
        let host = self.host_number(host)?;
        let site = self.site(host);
        let mut response = Response::new(200);
        response.push("Date", http_date(round_time(round)));
        let Some(place) = self.place(host, path).filter(|place| self.fate_of(host, *place, round) == Fate::Live) else {
            let status = self.missing_status(host, path, round);
            response.status = status;
            return Some(response.with_body("text/html; charset=utf-8", self.write_missing(&site, status).0));
        };
        if let Place::Short(page) = place {
            response.status = self.short_status(host, page).unwrap_or(301);
            response.push("Location", format!("http://{}{}", site.name, self.page_path(host, page)));
            return Some(response.with_body("text/plain; charset=utf-8", b"This page has a longer name.\n".to_vec()));
        }
        let (body, _) = self.write(&site, place, round);
        response.push("Last-Modified", http_date(round_time(self.modified(host, place, round))));
        response.push("ETag", format!("\"{:016x}\"", fingerprint(&body)));
        Some(response.with_body(media_type(place), body))
    }

    /// Whether the status or the body at one round differ from those at another. (Headers also tell the date.)
    pub fn changed(&self, host: &str, path: &str, from_round: u32, to_round: u32) -> bool {
        let Some(host) = self.host_number(host) else { return false };
        let Some(place) = self.place(host, path) else { return false };
        let missing = |round: u32| {
            let live = self.fate_of(host, place, round) == Fate::Live;
            (!live).then(|| self.missing_status(host, path, round))
        };
        let (before, after) = (missing(from_round), missing(to_round));
        if before.is_some() || after.is_some() {
            return before != after;
        }
        let lives = |pages: std::ops::Range<u32>| pages.map(|page| self.page_life(host, page));
        let shown = |life: &Life, round: u32| life.lives_at(round).then(|| life.edition(round).modified);
        match place {
            Place::Robots | Place::Logo | Place::Short(_) => false,
            Place::Sitemap if self.sitemap_part_count() > 0 => false,
            Place::Sitemap => lives(self.mapped(0)).any(|l| shown(&l, from_round) != shown(&l, to_round)),
            Place::SitemapPart(part) => lives(self.mapped(part)).any(|l| shown(&l, from_round) != shown(&l, to_round)),
            Place::Listing(list) => lives(self.listed(list)).any(|l| l.lives_at(from_round) != l.lives_at(to_round)),
            Place::Page(_) | Place::Picture { .. } | Place::Style => {
                let life = self.life_of(host, place);
                life.edition(from_round).number != life.edition(to_round).number
            }
        }
    }

    /// What a URL is at a round, whether or not it is on this web.
    pub fn fate(&self, host: &str, path: &str, round: u32) -> Fate {
        match self.host_number(host) {
            Some(number) => match self.place(number, path) {
                Some(place) => self.fate_of(number, place, round),
                None if path.starts_with(LOST) => Fate::Dead,
                None => Fate::Unknown,
            },
            None if host.starts_with("atlantis-") && host.ends_with(".test") => Fate::Dead,
            None => Fate::Unknown,
        }
    }

    /// When a page, picture, redirect or stylesheet exists and how often it changes. `None` for listings and sitemaps,
    /// which change with what they list, and for what is not on this web.
    pub fn life(&self, host: &str, path: &str) -> Option<Life> {
        let host = self.host_number(host)?;
        let place = self.place(host, path)?;
        let compiled = matches!(place, Place::Listing(_) | Place::Sitemap | Place::SitemapPart(_));
        (!compiled).then(|| self.life_of(host, place))
    }

    /// The URLs that a document leads to at a round, without fragments, in the order in which they are written and as
    /// often: links, pictures, styles, a redirect's target, a sitemap's entries.
    pub fn links(&self, host: &str, path: &str, round: u32) -> Vec<String> {
        let Some(host) = self.host_number(host) else { return Vec::new() };
        let site = self.site(host);
        match self.place(host, path).filter(|place| self.fate_of(host, *place, round) == Fate::Live) {
            Some(place) => self.write(&site, place, round).1,
            None => self.write_missing(&site, self.missing_status(host, path, round)).1,
        }
    }

    /// Whether robots.txt, which is the same at every round, lets robots fetch a path.
    pub fn allowed(&self, path: &str) -> bool {
        !path.starts_with(CLOSED)
    }

    /// Whether a host compresses text for visitors who accept gzip: what they get is [`Response::gzipped`].
    pub fn gzips(&self, host: &str) -> bool {
        let share = self.config.gzip_percent;
        self.host_number(host).is_some_and(|host| self.dice(Topic::Gzip, &[host]).percent(share))
    }

    /// The seconds between requests that a host's robots.txt asks for.
    pub fn crawl_delay_s(&self, host: &str) -> Option<u32> {
        self.delay_of(self.host_number(host)?)
    }

    /// Whether a URL is too busy at first in a round. The server then answers so often with [`Response::busy`] before
    /// it gives what [`Web::response`] says. robots.txt is never busy.
    pub fn busy(&self, host: &str, path: &str, round: u32) -> Option<Busy> {
        if self.config.busy_percent == 0 || path == "/robots.txt" {
            return None;
        }
        let (host, name) = (self.host_number(host)?, fingerprint(path.as_bytes()));
        let mut dice = self.dice(Topic::Busy, &[host, (name >> 32) as u32, name as u32, round]);
        dice.percent(self.config.busy_percent).then(|| Busy {
            status: if dice.percent(50) { 429 } else { 503 },
            asks: dice.within(1, BUSY_ASKS_MAX) as u32,
            retry_after_s: BUSY_RETRY_AFTER_S,
        })
    }

    pub(crate) fn delay_of(&self, host: u32) -> Option<u32> {
        let slow = self.dice(Topic::Delay, &[host]).percent(self.config.crawl_delay_percent);
        slow.then_some(self.config.crawl_delay_s)
    }

    pub(crate) fn page_life(&self, host: u32, page: u32) -> Life {
        let life = Life::roll(&self.config, &mut self.dice(Topic::Life, &[host, page]));
        if page > 0 {
            return life;
        }
        let settled = self.config.never_percent >= 100;
        let rhythm = if settled { Rhythm::Never } else { Rhythm::Every { period: 1, phase: 0 } };
        Life { rhythm, ..Life::ETERNAL }
    }

    fn life_of(&self, host: u32, place: Place) -> Life {
        match place {
            Place::Page(page) => self.page_life(host, page),
            Place::Short(page) => Life { rhythm: Rhythm::Never, ..self.page_life(host, page) },
            Place::Picture { page, picture } => {
                let mut dice = self.dice(Topic::Life, &[host, page, picture]);
                // Pictures are seldom replaced, even on pages that change.
                let rhythm = if dice.percent(80) { Rhythm::Never } else { Rhythm::roll(&self.config, &mut dice) };
                Life { rhythm, ..self.page_life(host, page) }
            }
            Place::Style if self.config.never_percent < 100 => {
                Life { rhythm: Rhythm::Every { period: 12, phase: host % 12 }, ..Life::ETERNAL }
            }
            _ => Life::ETERNAL,
        }
    }

    fn fate_of(&self, host: u32, place: Place, round: u32) -> Fate {
        self.life_of(host, place).fate(round)
    }

    /// All that exists at a round on one host.
    fn places(&self, host: u32, round: u32) -> impl Iterator<Item = Place> + '_ {
        let furniture = [Place::Robots, Place::Sitemap, Place::Style, Place::Logo].into_iter();
        let parts = (0..self.sitemap_part_count()).map(Place::SitemapPart);
        let listings = (0..self.listing_count()).map(Place::Listing);
        let living = (0..self.config.pages_per_host).filter(move |page| self.page_life(host, *page).lives_at(round));
        let pages = living.flat_map(move |page| {
            let short = self.short_status(host, page).map(|_| Place::Short(page));
            let pictures = (1..=self.pictures(host, page)).map(move |picture| Place::Picture { page, picture });
            std::iter::once(Place::Page(page)).chain(short).chain(pictures)
        });
        furniture.chain(parts).chain(listings).chain(pages)
    }

    /// The status of a path that does not exist at a round. Some sites know what they have taken down.
    fn missing_status(&self, host: u32, path: &str, round: u32) -> u16 {
        let place = self.place(host, path);
        let gone = place.is_some_and(|place| self.fate_of(host, place, round) == Fate::Gone);
        if gone && self.dice(Topic::Retired, &[host]).percent(40) { 410 } else { 404 }
    }

    /// The body of something that lives and is no redirect, and where it leads.
    fn write(&self, site: &Site, place: Place, round: u32) -> Written {
        let number = self.life_of(site.host, place).edition(round).number;
        match place {
            Place::Page(page) => self.write_page(site, page, number),
            Place::Picture { page, picture } => (self.draw_picture(site, page, picture, number), Vec::new()),
            Place::Short(page) => {
                (Vec::new(), vec![format!("http://{}{}", site.name, self.page_path(site.host, page))])
            }
            Place::Listing(listing) => self.write_listing(site, listing, round),
            Place::Robots => self.write_robots(site),
            Place::Sitemap => self.write_sitemap(site, round),
            Place::SitemapPart(part) => self.write_sitemap_part(site, part, round),
            Place::Style => self.write_style(site, number),
            Place::Logo => (self.draw_logo(site), Vec::new()),
        }
    }

    /// The last round up to this one in which the body changed.
    fn modified(&self, host: u32, place: Place, round: u32) -> u32 {
        let revision = |life: Life| if life.lives_at(round) { life.edition(round).modified } else { 0 };
        let of_pages = |pages: std::ops::Range<u32>, revisions: bool| {
            let lives = pages.map(|page| self.page_life(host, page));
            let last = |life: Life| life.last_coming_or_going(round).max(if revisions { revision(life) } else { 0 });
            lives.map(last).max().unwrap_or(0)
        };
        match place {
            Place::Sitemap if self.sitemap_part_count() > 0 => 0,
            Place::Sitemap => of_pages(self.mapped(0), true),
            Place::SitemapPart(part) => of_pages(self.mapped(part), true),
            Place::Listing(listing) => of_pages(self.listed(listing), false),
            place => revision(self.life_of(host, place)),
        }
    }
}

fn media_type(place: Place) -> &'static str {
    match place {
        Place::Page(_) | Place::Listing(_) => "text/html; charset=utf-8",
        Place::Picture { .. } | Place::Logo => "image/png",
        Place::Sitemap | Place::SitemapPart(_) => "application/xml",
        Place::Style => "text/css",
        Place::Robots | Place::Short(_) => "text/plain; charset=utf-8",
    }
}
