//! What a crawl shows: a live line on a terminal, a line now and then in a pipe, events for programs, a summary for all.

use crate::Session;
use crate::console::Console;
use crate::show::{bytes, count, plural};
use anyhow::Result;
use herodotus_frontier::{End, Progress, Skipped, Tally, Version};
use herodotus_node::crawl::{Crawl, Event, Summary};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

/// Between two lines in a pipe, and between two looks at a terminal.
const PIPE_EVERY: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Seconds over which the rate is taken: a person wants to know how it goes now.
const RATE_WINDOW: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Reporter {
    console: Console,
    json: bool,
    line: ProgressBar,
    is_terminal: bool,
    began: Instant,
    /// Moments and what was fetched by then.
    rate: Vec<(Instant, u64)>,
    is_first: bool,
}

impl Reporter {
    pub(crate) fn new(console: &Console, json: bool, name: &str, crawl: &Crawl) -> Self {
        let is_terminal = console.width().is_some() && !json;
        let line = ProgressBar::with_draw_target(None, console.draw_target(5));
        if is_terminal {
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                line.set_style(style);
            }
            line.enable_steady_tick(Duration::from_millis(250));
        } else {
            line.set_draw_target(ProgressDrawTarget::hidden());
        }
        let progress = crawl.frontier().progress();
        let round = crawl.frontier().rounds_begun();
        if json {
            let begun = json!({ "event": "begin", "name": name, "round": round, "urls": progress.urls });
            let _ = console.json_line(&begun);
        } else {
            let known = if progress.urls > 1 { format!(", {} known", count(progress.urls)) } else { String::new() };
            let _ = writeln!(
                console.err(),
                "Crawl {name}, round {round}{known}. Ctrl-C stops it; the same command goes on."
            );
        }
        let console = console.clone();
        Self { console, json, line, is_terminal, began: Instant::now(), rate: Vec::new(), is_first: true }
    }

    pub(crate) fn every(&self) -> Duration {
        if self.is_terminal { LOOK_EVERY } else { PIPE_EVERY }
    }

    pub(crate) fn line(&self) -> ProgressBar {
        self.line.clone()
    }

    pub(crate) fn tell(&mut self, event: &Event<'_>) {
        if self.json {
            // Whoever reads may have gone; the crawl goes on.
            let _ = self.console.json_line(&event_json(event));
            return;
        }
        let Event::Progress { progress, run, .. } = event else { return };
        let text = self.progress_text(progress, run);
        if self.is_terminal {
            self.line.set_message(text);
        } else if !std::mem::take(&mut self.is_first) {
            let _ = writeln!(self.console.err(), "{text}");
        }
    }

    fn progress_text(&mut self, progress: &Progress, tally: &Tally) -> String {
        let now = Instant::now();
        self.rate.push((now, tally.fetched));
        let window = RATE_WINDOW.max(self.every() * 2);
        self.rate.retain(|(at, _)| now.duration_since(*at) <= window);
        let (first, before) = self.rate.first().copied().unwrap_or((self.began, 0));
        let seconds = now.duration_since(first).as_secs_f64();
        let rate = if seconds > 0.0 { (tally.fetched - before) as f64 / seconds } else { 0.0 };
        format!(
            "{} fetched ({} pages), {rate:.1}/s · {} queued · {} in flight · {} · {} · {}",
            count(tally.fetched),
            count(tally.pages),
            count(progress.waiting),
            progress.in_flight,
            plural(progress.hosts, "host", "hosts"),
            bytes(tally.bytes),
            plural(tally.failed, "error", "errors"),
        )
    }
}

fn version_name(version: Version) -> &'static str {
    match version {
        Version::New => "new",
        Version::Changed => "changed",
        Version::Same => "same",
        Version::NotModified => "not_modified",
        Version::Archived => "archived",
        Version::Unwanted => "unwanted",
        Version::NoArchive => "noarchive",
        Version::Busy => "busy",
    }
}

fn event_json(event: &Event<'_>) -> Value {
    match event {
        Event::Fetched { url, status, media, bytes, version, truncated, took } => json!({
            "event": "fetched",
            "url": url.as_str(),
            "status": status,
            "media": media,
            "bytes": bytes,
            "version": version_name(*version),
            "truncated": truncated,
            "ms": took.as_millis() as u64,
        }),
        Event::Failed { url, code, message, again } => json!({
            "event": "failed", "url": url.as_str(), "code": code, "message": message, "temporary": again,
        }),
        Event::Skipped { url, reason } => json!({ "event": "skipped", "url": url.as_str(), "reason": reason }),
        Event::Progress { progress, run, .. } => json!({
            "event": "progress",
            "fetched": run.fetched,
            "pages": run.pages,
            "bytes": run.bytes,
            "failed": run.failed,
            "waiting": progress.waiting,
            "in_flight": progress.in_flight,
            "hosts": progress.hosts,
            "urls": progress.urls,
        }),
    }
}

/// The end of a run, and how to go on.
pub(crate) fn print_summary(session: &Session, summary: &Summary) -> Result<()> {
    let tally = &summary.tally;
    if session.json {
        let hosts: Vec<_> = summary
            .hosts
            .iter()
            .map(|host| json!({"host": host.name, "fetched": host.fetched, "failed": host.failed, "bytes": host.bytes}))
            .collect();
        return session.console.json_line(&json!({
            "event": "summary",
            "name": summary.name,
            "round": summary.round,
            "end": summary.end.map_or("stopped", End::code),
            "seconds": summary.took.as_secs_f64(),
            "tally": tally,
            "urls": summary.progress.urls,
            "waiting": summary.progress.waiting,
            "seeds_fetched": summary.seeds_fetched,
            "seeds_failed": summary.seeds_failed,
            "hosts": hosts,
        }));
    }
    let ending = match summary.end {
        Some(End::Complete) => format!("Round {} is complete", summary.round),
        Some(End::LimitPages | End::LimitBytes | End::LimitTime) => "The limit is reached".to_owned(),
        Some(End::HostsBusy) => "What is left asked us to stay away for a while".to_owned(),
        None => "Stopped".to_owned(),
    };
    let seconds = summary.took.as_secs_f64();
    session.say(format_args!(
        "{ending}: {} fetched, {} in {seconds:.1} s ({:.1}/s).",
        plural(tally.fetched, "URL", "URLs"),
        bytes(tally.bytes),
        tally.fetched as f64 / seconds.max(0.001)
    ));
    session.say(format_args!(
        "{} new, {} changed, {} unchanged{}{}.",
        count(tally.new),
        count(tally.changed),
        count(tally.unchanged),
        optional(tally.archived, "had already"),
        optional(tally.failed, "failed"),
    ));
    table(session, "status", &tally.statuses);
    table(session, "media", &tally.media);
    if summary.hosts.len() > 1 {
        let hosts: BTreeMap<_, _> = summary.hosts.iter().map(|host| (host.name.clone(), host.fetched)).collect();
        table(session, "host", &hosts);
    }
    reasons(session, "failed", &tally.failures);
    reasons(session, "cut short", &tally.truncated);
    reasons(session, "left out", &tally.skipped);
    let data = session.data.as_ref().map(|data| format!("--data {} ", data.display())).unwrap_or_default();
    if summary.end != Some(End::Complete) {
        session.say(format_args!(
            "\n{} wait. Go on with: herodotus {data}crawl --name {}",
            plural(summary.progress.waiting, "URL", "URLs"),
            summary.name
        ));
    } else if tally.fetched + tally.archived > 0 {
        session.say(format_args!("\nThe next round: herodotus {data}crawl --name {}", summary.name));
    }
    Ok(())
}

fn optional(n: u64, what: &str) -> String {
    if n == 0 { String::new() } else { format!(", {} {what}", count(n)) }
}

/// Names with their counts, the largest first, on a few lines.
fn table(session: &Session, title: &str, counts: &BTreeMap<String, u64>) {
    const SHOWN: usize = 12;
    if counts.is_empty() {
        return;
    }
    let mut rows: Vec<_> = counts.iter().collect();
    rows.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    session.say("");
    for (i, (name, n)) in rows.iter().take(SHOWN).enumerate() {
        session.say(format_args!("{:<10} {:>10}  {name}", if i == 0 { title } else { "" }, count(**n)));
    }
    let rest: u64 = rows.iter().skip(SHOWN).map(|(_, n)| **n).sum();
    if rest > 0 {
        session.say(format_args!("{:<10} {:>10}  in {} others", "", count(rest), rows.len() - SHOWN));
    }
}

fn reasons(session: &Session, title: &str, reasons: &BTreeMap<String, Skipped>) {
    if reasons.is_empty() {
        return;
    }
    session.say("");
    let mut rows: Vec<_> = reasons.iter().collect();
    rows.sort_by(|a, b| b.1.urls.cmp(&a.1.urls).then_with(|| a.0.cmp(b.0)));
    for (i, (code, what)) in rows.iter().enumerate() {
        let title = if i == 0 { title } else { "" };
        let meaning = meaning(code);
        session.say(format_args!("{title:<10} {:>10}  {meaning} ({code}), such as {}", count(what.urls), what.example));
    }
}

/// What a code means, for people.
fn meaning(code: &str) -> &'static str {
    match code {
        "not_web" => "links that are not http or https, on pages",
        "links_dropped" => "links too long or too many, on pages",
        "scope" => "outside the crawl's scope",
        "depth" => "further from the seeds than asked",
        "excluded" => "matched by --exclude",
        "not_included" => "not matched by --include",
        "media" => "not of the media asked for",
        "nofollow" => "the page asks not to follow it",
        "noarchive" => "the page asks not to be archived",
        "robots" => "forbidden by robots.txt",
        "robots_unavailable" => "robots.txt could not be had, which forbids everything",
        "redirect_loop" => "redirects in a circle",
        "redirect_limit" => "redirected too often",
        "requisite_hops" => "too many steps from the page that needs it",
        "trap_path_depth" => "the path is too deep: a trap?",
        "trap_parameters" => "the query has too many parameters: a trap?",
        "trap_repeated_segments" => "the path repeats itself: a trap?",
        "trap_session_id" => "the same page under another session id",
        "trap_calendar" => "one of too many dates: a calendar?",
        "trap_queries" => "one of too many queries of one path: a trap?",
        "trap_host_budget" => "the host has too many URLs",
        "trap_hosts" => "there are too many hosts",
        "trap_domain_hosts" => "the domain has too many hosts: a trap?",
        "host_unreachable" => "the host did not answer, again and again",
        "dns" => "the host name is not known",
        "dns_timeout" => "the host name could not be looked up in time",
        "forbidden_port" => "no web server has that port",
        "connect_refused" => "the host refused the connection",
        "sink" => "it could not be written to the disk",
        "no_address" => "the host has no address",
        "forbidden_address" => "the address is not public (--allow-private allows it)",
        "connect" => "no connection",
        "connect_timeout" => "no connection in time",
        "first_byte_timeout" => "no answer in time",
        "head_too_large" | "too_many_headers" => "the answer's head is too large",
        "not_http" => "the answer is not HTTP",
        "closed_before_head" => "the server hung up without an answer",
        "length" => "longer than allowed",
        "decoded_length" => "longer than allowed once decoded",
        "time" => "took longer than allowed",
        "idle" => "the server fell silent",
        "slow" => "slower than allowed",
        "disconnect" => "the server hung up in the middle",
        "chunking" => "the server's chunks make no sense",
        "reset" => "the server reset the stream",
        "coding_unknown" => "compressed in a way that we do not know",
        code if code.starts_with("coding") => "its compression is broken",
        code if code.starts_with("h2") => "the server broke HTTP/2",
        code if code.starts_with("tls") => "the server's certificate or encryption is not valid",
        _ => "left",
    }
}
