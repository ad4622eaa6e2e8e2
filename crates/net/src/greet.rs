//! The first words on a connection. The one who dialled opens a stream and says hello; the other checks it and says hello back,
//! or why not. Whoever has newer revocations sends them at once. Until then nothing else is served, a stranger can open one
//! stream, and may send no more than a window of 32 KiB.
//!
//! Two other first words are served to strangers: a ticket's secret ([`Admit`]), and a nonce to echo ([`Nonce`]).

use crate::endpoint::Inner;
use crate::error::{CallError, NetError, Refusal};
use crate::frame::{Admit, Form, FrameError, Garbage, Hello, Nonce, Reader, Writer, encode, encode_as};
use crate::identity::{Pass, Revocations, RingKind};
use crate::link::{lost, lost_reading};
use bytes::Bytes;
use herodotus_base::{PeerKey, Timestamp};
use iroh::endpoint::{Connection, ReadError, WriteError};
use std::sync::Arc;

/// Why a stranger did not become a peer.
#[derive(Debug)]
pub(crate) enum Stranger {
    /// It was given a pass, and is done: it comes back with a hello.
    Admitted,
    /// It was given back its nonce, and is done.
    Echoed,
    /// It was told why not. Whether it is remembered depends on why.
    Refused(Refusal),
    Garbage(Garbage),
    /// It went away.
    Gone,
}

impl From<FrameError> for Stranger {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Garbage(garbage) => Self::Garbage(garbage),
            FrameError::Lost(_) | FrameError::Ended => Self::Gone,
        }
    }
}

impl From<WriteError> for Stranger {
    fn from(_: WriteError) -> Self {
        Self::Gone
    }
}

/// On a connection that we dialled: tells the serial of the revocations that the other side has now.
pub(crate) async fn say_hello(inner: &Arc<Inner>, conn: &Connection) -> Result<u64, CallError> {
    let peer = PeerKey(*conn.remote_id().as_bytes());
    let reading = |error: FrameError| lost_reading(peer, &error);
    let ours = inner.admission.hello();
    let (send, recv) = conn.open_bi().await.map_err(|error| lost(peer, &error))?;
    let (mut writer, mut reader) = (Writer::new(send), Reader::new(recv));
    writer.whole(frame(&ours)?).await.map_err(|error| writing(peer, &error))?;
    let answer = reader.frame(&[Form::Hello, Form::Refusal]).await.map_err(reading)?;
    if answer.head.form == Form::Refusal {
        return Err(CallError::Refused(answer.refusal()));
    }
    if let Some(version) = Hello::version_of(&answer.body).filter(|version| *version != ours.version) {
        return Err(CallError::Refused(Refusal::Version(version)));
    }
    let theirs: Hello = answer.decode().map_err(reading)?;
    if let Err(why) = inner.admission.check_hello(peer, &theirs) {
        return Err(CallError::Stranger { peer, why });
    }
    if theirs.revocations_serial < ours.revocations_serial {
        send_list(inner, &mut writer).await.map_err(|error| writing(peer, &error))?;
    }
    writer.finish();
    if theirs.revocations_serial > ours.revocations_serial {
        let list = reader.frame(&[Form::Revocations]).await.map_err(reading)?.decode().map_err(reading)?;
        hear(inner, list).await.map_err(|garbage| CallError::Garbage { peer, what: garbage.0 })?;
        if inner.admission.is_revoked(&peer) {
            return Err(CallError::Stranger { peer, why: Refusal::Revoked });
        }
    }
    Ok(theirs.revocations_serial.max(ours.revocations_serial))
}

/// On a connection that was accepted.
pub(crate) async fn hear_hello(inner: &Arc<Inner>, conn: &Connection) -> Result<u64, Stranger> {
    let peer = PeerKey(*conn.remote_id().as_bytes());
    let Ok((send, recv)) = conn.accept_bi().await else { return Err(Stranger::Gone) };
    let (mut writer, mut reader) = (Writer::new(send), Reader::new(recv));
    let first = reader.frame(&[Form::Hello, Form::Admit, Form::Prove]).await?;
    match first.head.form {
        Form::Admit => {
            let admit: Admit = first.decode()?;
            match let_in(inner, peer, admit).await {
                Ok(pass) => say_last(conn, &mut writer, frame_for_stranger(&pass)?).await?,
                Err(refusal) => return refuse(conn, &mut writer, refusal).await,
            }
            return Err(Stranger::Admitted);
        }
        Form::Prove => {
            if let RingKind::Closed { .. } = inner.admission.kind() {
                return Err(Stranger::Garbage(Garbage("a nonce in a closed ring".into())));
            }
            let nonce: Nonce = first.decode()?;
            let echo = encode_as(Form::Echo, &nonce).map_err(|_| Stranger::Gone)?;
            say_last(conn, &mut writer, echo).await?;
            return Err(Stranger::Echoed);
        }
        _ => {}
    }
    let ours = inner.admission.hello();
    if Hello::version_of(&first.body).is_some_and(|version| version != ours.version) {
        return refuse(conn, &mut writer, Refusal::Version(ours.version)).await;
    }
    let theirs: Hello = first.decode()?;
    if let Err(refusal) = inner.admission.check_hello(peer, &theirs) {
        return refuse(conn, &mut writer, refusal).await;
    }
    writer.whole(frame_for_stranger(&ours)?).await?;
    if theirs.revocations_serial < ours.revocations_serial {
        send_list(inner, &mut writer).await?;
    }
    writer.finish();
    if theirs.revocations_serial > ours.revocations_serial {
        let list = reader.frame(&[Form::Revocations]).await?.decode()?;
        hear(inner, list).await.map_err(Stranger::Garbage)?;
        if inner.admission.is_revoked(&peer) {
            return Err(Stranger::Refused(Refusal::Revoked));
        }
    }
    reader.end().await?;
    Ok(theirs.revocations_serial.max(ours.revocations_serial))
}

/// A list that a peer sent. Bad ones are its fault; a disk that fails is ours, and then we go on with the list we have.
pub(crate) async fn hear(inner: &Arc<Inner>, list: Revocations) -> Result<(), Garbage> {
    let admission = inner.admission.clone();
    match tokio::task::spawn_blocking(move || admission.hear(list)).await {
        Ok(Err(NetError::Forged(what))) => Err(Garbage(what.to_owned())),
        Ok(Err(error)) => {
            tracing::error!(%error, "a list of revocations could not be kept");
            Ok(())
        }
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

async fn let_in(inner: &Arc<Inner>, peer: PeerKey, admit: Admit) -> Result<Pass, Refusal> {
    let RingKind::Closed { .. } = inner.admission.kind() else { return Err(Refusal::TicketUnknown) };
    let admission = inner.admission.clone();
    match tokio::task::spawn_blocking(move || admission.admit(Timestamp::now(), peer, &admit.secret)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            tracing::error!(%error, "a machine with a ticket could not be let in");
            Err(Refusal::Busy)
        }
        Err(_) => Err(Refusal::Busy),
    }
}

async fn send_list(inner: &Arc<Inner>, writer: &mut Writer) -> Result<(), WriteError> {
    let Some(list) = inner.admission.revocations() else { return Ok(()) };
    match encode(&*list) {
        Ok(frame) => writer.whole(frame).await,
        Err(_) => Err(WriteError::ClosedStream),
    }
}

async fn refuse(conn: &Connection, writer: &mut Writer, refusal: Refusal) -> Result<u64, Stranger> {
    say_last(conn, writer, frame_for_stranger(&refusal)?).await?;
    Err(Stranger::Refused(refusal))
}

/// The last word on a connection: waits until it was taken, or until the other side has gone with it.
async fn say_last(conn: &Connection, writer: &mut Writer, frame: Bytes) -> Result<(), Stranger> {
    writer.whole(frame).await?;
    writer.finish();
    tokio::select! {
        () = writer.delivered() => {}
        _ = conn.closed() => {}
    }
    Ok(())
}

fn frame_for_stranger<T: crate::frame::Body>(body: &T) -> Result<Bytes, Stranger> {
    encode(body).map_err(|_| Stranger::Gone)
}

pub(crate) fn frame<T: crate::frame::Body>(body: &T) -> Result<Bytes, CallError> {
    encode(body).map_err(|_| CallError::Ours("a frame of ours has no form"))
}

pub(crate) fn writing(peer: PeerKey, error: &WriteError) -> CallError {
    match error {
        WriteError::ConnectionLost(error) => lost(peer, error),
        // The other side has answered already and does not listen any more; what it said is read next, or lost.
        other => lost_reading(
            peer,
            &FrameError::Lost(ReadError::Reset(match other {
                WriteError::Stopped(code) => *code,
                _ => iroh::endpoint::VarInt::from_u32(0),
            })),
        ),
    }
}
