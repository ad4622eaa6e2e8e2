//! What every command is given: which archive, whom it speaks to, and where it runs.

use crate::console::Console;
use crate::show::plural;
use anyhow::{Context, Result, bail};
use herodotus_node::Keeper;
use herodotus_node::copies::Copies;
use herodotus_node::ring::RingNode;
use herodotus_node::together::Together;
use herodotus_store::{Options, Store};
use std::fmt::Display;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Whoever waits for other machines is told so after that.
const SILENT_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Session {
    /// The archive, as the person named it.
    pub(crate) data: Option<PathBuf>,
    pub(crate) json: bool,
    pub(crate) console: Console,
    inside: Option<Inside>,
    /// Why output did not get where it should.
    unsaid: OnceLock<io::Error>,
}

/// A command that a node runs for another process.
#[derive(Debug)]
struct Inside {
    house: House,
    /// Where the other process is: what its paths are relative to.
    directory: PathBuf,
}

/// What a node has open.
#[derive(Clone, Debug)]
pub(crate) struct House {
    pub(crate) data: PathBuf,
    pub(crate) store: Store,
    pub(crate) keeper: Keeper,
    pub(crate) ring: Option<RingNode>,
    pub(crate) copies: Option<Copies>,
    pub(crate) together: Option<Together>,
    pub(crate) runtime: tokio::runtime::Handle,
}

impl Session {
    /// For a command of this process.
    pub(crate) fn new(data: Option<PathBuf>, json: bool) -> Self {
        Self { data, json, console: Console::Own, inside: None, unsaid: OnceLock::new() }
    }

    /// For a command that a node runs for another process.
    pub(crate) fn inside(house: House, directory: PathBuf, data: Option<PathBuf>, console: Console) -> Self {
        Self { data, json: false, console, inside: Some(Inside { house, directory }), unsaid: OnceLock::new() }
    }

    pub(crate) fn data_dir(&self) -> Result<PathBuf> {
        if let Some(inside) = &self.inside {
            return Ok(inside.house.data.clone());
        }
        if let Some(dir) = &self.data {
            return Ok(dir.clone());
        }
        let dirs = directories::ProjectDirs::from("", "", "herodotus");
        let dirs = dirs.context("no home directory is known: say where the archive is with --data DIR")?;
        Ok(dirs.data_dir().to_owned())
    }

    /// Opens the archive, making it if it is missing.
    pub(crate) fn open(&self) -> Result<Store> {
        self.open_with(Options::default())
    }

    /// The same, if it is opened here: a node's is open as it is.
    pub(crate) fn open_with(&self, options: Options) -> Result<Store> {
        if let Some(inside) = &self.inside {
            return Ok(inside.house.store.clone());
        }
        let (store, recovery) = Store::open_with(&self.data_dir()?, options)?;
        for sentence in recovery.sentences() {
            self.tell(sentence);
        }
        Ok(store)
    }

    /// Opens an archive that must be there already.
    pub(crate) fn open_existing(&self) -> Result<Store> {
        let dir = self.data_dir()?;
        anyhow::ensure!(
            dir.join("packs").is_dir(),
            "there is no archive in {}: make one with `herodotus import FILE`, or name another with --data DIR",
            dir.display()
        );
        self.open()
    }

    /// Everything that was written is safe when this returns. A node's archive stays open, and is packed when it suits the
    /// node.
    pub(crate) fn close(&self, store: Store) -> Result<()> {
        let closed = if self.inside.is_some() { store.commit() } else { store.close() };
        Ok(closed?)
    }

    /// The same for one who only read: nothing of theirs waits, and a node that can no longer write can still be read.
    pub(crate) fn give_back(&self, store: Store) -> Result<()> {
        if self.inside.is_none() {
            store.close()?;
        }
        Ok(())
    }

    /// Whether a node has the archive open, so that what is new in it may still wait in memory.
    pub(crate) fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// Who else crawls into this archive.
    pub(crate) fn keeper(&self) -> Option<&Keeper> {
        self.inside.as_ref().map(|inside| &inside.house.keeper)
    }

    /// The copies that the node keeps for its ring, and where they are kept track of.
    pub(crate) fn copies(&self) -> Option<(Copies, tokio::runtime::Handle)> {
        let house = &self.inside.as_ref()?.house;
        Some((house.copies.clone()?, house.runtime.clone()))
    }

    /// The crawls that the ring makes together.
    pub(crate) fn together(&self) -> Option<(Together, tokio::runtime::Handle)> {
        let house = &self.inside.as_ref()?.house;
        Some((house.together.clone()?, house.runtime.clone()))
    }

    /// Waits until what was stored is kept by as many machines of the ring as a write needs; at once outside of a ring. Says how it went.
    pub(crate) fn hand_on(&self) -> Option<Result<()>> {
        let copies = self.inside.as_ref()?.house.copies.clone()?;
        let handing_on = async {
            let mut done = std::pin::pin!(copies.handed_on());
            if let Ok(done) = tokio::time::timeout(SILENT_MAX, &mut done).await {
                return done;
            }
            let refused = match copies.set_aside() {
                0 => String::new(),
                some => format!(
                    " {} refused by a machine that is to have it (`herodotus ring health` says whose disk is full).",
                    plural(some as u64, "capture is", "captures are")
                ),
            };
            self.note(format_args!(
                "Waiting until enough machines of the ring have it.{refused} It is stored here and goes on by itself: Ctrl-C ends only the waiting."
            ));
            done.await
        };
        Some(self.wait(handing_on).and_then(|done| done.map_err(Into::into)))
    }

    /// The ring that the node takes part in.
    pub(crate) fn ring(&self) -> Option<RingNode> {
        self.inside.as_ref()?.house.ring.clone()
    }

    /// Waits for something that takes time, unless the person no longer wants it.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let Some(inside) = &self.inside else {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            return Ok(runtime.context("starting threads")?.block_on(work));
        };
        inside.house.runtime.block_on(async {
            let mut stops = self.console.stops()?;
            tokio::select! {
                done = work => Ok(done),
                () = stops.next() => bail!("stopped"),
            }
        })
    }

    /// A path that the person named, as this process finds it.
    pub(crate) fn path(&self, named: &Path) -> PathBuf {
        self.inside.as_ref().map_or_else(|| named.to_owned(), |inside| inside.directory.join(named))
    }

    /// For work that can be broken off, each time it tells how far it is.
    pub(crate) fn verdict(&self) -> ControlFlow<()> {
        if self.console.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The same, for a loop that is left with an error.
    pub(crate) fn go_on(&self) -> Result<()> {
        anyhow::ensure!(!self.console.is_stopped(), "stopped");
        Ok(())
    }

    /// A line of output.
    pub(crate) fn say(&self, text: impl Display) {
        if let Err(error) = writeln!(self.out(), "{text}") {
            let _ = self.unsaid.set(error);
        }
    }

    /// Output of any other kind.
    pub(crate) fn out(&self) -> Box<dyn Write + Send> {
        self.console.out()
    }

    /// A line beside the output, for a person.
    pub(crate) fn note(&self, text: impl Display) {
        let _ = writeln!(self.console.err(), "{text}");
    }

    /// The same, of something that is not as it should be.
    pub(crate) fn tell(&self, text: impl Display) {
        self.console.tell(text);
    }

    /// Whether everything was said, to be asked at the end.
    pub(crate) fn check_said(&mut self) -> Result<()> {
        self.unsaid.take().map_or(Ok(()), |error| Err(error).context("writing what was asked for"))
    }
}
