//! What a command speaks through: output, complaints, input, and the wish to stop.
//!
//! A command that runs by itself has the process's own; one that a node runs for another process has that process's, over
//! a socket. Commands know no difference, and therefore print nothing but through here.

use crate::desk::Line;
use anyhow::Result;
use indicatif::{ProgressDrawTarget, TermLike};
use serde_json::Value;
use std::fmt::Display;
use std::io::{self, IsTerminal, LineWriter, Read, Write};
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub(crate) enum Console {
    Own,
    Client(Arc<Line>),
}

impl Console {
    /// What was asked for goes here. A line at a time, so that whoever reads along is not kept waiting.
    pub(crate) fn out(&self) -> Box<dyn Write + Send> {
        match self {
            Self::Own => Box::new(io::stdout()),
            Self::Client(line) => Box::new(LineWriter::new(line.out())),
        }
    }

    /// What is said about it goes here.
    pub(crate) fn err(&self) -> Box<dyn Write + Send> {
        match self {
            Self::Own => Box::new(io::stderr()),
            Self::Client(line) => Box::new(LineWriter::new(line.err())),
        }
    }

    /// Says something beside the output. Whoever reads may have gone: that is found out when there is output.
    pub(crate) fn tell(&self, text: impl Display) {
        let _ = writeln!(self.err(), "herodotus: {text}");
    }

    /// Prints one JSON value on a line.
    pub(crate) fn json_line(&self, value: &Value) -> Result<()> {
        let mut line = serde_json::to_vec(value).map_err(io::Error::from)?;
        line.push(b'\n');
        self.out().write_all(&line)?;
        Ok(())
    }

    pub(crate) fn input(&self) -> Box<dyn Read + Send> {
        match self {
            Self::Own => Box::new(io::stdin()),
            Self::Client(line) => Box::new(line.input()),
        }
    }

    /// Whether the output may be coloured.
    pub(crate) fn has_colour(&self) -> bool {
        match self {
            Self::Own => io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
            Self::Client(line) => line.terminal().colour,
        }
    }

    /// The width of the terminal that a person watches, if there is one.
    pub(crate) fn width(&self) -> Option<u16> {
        match self {
            Self::Own if !io::stderr().is_terminal() => None,
            Self::Own => Some(terminal_size::terminal_size_of(io::stderr()).map_or(WIDTH_UNKNOWN, |(w, _)| w.0)),
            Self::Client(line) => line.terminal().width,
        }
    }

    /// Where a line that changes is drawn: nowhere, unless a person watches.
    pub(crate) fn draw_target(&self, hz: u8) -> ProgressDrawTarget {
        match (self, self.width()) {
            (_, None) => ProgressDrawTarget::hidden(),
            (Self::Own, _) => ProgressDrawTarget::stderr_with_hz(hz),
            (Self::Client(line), Some(width)) => {
                ProgressDrawTarget::term_like_with_hz(Box::new(Remote { line: line.clone(), width }), hz)
            }
        }
    }

    /// Whether a command for somebody else is to end: they asked, or have gone. By itself, a command is simply killed.
    pub(crate) fn is_stopped(&self) -> bool {
        match self {
            Self::Own => false,
            Self::Client(line) => *line.stops().borrow() > 0,
        }
    }

    /// For commands that end in an orderly way when they are asked to. Must be called within a tokio runtime.
    pub(crate) fn stops(&self) -> io::Result<Stops> {
        Ok(match self {
            Self::Own => Stops::Signals(signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?),
            Self::Client(line) => Stops::Client { seen: 0, asked: line.stops() },
        })
    }
}

/// Where the terminal does not tell.
const WIDTH_UNKNOWN: u16 = 80;

/// The wishes to stop, one after the other.
#[derive(Debug)]
pub(crate) enum Stops {
    /// Ctrl-C, and what `kill` sends.
    Signals(Signal, Signal),
    Client {
        seen: u32,
        asked: watch::Receiver<u32>,
    },
}

impl Stops {
    pub(crate) async fn next(&mut self) {
        match self {
            Self::Signals(interrupt, terminate) => {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            }
            Self::Client { seen, asked } => {
                *seen += 1;
                let wanted = *seen;
                if asked.wait_for(|asked| *asked >= wanted).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

/// The terminal of another process, as far as a progress line needs one.
#[derive(Debug)]
struct Remote {
    line: Arc<Line>,
    width: u16,
}

impl Remote {
    fn put(&self, text: &str) -> io::Result<()> {
        self.line.err().write_all(text.as_bytes())
    }

    fn move_cursor(&self, n: usize, direction: char) -> io::Result<()> {
        if n == 0 { Ok(()) } else { self.put(&format!("\x1b[{n}{direction}")) }
    }
}

impl TermLike for Remote {
    fn width(&self) -> u16 {
        self.width
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.put(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.put(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.put("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}
