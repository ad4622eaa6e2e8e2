//! Honest peers: calls, notices, streams, shared dials, eviction, closing, joining and being shut out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use bytes::Bytes;
use herodotus_base::Timestamp;
use herodotus_net::{Address, Admission, CallError, Endpoint, Kind, Limits, NetError, Refusal, Settings, Side, join};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use support::{ECHO, LONG, Machine, SOON, WAIT, WORDS, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn a_call_is_answered_and_the_caller_is_known_by_key_and_address() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    assert_eq!(two.echo(&one, b"hello").await.unwrap(), &b"hello"[..]);
    let caller = one.served.callers.lock().unwrap()[0];
    assert_eq!(caller.key, two.key());
    assert_eq!(caller.address, Some(two.address().direct[0]));
    // Back over the same connection.
    assert_eq!(one.echo(&two, b"").await.unwrap(), &b""[..]);
    let peers = one.endpoint.peers();
    assert_eq!((peers.len(), peers[0].side), (1, Some(Side::Accepted)));
    assert!(peers[0].bytes_in > 0 && peers[0].bytes_out > 0 && peers[0].round_trip.is_some());
    let largest = Bytes::from(vec![1; herodotus_net::limits::CALL_BYTES_MAX]);
    let answer = two.endpoint.call(&one.address(), ECHO, largest.clone(), SOON).await;
    assert_eq!(answer.unwrap(), largest);
}

#[tokio::test]
async fn what_cannot_be_is_refused_in_words() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    let call = async |kind, payload: Vec<u8>| two.endpoint.call(&one.address(), kind, payload.into(), SOON).await;
    assert_eq!(call(WORDS, vec![]).await, Err(CallError::Refused(Refusal::Service("not today".into()))));
    assert_eq!(call(Kind(99), vec![]).await, Err(CallError::Refused(Refusal::UnknownKind(99))));
    assert!(matches!(call(LONG, vec![1]).await, Err(CallError::Refused(Refusal::Service(_)))));
    assert!(matches!(call(ECHO, vec![0; (1 << 20) + 1]).await, Err(CallError::Ours(_))));
    assert!(matches!(one.echo(&one, b"me").await, Err(CallError::Ours(_))));
    let nobody = Address::new(support::key_of([9; 32]), []);
    assert!(matches!(one.endpoint.call(&nobody, ECHO, Bytes::new(), SOON).await, Err(CallError::Unreachable { .. })));
    one.must_answer(&two).await;
}

#[tokio::test]
async fn a_call_ends_in_time_and_the_connection_stays() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    one.must_answer(&two).await;
    let late = two.endpoint.call(&one.address(), WAIT, Bytes::new(), Duration::from_millis(50)).await;
    assert!(matches!(late, Err(CallError::TimedOut { .. })), "{late:?}");
    one.served.go.add_permits(1);
    one.must_answer(&two).await;
    assert_eq!(two.endpoint.peers().len(), 1);
    assert_eq!(one.endpoint.peers().len(), 1);
}

#[tokio::test]
async fn nobody_at_an_address_is_an_error_within_the_dials_time() {
    let limits = Limits { dial_wait: Duration::from_millis(300), ..Limits::default() };
    let one = Machine::owner(1, limits).await;
    let nobody = Address::new(support::key_of([9; 32]), ["127.0.0.9:9".parse().unwrap()]);
    let error = one.endpoint.call(&nobody, ECHO, Bytes::new(), SOON).await.unwrap_err();
    assert!(matches!(error, CallError::Unreachable { .. }), "{error}");
    // Another key than the one that was asked for is nobody too.
    let two = Machine::join(&one, 2, Limits::default()).await;
    let wrong = Address { key: support::key_of([9; 32]), ..two.address() };
    let error = one.endpoint.call(&wrong, ECHO, Bytes::new(), SOON).await.unwrap_err();
    assert!(matches!(error, CallError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn notices_arrive_without_an_answer() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    two.endpoint.send(&one.address(), Kind(7), Bytes::from_static(b"news")).await.unwrap();
    until("the notice arrives", || !one.served.notices.lock().unwrap().is_empty()).await;
    let (from, kind, payload) = one.served.notices.lock().unwrap()[0].clone();
    assert_eq!((from.key, kind, &payload[..]), (two.key(), Kind(7), &b"news"[..]));
}

#[tokio::test]
async fn a_stream_carries_bulk_both_ways() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    let stream = two.endpoint.stream(&one.address(), ECHO, Bytes::from_static(b"head")).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let bulk: Vec<u8> = (0..8_000_000u32).map(|n| n.to_le_bytes()[n as usize % 3]).collect();
    let sent = bulk.clone();
    let sending = tokio::spawn(async move {
        writer.write_all(&sent).await.unwrap();
        writer.shutdown().await.unwrap();
    });
    let mut got = Vec::new();
    reader.read_to_end(&mut got).await.unwrap();
    sending.await.unwrap();
    assert_eq!(&got[..4], b"head");
    assert!(got[4..] == bulk);
}

#[tokio::test]
async fn a_stream_that_was_given_up_is_an_error_and_not_an_end() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    let mut stream = two.endpoint.stream(&one.address(), WORDS, Bytes::new()).await.unwrap();
    stream.write_all(b"x").await.unwrap();
    let mut got = Vec::new();
    assert!(stream.read_to_end(&mut got).await.is_err());
    one.must_answer(&two).await;
}

#[tokio::test]
async fn a_stream_that_nobody_reads_fails_in_time() {
    let limits = Limits { stream_silence_max: Duration::from_millis(200), ..Limits::default() };
    let one = Machine::owner(1, limits).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    let stream = two.endpoint.stream(&one.address(), LONG, Bytes::new()).await.unwrap();
    until("the writer gives up", || !one.served.notices.lock().unwrap().is_empty()).await;
    assert!(String::from_utf8_lossy(&one.served.notices.lock().unwrap()[0].2).contains("nothing has moved"));
    one.must_answer(&two).await;
    drop(stream);
}

#[tokio::test]
async fn dials_at_once_are_one_connection() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (endpoint, to) = (two.endpoint.clone(), one.address());
            tokio::spawn(async move { endpoint.call(&to, ECHO, Bytes::new(), SOON).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(two.endpoint.peers().len(), 1);
    assert_eq!(one.endpoint.peers().len(), 1);
    assert_eq!(one.served.calls.load(SeqCst), 50);
}

#[tokio::test]
async fn both_dialling_at_once_can_both_call() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    let (a, b) = tokio::join!(one.echo(&two, b"a"), two.echo(&one, b"b"));
    assert_eq!((a.unwrap(), b.unwrap()), (Bytes::from_static(b"a"), Bytes::from_static(b"b")));
}

#[tokio::test]
async fn the_least_recently_used_connection_makes_room() {
    let limits = Limits { dialled_max: 2, ..Limits::default() };
    let one = Machine::owner(1, limits).await;
    let mut others = Vec::new();
    for last in 2..5 {
        others.push(Machine::join(&one, last, Limits::default()).await);
    }
    for other in &others[..2] {
        one.echo(other, b"x").await.unwrap();
    }
    // So that the times of use differ.
    tokio::time::sleep(Duration::from_millis(20)).await;
    one.echo(&others[0], b"x").await.unwrap();
    one.echo(&others[2], b"x").await.unwrap();
    let connected = || one.endpoint.peers().iter().map(|peer| peer.key).collect::<Vec<_>>();
    let mut expected = vec![others[0].key(), others[2].key()];
    expected.sort();
    assert_eq!(connected(), expected);
    // And who made room is dialled again when it is wanted.
    one.echo(&others[1], b"x").await.unwrap();
    assert_eq!(connected().len(), 2);
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_used_one_is_not() {
    let limits = Limits { connection_idle: Duration::from_millis(300), ..Limits::default() };
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, limits).await;
    let waiting = {
        let (endpoint, to) = (two.endpoint.clone(), one.address());
        tokio::spawn(async move { endpoint.call(&to, WAIT, Bytes::new(), SOON).await })
    };
    until("the call is there", || one.served.calls.load(SeqCst) == 1).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    one.served.go.add_permits(1);
    waiting.await.unwrap().unwrap();
    until("it is closed", || two.endpoint.peers().is_empty() && one.endpoint.peers().is_empty()).await;
    one.must_answer(&two).await;
}

#[tokio::test]
async fn closing_ends_what_is_under_way_on_both_sides() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    let there = one.address();
    let call = {
        let (endpoint, to) = (two.endpoint.clone(), there.clone());
        tokio::spawn(async move { endpoint.call(&to, WAIT, Bytes::new(), SOON).await })
    };
    until("the call is there", || one.served.calls.load(SeqCst) == 1).await;
    one.endpoint.close().await;
    assert_eq!(call.await.unwrap(), Err(CallError::Refused(Refusal::Closing)));
    assert_eq!(one.echo(&two, b"x").await, Err(CallError::Closed));
    two.endpoint.close().await;
    assert_eq!(two.endpoint.call(&there, ECHO, Bytes::new(), SOON).await, Err(CallError::Closed));
}

#[tokio::test]
async fn a_machine_that_was_restarted_is_found_again_under_its_key() {
    let limits = Limits { dial_wait: Duration::from_secs(5), ..Limits::default() };
    let one = Machine::owner(1, limits.clone()).await;
    let two = Machine::join(&one, 2, limits).await;
    one.must_answer(&two).await;
    let port = two.address().direct[0];
    let (settings, dir) = (two.settings.clone(), two.dir.clone());
    two.endpoint.close().await;
    until("the port is free", || std::net::UdpSocket::bind(port).is_ok()).await;
    let admission = Arc::new(Admission::open(&dir, two.key()).unwrap().unwrap());
    let settings = Settings { listen: vec![port], ..settings };
    let again = Endpoint::bind(settings, admission, Arc::new(support::Served::default())).await.unwrap();
    assert_eq!(again.key(), two.key());
    one.endpoint.call(&again.address(), ECHO, Bytes::new(), SOON).await.unwrap();
    again.call(&one.address(), ECHO, Bytes::new(), SOON).await.unwrap();
}

#[tokio::test]
async fn a_ticket_works_once_and_for_its_key_again() {
    let one = Machine::owner(1, Limits::default()).await;
    let now = Timestamp::now();
    let ticket = one.endpoint.admission().invite(one.address(), now, SOON).unwrap();
    let (first, second) = (support::settings(2, Limits::default()), support::settings(3, Limits::default()));
    let dirs: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    join(&first, &ticket, dirs[0].path(), now).await.unwrap();
    let error = join(&second, &ticket, dirs[1].path(), now).await.unwrap_err();
    assert!(matches!(error, NetError::Join(CallError::Refused(Refusal::TicketUsed))), "{error}");
    // The answer was lost, say.
    join(&first, &ticket, dirs[2].path(), now).await.unwrap();
    assert_eq!(one.endpoint.admission().invitations()[0].used_by(), Some(support::key_of(first.secret)));
    let stale = one.endpoint.admission().invite(one.address(), Timestamp::default(), Duration::ZERO).unwrap();
    let error = join(&second, &stale, dirs[3].path(), Timestamp::MIN).await.unwrap_err();
    assert!(matches!(error, NetError::Join(CallError::Refused(Refusal::TicketExpired))), "{error}");
}

#[tokio::test]
async fn whoever_is_shut_out_is_dropped_by_all_who_hear_of_it() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    let three = Machine::join(&one, 3, Limits::default()).await;
    // The owner is connected to 2 only, 2 to 3: the news must travel.
    two.echo(&one, b"x").await.unwrap();
    three.echo(&two, b"x").await.unwrap();
    let four = Machine::join(&one, 4, Limits::default()).await;
    four.echo(&three, b"x").await.unwrap();
    one.endpoint.admission().revoke(four.key()).unwrap();
    until("three has heard", || three.endpoint.admission().is_revoked(&four.key())).await;
    until("four is dropped", || three.endpoint.peers().iter().all(|peer| peer.key != four.key())).await;
    let error = four.echo(&three, b"x").await.unwrap_err();
    assert_eq!(error, CallError::Refused(Refusal::Revoked));
    let error = three.echo(&four, b"x").await.unwrap_err();
    assert!(matches!(error, CallError::Stranger { why: Refusal::Revoked, .. }), "{error}");
    three.must_answer(&two).await;
    // One who was away hears of it with the next hello, from whoever it greets.
    let five = Machine::join(&one, 5, Limits::default()).await;
    assert!(!five.endpoint.admission().is_revoked(&four.key()));
    five.echo(&three, b"x").await.unwrap();
    assert!(five.endpoint.admission().is_revoked(&four.key()));
}

#[tokio::test]
async fn the_side_that_was_dialled_hears_of_revocations_too() {
    let one = Machine::owner(1, Limits::default()).await;
    let two = Machine::join(&one, 2, Limits::default()).await;
    let gone = support::key_of([9; 32]);
    one.endpoint.admission().revoke(gone).unwrap();
    one.echo(&two, b"x").await.unwrap();
    assert!(two.endpoint.admission().is_revoked(&gone));
}

#[tokio::test]
async fn a_peer_that_was_killed_and_started_anew_is_dialled_again_soon() {
    let one = Machine::owner(1, Limits::default()).await;
    let now = Timestamp::now();
    let ticket = one.endpoint.admission().invite(one.address(), now, SOON).unwrap();
    let (settings, kept) = (support::settings(2, Limits::default()), tempfile::tempdir().unwrap());
    let dir = kept.path().join("ring");
    let key = join(&settings, &ticket, &dir, now).await.unwrap().machine();
    // A runtime of its own, which ends without a word to anybody, as a killed process does.
    let start = |listen| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let admission = Arc::new(Admission::open(&dir, key).unwrap().unwrap());
        let settings = Settings { listen: vec![listen], ..settings.clone() };
        let bound = runtime.spawn(Endpoint::bind(settings, admission, Arc::new(support::Served::default())));
        async move { (runtime, bound.await.unwrap().unwrap()) }
    };
    let (runtime, endpoint) = start("127.0.0.2:0".parse().unwrap()).await;
    let to = endpoint.address();
    one.endpoint.call(&to, ECHO, Bytes::new(), SOON).await.unwrap();
    runtime.shutdown_background();
    drop(endpoint);
    until("the port is free", || std::net::UdpSocket::bind(to.direct[0]).is_ok()).await;
    let (runtime, endpoint) = start(to.direct[0]).await;
    // Sooner than the transport gives up, which takes it 15 s.
    let mut answered = false;
    for _ in 0..12 {
        let within = Duration::from_millis(500);
        answered |= one.endpoint.call(&to, ECHO, Bytes::new(), within).await.is_ok();
    }
    assert!(answered);
    // And once more: now it calls first, and what it comes with is what we answer over.
    runtime.shutdown_background();
    drop(endpoint);
    until("the port is free", || std::net::UdpSocket::bind(to.direct[0]).is_ok()).await;
    let (runtime, endpoint) = start(to.direct[0]).await;
    let (calling, there) = (endpoint.clone(), one.address());
    let called = runtime.spawn(async move { calling.call(&there, ECHO, Bytes::new(), SOON).await });
    called.await.unwrap().unwrap();
    one.endpoint.call(&to, ECHO, Bytes::new(), Duration::from_secs(3)).await.unwrap();
    endpoint.close().await;
    runtime.shutdown_background();
}
