//! Records per CPU second: `herodotus import`, which stores, against `cdxj-indexer`, which only indexes, and `wb-manager add`,
//! which copies and indexes. The programs take turns on the same file, so that a busy machine is busy for all.

use super::{Args, temporary};
use crate::cpu::{Cost, measure, median};
use crate::peers::{self, Set, say};
use crate::table::{Goals, Table, count, mb, seconds, short};
use anyhow::{Context, Result};
use std::path::Path;

/// Many small records, large pages, coded bodies, and a mixed site with pictures.
const SETS: [&str; 5] = ["codemirror", "lxml", "npm", "npm-gzip", "first-mixed"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Herodotus,
    CdxjIndexer,
    WbManager,
}

impl Tool {
    const ALL: [Self; 3] = [Self::Herodotus, Self::CdxjIndexer, Self::WbManager];

    fn name(self) -> &'static str {
        match self {
            Self::Herodotus => "**herodotus import**",
            Self::CdxjIndexer => "cdxj-indexer (indexes only)",
            Self::WbManager => "wb-manager add (copies, indexes)",
        }
    }
}

struct Programs {
    herodotus: std::path::PathBuf,
    tools: std::path::PathBuf,
}

impl Programs {
    /// One run on one file, in a directory of its own.
    fn run(&self, args: &Args, tool: Tool, file: &str) -> Result<Cost> {
        let dir = temporary(args)?;
        let at = dir.path();
        match tool {
            Tool::Herodotus => measure(at, &self.herodotus, &["--data", "archive", "import", file]),
            Tool::CdxjIndexer => measure(at, &self.tools.join("cdxj-indexer"), &["-s", "-o", "index.cdxj", file]),
            Tool::WbManager => {
                measure(at, &self.tools.join("wb-manager"), &["init", "bench"])?;
                measure(at, &self.tools.join("wb-manager"), &["add", "bench", file])
            }
        }
    }
}

pub(crate) fn run(args: &Args, goals: &mut Goals) -> Result<()> {
    let sets = peers::sets(&args.data)?;
    let data = args.data.canonicalize()?;
    let programs = Programs { herodotus: peers::herodotus()?, tools: peers::tools(&args.data)? };
    println!(
        "### Import\n\nUser and system time of the whole program, median of {} runs taken in turns; MB of record blocks, \
         uncompressed, per CPU second.\n",
        args.repeats
    );
    let mut table = Table::new(&[
        "file",
        "records",
        "program",
        "CPU s",
        "records per CPU s",
        "of cdxj-indexer",
        "MB per CPU s",
        "wall s",
        "peak RSS MB",
    ]);
    let mut totals = [Cost::default(); 3];
    let mut total =
        Set { name: "**all**".into(), records: 0, pages: 0, versions_median: 0.0, raw_bytes: 0, warc_gz_bytes: 0 };
    for name in SETS {
        let set = sets.get(name).with_context(|| format!("{name} is not in {}", args.data.display()))?;
        let file = data.join(format!("{name}.warc.gz"));
        let costs = alternate(args, &programs, &file)?;
        total.records += set.records;
        total.raw_bytes += set.raw_bytes;
        for ((tool, cost), sum) in Tool::ALL.into_iter().zip(costs).zip(&mut totals) {
            table.row(row(set, tool, cost, costs[1]));
            sum.wall_s += cost.wall_s;
            sum.cpu_s += cost.cpu_s;
            sum.rss_peak_bytes = sum.rss_peak_bytes.max(cost.rss_peak_bytes);
        }
    }
    for (tool, cost) in Tool::ALL.into_iter().zip(totals) {
        table.row(row(&total, tool, cost, totals[1]));
    }
    table.print();
    let [ours, indexer, _] = totals.map(|cost| cost.cpu_s);
    goals.at_least("import, records per CPU second, of cdxj-indexer's", 3.0, indexer / ours.max(1e-9), " ×");
    Ok(())
}

/// A B C A B C …, and the median of each.
fn alternate(args: &Args, programs: &Programs, file: &Path) -> Result<[Cost; 3]> {
    let path = file.to_str().context("a path that is not text")?;
    let mut costs = Tool::ALL.map(|_| Vec::new());
    for turn in 1..=args.repeats {
        say(&format!("import of {}, turn {turn}", file.file_name().unwrap_or_default().display()));
        for (tool, costs) in Tool::ALL.into_iter().zip(&mut costs) {
            costs.push(programs.run(args, tool, path)?);
        }
    }
    Ok(costs.map(median))
}

fn row(set: &Set, tool: Tool, cost: Cost, indexer: Cost) -> [String; 9] {
    let cpu_s = cost.cpu_s.max(1e-9);
    [
        set.name.clone(),
        count(set.records),
        tool.name().to_owned(),
        seconds(cost.cpu_s),
        short(set.records as f64 / cpu_s),
        format!("{} ×", short(indexer.cpu_s / cpu_s)),
        short(set.raw_bytes as f64 / 1e6 / cpu_s),
        seconds(cost.wall_s),
        mb(cost.rss_peak_bytes),
    ]
}
