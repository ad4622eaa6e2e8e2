//! `crawl`: archive a site, and go on where it was left.

use super::CONTACT_VARIABLE;
use crate::Session;
use crate::commands::crawl_report::{Reporter, print_summary};
use crate::console::Console;
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use herodotus_frontier::{Media, Scope, Span};
use herodotus_node::crawl::{Crawl as Run, Definition, Event, Stop, Strategy, Summary, load, name_for};
use herodotus_node::together::State;
use ipnet::IpNet;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::watch;

/// Archive sites: their pages, and what the pages need to be shown.
///
/// Fetches politely (one request at a time per host, robots.txt obeyed), keeps every response as it came over the wire, and
/// can be stopped or killed at any moment: run the same command again and it goes on. When everything was visited, the next
/// run is the next round: it asks what has changed, and keeps only that.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Crawl {
    /// URLs to begin with; `-` reads them from standard input, one a line
    #[arg(value_name = "SEED")]
    seeds: Vec<String>,

    /// Read more seeds from a file, one a line
    #[arg(long, value_name = "FILE")]
    seeds_from: Option<PathBuf>,

    /// Read settings and seeds from a crawl file (TOML); flags given beside it win
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Name of the crawl; an existing one goes on [default: the host of the first seed]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// How far to go from the seeds [default: host]
    #[arg(long, value_enum, value_name = "SCOPE")]
    scope: Option<ScopeArg>,

    /// Links to follow from a seed
    #[arg(long, value_name = "N")]
    depth: Option<u16>,

    /// Stop after so many pages (pictures, styles and scripts are not counted)
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Stop after so many bytes
    #[arg(long, value_name = "BYTES")]
    limit_bytes: Option<u64>,

    /// Stop after this time: 90s, 30m, 12h
    #[arg(long, value_name = "TIME")]
    limit_time: Option<Span>,

    /// Only URLs that match this regular expression (repeatable: one of them)
    #[arg(long, value_name = "RE")]
    include: Vec<String>,

    /// No URL that matches this regular expression (repeatable)
    #[arg(long, value_name = "RE")]
    exclude: Vec<String>,

    /// What to keep: pages alone, pages and images, or everything [default: all]
    #[arg(long, value_enum, value_name = "MEDIA")]
    media: Option<MediaArg>,

    /// Least time between two requests to a host, in milliseconds; below 500 only for --allow-private [default: 1000]
    #[arg(long, value_name = "MS")]
    delay: Option<u64>,

    /// Requests at once to one host [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    concurrency: Option<u32>,

    /// Requests at once over all hosts [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    requests: Option<u32>,

    /// User-Agent header [default: one that names this project and your --contact]
    #[arg(long, value_name = "TEXT")]
    user_agent: Option<String>,

    /// Mail address or URL where a server's owner can reach you
    #[arg(long, value_name = "MAIL|URL", env = CONTACT_VARIABLE)]
    pub(crate) contact: Option<String>,

    /// Do not ask for robots.txt, nor heed nofollow and noarchive: for your own sites
    #[arg(long)]
    ignore_robots: bool,

    /// A network that may be asked although it is not public, such as 127.0.0.0/8 (repeatable)
    #[arg(long, value_name = "CIDR")]
    allow_private: Vec<IpNet>,

    /// Dial hosts elsewhere than DNS says, such as *.example=127.0.0.1:8080 (repeatable)
    #[arg(long, value_name = "HOST=ADDR:PORT")]
    connect_to: Vec<String>,

    /// Rounds in this run; between them it waits for what is due [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// Time after which everything known is due again [default: 1d]
    #[arg(long, value_name = "TIME")]
    period: Option<Span>,

    /// Let the whole ring crawl, not this machine alone: each makes the part that is placed with it. Given again while it runs, changes it
    #[arg(long)]
    together: bool,

    /// With --together: who fetches: owner, url, host, host-over:N, redirect[:THRESHOLD[:TIMES]], near[:CANDIDATES] [default: owner]
    #[arg(long, value_name = "STRATEGY", requires = "together")]
    strategy: Option<Strategy>,

    /// With --together: do not wait until it is over
    #[arg(long, requires = "together")]
    no_wait: bool,
}

const EXAMPLES: &str = "\
Examples:
  herodotus crawl https://example.org                      a whole site, politely
  herodotus crawl https://example.org/docs/ --scope prefix one folder of it
  herodotus crawl --name news --file news.toml             a crawl written down
  herodotus crawl --name news                              go on, or begin the next round
  herodotus crawl example.org --rounds 7 --period 1d       a week, every day
  herodotus crawl --together https://example.org           the whole ring crawls it

Exit status: 0 done, 1 it could not go on, 3 no seed could be fetched, 130 stopped by Ctrl-C.";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScopeArg {
    /// The seeds alone, with what they need to be shown
    Page,
    /// What lies in the seeds' folders and below
    Prefix,
    /// The seeds' hosts
    Host,
    /// The seeds' domains with all their hosts
    Domain,
    /// Wherever links lead
    Any,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MediaArg {
    Html,
    Images,
    All,
}

/// No seed could be fetched.
const EXIT_NO_SEED: u8 = 3;
/// Stopped by Ctrl-C, as shells count.
const EXIT_STOPPED: u8 = 130;

impl Crawl {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let data = session.data_dir()?;
        let (name, definition) = self.define(session, &data)?;
        if self.together {
            return super::together::crawl(session, &name, definition, !self.no_wait);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting threads")?;
        let store = session.open()?;
        let is_shy =
            definition.contact.is_none() && definition.user_agent.is_none() && definition.allow_private.is_empty();
        // In a node, its pages show the crawl, and may stop it too.
        let (crawl, charge) = match session.keeper() {
            Some(keeper) => keeper.take_on(&name, definition).map(|(crawl, charge)| (crawl, Some(Arc::new(charge))))?,
            None => (Run::open(&data, &store, &name, &definition)?, None),
        };
        if is_shy {
            session.tell("please tell servers how to reach you: --contact you@example.org (or HERODOTUS_CONTACT)");
        }
        let mut reporter = Reporter::new(&session.console, session.json, &name, &crawl);
        let stop = charge.as_ref().map_or_else(|| watch::Sender::new(Stop::No), |charge| charge.stopper());
        let (every, line) = (reporter.every(), reporter.line());
        let told = charge.clone();
        let summary = runtime.block_on(async {
            let stopped = stop.subscribe();
            let listener = tokio::spawn(listen(session.console.clone(), stop, line.clone()));
            let watch = move |event: Event<'_>| {
                if let Some(charge) = &told {
                    charge.hear(&event);
                }
                reporter.tell(&event);
            };
            let summary = tokio::spawn(crawl.run(stopped, every, watch)).await;
            listener.abort();
            summary
        });
        line.finish_and_clear();
        let summary = summary.context("the crawl broke off, which is our mistake")?;
        // What is still on its way is not waited for: its URLs are in the queue.
        runtime.shutdown_background();
        if let Some(charge) = charge {
            charge.end(&summary);
        }
        let summary = summary.with_context(|| format!("the crawl {name} could not go on (it will where it was)"))?;
        session.close(store).context("closing the archive")?;
        print_summary(session, &summary)?;
        Ok(exit_code(&summary))
    }

    /// What is to be crawled: what is known under the name, what the file says, what the flags say, in this order.
    fn define(&self, session: &Session, data: &std::path::Path) -> Result<(String, Definition)> {
        let mut seeds = Vec::new();
        for seed in &self.seeds {
            if seed == "-" {
                seeds.extend(read_seeds(session.console.input()).context("reading seeds from standard input")?);
            } else {
                seeds.push(seed.clone());
            }
        }
        if let Some(path) = &self.seeds_from {
            let reading = || format!("reading seeds from {}", path.display());
            let file = std::fs::File::open(session.path(path)).with_context(reading)?;
            seeds.extend(read_seeds(file).with_context(reading)?);
        }
        let from_file = self.file.as_deref().map(|path| Definition::read(&session.path(path))).transpose()?;
        let first = seeds.first().or_else(|| from_file.as_ref().and_then(|file| file.seeds.first())).cloned();
        let name = match (&self.name, first) {
            (Some(name), _) => name.clone(),
            (None, Some(first)) => {
                let only = Definition { seeds: vec![first], ..Definition::default() };
                name_for(only.seed_urls()?.first().context("a seed")?)
            }
            (None, None) => bail!("there is nothing to crawl: name a seed, such as https://example.org"),
        };
        let mut is_going = false;
        let known = match session.together().filter(|_| self.together) {
            Some((together, _)) => together.order(&name).map(|order| {
                is_going = matches!(order.state, State::Running | State::Paused);
                order.definition
            }),
            None => load(data, &name)?,
        };
        let is_new = known.is_none() && from_file.is_none();
        let mut definition = match (from_file, known) {
            (Some(file), _) => file,
            (None, Some(known)) => known,
            (None, None) => Definition::default(),
        };
        ensure!(
            !(is_new && seeds.is_empty()),
            "there is no crawl named {name}: `herodotus crawls` lists those that are here, and seeds begin a new one"
        );
        add_missing(&mut definition.seeds, &seeds);
        self.apply(&mut definition, is_going);
        Ok((name, definition))
    }

    /// `is_going`: the run is changed in its midst, and what is not named stays.
    fn apply(&self, definition: &mut Definition, is_going: bool) {
        let crawl = &mut definition.crawl;
        if let Some(scope) = self.scope {
            crawl.scope = match scope {
                ScopeArg::Page => Scope::Page,
                ScopeArg::Prefix => Scope::Prefix,
                ScopeArg::Host => Scope::Host,
                ScopeArg::Domain => Scope::Domain,
                ScopeArg::Any => Scope::Any,
            };
        }
        if let Some(media) = self.media {
            crawl.media = match media {
                MediaArg::Html => Media::Html,
                MediaArg::Images => Media::Images,
                MediaArg::All => Media::All,
            };
        }
        // A limit is for a run: without the flag there is none, unless a crawl file says so, or the run goes on.
        let stays = self.file.is_some() || is_going;
        crawl.depth = self.depth.or(crawl.depth);
        crawl.limit = self.limit.or(crawl.limit.filter(|_| stays));
        crawl.limit_bytes = self.limit_bytes.or(crawl.limit_bytes.filter(|_| stays));
        crawl.limit_time = self.limit_time.or(crawl.limit_time.filter(|_| stays));
        add_missing(&mut crawl.include, &self.include);
        add_missing(&mut crawl.exclude, &self.exclude);
        crawl.delay = self.delay.map_or(crawl.delay, Span);
        crawl.concurrency = self.concurrency.unwrap_or(crawl.concurrency);
        crawl.ignore_robots |= self.ignore_robots;
        crawl.rounds = self.rounds.unwrap_or(if stays { crawl.rounds } else { 1 });
        crawl.period = self.period.unwrap_or(crawl.period);
        definition.requests = self.requests.map_or(definition.requests, |n| n as usize);
        definition.strategy = self.strategy.unwrap_or(definition.strategy);
        definition.user_agent = self.user_agent.clone().or(definition.user_agent.take());
        definition.contact = self.contact.clone().or(definition.contact.take());
        add_missing(&mut definition.allow_private, &self.allow_private);
        // Where hosts are dialled is a matter of today.
        if !self.connect_to.is_empty() {
            definition.connect_to = self.connect_to.clone();
        }
    }
}

/// Adds what is not there yet, in its order.
fn add_missing<T: Clone + Eq + std::hash::Hash>(known: &mut Vec<T>, more: &[T]) {
    let mut there: std::collections::HashSet<T> = known.iter().cloned().collect();
    known.extend(more.iter().filter(|one| there.insert((*one).clone())).cloned());
}

/// Bytes of seeds: about a million of them. They are held in memory, and in a node there are others.
const SEEDS_BYTES_MAX: u64 = 64 << 20;

/// One seed a line; empty lines and lines that begin with `#` are left out.
fn read_seeds(from: impl Read) -> Result<Vec<String>> {
    let mut seeds = Vec::new();
    let mut left = SEEDS_BYTES_MAX;
    for line in BufReader::new(from.take(SEEDS_BYTES_MAX + 1)).lines() {
        let line = line?;
        let enough = "too many seeds: at most 64 MiB of them are taken at once";
        left = left.checked_sub(line.len() as u64 + 1).context(enough)?;
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            seeds.push(line.to_owned());
        }
    }
    Ok(seeds)
}

/// The first Ctrl-C stops gently, the second at once.
async fn listen(console: Console, stop: watch::Sender<Stop>, line: indicatif::ProgressBar) {
    let Ok(mut stops) = console.stops() else { return };
    for (kind, text) in [
        (Stop::Gently, "Stopping: what is in flight is still kept. Once more stops at once."),
        (Stop::Now, "Stopped at once: what was in flight is asked for again next time."),
    ] {
        stops.next().await;
        let is_over = stop.send(kind).is_err();
        line.suspend(|| console.tell(text));
        if is_over {
            return;
        }
    }
}

fn exit_code(summary: &Summary) -> ExitCode {
    if summary.end.is_none() {
        return ExitCode::from(EXIT_STOPPED);
    }
    if summary.seeds_failed > 0 && summary.seeds_fetched == 0 {
        return ExitCode::from(EXIT_NO_SEED);
    }
    ExitCode::SUCCESS
}
