//! `diff`: what changed.

use super::{end_time, full_url, gone, not_found, version_at};
use crate::Session;
use crate::show::{is_closed_pipe, json_line};
use anyhow::{Result, bail};
use clap::Args;
use herodotus_base::Timestamp;
use herodotus_page::{readable_lines, title};
use herodotus_store::{EntityBody, Entry, Store, key_of};
use serde_json::json;
use similar::{ChangeTag, TextDiff};
use std::io::Write;
use std::process::ExitCode;

/// Show what changed between two versions of a page, as a person would read it.
///
/// Without times, the last two versions that differ are compared. Like that of `diff`, the exit code is 0 if there is no
/// difference, 1 if there is one, and 2 if nothing could be compared.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    url: String,

    /// The older version: the one current at this time [default: the one before the newer]
    #[arg(long, value_name = "TIME", value_parser = end_time)]
    from: Option<Timestamp>,

    /// The newer version: the one current at this time [default: the newest]
    #[arg(long, value_name = "TIME", value_parser = end_time)]
    to: Option<Timestamp>,

    /// Unchanged lines to show around each change
    #[arg(short = 'U', long, value_name = "N", default_value_t = 2)]
    context: usize,
}

impl Diff {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        match self.compare(session) {
            // Elsewhere an error's exit code is 1; here that would say that there is a difference.
            Err(error) if !is_closed_pipe(&error) => {
                session.tell(format_args!("{error:#}"));
                Ok(ExitCode::from(2))
            }
            other => other,
        }
    }

    fn compare(&self, session: &Session) -> Result<ExitCode> {
        let store = session.open_existing()?;
        let Some(newer) = version_at(&store, &self.url, self.to)? else { return Err(not_found(&store, &self.url)) };
        let older = match self.from {
            Some(at) => version_at(&store, &self.url, Some(at))?,
            None => before_that_differs(&store, &self.url, &newer)?,
        };
        let Some(older) = older else {
            bail!("{} has no earlier version that differs from the one of {}", self.url, newer.id.time);
        };
        let (a, b) = (lines(&store, &older)?, lines(&store, &newer)?);
        let (a_text, b_text): (Vec<&str>, Vec<&str>) =
            (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
        let diff = TextDiff::configure().timeout(std::time::Duration::from_secs(10)).diff_slices(&a_text, &b_text);
        let changes = diff.iter_all_changes().filter(|c| c.tag() != ChangeTag::Equal).count();
        if session.json {
            let changes: Vec<_> = diff
                .iter_all_changes()
                .filter(|c| c.tag() != ChangeTag::Equal)
                .map(|c| json!({ "change": if c.tag() == ChangeTag::Insert { "added" } else { "removed" }, "line": c.value() }))
                .collect();
            let side = |e: &Entry| json!({ "time": e.id.time.rfc3339(), "status": e.status, "length": e.len });
            json_line(
                session,
                &json!({ "url": newer.url, "from": side(&older), "to": side(&newer), "changes": changes }),
            )?;
        } else {
            self.print(session, &older, &newer, &diff, changes)?;
        }
        session.give_back(store)?;
        Ok(if changes == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    fn print(
        &self,
        session: &Session,
        older: &Entry,
        newer: &Entry,
        diff: &TextDiff<'_, '_, str>,
        changes: usize,
    ) -> Result<()> {
        let mut out = std::io::BufWriter::new(session.out());
        let colour = session.console.has_colour();
        let paint =
            |code: &str, text: &str| if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
        writeln!(out, "{}", paint("1", &newer.url))?;
        writeln!(out, "{}", paint("31", &format!("- {}", older.id.time)))?;
        writeln!(out, "{}", paint("32", &format!("+ {}", newer.id.time)))?;
        if changes == 0 {
            writeln!(out, "no difference that a reader would see")?;
        }
        for group in diff.grouped_ops(self.context) {
            writeln!(out, "{}", paint("2", "…"))?;
            for op in &group {
                for change in diff.iter_changes(op) {
                    let line = match change.tag() {
                        ChangeTag::Equal => format!("  {}", change.value()),
                        ChangeTag::Delete => paint("31", &format!("- {}", change.value())),
                        ChangeTag::Insert => paint("32", &format!("+ {}", change.value())),
                    };
                    writeln!(out, "{line}")?;
                }
            }
        }
        out.flush()?;
        Ok(())
    }
}

/// The newest version before this one with another payload.
fn before_that_differs(store: &Store, url: &str, newer: &Entry) -> Result<Option<Entry>> {
    for entry in store.versions_until(&key_of(&full_url(url)), newer.id.time) {
        let entry = entry?;
        if entry.is_capture() && entry.id != newer.id && entry.sha1 != newer.sha1 {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// A version as lines that a person would read.
fn lines(store: &Store, entry: &Entry) -> Result<Vec<String>> {
    let entity = store.entity_in_passing(&entry.id)?.ok_or_else(|| gone(entry))?;
    let EntityBody::Bytes(body) = &entity.body else {
        bail!("{} of {} is too large to compare ({} bytes)", entry.url, entry.id.time, entry.len);
    };
    let content_type = entity.content_type.as_deref();
    let mut lines = Vec::new();
    if entry.media.contains("html")
        && let Some(title) = title(&herodotus_page::decode_text(body, content_type))
    {
        lines.push(format!("title: {title}"));
    }
    lines.extend(readable_lines(body, content_type));
    Ok(lines)
}
