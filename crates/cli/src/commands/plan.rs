//! `plan`: how many machines, how much traffic, how safe. The arithmetic is `herodotus-plan`'s; here it is asked and told.

use super::plan_units::{bytes, count, hours_or_never, nodes_or_any, rate, share};
use super::{plan_picture, plan_report};
use crate::Session;
use crate::show::json_line;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use herodotus_plan::{Inputs, Preset, Repair, plan, thesis};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say how many machines an archive needs, what travels between them, and how safe it is.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true, after_help = EXAMPLES)]
pub(crate) struct Plan {
    /// What to start from: the thesis's numbers of 2002, or today's and what we measured
    #[arg(long, value_enum, default_value_t = Start::Today, value_name = "PRESET")]
    preset: Start,

    /// Also show every input, and where it comes from
    #[arg(long)]
    inputs: bool,

    /// Draw machines, traffic and durability into this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    #[command(flatten)]
    web: WebArgs,
    #[command(flatten)]
    keeping: KeepingArgs,
    #[command(flatten)]
    machine: MachineArgs,
}

const EXAMPLES: &str = "\
A plan starts from the preset and takes what you know better. Counts may be written 2B, 300M or 2e9;
sizes 12kB or 4TB; rates 10Mbit; shares 5% or 0.05. docs/PLAN.md has the formulas, and what they leave out.

Examples:
  herodotus plan                                         the web that Common Crawl sees, today
  herodotus plan --preset thesis                         the thesis's tables, beside ours
  herodotus plan --pages 5M --disk 2TB --copies 3        an archive of three libraries
  herodotus plan --session-hours 16 --absence-hours 8    machines that are off at night
  herodotus plan --html-only --round-days 7 --plot p.svg pages without pictures, once a week, drawn";

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Start {
    Thesis,
    Today,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What there is")]
struct WebArgs {
    /// Pages
    #[arg(long, value_parser = count, value_name = "COUNT")]
    pages: Option<f64>,

    /// Mean size of a page, uncompressed
    #[arg(long, value_parser = bytes, value_name = "SIZE")]
    page_size: Option<f64>,

    /// Pictures and other files for each page, as far as no other page has them
    #[arg(long, value_parser = count, value_name = "COUNT")]
    others_per_page: Option<f64>,

    /// Mean size of such a file
    #[arg(long, value_parser = bytes, value_name = "SIZE")]
    other_size: Option<f64>,

    /// Pages only, without pictures and other files
    #[arg(long, conflicts_with = "others_per_page")]
    html_only: bool,

    /// Share of pages that change in a day
    #[arg(long, value_parser = share, value_name = "SHARE")]
    changing: Option<f64>,

    /// Share of other files that change in a day
    #[arg(long, value_parser = share, value_name = "SHARE")]
    others_changing: Option<f64>,

    /// Pages and files that are new each day, of those that there are
    #[arg(long, value_parser = share, value_name = "SHARE")]
    growing: Option<f64>,

    /// Links on a page
    #[arg(long, value_parser = count, value_name = "COUNT")]
    links: Option<f64>,

    /// Share of a changed page's links that were not on it before
    #[arg(long, value_parser = share, value_name = "SHARE")]
    new_links: Option<f64>,

    /// Share of unchanged files that servers send all the same, knowing no conditions
    #[arg(long, value_parser = share, value_name = "SHARE")]
    resent: Option<f64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "How it is kept")]
struct KeepingArgs {
    /// Months that the machines are to suffice
    #[arg(long, value_name = "MONTHS")]
    months: Option<f64>,

    /// Days from one visit to the next
    #[arg(long, value_name = "DAYS")]
    round_days: Option<f64>,

    /// Copies of everything, each on another machine
    #[arg(long, value_name = "COUNT")]
    copies: Option<u32>,

    /// Machines that each fetch the same page; the others get it from them
    #[arg(long, value_name = "COUNT")]
    fetchers: Option<u32>,

    /// Machines that each link is sent to
    #[arg(long, value_name = "COUNT")]
    receivers: Option<u32>,

    /// A page with gzip, of its size
    #[arg(long, value_parser = share, value_name = "SHARE")]
    gzip: Option<f64>,

    /// First version of a page on our disk, of the page with gzip
    #[arg(long, value_parser = share, value_name = "SHARE")]
    first: Option<f64>,

    /// Later version of a page on our disk, of the page with gzip
    #[arg(long, value_parser = share, value_name = "SHARE")]
    version: Option<f64>,

    /// Other files on our disk, of their size
    #[arg(long, value_parser = share, value_name = "SHARE")]
    other: Option<f64>,

    /// Bytes that a link takes on its way
    #[arg(long, value_parser = bytes, value_name = "SIZE")]
    link_size: Option<f64>,

    /// Share of links whose place is on another machine
    #[arg(long, value_parser = share, value_name = "SHARE")]
    leaving: Option<f64>,

    /// Hours that an absent machine is waited for before its copies are made elsewhere, or `never`
    #[arg(long, value_parser = hours_or_never, value_name = "HOURS")]
    grace_hours: Option<Grace>,

    /// Days in which copies are made again, whatever bandwidth that takes
    #[arg(long, conflicts_with = "repair_share", value_name = "DAYS")]
    repair_days: Option<f64>,

    /// Share of a machine's bandwidth with which copies are made again, however long that takes
    #[arg(long, value_parser = share, value_name = "SHARE")]
    repair_share: Option<f64>,
}

/// How long an absent machine is waited for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Grace(pub(super) Option<f64>);

/// How many machines there are, if that is fixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Nodes(pub(super) Option<u64>);

#[derive(Debug, Args)]
#[command(next_help_heading = "What machines there are")]
struct MachineArgs {
    /// Machines that there are, or `any`: as many as it takes
    #[arg(long, value_parser = nodes_or_any, value_name = "COUNT")]
    nodes: Option<Nodes>,

    /// Disk that each gives
    #[arg(long, value_parser = bytes, value_name = "SIZE")]
    disk: Option<f64>,

    /// How full disks may be in the mean, the ring's shares not being equal
    #[arg(long, value_parser = share, value_name = "SHARE")]
    fill: Option<f64>,

    /// What each may send
    #[arg(long, value_parser = rate, value_name = "RATE")]
    up: Option<f64>,

    /// What each may receive
    #[arg(long, value_parser = rate, value_name = "RATE")]
    down: Option<f64>,

    /// Days from joining to leaving for good, in the mean
    #[arg(long, value_name = "DAYS")]
    stay_days: Option<f64>,

    /// Hours that a machine runs without a break, in the mean
    #[arg(long, value_name = "HOURS")]
    session_hours: Option<f64>,

    /// Hours that it is then away
    #[arg(long, value_name = "HOURS")]
    absence_hours: Option<f64>,
}

impl Plan {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let preset = match self.preset {
            Start::Thesis => Preset::Thesis,
            Start::Today => Preset::Today,
        };
        let (inputs, given) = self.change(preset.inputs());
        let plan = plan(&inputs)?;
        let figures = if preset == Preset::Thesis && given.is_empty() { thesis::figures()? } else { Vec::new() };
        if let Some(file) = &self.plot {
            std::fs::write(file, plan_picture::of_plan(&plan))
                .with_context(|| format!("the picture could not be written to {}", file.display()))?;
        }
        if session.json {
            json_line(session, &json!({ "preset": preset, "given": given, "plan": plan, "thesis": figures }))?;
            return Ok(ExitCode::SUCCESS);
        }
        session.say(plan_report::of_plan(&plan));
        if self.inputs {
            session.say(plan_report::of_inputs(&plan.inputs, preset, &given));
        }
        if !figures.is_empty() {
            session.say(plan_report::of_figures(&figures));
        }
        if let Some(file) = &self.plot {
            session.say(format_args!("drawn in {}", file.display()));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The inputs with what was said, and the names of what was.
    fn change(&self, mut inputs: Inputs) -> (Inputs, Vec<&'static str>) {
        let mut given = Vec::new();
        let (web, keeping, machine) = (&self.web, &self.keeping, &self.machine);
        if let Some(copies) = keeping.copies {
            let nodes = inputs.ring.nodes_count;
            inputs = inputs.with_copies(copies);
            inputs.ring.nodes_count = nodes;
            given.push("copies");
        }
        for (name, value, at) in [
            ("fetchers", keeping.fetchers, &mut inputs.crawl.fetchers_count),
            ("receivers", keeping.receivers, &mut inputs.links.receivers_count),
        ] {
            if let Some(value) = value {
                *at = value;
                given.push(name);
            }
        }
        let others = if web.html_only { Some(0.0) } else { web.others_per_page };
        for (name, value, at) in [
            ("pages", web.pages, &mut inputs.web.pages_count),
            ("page-size", web.page_size, &mut inputs.web.page_bytes),
            ("others-per-page", others, &mut inputs.web.others_per_page),
            ("other-size", web.other_size, &mut inputs.web.other_bytes),
            ("changing", web.changing, &mut inputs.web.pages_changed_share_per_day),
            ("others-changing", web.others_changing, &mut inputs.web.others_changed_share_per_day),
            ("growing", web.growing, &mut inputs.web.added_share_per_day),
            ("links", web.links, &mut inputs.web.links_per_page),
            ("new-links", web.new_links, &mut inputs.web.changed_links_share),
            ("resent", web.resent, &mut inputs.crawl.resent_share),
            ("months", keeping.months, &mut inputs.crawl.months),
            ("round-days", keeping.round_days, &mut inputs.crawl.round_days),
            ("gzip", keeping.gzip, &mut inputs.packing.page_gzip_ratio),
            ("first", keeping.first, &mut inputs.packing.page_first_of_gzip),
            ("version", keeping.version, &mut inputs.packing.page_version_of_gzip),
            ("other", keeping.other, &mut inputs.packing.other_ratio),
            ("link-size", keeping.link_size, &mut inputs.links.bytes_per_link),
            ("leaving", keeping.leaving, &mut inputs.links.leaving_share),
            ("disk", machine.disk, &mut inputs.machine.disk_bytes),
            ("fill", machine.fill, &mut inputs.machine.disk_fill_share),
            ("stay-days", machine.stay_days, &mut inputs.machine.stay_days),
            ("session-hours", machine.session_hours, &mut inputs.machine.session_hours),
            ("absence-hours", machine.absence_hours, &mut inputs.machine.absence_hours),
        ] {
            if let Some(value) = value {
                *at = value;
                given.push(name);
            }
        }
        self.change_ring(&mut inputs, &mut given);
        (inputs, given)
    }

    fn change_ring(&self, inputs: &mut Inputs, given: &mut Vec<&'static str>) {
        let (keeping, machine) = (&self.keeping, &self.machine);
        if let Some(up) = machine.up {
            inputs.machine.up_bits_per_s = Some(up);
            given.push("up");
        }
        if let Some(down) = machine.down {
            inputs.machine.down_bits_per_s = Some(down);
            given.push("down");
        }
        if let Some(Grace(hours)) = keeping.grace_hours {
            inputs.ring.grace_hours = hours;
            given.push("grace-hours");
        }
        if let Some(days) = keeping.repair_days {
            inputs.ring.repair = Repair::Days(days);
            given.push("repair-days");
        }
        if let Some(share) = keeping.repair_share {
            inputs.ring.repair = Repair::Share(share);
            given.push("repair-share");
        }
        if let Some(Nodes(count)) = machine.nodes {
            inputs.ring.nodes_count = count;
            given.push("nodes");
        } else if !given.is_empty() {
            // The thesis's 20,000 are for the thesis's web.
            inputs.ring.nodes_count = None;
        }
    }
}
