//! The program: commands, output for people, and `--json` for programs.
//!
//! A command opens the archive, does one thing through the library, and says what happened. Nothing is decided here that
//! another program might want to decide the same way.

mod commands;
mod show;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use herodotus_store::{Options, Store};
use std::path::PathBuf;
use std::process::ExitCode;

/// Herodotus keeps every version of every page.
///
/// Crawl sites, bring in any WARC, WACZ or ARC file, list and read every version, compare two of them, and take everything out again
/// in the formats that other tools read. One data directory holds it all.
#[derive(Debug, Parser)]
#[command(name = "herodotus", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    /// Directory of the archive [default: the platform's data directory for herodotus]
    #[arg(long, global = true, value_name = "DIR", env = "HERODOTUS_DATA")]
    data: Option<PathBuf>,

    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  herodotus demo                                   see it work, with nothing but this program
  herodotus node                                   the archive in your browser: search, replay, crawl
  herodotus serve crawl.wacz                       look at a file, and nothing else
  herodotus crawl https://example.org              archive a site; again: only what changed
  herodotus import crawl.warc.gz more.wacz         bring files in
  herodotus list https://example.org/              every version of a page
  herodotus get https://example.org/ --at 2024     the page as it was at the end of 2024
  herodotus diff https://example.org/              what changed between the last two versions
  herodotus export -o out.wacz --host example.org  take a site out, for any other tool";

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what Herodotus does, on a small web of its own
    Demo(commands::demo::Demo),
    /// Run an archive: its pages, replay, and crawls started from a page
    Node(commands::serve::Node),
    /// Look at an archive, or at WARC and WACZ files, in a browser
    Serve(commands::serve::Serve),
    /// Archive sites, and go on where a crawl was left
    Crawl(Box<commands::crawl::Crawl>),
    /// List crawls, and what they know
    Crawls(commands::crawls::Crawls),
    /// Bring in WARC, WACZ and ARC files
    Import(commands::import::Import),
    /// Write captures to a WARC, WACZ or CDXJ file
    Export(commands::export::Export),
    /// List the versions of a URL, or what lies under a prefix or host
    List(commands::list::List),
    /// Print a page as it was
    Get(commands::get::Get),
    /// Show what changed between two versions of a page
    Diff(commands::diff::Diff),
    /// Say how much is here, and how small it is
    Stats(commands::stats::Stats),
    /// Read everything, and say what is damaged
    Verify(commands::verify::Verify),
    /// Give back the space of what is no longer needed
    Compact(commands::compact::Compact),
    /// Take captures out of the archive, for good
    Remove(commands::remove::Remove),
}

/// What every command is given: which archive, and whom it speaks to.
#[derive(Debug)]
struct Session {
    data: Option<PathBuf>,
    json: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let session = Session { data: cli.data, json: cli.json };
    let result = match cli.command {
        Command::Demo(c) => c.run(&session),
        Command::Node(c) => c.run(&session),
        Command::Serve(c) => c.run(&session),
        Command::Crawl(c) => c.run(&session),
        Command::Crawls(c) => c.run(&session),
        Command::Import(c) => c.run(&session),
        Command::Export(c) => c.run(&session),
        Command::List(c) => c.run(&session),
        Command::Get(c) => c.run(&session),
        Command::Diff(c) => c.run(&session),
        Command::Stats(c) => c.run(&session),
        Command::Verify(c) => c.run(&session),
        Command::Compact(c) => c.run(&session),
        Command::Remove(c) => c.run(&session),
    };
    match result {
        Ok(code) => code,
        Err(error) if show::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("herodotus: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Session {
    fn data_dir(&self) -> Result<PathBuf> {
        if let Some(dir) = &self.data {
            return Ok(dir.clone());
        }
        let dirs = directories::ProjectDirs::from("", "", "herodotus");
        let dirs = dirs.context("no home directory is known: say where the archive is with --data DIR")?;
        Ok(dirs.data_dir().to_owned())
    }

    /// Opens the archive, making it if it is missing.
    fn open(&self) -> Result<Store> {
        self.open_with(Options::default())
    }

    fn open_with(&self, options: Options) -> Result<Store> {
        let (store, recovery) = Store::open_with(&self.data_dir()?, options)?;
        for sentence in recovery.sentences() {
            eprintln!("herodotus: {sentence}");
        }
        Ok(store)
    }

    /// Opens an archive that must be there already.
    fn open_existing(&self) -> Result<Store> {
        let dir = self.data_dir()?;
        anyhow::ensure!(
            dir.join("packs").is_dir(),
            "there is no archive in {}: make one with `herodotus import FILE`, or name another with --data DIR",
            dir.display()
        );
        self.open()
    }
}
