//! `demo`: see it work.

use crate::Session;
use anyhow::Result;
use clap::Args;
use std::process::ExitCode;

/// Show what Herodotus does, on a small web of its own.
#[derive(Debug, Args)]
pub(crate) struct Demo {}

impl Demo {
    pub(crate) fn run(self, _session: &Session) -> Result<ExitCode> {
        Ok(ExitCode::SUCCESS)
    }
}
