//! The program: commands, output for people, and `--json` for programs.
//!
//! A command opens the archive, does one thing through the library, and says what happened. Nothing is decided here that
//! another program might want to decide the same way. If a node has the archive open, it runs the command ([`desk`]).

#![warn(clippy::print_stdout, clippy::print_stderr, reason = "a command may run in a node: see console.rs")]

mod commands;
mod console;
mod desk;
mod session;
mod show;

use anyhow::{Result, anyhow, bail};
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use session::Session;
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
  herodotus node --join TICKET                     the same, as a member of a ring of peers
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
    /// Make a ring of peers, let others in, and see how it stands
    Ring(commands::ring::Ring),
    /// Simulate thousands of machines on this one
    Sim(commands::sim::Sim),
    /// Say how many machines an archive needs, and how safe it is
    Plan(Box<commands::plan::Plan>),
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

/// What a running node means for a command on the same archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BesideNode {
    /// The node runs it.
    Inside,
    /// It cannot be done; why.
    Refused(&'static str),
    /// It works on something else.
    Apart,
}

impl Command {
    fn beside_node(&self) -> BesideNode {
        match self {
            Self::Crawl(_)
            | Self::Crawls(_)
            | Self::Import(_)
            | Self::Export(_)
            | Self::List(_)
            | Self::Get(_)
            | Self::Diff(_)
            | Self::Stats(_)
            | Self::Verify(_)
            | Self::Remove(_)
            | Self::Ring(_) => BesideNode::Inside,
            Self::Node(_) => BesideNode::Refused("a second one cannot be started on the same archive"),
            Self::Serve(serve) if serve.is_of_archive() => BesideNode::Refused("open its pages: they show the same"),
            Self::Compact(_) => {
                BesideNode::Refused("packs cannot be rewritten while it may write to them; stop it first")
            }
            Self::Demo(_) | Self::Serve(_) | Self::Sim(_) | Self::Plan(_) => BesideNode::Apart,
        }
    }

    fn run(self, session: &Session) -> Result<ExitCode> {
        match self {
            Self::Demo(c) => c.run(session),
            Self::Node(c) => c.run(session),
            Self::Serve(c) => c.run(session),
            Self::Ring(c) => c.run(session),
            Self::Sim(c) => c.run(session),
            Self::Plan(c) => c.run(session),
            Self::Crawl(c) => c.run(session),
            Self::Crawls(c) => c.run(session),
            Self::Import(c) => c.run(session),
            Self::Export(c) => c.run(session),
            Self::List(c) => c.run(session),
            Self::Get(c) => c.run(session),
            Self::Diff(c) => c.run(session),
            Self::Stats(c) => c.run(session),
            Self::Verify(c) => c.run(session),
            Self::Compact(c) => c.run(session),
            Self::Remove(c) => c.run(session),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut session = Session::new(cli.data, cli.json);
    let result = run(cli.command, &session);
    ended(result, &mut session)
}

/// Here, or in the node that has the archive open.
fn run(command: Command, session: &Session) -> Result<ExitCode> {
    let beside_node = command.beside_node();
    if beside_node == BesideNode::Apart {
        return command.run(session);
    }
    let data = session.data_dir()?;
    let Some(node) = desk::find(&data) else { return command.run(session) };
    if let BesideNode::Refused(why) = beside_node {
        bail!("a node has {} open (process {}): {why}", data.display(), desk::holder(&data));
    }
    let contact = std::env::var(commands::CONTACT_VARIABLE).ok();
    let stops_gently = matches!(command, Command::Crawl(_));
    desk::Errand { data: session.data.as_deref(), contact, stops_gently }.run(node)
}

/// In a node: does what another process was asked to do. The exit code.
fn answer(visitor: desk::Visitor) -> u8 {
    let desk::Visitor { arguments, contact, mut session } = visitor;
    let name = std::iter::once("herodotus".into());
    let given = Cli::command().try_get_matches_from(name.chain(arguments));
    let cli = given.and_then(|given| Cli::from_arg_matches(&given).map(|cli| (given, cli)));
    let (given, mut cli) = match cli {
        Ok(read) => read,
        // The visitor has read them once and found them right, but it may be another build of this program.
        Err(error) => {
            session.tell(error);
            return EXIT_USAGE;
        }
    };
    session.json = cli.json;
    // The environment that counts is the visitor's, not the node's.
    if let (Command::Crawl(crawl), Some((_, given))) = (&mut cli.command, given.subcommand())
        && given.value_source("contact") != Some(ValueSource::CommandLine)
    {
        crawl.contact = contact;
    }
    let result = match cli.command.beside_node() {
        BesideNode::Inside => cli.command.run(&session),
        BesideNode::Refused(why) => Err(anyhow!("a node cannot do that: {why}")),
        BesideNode::Apart => Err(anyhow!("a node cannot do that")),
    };
    let code = ended(result, &mut session);
    // The standard library does not give the number back.
    (0..=u8::MAX).find(|n| ExitCode::from(*n) == code).unwrap_or(u8::MAX)
}

/// What `clap` ends with when it does not understand.
const EXIT_USAGE: u8 = 2;

fn ended(result: Result<ExitCode>, session: &mut Session) -> ExitCode {
    match session.check_said().and(result) {
        Ok(code) => code,
        Err(error) if show::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            session.tell(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
