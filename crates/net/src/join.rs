//! Joining a ring with a ticket: ask the machine that gave it for a pass, and keep what it says.

use crate::error::{CallError, NetError, Refusal, Result};
use crate::frame::{Admit, Form, FrameError, Reader, Writer};
use crate::greet::{frame, writing};
use crate::identity::{Admission, Pass, Ticket};
use crate::limits;
use crate::link::{Close, lost, lost_reading};
use crate::settings::Settings;
use crate::transport::{bind, connect};
use herodotus_base::{PeerKey, Timestamp};
use iroh::SecretKey;
use iroh::endpoint::Connection;
use std::path::Path;
use tokio::time::timeout;

/// Joins and keeps the pass in `dir`. Asking twice with the same key is no harm: the same pass comes back.
pub async fn join(settings: &Settings, ticket: &Ticket, dir: &Path, now: Timestamp) -> Result<Admission> {
    let machine = PeerKey(*SecretKey::from_bytes(&settings.secret).public().as_bytes());
    if now >= ticket.expires() {
        return Err(NetError::Join(CallError::Refused(Refusal::TicketExpired)));
    }
    let Some(secret) = ticket.secret else {
        return Admission::join(dir, machine, ticket.charter(), None);
    };
    // Another port than the one that peers will be heard on, which is then surely free.
    let elsewhere = settings.aside().listen;
    let iroh = bind(&Settings { listen: elsewhere, ..settings.clone() }).await?;
    let within = settings.limits.dial_wait;
    let peer = ticket.issuer().key;
    let asked = timeout(within, async {
        let conn = connect(&iroh, ticket.issuer()).await?;
        let pass = ask(&conn, peer, secret).await;
        conn.close(Close::Done.code(), b"");
        pass
    });
    let pass = asked.await.unwrap_or(Err(CallError::TimedOut { peer, within }));
    let _ = timeout(limits::CLOSE_WAIT, iroh.close()).await;
    // Checks that the pass is for our key and signed by the owner that the ticket names.
    Admission::join(dir, machine, ticket.charter(), Some(&pass?))
}

async fn ask(conn: &Connection, peer: PeerKey, secret: [u8; 32]) -> Result<Pass, CallError> {
    let reading = |error: FrameError| lost_reading(peer, &error);
    let (send, recv) = conn.open_bi().await.map_err(|error| lost(peer, &error))?;
    let (mut writer, mut reader) = (Writer::new(send), Reader::new(recv));
    writer.whole(frame(&Admit { secret })?).await.map_err(|error| writing(peer, &error))?;
    writer.finish();
    let answer = reader.frame(&[Form::Pass, Form::Refusal]).await.map_err(reading)?;
    match answer.head.form {
        Form::Pass => answer.decode().map_err(reading),
        _ => Err(CallError::Refused(answer.refusal())),
    }
}
