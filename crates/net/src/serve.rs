//! Connections that others dial, and what peers ask over any connection.
//!
//! The loop that accepts never waits for anybody: each newcomer gets a task, and the gate decides how many there are. What a
//! peer asks runs on a task of its own; how many there are is bounded by the streams that QUIC lets it open.

use crate::address::Kind;
use crate::bucket::Leave;
use crate::endpoint::Inner;
use crate::error::Refusal;
use crate::frame::{Form, FrameError, Garbage, Head, Reader, Writer, encode};
use crate::gate::{Verdict, Visit};
use crate::greet::{self, Stranger};
use crate::limits;
use crate::link::{Busy, Close, Link, Side};
use crate::stream::Stream;
use bytes::Bytes;
use herodotus_base::PeerKey;
use iroh::endpoint::{Connection, Incoming, IncomingAddr, RecvStream, SendStream};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

pub(crate) async fn accept(inner: Arc<Inner>, iroh: iroh::Endpoint) {
    while let Some(incoming) = iroh.accept().await {
        let from = match incoming.remote_addr() {
            IncomingAddr::Ip(at) => Some(at.ip()),
            _ => None,
        };
        match inner.gate.knock(from, incoming.remote_addr_validated()) {
            Verdict::Come(visit) => {
                let inner = inner.clone();
                tokio::spawn(async move { receive(inner, incoming, visit).await });
            }
            Verdict::Prove => {
                // It fails only for those who have shown it, and they are not asked.
                let _ = incoming.retry();
            }
            Verdict::Go => incoming.refuse(),
        }
    }
}

async fn receive(inner: Arc<Inner>, incoming: Incoming, mut visit: Visit) {
    // One time limit for the handshake and the hello together: what a stranger can hold, it holds no longer than this.
    let greeted = timeout(inner.limits.hello_wait, async {
        let Ok(accepting) = incoming.accept() else { return None };
        let conn = accepting.await.ok()?;
        let key = PeerKey(*conn.remote_id().as_bytes());
        if let Some(left) = inner.ban_left(&key) {
            turn_away(&conn, left).await;
            return None;
        }
        let heard = greet::hear_hello(&inner, &conn).await;
        Some((conn, key, heard))
    });
    let Ok(Some((conn, key, heard))) = greeted.await else { return };
    match heard {
        Ok(serial) => {
            visit.welcome();
            let link = inner.new_link(conn, Side::Accepted, serial, Some(visit), None);
            inner.take_in(&link);
        }
        Err(Stranger::Admitted) => {
            inner.pardon(&key);
            conn.close(Close::Done.code(), b"");
        }
        Err(Stranger::Echoed) => conn.close(Close::Done.code(), b""),
        Err(Stranger::Refused(refusal)) => {
            match refusal {
                // An honest joiner can come too late, and we can be too busy.
                Refusal::TicketExpired | Refusal::TicketUsed | Refusal::Busy | Refusal::Version(_) => {}
                _ => inner.ban(key, &refusal.to_string()),
            }
            conn.close(Close::Refused.code(), refusal.to_string().as_bytes());
        }
        Err(Stranger::Garbage(garbage)) => {
            inner.ban(key, &garbage.0);
            conn.close(Close::Garbage.code(), b"");
        }
        Err(Stranger::Gone) => {}
    }
}

async fn turn_away(conn: &Connection, left: Duration) {
    conn.close(Close::Banned.code(), left.as_secs().max(1).to_string().as_bytes());
}

/// Serves a peer until the connection is closed.
pub(crate) fn spawn(inner: &Arc<Inner>, link: &Arc<Link>) {
    let (calls, of) = (inner.clone(), link.clone());
    tokio::spawn(async move {
        while let Ok((send, recv)) = of.conn.accept_bi().await {
            let (inner, busy) = (calls.clone(), Busy::new(&of));
            tokio::spawn(async move { answer(&inner, busy, send, recv).await });
        }
        calls.lose(&of);
    });
    let (notices, of) = (inner.clone(), link.clone());
    tokio::spawn(async move {
        while let Ok(recv) = of.conn.accept_uni().await {
            let (inner, busy) = (notices.clone(), Busy::new(&of));
            tokio::spawn(async move { heed(&inner, busy, recv).await });
        }
    });
}

/// A call or the beginning of a stream.
async fn answer(inner: &Arc<Inner>, busy: Busy, send: SendStream, recv: RecvStream) {
    let link = busy.link().clone();
    let (mut writer, mut reader) = (Writer::new(send), Reader::new(recv));
    let read = timeout(inner.limits.frame_wait, async {
        let head = reader.head(&[Form::Call, Form::Stream]).await?;
        let Some(held) = hold(inner, &link, head) else { return Ok((head, None)) };
        let body = reader.body(head).await?;
        if head.form == Form::Call {
            reader.end().await?;
        }
        Ok((head, Some((body, held))))
    });
    let (head, body) = match read.await {
        Ok(Ok(read)) => read,
        Ok(Err(FrameError::Garbage(garbage))) => return drop_for(inner, &link, &garbage),
        // Given up by the caller, or half a frame and silence: the stream goes, the peer may be slow.
        Ok(Err(FrameError::Lost(_) | FrameError::Ended)) | Err(_) => return,
    };
    let leave = match &body {
        Some((body, _)) => link.take_rate(body.len(), inner.limits.rate_wait_max),
        None => Leave::No,
    };
    if let Leave::After(wait) = leave {
        tokio::time::sleep(wait).await;
    }
    let (Some((body, held)), false) = (body, leave == Leave::No) else {
        link.refused.fetch_add(1, Relaxed);
        // What is still to come of it is not wanted, and gives way to what is.
        drop(reader);
        // On a stream, dropping the halves says enough.
        if head.form == Form::Call {
            give(inner, &mut writer, Err(Refusal::Busy)).await;
        }
        return;
    };
    link.calls_in.fetch_add(1, Relaxed);
    if head.form == Form::Stream {
        let stream = Stream::new(reader, writer, &busy, inner.limits.stream_silence_max);
        inner.service.stream(link.caller(), head.kind, body, stream).await;
        return;
    }
    let result = inner.service.call(link.caller(), head.kind, body).await;
    give(inner, &mut writer, result).await;
    drop(held);
}

/// Gives the answer for as long as the caller takes it. One who never reads loses it.
async fn give(inner: &Arc<Inner>, writer: &mut Writer, result: Result<Bytes, Refusal>) {
    let result = match result {
        Ok(payload) if payload.len() > limits::CALL_BYTES_MAX => {
            tracing::error!(bytes = payload.len(), "an answer of ours is too long for a frame");
            Err(Refusal::service("the answer is too long"))
        }
        other => other,
    };
    let sent = timeout(inner.limits.answer_wait, async {
        match result {
            Ok(payload) => writer.frame(Form::Answer, Kind(0), payload).await,
            Err(refusal) => match encode(&refusal.bounded()) {
                Ok(frame) => writer.whole(frame).await,
                Err(_) => Ok(()),
            },
        }
    });
    if let Ok(Ok(())) = sent.await {
        writer.finish();
    }
}

/// A notice, or news of revocations.
async fn heed(inner: &Arc<Inner>, busy: Busy, recv: RecvStream) {
    let link = busy.link().clone();
    let mut reader = Reader::new(recv);
    let read = timeout(inner.limits.frame_wait, async {
        let head = reader.head(&[Form::Notice, Form::Revocations]).await?;
        let Some(held) = hold(inner, &link, head) else { return Ok(None) };
        let body = reader.body(head).await?;
        reader.end().await?;
        Ok(Some((head, body, held)))
    });
    let (head, body, held) = match read.await {
        Ok(Ok(Some(whole))) => whole,
        Ok(Ok(None)) => {
            link.refused.fetch_add(1, Relaxed);
            return;
        }
        Ok(Err(FrameError::Garbage(garbage))) => return drop_for(inner, &link, &garbage),
        Ok(Err(FrameError::Lost(_) | FrameError::Ended)) | Err(_) => return,
    };
    match link.take_rate(body.len(), inner.limits.rate_wait_max) {
        Leave::Now => {}
        Leave::After(wait) => tokio::time::sleep(wait).await,
        Leave::No => {
            link.refused.fetch_add(1, Relaxed);
            return;
        }
    }
    if head.form == Form::Revocations {
        let list = match crate::frame::decode::<crate::identity::Revocations>(&body) {
            Ok(list) => list,
            Err(garbage) => return drop_for(inner, &link, &garbage),
        };
        link.serial.fetch_max(list.serial(), Relaxed);
        if let Err(garbage) = greet::hear(inner, list).await {
            drop_for(inner, &link, &garbage);
        }
        return;
    }
    link.calls_in.fetch_add(1, Relaxed);
    inner.service.notice(link.caller(), head.kind, body).await;
    drop(held);
}

/// Leave to hold a body that is more than a packet: of this peer's share, and of what there is for all. Or none, at once.
fn hold(inner: &Arc<Inner>, link: &Link, head: Head) -> Option<Vec<OwnedSemaphorePermit>> {
    if head.bytes <= limits::HELD_FREE_BYTES {
        return Some(Vec::new());
    }
    Some(vec![link.hold(head.bytes)?, inner.hold(head.bytes)?])
}

/// The peer broke the protocol: it is dropped, and remembered.
fn drop_for(inner: &Arc<Inner>, link: &Arc<Link>, garbage: &Garbage) {
    inner.ban(link.key, &garbage.0);
    inner.close_link(link, Close::Garbage);
}

/// Looks over the connections every so often: idle ones, moved ones; and lets go of old counts.
pub(crate) async fn sweep(inner: Arc<Inner>) {
    let every = limits::SWEEP_INTERVAL.min(inner.limits.connection_idle / 4).max(limits::SWEEP_INTERVAL_MIN);
    let mut clock = tokio::time::interval(every);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let now = Instant::now();
        for link in inner.links() {
            link.look(now);
            // The one who dialled closes first: it knows best whether it will call again.
            let patience = match link.side {
                Side::Dialled => inner.limits.connection_idle,
                Side::Accepted => inner.limits.connection_idle * 2,
            };
            if !link.is_busy() && link.idle(now) > patience {
                inner.close_link(&link, Close::Idle);
            }
        }
        inner.forget(now);
    }
}

/// When there are newer revocations: drops those who were shut out, and tells all others.
pub(crate) async fn spread_revocations(inner: Arc<Inner>, mut news: watch::Receiver<u64>) {
    while news.changed().await.is_ok() {
        let serial = *news.borrow_and_update();
        let Some(list) = inner.admission.revocations() else { continue };
        let Ok(frame) = encode(&*list) else { continue };
        for link in inner.links() {
            if list.contains(&link.key) {
                inner.close_link(&link, Close::Revoked);
            } else {
                tell(&inner, &link, serial, &frame);
            }
        }
    }
}

/// What a connection missed while it was being made.
pub(crate) fn catch_up(inner: &Arc<Inner>, link: &Arc<Link>) {
    if let Some(list) = inner.admission.revocations()
        && link.serial.load(Relaxed) < list.serial()
        && let Ok(frame) = encode(&*list)
    {
        tell(inner, link, list.serial(), &frame);
    }
}

/// Sends a list to one who is not known to have it.
fn tell(inner: &Arc<Inner>, link: &Arc<Link>, serial: u64, frame: &Bytes) {
    if link.serial.fetch_max(serial, Relaxed) >= serial {
        return;
    }
    let (busy, frame, wait) = (Busy::new(link), frame.clone(), inner.limits.answer_wait);
    tokio::spawn(async move {
        let told = timeout(wait, async {
            let mut writer = Writer::new(busy.link().conn.open_uni().await.ok()?);
            writer.whole(frame).await.ok()?;
            writer.finish();
            Some(())
        });
        // Whoever does not take it hears of it with its next hello.
        let _ = told.await;
    });
}
