//! A new machine is filled over a line, beside a bare copy of as many bytes by iroh over the same, when nothing else goes on any more: one stream into a file that is synced
//! once, nothing looked at.

use super::lab::Lab;
use super::line::Line;
use super::machines::Ring;
use crate::cpu::Cost;
use crate::home::Home;
use crate::peers::say;
use crate::rpc;
use crate::store::pages::Pages;
use crate::table::{Goals, Table, mb, seconds, short};
use anyhow::Result;
use herodotus_store::EntryKey;

/// Of the rate of a bare copy.
const SHARE_MIN: f64 = 0.5;
/// Looking whether everything is there takes the processors that it is to come by.
const SAMPLED_EVERY: usize = 32;
/// Before the new one comes.
const MACHINES: usize = 3;

pub(super) fn run(pages: &Pages, lines: &[Line], goals: &mut Goals) -> Result<()> {
    let mut table = Table::new(&["line", "filled, s", "CPU s", "bare iroh, s", "CPU s", "of its rate"]);
    let mut what = String::new();
    for line in lines {
        let lab = if line.rtt_ms > 0 { Some(Lab::start(MACHINES + 1)) } else { None };
        let lab = match lab.transpose() {
            Ok(lab) => lab,
            Err(error) => {
                say(&format!("{line} is left out: machines cannot be put apart here ({error:#})"));
                continue;
            }
        };
        let Filled { captures, raw, bytes, ours, bare } = fill(pages, *line, lab)?;
        let share = bare.wall_s / ours.wall_s;
        let [filled, cpu, copied, bare_cpu] = [ours.wall_s, ours.cpu_s, bare.wall_s, bare.cpu_s].map(seconds);
        table.row([line.to_string(), filled, cpu, copied, bare_cpu, short(share)]);
        goals.at_least(&format!("filling a new machine, {line}, of a bare copy's rate"), SHARE_MIN, share, "");
        what = format!("{captures} captures ({} MB of pages, {} MB in packs) onto a new machine", mb(raw), mb(bytes));
    }
    println!("\n### {what}\n");
    table.print();
    Ok(())
}

struct Filled {
    captures: usize,
    /// Of pages, and in packs.
    raw: u64,
    bytes: u64,
    ours: Cost,
    bare: Cost,
}

fn fill(pages: &Pages, line: Line, mut lab: Option<Lab>) -> Result<Filled> {
    let mut ring = match &lab {
        Some(lab) => Ring::in_lab(lab, MACHINES, 1, super::COPIES)?,
        None => Ring::of(MACHINES, super::COPIES)?,
    };
    let taker = &ring.machines[0];
    let (mut ids, mut raw) = (Vec::new(), 0);
    for (url, version) in pages.visits() {
        let capture = pages.capture(url, version)?;
        ids.push(capture.id());
        raw += capture.main.body.len();
        taker.store.append(capture)?;
    }
    taker.store.commit()?;
    ring.hand_on()?;
    ring.wait_for_copies(MACHINES as u16)?;
    ring.rest()?;
    let captures = ids.len();
    let bytes = ring.machines[0].store.bytes_on_disk()?;
    say(&format!("{captures} captures on {MACHINES} machines, {} MB each; one more joins: {line}", mb(bytes)));
    let lay = |lab: &mut Option<Lab>, line: Option<Line>| match lab {
        Some(lab) => lab.lay(line),
        None => line.unwrap_or_default().lay(),
    };
    lay(&mut lab, Some(line))?;
    ring.join()?;
    let ours = filled(&ring, &ids)?;
    ring.end();
    let bare = match &lab {
        Some(lab) => rpc::bare_copy(bytes, &lab.home(0)?, &lab.home(MACHINES)?)?,
        None => {
            let all = Home::on_loop()?;
            rpc::bare_copy(bytes, &all, &all)?
        }
    };
    lay(&mut lab, None)?;
    Ok(Filled { captures, raw, bytes, ours, bare })
}

/// What it took until the newcomer had everything.
fn filled(ring: &Ring, ids: &[EntryKey]) -> Result<Cost> {
    let machine = &ring.machines[MACHINES];
    let is_there = |id: &EntryKey| machine.store.entry(id).is_ok_and(|entry| entry.is_some());
    // What is there stays. First some of them, because looking takes the processors that are to be measured; then, off the clock, all of them.
    let mut sample: Vec<&EntryKey> = ids.iter().step_by(SAMPLED_EVERY).collect();
    let mut left: Vec<&EntryKey> = ids.iter().collect();
    let mut ours = Cost::default();
    ring.wait("the new one to hold everything", || {
        while sample.last().is_some_and(|id| is_there(id)) {
            sample.pop();
        }
        if sample.is_empty() {
            // Some of it came before it was told that it had joined.
            ours = machine.takes.stop();
            left.retain(|id| !is_there(id));
        }
        sample.is_empty() && left.is_empty()
    })?;
    Ok(ours)
}
