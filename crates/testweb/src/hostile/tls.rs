//! TLS: certificates that do not hold, and handshakes that are none.

use super::Expect::{Either, Failure, Truncated, Whole};
use super::Group::Tls;
use super::house::DOMAIN;
use super::plan::{Door, Paper, Plan, html};
use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::io;
use std::sync::Arc;

const HANDSHAKE: super::Expect = Failure(&["tls_handshake"]);
/// A handshake that never gets anywhere runs into whichever deadline is the first.
const LATE: super::Expect = Failure(&["tls_handshake", "connect_timeout", "first_byte_timeout"]);

/// The authorities, and one key for all servers: it is not the keys that are under test.
pub(super) struct Papers {
    ca: Certificate,
    issuer: Issuer<'static, KeyPair>,
    other: Issuer<'static, KeyPair>,
    key: KeyPair,
}

fn authority(name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Ok(params)
}

impl Papers {
    pub(super) fn new() -> io::Result<Self> {
        Self::draw_up().map_err(io::Error::other)
    }

    fn draw_up() -> Result<Self, rcgen::Error> {
        let (ca_key, params) = (KeyPair::generate()?, authority("The authority that is trusted")?);
        let ca = params.self_signed(&ca_key)?;
        let other = Issuer::new(authority("An authority that nobody knows")?, KeyPair::generate()?);
        Ok(Self { ca, issuer: Issuer::new(params, ca_key), other, key: KeyPair::generate()? })
    }

    pub(super) fn ca_der(&self) -> &[u8] {
        self.ca.der()
    }

    /// What a server shows, with HTTP/2 or without.
    pub(super) fn config(&self, paper: Paper, http2: bool) -> io::Result<Arc<ServerConfig>> {
        let chain = self.chain(paper).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        Ok(Arc::new(config))
    }

    fn chain(&self, paper: Paper) -> Result<Vec<CertificateDer<'static>>, rcgen::Error> {
        let name = if paper == Paper::WrongName { "elsewhere.test".to_owned() } else { format!("*.{DOMAIN}") };
        let mut params = CertificateParams::new(vec![name])?;
        match paper {
            Paper::Expired => {
                params.not_before = date_time_ymd(2001, 1, 1);
                params.not_after = date_time_ymd(2002, 1, 1);
            }
            Paper::NotYetValid => params.not_before = date_time_ymd(3001, 1, 1),
            _ => {}
        }
        let leaf = match paper {
            Paper::SelfSigned => params.self_signed(&self.key)?,
            Paper::UnknownIssuer => params.signed_by(&self.key, &self.other)?,
            Paper::SignedByLeaf => {
                let mut leaf = CertificateParams::new(vec!["leaf.test".to_owned()])?;
                leaf.distinguished_name.push(DnType::CommonName, "No authority at all");
                let key = KeyPair::generate()?;
                let middle = leaf.signed_by(&key, &self.issuer)?;
                let end = params.signed_by(&self.key, &Issuer::new(leaf, key))?;
                return Ok(vec![end.into(), middle.into()]);
            }
            _ => params.signed_by(&self.key, &self.issuer)?,
        };
        let more = if paper == Paper::EndlessChain { 2000 } else { 0 };
        Ok(std::iter::once(leaf.into()).chain(std::iter::repeat_n(self.ca.der().clone(), more)).collect())
    }
}

/// A TLS record that carries a piece of a handshake.
fn record(kind: u8, inside: &[u8]) -> Vec<u8> {
    let mut record = vec![kind, 3, 3];
    record.extend_from_slice(&(inside.len() as u16).to_be_bytes());
    record.extend_from_slice(inside);
    record
}

pub(super) fn plans() -> Vec<Plan> {
    let mut plans = papers();
    plans.extend(handshakes());
    plans
}

fn papers() -> Vec<Plan> {
    fn show(talk: &mut super::talk::Talk<'_>, _: &super::plan::Ask) -> io::Result<()> {
        talk.page(html("<p>In confidence.</p>"))
    }
    let plan = |name, paper, expect, why| Plan::new(name, Tls, expect, why, show).door(Door::Tls(paper));
    vec![
        plan("tls-honest", Paper::Honest, Whole, "A certificate that holds, to compare the others with."),
        plan("tls-expired", Paper::Expired, Failure(&["tls_expired"]), "A certificate from 2001."),
        plan("tls-not-yet", Paper::NotYetValid, Failure(&["tls_not_yet_valid"]), "A certificate from the year 3001."),
        plan("tls-self-signed", Paper::SelfSigned, Failure(&["tls_unknown_issuer"]), "Vouches for itself."),
        plan("tls-wrong-name", Paper::WrongName, Failure(&["tls_wrong_name"]), "A certificate of somebody else."),
        plan("tls-unknown-ca", Paper::UnknownIssuer, Failure(&["tls_unknown_issuer"]), "Vouched for by nobody we know."),
        plan(
            "tls-signed-by-leaf",
            Paper::SignedByLeaf,
            Failure(&["tls_unknown_issuer", "tls_handshake"]),
            "Vouched for by another server, which may not vouch for anyone.",
        ),
        plan("tls-long-chain", Paper::EndlessChain, HANDSHAKE, "Shows two thousand certificates."),
        Plan::new(
            "tls-cut",
            Tls,
            Either(&[Truncated(&["disconnect", "reset"]), Whole]),
            "Ends without the farewell of TLS, where only that would say that the page is whole: anybody on the wire could.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")?;
                t.say(html("<p>And then").as_bytes())?;
                t.cut()
            },
        )
        .door(Door::Tls(Paper::Honest)),
        Plan::new(
            "tls-cut-measured",
            Tls,
            Either(&[Whole, Truncated(&["disconnect", "reset"])]),
            "Ends without the farewell of TLS, behind a body of the promised length.",
            |t, _| {
                t.page(html("<p>That is all.</p>"))?;
                t.cut()
            },
        )
        .door(Door::Tls(Paper::Honest)),
        Plan::new("tls-endless", Tls, Truncated(&["length"]), "A body that never ends, encrypted.", |t, _| {
            t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")?;
            t.flood(b"and so on ")
        })
        .door(Door::Tls(Paper::Honest)),
        Plan::new("tls-silent-head", Tls, Failure(&["first_byte_timeout"]), "Shakes hands and says no more.", |t, _| {
            t.hold()
        })
        .door(Door::Tls(Paper::Honest)),
    ]
}

fn handshakes() -> Vec<Plan> {
    let plan = |name, expect, why, script| Plan::new(name, Tls, expect, why, script).door(Door::RawTls);
    vec![
        plan("tls-closed", HANDSHAKE, "Hangs up within the handshake.", |t, _| {
            let mut hello = [0; 5];
            t.read_exact(&mut hello)
        }),
        plan("tls-reset", HANDSHAKE, "Resets the connection within the handshake.", |t, _| {
            let mut hello = [0; 5];
            t.read_exact(&mut hello)?;
            t.reset()
        }),
        plan("tls-silent", LATE, "Never answers the handshake.", |t, _| t.hold()),
        plan("tls-plain", HANDSHAKE, "Speaks plain HTTP where TLS is spoken.", |t, _| {
            let mut hello = [0; 5];
            t.read_exact(&mut hello)?;
            t.answer("400 Bad Request", "Connection: close\r\n", "Speak plainly.\n")
        }),
        plan("tls-garbage", HANDSHAKE, "Answers the handshake with noise.", |t, _| {
            let noise: Vec<u8> = (1..4096u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            t.say(&noise)
        }),
        plan("tls-alert", HANDSHAKE, "Answers the handshake with a fatal alert.", |t, _| t.say(&record(21, &[2, 40]))),
        plan("tls-warnings", LATE, "Answers the handshake with warnings without end.", |t, _| {
            t.flood(&record(21, &[1, 90]))
        }),
        plan("tls-old", HANDSHAKE, "Insists on a version of 1996.", |t, _| {
            let mut hello = vec![2, 0, 0, 38, 3, 0];
            hello.extend_from_slice(&[7; 32]);
            hello.extend_from_slice(&[0, 0, 4, 0]);
            t.say(&record(22, &hello))
        }),
        plan(
            "tls-endless-hello",
            LATE,
            "A handshake message of sixteen megabytes, in pieces, over and over.",
            |t, _| {
                t.say(&record(22, &[2, 0xff, 0xff, 0xff]))?;
                t.flood(&record(22, &[3; 4096]))
            },
        ),
        plan("tls-slow-hello", LATE, "A handshake message a byte at a time.", |t, _| {
            t.say(&record(22, &[2, 0x00, 0xff, 0xff]))?;
            loop {
                t.say(&record(22, &[3]))?;
                t.pause(crate::limits::HOSTILE_DRIP_EVERY)?;
            }
        }),
        plan("tls-empty-records", LATE, "Empty records without end.", |t, _| t.flood(&record(22, &[]))),
    ]
}
