//! A plan as people read it: the answers first, then how they come about, then what to look out for.

use crate::show::{bytes, count};
use herodotus_plan::{Amount, DAYS_PER_MONTH, Flow, Inputs, Plan, Preset, Repair, plan, source, thesis::Figure};
use std::fmt::Write as _;

/// What of a machine's sending may be for nothing before it is said.
const WASTE_SHARE_MAX: f64 = 0.2;

/// Absences that a patient ring waits for, in means of their length: one in four hundred is longer.
const PATIENCE: f64 = 6.0;

pub(super) fn of_plan(plan: &Plan) -> String {
    let mut out = String::new();
    head(&mut out, plan);
    machines(&mut out, plan);
    stored(&mut out, plan);
    travels(&mut out, plan);
    lost(&mut out, plan);
    reasons(&mut out, plan);
    out.trim_end().to_owned()
}

fn head(out: &mut String, plan: &Plan) {
    let (web, crawl) = (&plan.inputs.web, &plan.inputs.crawl);
    let _ = write!(out, "{} pages", many(web.pages_count));
    if web.others_count() > 0.0 {
        let _ = write!(out, " and {} other files", many(web.others_count()));
    }
    let visited =
        if crawl.round_days == 1.0 { "every day".to_owned() } else { format!("every {} days", crawl.round_days) };
    let copies = plan.inputs.ring.copies_count;
    let _ = writeln!(out, ", visited {visited} for {} months, {copies} copies\n", crawl.months);
}

fn machines(out: &mut String, plan: &Plan) {
    let (fleet, machine) = (&plan.fleet, &plan.inputs.machine);
    let _ = writeln!(out, "machines            {:>12}   {} decides", count(fleet.needed_count), fleet.decides.as_str());
    for (name, number) in [
        ("for disk", Some(fleet.by_disk_count)),
        ("to send", fleet.by_up_count),
        ("to receive", fleet.by_down_count),
        ("to repair", fleet.by_repair_count),
    ] {
        if let Some(number) = number {
            let _ = writeln!(out, "  {name:<18}{:>12}", count(number));
        }
    }
    if fleet.planned_count != fleet.needed_count {
        let verdict = if fleet.planned_count > fleet.needed_count { "enough" } else { "too few" };
        let _ = writeln!(out, "there are           {:>12}   {verdict}", count(fleet.planned_count));
    }
    let _ = write!(out, "on each disk        {:>12}   of {}", size(plan.held_bytes), size(machine.disk_bytes));
    match fleet.months_until_full {
        Some(months) => {
            let full = percent(machine.disk_fill_share);
            let _ = writeln!(out, "; as full as they may be ({full}) after {} months", number(months));
        }
        None => out.push('\n'),
    }
    if let Some(days) = plan.first_round_days {
        let _ = writeln!(out, "the first round     {:>12}   at the least, for want of bandwidth alone", span(days));
    }
    out.push('\n');
}

fn stored(out: &mut String, plan: &Plan) {
    let volume = &plan.volume;
    let _ = writeln!(out, "{:<24}{:>14}{:>12}{:>12}", "stored, one copy", "objects", "raw", "on disk");
    let mut row = |name: &str, amount: Amount| {
        let (raw, stored) = (size(amount.raw_bytes), size(amount.stored_bytes));
        let _ = writeln!(out, "  {name:<22}{:>14}{raw:>12}{stored:>12}", many(amount.objects_count));
    };
    row("pages", volume.pages);
    row("other files", volume.others);
    row("all, once", volume.snapshot());
    row("pages changed a day", volume.pages_changed_per_day);
    row("pages added a day", volume.pages_added_per_day);
    row("other files new a day", volume.others_new_per_day());
    row("all new a day", volume.new_per_day());
    row("all new a month", volume.new_per_day() * DAYS_PER_MONTH);
    let months = format!("after {} months", plan.inputs.crawl.months);
    let _ = writeln!(out, "  {months:<22}{:>38}", size(plan.stored_bytes));
    let copies = f64::from(plan.inputs.ring.copies_count);
    let name = format!("{copies} copies");
    let _ = writeln!(out, "  {name:<22}{:>38}\n", size(plan.stored_bytes * copies));
}

fn travels(out: &mut String, plan: &Plan) {
    let (traffic, nodes, machine) = (&plan.traffic, plan.fleet.planned_count, &plan.inputs.machine);
    let _ = writeln!(out, "{:<38}{:>12}{:>14}", "each machine, in the mean", "sends", "receives");
    let mut row = |name: &str, flow: Flow| {
        if flow != Flow::default() {
            let (up, down) = (speed(flow.up_bits_per_s(nodes)), speed(flow.down_bits_per_s(nodes)));
            let _ = writeln!(out, "  {name:<36}{up:>12}{down:>14}");
        }
    };
    for (name, flow) in parts(plan) {
        row(name, flow);
    }
    row("in all", traffic.total());
    let given = |rate: Option<f64>| rate.map_or("any".to_owned(), |rate| speed(rate * machine.up_share()));
    let (up, down) = (given(machine.up_bits_per_s), given(machine.down_bits_per_s));
    let _ = writeln!(out, "  {:<36}{up:>12}{down:>14}", "it gives, less its absences");
    let fill = &plan.filling;
    let name = format!("a newcomer is filled, {}", span(fill.days));
    let _ = writeln!(out, "  {name:<36}{:>12}{:>14}", speed(fill.up_bits_per_s), speed(fill.down_bits_per_s));
    let steady = traffic.crawl() + traffic.links + traffic.replication + traffic.upkeep;
    let (up, down) = (steady.up_bits_per_s(nodes), steady.down_bits_per_s(nodes));
    let (up, down) = (speed(up + fill.up_bits_per_s), speed(down + fill.down_bits_per_s));
    let _ = writeln!(out, "  {:<36}{up:>12}{down:>14}\n", "with its part in that");
}

fn parts(plan: &Plan) -> [(&'static str, Flow); 8] {
    let traffic = &plan.traffic;
    [
        ("asking servers", traffic.requests),
        ("what is new or changed", traffic.downloads),
        ("what is unchanged and sent again", traffic.resent),
        ("links", traffic.links),
        ("copies of what is new", traffic.replication),
        ("repair after departures", traffic.repair),
        ("copies for machines that come back", traffic.absences),
        ("the ring's upkeep", traffic.upkeep),
    ]
}

fn lost(out: &mut String, plan: &Plan) {
    let durability = &plan.durability;
    let stay = span(plan.inputs.machine.stay_days);
    let _ = writeln!(out, "lost, if machines leave after {stay} in the mean, each for reasons of its own");
    for (name, text) in [
        ("copies are made again in", span(durability.repair_days)),
        ("when a machine leaves", odds(durability.loss_share_per_departure)),
        ("in a year", odds(durability.loss_share_per_year)),
        ("out of reach at a moment", odds(durability.absent_share)),
    ] {
        let _ = writeln!(out, "  {name:<36}{text:>26}");
    }
    let _ = writeln!(out, "\n{:<12}{:>12}{:>25}{:>25}", "copies", "machines", "lost in a year", "out of reach");
    for row in &plan.by_copies {
        let (year, absent) = (odds(row.loss_share_per_year), odds(row.absent_share));
        let _ = writeln!(out, "{:<12}{:>12}{year:>25}{absent:>25}", row.copies_count, count(row.nodes_count));
    }
    out.push('\n');
}

/// What made the answer what it is, and what would change it.
fn reasons(out: &mut String, plan: &Plan) {
    let (total, fleet, inputs) = (plan.traffic.total(), &plan.fleet, &plan.inputs);
    let most = |of: &dyn Fn(&Flow) -> f64| {
        let largest = parts(plan).into_iter().max_by(|(_, a), (_, b)| of(a).total_cmp(&of(b)));
        largest.map_or(("nothing", 0.0), |(name, flow)| (name, of(&flow) / of(&total).max(f64::MIN_POSITIVE)))
    };
    let (sent, sent_share) = most(&|flow| flow.up_bytes_per_day);
    let (received, received_share) = most(&|flow| flow.down_bytes_per_day);
    out.push_str("why\n");
    let (copies, stored) = (inputs.ring.copies_count, size(plan.stored_bytes));
    let room = size(inputs.machine.disk_bytes * inputs.machine.disk_fill_share);
    let _ = writeln!(
        out,
        "  {copies} copies of {stored}, {room} to a disk: {} machines. {} decides.",
        count(fleet.by_disk_count),
        capital(fleet.decides.as_str())
    );
    let _ = writeln!(out, "  Most of what is sent: {sent} ({}).", percent(sent_share));
    let _ = writeln!(out, "  Most of what is received: {received} ({}).", percent(received_share));
    waste(out, plan);
    let needed = plan.durability.stay_days_needed;
    if needed > inputs.machine.stay_days * 1.000_001 {
        let _ = writeln!(
            out,
            "  A machine will often have to do with more than one filling at a time: stays of {} would avoid it.",
            span(needed)
        );
    }
    if fleet.planned_count == u64::from(copies) {
        out.push_str(
            "  When one leaves, its copies can only be made again on a machine that comes for it: have one to spare.\n",
        );
    }
    if fleet.planned_count < fleet.needed_count {
        let _ = writeln!(
            out,
            "  {} machines are too few: give {} of them, more {}, or archive less.",
            count(fleet.planned_count),
            count(fleet.needed_count),
            fleet.decides.as_str()
        );
    }
}

/// Copies that are begun and then not needed.
fn waste(out: &mut String, plan: &Plan) {
    let wasted = plan.traffic.absences.up_bytes_per_day / plan.traffic.total().up_bytes_per_day.max(f64::MIN_POSITIVE);
    if wasted <= WASTE_SHARE_MAX {
        return;
    }
    let _ = write!(out, "  Of what is sent, {} are copies for machines that come back", percent(wasted));
    let mut patient = plan.inputs;
    let hours = (patient.machine.absence_hours * PATIENCE).ceil();
    patient.ring.grace_hours = Some(hours);
    patient.ring.nodes_count = None;
    let _ = match self::plan(&patient) {
        Ok(better) => {
            let nodes = count(better.fleet.needed_count);
            writeln!(out, ". With --grace-hours {hours} there need be {nodes} machines.")
        }
        Err(_) => writeln!(out, ": wait longer for them, with --grace-hours."),
    };
}

/// Every input, what it is, and where it comes from.
pub(super) fn of_inputs(inputs: &Inputs, preset: Preset, given: &[&str]) -> String {
    let mut out = "\ninputs\n".to_owned();
    for (name, value) in values(inputs) {
        let from =
            if given.contains(&name) { "given" } else { source(preset, name).unwrap_or("follows from what is given") };
        let _ = writeln!(out, "  {name:<18}{value:>14}   {from}");
    }
    out.trim_end().to_owned()
}

fn values(inputs: &Inputs) -> Vec<(&'static str, String)> {
    let Inputs { web, packing, crawl, links, ring, machine } = inputs;
    let optional_speed = |rate: Option<f64>| rate.map_or("any".to_owned(), speed);
    let mut values = vec![
        ("pages", many(web.pages_count)),
        ("page-size", size(web.page_bytes)),
        ("others-per-page", number(web.others_per_page)),
        ("other-size", size(web.other_bytes)),
        ("changing", percent(web.pages_changed_share_per_day)),
        ("others-changing", percent(web.others_changed_share_per_day)),
        ("growing", percent(web.added_share_per_day)),
        ("links", number(web.links_per_page)),
        ("new-links", percent(web.changed_links_share)),
        ("resent", percent(crawl.resent_share)),
        ("request-size", size(crawl.request_bytes)),
        ("answer-size", size(crawl.answer_bytes)),
        ("months", number(crawl.months)),
        ("round-days", number(crawl.round_days)),
        ("copies", ring.copies_count.to_string()),
        ("fetchers", crawl.fetchers_count.to_string()),
        ("receivers", links.receivers_count.to_string()),
        ("gzip", number(packing.page_gzip_ratio)),
        ("first", number(packing.page_first_of_gzip)),
        ("version", number(packing.page_version_of_gzip)),
        ("other", number(packing.other_ratio)),
        ("index-size", size(packing.index_bytes_per_capture)),
        ("record-size", size(packing.record_bytes_per_url)),
        ("link-size", size(links.bytes_per_link)),
        ("leaving", percent(links.leaving_share)),
        ("handed", number(ring.handed_of_stored)),
        ("upkeep", format!("{}/min", size(ring.upkeep_bytes_per_minute))),
        ("grace-hours", ring.grace_hours.map_or("never".to_owned(), number)),
    ];
    values.push(match ring.repair {
        Repair::Days(days) => ("repair-days", number(days)),
        Repair::Share(share) => ("repair-share", percent(share)),
    });
    values.extend([
        ("nodes", ring.nodes_count.map_or("any".to_owned(), count)),
        ("disk", size(machine.disk_bytes)),
        ("fill", percent(machine.disk_fill_share)),
        ("up", optional_speed(machine.up_bits_per_s)),
        ("down", optional_speed(machine.down_bits_per_s)),
        ("stay-days", number(machine.stay_days)),
        ("session-hours", number(machine.session_hours)),
        ("absence-hours", number(machine.absence_hours)),
    ]);
    values
}

/// The thesis's figures beside ours.
pub(super) fn of_figures(figures: &[Figure]) -> String {
    let mut out = format!("\n{:<47}{:>9}{:>10}\n", "the thesis, and ours from its inputs", "thesis", "ours");
    let mut last = "";
    for figure in figures {
        if figure.place != last {
            let _ = writeln!(out, "{}", figure.place);
            last = figure.place;
        }
        let name =
            if figure.unit.is_empty() { figure.name.to_owned() } else { format!("{}, {}", figure.name, figure.unit) };
        let line = format!("  {name:<45}{:>9}{:>10}   {}", digits(figure.thesis), digits(figure.ours), figure.why);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.trim_end().to_owned()
}

/// `2.5 billion`, `177,000`.
fn many(n: f64) -> String {
    for (unit, name) in [(1e12, "trillion"), (1e9, "billion"), (1e6, "million")] {
        if n >= unit * 0.999_5 {
            return format!("{} {name}", number(n / unit));
        }
    }
    count(n.round() as u64)
}

fn size(n: f64) -> String {
    bytes(n.round() as u64)
}

/// Bits a second.
fn speed(bits_per_s: f64) -> String {
    for (unit, name) in [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")] {
        if bits_per_s >= unit * 0.999_5 {
            return format!("{:.*} {name}", if bits_per_s / unit < 99.95 { 1 } else { 0 }, bits_per_s / unit);
        }
    }
    if bits_per_s == 0.0 { "–".to_owned() } else { format!("{bits_per_s:.0} bit/s") }
}

/// `8.6 days`, `3.2 hours`.
fn span(days: f64) -> String {
    match days {
        _ if days >= 1.0 => format!("{} days", number(days)),
        _ if days * 24.0 >= 1.0 => format!("{} hours", number(days * 24.0)),
        _ => format!("{} minutes", number(days * 24.0 * 60.0)),
    }
}

fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0))
}

/// A small share: `0.078%`, `one in 21 million`.
fn odds(share: f64) -> String {
    match share {
        _ if share < 1e-15 => "less than one in 10^15".to_owned(),
        _ if share < 1e-3 => format!("one in {}", roughly(1.0 / share)),
        _ => percent(share),
    }
}

fn roughly(n: f64) -> String {
    for (unit, name) in [(1e12, " trillion"), (1e9, " billion"), (1e6, " million")] {
        if n >= unit * 0.995 {
            return format!("{}{name}", number(n / unit));
        }
    }
    count((n / 10.0).round() as u64 * 10)
}

/// Three digits, and no zeros behind them; whole numbers whole.
fn number(value: f64) -> String {
    if value >= 99.95 || value == 0.0 {
        return count(value.round() as u64);
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// As many digits as the thesis has at the most.
fn digits(value: f64) -> String {
    let places = if value >= 1_000.0 { 0 } else { (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize };
    let text = if places == 0 { count(value.round() as u64) } else { format!("{value:.places$}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use herodotus_plan::thesis;

    #[test]
    fn small_and_large_numbers_read_well() {
        assert_eq!((many(2.5e9), many(177_000.0)), ("2.5 billion".into(), "177,000".into()));
        assert_eq!(
            (speed(7_866.0), speed(154_321.0), speed(10e6)),
            ("7.9 kbit/s".into(), "154 kbit/s".into(), "10.0 Mbit/s".into())
        );
        assert_eq!((span(8.64), span(0.5), span(0.01)), ("8.64 days".into(), "12 hours".into(), "14.4 minutes".into()));
        assert_eq!(
            (odds(0.00078), odds(4.8e-8), odds(0.0)),
            ("one in 1,280".into(), "one in 20.8 million".into(), "less than one in 10^15".into())
        );
        assert_eq!(
            (number(0.0), number(0.05), number(12_655.0), number(19.2)),
            ("0".into(), "0.05".into(), "12,655".into(), "19.2".into())
        );
        assert_eq!(
            (digits(1.5664), digits(0.01286), digits(12_744.0)),
            ("1.566".into(), "0.01286".into(), "12,744".into())
        );
    }

    #[test]
    fn machines_that_are_off_at_night_are_told_to_be_waited_for() {
        let mut nightly = Preset::Today.inputs();
        (nightly.machine.session_hours, nightly.machine.absence_hours) = (16.0, 8.0);
        let report = of_plan(&plan(&nightly).unwrap());
        assert!(report.contains("With --grace-hours 48 there need be"), "{report}");
        assert!(!of_plan(&plan(&Preset::Today.inputs()).unwrap()).contains("--grace-hours"));
    }

    #[test]
    fn as_many_machines_as_copies_are_told_to_have_one_to_spare() {
        let mut inputs = Preset::Today.inputs().with_copies(3);
        inputs.web.pages_count = 1e6;
        assert!(of_plan(&plan(&inputs).unwrap()).contains("have one to spare"));
        inputs.ring.nodes_count = Some(4);
        assert!(!of_plan(&plan(&inputs).unwrap()).contains("have one to spare"));
    }

    /// A line that is wider than a terminal is not read.
    #[test]
    fn a_report_says_what_was_asked_and_fits_the_screen() {
        for preset in [Preset::Today, Preset::Thesis] {
            let report = of_plan(&plan(&preset.inputs()).unwrap());
            for part in ["machines", "stored, one copy", "sends", "lost in a year", "why"] {
                assert!(report.contains(part), "{part}: {report}");
            }
            assert!(!report.contains("NaN") && !report.contains("inf"), "{report}");
            let widest = report.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(110), "{report}");
            let inputs = of_inputs(&preset.inputs(), preset, &["pages"]);
            assert!(inputs.contains("given") && !inputs.contains("follows from"), "{inputs}");
        }
        let figures = of_figures(&thesis::figures().unwrap());
        assert!(figures.contains("12,810") && figures.contains("12,655"), "{figures}");
    }
}
