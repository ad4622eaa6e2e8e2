//! The other web: hosts that misbehave in every way we have met or could think of, each with what a right crawler
//! makes of it.
//!
//! Every case is a host, `<name>.hostile.test`, that plays one trick on whoever asks for its seed. Otherwise it is
//! decent, so that one can see that the rest of the host goes on: `/after.html` is an honest page, and `/robots.txt` is
//! a 404 unless robots.txt is what the trick is about. Answers are hand-written bytes, HTTP/2 frames included, because
//! no library would let us send most of them.
//!
//! Nothing lasts for ever: a connection ends when its visitor leaves, when [`Hostile`] is dropped, or after a gigabyte
//! or ten minutes. Who waits, waits on the connection, so that a crawler with short deadlines meets every case quickly.

mod chunks;
mod coding;
mod head;
mod house;
mod http2;
mod page;
mod plan;
mod redirect;
mod robots;
mod sitemap;
mod slow;
mod status;
mod talk;
mod tls;
mod trap;

use crate::listener::Listener;
use house::{DOMAIN, House};
use plan::{Door, Paper, Plan};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

/// What a case is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Group {
    Slow,
    Endless,
    Head,
    Length,
    Chunks,
    Coding,
    Page,
    Charset,
    Redirect,
    Address,
    Cookies,
    Refresh,
    Status,
    Robots,
    Sitemap,
    Trap,
    Tls,
    Http2,
}

/// What a right crawler makes of the seed, or of what [`Case::at`] names. Where it may rightly end in several ways, any
/// of the codes will do. A code that ends in `_` stands for all that begin so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// Nothing to keep: `first_byte_timeout`, `not_http` and so on.
    Failure(&'static [&'static str]),
    /// Kept, and marked as cut: `length`, `decoded`, `idle` and so on.
    Truncated(&'static [&'static str]),
    /// Kept as it came: hostile to a parser at most.
    Whole,
    /// Never asked for: `robots`, `redirect_loop`, `scheme`, `trap_` and so on. In a trap, this happens to some page
    /// that the seed leads to sooner or later.
    Skipped(&'static [&'static str]),
    /// Any of these.
    Either(&'static [Expect]),
}

/// What a crawler made of something, to be held against an [`Expect`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<'a> {
    Failure(&'a str),
    Truncated(&'a str),
    Whole,
    Skipped(&'a str),
}

impl Expect {
    pub fn allows(&self, outcome: Outcome<'_>) -> bool {
        let among = |codes: &[&str], code: &str| {
            codes.iter().any(|c| if c.ends_with('_') { code.starts_with(c) } else { *c == code })
        };
        match (self, outcome) {
            (Self::Failure(codes), Outcome::Failure(code))
            | (Self::Truncated(codes), Outcome::Truncated(code))
            | (Self::Skipped(codes), Outcome::Skipped(code)) => among(codes, code),
            (Self::Either(any), outcome) => any.iter().any(|expect| expect.allows(outcome)),
            (expect, outcome) => *expect == Self::Whole && outcome == Outcome::Whole,
        }
    }
}

/// One trick.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    pub name: &'static str,
    pub group: Group,
    /// What to crawl.
    pub url: String,
    /// What `expect` is about, when it is not the seed itself: something that the seed leads to.
    pub at: Option<String>,
    /// What it does, and what it tries to do to us.
    pub why: &'static str,
    pub expect: Expect,
    /// Whether robots.txt is answered decently. Where it is not, and the case is not about robots.txt, a crawler that
    /// takes an unreachable robots.txt for a refusal is right to skip the host for that.
    pub robots_answered: bool,
}

/// Hostile hosts on loopback, until dropped.
pub struct Hostile {
    cases: Vec<Case>,
    ca_der: Vec<u8>,
    connect_to: Vec<(String, SocketAddr)>,
    house: Arc<House>,
    // Dropped with the rest: they close every connection and wait for their threads.
    _doors: Vec<Listener>,
    // Holds a port on which nobody listens.
    _nobody: TcpStream,
}

impl std::fmt::Debug for Hostile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hostile").field("cases", &self.cases.len()).finish_non_exhaustive()
    }
}

impl Hostile {
    pub fn start() -> io::Result<Self> {
        let plans = all_plans();
        let cases = plans.iter().map(case).collect();
        let doors: Vec<(&'static str, Door)> = plans.iter().map(|plan| (plan.name, plan.door)).collect();
        let house = Arc::new(House::new(plans));
        let papers = tls::Papers::new()?;

        let inside = Arc::clone(&house);
        let plain = Listener::start(move |guest| drop(inside.serve_plain(guest.stream())))?;
        let nobody = TcpStream::connect(plain.addr())?;
        let mut by_paper: HashMap<(Paper, bool), SocketAddr> = HashMap::new();
        let mut connect_to = Vec::new();
        let mut listeners = Vec::new();
        for (name, door) in doors {
            let addr = match door {
                Door::Plain => continue,
                Door::Nobody => nobody.local_addr()?,
                Door::Raw | Door::RawTls => {
                    let inside = Arc::clone(&house);
                    let listener = Listener::start(move |guest| drop(inside.serve_raw(guest.stream(), name)))?;
                    let addr = listener.addr();
                    listeners.push(listener);
                    addr
                }
                Door::Tls(_) | Door::Http2 => {
                    let key = if let Door::Tls(paper) = door { (paper, false) } else { (Paper::Honest, true) };
                    if let Some(addr) = by_paper.get(&key) {
                        *addr
                    } else {
                        let (inside, config) = (Arc::clone(&house), papers.config(key.0, key.1)?);
                        let serve = move |stream: &TcpStream| inside.serve_tls(stream, Arc::clone(&config));
                        let listener = Listener::start(move |guest| drop(serve(guest.stream())))?;
                        let addr = listener.addr();
                        listeners.push(listener);
                        by_paper.insert(key, addr);
                        addr
                    }
                }
            };
            connect_to.push((format!("{name}.{DOMAIN}"), addr));
        }
        connect_to.push((format!("*.{DOMAIN}"), plain.addr()));
        listeners.push(plain);
        let ca_der = papers.ca_der().to_vec();
        Ok(Self { cases, ca_der, connect_to, house, _doors: listeners, _nobody: nobody })
    }

    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The root that makes the honest TLS hosts trusted.
    pub fn ca_der(&self) -> &[u8] {
        &self.ca_der
    }

    /// Where each host is, whatever port its URL names. The first pattern that fits counts; `*.` stands for one or more
    /// labels.
    pub fn connect_to(&self) -> Vec<(String, SocketAddr)> {
        self.connect_to.clone()
    }

    /// Requests that a host has had; for hosts that do not wait for one, connections.
    pub fn requests(&self, host: &str) -> u64 {
        self.house.requests(host)
    }
}

fn all_plans() -> Vec<Plan> {
    [slow::plans(), head::plans(), chunks::plans(), coding::plans(), page::plans(), redirect::plans(), status::plans()]
        .into_iter()
        .chain([robots::plans(), sitemap::plans(), trap::plans(), tls::plans(), http2::cases::plans()])
        .flatten()
        .collect()
}

fn case(plan: &Plan) -> Case {
    let scheme = match plan.door {
        Door::Plain | Door::Raw | Door::Nobody => "http",
        Door::RawTls | Door::Tls(_) | Door::Http2 => "https",
    };
    let url = |path: &str| match path.starts_with('/') {
        true => format!("{scheme}://{}.{DOMAIN}{path}", plan.name),
        false => path.to_owned(),
    };
    Case {
        name: plan.name,
        group: plan.group,
        url: url("/"),
        at: plan.at.as_deref().map(url),
        why: plan.why,
        expect: plan.expect,
        robots_answered: plan.robots_answered(),
    }
}
