//! What a page costs in CPU on the ring, beside the same web crawled by one machine alone: by a node without a ring, which keeps titles as each of a ring does, and by `herodotus crawl`,
//! which does not. Copies are left out: the ring that counts keeps one of everything. CPU is that of all nodes from the order until they are as quiet again as before, upkeep and all.

use super::{Args, Nodes, Plan};
use crate::cpu::{Cost, measure, medians};
use crate::peers;
use crate::table::{Goals, Table, count, seconds, short};
use anyhow::{Result, ensure};
use herodotus_testweb::Server;
use std::time::{Duration, Instant};

/// Of a crawl of one machine alone.
const TIMES_MAX: f64 = 1.3;
/// What is done after the crawl (seals, titles) is done within this.
const QUIET_WAIT_MAX: Duration = Duration::from_secs(60);
const WINDOW: Duration = Duration::from_secs(1);
/// Of a core, for each node: a node that has nothing to do needs less.
const QUIET_SHARE: f64 = 0.03;

pub(super) fn run(args: &Args, goals: &mut Goals) -> Result<()> {
    let server = Server::start(super::web(args.hosts, args.pages_per_host))?;
    let many = args.machines;
    let rings: Vec<(String, Plan)> = vec![
        ("a ring of one".to_owned(), args.plan(1, 1, 1, &[&server])),
        (format!("**{many} machines, one copy**"), args.plan(many, 1, 1, &[&server])),
        (format!("{many} machines, three copies"), args.plan(many, 3, 1, &[&server])),
    ];
    let mut names = vec!["alone: `herodotus crawl`".to_owned(), "alone, in a node".to_owned()];
    names.extend(rings.iter().map(|(name, _)| name.clone()));
    let mut costs: Vec<Vec<(Cost, u64)>> = vec![Vec::new(); names.len()];
    for _ in 0..args.runs {
        costs[0].push(alone(args, &server)?);
        costs[1].push(in_a_node(args, &server)?);
        for (at, (_, plan)) in rings.iter().enumerate() {
            costs[2 + at].push(together(args, &server, plan)?);
        }
    }
    println!(
        "\n### CPU of a crawl: {} hosts of {} pages, medians of {} runs in turns\n",
        args.hosts, args.pages_per_host, args.runs
    );
    let mut table =
        Table::new(&["", "requests", "complete after s", "CPU s", "CPU s per 1,000 requests", "times a node alone"]);
    let figure = |costs: &[(Cost, u64)]| {
        let (each, requests): (Vec<Cost>, Vec<u64>) = costs.iter().copied().unzip();
        let (cost, requests) = (medians(&each), requests[requests.len() / 2]);
        (cost, requests, cost.cpu_s * 1000.0 / requests.max(1) as f64)
    };
    let (.., base) = figure(&costs[1]);
    for (name, costs) in names.iter().zip(&costs) {
        let (cost, requests, each) = figure(costs);
        table.row([
            name.clone(),
            count(requests),
            seconds(cost.wall_s),
            seconds(cost.cpu_s),
            short(each),
            short(each / base),
        ]);
    }
    table.print();
    let (.., ring) = figure(&costs[3]);
    goals.at_most(
        "CPU per 1,000 pages on the ring, one copy, times that of a node alone",
        TIMES_MAX,
        ring / base,
        " ×",
    );
    Ok(())
}

/// A crawl as a person makes it, into a new archive.
fn alone(args: &Args, server: &Server) -> Result<(Cost, u64)> {
    let (dir, before) = (tempfile::tempdir()?, server.requests());
    let dial = format!("*={}", server.addr());
    let seeds = super::seed(server);
    let mut arguments = vec!["--data", "archive", "crawl", "--name", "bench", "--scope", "any"];
    arguments.extend(&super::definition(&args.strategy)[..6]);
    arguments.extend(["--allow-private", "127.0.0.0/8", "--connect-to", &dial, "--contact", "bench@example.org"]);
    arguments.extend(seeds.iter().map(String::as_str));
    let cost = measure(dir.path(), &peers::herodotus()?, &arguments)?;
    Ok((cost, server.requests() - before))
}

/// The same by a node that belongs to no ring and keeps its pages ready meanwhile, as each of a ring does.
fn in_a_node(args: &Args, server: &Server) -> Result<(Cost, u64)> {
    let before = server.requests();
    let node = Nodes::alone(&args.plan(1, 1, 1, &[server]))?;
    quiet(&node)?;
    let (began, cpu_s) = (Instant::now(), node.cpu_s()?);
    let dial = format!("*={}", server.addr());
    let mut more = vec!["--allow-private", "127.0.0.0/8", "--connect-to", &dial];
    more.extend(&super::definition(&args.strategy)[..6]);
    node.crawl_alone(&super::seed(server), &more)?;
    let wall_s = began.elapsed().as_secs_f64();
    quiet(&node)?;
    Ok((Cost { wall_s, cpu_s: node.cpu_s()? - cpu_s, rss_peak_bytes: 0 }, server.requests() - before))
}

fn together(args: &Args, server: &Server, plan: &Plan) -> Result<(Cost, u64)> {
    let before = server.requests();
    let ring = args.ring(plan)?;
    quiet(&ring)?;
    let cpu_s = ring.cpu_s()?;
    let (wall_s, _) = ring.crawl(&super::seed(server), &super::definition(&args.strategy))?;
    quiet(&ring)?;
    Ok((Cost { wall_s, cpu_s: ring.cpu_s()? - cpu_s, rss_peak_bytes: 0 }, server.requests() - before))
}

/// Waits until the nodes have nothing more to do.
fn quiet(nodes: &Nodes) -> Result<()> {
    let began = Instant::now();
    loop {
        let before = nodes.cpu_s()?;
        std::thread::sleep(WINDOW);
        if nodes.cpu_s()? - before <= QUIET_SHARE * WINDOW.as_secs_f64() * nodes.count() as f64 {
            return Ok(());
        }
        ensure!(began.elapsed() < QUIET_WAIT_MAX, "{QUIET_WAIT_MAX:?} were not enough for the nodes to come to rest");
    }
}
