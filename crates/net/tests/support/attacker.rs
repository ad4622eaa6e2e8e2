//! One who speaks the transport but keeps no rule of ours.

use super::{Machine, SOON};
use herodotus_net::{Address, Pass, RingId};
use iroh::endpoint::{Connection, ConnectionError, QuicTransportConfig, RecvStream, SendStream, VarInt, presets};
use iroh::{EndpointAddr, EndpointId, RelayMode, SecretKey, TransportAddr};
use std::net::SocketAddr;
use tokio::time::timeout;

pub(crate) const ALPN: &[u8] = b"herodotus/1";
pub(crate) const HELLO: u8 = 1;
pub(crate) const ADMIT: u8 = 2;
pub(crate) const REVOCATIONS: u8 = 4;
pub(crate) const PROVE: u8 = 5;
pub(crate) const REFUSAL: u8 = 7;
pub(crate) const CALL: u8 = 16;
pub(crate) const ANSWER: u8 = 17;
pub(crate) const NOTICE: u8 = 18;

pub(crate) struct Attacker {
    pub(crate) iroh: iroh::Endpoint,
    pub(crate) secret: [u8; 32],
}

impl Attacker {
    pub(crate) async fn new(last: u8) -> Self {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).unwrap();
        Self::with(last, secret).await
    }

    pub(crate) async fn with(last: u8, secret: [u8; 32]) -> Self {
        let iroh = iroh::Endpoint::builder(presets::Minimal)
            .secret_key(SecretKey::from_bytes(&secret))
            .alpns(vec![ALPN.to_vec()])
            // What it does not read, we cannot send.
            .transport_config(QuicTransportConfig::builder().stream_receive_window(code(64 << 10)).build())
            .relay_mode(RelayMode::Disabled)
            .clear_ip_transports()
            .bind_addr(SocketAddr::from(([127, 0, 0, last], 0)))
            .unwrap()
            .bind()
            .await
            .unwrap();
        Self { iroh, secret }
    }

    /// One who has the key and the pass of a member, and bad intentions. The member is closed.
    pub(crate) async fn from(member: Machine, last: u8) -> (Self, Vec<u8>) {
        let hello = hello(member.endpoint.admission().ring(), Some(&pass(&member)), 0);
        member.endpoint.close().await;
        (Self::with(last, member.secret).await, hello)
    }

    pub(crate) fn key(&self) -> herodotus_base::PeerKey {
        super::key_of(self.secret)
    }

    pub(crate) fn address(&self) -> Address {
        Address::new(self.key(), self.iroh.bound_sockets())
    }

    pub(crate) async fn try_connect(&self, to: &Address) -> Option<Connection> {
        let id = EndpointId::from_bytes(&to.key.0).unwrap();
        let address = EndpointAddr::from_parts(id, to.direct.iter().map(|at| TransportAddr::Ip(*at)));
        timeout(SOON, self.iroh.connect(address, ALPN)).await.ok()?.ok()
    }

    pub(crate) async fn connect(&self, to: &Address) -> Connection {
        self.try_connect(to).await.expect("a connection")
    }

    /// Connects and says hello as it should be. The stream's other half is over then.
    pub(crate) async fn greet(&self, to: &Address, hello: &[u8]) -> Connection {
        let conn = self.connect(to).await;
        let (_, answer) = ask(&conn, hello).await;
        assert_eq!(answer.first().copied(), Some(HELLO), "{answer:?}");
        conn
    }
}

/// The member's pass, as its file holds it.
pub(crate) fn pass(member: &Machine) -> Pass {
    let bytes = std::fs::read(member.dir.join("pass")).unwrap();
    postcard::from_bytes(&bytes[5..bytes.len() - 8]).unwrap()
}

pub(crate) fn frame(form: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![1, form, kind, 0];
    out.extend_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes());
    out.extend_from_slice(body);
    out
}

pub(crate) fn hello(ring: RingId, pass: Option<&Pass>, serial: u64) -> Vec<u8> {
    frame(HELLO, 0, &postcard::to_stdvec(&(1u16, ring, pass, serial)).unwrap())
}

/// Sends bytes on a stream of their own, ends it, and reads what comes: the form and the body of the first frame.
pub(crate) async fn ask(conn: &Connection, bytes: &[u8]) -> (Result<(), String>, Vec<u8>) {
    let asked = timeout(SOON, async {
        let (mut send, mut recv) = conn.open_bi().await.map_err(|error| error.to_string())?;
        send.write_all(bytes).await.map_err(|error| error.to_string())?;
        let _ = send.finish();
        let answer = recv.read_to_end(4 << 20).await.map_err(|error| error.to_string())?;
        Ok(answer)
    });
    match asked.await.expect("an answer or an end") {
        Ok(answer) if answer.len() >= 8 => {
            let mut out = vec![answer[1]];
            out.extend_from_slice(&answer[8..]);
            (Ok(()), out)
        }
        Ok(answer) => (Ok(()), answer),
        Err(error) => (Err(error), Vec::new()),
    }
}

/// The refusal in an answer.
pub(crate) fn refusal(answer: &[u8]) -> herodotus_net::Refusal {
    assert_eq!(answer.first().copied(), Some(REFUSAL), "{answer:?}");
    postcard::from_bytes(&answer[1..]).unwrap()
}

/// The number with which the other side closed.
pub(crate) async fn closed_with(conn: &Connection) -> u64 {
    match timeout(SOON, conn.closed()).await.expect("closed in time") {
        ConnectionError::ApplicationClosed(close) => close.error_code.into_inner(),
        other => panic!("{other}"),
    }
}

pub(crate) async fn open(conn: &Connection) -> (SendStream, RecvStream) {
    timeout(SOON, conn.open_bi()).await.expect("in time").expect("a stream")
}

pub(crate) fn code(number: u32) -> VarInt {
    VarInt::from_u32(number)
}
