//! The two listeners: connections in, each bounded in time and size, and the two routers behind them.

use crate::limits::{CONNECTIONS_MAX, REQUEST_HEAD_BYTES_MAX, REQUEST_HEAD_TIME, WRITE_STALL_TIME};
use crate::metrics::{Kind, Listener};
use crate::site::Site;
use crate::stall::StallGuard;
use axum::Router;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Where to listen.
#[derive(Clone, Debug)]
pub struct Options {
    pub ui: SocketAddr,
    pub replay: SocketAddr,
}

/// Both listeners, bound but not yet answering.
#[derive(Debug)]
pub struct Bound {
    ui: TcpListener,
    replay: TcpListener,
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Bound {
    pub async fn bind(options: &Options) -> std::io::Result<Self> {
        Ok(Self { ui: TcpListener::bind(options.ui).await?, replay: TcpListener::bind(options.replay).await? })
    }

    pub fn ui_address(&self) -> std::io::Result<SocketAddr> {
        self.ui.local_addr()
    }

    pub fn replay_address(&self) -> std::io::Result<SocketAddr> {
        self.replay.local_addr()
    }

    /// Answers until `stop` is ready; then lets what is being answered end.
    pub async fn serve(self, site: Site, stop: impl Future<Output = ()> + Send) {
        let ui = listen(self.ui, Listener::Pages, crate::ui_router(&site), &site);
        let replay = listen(self.replay, Listener::Replay, crate::replay_router(&site), &site);
        let both = async { tokio::join!(ui, replay) };
        tokio::pin!(both);
        tokio::select! {
            _ = &mut both => return,
            () = stop => {}
        }
        site.quit();
        both.await;
    }
}

/// How long what is being answered may take once we were asked to stop.
const GRACE: std::time::Duration = std::time::Duration::from_secs(5);

async fn listen(listener: TcpListener, which: Listener, router: Router, site: &Site) {
    let mut quitting = site.quitting();
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // No slot, no accept: whoever comes waits in the system's queue rather than in our memory.
        let next = async {
            let slot = slots.clone().acquire_owned().await.ok()?;
            Some((slot, listener.accept().await))
        };
        let (slot, accepted) = tokio::select! {
            Some(next) = next => next,
            _ = quitting.changed() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (router, site) = (router.clone(), site.clone());
                connections.spawn(async move {
                    converse(stream, peer, which, router, &site).await;
                    drop(slot);
                });
            }
            // Out of file handles, or a connection that died in the queue: neither ends the server.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
    let _ = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

async fn converse(stream: TcpStream, peer: SocketAddr, which: Listener, router: Router, site: &Site) {
    let mut quitting = site.quitting();
    let _ = stream.set_nodelay(true);
    let answering = TowerToHyperService::new(router.layer(axum::Extension(Peer(peer))));
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let kind = Kind::of(which, request.uri().path());
        let answer = answering.call(request);
        async move {
            let answer = answer.await?;
            site.counts().add(which, kind, answer.status());
            Ok::<_, Infallible>(answer)
        }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(REQUEST_HEAD_TIME).max_buf_size(REQUEST_HEAD_BYTES_MAX);
    let io = TokioIo::new(StallGuard::new(stream, WRITE_STALL_TIME));
    let connection = server.serve_connection(io, service);
    tokio::pin!(connection);
    tokio::select! {
        // What goes wrong on a connection is between the client and its network.
        _ = connection.as_mut() => return,
        _ = quitting.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
