//! The crawler against every hostile site at once: each ends with a typed outcome, in bounded time and memory, and the honest
//! site among them is archived whole.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use herodotus_frontier::{End, Scope, Settings, Span, Traps};
use herodotus_node::crawl::{Definition, Event, FetchSettings};
use herodotus_store::Store;
use herodotus_testweb::hostile::{Case, Group, Hostile, Outcome};
use herodotus_testweb::{Config, Server, Web};
use std::collections::HashMap;
use std::path::Path;

/// What the crawl told of a URL.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Failed(String),
    Cut(String),
    Whole,
    Skipped(String),
}

fn definition(hostile: &Hostile, honest: &Server, dir: &Path) -> Definition {
    let pem = dir.join("roots.pem");
    let der = data_encoding::BASE64.encode(hostile.ca_der());
    std::fs::write(&pem, format!("-----BEGIN CERTIFICATE-----\n{der}\n-----END CERTIFICATE-----\n")).unwrap();
    let mut seeds: Vec<String> = hostile.cases().iter().map(|case| case.url.clone()).collect();
    seeds.push(format!("http://{}/", honest.web().hosts().next().unwrap()));
    let mut connect_to: Vec<String> =
        hostile.connect_to().into_iter().map(|(pattern, addr)| format!("{pattern}={addr}")).collect();
    connect_to.push(format!("*.test={}", honest.addr()));
    Definition {
        seeds,
        // Loopback alone: every other private address is one that a case tries to lead us to.
        allow_private: vec!["127.0.0.1/32".parse().unwrap()],
        connect_to,
        requests: 48,
        crawl: Settings {
            scope: Scope::Host,
            delay: Span(0),
            concurrency: 2,
            retries: 0,
            patience: Span::secs(2),
            traps: Traps { dates: 40, queries: 60, host_urls: 150, domain_hosts: 2_000, ..Traps::default() },
            ..Settings::default()
        },
        fetch: FetchSettings {
            connect: Span(2_000),
            first_byte: Span(2_000),
            idle: Span(1_000),
            whole: Span(6_000),
            body_bytes: 6 << 20,
            decoded_bytes: 12 << 20,
            roots: Some(pem),
            ..FetchSettings::default()
        },
        ..Definition::default()
    }
}

/// The names under which the cases know our codes.
fn plain(code: &str) -> &str {
    match code {
        code if code.starts_with("h2_") => "http2",
        "decoded_length" => "decoded",
        "tls_closed" | "tls_timeout" | "tls_certificate" | "tls_bad_name" => "tls_handshake",
        "connect_refused" => "connect",
        // Where robots.txt cannot be had, nothing is asked for.
        "robots_unavailable" => "robots",
        code => code,
    }
}

fn allowed(case: &Case, told: &Told) -> bool {
    let (outcome, code) = match told {
        Told::Failed(code) => (Outcome::Failure(plain(code)), plain(code)),
        Told::Cut(code) => (Outcome::Truncated(plain(code)), plain(code)),
        Told::Whole => (Outcome::Whole, ""),
        Told::Skipped(code) => (Outcome::Skipped(plain(code)), plain(code)),
    };
    let by_robots = !case.robots_answered && code == "robots";
    // The archive keeps a body whose coding is broken as it came, and says so: whole to one, cut to another.
    let broken = matches!(told, Told::Cut(code) if code.starts_with("coding"));
    // This very test must allow the loopback address: what lies there has no port that is a web server's.
    let no_port = case.group == Group::Address && matches!(code, "forbidden_port" | "connect");
    // One host is crawled here, not its domain.
    let off_host = case.name.contains("subdomains") && code == "scope";
    case.expect.allows(outcome) || by_robots || no_port || off_host || broken && case.expect.allows(Outcome::Whole)
}

#[test]
fn every_hostile_site_ends_with_its_outcome_and_hurts_nobody() {
    let hostile = Hostile::start().unwrap();
    let honest = Server::start(Web::new(Config { hosts: 1, pages_per_host: 40, ..Config::default() })).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    let definition = definition(&hostile, &honest, dir.path());
    let mut told: HashMap<String, Vec<Told>> = HashMap::new();
    let mut by_host: HashMap<String, Vec<Told>> = HashMap::new();
    let summary = support::crawl_watched(dir.path(), &store, &definition, |event| {
        let (url, what) = match event {
            Event::Fetched { url, truncated: Some(code), .. } => (url, Told::Cut(code.to_owned())),
            Event::Fetched { url, .. } => (url, Told::Whole),
            Event::Failed { url, code, .. } => (url, Told::Failed(code.to_owned())),
            Event::Skipped { url, reason } => (url, Told::Skipped(reason.to_owned())),
            Event::Progress { .. } => return,
        };
        by_host.entry(url.host().to_owned()).or_default().push(what.clone());
        told.entry(url.as_str().to_owned()).or_default().push(what);
    });
    assert!(matches!(summary.end, Some(End::Complete | End::HostsBusy)), "{:?}", summary.end);
    let mut wrong = Vec::new();
    for case in hostile.cases() {
        let url = case.at.as_ref().unwrap_or(&case.url);
        let canonical = herodotus_page::WebUrl::parse(url).map(|url| url.as_str().to_owned());
        let host = herodotus_page::WebUrl::parse(&case.url).unwrap().host().to_owned();
        let of_url = canonical.ok().and_then(|url| told.get(&url).cloned()).unwrap_or_default();
        // A trap is told of a page that the seed leads to.
        let below = format!(".{host}");
        let of_host = by_host.iter().filter(|(name, _)| **name == host || name.ends_with(&below));
        let of_host = of_host.flat_map(|(_, told)| told.clone());
        let skips: Vec<Told> = of_host.filter(|told| matches!(told, Told::Skipped(_))).collect();
        // A delay of years leaves the host to the next run; a path that no page links to is for others to test.
        if matches!(case.name, "robots-delay-huge" | "robots-wildcards") {
            continue;
        }
        if !of_url.iter().chain(&skips).any(|one| allowed(case, one)) {
            wrong.push(format!("{}: {:?} but {of_url:?} {skips:?}", case.name, case.expect));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), hostile.cases().len(), wrong.join("\n"));
    let site = honest.web().hosts().next().unwrap();
    let kept = support::captures(&store).into_keys().filter(|url| url.contains(&site)).count();
    assert!(kept > 60, "the honest site suffered: {kept} URLs kept");
    let verified = store.verify(|_, _| {}).unwrap();
    assert!(verified.damaged.is_empty());
}
