//! Pages, listings and the page that says there is no page, all in their site's template.
//!
//! An edition differs from the one before as pages do in life: a date, a few sentences, a table's figure, a link, a
//! news item at the top and one less at the bottom. Each paragraph has one sentence that is now and then rewritten,
//! at a pace of its own; the rest stays as it was first written.

use crate::Web;
use crate::date::{long_date, round_time};
use crate::dice::{Dice, Topic};
use crate::life::Life;
use crate::limits::{HOST_BRANCHES, LINKS_MIN, LISTING_BRANCHES, LISTING_PAGES, PARAGRAPHS_MIN};
use crate::place::{LOST, Place, Site};
use crate::sheet::{Sheet, Spelling, Target};
use crate::{prose, words};

/// Bytes of a document and the URLs it leads to, in the order in which they are written.
pub(crate) type Written = (Vec<u8>, Vec<String>);

/// Pages of a host that its navigation may show: the first few that always exist.
const NAVIGATION_CANDIDATES: u32 = 12;
const NAVIGATION_LINKS: usize = 4;

/// Of a hundred links: those to nowhere, and those to other hosts.
const DEAD_LINK_PERCENT: u64 = 3;
const AWAY_LINK_PERCENT: u64 = 18;

const NEWS_ITEMS: u32 = 6;

impl Web {
    /// A page as its edition `number` has it.
    pub(crate) fn write_page(&self, site: &Site, page: u32, number: u32) -> Written {
        let life = self.page_life(site.host, page);
        let scribe = Scribe { web: self, site, page, number, life };
        let title = if page == 0 { "Welcome".to_owned() } else { self.subject(site.host, page) };
        let mut sheet = Sheet::new(site);
        self.open(&mut sheet, site, &title);
        scribe.article(&mut sheet, &title);
        self.close(&mut sheet, site);
        sheet.finish()
    }

    /// A list of the pages that live at a round. Says nothing else about the round, so that it changes only with them.
    pub(crate) fn write_listing(&self, site: &Site, listing: u32, round: u32) -> Written {
        let mut sheet = Sheet::new(site);
        let title = format!("All our pages, leaf {}", listing + 1);
        self.open(&mut sheet, site, &title);
        sheet.raw("<h2>").text(&title).raw("</h2>\n<ul class=\"listing\">\n");
        for page in self.listed(listing) {
            if self.page_life(site.host, page).lives_at(round) {
                let short = self.short_status(site.host, page).is_some();
                let place = if short { Place::Short(page) } else { Place::Page(page) };
                sheet.raw("<li>").link(&self.target(site.host, place), Spelling::Short).raw("</li>\n");
            }
        }
        sheet.raw("</ul>\n<p class=\"onward\">Onward:");
        let first = u64::from(listing) * u64::from(LISTING_BRANCHES) + 1;
        for branch in (first..first + u64::from(LISTING_BRANCHES)).take_while(|b| *b < u64::from(self.listing_count()))
        {
            sheet.raw(" ").link(&self.target(site.host, Place::Listing(branch as u32)), Spelling::Short);
        }
        sheet.raw("</p>\n");
        self.close(&mut sheet, site);
        sheet.finish()
    }

    /// What is shown where nothing is (404), or is no longer (410).
    pub(crate) fn write_missing(&self, site: &Site, status: u16) -> Written {
        let mut sheet = Sheet::new(site);
        let (title, words) = match status {
            410 => ("No longer kept", "What was here has been taken down and will not be put back."),
            _ => ("Not found", "We asked everyone, and nobody could tell us of such a page."),
        };
        self.open(&mut sheet, site, title);
        sheet.raw("<h2>").text(title).raw("</h2>\n<p>").text(words).raw("</p>\n");
        self.close(&mut sheet, site);
        sheet.finish()
    }

    /// The numbers of the pages that a listing covers.
    pub(crate) fn listed(&self, listing: u32) -> std::ops::Range<u32> {
        let first = listing.saturating_mul(LISTING_PAGES);
        first..first.saturating_add(LISTING_PAGES).min(self.config().pages_per_host)
    }

    fn open(&self, sheet: &mut Sheet<'_>, site: &Site, title: &str) {
        sheet
            .raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>")
            .text(title)
            .raw(" – ")
            .text(&site.title)
            .raw("</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
            .raw("<link rel=\"stylesheet\" href=\"")
            .source("/static/site.css")
            .raw("\">\n<link rel=\"icon\" type=\"image/png\" href=\"")
            .source("/static/logo.png")
            .raw("\">\n</head>\n<body class=\"")
            .raw(site.class)
            .raw("\">\n<header>\n<img class=\"logo\" src=\"")
            .source("/static/logo.png")
            .raw("\" alt=\"\" width=\"48\" height=\"48\">\n<h1>")
            .text(&site.title)
            .raw("</h1>\n<p class=\"motto\">")
            .text(&site.motto)
            .raw("</p>\n<nav>\n<ul>\n");
        let front = Target { label: "Front page".to_owned(), ..self.target(site.host, Place::Page(0)) };
        let all = Target { label: "All our pages".to_owned(), ..self.target(site.host, Place::Listing(0)) };
        let lasting = (1..self.config().pages_per_host.min(NAVIGATION_CANDIDATES))
            .filter(|page| matches!(self.page_life(site.host, *page), Life { born: 0, gone: None, .. }))
            .take(NAVIGATION_LINKS)
            .map(|page| self.target(site.host, Place::Page(page)));
        for target in [front, all].into_iter().chain(lasting) {
            sheet.raw("<li>").link(&target, Spelling::Short).raw("</li>\n");
        }
        sheet.raw("</ul>\n</nav>\n</header>\n<main>\n");
    }

    fn close(&self, sheet: &mut Sheet<'_>, site: &Site) {
        sheet.raw("</main>\n<footer>\n<p>").text(&site.title);
        let friend = self.dice(Topic::Site, &[site.host, 1]).below32(self.config().hosts);
        if friend != site.host {
            sheet.raw(". Our friends: ").link(&self.target(friend, Place::Page(0)), Spelling::Full);
        }
        sheet.raw(".</p>\n<p>Copied by hand. Errors are ours; tell us of them.</p>\n</footer>\n</body>\n</html>\n");
    }
}

/// The hand that writes one edition of one page.
struct Scribe<'a> {
    web: &'a Web,
    site: &'a Site,
    page: u32,
    number: u32,
    life: Life,
}

impl Scribe<'_> {
    fn article(&self, sheet: &mut Sheet<'_>, title: &str) {
        let mut shape = self.dice(Topic::Shape, &[]);
        let most = u64::from(self.web.config().paragraphs_max);
        let fewest = PARAGRAPHS_MIN.min(most);
        // The cube of a throw: many short pages, few long ones.
        let throw = shape.below(1000);
        let paragraphs = (fewest + (most - fewest) * throw * throw * throw / 1_000_000_000) as u32;
        let pictures = self.web.pictures(self.site.host, self.page);
        let table = shape.percent(25);

        sheet.raw("<article>\n<h2>").text(title).raw("</h2>\n");
        if self.page == 0 {
            self.news(sheet);
        }
        for paragraph in 0..paragraphs {
            if paragraph > 0 && shape.percent(18) {
                let heading = prose::fill(shape.pick(words::HEADINGS), &mut shape);
                sheet.raw("<h3>").text(&heading).raw("</h3>\n");
            }
            self.paragraph(sheet, paragraph);
            if paragraph < pictures {
                self.picture(sheet, paragraph + 1);
            }
        }
        for picture in paragraphs..pictures {
            self.picture(sheet, picture + 1);
        }
        if table {
            self.table(sheet);
        }
        self.notes(sheet, &mut shape);
        if self.page == 0 {
            self.neighbours(sheet);
        }
        self.colophon(sheet);
        sheet.raw("</article>\n");
    }

    fn paragraph(&self, sheet: &mut Sheet<'_>, paragraph: u32) {
        let mut shape = self.dice(Topic::Shape, &[paragraph]);
        let sentences = shape.within(3, 7) as u32;
        let volatile = shape.below32(sentences);
        let rewritten = self.rewritten(paragraph);
        sheet.raw("<p>");
        for sentence in 0..sentences {
            let version = if sentence == volatile { rewritten } else { 0 };
            let text = prose::sentence(&mut self.dice(Topic::Sentence, &[paragraph, sentence, version]));
            sheet.raw(if sentence > 0 { " " } else { "" }).text(&text);
        }
        if shape.percent(30) {
            let (target, spelling) = self.choose(&mut self.dice(Topic::Link, &[0, paragraph, rewritten]), rewritten);
            sheet.raw(" See ").link(&target, spelling).raw(".");
        }
        sheet.raw("</p>\n");
    }

    fn picture(&self, sheet: &mut Sheet<'_>, picture: u32) {
        let caption = prose::fill("The {thing}, {place}, about {year}", &mut self.dice(Topic::Pictures, &[picture]));
        sheet
            .raw("<figure><img src=\"")
            .source(&self.web.picture_path(self.site.host, self.page, picture))
            .raw("\" alt=\"")
            .text(&caption)
            .raw("\" loading=\"lazy\"><figcaption>")
            .text(&caption)
            .raw("</figcaption></figure>\n");
    }

    fn table(&self, sheet: &mut Sheet<'_>) {
        let mut shape = self.dice(Topic::Table, &[]);
        let what =
            prose::fill(shape.pick(&["Baskets of {fruits}", "Crossings", "Visitors", "Nights clear"]), &mut shape);
        sheet.raw("<table>\n<tr><th>Month</th><th>").text(&what).raw("</th><th>Kept by</th></tr>\n");
        for (row, month) in (0u32..).zip(words::MONTHS.iter().take(shape.within(4, 12) as usize)) {
            let mut dice = self.dice(Topic::Table, &[row, self.rewritten(1000 + row)]);
            let (count, keeper) = (dice.within(3, 400), dice.pick(words::PEOPLE));
            sheet.raw(&format!("<tr><td>{month}</td><td>{count}</td><td>{keeper}</td></tr>\n"));
        }
        sheet.raw("</table>\n");
    }

    fn notes(&self, sheet: &mut Sheet<'_>, shape: &mut Dice) {
        sheet.raw("<section id=\"notes\">\n<h3>See also</h3>\n<ul>\n");
        let most = u64::from(self.web.config().links_max);
        for slot in 0..shape.within(LINKS_MIN.min(most), most) as u32 {
            let rewritten = self.rewritten(2000 + slot);
            let (target, spelling) = self.choose(&mut self.dice(Topic::Link, &[1, slot, rewritten]), rewritten);
            sheet.raw("<li>").link(&target, spelling).raw("</li>\n");
        }
        sheet.raw("</ul>\n</section>\n");
    }

    /// The newest first. An edition adds one and lets the oldest go.
    fn news(&self, sheet: &mut Sheet<'_>) {
        sheet.raw("<section class=\"news\">\n<h3>News</h3>\n<ul>\n");
        // Items from before the first edition have numbers as well, so that the list is never short.
        for item in (self.number..=self.number.saturating_add(NEWS_ITEMS - 1)).rev() {
            let mut dice = self.dice(Topic::News, &[item]);
            let text = prose::fill(dice.pick(words::NEWS), &mut dice);
            sheet.raw("<li>").text(&text).raw("</li>\n");
        }
        sheet.raw("</ul>\n</section>\n");
    }

    /// Hosts form a tree by number, so that the first leads to all.
    fn neighbours(&self, sheet: &mut Sheet<'_>) {
        let first = u64::from(self.site.host) * u64::from(HOST_BRANCHES) + 1;
        sheet.raw("<section>\n<h3>Our neighbours</h3>\n<ul>\n");
        for host in (first..first + u64::from(HOST_BRANCHES)).take_while(|h| *h < u64::from(self.web.config().hosts)) {
            sheet.raw("<li>").link(&self.web.target(host as u32, Place::Page(0)), Spelling::Full).raw("</li>\n");
        }
        sheet.raw("</ul>\n</section>\n");
    }

    /// The leaf's number makes sure that no two editions are equal.
    fn colophon(&self, sheet: &mut Sheet<'_>) {
        let line = if matches!(self.life.rhythm, crate::Rhythm::Alternate { .. }) {
            let season = if self.number == 0 { "summer" } else { "winter" };
            format!("This is the {season} text of this leaf; it is changed for the other when the season turns.")
        } else {
            let moment = self.life.moment(self.number);
            let time = round_time(moment).rfc3339();
            let date = long_date(moment);
            format!("Leaf {}, revised on <time datetime=\"{time}\">{date}</time>.", self.number + 1)
        };
        sheet.raw("<p class=\"colophon\">").raw(&line).raw("</p>\n");
    }

    /// Somewhere to lead to that exists, or is dead on purpose, in the world of the edition given.
    fn choose(&self, dice: &mut Dice, number: u32) -> (Target, Spelling) {
        let (web, here, config) = (self.web, self.site.host, self.web.config());
        let moment = self.life.moment(number);
        let spelling = match dice.below(10) {
            0 => Spelling::Full,
            1 => Spelling::SameScheme,
            2 => Spelling::Fragment,
            _ => Spelling::Short,
        };
        let kind = dice.below(100);
        if kind < DEAD_LINK_PERCENT {
            let label = prose::fill(dice.pick(words::SUBJECTS), dice);
            let path = format!("{LOST}{}.html", prose::slug(&label));
            let sunken = dice.percent(40).then(|| format!("atlantis-{}.test", dice.below(50)));
            return (Target { host: sunken.unwrap_or_else(|| self.site.name.clone()), path, label }, spelling);
        }
        let away = kind < DEAD_LINK_PERCENT + AWAY_LINK_PERCENT;
        let host = if away { dice.below32(config.hosts) } else { here };
        let mut tries = std::iter::repeat_with(|| dice.below32(config.pages_per_host)).take(4);
        let page = tries.find(|page| web.page_life(host, *page).lives_at(moment)).unwrap_or(0);
        let short = web.short_status(host, page).is_some() && dice.percent(50);
        (web.target(host, if short { Place::Short(page) } else { Place::Page(page) }), spelling)
    }

    /// The edition in which a part of the page was last rewritten. Parts have a pace, in editions, of two to nine.
    fn rewritten(&self, part: u32) -> u32 {
        let mut dice = self.dice(Topic::Volatile, &[part]);
        let period = dice.within(2, 9) as u32;
        let phase = dice.below32(period);
        self.number.checked_sub(phase).map_or(0, |since| self.number - since % period)
    }

    /// Chance about this page, whatever its edition.
    fn dice(&self, topic: Topic, keys: &[u32]) -> Dice {
        self.web.dice(topic, &[self.site.host, self.page]).about(keys)
    }
}
