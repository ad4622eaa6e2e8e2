//! What `plan --plot` draws: machines over time, traffic by how long machines stay, durability by copies.

use herodotus_plan::{Fleet, Inputs, Plan, Volume, plan};
use herodotus_sim::plot::{Mark, Plot, Series, svg};

/// Enough that a curve looks like one.
const STEPS: u32 = 60;

pub(super) fn of_plan(plan: &Plan) -> String {
    svg(&[machines(plan), traffic(plan), durability(plan)])
}

fn line(name: &str, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_owned(), mark: Mark::Line, points }
}

/// From nothing to an end, evenly.
fn steps(end: f64) -> impl Iterator<Item = f64> {
    (0..=STEPS).map(move |step| end * f64::from(step) / f64::from(STEPS))
}

fn changed(inputs: &Inputs, change: impl FnOnce(&mut Inputs)) -> Inputs {
    let mut other = *inputs;
    change(&mut other);
    other
}

fn machines(plan: &Plan) -> Plot {
    let end = (plan.inputs.crawl.months * 2.0).clamp(12.0, herodotus_plan::limits::MONTHS_MAX);
    let fleets: Vec<(f64, Fleet)> = steps(end)
        .filter_map(|months| {
            let inputs = changed(&plan.inputs, |i| i.crawl.months = months);
            Some((months, Fleet::of(&inputs, &Volume::of(&inputs)).ok()?))
        })
        .collect();
    let curve = |name: &str, count: &dyn Fn(&Fleet) -> Option<u64>| {
        line(name, fleets.iter().filter_map(|(months, fleet)| Some((*months, count(fleet)? as f64))).collect())
    };
    let all = [
        curve("for what they receive", &|fleet| fleet.by_down_count),
        curve("for what they send", &|fleet| fleet.by_up_count),
        curve("for repair", &|fleet| fleet.by_repair_count),
        curve("for disk", &|fleet| Some(fleet.by_disk_count)),
    ];
    Plot {
        title: format!("Machines needed, {} copies", plan.inputs.ring.copies_count),
        across: "months".to_owned(),
        up: "machines".to_owned(),
        series: all.into_iter().filter(|series| !series.points.is_empty()).collect(),
        up_max: None,
    }
}

fn traffic(plan: &Plan) -> Plot {
    let nodes = plan.fleet.planned_count;
    let volume = &plan.volume;
    let end = (plan.inputs.machine.stay_days * 2.0).min(herodotus_plan::limits::DAYS_MAX);
    // From a tenth on: towards nothing, repair takes all there is.
    let flows: Vec<_> = steps(end)
        .filter(|days| *days >= end / 10.0)
        .map(|days| {
            let inputs = changed(&plan.inputs, |i| i.machine.stay_days = days);
            (days, herodotus_plan::Traffic::of(&inputs, volume, nodes).total())
        })
        .collect();
    let up = flows.iter().map(|(days, flow)| (*days, flow.up_bits_per_s(nodes) / 1e3)).collect();
    let down = flows.iter().map(|(days, flow)| (*days, flow.down_bits_per_s(nodes) / 1e3)).collect();
    Plot {
        title: format!("What each of {nodes} machines sends and receives"),
        across: "days that machines stay".to_owned(),
        up: "kbit/s".to_owned(),
        series: vec![line("received", down), line("sent", up)],
        up_max: None,
    }
}

fn durability(plan: &Plan) -> Plot {
    let stays = [0.25, 0.5, 1.0, 2.0].map(|times| plan.inputs.machine.stay_days * times);
    let allowed = stays.into_iter().filter(|days| *days <= herodotus_plan::limits::DAYS_MAX);
    let series = allowed.map(|days| {
        let inputs = changed(&plan.inputs, |i| i.machine.stay_days = days);
        let rows = self::plan(&inputs).map(|plan| plan.by_copies).unwrap_or_default();
        // What is never lost has no end of nines, and no place on paper.
        let nines = rows.iter().map(|row| (f64::from(row.copies_count), -row.loss_share_per_year.log10()));
        line(&format!("stays of {days:.0} days"), nines.filter(|(_, nines)| nines.is_finite()).collect())
    });
    Plot {
        title: "How little is lost in a year".to_owned(),
        across: "copies".to_owned(),
        up: "nines (6: one in a million)".to_owned(),
        series: series.collect(),
        up_max: None,
    }
}
