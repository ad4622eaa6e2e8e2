//! The thesis's figures, as printed, beside what we get from its inputs, and the reason where the two differ.
//!
//! Nothing is fitted: ours are the answers of [`crate::plan`]. The thesis rounds as it goes, and reckons with what it has rounded.

use crate::{Amount, DAYS_PER_MONTH, Inputs, Plan, Preset, Result, SECONDS_PER_DAY, Volume, plan};
use serde::Serialize;

/// Closer than that is the same: no figure of the thesis has more than four digits.
const SAME_SHARE: f64 = 0.000_5;

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Figure {
    /// Table or section.
    pub place: &'static str,
    pub name: &'static str,
    pub unit: &'static str,
    pub thesis: f64,
    pub ours: f64,
    /// Why they differ; empty if they do not.
    pub why: &'static str,
}

impl Figure {
    pub fn is_same(&self) -> bool {
        self.difference_share().abs() <= SAME_SHARE
    }

    /// Ours less the thesis's, of the thesis's.
    pub fn difference_share(&self) -> f64 {
        (self.ours - self.thesis) / self.thesis
    }
}

const PRINTED: &str = "rounded for print";
const PICTURES: &str = "1.54 billion pictures of 32 kB are 49.28 TB; the thesis goes on with 50";
const SUM: &str = "the sum of rounded figures";
const AFTER: &str = "follows from the rounded figure before it";

/// All of them, in the thesis's order.
pub fn figures() -> Result<Vec<Figure>> {
    let plan = plan(&Preset::Thesis.inputs())?;
    let mut figures = table_3_2(&plan.volume);
    figures.extend(section_3_3(&plan));
    figures.extend(section_6_1_1(&plan));
    figures.extend(section_6_1_2(&plan));
    figures.extend(section_6_1_3(&plan));
    figures.extend(section_6_2()?);
    Ok(figures)
}

/// A row of the table: millions of objects, and terabytes.
struct Row {
    names: [&'static str; 3],
    thesis: [f64; 3],
    why: [&'static str; 3],
}

fn table_3_2(volume: &Volume) -> Vec<Figure> {
    let (html, images, new) = (volume.pages_new_per_day(), volume.others_new_per_day(), volume.new_per_day());
    let amounts = [
        volume.pages,
        volume.others,
        volume.snapshot(),
        volume.pages_changed_per_day,
        volume.pages_added_per_day,
        html,
        images,
        new,
        html * DAYS_PER_MONTH,
        images * DAYS_PER_MONTH,
        new * DAYS_PER_MONTH,
    ];
    TABLE_3_2.iter().zip(amounts).flat_map(|(row, amount)| row.figures(amount)).collect()
}

impl Row {
    fn figures(&self, amount: Amount) -> [Figure; 3] {
        let ours = [amount.objects_count / 1e6, amount.raw_bytes / 1e12, amount.stored_bytes / 1e12];
        let units = ["million", "TB", "TB compressed"];
        [0, 1, 2].map(|at| Figure {
            place: "table 3.2",
            name: self.names[at],
            unit: units[at],
            thesis: self.thesis[at],
            ours: ours[at],
            why: self.why[at],
        })
    }
}

const TABLE_3_2: [Row; 11] = [
    Row { names: ["Snapshot HTML"; 3], thesis: [2_000.0, 24.0, 6.0], why: ["", "", ""] },
    Row { names: ["Snapshot Images"; 3], thesis: [1_540.0, 50.0, 50.0], why: ["", PICTURES, PICTURES] },
    Row { names: ["Snapshot total"; 3], thesis: [3_540.0, 74.0, 56.0], why: ["", SUM, SUM] },
    Row { names: ["HTML updated per day"; 3], thesis: [100.0, 1.2, 0.3], why: ["", "", ""] },
    Row { names: ["HTML added per day"; 3], thesis: [10.0, 0.12, 0.03], why: ["", "", ""] },
    Row { names: ["HTML new per day"; 3], thesis: [110.0, 1.3, 0.33], why: ["", PRINTED, ""] },
    Row { names: ["Images new per day"; 3], thesis: [7.7, 0.25, 0.25], why: ["", AFTER, AFTER] },
    Row { names: ["Total new per day"; 3], thesis: [118.0, 1.6, 0.58], why: [PRINTED, SUM, SUM] },
    Row { names: ["HTML new per month"; 3], thesis: [3_300.0, 40.0, 10.0], why: ["", PRINTED, PRINTED] },
    Row { names: ["Images new per month"; 3], thesis: [231.0, 7.5, 7.5], why: ["", AFTER, AFTER] },
    Row { names: ["Total new per month"; 3], thesis: [3_500.0, 47.5, 17.5], why: [PRINTED, SUM, SUM] },
];

fn section_3_3(plan: &Plan) -> Vec<Figure> {
    let section = Section("3.3.2");
    let year = plan.volume.stored_bytes(12.0);
    let copies = year * f64::from(plan.inputs.ring.copies_count);
    // SHA-1 of every URL.
    let seen = plan.volume.snapshot().objects_count * 20.0;
    vec![
        section.figure("stored in the first year", "TB", 266.0, year / 1e12, AFTER),
        section.figure("with six copies", "PB", 1.6, copies / 1e15, AFTER),
        section.figure("machines for a year", "", 16_000.0, (copies / plan.inputs.machine.disk_bytes).ceil(), AFTER),
        section.figure("list of URLs met", "GB", 70.0, seen / 1e9, PRINTED),
        section.figure(
            "a disk filled at 1 Mbit/s",
            "days",
            9.0,
            plan.filling.days_at_least.unwrap_or(f64::NAN),
            PRINTED,
        ),
    ]
}

fn section_6_1_1(plan: &Plan) -> Vec<Figure> {
    let section = Section("6.1.1");
    let copies = plan.stored_bytes * f64::from(plan.inputs.ring.copies_count);
    vec![
        section.figure("stored in nine months", "TB", 213.5, plan.stored_bytes / 1e12, AFTER),
        section.figure("with six copies", "TB", 1_281.0, copies / 1e12, AFTER),
        section.figure("machines at least", "", 12_810.0, plan.fleet.by_disk_count as f64, AFTER),
        section.figure("machines, to be on the safe side", "", 20_000.0, plan.fleet.planned_count as f64, ""),
        Section("4.5.1").figure(
            "URLs of one machine",
            "thousand",
            177.0,
            plan.inputs.web.objects_count() / plan.fleet.planned_count as f64 / 1e3,
            "",
        ),
    ]
}

fn section_6_1_2(plan: &Plan) -> Vec<Figure> {
    let section = Section("6.1.2");
    let (inputs, nodes, traffic) = (&plan.inputs, plan.fleet.planned_count, &plan.traffic);
    let mega_per_node = |bytes: f64| bytes / nodes as f64 / 1e6;
    let asked = inputs.web.objects_count() * f64::from(inputs.crawl.fetchers_count) / nodes as f64;
    let per_page = inputs.web.links_per_page * inputs.links.bytes_per_link * f64::from(inputs.links.receivers_count);
    let (crawl, with_links) = (traffic.crawl(), traffic.crawl() + traffic.links);
    let (fill_up, fill_down) = (plan.filling.up_bits_per_s / 1e3, plan.filling.down_bits_per_s / 1e3);
    let up = |flow: crate::Flow| flow.up_bits_per_s(nodes) / 1e3;
    let down = |flow: crate::Flow| flow.down_bits_per_s(nodes) / 1e3;
    let needed_down = down(with_links) + fill_down;
    let all_down = needed_down * 1e3 * nodes as f64;
    let wayback = 10e12 * 8.0 / (DAYS_PER_MONTH * SECONDS_PER_DAY);
    vec![
        section.figure("conditional GETs a day and machine", "thousand", 1_062.0, asked / 1e3, ""),
        section.figure("new content", "MB a day", 480.0, mega_per_node(traffic.downloads.down_bytes_per_day), AFTER),
        section.figure("requests up", "MB a day", 85.0, mega_per_node(traffic.requests.up_bytes_per_day), ""),
        section.figure("answers down", "MB a day", 21.0, mega_per_node(traffic.requests.down_bytes_per_day), PRINTED),
        section.figure("downloads in all", "MB a day", 501.0, mega_per_node(crawl.down_bytes_per_day), AFTER),
        section.figure("crawl up", "kbit/s", 8.0, up(crawl), PRINTED),
        section.figure("crawl down", "kbit/s", 46.0, down(crawl), AFTER),
        section.figure("links of a page to six machines", "bytes", 12_744.0, per_page, ""),
        section.figure(
            "links, either way",
            "kbit/s",
            7.0,
            up(traffic.links),
            "15% of the downloads' bytes there, links counted page by page here",
        ),
        section.figure("crawl and links up", "kbit/s", 15.0, up(with_links), SUM),
        section.figure("crawl and links down", "kbit/s", 53.0, down(with_links), SUM),
        section.figure("a newcomer filled in 60 days, down", "kbit/s", 150.0, fill_down, "154.3, rounded down"),
        section.figure("… up, each of two neighbours", "kbit/s", 75.0, fill_up, AFTER),
        section.figure("needed up", "kbit/s", 90.0, up(with_links) + fill_up, SUM),
        section.figure("needed down", "kbit/s", 203.0, needed_down, SUM),
        section.figure(
            "down, all machines",
            "Gbit/s",
            4.0,
            all_down / 1e9,
            "20,000 times 203 is 4.06; the rest as above",
        ),
        section.figure(
            "times the Wayback Machine's",
            "",
            132.0,
            all_down / wayback,
            "the thesis takes 4 Gbit as 4,096 Mbit, over 31",
        ),
    ]
}

fn section_6_1_3(plan: &Plan) -> Vec<Figure> {
    let section = Section("6.1.3");
    let durability = &plan.durability;
    vec![
        section.figure("stay", "days", 360.0, durability.stay_days_needed, ""),
        section.figure(
            "lost when a machine leaves",
            "%",
            0.013,
            durability.loss_share_per_departure * 100.0,
            "0.01286, rounded for print",
        ),
        section.figure(
            "a URL out of reach",
            "%",
            0.03,
            durability.absent_share * 100.0,
            "0.03 is 0.2^5 (“99.97%”; the “.3%” beside it is a slip); with six copies it is 0.2^6",
        ),
    ]
}

fn section_6_2() -> Result<Vec<Figure>> {
    let section = Section("6.2");
    let light = |copies: u32| -> Inputs { Preset::Thesis.inputs().pages_only().with_copies(copies) };
    let (six, three) = (plan(&light(6))?, plan(&light(3))?);
    Ok(vec![
        section.figure("HTML only, nine months", "TB", 96.0, six.stored_bytes / 1e12, AFTER),
        section.figure("with six copies", "TB", 576.0, six.stored_bytes * 6.0 / 1e12, AFTER),
        section.figure("machines", "", 6_000.0, six.fleet.by_disk_count as f64, "5,760 there, “on the order of 6,000”"),
        section.figure(
            "machines with three copies",
            "",
            3_000.0,
            three.fleet.by_disk_count as f64,
            "half of the 6,000",
        ),
    ])
}

struct Section(&'static str);

impl Section {
    /// The reason counts only where there is a difference.
    fn figure(&self, name: &'static str, unit: &'static str, thesis: f64, ours: f64, why: &'static str) -> Figure {
        Figure { place: self.0, name, unit, thesis, ours, why }
    }
}
