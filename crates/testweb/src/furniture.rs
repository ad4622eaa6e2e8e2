//! What every site has besides pages: robots.txt, sitemaps, a stylesheet.

use crate::Web;
use crate::date::short_date;
use crate::dice::Topic;
use crate::limits::SITEMAP_PAGES;
use crate::page::Written;
use crate::place::{CLOSED, Place, Site};
use crate::sheet::Sheet;

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const SITEMAP_SCHEMA: &str = "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";

impl Web {
    pub(crate) fn write_robots(&self, site: &Site) -> Written {
        let mut sheet = Sheet::new(site);
        sheet.raw("# ").raw(&site.title).raw(": travellers are welcome.\nUser-agent: *\nDisallow: ").raw(CLOSED);
        if let Some(delay_s) = self.delay_of(site.host) {
            sheet.raw(&format!("\nCrawl-delay: {delay_s}"));
        }
        sheet.raw("\n\nSitemap: ").address("/sitemap.xml").raw("\n");
        sheet.finish()
    }

    /// All pages where one sitemap holds them, else an index of its parts.
    pub(crate) fn write_sitemap(&self, site: &Site, round: u32) -> Written {
        if self.sitemap_part_count() == 0 {
            return self.write_sitemap_part(site, 0, round);
        }
        let mut sheet = Sheet::new(site);
        sheet.raw(XML).raw("<sitemapindex ").raw(SITEMAP_SCHEMA).raw(">\n");
        for part in 0..self.sitemap_part_count() {
            let path = self.path(site.host, Place::SitemapPart(part));
            sheet.raw("<sitemap><loc>").address(&path).raw("</loc></sitemap>\n");
        }
        sheet.raw("</sitemapindex>\n");
        sheet.finish()
    }

    pub(crate) fn write_sitemap_part(&self, site: &Site, part: u32, round: u32) -> Written {
        let mut sheet = Sheet::new(site);
        sheet.raw(XML).raw("<urlset ").raw(SITEMAP_SCHEMA).raw(">\n");
        for page in self.mapped(part) {
            let life = self.page_life(site.host, page);
            if life.lives_at(round) {
                let modified = short_date(life.edition(round).modified);
                sheet.raw("<url><loc>").address(&self.page_path(site.host, page));
                sheet.raw("</loc><lastmod>").raw(&modified).raw("</lastmod></url>\n");
            }
        }
        sheet.raw("</urlset>\n");
        sheet.finish()
    }

    /// The numbers of the pages that a part of the sitemap covers.
    pub(crate) fn mapped(&self, part: u32) -> std::ops::Range<u32> {
        let first = part.saturating_mul(SITEMAP_PAGES);
        first..first.saturating_add(SITEMAP_PAGES).min(self.config().pages_per_host)
    }

    pub(crate) fn write_style(&self, site: &Site, number: u32) -> Written {
        let mut dice = self.dice(Topic::Style, &[site.host, number]);
        let hue = site.hue;
        let (size, measure, radius) = (dice.within(16, 19), dice.within(34, 44), dice.within(0, 6));
        let face =
            self.dice(Topic::Style, &[site.host]).pick(&["Georgia, serif", "Palatino, serif", "Verdana, sans-serif"]);
        let mut sheet = Sheet::new(site);
        sheet
            .raw(&format!(
                "/* {}, sheet {} */\n\
                 :root {{ --ink: hsl({hue} 35% 18%); --paper: hsl({hue} 30% 96%); --accent: hsl({hue} 60% 38%); }}\n\
                 body {{ font: {size}px/1.55 {face}; color: var(--ink); background: var(--paper); margin: 0 auto; \
                 max-width: {measure}rem; padding: 1rem; }}\n",
                site.name,
                number + 1
            ))
            .raw("header { background: url(\"logo.png\") no-repeat right top; border-bottom: 2px solid var(--accent); }\n")
            .raw(&format!("a {{ color: var(--accent); }}\nimg {{ max-width: 100%; border-radius: {radius}px; }}\n"))
            .raw("nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; }\n")
            .raw("figure { margin: 1rem 0; }\nfigcaption, .motto, .colophon, footer { font-size: .85em; opacity: .8; }\n")
            .raw("table { border-collapse: collapse; }\ntd, th { border: 1px solid var(--accent); padding: .2em .6em; }\n");
        let (bytes, _) = sheet.finish();
        (bytes, vec![format!("http://{}/static/logo.png", site.name)])
    }
}
