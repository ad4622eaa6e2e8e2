//! Pages a second by the number of machines, each behind a line of its own that is narrow enough that CPU is not the limit: the node dials a server of its own
//! (the same web behind each), which sends so many bytes a second and no more.
//!
//! The web grows with the ring, so that each has as much to do. *Busy* leaves the beginning and the end out: between a tenth and nine tenths of all requests.

use super::Args;
use crate::table::{Goals, Table, count, short};
use anyhow::{Context, Result};
use herodotus_testweb::Server;
use std::time::Instant;

/// Pages a second of n machines are n times those of one, nearly.
const SHARE_MIN: f64 = 0.8;
const PAGES_PER_HOST: u32 = 30;

struct Row {
    machines: usize,
    requests: usize,
    took_s: f64,
    cpu_share: f64,
    busy_per_s: f64,
    /// Of all requests, by the machine with most.
    most: f64,
}

impl Row {
    fn per_s(&self) -> f64 {
        self.requests as f64 / self.took_s
    }
}

pub(super) fn run(args: &Args, goals: &mut Goals) -> Result<()> {
    let rows: Vec<Row> = args.numbers.iter().map(|machines| crawl(args, *machines)).collect::<Result<_>>()?;
    println!(
        "\n### Pages a second, {} KB/s a machine (its line to the sites), {} pages for each machine, {} places each, one copy, strategy {}\n",
        args.line_kb_per_s, args.pages_per_machine, args.virtual_nodes, args.strategy
    );
    let mut table = Table::new(&[
        "machines",
        "requests",
        "complete after s",
        "requests/s",
        "while busy",
        "times one machine",
        "most by one machine",
        "cores busy",
    ]);
    let first = rows.first().context("no number of machines")?;
    let each = |row: &Row| row.busy_per_s / row.machines as f64;
    for row in &rows {
        table.row([
            row.machines.to_string(),
            count(row.requests as u64),
            short(row.took_s),
            short(row.per_s()),
            short(row.busy_per_s),
            short(row.busy_per_s / each(first)),
            format!("{:.0}%", row.most * 100.0),
            short(row.cpu_share),
        ]);
    }
    table.print();
    for row in rows.iter().skip(1) {
        let what = format!("pages/s of {} machines, of as many times one", row.machines);
        goals.at_least(&what, SHARE_MIN, each(row) / each(first), "");
    }
    Ok(())
}

fn crawl(args: &Args, machines: usize) -> Result<Row> {
    let hosts = args.pages_per_machine.div_ceil(PAGES_PER_HOST) * machines as u32;
    let servers: Vec<Server> = (0..machines)
        .map(|_| {
            let server = Server::start(super::web(hosts, PAGES_PER_HOST))?;
            server.narrow(Some(args.line_kb_per_s * 1000));
            server.record(true);
            Ok(server)
        })
        .collect::<Result<_>>()?;
    let ring = args.ring(&args.plan(machines, 1, args.virtual_nodes, &servers.iter().collect::<Vec<_>>()))?;
    let before = ring.cpu_s()?;
    // Every host is a seed: how fast a web is discovered is not what is measured.
    let seeds: Vec<String> = servers[0].web().hosts().map(|host| format!("http://{host}/")).collect();
    let (took_s, _) = ring.crawl(&seeds, &super::definition(&args.strategy))?;
    let cpu_share = (ring.cpu_s()? - before) / took_s;
    let mut at: Vec<Instant> = servers.iter().flat_map(|server| server.log()).map(|request| request.at).collect();
    at.sort();
    let (from, to) = (at.len() / 10, at.len() * 9 / 10);
    let busy_s = at[to].duration_since(at[from]).as_secs_f64();
    let most = servers.iter().map(|server| server.log().len()).max().unwrap_or(0);
    Ok(Row {
        machines,
        requests: at.len(),
        took_s,
        cpu_share,
        busy_per_s: (to - from) as f64 / busy_s.max(1e-9),
        most: most as f64 / at.len().max(1) as f64,
    })
}
