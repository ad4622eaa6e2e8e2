//! Calls between peers: `herodotus-net` beside bare iroh, which has the same transport and none of our rules. Both sides of
//! both live in this process, so CPU time is that of the caller and the called together.
//!
//! A small call is 128 bytes each way on a stream of its own, with so many under way at once; bulk is one stream, read and
//! thrown away at the other end. Rounds of the two alternate, because machines are shared.

use crate::cpu::{Cost, Stopwatch, medians};
use crate::home::Home;
use crate::peers::say;
use crate::table::{Goals, Table, short};
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use herodotus_base::{PeerKey, Timestamp};
use herodotus_net::{
    Address, Admission, BoxFuture, Caller, Endpoint, Kind, Limits, Refusal, Service, Settings, Stream, join,
};
use iroh::endpoint::{Connection, presets};
use iroh::{EndpointAddr, RelayMode, SecretKey, TransportAddr};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds for each round of small calls
    #[arg(long, value_name = "N", default_value_t = 5)]
    seconds: u64,

    /// Rounds of each; the median counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,

    /// Calls under way at once
    #[arg(long, value_name = "N", default_value_t = 64)]
    at_once: usize,

    /// Bytes of a call, and of its answer
    #[arg(long, value_name = "N", default_value_t = 128)]
    bytes: usize,

    /// GiB of bulk in each round
    #[arg(long, value_name = "N", default_value_t = 1)]
    gib: u64,
}

const ALPN: &[u8] = b"bare/1";
const WITHIN: Duration = Duration::from_secs(30);
const KIND: Kind = Kind(1);
/// Answered with a word.
const BRIEF: Kind = Kind(2);
const BRIEF_BYTES: usize = 3;
const PIECE_BYTES: usize = 256 << 10;
/// QUIC's own is 25 ms.
const ACK_WAIT: Duration = Duration::from_millis(40);
const IP_AND_UDP_BYTES: u64 = 28;
/// Of bare iroh's small calls per second.
const SHARE_MIN: f64 = 0.6;

pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(args.rounds > 0 && args.at_once > 0, "there must be something to measure");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let bare = Bare::start().await?;
        let ours = Ours::start().await?;
        let [mut bare_calls, mut our_calls] = [Vec::new(), Vec::new()];
        let [mut bare_bulk, mut our_bulk] = [Vec::new(), Vec::new()];
        for round in 1..=args.rounds {
            say(&format!("round {round} of {}", args.rounds));
            bare_calls.push(calls(args, || bare.caller(args.bytes)).await?);
            our_calls.push(calls(args, || ours.caller(args.bytes)).await?);
            bare_bulk.push(bulk(args, bare.bulk(args.gib << 30)).await?);
            our_bulk.push(bulk(args, ours.bulk(args.gib << 30)).await?);
        }
        bare.stop().await;
        ours.stop().await;
        print(args, &[("bare iroh", &bare_calls, &bare_bulk), ("herodotus-net", &our_calls, &our_bulk)]);
        Ok(())
    })
}

/// What it costs bare iroh to bring so many bytes from one home to another, and onto its disk.
pub(crate) fn bare_copy(bytes: u64, from: &Home, to: &Home) -> Result<Cost> {
    let server = to.run(Bare::serve(to.address))??;
    from.run(async {
        let bare = Bare::connect(server, from.address).await?;
        let watch = Stopwatch::start();
        bare.send(KEPT, bytes).await?;
        let cost = watch.stop();
        bare.stop().await;
        Ok(cost)
    })?
}

/// Bytes over the wire for a call of so many and its brief answer, IP and UDP and acknowledgements too: calls one after another, as far apart as the other side
/// may wait with an acknowledgement.
pub(crate) fn wire_bytes(bytes: usize, calls: u32) -> Result<(f64, usize)> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let ours = Ours::start().await?;
        let call = async || -> Result<()> {
            let payload: Vec<u8> = vec![7; bytes];
            ours.client.call(&ours.to, BRIEF, payload.into(), WITHIN).await?;
            tokio::time::sleep(ACK_WAIT).await;
            Ok(())
        };
        // The first few find out how large packets may be.
        for _ in 0..calls / 2 {
            call().await?;
        }
        let before = ours.wire_bytes()?;
        for _ in 0..calls {
            call().await?;
        }
        let each = (ours.wire_bytes()? - before) as f64 / f64::from(calls);
        ours.stop().await;
        Ok((each, BRIEF_BYTES))
    })
}

/// What one round did, and what it cost.
#[derive(Clone, Copy, Debug)]
struct Round {
    done: f64,
    cost: Cost,
}

fn print(args: &Args, rows: &[(&str, &[Round], &[Round]); 2]) {
    let median = |rounds: &[Round], figure: fn(&Round) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    println!("### Small calls: {} bytes each way, {} at once\n", args.bytes, args.at_once);
    let mut table = Table::new(&["", "calls/s", "CPU µs per call", "GiB/s of bulk", "CPU s per GiB"]);
    let mut rates = Vec::new();
    for (name, calls, bulk) in rows {
        let rate = median(calls, |round| round.done / round.cost.wall_s);
        rates.push(rate);
        table.row([
            (*name).to_owned(),
            short(rate),
            short(median(calls, |round| round.cost.cpu_s * 1e6 / round.done)),
            short(median(bulk, |round| round.done / round.cost.wall_s)),
            short(median(bulk, |round| round.cost.cpu_s / round.done)),
        ]);
    }
    table.print();
    let costs: Vec<Cost> = rows.iter().flat_map(|(_, calls, _)| calls.iter().map(|round| round.cost)).collect();
    say(&format!("rounds of {:.1} s", medians(&costs).wall_s));
    let mut goals = Goals::default();
    goals.at_least("small calls, of bare iroh's", SHARE_MIN, rates[1] / rates[0], "");
    goals.print();
}

/// Small calls for so long, so many at once.
async fn calls<F, C>(args: &Args, caller: F) -> Result<Round>
where
    F: Fn() -> C,
    C: Future<Output = Result<()>> + Send + 'static,
{
    // A connection must be there, and the code warm.
    caller().await?;
    let until = Instant::now() + Duration::from_secs(args.seconds);
    let watch = Stopwatch::start();
    let mut under_way = JoinSet::new();
    for _ in 0..args.at_once {
        under_way.spawn(caller());
    }
    let mut done = 0.0;
    while let Some(ended) = under_way.join_next().await {
        ended??;
        done += 1.0;
        if Instant::now() < until {
            under_way.spawn(caller());
        }
    }
    Ok(Round { done, cost: watch.stop() })
}

async fn bulk(args: &Args, sending: impl Future<Output = Result<()>>) -> Result<Round> {
    let watch = Stopwatch::start();
    sending.await?;
    Ok(Round { done: args.gib as f64, cost: watch.stop() })
}

// What becomes of what is sent to bare iroh: its first byte.
const ECHOED: u8 = 0;
const DROPPED: u8 = 1;
const KEPT: u8 = 2;

async fn bind_bare(number: u8, at: Ipv4Addr) -> Result<iroh::Endpoint> {
    let builder = iroh::Endpoint::builder(presets::Minimal)
        .secret_key(SecretKey::from_bytes(&[number; 32]))
        .alpns(vec![ALPN.to_vec()])
        .relay_mode(RelayMode::Disabled)
        .clear_ip_transports();
    Ok(builder.bind_addr(SocketAddr::from((at, 0)))?.bind().await?)
}

fn here() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

/// iroh as its own examples use it: a stream for each call, read to its end.
struct Bare {
    server: iroh::Endpoint,
    client: iroh::Endpoint,
    conn: Connection,
}

impl Bare {
    async fn start() -> Result<Self> {
        Self::connect(Self::serve(Ipv4Addr::LOCALHOST).await?, Ipv4Addr::LOCALHOST).await
    }

    /// An endpoint that does what it is told by the first byte of each stream.
    async fn serve(at: Ipv4Addr) -> Result<iroh::Endpoint> {
        let server = bind_bare(1, at).await?;
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Some(incoming) = accepting.accept().await {
                let Ok(conn) = incoming.await else { continue };
                tokio::spawn(async move {
                    while let Ok((mut send, mut recv)) = conn.accept_bi().await {
                        tokio::spawn(async move {
                            let mut first = [0];
                            recv.read_exact(&mut first).await?;
                            match first[0] {
                                ECHOED => {
                                    let call = recv.read_to_end(1 << 20).await?;
                                    send.write_all(&call).await?;
                                }
                                KEPT => keep(&mut recv).await?,
                                _ => _ = drain(&mut recv).await?,
                            }
                            send.finish()?;
                            anyhow::Ok(())
                        });
                    }
                });
            }
        });
        Ok(server)
    }

    async fn connect(server: iroh::Endpoint, from: Ipv4Addr) -> Result<Self> {
        let client = bind_bare(2, from).await?;
        let there = server.bound_sockets().into_iter().map(TransportAddr::Ip);
        let conn = client.connect(EndpointAddr::from_parts(server.id(), there), ALPN).await?;
        Ok(Self { server, client, conn })
    }

    fn caller(&self, bytes: usize) -> impl Future<Output = Result<()>> + Send + 'static {
        let conn = self.conn.clone();
        async move {
            let (mut send, mut recv) = conn.open_bi().await?;
            send.write_all(&vec![ECHOED; bytes + 1]).await?;
            send.finish()?;
            let answer = recv.read_to_end(1 << 20).await?;
            ensure!(answer.len() == bytes, "{} bytes came back", answer.len());
            Ok(())
        }
    }

    async fn bulk(&self, bytes: u64) -> Result<()> {
        self.send(DROPPED, bytes).await
    }

    async fn send(&self, what_becomes_of_it: u8, bytes: u64) -> Result<()> {
        let (mut send, mut recv) = self.conn.open_bi().await?;
        send.write_all(&[what_becomes_of_it]).await?;
        pour(&mut send, bytes).await?;
        send.finish()?;
        recv.read_to_end(0).await?;
        Ok(())
    }

    async fn stop(self) {
        tokio::join!(self.client.close(), self.server.close());
    }
}

/// The same through our endpoint, with nothing turned off but the rates, which are made to hold such a peer back.
struct Ours {
    server: Endpoint,
    client: Endpoint,
    to: Address,
    received: Arc<AtomicU64>,
    _kept: tempfile::TempDir,
}

struct Echo(Arc<AtomicU64>);

impl Service for Echo {
    fn call(&self, _: Caller, kind: Kind, payload: Bytes) -> BoxFuture<Result<Bytes, Refusal>> {
        let len = if kind == BRIEF { payload.len().min(BRIEF_BYTES) } else { payload.len() };
        Box::pin(async move { Ok(payload.slice(..len)) })
    }

    fn stream(&self, _: Caller, _: Kind, _: Bytes, mut stream: Stream) -> BoxFuture<()> {
        let received = self.0.clone();
        Box::pin(async move {
            if let Ok(bytes) = drain(&mut stream).await {
                received.fetch_add(bytes, Relaxed);
                let _ = stream.shutdown().await;
            }
        })
    }
}

impl Ours {
    async fn start() -> Result<Self> {
        let kept = tempfile::tempdir()?;
        let limits = Limits {
            calls_per_s: u32::MAX,
            calls_burst: u32::MAX,
            bytes_per_s: u32::MAX,
            bytes_burst: u32::MAX,
            ..Limits::default()
        };
        let settings = |n: u8| Settings { limits: limits.clone(), ..Settings::new([n; 32], [here()]) };
        let received = Arc::new(AtomicU64::new(0));
        let now = Timestamp::now();
        let machine = PeerKey(*SecretKey::from_bytes(&[3; 32]).public().as_bytes());
        let first = Admission::create_closed(&kept.path().join("one"), machine, "bench", 16, 6, now)?;
        let server = Endpoint::bind(settings(3), Arc::new(first), Arc::new(Echo(received.clone()))).await?;
        let to = server.address();
        let ticket = server.admission().invite(to.clone(), now, WITHIN)?;
        let second = join(&settings(4), &ticket, &kept.path().join("two"), now).await?;
        let client = Endpoint::bind(settings(4), Arc::new(second), Arc::new(Echo(Arc::default()))).await?;
        Ok(Self { server, client, to, received, _kept: kept })
    }

    fn caller(&self, bytes: usize) -> impl Future<Output = Result<()>> + Send + 'static {
        let (client, to) = (self.client.clone(), self.to.clone());
        async move {
            let answer = client.call(&to, KIND, vec![0; bytes].into(), WITHIN).await?;
            ensure!(answer.len() == bytes, "{} bytes came back", answer.len());
            Ok(())
        }
    }

    /// Everything that went over the wire, both ways.
    fn wire_bytes(&self) -> Result<u64> {
        let key = self.server.key();
        let peers = self.client.peers();
        let peer = peers.iter().find(|peer| peer.key == key).context("no connection")?;
        let heads = (peer.datagrams_in + peer.datagrams_out) * IP_AND_UDP_BYTES;
        Ok(peer.bytes_in + peer.bytes_out + heads)
    }

    async fn bulk(&self, bytes: u64) -> Result<()> {
        let before = self.received.load(Relaxed);
        let mut stream = self.client.stream(&self.to, KIND, Bytes::new()).await?;
        pour(&mut stream, bytes).await?;
        stream.shutdown().await?;
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.context("waiting for the end")?;
        match self.received.load(Relaxed) - before {
            arrived if arrived == bytes => Ok(()),
            arrived => bail!("{arrived} bytes arrived"),
        }
    }

    async fn stop(self) {
        tokio::join!(self.client.close(), self.server.close());
    }
}

async fn pour(to: &mut (impl AsyncWriteExt + Unpin), bytes: u64) -> Result<()> {
    let piece = vec![7; PIECE_BYTES];
    let mut left = bytes as usize;
    while left > 0 {
        let some = left.min(PIECE_BYTES);
        to.write_all(&piece[..some]).await?;
        left -= some;
    }
    Ok(())
}

async fn drain(from: &mut (impl AsyncReadExt + Unpin)) -> Result<u64> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        match from.read(&mut piece).await? {
            0 => return Ok(bytes),
            read => bytes += read as u64,
        }
    }
}

/// Into a file, durably.
async fn keep(from: &mut (impl AsyncReadExt + Unpin)) -> Result<()> {
    let (mut piece, mut file) = (vec![0; PIECE_BYTES], tempfile::tempfile()?);
    loop {
        match from.read(&mut piece).await? {
            0 => return Ok(tokio::task::block_in_place(|| file.sync_all())?),
            read => tokio::task::block_in_place(|| file.write_all(&piece[..read]))?,
        }
    }
}
