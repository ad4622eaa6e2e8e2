//! `import`: files in.

use crate::Session;
use crate::show::{bytes, count, json_line, plural, progress};
use anyhow::{Context, Result};
use clap::Args;
use herodotus_store::Options;
use herodotus_store::archive::{ImportOptions, ImportReport, import};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Bring in .warc, .warc.gz, .warc.zst, .wacz, .arc and .arc.gz files.
///
/// What is here already is not stored again, an interrupted import goes on where it was, and a record that cannot be read
/// is skipped and reported while the rest goes on.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Files to bring in
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Stop at the first record that cannot be read
    #[arg(long)]
    strict: bool,

    /// Read files again even if they were imported before
    #[arg(long)]
    again: bool,

    /// Refuse compressed data that unfolds to more than N times its size (beyond its first 64 MiB)
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_expansion: u64,

    /// Refuse records larger than this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 30)]
    max_record: u64,

    /// Megabytes of captures to hold in memory before they are written (more packs better; a running node has its own)
    #[arg(long, value_name = "MB", default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=1024))]
    memory: u16,
}

impl Import {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let batch_bytes = usize::from(self.memory) << 20;
        let store = session.open_with(Options { batch_bytes, ..Options::default() })?;
        let limits = herodotus_warc::ReadLimits {
            expansion_max: self.max_expansion,
            record_bytes_max: self.max_record,
            ..Default::default()
        };
        let options = ImportOptions { strict: self.strict, again: self.again, limits };
        let mut failed = 0;
        for file in &self.files {
            match self.one(session, &store, file, &options) {
                Ok(report) => show(session, file, &report)?,
                Err(error) if session.console.is_stopped() => {
                    // What came in until now is safe, and is not read again.
                    session.close(store)?;
                    return Err(error.context(format!("{}", file.display())));
                }
                Err(error) if self.files.len() > 1 && !self.strict && store.poisoned().is_none() => {
                    failed += 1;
                    session.tell(format_args!("{}: {error:#}", file.display()));
                }
                Err(error) => return Err(error.context(format!("{}", file.display()))),
            }
        }
        session.close(store)?;
        if let Some(handed_on) = session.hand_on() {
            handed_on.context("handing on to the ring: it goes on in the background")?;
            match session.json {
                true => json_line(session, &json!({ "event": "handed on" }))?,
                false => session.say("Handed on: as many machines of the ring as a write needs have it."),
            }
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn one(
        &self,
        session: &Session,
        store: &herodotus_store::Store,
        file: &Path,
        options: &ImportOptions,
    ) -> Result<ImportReport> {
        let bar = progress(session, 0, "{msg} {wide_bar} {bytes}/{total_bytes} · {binary_bytes_per_sec} · {eta}");
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut durable = 0;
        let report = import(store, &session.path(file), options, |p| {
            bar.set_length(p.bytes_total);
            bar.set_position(p.bytes_read);
            bar.set_message(format!("{name} {} records", count(p.records)));
            if session.json && p.durable_records > durable {
                durable = p.durable_records;
                let event = json!({ "event": "durable", "file": file, "records": p.durable_records });
                // A reader that went away is told apart when the report is printed.
                let _ = json_line(session, &event);
            }
            session.verdict()
        });
        bar.finish_and_clear();
        report.context("could not be imported")
    }
}

fn show(session: &Session, file: &Path, report: &ImportReport) -> Result<()> {
    if session.json {
        let skips: Vec<_> =
            report.skips.iter().map(|s| json!({ "file": s.file, "offset": s.offset, "reason": s.reason })).collect();
        return json_line(
            session,
            &json!({
                "event": "imported",
                "file": file,
                "already": report.already,
                "resumed_after": report.resumed_after,
                "records": report.records,
                "stored": report.stored,
                "known": report.known,
                "removed": report.removed,
                "digest_mismatches": report.digest_mismatches,
                "skipped": report.skipped,
                "skips": skips,
                "bytes_read": report.bytes_read,
            }),
        );
    }
    if report.already {
        session.say(format_args!("{}: imported before, nothing to do (--again reads it once more)", file.display()));
        return Ok(());
    }
    let mut parts = vec![plural(report.stored, "new capture", "new captures")];
    if report.known > 0 {
        parts.push(format!("{} known already", count(report.known)));
    }
    if report.removed > 0 {
        parts.push(format!("{} removed earlier and left out", count(report.removed)));
    }
    session.say(format_args!(
        "{}: {} in {} records, {}",
        file.display(),
        parts.join(", "),
        count(report.records_total()),
        bytes(report.bytes_read)
    ));
    if report.resumed_after > 0 {
        session.say(format_args!("  went on after record {}, where it was interrupted", count(report.resumed_after)));
    }
    if report.digest_mismatches > 0 {
        session.say(format_args!(
            "  {} do not match the digest that their file gives them; they were kept as they are",
            plural(report.digest_mismatches, "payload", "payloads")
        ));
    }
    if report.skipped > 0 {
        session.say(format_args!("  {} skipped:", plural(report.skipped, "record", "records")));
        for skip in report.skips.iter().take(20) {
            let member = skip.file.as_ref().map(|f| format!("{f}, ")).unwrap_or_default();
            session.say(format_args!("    {member}byte {}: {}", skip.offset, skip.reason));
        }
        if report.skipped > 20 {
            session.say(format_args!("    and {} more (--json lists up to 1,000)", count(report.skipped - 20)));
        }
    }
    Ok(())
}
