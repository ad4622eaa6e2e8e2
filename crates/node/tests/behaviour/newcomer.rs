//! A machine that has just started is on the ring before its store is open.

use crate::machines::{COPIES, COUNT_OF_A, COUNTED_NONE, asking};
use bytes::Bytes;
use herodotus_net::{CallError, Draft};
use herodotus_node::Indexer;
use herodotus_node::copies::{Copies, CopiesSettings};
use herodotus_node::ring::{RingNode, RingSettings, create, membership};
use herodotus_store::Store;
use std::time::Duration;

/// Neighbours who are told "not yet" come back seconds later, and a ring of machines that start together takes as many more to settle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_asks_a_machine_that_opens_its_store_waits_for_the_answer() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("opening");
    std::fs::create_dir(&data).unwrap();
    create(&data, Draft { name: "test", r: 8, copies: 2, is_by_url: false }, false).unwrap();
    let settings = RingSettings { listen: vec!["127.0.0.171:0".parse().unwrap()], ..RingSettings::default() };
    let ring = RingNode::start(&data, membership(&data).unwrap().unwrap(), &settings, true).await.unwrap();
    let (asking, ticket) = asking(dir.path(), 172, &ring).await;
    let ask = async |within| asking.call(ticket.issuer(), COPIES, Bytes::from_static(COUNT_OF_A), within).await;
    let not_yet = ask(Duration::from_millis(500)).await;
    assert!(matches!(not_yet, Err(CallError::TimedOut { .. })), "it is refused: {not_yet:?}");

    let opening = async {
        let (ring, data) = (ring.clone(), data.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let store = Store::open(&data).unwrap().0;
            let indexer = Indexer::start(&data, &store).unwrap();
            (Copies::start(ring, store, indexer.catalogue(), CopiesSettings::default()).unwrap(), indexer)
        });
        opened.await.unwrap()
    };
    let (answer, _opened) = tokio::join!(ask(Duration::from_secs(30)), opening);
    assert_eq!(answer.unwrap(), COUNTED_NONE);
    asking.close().await;
}
