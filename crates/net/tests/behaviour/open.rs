//! The open ring: anybody may speak, and nobody has a place that its address does not give it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use bytes::Bytes;
use herodotus_base::{Id, PeerKey};
use herodotus_net::{CallError, Claim, Limits, PlaceError, Refusal};
use std::net::SocketAddr;
use std::time::Duration;
use support::attacker::{self, Attacker, PROVE, ask, frame};
use support::{Machine, SOON};

fn claim(of: &str, index: u16, key: PeerKey, address: SocketAddr) -> Claim {
    Claim { id: Id::of_address(of.parse().unwrap(), index), key, index, address }
}

fn quick() -> Limits {
    Limits { dial_wait: Duration::from_secs(2), ..Limits::default() }
}

#[tokio::test]
async fn anybody_may_speak_who_knows_the_ring() {
    let one = Machine::open(1, quick()).await;
    let two = Machine::open(2, quick()).await;
    two.echo(&one, b"x").await.unwrap();
    let closed = Machine::owner(3, quick()).await;
    assert_eq!(closed.echo(&one, b"x").await, Err(CallError::Refused(Refusal::WrongRing)));
    // A list of revocations has no place here.
    assert!(one.endpoint.admission().revoke(two.key()).is_err());
    one.must_answer(&two).await;
}

#[tokio::test]
async fn a_machine_that_answers_at_its_address_has_its_place() {
    let one = Machine::open(1, quick()).await;
    let two = Machine::open(2, quick()).await;
    let at = two.address().direct[0];
    for index in 0..4 {
        one.endpoint.settle(&claim("127.0.0.2", index, two.key(), at), Some(at)).await.unwrap();
        // By hearsay too: it is dialled back.
        one.endpoint.settle(&claim("127.0.0.2", index, two.key(), at), None).await.unwrap();
    }
    // One's own.
    let mine = one.address().direct[0];
    one.endpoint.settle(&claim("127.0.0.1", 0, one.key(), mine), None).await.unwrap();
}

#[tokio::test]
async fn an_attacker_that_cannot_choose_its_address_cannot_choose_its_place() {
    let one = Machine::open(1, quick()).await;
    let attacker = Machine::open(2, quick()).await;
    let victim = Machine::open(3, quick()).await;
    let (at, theirs) = (attacker.address().direct[0], victim.address().direct[0]);
    let settle = async |claim: Claim, from| one.endpoint.settle(&claim, from).await;
    // The place of 127.0.0.3: with its own address, with the victim's, by hearsay, with the victim's port guessed.
    let error = settle(claim("127.0.0.3", 0, attacker.key(), at), Some(at)).await.unwrap_err();
    assert_eq!(error, PlaceError::NotItsOwn);
    let error = settle(claim("127.0.0.3", 0, attacker.key(), theirs), Some(at)).await.unwrap_err();
    assert!(matches!(error, PlaceError::Elsewhere { .. }), "{error}");
    let error = settle(claim("127.0.0.3", 0, attacker.key(), theirs), None).await.unwrap_err();
    assert!(matches!(error, PlaceError::Unproven { .. }), "{error}");
    // Although the attacker is known, connected and answers elsewhere.
    attacker.echo(&one, b"x").await.unwrap();
    settle(claim("127.0.0.2", 0, attacker.key(), at), Some(at)).await.unwrap();
    let error = settle(claim("127.0.0.3", 0, attacker.key(), theirs), None).await.unwrap_err();
    assert!(matches!(error, PlaceError::Unproven { .. }), "{error}");
    // An index that is none, and a thousand of them.
    for index in (4..1000).chain([u16::MAX]) {
        let error = settle(claim("127.0.0.2", index, attacker.key(), at), Some(at)).await.unwrap_err();
        assert_eq!(error, PlaceError::Index { index, max: 4 });
    }
    // The victim has lost nothing.
    settle(claim("127.0.0.3", 0, victim.key(), theirs), Some(theirs)).await.unwrap();
    one.must_answer(&victim).await;
}

#[tokio::test]
async fn many_keys_at_one_address_share_its_places() {
    let one = Machine::open(1, quick()).await;
    let mut crowd = Vec::new();
    for _ in 0..7 {
        crowd.push(Machine::open(2, quick()).await);
    }
    let mut got = 0;
    for machine in &crowd {
        let at = machine.address().direct[0];
        for index in 0..4 {
            match one.endpoint.settle(&claim("127.0.0.2", index, machine.key(), at), Some(at)).await {
                Ok(()) => got += 1,
                Err(PlaceError::Taken { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert_eq!(got, 4);
}

#[tokio::test]
async fn a_place_is_free_when_its_holder_no_longer_answers() {
    let one = Machine::open(1, quick()).await;
    let first = Machine::open(2, quick()).await;
    let second = Machine::open(2, quick()).await;
    let (at, then) = (first.address().direct[0], second.address().direct[0]);
    one.endpoint.settle(&claim("127.0.0.2", 1, first.key(), at), Some(at)).await.unwrap();
    let later = claim("127.0.0.2", 1, second.key(), then);
    assert_eq!(one.endpoint.settle(&later, Some(then)).await, Err(PlaceError::Taken { index: 1 }));
    first.endpoint.close().await;
    one.endpoint.settle(&later, Some(then)).await.unwrap();
    assert_eq!(one.endpoint.settle(&later, None).await, Ok(()));
}

#[tokio::test]
async fn a_key_that_is_elsewhere_or_nowhere_proves_nothing() {
    let one = Machine::open(1, quick()).await;
    let two = Machine::open(2, quick()).await;
    let three = Machine::open(3, quick()).await;
    // Somebody answers there, but another.
    let error = one.endpoint.prove(two.key(), three.address().direct[0]).await.unwrap_err();
    assert!(matches!(error, PlaceError::Unproven { .. }), "{error}");
    // Proven at one address, it is not proven at another.
    one.endpoint.prove(two.key(), two.address().direct[0]).await.unwrap();
    let error = one.endpoint.prove(two.key(), three.address().direct[0]).await.unwrap_err();
    assert!(matches!(error, PlaceError::Unproven { .. }), "{error}");
    let error = one.endpoint.prove(two.key(), "127.0.0.4:9".parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, PlaceError::Unproven { .. }), "{error}");
    // What was proven lately is not asked again.
    let (key, at) = (two.key(), two.address().direct[0]);
    two.endpoint.close().await;
    one.endpoint.prove(key, at).await.unwrap();
}

#[tokio::test]
async fn one_who_echoes_another_nonce_proves_nothing() {
    let one = Machine::open(1, quick()).await;
    let honest = Machine::open(2, quick()).await;
    let liar = Attacker::new(3).await;
    let (key, at) = (liar.key(), liar.address().direct[0]);
    let lying = tokio::spawn(async move {
        let conn = liar.iroh.accept().await.unwrap().await.unwrap();
        let (mut send, _recv) = conn.accept_bi().await.unwrap();
        send.write_all(&frame(6, 0, &[9; 32])).await.unwrap();
        let _ = send.finish();
        conn.closed().await;
    });
    let error = one.endpoint.prove(key, at).await.unwrap_err();
    assert!(matches!(error, PlaceError::Unproven { .. }), "{error}");
    tokio::time::timeout(SOON, lying).await.unwrap().unwrap();
    // A stranger's nonce comes back, and that is all it gets.
    let stranger = Attacker::new(4).await;
    let conn = stranger.connect(&one.address()).await;
    let (_, answer) = ask(&conn, &frame(PROVE, 0, &[5; 32])).await;
    assert_eq!((answer[0], &answer[1..]), (6, &[5; 32][..]));
    assert_eq!(attacker::closed_with(&conn).await, 0);
    let to = one.address();
    assert!(honest.endpoint.call(&to, support::ECHO, Bytes::new(), SOON).await.is_ok());
}
