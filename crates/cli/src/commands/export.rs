//! `export`: captures out.

use super::{end_time, full_url, time};
use crate::Session;
use crate::show::{bytes, count, json_line, plural};
use anyhow::{Context, Result};
use clap::Args;
use herodotus_base::Timestamp;
use herodotus_store::archive::{ExportReport, Format, Selection, export};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write captures to a file that other tools read.
///
/// The name decides the format: .warc, .warc.gz, .warc.zst, .wacz or .cdxj. HTTP messages come out exactly as they came in.
/// A payload that stands in the file already is written as a revisit record, unless --full is given. On a node that belongs to a ring, the captures of
/// the whole ring are written, each once, unless --here is given.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Only URLs that begin with this
    #[arg(long, value_name = "URL", conflicts_with = "host")]
    prefix: Option<String>,

    /// Only this host
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// Only captures from this time on
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<Timestamp>,

    /// Only captures up to this time
    #[arg(long, value_name = "TIME", value_parser = end_time)]
    to: Option<Timestamp>,

    /// Write every payload in full, also those that are the same
    #[arg(long)]
    full: bool,

    /// Only what lies on this machine, where it belongs to a ring
    #[arg(long)]
    here: bool,
}

impl Export {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let format = Format::of_path(&self.output).with_context(|| {
            format!(
                "{}: the name must end in .warc, .warc.gz, .warc.zst, .wacz or .cdxj, so that the format is known",
                self.output.display()
            )
        })?;
        let store = session.open_existing()?;
        let bar = crate::show::progress(
            session,
            store.totals()?.captures,
            "{msg} {wide_bar} {human_pos}/{human_len} · {eta}",
        );
        bar.set_message("exporting");
        let prefix = self.prefix.as_deref().map(full_url);
        let selection = Selection { prefix, host: self.host, from: self.from, to: self.to };
        let path = session.path(&self.output);
        let progress = |report: &ExportReport| {
            bar.set_position(report.captures);
            session.verdict()
        };
        let report = match session.copies().filter(|_| !self.here) {
            Some((copies, _)) => export(&copies.everything(), &selection, &path, format, self.full, progress),
            None => export(&store, &selection, &path, format, self.full, progress),
        };
        bar.finish_and_clear();
        let report = report?;
        session.give_back(store)?;
        if session.json {
            json_line(
                session,
                &json!({
                    "file": self.output,
                    "captures": report.captures,
                    "records": report.records,
                    "revisits": report.revisits,
                    "bytes": report.bytes,
                    "damaged": report.damaged,
                }),
            )?;
        } else {
            session.say(format_args!(
                "{}: {} in {} records ({} as revisits), {}",
                self.output.display(),
                plural(report.captures, "capture", "captures"),
                count(report.records),
                count(report.revisits),
                bytes(report.bytes)
            ));
            if report.damaged > 0 {
                session.say(format_args!(
                    "  {} could not be read and are missing: see `herodotus verify`, and in a ring `herodotus ring health`",
                    plural(report.damaged, "capture", "captures")
                ));
            }
        }
        Ok(if report.damaged == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
