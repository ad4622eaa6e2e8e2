//! `verify`: is everything as it was written?

use crate::Session;
use crate::show::{bytes, json_line, plural, progress};
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

/// Read everything, check every digest, and say exactly what is damaged.
///
/// The exit code is 1 if anything is.
#[derive(Debug, Args)]
pub(crate) struct Verify {}

impl Verify {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let store = session.open_existing()?;
        let bar = progress(session, 0, "verifying {wide_bar} {human_pos}/{human_len} captures · {eta}");
        let found = store.verify(|done, total| {
            bar.set_length(total);
            bar.set_position(done);
            session.verdict()
        });
        bar.finish_and_clear();
        let found = found?;
        if session.json {
            let damaged: Vec<_> = found
                .damaged
                .iter()
                .map(|d| {
                    json!({
                        "url": d.entry.url,
                        "time": d.entry.id.time.rfc3339(),
                        "reason": d.reason,
                        "because_of": d.because_of.as_ref().map(|b| json!({ "key": b.key, "time": b.time.rfc3339() })),
                    })
                })
                .collect();
            json_line(session, &json!({ "captures": found.captures, "bytes": found.bytes, "damaged": damaged }))?;
        } else {
            session.say(format_args!(
                "{} read, {} of payload",
                plural(found.captures, "capture", "captures"),
                bytes(found.bytes)
            ));
            for damage in &found.damaged {
                session
                    .say(format_args!("damaged: {} of {}: {}", damage.entry.url, damage.entry.id.time, damage.reason));
                if let Some(root) = &damage.because_of {
                    session.say(format_args!(
                        "         its own bytes are whole; it depends on the version of {} ({})",
                        root.time, root.key
                    ));
                }
            }
            match found.damaged.len() as u64 {
                0 => session.say(format_args!("all of it is what was written")),
                n => session.say(format_args!(
                    "{} damaged; nothing of them is given out",
                    plural(n, "capture is", "captures are")
                )),
            }
        }
        session.give_back(store)?;
        Ok(if found.damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
