//! What it costs to bring links to their owners in a crawl that is large enough to be real, everything counted: as the nodes count it, which is by the rule of
//! `links::on_the_wire`; and how that rule stands to what a connection really takes.

use super::Args;
use crate::peers::say;
use crate::rpc;
use crate::table::{Goals, Table, count, short};
use anyhow::Result;
use herodotus_links::on_the_wire;
use herodotus_testweb::Server;

/// Bytes a link; the thesis pays 70.
const GOAL: f64 = 20.0;
const COPIES: u16 = 3;
const CALLS: u32 = 100;

pub(super) fn run(args: &Args, goals: &mut Goals) -> Result<()> {
    let server = Server::start(super::web(args.hosts, args.pages_per_host))?;
    let ring = args.ring(&args.plan(args.machines, COPIES, 1, &[&server]))?;
    let (took_s, status) = ring.crawl(&super::seed(&server), &super::definition(&args.strategy))?;
    let links = |what: &str| ring.sum(&format!("herodotus_links_total{{what=\"{what}\"}}"));
    let bytes = |counted: &str| ring.sum(&format!("herodotus_link_bytes_total{{counted=\"{counted}\"}}"));
    let (taken, batches) = (links("taken")?, ring.sum("herodotus_link_batches_total")?);
    let each = |bytes: u64| bytes as f64 / taken.max(1) as f64;
    let fetched = status["fetched"].as_u64().unwrap_or(0);
    println!(
        "\n### Links of a crawl: {} hosts of {} pages by {} machines, {COPIES} copies; {} fetched, complete after {} s\n",
        args.hosts,
        args.pages_per_host,
        args.machines,
        count(fetched),
        short(took_s)
    );
    let mut table =
        Table::new(&["", "links", "batches", "links a batch", "bytes a link: packed", "with calls", "on the wire"]);
    table.row([
        "**brought to their owners**".to_owned(),
        count(taken),
        count(batches),
        short(taken as f64 / batches.max(1) as f64),
        short(each(bytes("packed")?)),
        short(each(bytes("called")?)),
        short(each(bytes("wire")?)),
    ]);
    table.print();
    println!(
        "Found for others {}, lately sent {}, passed on {}; batches failed {}, refused {}, walking {}, lookups {}. All that the machines sent each other, copies \
         and upkeep too: {} bytes a page (QUIC's count, without IP and UDP).\n",
        count(links("found")?),
        count(links("lately_sent")?),
        count(links("passed_on")?),
        count(ring.sum("herodotus_link_batches_returned_total{why=\"failed\"}")?),
        count(ring.sum("herodotus_link_batches_returned_total{why=\"refused\"}")?),
        count(ring.sum("herodotus_link_walks_total")?),
        count(ring.sum("herodotus_link_lookups_total")?),
        short(ring.peer_bytes()? as f64 / fetched.max(1) as f64)
    );
    calibrate()?;
    goals.at_most("link exchange, everything counted", GOAL, each(bytes("wire")?), " bytes a link");
    Ok(())
}

/// What the rule says beside what a connection took.
fn calibrate() -> Result<()> {
    println!(
        "### A call on the wire, by the rule that nodes count with and as a real connection took it ({CALLS} calls each)\n"
    );
    let mut table = Table::new(&["bytes of a call", "by the rule", "seen", "seen of it"]);
    for bytes in [100, 300, 1_000, 3_000, 10_000, 100_000] {
        say(&format!("calls of {bytes} bytes"));
        let (seen, answer) = rpc::wire_bytes(bytes, CALLS)?;
        let counted = on_the_wire(bytes, answer) as f64;
        table.row([count(bytes as u64), short(counted), short(seen), short(seen / counted)]);
    }
    table.print();
    Ok(())
}
