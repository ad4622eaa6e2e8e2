//! `compact`: space back.

use crate::Session;
use crate::show::{bytes, json_line, plural, progress};
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

/// Rewrite packs without what is no longer needed.
///
/// Safe at any moment: what was there stays until its copy is on disk.
#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// Rewrite every pack, so that pages that came in small pieces are packed together
    #[arg(long)]
    all: bool,
}

impl Compact {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let store = session.open_existing()?;
        let bar = progress(session, 0, "compacting {wide_bar} {human_pos}/{human_len} packs · {eta}");
        let done = store.compact(self.all, |n, total| {
            bar.set_length(total);
            bar.set_position(n);
        });
        bar.finish_and_clear();
        let done = done?;
        store.close()?;
        if session.json {
            json_line(
                session,
                &json!({
                    "packs_rewritten": done.packs_rewritten,
                    "packs_kept": done.packs_kept,
                    "packs_damaged": done.packs_damaged,
                    "bytes_before": done.bytes_before,
                    "bytes_after": done.bytes_after,
                    "dropped": done.dropped,
                    "kept_for_others": done.kept_for_others,
                    "blobs_deleted": done.blobs_deleted,
                }),
            )?;
            return Ok(ExitCode::SUCCESS);
        }
        session.say(format_args!(
            "{} rewritten, {} left as they were: {} before, {} now",
            plural(done.packs_rewritten, "pack", "packs"),
            done.packs_kept,
            bytes(done.bytes_before),
            bytes(done.bytes_after)
        ));
        if done.dropped > 0 {
            session.say(format_args!(
                "{} gone for good",
                plural(done.dropped, "removed capture is", "removed captures are")
            ));
        }
        if done.kept_for_others > 0 {
            session.say(format_args!(
                "{} kept on disk, unseen, because others have the same bytes",
                plural(done.kept_for_others, "removed capture is", "removed captures are")
            ));
        }
        if done.packs_damaged > 0 {
            session.say(format_args!(
                "{} not rewritten because of damage: see `herodotus verify`",
                plural(done.packs_damaged, "pack was", "packs were")
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
