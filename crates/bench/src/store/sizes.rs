//! Bytes on disk of real sites, against the .warc.gz that a crawler without deduplication writes.
//!
//! Three ways of counting, so that nothing hides: the store's own figure (files and index as long as they are), the blocks
//! that the file system gave to the whole directory after it was closed, and both again after `compact --all`.

use super::{Args, files, temporary};
use crate::peers::{self, Set, say};
use crate::table::{Goals, Table, mb, ratio, share};
use anyhow::{Context, Result, ensure};
use herodotus_store::Store;
use herodotus_store::archive::{ImportOptions, import};
use std::path::Path;

const HISTORIES: [&str; 5] = ["npm", "codemirror", "caniuse", "lxml", "sqlalchemy"];
const CODED: [&str; 4] = ["npm-gzip", "npm-gzip-nginx", "npm-br", "npm-zstd"];
const FIRSTS: [&str; 6] =
    ["npm-first", "codemirror-first", "caniuse-first", "lxml-first", "sqlalchemy-first", "first-mixed"];

/// The sizes of one set, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    warc_gz: u64,
    imported: u64,
    imported_allocated: u64,
    index: u64,
    compacted: u64,
    compacted_allocated: u64,
}

impl Sizes {
    fn add(&mut self, other: Self) {
        self.warc_gz += other.warc_gz;
        self.imported += other.imported;
        self.imported_allocated += other.imported_allocated;
        self.index += other.index;
        self.compacted += other.compacted;
        self.compacted_allocated += other.compacted_allocated;
    }

    fn row(&self, name: String, pages: String, versions: String) -> [String; 12] {
        let of = |bytes| ratio(bytes, self.warc_gz);
        [
            name,
            pages,
            versions,
            mb(self.warc_gz),
            mb(self.imported),
            of(self.imported),
            mb(self.imported_allocated),
            of(self.imported_allocated),
            mb(self.compacted),
            of(self.compacted),
            of(self.compacted_allocated),
            mb(self.index),
        ]
    }
}

pub(crate) fn run(args: &Args, goals: &mut Goals) -> Result<()> {
    let sets = peers::sets(&args.data)?;
    println!(
        "### Bytes on disk\n\n`.warc.gz` = 1.00. *Length* is packs, large bodies, journal and index by their lengths; \
         *allocated* is every block of the whole directory after the store was closed (`du`). MB are 10^6 bytes.\n"
    );
    let mut histories = Sizes::default();
    let mut firsts = Sizes::default();
    for (title, names, pooled) in [
        ("Histories", &HISTORIES[..], Some(("all five histories", &mut histories))),
        ("The same history as servers send it compressed", &CODED[..], None),
        ("First versions only", &FIRSTS[..], Some(("all first versions", &mut firsts))),
    ] {
        println!("{title}:\n");
        let mut table = Table::new(&[
            "set",
            "pages",
            "versions",
            ".warc.gz MB",
            "length MB",
            "ratio",
            "allocated MB",
            "ratio",
            "compacted MB",
            "ratio",
            "allocated ratio",
            "of it index MB",
        ]);
        let mut sum = Sizes::default();
        for name in names {
            let set = sets.get(*name).with_context(|| format!("{name} is not in {}", args.data.display()))?;
            let sizes = one(args, set)?;
            sum.add(sizes);
            table.row(sizes.row(set.name.clone(), set.pages.to_string(), set.versions_median.to_string()));
        }
        if let Some((what, total)) = pooled {
            table.row(sum.row(format!("**{what}**"), String::new(), String::new()));
            *total = sum;
        }
        table.print();
    }
    for (what, goal, sizes) in
        [("histories of 16 versions and more", 0.12, histories), ("first versions", 0.75, firsts)]
    {
        for (when, bytes) in [
            ("after import", sizes.imported),
            ("after import, allocated", sizes.imported_allocated),
            ("compacted, allocated", sizes.compacted_allocated),
        ] {
            goals.at_most(&format!("{what}, of .warc.gz, {when}"), goal, share(bytes, sizes.warc_gz), "");
        }
    }
    Ok(())
}

fn one(args: &Args, set: &Set) -> Result<Sizes> {
    say(&format!("sizes of {}", set.name));
    let file = args.data.join(format!("{}.warc.gz", set.name));
    let dir = temporary(args)?;
    let mut sizes = Sizes { warc_gz: std::fs::metadata(&file)?.len(), ..Sizes::default() };
    ensure!(sizes.warc_gz == set.warc_gz_bytes, "{} is not the file that sets.json tells of", file.display());
    let store = open(dir.path())?;
    let report = import(&store, &file, &ImportOptions::default(), |_| {})?;
    ensure!(report.records_total() == set.records, "{}: {report:?}", set.name);
    sizes.imported = store.bytes_on_disk()?;
    store.close()?;
    sizes.imported_allocated = files::allocated_bytes(dir.path())?;
    let store = open(dir.path())?;
    store.compact(true, |_, _| {})?;
    sizes.compacted = store.bytes_on_disk()?;
    sizes.index = store.index_bytes();
    store.close()?;
    sizes.compacted_allocated = files::allocated_bytes(dir.path())?;
    Ok(sizes)
}

fn open(dir: &Path) -> Result<Store> {
    Ok(Store::open(dir)?.0)
}
