//! Peers that mean harm (ten thousand dials of them are in `crowd.rs`). Each time the endpoint must be as well afterwards as before: it answers an honest peer.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use bytes::Bytes;
use herodotus_base::{Sha256, Timestamp};
use herodotus_net::{Address, CallError, Limits, Refusal, limits};
use std::net::UdpSocket;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use support::attacker::{
    self, ADMIT, ANSWER, Attacker, CALL, HELLO, NOTICE, PROVE, REVOCATIONS, ask, closed_with, frame,
};
use support::{ECHO, Machine, SOON, until};

const GARBAGE: u64 = 1;
const REFUSED: u64 = 2;
const REVOKED: u64 = 3;
const BANNED: u64 = 4;

/// A ring of two honest ones: the one that is attacked, and the one that asks how it is.
async fn two(limits: Limits) -> (Machine, Machine) {
    let one = Machine::owner(1, limits).await;
    let honest = Machine::join(&one, 2, Limits::default()).await;
    (one, honest)
}

fn quick() -> Limits {
    // Soon over, and enough for the honest on a busy machine.
    let wait = Duration::from_millis(1_500);
    Limits { hello_wait: wait, frame_wait: wait, ..Limits::default() }
}

#[tokio::test]
async fn a_member_of_another_ring_is_refused_and_remembered() {
    let (one, honest) = two(Limits::default()).await;
    let other = Machine::owner(3, Limits::default()).await;
    assert_eq!(other.echo(&one, b"x").await, Err(CallError::Refused(Refusal::WrongRing)));
    assert!(matches!(other.echo(&one, b"x").await, Err(CallError::Refused(Refusal::Banned(1..=5)))));
    assert!(one.endpoint.peers().iter().any(|peer| peer.key == other.key() && peer.banned_for.is_some()));
    // The other way round: it answers our hello with its own refusal.
    assert_eq!(honest.echo(&other, b"x").await, Err(CallError::Refused(Refusal::WrongRing)));
    assert_eq!(one.served.calls.load(SeqCst), 0);
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn a_pass_of_somebody_else_is_worth_nothing() {
    let (one, honest) = two(Limits::default()).await;
    let ring = one.endpoint.admission().ring();
    for (pass, why) in [(None, Refusal::NoPass), (Some(attacker::pass(&honest)), Refusal::BadPass)] {
        let thief = Attacker::new(3).await;
        let conn = thief.connect(&one.address()).await;
        let (_, answer) = ask(&conn, &attacker::hello(ring, pass.as_ref(), 0)).await;
        assert_eq!(attacker::refusal(&answer), why);
        assert_eq!(closed_with(&conn).await, REFUSED);
        // And it is remembered.
        let again = thief.try_connect(&one.address()).await;
        if let Some(conn) = again {
            assert_eq!(closed_with(&conn).await, BANNED);
        }
    }
    // With the name on it changed to the thief's own.
    let thief = Attacker::new(3).await;
    let mut forged = postcard::to_stdvec(&attacker::pass(&honest)).unwrap();
    let at = forged.windows(32).position(|window| window == honest.key().0).unwrap();
    forged[at..at + 32].copy_from_slice(&thief.key().0);
    let forged = postcard::from_bytes(&forged).unwrap();
    let conn = thief.connect(&one.address()).await;
    let (_, answer) = ask(&conn, &attacker::hello(ring, Some(&forged), 0)).await;
    assert_eq!(attacker::refusal(&answer), Refusal::BadPass);
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn a_hello_of_another_version_is_answered_and_not_held_against_anybody() {
    let (one, honest) = two(quick()).await;
    let newer = Attacker::new(3).await;
    for _ in 0..2 {
        let conn = newer.connect(&one.address()).await;
        let (_, answer) = ask(&conn, &frame(HELLO, 0, &[2, 1, 2, 3])).await;
        assert_eq!(attacker::refusal(&answer), Refusal::Version(1));
        conn.close(attacker::code(0), b"");
    }
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn nothing_is_served_before_a_hello() {
    let (one, honest) = two(quick()).await;
    for first in [frame(CALL, ECHO.0, b"x"), frame(ANSWER, 0, b"x"), frame(PROVE, 0, &[0; 32]), vec![0; 64]] {
        let stranger = Attacker::new(3).await;
        let conn = stranger.connect(&one.address()).await;
        let (_, answer) = ask(&conn, &first).await;
        assert!(answer.is_empty());
        assert_eq!(closed_with(&conn).await, GARBAGE);
    }
    assert_eq!(one.served.calls.load(SeqCst), 0);
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn one_who_never_says_hello_is_let_go_in_time() {
    let limits = Limits { handshakes_per_address_max: 4, ..quick() };
    let (one, honest) = two(limits).await;
    let silent = Attacker::new(3).await;
    let mut conns = Vec::new();
    for _ in 0..4 {
        conns.push(silent.connect(&one.address()).await);
    }
    // Half a hello is no better.
    let (mut send, _recv) = attacker::open(&conns[0]).await;
    send.write_all(&frame(HELLO, 0, &[0; 100])[..50]).await.unwrap();
    // The mat is full for this address, and for no other.
    assert!(silent.try_connect(&one.address()).await.is_none());
    one.must_answer(&honest).await;
    for conn in &conns {
        tokio::time::timeout(SOON, conn.closed()).await.unwrap();
    }
    assert!(silent.try_connect(&one.address()).await.is_some());
    assert!(one.endpoint.turned_away() > 0);
}

#[tokio::test]
async fn a_ticket_is_neither_replayed_nor_guessed_nor_stretched() {
    let (one, honest) = two(Limits::default()).await;
    let admission = one.endpoint.admission().clone();
    let now = Timestamp::now();
    let secret_of = |ticket: herodotus_net::Ticket| {
        let text = ticket.to_text().unwrap().to_ascii_uppercase();
        let bytes = data_encoding::BASE32_NOPAD.decode(&text.as_bytes()[4..]).unwrap();
        // The secret lies before the expiry and the check; the expiry is a varint.
        let at = bytes.len() - 4 - postcard::to_stdvec(&ticket.expires().millis()).unwrap().len();
        bytes[at - 32..at].to_vec()
    };
    let good = secret_of(admission.invite(one.address(), now, SOON).unwrap());
    let late = secret_of(admission.invite(one.address(), now, Duration::ZERO).unwrap());
    let first = Attacker::new(3).await;
    let (_, answer) = ask(&first.connect(&one.address()).await, &frame(ADMIT, 0, &good)).await;
    assert_eq!(answer[0], 3, "a pass: {answer:?}");
    let second = Attacker::new(4).await;
    for (secret, why) in
        [(&good, Refusal::TicketUsed), (&late, Refusal::TicketExpired), (&vec![0; 32], Refusal::TicketUnknown)]
    {
        let (_, answer) = ask(&second.connect(&one.address()).await, &frame(ADMIT, 0, secret)).await;
        assert_eq!(attacker::refusal(&answer), why);
    }
    // Guessing is remembered.
    until("remembered", || one.endpoint.peers().iter().any(|peer| peer.key == second.key())).await;
    assert_eq!(admission.invitations().iter().filter(|ticket| ticket.used_by().is_some()).count(), 2);
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn one_who_is_shut_out_is_dropped_in_the_middle_of_a_call() {
    let (one, honest) = two(Limits::default()).await;
    let member = Machine::join(&one, 3, Limits::default()).await;
    let (attacker, hello) = Attacker::from(member, 3).await;
    let conn = attacker.greet(&one.address(), &hello).await;
    let (mut send, _recv) = attacker::open(&conn).await;
    send.write_all(&frame(CALL, support::WAIT.0, b"x")).await.unwrap();
    send.finish().unwrap();
    until("the call is there", || one.served.calls.load(SeqCst) == 1).await;
    one.endpoint.admission().revoke(attacker.key()).unwrap();
    assert_eq!(closed_with(&conn).await, REVOKED);
    let conn = attacker.connect(&one.address()).await;
    let (_, answer) = ask(&conn, &hello).await;
    assert_eq!(attacker::refusal(&answer), Refusal::Revoked);
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn frames_that_break_a_rule_end_the_connection_and_are_remembered() {
    let (one, honest) = two(Limits::default()).await;
    let mut behind = frame(CALL, 1, b"x");
    behind.push(0);
    let mut half = frame(CALL, 1, b"0123456789");
    half.truncate(12);
    for bytes in [
        behind,
        // Half a frame and the end of the stream, which is not the same as silence.
        half,
        vec![1, CALL, 1],
        frame(99, 0, b""),
        frame(HELLO, 0, b""),
        vec![2, CALL, 1, 0, 0, 0, 0, 0],
        vec![1, CALL, 1, 7, 0, 0, 0, 0],
    ] {
        let member = Machine::join(&one, 3, Limits::default()).await;
        let (attacker, hello) = Attacker::from(member, 3).await;
        let conn = attacker.greet(&one.address(), &hello).await;
        let (_, answer) = ask(&conn, &bytes).await;
        assert!(answer.is_empty(), "{bytes:?}: {answer:?}");
        assert_eq!(closed_with(&conn).await, GARBAGE, "{bytes:?}");
        let banned = one.endpoint.peers();
        assert!(banned.iter().any(|peer| peer.key == attacker.key() && peer.banned_for.is_some()), "{bytes:?}");
    }
    assert_eq!(one.served.calls.load(SeqCst), 0);
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn an_oversized_frame_is_not_waited_for() {
    let (one, honest) = two(Limits::default()).await;
    for (form, over) in [(CALL, limits::CALL_BYTES_MAX + 1), (CALL, u32::MAX as usize), (19, (64 << 10) + 1)] {
        let member = Machine::join(&one, 3, Limits::default()).await;
        let (attacker, hello) = Attacker::from(member, 3).await;
        let conn = attacker.greet(&one.address(), &hello).await;
        let (mut send, _recv) = attacker::open(&conn).await;
        send.write_all(&[1, form, 1, 0]).await.unwrap();
        send.write_all(&u32::try_from(over).unwrap().to_be_bytes()).await.unwrap();
        // The stream stays open: the head alone is enough.
        assert_eq!(closed_with(&conn).await, GARBAGE);
    }
    // A stranger's too.
    let stranger = Attacker::new(3).await;
    let conn = stranger.connect(&one.address()).await;
    let (mut send, _recv) = attacker::open(&conn).await;
    send.write_all(&[1, HELLO, 0, 0, 0, 0, 0x40, 1]).await.unwrap();
    assert_eq!(closed_with(&conn).await, GARBAGE);
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn forged_revocations_shut_nobody_out() {
    let (one, honest) = two(Limits::default()).await;
    let other = Machine::owner(4, Limits::default()).await;
    other.endpoint.admission().revoke(honest.key()).unwrap();
    let list = postcard::to_stdvec(&*other.endpoint.admission().revocations().unwrap()).unwrap();
    let mut renamed = list.clone();
    renamed[..32].copy_from_slice(&one.endpoint.admission().ring().0);
    for body in [list, renamed] {
        let member = Machine::join(&one, 3, Limits::default()).await;
        let (attacker, hello) = Attacker::from(member, 3).await;
        let conn = attacker.greet(&one.address(), &hello).await;
        let mut send = conn.open_uni().await.unwrap();
        send.write_all(&frame(REVOCATIONS, 0, &body)).await.unwrap();
        send.finish().unwrap();
        assert_eq!(closed_with(&conn).await, GARBAGE);
    }
    assert!(!one.endpoint.admission().is_revoked(&honest.key()));
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn half_a_frame_and_silence_ends_in_time_and_takes_no_more_than_its_stream() {
    let limits = Limits { streams_max: 4, held_bytes_max: 2 << 20, ..quick() };
    let (one, honest) = two(limits).await;
    let member = Machine::join(&one, 3, Limits::default()).await;
    let (attacker, hello) = Attacker::from(member, 3).await;
    let conn = attacker.greet(&one.address(), &hello).await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        // A megabyte is announced, some bytes come.
        let (mut send, recv) = attacker::open(&conn).await;
        send.write_all(&[1, CALL, 1, 0, 0, 0x10, 0, 0]).await.unwrap();
        send.write_all(&[0; 3000]).await.unwrap();
        streams.push((send, recv));
    }
    // What they hold is given back in time, and the honest one's large call goes through.
    let largest = Bytes::from(vec![1; limits::CALL_BYTES_MAX]);
    let answered = tokio::time::timeout(SOON, async {
        loop {
            match honest.endpoint.call(&one.address(), ECHO, largest.clone(), SOON).await {
                Err(CallError::Refused(Refusal::Busy)) => tokio::time::sleep(Duration::from_millis(20)).await,
                other => break other,
            }
        }
    });
    assert_eq!(answered.await.unwrap().unwrap(), largest);
    for (send, _) in &streams {
        tokio::time::timeout(SOON, send.stopped()).await.unwrap().unwrap();
    }
    // Slow is no crime: the connection stands, and when the peer lets go of its streams it has them again.
    drop(streams);
    assert!(conn.close_reason().is_none());
    let (_, answer) = ask(&conn, &frame(CALL, ECHO.0, b"x")).await;
    assert_eq!(answer, [ANSWER, b'x']);
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn a_thousand_frames_of_random_bytes_do_no_harm() {
    // Garbage is forgiven at once, so that there can be much of it.
    let limits = Limits { ban_first: Duration::ZERO, ..Limits::default() };
    let (one, honest) = two(limits).await;
    let member = Machine::join(&one, 3, Limits::default()).await;
    let (attacker, hello) = Attacker::from(member, 3).await;
    // Always the same thousand.
    let bytes_of = |n: usize| {
        let piece = |at: usize| Sha256::of(&[n.to_be_bytes(), at.to_be_bytes()].concat()).0;
        let mut bytes: Vec<u8> = (0..10).flat_map(piece).collect();
        bytes.truncate(usize::from(piece(99)[0]) + n % 64);
        // Most begin as a frame does, so that they get further than the first byte.
        if !n.is_multiple_of(4) && bytes.len() >= 8 {
            let length = u32::try_from(bytes.len() - 8).unwrap().to_be_bytes();
            let forms = [1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19];
            bytes[..4].copy_from_slice(&[1, forms[n % forms.len()], 0, 0]);
            bytes[4..8].copy_from_slice(&length);
        }
        bytes
    };
    let mut conn = None;
    for n in 0..1_000 {
        let bytes = bytes_of(n);
        if n % 10 == 0 {
            // To a stranger's ear.
            let stranger = attacker.connect(&one.address()).await;
            let _ = ask(&stranger, &bytes).await;
            stranger.close(attacker::code(0), b"");
            continue;
        }
        let is_open = conn.as_ref().is_some_and(|conn: &iroh::endpoint::Connection| conn.close_reason().is_none());
        if !is_open {
            conn = Some(attacker.greet(&one.address(), &hello).await);
        }
        let conn = conn.as_ref().unwrap();
        if n % 3 == 0 {
            if let Ok(mut send) = conn.open_uni().await {
                let _ = send.write_all(&bytes).await;
                let _ = send.finish();
            }
        } else {
            let _ = ask(conn, &bytes).await;
        }
    }
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn one_who_never_reads_holds_its_share_and_not_for_ever() {
    let limits = Limits {
        answer_wait: Duration::from_millis(500),
        held_bytes_max: 10 << 20,
        held_per_peer_bytes_max: 8 << 20,
        ..Limits::default()
    };
    let (one, honest) = two(limits).await;
    let member = Machine::join(&one, 3, Limits::default()).await;
    let (attacker, hello) = Attacker::from(member, 3).await;
    let conn = attacker.greet(&one.address(), &hello).await;
    let large = |n: u8| frame(CALL, ECHO.0, &vec![n; limits::CALL_BYTES_MAX]);
    let (stop, stopped) = tokio::sync::watch::channel(false);
    for n in 0..32u8 {
        let (mut send, recv) = attacker::open(&conn).await;
        let mut stopped = stopped.clone();
        tokio::spawn(async move {
            let hold = async {
                let _ = send.write_all(&large(n)).await;
                let _ = send.finish();
                // Neither read nor let go.
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = hold => {}
                _ = stopped.changed() => {}
            }
            // Given up, as a call is that takes too long: half a frame that ends in good order would be garbage.
            let _ = send.reset(0u8.into());
            drop(recv);
        });
    }
    // Others are served all the while.
    let largest = Bytes::from(vec![1; limits::CALL_BYTES_MAX]);
    for _ in 0..5 {
        let answer = honest.endpoint.call(&one.address(), ECHO, largest.clone(), SOON).await;
        assert_eq!(answer.unwrap(), largest);
    }
    // More than was its share is refused.
    let of_attacker = || one.endpoint.peers().into_iter().find(|peer| peer.key == attacker.key());
    until("some are refused", || of_attacker().is_some_and(|peer| peer.refused > 0)).await;
    // What it held is given back although it neither reads nor lets go: there is room for another.
    let again = tokio::time::timeout(SOON, async { while ask(&conn, &large(0)).await.1.first() != Some(&ANSWER) {} });
    again.await.unwrap();
    let _ = stop.send(true);
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn large_calls_of_one_peer_wait_for_their_share_of_memory() {
    let limits = Limits { held_bytes_max: 8 << 20, held_per_peer_bytes_max: 2 << 20, ..Limits::default() };
    let (one, honest) = two(limits.clone()).await;
    let greedy = Machine::join(&one, 3, limits).await;
    let largest = Bytes::from(vec![1; limits::CALL_BYTES_MAX]);
    let mut calls = Vec::new();
    for _ in 0..8 {
        let (endpoint, to, largest) = (greedy.endpoint.clone(), one.address(), largest.clone());
        calls.push(tokio::spawn(async move { endpoint.call(&to, support::WAIT, largest, SOON).await }));
    }
    until("two are there", || one.served.at_once.load(SeqCst) == 2).await;
    // Small calls need no leave, and others have their own share.
    assert!(greedy.echo(&one, b"small").await.is_ok());
    assert!(honest.endpoint.call(&one.address(), ECHO, largest, SOON).await.is_ok());
    assert!(one.served.at_once_max.load(SeqCst) <= 3);
    // One that does not keep count itself is refused.
    let (attacker, hello) = Attacker::from(Machine::join(&one, 4, Limits::default()).await, 4).await;
    let conn = attacker.greet(&one.address(), &hello).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let (mut send, recv) = attacker::open(&conn).await;
        send.write_all(&[1, CALL, 1, 0, 0, 0x10, 0, 0, 1]).await.unwrap();
        kept.push((send, recv));
    }
    let refused =
        async { while ask(&conn, &frame(CALL, ECHO.0, &[1; 100_000])).await.1.first() != Some(&attacker::REFUSAL) {} };
    tokio::time::timeout(SOON, refused).await.unwrap();
    drop(kept);
    one.served.go.add_permits(8);
    for call in calls {
        call.await.unwrap().unwrap();
    }
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn a_flood_of_calls_over_the_rate_waits_and_is_then_refused() {
    let limits =
        Limits { calls_per_s: 10, calls_burst: 50, rate_wait_max: Duration::from_millis(300), ..Limits::default() };
    let (one, honest) = two(limits).await;
    let member = Machine::join(&one, 3, Limits::default()).await;
    let mut calls = Vec::new();
    for _ in 0..500 {
        let (endpoint, to) = (member.endpoint.clone(), one.address());
        calls.push(tokio::spawn(async move { endpoint.call(&to, ECHO, Bytes::new(), SOON).await }));
    }
    let mut busy = 0;
    for call in calls {
        match call.await.unwrap() {
            Ok(_) => {}
            Err(CallError::Refused(Refusal::Busy)) => busy += 1,
            Err(other) => panic!("{other}"),
        }
    }
    let served = one.served.calls.load(SeqCst);
    assert_eq!(served + busy, 500);
    // The burst, and what the bucket took in while all this went on.
    assert!((50..400).contains(&served), "{served}");
    let status = one.endpoint.peers().into_iter().find(|peer| peer.key == member.key()).unwrap();
    assert_eq!(status.refused, busy);
    // A new connection is no new allowance.
    let (attacker, hello) = Attacker::from(member, 3).await;
    let conn = attacker.greet(&one.address(), &hello).await;
    // Fewer than the burst: were it a new one, all would be served.
    let asked: Vec<_> = (0..45)
        .map(|_| {
            let conn = conn.clone();
            tokio::spawn(async move { ask(&conn, &frame(CALL, ECHO.0, b"")).await.1[0] })
        })
        .collect();
    let mut refused = 0;
    for asked in asked {
        refused += u32::from(asked.await.unwrap() == attacker::REFUSAL);
    }
    assert!(refused > 0);
    let notices = async {
        for _ in 0..100 {
            let mut send = conn.open_uni().await.unwrap();
            send.write_all(&frame(NOTICE, 1, b"")).await.unwrap();
            send.finish().unwrap();
        }
    };
    tokio::time::timeout(SOON, notices).await.unwrap();
    until("notices are refused", || {
        one.endpoint.peers().iter().any(|peer| peer.key == attacker.key() && peer.refused > u64::from(refused))
    })
    .await;
    one.must_answer(&honest).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_first_packets_and_of_handshakes_that_go_nowhere_are_turned_away_at_the_door() {
    let limits = Limits { handshakes_max: 32, handshakes_per_address_max: 16, accepted_per_address_max: 24, ..quick() };
    let (one, honest) = two(limits).await;
    one.must_answer(&honest).await;
    // One who has a pass and comes in the middle of it.
    let late = Machine::join(&one, 5, Limits::default()).await;
    // First packets of handshakes that never go on, caught from real dials that went nowhere, and sent from other addresses.
    let trap = UdpSocket::bind("127.0.0.9:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let nowhere = Address { direct: vec![trap.local_addr().unwrap()], ..one.address() };
    let dialler = std::sync::Arc::new(Attacker::new(9).await);
    let mut dials = Vec::new();
    for _ in 0..300 {
        let (dialler, nowhere) = (dialler.clone(), nowhere.clone());
        dials.push(tokio::spawn(async move { dialler.try_connect(&nowhere).await.is_some() }));
    }
    let mut caught: Vec<Vec<u8>> = Vec::new();
    let mut packet = vec![0; 2000];
    until("packets are caught", || {
        while let Ok(bytes) = trap.recv(&mut packet) {
            caught.push(packet[..bytes].to_vec());
        }
        caught.len() >= 300
    })
    .await;
    dials.iter().for_each(|dial| dial.abort());
    let there = one.address().direct[0];
    let mut sent = 0;
    for round in 0..27u8 {
        let from = UdpSocket::bind(format!("127.0.1.{}:0", round + 1)).unwrap();
        for packet in caught.iter().take(350) {
            sent += usize::from(from.send_to(packet, there).is_ok());
        }
        tokio::task::yield_now().await;
    }
    assert!(sent >= 8_000, "{sent}");
    // And whole handshakes, held without a word, from a few addresses.
    let mut held = Vec::new();
    for last in 10..14 {
        let attacker = std::sync::Arc::new(Attacker::new(last).await);
        let mut batch = Vec::new();
        for _ in 0..100 {
            let (attacker, to) = (attacker.clone(), one.address());
            batch.push(tokio::spawn(async move {
                let conn = attacker.try_connect(&to).await;
                (attacker, conn)
            }));
        }
        held.extend(batch);
    }
    until("some are turned away", || one.endpoint.turned_away() > 0).await;
    // The one who is in stays in.
    one.must_answer(&honest).await;
    held.iter().for_each(|held| held.abort());
    // And the door opens again: a newcomer gets in as soon as the strangers' time is up.
    let getting_in = tokio::time::timeout(SOON, async {
        while late.echo(&one, b"x").await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    getting_in.await.unwrap();
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn a_dialled_peer_that_answers_with_garbage_is_dropped_and_not_dialled_for_a_while() {
    let (one, honest) = two(quick()).await;
    let ring = one.endpoint.admission().ring();
    // Answers to a hello, and then to a call.
    let garbage: [(Vec<u8>, Option<Vec<u8>>); 4] = [
        (vec![0; 100], None),
        (attacker::hello(ring, None, 0), None),
        (Vec::new(), Some(vec![1, ANSWER, 0, 0, 0xff, 0, 0, 0])),
        (Vec::new(), Some(frame(HELLO, 0, b"again?"))),
    ];
    for (to_hello, to_call) in garbage {
        let member = Machine::join(&one, 3, Limits::default()).await;
        let (liar, hello) = Attacker::from(member, 3).await;
        let to = liar.address();
        let key = liar.key();
        let lying = tokio::spawn(async move {
            let conn = liar.iroh.accept().await.unwrap().await.unwrap();
            let (mut send, _recv) = conn.accept_bi().await.unwrap();
            let first = if to_call.is_some() { &hello } else { &to_hello };
            send.write_all(first).await.unwrap();
            let _ = send.finish();
            if let Some(bytes) = to_call {
                let (mut send, mut recv) = conn.accept_bi().await.unwrap();
                let _ = recv.read_to_end(1000).await;
                send.write_all(&bytes).await.unwrap();
                let _ = send.finish();
            }
            conn.closed().await;
        });
        let error = one.endpoint.call(&to, ECHO, Bytes::new(), SOON).await.unwrap_err();
        assert!(matches!(error, CallError::Garbage { .. } | CallError::Stranger { .. }), "{error}");
        let error = one.endpoint.call(&to, ECHO, Bytes::new(), SOON).await.unwrap_err();
        assert!(matches!(error, CallError::Banned { peer, .. } if peer == key), "{error}");
        tokio::time::timeout(SOON, lying).await.unwrap().unwrap();
    }
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn a_dialled_peer_that_says_nothing_costs_a_time_limit() {
    let (one, honest) = two(quick()).await;
    let silent = Attacker::new(3).await;
    let to = silent.address();
    let accepting = tokio::spawn(async move {
        let conn = silent.iroh.accept().await.unwrap().await.unwrap();
        conn.closed().await;
    });
    let error = one.endpoint.call(&to, ECHO, Bytes::new(), SOON).await.unwrap_err();
    assert!(matches!(error, CallError::Unreachable { .. }), "{error}");
    tokio::time::timeout(SOON, accepting).await.unwrap().unwrap();
    one.must_answer(&honest).await;
}

#[tokio::test]
async fn an_address_of_somebody_else_does_not_keep_us_from_a_peer() {
    let (one, honest) = two(Limits::default()).await;
    for _ in 0..5 {
        let peer = Machine::join(&one, 3, Limits::default()).await;
        // Somebody says that it is where another is.
        let wrong = Address { direct: honest.address().direct, ..peer.address() };
        let error = one.endpoint.call(&wrong, ECHO, Bytes::new(), SOON).await.unwrap_err();
        assert!(matches!(error, CallError::Unreachable { .. }), "{error}");
        let both = Address { direct: [wrong.direct, peer.address().direct].concat(), ..peer.address() };
        one.endpoint.call(&both, ECHO, Bytes::new(), SOON).await.unwrap();
        peer.endpoint.call(&one.address(), ECHO, Bytes::new(), SOON).await.unwrap();
    }
    one.must_answer(&honest).await;
}
