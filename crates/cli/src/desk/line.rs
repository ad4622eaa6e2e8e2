//! The node's end of a connection: the console of a process elsewhere.
//!
//! Writing waits while the process does not read, so that memory is bounded; the thread that waits is the command's own.
//! Input is asked for piece by piece, when the command reads. When the process goes away, writing fails as a closed pipe
//! does, and the wish to stop is there.

use super::frame::{self, CHUNK_BYTES_MAX, Frame, Kind, Terminal};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Line {
    stream: Mutex<UnixStream>,
    /// The same connection, to be cut while somebody waits to write to it.
    plug: UnixStream,
    terminal: Terminal,
    /// How often somebody wished that the command stop.
    asked: watch::Sender<u32>,
    input: Mutex<Receiver<Vec<u8>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Line {
    /// A line, and the work of listening to it, which is to be done in a thread and ends with the connection.
    pub(super) fn new(
        stream: UnixStream,
        terminal: Terminal,
    ) -> io::Result<(Arc<Self>, impl FnOnce() + Send + 'static)> {
        let (theirs, plug) = (stream.try_clone()?, stream.try_clone()?);
        let (to_command, input) = sync_channel(1);
        let asked = watch::Sender::new(0);
        let (stream, input) = (Mutex::new(stream), Mutex::new(input));
        let line = Self { stream, plug, terminal, asked: asked.clone(), input };
        Ok((Arc::new(line), move || listen(theirs, &asked, &to_command)))
    }

    pub(crate) fn terminal(&self) -> Terminal {
        self.terminal
    }

    pub(crate) fn out(self: &Arc<Self>) -> impl Write + Send + use<> {
        Pipe { line: self.clone(), kind: Kind::Out }
    }

    pub(crate) fn err(self: &Arc<Self>) -> impl Write + Send + use<> {
        Pipe { line: self.clone(), kind: Kind::Err }
    }

    pub(crate) fn input(self: &Arc<Self>) -> impl Read + Send + use<> {
        Input { line: self.clone(), piece: Vec::new(), at: 0 }
    }

    pub(crate) fn stops(&self) -> watch::Receiver<u32> {
        self.asked.subscribe()
    }

    pub(super) fn stop(&self) {
        self.asked.send_modify(|asked| *asked += 1);
    }

    /// The last word.
    pub(super) fn exit(&self, code: u8) {
        let _ = self.send(Kind::Exit, &[code]);
        self.hang_up();
    }

    /// Whoever waits for the other side waits no longer.
    pub(super) fn hang_up(&self) {
        let _ = self.plug.shutdown(Shutdown::Both);
    }

    fn send(&self, kind: Kind, bytes: &[u8]) -> io::Result<()> {
        frame::write(&mut *lock(&self.stream), kind, bytes).map_err(|error| match error.kind() {
            // It went while something from it lay unread here: gone all the same.
            io::ErrorKind::ConnectionReset => io::ErrorKind::BrokenPipe.into(),
            _ => error,
        })
    }
}

/// Hears what the process says until it goes, or says something that makes no sense.
fn listen(mut stream: UnixStream, asked: &watch::Sender<u32>, to_command: &SyncSender<Vec<u8>>) {
    loop {
        match frame::read(&mut stream) {
            Ok(Some(Frame { kind: Kind::Stop, .. })) => asked.send_modify(|asked| *asked = asked.saturating_add(1)),
            Ok(Some(Frame { kind: Kind::Input, bytes })) => {
                // One piece per wish: a process that sends more than it was asked for does not belong here.
                if to_command.try_send(bytes).is_err() {
                    break;
                }
            }
            _ => break,
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
    asked.send_modify(|asked| *asked = asked.saturating_add(1));
}

struct Pipe {
    line: Arc<Line>,
    kind: Kind,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now = bytes.len().min(CHUNK_BYTES_MAX);
        if now > 0 {
            self.line.send(self.kind, &bytes[..now])?;
        }
        Ok(now)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Input {
    line: Arc<Line>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.at == self.piece.len() {
            self.line.send(Kind::Want, &[])?;
            self.piece = lock(&self.line.input).recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
            self.at = 0;
        }
        let n = (&self.piece[self.at..]).read(buffer)?;
        self.at += n;
        Ok(n)
    }
}
