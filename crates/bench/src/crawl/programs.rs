//! The programs that crawl: how each is got and how it is started, by its own documentation, politeness off.

use super::herodotus::Herodotus;
use super::{Args, Part};
use crate::cpu::{Cost, measure_accepting};
use crate::peers::say;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRAPY: &str = "scrapy~=2.19.0";
/// wget ends with 8 when a page answered with an error, which real sites do, and with 4 when one of its requests failed.
const WGET_ACCEPTED: [i32; 3] = [0, 4, 8];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Herodotus,
    Bare,
    Spider,
    WgetPlain,
    WgetGzip,
    Scrapy,
}

impl Program {
    /// In the order of the table.
    pub(crate) const ALL: [Self; 6] =
        [Self::Herodotus, Self::Bare, Self::Spider, Self::WgetPlain, Self::WgetGzip, Self::Scrapy];

    pub(crate) fn part(self) -> Part {
        match self {
            Self::Herodotus => Part::Herodotus,
            Self::Bare => Part::Bare,
            Self::Spider => Part::Spider,
            Self::WgetPlain | Self::WgetGzip => Part::Wget,
            Self::Scrapy => Part::Scrapy,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Herodotus => "**herodotus crawl**",
            Self::Bare => "bare hyper loop, nothing parsed or kept (the limit)",
            Self::Spider => "`spider` 2.53 (crate), WARC without requests, digests or compression, no pictures",
            Self::WgetPlain => "wget `--warc-file --no-warc-compression`",
            Self::WgetGzip => "wget `--warc-file`",
            Self::Scrapy => "scrapy 2.19, bodies only",
        }
    }
}

/// What is needed to run them, on this machine.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) herodotus: Option<Herodotus>,
    spider: PathBuf,
    scrapy: PathBuf,
    /// The paths that the bare loop fetches.
    pub(crate) list: PathBuf,
    concurrency: String,
}

impl Programs {
    /// Gets what the chosen programs need.
    pub(crate) fn get(args: &Args, chosen: &[Program], list: PathBuf) -> Result<Self> {
        let mut programs = Self {
            herodotus: None,
            spider: PathBuf::new(),
            scrapy: PathBuf::new(),
            list,
            concurrency: args.concurrency.to_string(),
        };
        if chosen.contains(&Program::Herodotus) {
            programs.herodotus = Some(Herodotus::new(args)?);
        }
        if chosen.contains(&Program::Spider) {
            programs.spider = spider(&args.data)?;
        }
        if chosen.contains(&Program::Scrapy) {
            programs.scrapy = scrapy(&args.data)?;
        }
        Ok(programs)
    }

    /// One crawl of the site behind a seed, in an empty directory.
    pub(crate) fn run(&self, program: Program, at: &Path, seed: &str) -> Result<Cost> {
        let n = self.concurrency.as_str();
        match program {
            Program::Herodotus => self.herodotus.as_ref().context("herodotus was not built")?.crawl(at, seed, "bench"),
            Program::Bare => {
                let list = self.list.to_str().context("a path that is not text")?;
                let me = std::env::current_exe()?;
                measure_accepting(at, &me, &["bare", "--connections", n, seed, list], &[0])
            }
            Program::Spider => measure_accepting(at, &self.spider, &[seed, "crawl.warc", n], &[0]),
            Program::WgetPlain => wget(at, &["--no-warc-compression", seed]),
            Program::WgetGzip => wget(at, &[seed]),
            Program::Scrapy => {
                let script = here("peers/scrapy/crawl.py");
                let script = script.to_str().context("a path that is not text")?;
                measure_accepting(at, &self.scrapy, &[script, seed, "bodies", n], &[0])
            }
        }
    }
}

/// Everything below the seed with what its pages need, into a WARC file and nothing beside it.
fn wget(at: &Path, arguments: &[&str]) -> Result<Cost> {
    let mut all = vec!["-q", "-r", "-l", "inf", "-p", "-nH", "-P", "files", "--delete-after", "--warc-file=crawl"];
    all.extend(["--warc-tempdir=.", "--no-config"]);
    all.extend(arguments);
    measure_accepting(at, Path::new("wget"), &all, &WGET_ACCEPTED)
}

/// A list of URLs into a folder, or, where they are there, only what is newer at the site.
pub(crate) fn wget_list(at: &Path, list: &Path, newer_only: bool) -> Result<Cost> {
    let list = list.to_str().context("a path that is not text")?;
    let mut all = vec!["-q", "-x", "-nH", "-P", "files", "--no-config", "-i", list];
    if newer_only {
        all.push("-N");
    }
    measure_accepting(at, Path::new("wget"), &all, &WGET_ACCEPTED)
}

/// Built once outside the repository, where a lock file and a target directory disturb nobody.
fn spider(data: &Path) -> Result<PathBuf> {
    let target = data.join("spider-target");
    let program = target.join("release/peer-spider");
    if program.exists() {
        return Ok(program);
    }
    say("building the peer `spider` (ten minutes, once)");
    let copy = data.join("spider");
    std::fs::create_dir_all(copy.join("src"))?;
    for file in ["Cargo.toml", "src/main.rs"] {
        std::fs::copy(here("peers/spider").join(file), copy.join(file))?;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--release", "--target-dir"]).arg(&target).current_dir(&copy);
    finish(&mut build)?;
    Ok(program)
}

fn scrapy(data: &Path) -> Result<PathBuf> {
    let venv = data.join("scrapy");
    let python = venv.join("bin/python");
    if !venv.join("bin/scrapy").exists() {
        say(&format!("installing {SCRAPY} into {}", venv.display()));
        finish(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        finish(Command::new(&python).args(["-m", "pip", "install", "--quiet", SCRAPY]))?;
    }
    Ok(python)
}

fn finish(command: &mut Command) -> Result<()> {
    let status = command.stdout(std::io::stderr()).status()?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
