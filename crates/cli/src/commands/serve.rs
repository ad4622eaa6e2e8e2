//! `node` and `serve`: the archive in a browser.

use super::ring::Part;
use crate::console::Console;
use crate::desk::Desk;
use crate::session::{House, Session};
use crate::show::{count, json_line, plural};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use herodotus_node::copies::Copies;
use herodotus_node::crawl::Definition;
use herodotus_node::together::{RingCrawls, Together};
use herodotus_node::{Indexer, Keeper};
use herodotus_store::Store;
use herodotus_store::archive::{ImportOptions, import};
use herodotus_web::{Bound, Crawls, Hosts, Options, Site, Token};
use ipnet::IpNet;
use serde_json::json;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How long crawls, and commands of other processes, may take to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(20);

/// Run an archive: its pages, replay, and crawls that are started from a page.
///
/// Open the address it prints. Only this machine can reach it, unless --listen says otherwise.
#[derive(Debug, Args)]
pub(crate) struct Node {
    #[command(flatten)]
    face: Face,

    /// Mail address or URL that a server's owner can write to, told to every site that is crawled
    #[arg(long, value_name = "CONTACT", env = super::CONTACT_VARIABLE)]
    contact: Option<String>,

    /// Networks that crawls may ask although they are not public, such as 192.168.0.0/16
    #[arg(long, value_name = "NET")]
    allow_private: Vec<IpNet>,

    /// Dial hosts that match a pattern elsewhere: *.example=127.0.0.1:8080
    #[arg(long, value_name = "PATTERN=ADDRESS")]
    connect_to: Vec<String>,

    #[command(flatten)]
    ring: Part,
}

/// Look at an archive in a browser, without changing it.
///
/// With files (WARC, WACZ, ARC), those are shown instead: they are brought into a temporary archive first, which is gone
/// at the end.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Files to look at, instead of the archive
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    face: Face,
}

/// Where the pages are.
#[derive(Debug, Args)]
struct Face {
    /// Address and port of the pages
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8480")]
    listen: SocketAddr,

    /// Address and port of archived content, which must be another [default: the port after the pages']
    #[arg(long, value_name = "ADDRESS:PORT")]
    replay_listen: Option<SocketAddr>,

    /// How browsers elsewhere reach the pages, through a proxy of yours: https://archive.example.org
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The same for archived content; with `*.`, every archived site gets a name of its own: https://*.replay.example.org
    #[arg(long, value_name = "URL")]
    replay_url: Option<String>,
}

impl Node {
    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        let data = session.data_dir()?;
        let store = session.open()?;
        let base = Definition {
            contact: self.contact,
            allow_private: self.allow_private,
            connect_to: self.connect_to,
            ..Definition::default()
        };
        self.face.run(session, &data, store, Some((base, self.ring)))
    }
}

impl Serve {
    /// Whether it shows the archive, and no files.
    pub(crate) fn is_of_archive(&self) -> bool {
        self.files.is_empty()
    }

    pub(crate) fn run(self, session: &Session) -> Result<ExitCode> {
        if self.files.is_empty() {
            let data = session.data_dir()?;
            let store = session.open_existing()?;
            return self.face.run(session, &data, store, None);
        }
        let folder = tempfile::tempdir().context("making a temporary archive")?;
        let (store, _) = Store::open(folder.path())?;
        for file in &self.files {
            session.tell(format_args!("reading {}", file.display()));
            let report = import(&store, file, &ImportOptions::default(), |_| {})
                .with_context(|| format!("reading {}", file.display()))?;
            session.tell(format_args!(
                "{} from {}",
                plural(report.records_total(), "record", "records"),
                file.display()
            ));
        }
        self.face.run(session, folder.path(), store, None)
    }
}

impl Face {
    fn run(self, session: &Session, data: &Path, store: Store, work: Option<(Definition, Part)>) -> Result<ExitCode> {
        for url in [&self.url, &self.replay_url].into_iter().flatten() {
            ensure!(
                url.starts_with("http://") || url.starts_with("https://"),
                "`{url}` is no address for a browser: write it as https://archive.example.org"
            );
        }
        raise_file_limit();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting threads")?;
        runtime.block_on(self.serve(session, data, &store, work))?;
        runtime.shutdown_background();
        store.close().context("closing the archive")?;
        Ok(ExitCode::SUCCESS)
    }

    async fn serve(
        &self,
        session: &Session,
        data: &Path,
        store: &Store,
        work: Option<(Definition, Part)>,
    ) -> Result<()> {
        let bound = self.bind().await?;
        let (ui, replay) = (bound.ui_address()?, bound.replay_address()?);
        let hosts = Hosts {
            ui_port: ui.port(),
            replay_port: replay.port(),
            ui_url: self.url.clone(),
            replay_url: self.replay_url.clone(),
        };
        let token = Token::of(data).with_context(|| format!("writing the token into {}", data.display()))?;
        let (crawls, part) = work.unzip();
        let ring = match &part {
            Some(part) => part.start(data).await?,
            None => None,
        };
        let base = crawls.clone();
        let keeper = crawls.map(|base| Keeper::new(data, store.clone(), base));
        let indexer = Indexer::start(data, store)?;
        let runtime = tokio::runtime::Handle::current();
        let copies = match (&ring, &part) {
            (Some(ring), Some(part)) => {
                let (ring, store, catalogue) = (ring.clone(), store.clone(), indexer.catalogue());
                let settings = part.copies(self.url.clone())?;
                // It may have to read the whole index once.
                let started = tokio::task::spawn_blocking(move || Copies::start(ring, store, catalogue, settings));
                Some(started.await.context("starting to keep copies")??)
            }
            _ => None,
        };
        let together = match (&copies, base) {
            (Some(copies), Some(base)) => Some(Together::start(copies.clone(), store.clone(), base)?),
            _ => None,
        };
        let house = keeper.clone().map(|keeper| House {
            data: data.to_owned(),
            store: store.clone(),
            keeper,
            ring: ring.clone(),
            copies: copies.clone(),
            together: together.clone(),
            runtime,
        });
        let desk = house.map(|house| Desk::open(house, crate::answer)).transpose()?;
        let running = keeper.clone().map(|keeper| match &together {
            Some(together) => Arc::new(RingCrawls::new(keeper, together.clone())) as Arc<dyn Crawls>,
            None => Arc::new(keeper) as Arc<dyn Crawls>,
        });
        let mut site = Site::new(store.clone(), data, running, indexer.catalogue(), hosts, token);
        if let Some(copies) = &copies {
            let redirects = part.as_ref().is_some_and(|part| part.redirect);
            site = site.with_peers(Arc::new(copies.clone())).with_elsewhere(Arc::new(copies.clone()), redirects);
        }
        self.announce(session, data, store, ui, replay)?;
        bound.serve(site, stop_signal()).await;
        let crawls_over = async {
            if let Some(keeper) = keeper {
                keeper.stop_all(STOP_PATIENCE).await;
            }
            if let Some(together) = together {
                together.stop(STOP_PATIENCE).await;
            }
        };
        let commands_over = async {
            if let Some(desk) = desk {
                desk.close(STOP_PATIENCE).await;
            }
        };
        let ring_left = async {
            if let Some(ring) = ring {
                ring.leave().await;
            }
        };
        tokio::join!(crawls_over, commands_over, ring_left);
        indexer.stop();
        Ok(())
    }

    async fn bind(&self) -> Result<Bound> {
        let mut replay = self.listen;
        replay.set_port(if self.listen.port() == 0 { 0 } else { self.listen.port().wrapping_add(1).max(1) });
        let options = Options { ui: self.listen, replay: self.replay_listen.unwrap_or(replay) };
        if options.ui == options.replay && options.ui.port() != 0 {
            bail!("archived content needs an address of its own: name another with --replay-listen");
        }
        Bound::bind(&options).await.with_context(|| {
            format!(
                "listening on {} and {}: another program may have them (choose others with --listen)",
                options.ui, options.replay
            )
        })
    }

    fn announce(
        &self,
        session: &Session,
        data: &Path,
        store: &Store,
        ui: SocketAddr,
        replay: SocketAddr,
    ) -> Result<()> {
        let address = |at: SocketAddr| match at.ip() {
            ip if ip.is_loopback() => format!("http://herodotus.localhost:{}", at.port()),
            IpAddr::V4(ip) if ip.is_unspecified() => format!("http://127.0.0.1:{}", at.port()),
            IpAddr::V6(ip) if ip.is_unspecified() => format!("http://[::1]:{}", at.port()),
            _ => format!("http://{at}"),
        };
        let totals = store.totals()?;
        let (pages, content) = (self.url.clone().unwrap_or_else(|| address(ui)), address(replay));
        if session.json {
            return json_line(
                session,
                &json!({
                    "event": "listening", "pages": pages, "replay": content, "ui_address": ui, "replay_address": replay, "data": data, "captures": totals.captures,
                }),
            );
        }
        session.say(format_args!(
            "{} captures of {} URLs in {}",
            count(totals.captures),
            count(totals.urls),
            data.display()
        ));
        session.say(format_args!("Open {pages}  (Ctrl-C stops)"));
        if ui.ip().is_loopback() {
            session.say(format_args!("     or http://{ui} where your browser does not know that name"));
        }
        if !ui.ip().is_loopback() {
            session.say(format_args!(
                "Others can reach this. To start a crawl they need the token in {}",
                data.join("token").display()
            ));
        }
        Ok(())
    }
}

/// Every connection is a file, and so is every pack: the usual limit of 1,024 is for programs that have fewer.
fn raise_file_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Without it fewer can be served at once, and that is all.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard.min(FILES_WANTED).max(soft), hard);
    }
}

/// Both listeners full, with room for the archive.
const FILES_WANTED: u64 = 8192;

/// Ready when the first Ctrl-C or termination comes.
async fn stop_signal() {
    let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    Console::Own.tell("stopping");
}
