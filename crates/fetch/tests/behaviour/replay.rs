//! What another machine fetched reaches the receiver as what we fetch ourselves does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::common;

use common::{Record, Server, ask};
use flate2::{Compression, write::GzEncoder};
use herodotus_fetch::{Caps, Fetcher, Replay, Truncated};
use std::io::Write;

fn gzipped_in_chunks(text: &[u8], chunk: usize) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(text).unwrap();
    let mut answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for piece in packer.finish().unwrap().chunks(chunk) {
        answer.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        answer.extend_from_slice(piece);
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

async fn replay(
    head: &[u8],
    wire: &[u8],
    piece: usize,
    caps: Caps,
    of: &herodotus_fetch::Exchange,
) -> (Record, herodotus_fetch::Exchange) {
    let mut record = Record::default();
    let mut replay = Replay::new(head, caps, &mut record).unwrap();
    for piece in wire.chunks(piece) {
        replay.push(piece).await.unwrap();
    }
    let exchange = replay.finish(of.clone());
    (record, exchange)
}

#[tokio::test]
async fn a_replayed_response_is_what_a_fetched_one_is() {
    let text: Vec<u8> = (0..20_000_u32).flat_map(|n| n.to_string().into_bytes()).collect();
    let server = Server::closing(gzipped_in_chunks(&text, 700)).await;
    let (fetched, here) = server.get(server.config()).await;
    let fetched = fetched.unwrap();
    // Elsewhere nothing is decoded.
    let mut there = Record { wants_no_content: true, ..Record::default() };
    let fetcher = Fetcher::new(server.config()).unwrap();
    let made = fetcher.fetch(&ask("http://a.test/"), &mut there).await.unwrap();
    assert_eq!(here.content, text);
    for piece in [1, 7, 4096, usize::MAX] {
        let (record, exchange) = replay(&there.head, &there.wire, piece, Caps::default(), &made).await;
        assert_eq!((&record.head, &record.wire, &record.content), (&here.head, &here.wire, &here.content), "{piece}");
        assert_eq!((exchange.wire_bytes, exchange.content_bytes), (fetched.wire_bytes, fetched.content_bytes));
        assert_eq!((exchange.status, exchange.truncated, exchange.coding_error), (200, None, None));
    }
    // Our caps hold, whoever fetched it.
    let caps = Caps { wire_bytes: 100, ..Caps::default() };
    let (record, exchange) = replay(&there.head, &there.wire, 64, caps, &made).await;
    assert_eq!((record.wire.len(), exchange.truncated), (100, Some(Truncated::Length { cap: 100 })));
    let caps = Caps { decoded_bytes: 50, ..Caps::default() };
    let (record, exchange) = replay(&there.head, &there.wire, 64, caps, &made).await;
    assert_eq!((record.content.len(), exchange.truncated), (50, Some(Truncated::Decoded { cap: 50 })));
}

#[tokio::test]
async fn a_round_trip_is_measured_only_to_where_we_may_go() {
    let server = Server::closing("").await;
    let fetcher = Fetcher::new(server.config()).unwrap();
    assert!(fetcher.round_trip(&ask("http://a.test/").url).await.is_ok());
    let shy = Fetcher::new(herodotus_fetch::Config { allow_private: Vec::new(), ..server.config() }).unwrap();
    let refused = shy.round_trip(&ask("http://a.test/").url).await.unwrap_err();
    assert_eq!(refused.code(), "forbidden_address");
}
