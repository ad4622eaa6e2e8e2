//! The node's side: hears who comes, and runs what they ask for.

use super::frame::{self, Frame, Kind, Request, Unreadable, VERSION};
use super::line::Line;
use super::socket::Socket;
use super::{COMMANDS_MAX, REQUEST_PATIENCE, VISITORS_MAX};
use crate::console::Console;
use crate::session::{House, Session};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

/// Exit codes of our own, as commands use them.
const EXIT_FAILURE: u8 = 1;
/// As Rust programs end that panicked.
const EXIT_BROKEN: u8 = 101;
/// After an accept failed, which it does when there are no more file handles.
const PAUSE_AFTER_TROUBLE: Duration = Duration::from_millis(200);

/// A process that asks the node to run its command.
#[derive(Debug)]
pub(crate) struct Visitor {
    /// As they were given, without the program's name.
    pub(crate) arguments: Vec<OsString>,
    pub(crate) contact: Option<String>,
    /// Its `json` is for whoever reads the arguments to set.
    pub(crate) session: Session,
}

/// Does what a visitor asks for; the exit code.
type Answer = fn(Visitor) -> u8;

/// Takes in the commands of other processes, until it is closed.
#[derive(Debug)]
pub(crate) struct Desk {
    socket: Socket,
    accepting: JoinHandle<()>,
    room: Arc<Room>,
}

#[derive(Debug)]
struct Room {
    house: House,
    answer: Answer,
    /// The commands that run, and how many they are.
    lines: Mutex<BTreeMap<u64, Arc<Line>>>,
    running: watch::Sender<usize>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Desk {
    /// Must be called within a tokio runtime, by whoever has the archive open.
    pub(crate) fn open(house: House, answer: Answer) -> Result<Self> {
        let data = house.data.display().to_string();
        let listening = || format!("listening for other commands in {data}");
        // Absolute: the archive must be found wherever a visitor is.
        let house = House { data: std::path::absolute(&house.data).with_context(listening)?, ..house };
        let (socket, listener) = Socket::bind(&house.data).with_context(listening)?;
        let owner = std::fs::metadata(socket.path()).with_context(listening)?.uid();
        let (lines, running) = (Mutex::default(), watch::Sender::new(0));
        let room = Arc::new(Room { house, answer, lines, running });
        let accepting = tokio::spawn(accept(listener, owner, room.clone()));
        Ok(Self { socket, accepting, room })
    }

    /// Nobody is heard any more. Commands that run are asked to stop, and cut off when they have had long enough.
    pub(crate) async fn close(self, patience: Duration) {
        self.accepting.abort();
        drop(self.socket);
        let mut running = self.room.running.subscribe();
        for line in lock(&self.room.lines).values() {
            line.stop();
        }
        if tokio::time::timeout(patience, running.wait_for(|running| *running == 0)).await.is_err() {
            for line in lock(&self.room.lines).values() {
                line.hang_up();
            }
        }
    }
}

async fn accept(listener: UnixListener, owner: u32, room: Arc<Room>) {
    let seats = Arc::new(Semaphore::new(VISITORS_MAX));
    loop {
        let Ok(seat) = seats.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE_AFTER_TROUBLE).await;
            continue;
        };
        // The socket's mode says the same, but for the moment before it was set.
        if !stream.peer_cred().is_ok_and(|peer| peer.uid() == owner || peer.uid() == 0) {
            continue;
        }
        // From here on it is read and written by a thread that may wait.
        let Ok(stream) = stream.into_std() else { continue };
        let room = room.clone();
        let attend = move || {
            // Whatever went wrong with one visitor, nobody else need know.
            let _ = stream.set_nonblocking(false).and_then(|()| room.attend(stream));
            drop(seat);
        };
        // Without a thread the visitor finds the door closed, and says so.
        let _ = std::thread::Builder::new().name("command".into()).spawn(attend);
    }
}

impl Room {
    fn attend(&self, mut stream: UnixStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(REQUEST_PATIENCE))?;
        let Some(Frame { kind: Kind::Request, bytes }) = frame::read(&mut stream)? else { return Ok(()) };
        stream.set_read_timeout(None)?;
        let request = match Request::decode(&bytes) {
            Ok(request) => request,
            Err(Unreadable::Garbage) => return Ok(()),
            Err(Unreadable::Version(theirs)) => {
                let text = format!(
                    "the node that has the archive open is another version of this program (it speaks {VERSION}, this one \
                     {theirs}): start it again"
                );
                return refuse(&mut stream, &text);
            }
        };
        let (line, listen) = Line::new(stream, request.terminal)?;
        let Some(place) = self.seat(&line) else {
            let full = format!("the node is busy with {COMMANDS_MAX} other commands: try again when one has ended");
            Console::Client(line.clone()).tell(full);
            line.exit(EXIT_FAILURE);
            return Ok(());
        };
        let listener = std::thread::Builder::new().name("listen".into()).spawn(listen)?;
        let path = |bytes: Vec<u8>| PathBuf::from(OsString::from_vec(bytes));
        let (directory, data) = (path(request.directory), request.data.map(path));
        let session = Session::inside(self.house.clone(), directory, data, Console::Client(line.clone()));
        let arguments = request.arguments.into_iter().map(OsString::from_vec).collect();
        let visitor = Visitor { arguments, contact: request.contact, session };
        // What it holds is dropped with it; a store that was left half-way has poisoned itself.
        let code = catch_unwind(AssertUnwindSafe(|| (self.answer)(visitor))).unwrap_or_else(|_| {
            Console::Client(line.clone()).tell("the command broke off, which is our mistake");
            EXIT_BROKEN
        });
        // In this order: a node that stops waits for the place, and the visitor for the word.
        line.exit(code);
        drop(place);
        let _ = listener.join();
        Ok(())
    }

    /// A place among the commands that run, if there is one.
    fn seat(&self, line: &Arc<Line>) -> Option<Seat<'_>> {
        let mut lines = lock(&self.lines);
        if lines.len() >= COMMANDS_MAX {
            return None;
        }
        let number = lines.last_key_value().map_or(0, |(last, _)| last + 1);
        lines.insert(number, line.clone());
        self.running.send_replace(lines.len());
        Some(Seat { room: self, number })
    }
}

struct Seat<'a> {
    room: &'a Room,
    number: u64,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut lines = lock(&self.room.lines);
        lines.remove(&self.number);
        self.room.running.send_replace(lines.len());
    }
}

fn refuse(stream: &mut UnixStream, text: &str) -> std::io::Result<()> {
    frame::write(stream, Kind::Err, format!("herodotus: {text}\n").as_bytes())?;
    frame::write(stream, Kind::Exit, &[EXIT_FAILURE])
}

#[cfg(test)]
mod tests {
    use super::super::frame::Terminal;
    use super::*;
    use herodotus_node::Keeper;
    use herodotus_store::Store;
    use std::io::Read;

    /// More records than an import or export tells of at a time.
    const RECORDS: u64 = 1200;

    fn make_warc(path: &std::path::Path) {
        let mut file = Vec::new();
        for n in 0..RECORDS {
            let body = format!("page {n}");
            file.extend(
                format!(
                    "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{n:012x}>\r\n\
                     WARC-Date: 2024-01-01T00:00:00Z\r\nWARC-Target-URI: https://site.example/{n}\r\nContent-Type: text/plain\r\n\
                     Content-Length: {}\r\n\r\n{body}\r\n\r\n",
                    body.len()
                )
                .bytes(),
            );
        }
        std::fs::write(path, file).unwrap();
    }

    /// Runs a command in a room, for a visitor who has gone or not; the exit code and all that was said.
    fn attend(house: &House, arguments: &[&str], has_gone: bool) -> (u8, String) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let reader = std::thread::spawn(move || {
            let mut said = String::new();
            while let Ok(Some(frame)) = frame::read(&mut theirs) {
                said.push_str(&String::from_utf8_lossy(&frame.bytes));
            }
            let _ = theirs.read(&mut [0]);
            said
        });
        let (line, _listen) = Line::new(ours, Terminal::default()).unwrap();
        if has_gone {
            line.stop();
        }
        let session = Session::inside(house.clone(), "/".into(), None, Console::Client(line.clone()));
        let arguments = arguments.iter().map(OsString::from).collect();
        let code = crate::answer(Visitor { arguments, contact: None, session });
        line.hang_up();
        (code, reader.join().unwrap())
    }

    #[test]
    fn long_work_stops_when_its_visitor_has_gone_and_goes_on_later() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let _within = runtime.enter();
        let dir = tempfile::tempdir().unwrap();
        let (data, warc, out) = (dir.path().join("archive"), dir.path().join("in.warc"), dir.path().join("out.warc"));
        make_warc(&warc);
        let (store, _) = Store::open(&data).unwrap();
        let keeper = Keeper::new(&data, store.clone(), herodotus_node::crawl::Definition::default());
        let runtime = runtime.handle().clone();
        let house = House { data, store: store.clone(), keeper, ring: None, copies: None, together: None, runtime };
        let (warc, out_name) = (warc.to_str().unwrap(), out.to_str().unwrap());
        let (code, said) = attend(&house, &["import", warc], true);
        assert!(code == 1 && said.contains("stopped before the end"), "{code}: {said}");
        let (code, said) = attend(&house, &["--json", "import", warc], false);
        let report: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
        assert_eq!((code, report["already"].as_bool()), (0, Some(false)), "{said}");
        let (before, then) = (report["resumed_after"].as_u64().unwrap(), report["stored"].as_u64().unwrap());
        assert!(before > 0 && then > 0 && before + then == RECORDS, "{said}");
        for command in [&["export", "-o", out_name][..], &["verify"], &["list", "--all"], &["stats", "--by-host"]] {
            let (code, said) = attend(&house, command, true);
            assert!(code == 1 && said.contains("stopped"), "{command:?}: {code}: {said}");
            assert!(!out.exists(), "half an export was left");
        }
        let (code, _) = attend(&house, &["export", "-o", out_name], false);
        assert!(code == 0 && out.exists());
        store.close().unwrap();
    }

    #[test]
    fn what_needs_the_archive_to_itself_is_refused_by_the_node_too() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let _within = runtime.enter();
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(dir.path()).unwrap();
        let keeper = Keeper::new(dir.path(), store.clone(), herodotus_node::crawl::Definition::default());
        let runtime = runtime.handle().clone();
        let house =
            House { data: dir.path().to_owned(), store, keeper, ring: None, copies: None, together: None, runtime };
        for (command, code, words) in [
            ("compact", 1, "a node cannot do that"),
            ("node", 1, "a node cannot do that"),
            ("demo", 1, "a node cannot do that"),
            ("nonsense", 2, "unrecognized subcommand"),
        ] {
            let (found, said) = attend(&house, &[command], false);
            assert!(found == code && said.contains(words), "{command}: {found}: {said}");
        }
    }
}
