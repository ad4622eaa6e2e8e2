//! Pictures of crawls, in the order of the paper's: loads of machines, throughput and bytes by the number of machines; and round trips.

use super::report::Report;
use crate::plot::{Mark, Plot, Series, svg};
use std::collections::BTreeMap;

/// Figures 3 to 5 of the paper, or 6 to 8, or 9 to 11, by the workload. Loads are of the largest ring; with one size there are only loads.
pub fn draw(reports: &[Report]) -> String {
    let Some(first) = reports.first() else { return svg(&[]) };
    let (workload, setting) = (first.options.workload, if first.options.is_paper { ", as in the paper" } else { "" });
    let largest = reports.iter().map(|report| report.options.nodes).max().unwrap_or(0);
    let of_largest = || reports.iter().filter(|report| report.options.nodes == largest);
    let loads = |of: fn(&Report) -> &Vec<f64>| of_largest().map(|report| distribution(report, of(report))).collect();
    let share = |title: String, across: &str, series| Plot {
        title,
        across: across.to_owned(),
        up: "share of machines".to_owned(),
        series,
        up_max: Some(1.0),
    };
    let mut plots = vec![
        share(
            format!("{workload}{setting}: pages fetched, {largest} machines"),
            "KB/s of a machine",
            loads(|report| &report.crawl_load),
        ),
        share(
            format!("{workload}{setting}: what other machines sent, {largest} machines"),
            "KB/s of a machine",
            loads(|report| &report.talk_load),
        ),
    ];
    let by_nodes = |title: &str, up: &str, of: fn(&Report) -> f64| Plot {
        title: format!("{workload}{setting}: {title}"),
        across: "machines".to_owned(),
        up: up.to_owned(),
        series: curves(reports, of),
        up_max: None,
    };
    if reports.iter().any(|report| report.options.nodes != largest) {
        plots.push(by_nodes("throughput", "KB/s of all", |report| report.kilobytes_per_second));
        plots.push(by_nodes("bytes between machines", "bytes for a URL known", |report| report.bytes_per_request));
        if reports.iter().any(|report| report.traffic.archived > 0) {
            let of = |report: &Report| report.archived_bytes_per_page / 1000.0;
            plots.push(by_nodes("pages sent to their place", "KB for a page", of));
        }
    }
    svg(&plots)
}

/// Figure 12 of the paper: how far sites are from those who fetch them. Names are given.
pub fn draw_nearness(reports: &[(&str, &Report)]) -> String {
    let series = reports.iter().map(|(name, report)| named(name, &report.round_trip_ms)).collect();
    svg(&[Plot {
        title: "Round trips between a host and whoever asked it first".to_owned(),
        across: "ms".to_owned(),
        up: "share of hosts".to_owned(),
        series,
        up_max: Some(1.0),
    }])
}

/// The share of all that is at most so much.
fn distribution(report: &Report, sorted: &[f64]) -> Series {
    named(report.options.strategy.name(), sorted)
}

fn named(name: &str, sorted: &[f64]) -> Series {
    let count = sorted.len().max(1) as f64;
    let mut points = vec![(0.0, 0.0)];
    points.extend(sorted.iter().zip(1u32..).map(|(value, at)| (*value, f64::from(at) / count)));
    Series { name: name.to_owned(), mark: Mark::Steps, points }
}

/// One curve for each strategy, in the order in which they were run.
fn curves(reports: &[Report], of: fn(&Report) -> f64) -> Vec<Series> {
    let mut order = Vec::new();
    let mut points: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for report in reports {
        let name = report.options.strategy.name();
        if !order.contains(&name) {
            order.push(name);
        }
        points.entry(name).or_default().push((report.options.nodes as f64, of(report)));
    }
    let series = |name: &str| Series {
        name: name.to_owned(),
        mark: Mark::Line,
        points: points.remove(name).unwrap_or_default(),
    };
    order.into_iter().map(series).collect()
}
