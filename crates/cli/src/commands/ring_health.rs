//! `ring health` and `ring leave`: how well everything is kept, and going for good.

use super::ring::ring_of;
use crate::Session;
use crate::show::{bytes, count, plural};
use anyhow::{Context, Result};
use herodotus_web::Peers;
use herodotus_web::peers::{HealthView, MachineView, SplitView};
use serde_json::json;

pub(super) fn show(session: &Session) -> Result<()> {
    let (copies, _) = copies_of(session)?;
    let health = copies.health().context("the other machines were not asked yet: try again in a few seconds")?;
    if session.json {
        return session.console.json_line(&serde_json::to_value(&health)?);
    }
    say_objects(session, &health);
    session.say("");
    session.say(format_args!(
        "{:<10} {:>10} {:>10} {:>10} {:>10} {:>8}  audit",
        "machine", "objects", "held", "free", "served", "up"
    ));
    for machine in &health.machines {
        say_machine(session, machine);
    }
    for repair in &health.repairs {
        session.say(format_args!("{}: {}", short(&repair.machine), repair.what));
    }
    if health.hosts_split > 0 {
        let split = |split: &SplitView| format!("{} into {}", split.host, split.parts);
        let most: Vec<String> = health.splits.iter().take(3).map(split).collect();
        let more = if health.hosts_split > 3 { ", …" } else { "" };
        session.say(format_args!(
            "{} so large that they are split over several places: {}{more}",
            plural(health.hosts_split, "host is", "hosts are"),
            most.join(", ")
        ));
    }
    if health.set_aside > 0 {
        session.say(format_args!(
            "{} for another that takes nothing: its disk may be full. Nothing is lost.",
            plural(health.set_aside, "capture of this machine waits", "captures of this machine wait")
        ));
    }
    if let Some(failure) = &health.last_failure {
        session.say(format_args!("what went wrong here last, and is tried again by itself: {failure}"));
    }
    if health.machines_silent > 0 {
        session.say(format_args!(
            "{} of {} machines did not answer: what they own is not counted.",
            health.machines_silent, health.machines_asked
        ));
    }
    Ok(())
}

fn say_objects(session: &Session, health: &HealthView) {
    let all: u64 = health.objects.iter().map(|level| level.objects).sum();
    session.say(format_args!(
        "{} in the ring; each is to lie on {}.",
        plural(all, "object", "objects"),
        plural(u64::from(health.copies), "machine", "machines")
    ));
    for level in health.objects.iter().rev() {
        let share = 100.0 * level.objects as f64 / all.max(1) as f64;
        let machines = plural(u64::from(level.copies), "machine", "machines");
        session.say(format_args!("  on {machines:<12} {:>12}  {share:.1}%", count(level.objects)));
    }
}

fn say_machine(session: &Session, machine: &MachineView) {
    let name = format!("{}{}", short(&machine.machine), if machine.is_ours { "*" } else { "" });
    let (used, free) = (machine.disk_used_bytes.unwrap_or(0), machine.disk_free_bytes.unwrap_or(0));
    let audit = match &machine.audit {
        None => "none yet".to_owned(),
        Some(audit) if audit.is_passed => format!("passed {}", audit.time),
        Some(audit) => format!("FAILED {}", audit.time),
    };
    session.say(format_args!(
        "{name:<10} {:>10} {:>10} {:>10} {:>10} {:>8}  {audit}",
        count(machine.objects_held),
        bytes(used),
        bytes(free),
        bytes(machine.bytes_served),
        uptime(machine.uptime_s.unwrap_or(0.0)),
    ));
}

fn uptime(seconds: f64) -> String {
    match seconds as u64 {
        s if s < 120 => format!("{s} s"),
        s if s < 7200 => format!("{} min", s / 60),
        s if s < 172_800 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}

fn short(key: &str) -> &str {
    key.get(..8).unwrap_or(key)
}

pub(super) fn leave(session: &Session) -> Result<()> {
    let (copies, runtime) = copies_of(session)?;
    session.note(format_args!("Handing over what this machine owns; the others go on by themselves."));
    runtime.block_on(copies.leave_for_good());
    if session.json {
        return session.console.json_line(&json!({ "left": true }));
    }
    session.say(format_args!("Left the ring. Stop the node when you like; its archive stays as it is."));
    Ok(())
}

fn copies_of(session: &Session) -> Result<(herodotus_node::copies::Copies, tokio::runtime::Handle)> {
    ring_of(session)?;
    session.copies().context("this node keeps no copies")
}
