//! The node's desk: where the commands of other processes are taken in.
//!
//! One process at a time has an archive open. While that is a node, the others find its socket in the data directory, say
//! what they were asked to do, and pass on what comes back: output, complaints and an exit code. The node runs the command
//! on the archive that it has open, in a thread of its own.
//!
//! Promises: only this user's processes (and root's) are heard; frames, commands at once and memory are bounded; a command
//! whose process goes away is stopped as Ctrl-C would stop it; what makes no sense is dropped and the node goes on.
//! The socket says nothing of the archive's safety: that is the lock's business, and a socket without a listener is ignored.

mod client;
mod frame;
mod line;
mod server;
mod socket;

pub(crate) use client::{Errand, find, holder};
pub(crate) use line::Line;
pub(crate) use server::{Desk, Visitor};

use std::time::Duration;

/// Commands at once. Each has a thread, and a share of the same disk.
const COMMANDS_MAX: usize = 8;
/// Connections beside them that are being heard or refused; further ones wait in the operating system's queue.
const VISITORS_MAX: usize = COMMANDS_MAX + 8;
/// How long a process may take to say what it wants: it knows when it connects.
const REQUEST_PATIENCE: Duration = Duration::from_secs(5);
