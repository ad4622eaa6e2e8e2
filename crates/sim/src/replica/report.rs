//! What months of churn came to, for people, programs and as a picture.

use super::figures::Options;
use crate::plot::{Mark, Plot, Series, svg};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// One number of copies with one length of sessions.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub copies: usize,
    pub session_median_hours: f64,
    /// Sessions that ended.
    pub departures: u64,
    pub entries: usize,
    pub lost: usize,
    pub lost_share: f64,
    /// Entries that had fewer good copies at the end than they should, and at least one.
    pub few_share: f64,
    /// What a machine received for repair while it was up, on average; as much was sent.
    pub repair_kbit_per_s: f64,
    /// How long a newcomer needed until it answered for its own arc.
    pub own_arc_hours_p50: Option<f64>,
    /// How long it needed until it held everything that was to lie on it, for those who came to that.
    pub refill_hours_p50: Option<f64>,
    /// Newcomers who did.
    pub refilled: usize,
    pub events: u64,
    #[serde(skip)]
    pub(super) hash: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub options: Options,
    pub rows: Vec<Row>,
    /// The same for the same options.
    pub trace: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>6} {:>13} {:>10} {:>8} {:>9} {:>12} {:>14} {:>12} {:>10} {:>9}",
            "copies",
            "median days",
            "departures",
            "lost",
            "lost %",
            "too few %",
            "repair kbit/s",
            "own arc, h",
            "refill, h",
            "refilled"
        )?;
        for row in &self.rows {
            writeln!(
                f,
                "{:>6} {:>13.2} {:>10} {:>8} {:>9.4} {:>12.3} {:>14.1} {:>12} {:>10} {:>9}",
                row.copies,
                row.session_median_hours / 24.0,
                row.departures,
                row.lost,
                100.0 * row.lost_share,
                100.0 * row.few_share,
                row.repair_kbit_per_s,
                hours(row.own_arc_hours_p50),
                hours(row.refill_hours_p50),
                row.refilled
            )?;
        }
        write!(
            f,
            "{} entries, {} GB and {} kbit/s each way on each machine, {} days, trace {}",
            self.rows.first().map_or(0, |row| row.entries),
            self.options.gigabytes,
            self.options.kbit_per_s,
            self.options.days,
            self.trace
        )
    }
}

fn hours(hours: Option<f64>) -> String {
    hours.map_or("-".to_owned(), |hours| format!("{hours:.0}"))
}

impl Report {
    /// Losses and repair over the length of sessions, a line for each number of copies.
    pub fn svg(&self) -> String {
        let plot = |title: &str, up: &str, value: fn(&Row) -> f64| {
            let mut by_copies: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
            for row in &self.rows {
                by_copies.entry(row.copies).or_default().push((row.session_median_hours / 24.0, value(row)));
            }
            let series = by_copies.into_iter().map(|(copies, mut points)| {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                Series { name: format!("{copies} copies"), mark: Mark::Line, points }
            });
            Plot {
                title: format!("{title}, {} machines, {} days", self.options.nodes, self.options.days),
                across: "median session, days".to_owned(),
                up: up.to_owned(),
                series: series.collect(),
                up_max: None,
            }
        };
        svg(&[
            plot("Lost", "% of entries", |row| 100.0 * row.lost_share),
            plot("Repair", "kbit/s received by a machine", |row| row.repair_kbit_per_s),
        ])
    }
}
