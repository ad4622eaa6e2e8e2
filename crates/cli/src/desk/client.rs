//! The command's end: says what it was asked to do, and passes on what comes back.

use super::frame::{self, Frame, Kind, Request, Terminal};
use super::socket;
use crate::console::Console;
use anyhow::{Context, Result, anyhow};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

/// A connection to the node that has this archive open, if one does.
pub(crate) fn find(data: &Path) -> Option<UnixStream> {
    socket::connect(data)
}

/// Which process has the archive open, as its lock says.
pub(crate) fn holder(data: &Path) -> String {
    let said = std::fs::read_to_string(data.join("LOCK")).unwrap_or_default();
    let pid: String = said.trim().chars().take_while(char::is_ascii_digit).take(10).collect();
    if pid.is_empty() { "unknown".to_owned() } else { pid }
}

/// What this process was asked to do, to be done by the node.
#[derive(Debug)]
pub(crate) struct Errand<'a> {
    /// The archive, as the person named it.
    pub(crate) data: Option<&'a Path>,
    pub(crate) contact: Option<String>,
    /// The first Ctrl-C is for the command, which has something to finish; otherwise it ends this process, and the node sees it go.
    pub(crate) stops_gently: bool,
}

impl Errand<'_> {
    pub(crate) fn run(self, stream: UnixStream) -> Result<ExitCode> {
        let request = Request {
            arguments: std::env::args_os().skip(1).map(|argument| argument.as_bytes().to_vec()).collect(),
            directory: std::env::current_dir().context("where are we?")?.as_os_str().as_bytes().to_vec(),
            data: self.data.map(|data| data.as_os_str().as_bytes().to_vec()),
            contact: self.contact,
            terminal: Terminal { colour: Console::Own.has_colour(), width: Console::Own.width() },
        };
        let mut from_node = stream.try_clone().map_err(gone)?;
        let to_node = Arc::new(Mutex::new(stream));
        send(&to_node, Kind::Request, &request.encode()?)?;
        if self.stops_gently {
            pass_signals_on(to_node.clone());
        }
        relay(&mut from_node, &to_node)
    }
}

/// In words alone: a connection that the node closed must not pass for whoever reads our output and has had enough.
fn gone(error: io::Error) -> anyhow::Error {
    anyhow!("the node that has the archive open went away before it had answered ({error}): try again")
}

fn send(to_node: &Mutex<UnixStream>, kind: Kind, bytes: &[u8]) -> Result<()> {
    let mut to_node = to_node.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    frame::write(&mut *to_node, kind, bytes).map_err(gone)
}

/// Until the node has said its last word.
fn relay(from_node: &mut UnixStream, to_node: &Mutex<UnixStream>) -> Result<ExitCode> {
    let mut piece = vec![0; frame::CHUNK_BYTES_MAX];
    loop {
        let Some(Frame { kind, bytes }) = frame::read(from_node).map_err(gone)? else {
            return Err(gone(io::ErrorKind::UnexpectedEof.into()));
        };
        match kind {
            Kind::Out => {
                let mut out = io::stdout().lock();
                out.write_all(&bytes)?;
                out.flush()?;
            }
            Kind::Err => io::stderr().write_all(&bytes)?,
            Kind::Want => {
                let n = io::stdin().read(&mut piece).context("reading standard input")?;
                send(to_node, Kind::Input, &piece[..n])?;
            }
            Kind::Exit => return Ok(ExitCode::from(bytes.first().copied().unwrap_or(u8::MAX))),
            Kind::Request | Kind::Stop | Kind::Input => return Err(gone(io::ErrorKind::InvalidData.into())),
        }
    }
}

/// In a thread that ends with the process.
fn pass_signals_on(to_node: Arc<Mutex<UnixStream>>) {
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let Ok(mut stops) = Console::Own.stops() else { return };
            loop {
                stops.next().await;
                if send(&to_node, Kind::Stop, &[]).is_err() {
                    return;
                }
            }
        });
    });
}
