//! A ring of machines in this process, each with a store, copies and pages of its own.

use super::lab::Lab;
use crate::cpu::Stopwatch;
use crate::home::Home;
use anyhow::{Context, Result, ensure};
use herodotus_net::Draft;
use herodotus_node::Indexer;
use herodotus_node::copies::{Copies, CopiesSettings};
use herodotus_node::ring::{RingNode, RingSettings, admit, create, membership};
use herodotus_store::Store;
use herodotus_web::peers::Peers;
use herodotus_web::{Bound, Hosts, Options, Site, Token};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const WAIT_MAX: Duration = Duration::from_secs(600);
/// Machines rest when for so long they want no more than this share of one core: neighbours talk all the time.
const REST_FOR: Duration = Duration::from_secs(2);
const REST_SHARE: f64 = 0.1;

pub(super) struct Machine {
    pub(super) store: Store,
    pub(super) copies: Copies,
    /// Where archived content is served.
    pub(super) replay: u16,
    /// Since it takes copies.
    pub(super) takes: Stopwatch,
    ring: RingNode,
    indexer: Indexer,
}

pub(super) struct Ring {
    pub(super) machines: Vec<Machine>,
    /// One for all of them, or one for each.
    homes: Vec<Home>,
    copies: u16,
    kept: TempDir,
}

impl Ring {
    /// All of them on the loop.
    pub(super) fn of(machines: usize, copies: u16) -> Result<Self> {
        Self::in_homes(vec![Home::on_loop()?], machines, copies)
    }

    /// Each in its own part of a lab, which has room for some more.
    pub(super) fn in_lab(lab: &Lab, machines: usize, more: usize, copies: u16) -> Result<Self> {
        let homes = (0..machines + more).map(|number| lab.home(number)).collect::<Result<_>>()?;
        Self::in_homes(homes, machines, copies)
    }

    fn in_homes(homes: Vec<Home>, machines: usize, copies: u16) -> Result<Self> {
        let mut ring = Self { machines: Vec::new(), homes, copies, kept: tempfile::tempdir()? };
        for _ in 0..machines {
            ring.join()?;
        }
        ring.settle()?;
        Ok(ring)
    }

    /// One machine more.
    pub(super) fn join(&mut self) -> Result<()> {
        let number = self.machines.len();
        let data = self.kept.path().join(number.to_string());
        let (home, address) = match &self.homes[..] {
            [all] => (all, Ipv4Addr::new(127, 0, 0, 101 + number as u8)),
            each => each.get(number).map(|home| (home, home.address)).context("a machine that has no home")?,
        };
        let machine = home.run(self.start(data, address))??;
        self.machines.push(machine);
        Ok(())
    }

    /// Waits until what the first machine has stored is where it is acknowledged.
    pub(super) fn hand_on(&self) -> Result<()> {
        Ok(self.homes[0].run(self.machines[0].copies.handed_on())??)
    }

    /// Ends all of it. Titles are read by threads that do not end by themselves.
    pub(super) fn end(self) {
        for machine in self.machines {
            machine.indexer.stop();
        }
    }

    async fn start(&self, data: PathBuf, address: Ipv4Addr) -> Result<Machine> {
        std::fs::create_dir(&data)?;
        let listen = UdpSocket::bind((address, 0))?.local_addr()?;
        let settings = RingSettings {
            listen: vec![listen],
            stabilise_every: Duration::from_millis(500),
            ..RingSettings::default()
        };
        let admission = match self.machines.first() {
            Some(first) => {
                let ticket = first.ring.invite(WAIT_MAX)?;
                admit(&data, &ticket, &settings).await?
            }
            None => {
                create(&data, Draft { name: "bench", r: 8, copies: self.copies, is_by_url: false }, false)?;
                membership(&data)?.context("the ring that was just made")?
            }
        };
        let ring = RingNode::start(&data, admission, &settings, true).await?;
        let (store, _) = Store::open(&data)?;
        let indexer = Indexer::start(&data, &store)?;
        // As it is by default, but for who is new: nobody waits a day for that.
        let mut settings = CopiesSettings::default();
        settings.custody.probation = Duration::ZERO;
        settings.custody.grace = Duration::from_secs(5);
        settings.custody.compare_every = Duration::from_secs(10);
        let (ours, here, catalogue) = (ring.clone(), store.clone(), indexer.catalogue());
        let takes = Stopwatch::start();
        let copies = tokio::task::spawn_blocking(move || Copies::start(ours, here, catalogue, settings)).await??;
        ring.joined().await?;
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let bound = Bound::bind(&Options { ui: any, replay: any }).await?;
        let (ui, replay) = (bound.ui_address()?.port(), bound.replay_address()?.port());
        let hosts = Hosts { ui_port: ui, replay_port: replay, ui_url: None, replay_url: None };
        let site = Site::new(store.clone(), &data, None, indexer.catalogue(), hosts, Token::of(&data)?);
        let site = site.with_elsewhere(Arc::new(copies.clone()), false);
        tokio::spawn(bound.serve(site, std::future::pending()));
        Ok(Machine { store, copies, replay, takes, ring, indexer })
    }

    /// Waits until each knows all the others.
    fn settle(&self) -> Result<()> {
        let others = self.machines.len() - 1;
        self.wait("the ring to settle", || {
            self.machines.iter().all(|machine| {
                let health = machine.copies.health();
                health.is_some_and(|health| health.machines_asked == others + 1 && health.machines_silent == 0)
            })
        })
    }

    /// Waits until everything lies on so many machines.
    pub(super) fn wait_for_copies(&self, copies: u16) -> Result<()> {
        self.wait("all copies to be made", || {
            let Some(health) = self.machines[0].copies.health() else { return false };
            health.machines_silent == 0 && matches!(&health.objects[..], [level] if level.copies == copies)
        })
    }

    /// Waits until nobody has anything to do: titles are read, and what was found twice is put down again.
    pub(super) fn rest(&self) -> Result<()> {
        self.wait("all machines to rest", || {
            let watch = Stopwatch::start();
            std::thread::sleep(REST_FOR);
            watch.stop().cpu_s < REST_SHARE * REST_FOR.as_secs_f64()
        })
    }

    pub(super) fn wait(&self, what: &str, mut is_done: impl FnMut() -> bool) -> Result<()> {
        let began = Instant::now();
        while !is_done() {
            ensure!(began.elapsed() < WAIT_MAX, "{WAIT_MAX:?} were not enough for {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}
