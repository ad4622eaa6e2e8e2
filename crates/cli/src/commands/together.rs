//! Crawls that the whole ring makes: beginning one, changing it, watching it, and `ring crawls`.

use crate::Session;
use crate::show::{bytes, count, json_line};
use anyhow::{Context, Result};
use herodotus_node::crawl::Definition;
use herodotus_node::together::{CrawlStatus, State, Together};
use std::process::ExitCode;
use std::time::Duration;

/// How often a person, or a program, hears of it.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Begins a crawl, or changes one that runs, and waits until it is over unless told not to.
pub(super) fn crawl(session: &Session, name: &str, definition: Definition, waits: bool) -> Result<ExitCode> {
    let (together, runtime) = together_of(session)?;
    let known = together.order(name).filter(|order| order.state == State::Running);
    let (order, changes) = match known {
        Some(_) => runtime.block_on(together.redefine(name, definition)).map(|(order, said)| (order, Some(said)))?,
        None => (runtime.block_on(together.begin(name, definition))?, None),
    };
    match changes {
        Some(changes) if session.json => {
            json_line(session, &serde_json::json!({ "name": name, "changed": changes }))?;
        }
        Some(changes) if changes.is_empty() => {
            session.say(format_args!("The ring crawls {name} already, and nothing of it was changed."));
        }
        Some(changes) => session.say(format_args!(
            "The ring crawls {name} already; every machine goes on by this in some seconds:\n  {}",
            changes.join("\n  ")
        )),
        None if session.json => {}
        None => session
            .say(format_args!("The ring crawls {name}. It goes on without this command, and without this machine.")),
    }
    if !waits {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        session.wait(async { tokio::time::sleep(TELL_EVERY).await })?;
        let status = session.wait(together.status(name))??;
        tell(session, &status)?;
        if status.state != "running" && status.run >= order.run {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

fn tell(session: &Session, status: &CrawlStatus) -> Result<()> {
    if session.json {
        return json_line(session, &serde_json::to_value(status)?);
    }
    session.say(format_args!(
        "{:<9} {:>9} fetched  {:>9} waiting  {:>7} in flight  {:>9} on {} machines{}",
        status.state,
        count(status.totals.fetched),
        count(status.waiting),
        count(status.in_flight),
        bytes(status.totals.bytes),
        status.machines.len(),
        if status.silent > 0 { format!(", {} silent", status.silent) } else { String::new() },
    ));
    if status.state != "running" {
        session.say(format_args!(
            "{}: {} new, {} changed, {} unchanged, {} failed ({}).",
            status.name,
            count(status.totals.new),
            count(status.totals.changed),
            count(status.totals.unchanged),
            count(status.totals.failed),
            status.reason
        ));
    }
    Ok(())
}

/// `ring crawls`
pub(super) fn list(session: &Session) -> Result<()> {
    let (together, _) = together_of(session)?;
    let orders = together.orders();
    if orders.is_empty() && !session.json {
        session.say("The ring has no crawls yet. Begin one with: herodotus crawl --together https://example.org");
    }
    for order in orders {
        let status = session.wait(together.status(&order.name))??;
        if session.json {
            json_line(session, &serde_json::to_value(&status)?)?;
            continue;
        }
        session.say(format_args!(
            "{:<28} {:<9} {:>9} fetched  {:>9} waiting  by {:<8} {}",
            status.name,
            status.state,
            count(status.totals.fetched),
            count(status.waiting),
            status.strategy,
            status.seeds.first().map_or("", String::as_str)
        ));
        for machine in &status.machines {
            session.say(format_args!(
                "  {}{} {:>9} fetched  {:>9} waiting  {:>9} urls  {:>9}{}",
                machine.machine.get(..8).unwrap_or_default(),
                if machine.is_ours { "*" } else { " " },
                count(machine.fetched),
                count(machine.waiting),
                count(machine.urls),
                bytes(machine.bytes),
                match (machine.elsewhere, machine.for_others) {
                    (0, 0) => String::new(),
                    (elsewhere, others) =>
                        format!("  {} of them by others, {} for others", count(elsewhere), count(others)),
                }
            ));
        }
    }
    Ok(())
}

pub(super) fn set_state(session: &Session, name: &str, state: State) -> Result<()> {
    let (together, runtime) = together_of(session)?;
    let order = runtime.block_on(together.set_state(name, state))?;
    if session.json {
        return json_line(session, &serde_json::json!({ "name": order.name, "state": order.state.word() }));
    }
    session.say(format_args!("The crawl {} is {}.", order.name, order.state.word()));
    Ok(())
}

fn together_of(session: &Session) -> Result<(Together, tokio::runtime::Handle)> {
    session.together().context(
        "no node that belongs to a ring runs on this archive: start it with `herodotus node` (see `herodotus ring --help`)",
    )
}
