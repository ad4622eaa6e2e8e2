//! Everything that travels or lies on a disk, in the bytes that the first version wrote, kept for ever: `tests/golden/*.hex`.
//! `cargo test -p herodotus-net --lib golden -- --ignored` writes them anew, which is only right before a form was released.

use crate::address::{Address, Kind};
use crate::error::Refusal;
use crate::frame::{Admit, Form, Head, Hello, Nonce, decode, encode, encode_as};
use crate::identity::admission::{CHARTER, INVITATIONS, OWNER, PASS, REVOCATIONS};
use crate::identity::invitation::Invitations;
use crate::identity::{Charter, Draft, Pass, Revocations, RingId, Ticket, file};
use crate::limits;
use data_encoding::HEXLOWER;
use herodotus_base::{PeerKey, Timestamp};
use iroh::SecretKey;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.hex"))
}

fn read(name: &str) -> Vec<u8> {
    let text = std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    HEXLOWER.decode(text.split_whitespace().collect::<String>().as_bytes()).unwrap()
}

fn owner() -> SecretKey {
    SecretKey::from_bytes(&[1; 32])
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis_clamped(ms)
}

fn key() -> PeerKey {
    PeerKey([2; 32])
}

fn charter() -> Charter {
    charter_of(false)
}

fn charter_of(is_by_url: bool) -> Charter {
    let draft = Draft { name: "letters", r: 16, copies: 6, is_by_url };
    Charter::closed(&owner(), draft, at(1_700_000_000_000)).unwrap()
}

fn open_by_url() -> Charter {
    let draft = Draft { name: "everybody", r: 16, copies: 6, is_by_url: true };
    Charter::open(draft, 4, at(1_700_000_000_000)).unwrap()
}

fn ring() -> RingId {
    charter().ring().unwrap()
}

fn pass() -> Pass {
    Pass::sign(&owner(), ring(), key(), 3, at(1_700_000_001_000)).unwrap()
}

fn revocations() -> Revocations {
    Revocations::sign(&owner(), ring(), 5, vec![PeerKey([8; 32]), PeerKey([9; 32])]).unwrap()
}

fn hello() -> Hello {
    Hello { version: 1, ring: ring(), pass: Some(pass()), revocations_serial: 5 }
}

fn invitations() -> Invitations {
    let mut all = Invitations { serial: 2, list: Vec::new() };
    all.add(&[6; 32], at(0), at(60_000)).unwrap();
    all.add(&[7; 32], at(0), at(60_000)).unwrap();
    all.redeem(at(1), key(), &[7; 32], |_| Ok(pass())).unwrap().unwrap();
    all
}

fn ticket() -> Ticket {
    let issuer = Address::new(key(), ["192.0.2.7:4433".parse().unwrap(), "[2001:db8::1]:4433".parse().unwrap()]);
    Ticket::new(charter(), issuer, Some([7; 32]), at(1_700_000_060_000)).unwrap()
}

fn refusals() -> Vec<Refusal> {
    vec![
        Refusal::Version(1),
        Refusal::WrongRing,
        Refusal::NoPass,
        Refusal::BadPass,
        Refusal::Revoked,
        Refusal::TicketExpired,
        Refusal::TicketUsed,
        Refusal::TicketUnknown,
        Refusal::Busy,
        Refusal::Banned(77),
        Refusal::UnknownKind(9),
        Refusal::Service("not today".into()),
        Refusal::Closing,
    ]
}

/// A frame whose body is the caller's.
fn payload(form: Form) -> Vec<u8> {
    let mut bytes = Head { form, kind: Kind(if form == Form::Answer { 0 } else { 9 }), bytes: 4 }.to_bytes().to_vec();
    bytes.extend_from_slice(b"body");
    bytes
}

fn written() -> Vec<(&'static str, Vec<u8>)> {
    let mut all = vec![
        ("frame-hello", encode(&hello()).unwrap().to_vec()),
        ("frame-admit", encode(&Admit { secret: [7; 32] }).unwrap().to_vec()),
        ("frame-pass", encode(&pass()).unwrap().to_vec()),
        ("frame-revocations", encode(&revocations()).unwrap().to_vec()),
        ("frame-prove", encode(&Nonce([4; 32])).unwrap().to_vec()),
        ("frame-echo", encode_as(Form::Echo, &Nonce([4; 32])).unwrap().to_vec()),
        ("frame-call", payload(Form::Call)),
        ("frame-answer", payload(Form::Answer)),
        ("frame-notice", payload(Form::Notice)),
        ("frame-stream", payload(Form::Stream)),
        ("file-charter", file::to_bytes(CHARTER, &charter()).unwrap()),
        ("file-charter-by-url", file::to_bytes(CHARTER, &charter_of(true)).unwrap()),
        ("file-charter-open-by-url", file::to_bytes(CHARTER, &open_by_url()).unwrap()),
        ("file-owner", file::to_bytes(OWNER, &owner().to_bytes()).unwrap()),
        ("file-pass", file::to_bytes(PASS, &pass()).unwrap()),
        ("file-revocations", file::to_bytes(REVOCATIONS, &revocations()).unwrap()),
        ("file-invitations", file::to_bytes(INVITATIONS, &invitations()).unwrap()),
        ("ticket", ticket().to_text().unwrap().into_bytes()),
        ("ring", ring().0.to_vec()),
    ];
    let refusals = refusals().iter().flat_map(|refusal| encode(refusal).unwrap().to_vec()).collect();
    all.push(("frame-refusals", refusals));
    all
}

#[test]
#[ignore = "writes the golden files"]
fn golden_files_are_written() {
    for (name, bytes) in written() {
        let lines: Vec<_> = bytes.chunks(32).map(|line| HEXLOWER.encode(line)).collect();
        std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        std::fs::write(path(name), lines.join("\n") + "\n").unwrap();
    }
}

#[test]
fn what_we_write_is_what_the_first_version_wrote() {
    for (name, bytes) in written() {
        assert_eq!(HEXLOWER.encode(&read(name)), HEXLOWER.encode(&bytes), "{name}");
    }
}

fn framed<T: crate::frame::Body + PartialEq + Debug>(name: &str, expected: &T) {
    let bytes = read(name);
    let (head, body) = bytes.split_first_chunk::<{ limits::HEAD_BYTES }>().unwrap();
    let head = Head::parse(head).unwrap();
    assert_eq!((head.form, head.bytes), (T::FORM, body.len()), "{name}");
    assert_eq!(&decode::<T>(body).unwrap(), expected, "{name}");
}

#[test]
fn what_the_first_version_wrote_is_read() {
    framed("frame-hello", &hello());
    framed("frame-pass", &pass());
    framed("frame-revocations", &revocations());
    framed("frame-prove", &Nonce([4; 32]));
    let mut bytes = &read("frame-refusals")[..];
    for expected in refusals() {
        let (head, rest) = bytes.split_first_chunk::<{ limits::HEAD_BYTES }>().unwrap();
        let (body, rest) = rest.split_at(Head::parse(head).unwrap().bytes);
        assert_eq!(decode::<Refusal>(body).unwrap(), expected);
        bytes = rest;
    }
    assert!(bytes.is_empty());
    let here = Path::new("here");
    assert_eq!(file::from_bytes::<Charter>(here, CHARTER, &read("file-charter")).unwrap(), charter());
    assert!(!charter().terms().is_by_url);
    let by_url: Charter = file::from_bytes(here, CHARTER, &read("file-charter-by-url")).unwrap();
    assert_eq!(by_url, charter_of(true));
    by_url.check().unwrap();
    assert_ne!(by_url.ring().unwrap(), ring());
    let by_url: Charter = file::from_bytes(here, CHARTER, &read("file-charter-open-by-url")).unwrap();
    assert_eq!(by_url, open_by_url());
    by_url.check().unwrap();
    assert_eq!(file::from_bytes::<[u8; 32]>(here, OWNER, &read("file-owner")).unwrap(), [1; 32]);
    assert_eq!(file::from_bytes::<Pass>(here, PASS, &read("file-pass")).unwrap(), pass());
    let list: Revocations = file::from_bytes(here, REVOCATIONS, &read("file-revocations")).unwrap();
    assert_eq!(list, revocations());
    let all: Invitations = file::from_bytes(here, INVITATIONS, &read("file-invitations")).unwrap();
    assert_eq!(all, invitations());
    let text = String::from_utf8(read("ticket")).unwrap();
    assert_eq!(text.parse::<Ticket>().unwrap(), ticket());
    assert_eq!(text.parse::<Ticket>().unwrap().secret, Some([7; 32]));
}
