//! Every kind of message as the first version of this program wrote it, kept for ever: `golden/<kind>.hex`, one message in hexadecimal. Two
//! versions that disagree here cannot speak with each other. `cargo test -p herodotus-ring --test behaviour golden:: -- --ignored` writes the
//! files anew, which is only right before a form was ever released.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use herodotus_base::{Id, PeerKey};
use herodotus_ring::{Answer, Body, Contact, Envelope, Found, Neighbours, Notice, Question};
use std::path::PathBuf;

fn path(kind: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{kind}.hex"))
}

fn contact(n: u8) -> Contact {
    let addresses = [format!("192.0.2.{n}:4480"), format!("[2001:db8::{n}]:4480")].map(|text| text.parse().unwrap());
    Contact::of_key(PeerKey([n; 32]), u16::from(n) * 3, addresses[..usize::from(n % 3)].to_vec())
}

fn neighbours() -> Neighbours {
    Neighbours { predecessor: Some(contact(2)), successors: vec![contact(3), contact(4)], is_whole: true }
}

/// One of every kind.
fn messages() -> Vec<(&'static str, Envelope)> {
    let found = Found { neighbours: neighbours(), nearer: vec![contact(5)] };
    let bodies = [
        ("ask_neighbours", Body::Ask(Question::Neighbours { known: 0x0123_4567_89ab_cdef })),
        ("ask_find", Body::Ask(Question::Find { key: Id::small(200) })),
        ("ask_leaving", Body::Ask(Question::Leaving { neighbours: neighbours() })),
        ("answer_neighbours", Body::Answer(Answer::Neighbours(neighbours()))),
        ("answer_same", Body::Answer(Answer::Same)),
        ("answer_found", Body::Answer(Answer::Found(found))),
        ("answer_noted", Body::Answer(Answer::Noted)),
        ("answer_outside", Body::Answer(Answer::Outside)),
        ("tell_here", Body::Tell(Notice::Here)),
        ("tell_meet", Body::Tell(Notice::Meet { contact: contact(5) })),
    ];
    let envelope = |body| Envelope { to: contact(1).id, from: contact(2), nonce: 300, is_member: true, body };
    bodies.into_iter().map(|(kind, body)| (kind, envelope(body))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// A kind that is added must be added here, or this does not compile.
fn is_covered(body: &Body) {
    match body {
        Body::Ask(Question::Neighbours { .. } | Question::Find { .. } | Question::Leaving { .. })
        | Body::Answer(Answer::Neighbours(_) | Answer::Same | Answer::Found(_) | Answer::Noted | Answer::Outside)
        | Body::Tell(Notice::Here | Notice::Meet { .. }) => {}
    }
}

#[test]
fn every_message_is_written_and_read_as_the_first_version_did() {
    for (kind, envelope) in messages() {
        is_covered(&envelope.body);
        let golden = std::fs::read_to_string(path(kind)).unwrap();
        assert_eq!(hex(&postcard::to_stdvec(&envelope).unwrap()), golden.trim(), "{kind}");
        assert_eq!(postcard::from_bytes::<Envelope>(&unhex(golden.trim())).unwrap(), envelope, "{kind}");
    }
}

#[test]
fn a_digest_of_neighbours_is_what_the_golden_one_was() {
    // Old and new nodes compare them: `Same` must mean the same to both.
    assert_eq!(Neighbours::default().digest(), 0x96a2_96d2_24f2_85c6);
    assert_eq!(neighbours().digest(), 0x754e_0028_be35_c831);
}

#[test]
fn a_message_cut_short_or_changed_is_an_error_or_another_message() {
    for (_, envelope) in messages() {
        let bytes = postcard::to_stdvec(&envelope).unwrap();
        for end in 0..bytes.len() {
            assert!(postcard::from_bytes::<Envelope>(&bytes[..end]).is_err());
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[at] ^= 1 << bit;
                assert_ne!(postcard::from_bytes::<Envelope>(&other).ok(), Some(envelope.clone()));
            }
        }
    }
}

#[test]
#[ignore = "writes the golden files"]
fn write() {
    for (kind, envelope) in messages() {
        std::fs::write(path(kind), hex(&postcard::to_stdvec(&envelope).unwrap()) + "\n").unwrap();
    }
}
