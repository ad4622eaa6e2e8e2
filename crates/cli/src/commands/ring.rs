//! `ring`: making a ring, letting others in, and seeing how it stands.

use crate::Session;
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use herodotus_base::PeerKey;
use herodotus_net::{Draft, Relay, Ticket};
use herodotus_node::copies::CopiesSettings;
use herodotus_node::ring::{RingNode, RingSettings, admit, create, membership};
use herodotus_node::together::State;
use herodotus_web::Peers;
use herodotus_web::peers::{ContactView, LookupView, RingView};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Where peers reach a node if nothing else is said. QUIC, so UDP.
const PEERS_LISTEN: &str = "0.0.0.0:8482";

/// How a node takes part in a ring.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ring")]
pub(crate) struct Part {
    /// Join a ring with a ticket from `herodotus ring invite`. Once is enough: the archive remembers its ring
    #[arg(long, value_name = "TICKET")]
    join: Option<String>,

    /// Address and UDP port at which peers reach this machine
    #[arg(long, value_name = "ADDRESS:PORT", default_value = PEERS_LISTEN)]
    peers: Vec<SocketAddr>,

    /// Another address at which others reach this machine, such as a forwarded port
    #[arg(long, value_name = "ADDRESS:PORT")]
    external: Vec<SocketAddr>,

    /// Places on the circle that this machine takes: more for a larger one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    virtual_nodes: u16,

    /// Relay that carries packets where machines cannot reach one another: its URL, or `default` for the public ones
    #[arg(long, value_name = "URL")]
    relay: Vec<String>,

    /// Publish our addresses at, and ask, the public discovery service
    #[arg(long)]
    discovery: bool,

    /// How often neighbours are asked how they are, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(50..=600_000))]
    ring_pace: u64,

    /// Machines on which something must lie before it counts as kept
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    durable_on: u16,

    /// How slowly copies are kept: 1 waits a quarter of an hour for a machine that is away, 0.1 a tenth of that
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    copies_pace: f64,

    /// URLs of one host that lie together before they are split over two places, then four; 0: always together
    #[arg(long, value_name = "N", default_value_t = 128)]
    split_at: u32,

    /// Days in which a machine reads all its own bytes through, to find what has rotted
    #[arg(long, value_name = "DAYS", default_value_t = 30.0)]
    scrub_days: f64,

    /// Megabits a second that mending copies may take, each way; without it, all that reading and crawling leave
    #[arg(long, value_name = "MBIT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    mend_rate: Option<u32>,

    /// Send readers to the machine that holds a page instead of showing it from here (needs --url on every machine)
    #[arg(long)]
    pub(crate) redirect: bool,
}

impl Part {
    /// Joins if a ticket says so, and takes part if the archive belongs to a ring.
    pub(crate) async fn start(&self, data: &Path) -> Result<Option<RingNode>> {
        let settings = self.settings();
        let admission = match &self.join {
            Some(text) => {
                let ticket: Ticket = text.trim().parse().context("that is no ticket: copy the whole of it")?;
                Some(admit(data, &ticket, &settings).await.context("joining the ring")?)
            }
            None => membership(data)?,
        };
        let Some(admission) = admission else { return Ok(None) };
        let listen = self.peers.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(", ");
        let started = RingNode::start(data, admission, &settings, true).await;
        started.map(Some).with_context(|| format!("listening for peers on {listen} (choose another with --peers)"))
    }

    /// How copies are kept. `public`: where people reach this node's pages.
    pub(crate) fn copies(&self, public: Option<String>) -> Result<CopiesSettings> {
        ensure!(
            self.copies_pace > 0.0 && self.copies_pace <= 1000.0,
            "--copies-pace {} is no pace: more than 0 and at most 1000",
            self.copies_pace
        );
        ensure!(
            self.scrub_days > 0.0 && self.scrub_days <= 36_500.0,
            "--scrub-days {} is no time: more than 0, at most a hundred years",
            self.scrub_days
        );
        let mut settings = CopiesSettings { durable_on: self.durable_on, public, ..CopiesSettings::default() };
        settings = settings.at_pace(self.copies_pace);
        settings.split_at = self.split_at;
        settings.mend_bytes_per_s = self.mend_rate.map(|mbit| u64::from(mbit) * 1_000_000 / 8);
        settings.scrub_every = Duration::from_secs_f64(self.scrub_days * 86_400.0);
        Ok(settings)
    }

    fn settings(&self) -> RingSettings {
        let relay = match self.relay.as_slice() {
            [] => Relay::None,
            [one] if one == "default" => Relay::Default,
            urls => Relay::Urls(urls.to_vec()),
        };
        RingSettings {
            listen: self.peers.clone(),
            external: self.external.clone(),
            relay,
            discovery: self.discovery,
            virtual_nodes: self.virtual_nodes,
            stabilise_every: Duration::from_millis(self.ring_pace),
        }
    }
}

/// Make a ring of peers, let others in, and see how it stands.
///
/// A ring shares the work and keeps copies of everything on several machines. One machine creates it and invites the others:
///
///   herodotus ring create --name library     on the first machine
///   herodotus node                           there, to run it
///   herodotus ring invite                    there: prints a ticket for one other machine
///   herodotus node --join TICKET             on the other machine
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Ring {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a ring with this archive as its first member
    Create(Create),
    /// Print a ticket with which one other machine can join
    Invite(Invite),
    /// Shut a machine out of a ring that you own
    Revoke(Revoke),
    /// Say how the ring stands, as this machine sees it
    Status,
    /// Find who is responsible for a URL, and show the way there
    Lookup(Lookup),
    /// Say how many copies everything has, what is being repaired, and what each machine holds
    Health,
    /// Leave the ring for good: hand over what this machine owns, then stop taking part
    Leave,
    /// List the crawls that the ring makes together, and each machine's part (begin one with `crawl --together`)
    Crawls,
    /// Let a crawl of the ring rest
    Pause(Named),
    /// Let it go on
    Resume(Named),
    /// End it
    Stop(Named),
}

#[derive(Debug, Args)]
struct Create {
    /// What people call it
    #[arg(long, default_value = "herodotus")]
    name: String,
    /// Anybody may join: places are given by address. Otherwise only machines that you invite
    #[arg(long)]
    open: bool,
    /// Machines on which everything is kept
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=64))]
    copies: u16,
    /// Neighbours that every node knows; more survive larger disasters
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=64))]
    neighbours: u16,
    /// What lies together: all of a host until it grows, or every URL by itself. For ever
    #[arg(long, value_enum, default_value_t = Lies::Host)]
    placement: Lies,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Lies {
    Host,
    Url,
}

#[derive(Debug, Args)]
struct Named {
    /// The crawl's name
    name: String,
}

#[derive(Debug, Args)]
struct Invite {
    /// How long the ticket is good: 45m, 12h, 7d
    #[arg(long = "for", value_name = "TIME", default_value = "7d", value_parser = duration)]
    lasts: Duration,
}

#[derive(Debug, Args)]
struct Revoke {
    /// The machine's key, as `ring status` prints it
    #[arg(value_name = "KEY", value_parser = key)]
    machine: PeerKey,
}

#[derive(Debug, Args)]
struct Lookup {
    /// A URL or the name of a host
    url: String,
}

impl Ring {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        match self.what {
            What::Create(create) => create.run(session)?,
            What::Invite(invite) => invite.run(session)?,
            What::Revoke(revoke) => revoke.run(session)?,
            What::Status => status(session)?,
            What::Lookup(lookup) => lookup.run(session)?,
            What::Health => super::ring_health::show(session)?,
            What::Leave => super::ring_health::leave(session)?,
            What::Crawls => super::together::list(session)?,
            What::Pause(crawl) => super::together::set_state(session, &crawl.name, State::Paused)?,
            What::Resume(crawl) => super::together::set_state(session, &crawl.name, State::Running)?,
            What::Stop(crawl) => super::together::set_state(session, &crawl.name, State::Stopped)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The running node's ring. Commands that were sent to a node find it; others say what to do.
pub(super) fn ring_of(session: &Session) -> Result<RingNode> {
    match session.ring() {
        Some(ring) => Ok(ring),
        None if membership(&session.data_dir()?)?.is_some() => {
            bail!("no node is running on this archive: start it with `herodotus node`, then ask again")
        }
        None => bail!(
            "this archive belongs to no ring: make one with `herodotus ring create`, or join one with `herodotus node --join TICKET`"
        ),
    }
}

impl Create {
    fn run(self, session: &Session) -> Result<()> {
        ensure!(
            !session.is_inside(),
            "a node is running on this archive, and takes part in a ring from its start only: stop it, create the ring, start it again"
        );
        let data = session.data_dir()?;
        if let Some(known) = membership(&data)? {
            bail!("this archive belongs to the ring “{}” already", known.charter().terms().name);
        }
        let is_by_url = self.placement == Lies::Url;
        let draft = Draft { name: &self.name, r: self.neighbours, copies: self.copies, is_by_url };
        let admission = create(&data, draft, self.open)?;
        if session.json {
            return session
                .console
                .json_line(&json!({ "ring": admission.ring().to_string(), "name": self.name, "open": self.open }));
        }
        session.say(format_args!("The ring “{}” is made; this archive is its first member.", self.name));
        session.say(format_args!(
            "Start it with `herodotus node`, then print a ticket for each other machine with `herodotus ring invite`."
        ));
        if !self.open {
            let path = herodotus_node::ring::ring_dir(&data);
            session.say(format_args!("Only whoever has {} can invite: keep a copy of it.", path.display()));
        }
        Ok(())
    }
}

impl Invite {
    fn run(self, session: &Session) -> Result<()> {
        let ticket = ring_of(session)?.invite(self.lasts)?;
        let text = ticket.to_text()?;
        if session.json {
            let issuer = ticket.issuer();
            return session.console.json_line(
                &json!({ "ticket": text, "expires": ticket.expires().to_string(), "addresses": issuer.direct }),
            );
        }
        session.say(format_args!("{text}"));
        session
            .note(format_args!("Good for one machine until {}. There: herodotus node --join TICKET", ticket.expires()));
        Ok(())
    }
}

impl Revoke {
    fn run(self, session: &Session) -> Result<()> {
        let serial = ring_of(session)?.revoke(self.machine)?;
        if session.json {
            return session.console.json_line(&json!({ "revoked": self.machine.to_string(), "serial": serial }));
        }
        session.say(format_args!(
            "{} is shut out. Machines that are connected know it now, the others when they connect.",
            self.machine
        ));
        Ok(())
    }
}

fn status(session: &Session) -> Result<()> {
    let view = ring_of(session)?.view();
    if session.json {
        return session.console.json_line(&serde_json::to_value(&view)?);
    }
    show_status(session, &view);
    Ok(())
}

fn show_status(session: &Session, view: &RingView) {
    let kind = if view.is_open { "open" } else { "closed" };
    session.say(format_args!(
        "Ring “{}” ({kind}), about {:.0} nodes, {} copies, placed by {}",
        view.name, view.nodes_estimate, view.copies, view.placement
    ));
    session.say(format_args!("This machine {}{}", view.machine, if view.is_owner { ", the owner" } else { "" }));
    session.say(format_args!("  at {}", view.addresses.join(", ")));
    for node in &view.nodes {
        session.say(format_args!(""));
        session.say(format_args!(
            "Node {}  {}, {:.1}% of the circle",
            short(&node.contact),
            node.standing,
            node.arc_share * 100.0
        ));
        if let Some(before) = &node.predecessor {
            session.say(format_args!("  before  {}", line(before)));
        }
        for (at, next) in node.successors.iter().enumerate() {
            session.say(format_args!("  {}  {}", if at == 0 { "after " } else { "      " }, line(next)));
        }
        session.say(format_args!(
            "  {} fingers, {} peers known, {} of them silent",
            node.fingers.len(),
            node.known,
            node.dead
        ));
    }
    if let Some(event) = view.events.first() {
        session.say(format_args!(""));
        session.say(format_args!("Last: {}  {}", event.time, event.what));
    }
}

impl Lookup {
    fn run(self, session: &Session) -> Result<()> {
        let ring = ring_of(session)?;
        let found = match session.copies() {
            Some((copies, _)) => session.wait(async move { copies.find(&self.url).await })??,
            None => session.wait(async move { ring.find(&self.url).await })??,
        };
        if session.json {
            return session.console.json_line(&serde_json::to_value(&found)?);
        }
        show_lookup(session, &found);
        Ok(())
    }
}

fn show_lookup(session: &Session, found: &LookupView) {
    session.say(format_args!("{} lies at {}", found.url, &found.key[..16]));
    for stop in &found.stops {
        let took = stop.round_trip_ms.map_or_else(
            || if stop.depth == 0 { "here".to_owned() } else { "no answer".to_owned() },
            |ms| format!("{ms:.1} ms"),
        );
        session.say(format_args!("  {:>2}  {took:>10}  {}", stop.depth, line(&stop.node)));
    }
    session.say(format_args!("Responsible: {}  ({} hops, {:.1} ms)", line(&found.owner), found.hops, found.took_ms));
    for (at, replica) in found.replicas.iter().enumerate() {
        session.say(format_args!("  copy {}  {}", at + 1, line(replica)));
    }
}

/// One node on a line.
fn line(contact: &ContactView) -> String {
    let place = contact.addresses.first().map_or("", String::as_str);
    let trip = contact.round_trip_ms.map_or_else(String::new, |ms| format!("  {ms:.1} ms"));
    let ours = if contact.is_ours { "  (this machine)" } else { "" };
    format!("{}  {place}{trip}{ours}", short(contact))
}

fn short(contact: &ContactView) -> String {
    contact.id.chars().take(12).collect()
}

fn key(text: &str) -> Result<PeerKey> {
    let bytes =
        data_encoding::HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes()).context("a key has 64 hexadecimal digits")?;
    let key = <[u8; 32]>::try_from(bytes).ok().context("a key has 64 hexadecimal digits")?;
    Ok(PeerKey(key))
}

/// `90s`, `45m`, `12h`, `7d`.
fn duration(text: &str) -> Result<Duration> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = number.parse().context("write it as 45m, 12h or 7d")?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => bail!("write it as 45m, 12h or 7d"),
    };
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds <= 366 * 86_400);
    let time = Duration::from_secs(seconds.context("a year is the longest")?);
    ensure!(!time.is_zero(), "that is no time at all");
    Ok(time)
}
