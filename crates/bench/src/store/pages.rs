//! Pages that never were, made as fast as they can be stored: 20 KB each, computed from numbers, never kept.
//!
//! Pages of a site share its frame (head, navigation, footer) and some of its sentences, as templates and boilerplate make
//! them do; a later version of a page has about one paragraph in sixteen rewritten, and one version in five is the same as the
//! one before.

use anyhow::{Context, Result};
use herodotus_base::Timestamp;
use herodotus_store::{Body, Capture, Kind, Record};

/// URLs on one site.
pub(crate) const SITE_URLS: u64 = 100;
/// One URL in this many is visited again and again; the others once.
const REVISITED_EVERY: u64 = 10;
/// How often it is: so that with half as many URLs as captures, it comes out even.
pub(crate) const VERSIONS: u64 = 11;
/// Sites that the crawler is at, at the same time.
const SITES_AT_ONCE: u64 = 64;
const PARAGRAPHS: u64 = 24;
/// One paragraph in so many changes from version to version.
const REWRITTEN_EVERY: u64 = 16;
const PAGE_BYTES: usize = 20_000;
/// The first visit: 2024-01-01, and a day between rounds.
const FIRST_VISIT_MS: i64 = 1_704_067_200_000;
const ROUND_MS: i64 = 86_400_000;

/// SplitMix64: a good stir of one number.
pub(crate) fn stir(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Numbers in a row from a seed.
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        stir(self.0) % n.max(1)
    }
}

/// A web of `urls` URLs.
#[derive(Debug)]
pub(crate) struct Pages {
    words: Vec<String>,
    pub(crate) urls: u64,
}

impl Pages {
    /// As many URLs as make about this many captures.
    pub(crate) fn for_captures(captures: u64) -> Self {
        let mut dice = Dice(stir(7));
        let syllables =
            ["ba", "con", "der", "el", "fi", "gra", "hem", "in", "ju", "ker", "lo", "mun", "ne", "or", "pa", "qui"];
        let word =
            |dice: &mut Dice| (0..=dice.below(4)).map(|_| syllables[dice.below(16) as usize]).collect::<String>();
        Self { words: (0..4096).map(|_| word(&mut dice)).collect(), urls: (captures / 2).max(REVISITED_EVERY) }
    }

    pub(crate) fn versions_of(&self, url: u64) -> u64 {
        if url.is_multiple_of(REVISITED_EVERY) { VERSIONS } else { 1 }
    }

    pub(crate) fn url(&self, url: u64) -> String {
        let site = url / SITE_URLS;
        let section = self.word(stir(url) % 40);
        format!("{}{section}/{}-{url}.html", self.site_url(site), self.word(stir(url ^ 1)))
    }

    pub(crate) fn site_url(&self, site: u64) -> String {
        format!("https://{}.example/", self.host_name(site))
    }

    fn host_name(&self, site: u64) -> String {
        format!("www.{}{site}", self.word(stir(site ^ 0x5173)))
    }

    pub(crate) fn time(&self, url: u64, version: u64) -> Result<Timestamp> {
        let ms = FIRST_VISIT_MS + version as i64 * ROUND_MS + (url as i64 * 100) % ROUND_MS;
        Timestamp::from_millis(ms).context("a time beyond the year 9999")
    }

    /// Every visit in the order of a crawler: round by round, a number of sites at a time, a page of each in turn.
    pub(crate) fn visits(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let window = SITES_AT_ONCE * SITE_URLS;
        (0..VERSIONS).flat_map(move |version| {
            (0..self.urls.div_ceil(window))
                .flat_map(move |w| {
                    (0..window).map(move |i| w * window + (i % SITES_AT_ONCE) * SITE_URLS + i / SITES_AT_ONCE)
                })
                .filter(move |url| *url < self.urls && version < self.versions_of(*url))
                .map(move |url| (url, version))
        })
    }

    pub(crate) fn capture(&self, url: u64, version: u64) -> Result<Capture> {
        let body = self.body(url, version);
        let address = self.url(url);
        let time = self.time(url, version)?;
        let head = format!(
            "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: {}\r\nContent-Type: text/html; charset=utf-8\r\n\
             Content-Length: {}\r\nETag: \"{:x}\"\r\nConnection: keep-alive\r\n\r\n",
            time.rfc3339(),
            body.len(),
            stir(url << 8 | version)
        );
        let asked = format!(
            "GET /{} HTTP/1.1\r\nHost: {}.example\r\nUser-Agent: examplebot/1.0\r\nAccept: text/html,*/*;q=0.8\r\n\r\n",
            address.rsplit('/').next().unwrap_or_default(),
            self.host_name(url / SITE_URLS)
        );
        let main = Record::new(Kind::Response, &address, time, head.into_bytes(), Body::new(body));
        let request = Record::new(Kind::Request, &address, time, asked.into_bytes(), Body::new(Vec::new()));
        Ok(Capture { url: address, time, main, companions: vec![request] })
    }

    pub(crate) fn body(&self, url: u64, version: u64) -> Vec<u8> {
        let site = stir(url / SITE_URLS);
        let mut out = String::with_capacity(PAGE_BYTES + 1000);
        self.furniture(&mut out, site);
        let paragraph_bytes = (PAGE_BYTES - out.len()) / PARAGRAPHS as usize;
        for p in 0..PARAGRAPHS {
            let slot = stir(url.wrapping_mul(PARAGRAPHS) + p);
            let changed = |v: &u64| stir(slot ^ v).is_multiple_of(REWRITTEN_EVERY);
            let written = (1..=version).rev().find(changed).unwrap_or(0);
            self.paragraph(&mut out, site, stir(slot ^ stir(written)), paragraph_bytes);
        }
        out.push_str("</main></body></html>\n");
        out.into_bytes()
    }

    fn word(&self, n: u64) -> &str {
        self.words.get(n as usize % self.words.len()).map_or("word", String::as_str)
    }

    /// What all pages of a site begin with: about 5 KB.
    fn furniture(&self, out: &mut String, site: u64) {
        let mut dice = Dice(site);
        out.push_str("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
        for _ in 0..12 {
            let (a, b) = (dice.below(4096), dice.below(1 << 32));
            out.push_str(&format!("<link rel=\"stylesheet\" href=\"/static/{}.{b:08x}.css\">\n", self.word(a)));
        }
        out.push_str("</head><body><nav><ul>\n");
        for _ in 0..48 {
            let (a, b) = (dice.below(4096), dice.below(4096));
            let (a, b) = (self.word(a), self.word(b));
            out.push_str(&format!(
                "<li class=\"nav-item\"><a class=\"nav-link\" href=\"/{a}/{b}.html\">{a} {b}</a></li>\n"
            ));
        }
        out.push_str("</ul></nav><main>\n");
    }

    fn paragraph(&self, out: &mut String, site: u64, seed: u64, bytes: usize) {
        let end = out.len() + bytes;
        let mut dice = Dice(seed);
        out.push_str("<p class=\"text\">");
        while out.len() + 40 < end {
            // One sentence in three is one of two hundred that the site says everywhere.
            let said_before = dice.below(3) == 0;
            let mut sentence =
                if said_before { Dice(site ^ stir(dice.below(200))) } else { Dice(stir(dice.below(u64::MAX))) };
            for _ in 0..8 + sentence.below(8) {
                // Small numbers more often than large ones, as words are.
                let n = sentence.below(64) * sentence.below(64);
                out.push_str(self.word(n));
                out.push(' ');
                if out.len() + 6 > end {
                    break;
                }
            }
            out.pop();
            out.push_str(". ");
        }
        out.push_str("</p>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_come_out_as_asked_for_and_each_once() {
        let pages = Pages::for_captures(20_000);
        let visits: Vec<_> = pages.visits().collect();
        assert_eq!(visits.len(), 20_000);
        let distinct: std::collections::HashSet<_> = visits.iter().collect();
        assert_eq!(distinct.len(), visits.len());
    }

    #[test]
    fn pages_are_20_kb_and_versions_resemble_each_other() {
        let pages = Pages::for_captures(1000);
        let (first, second) = (pages.body(10, 0), pages.body(10, 3));
        assert!((19_000..21_000).contains(&first.len()), "{}", first.len());
        let lines =
            |body: &[u8]| body.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect::<std::collections::HashSet<_>>();
        let same = lines(&first).intersection(&lines(&second)).count();
        assert!(same * 10 >= lines(&first).len() * 7 && first != second);
    }
}
