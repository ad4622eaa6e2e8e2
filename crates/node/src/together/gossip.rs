//! Orders, told from machine to machine: every now and then one asks another what it knows better, and both take the later.
//!
//! What one machine knows all know after some log2(N) rounds, whoever dies meanwhile; nobody is asked more often than anybody else.

use super::wire::{Ask, Bytes, Reply};
use super::{Inner, Order, Result, TogetherError};
use herodotus_ledger::{CrawlId, Record, open_bundle, pack_bundle};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(1);
/// Bytes of orders in one call.
const BUNDLE_BYTES_MAX: usize = 800 << 10;

pub(super) async fn run(inner: Arc<Inner>) {
    if inner.copies.ring().joined().await.is_err() {
        return;
    }
    let mut turn = 0_usize;
    loop {
        let machines = inner.copies.machines().await.unwrap_or_default();
        if !machines.is_empty() {
            // A successor and somebody far away in turns, so that news goes round and across.
            let step = turn.wrapping_mul(0x9e37_79b9) % machines.len();
            let _ = exchange(&inner, &machines[step]).await;
        }
        turn += 1;
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = inner.wake.notified() => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn exchange(inner: &Arc<Inner>, with: &herodotus_ring::Contact) -> Result<()> {
    let known = inner.orders().values().map(|order| (order.id().0, order.version, order.digest())).collect();
    let Reply::Crawls { newer, wanted } = inner.ask(with, &Ask::Crawls { known }).await? else {
        return Err(TogetherError::Odd("an answer to another question"));
    };
    learn(inner, &newer.0)?;
    if !wanted.is_empty() {
        let bundle = bundle_of(inner, |order| wanted.contains(&order.id().0))?;
        inner.ask(with, &Ask::Learn { bundle }).await?;
    }
    Ok(())
}

/// What we know better than somebody, and what that one knows better than we.
pub(super) fn answer(inner: &Inner, known: &[([u8; 16], u64, u64)]) -> Result<Reply> {
    let theirs: BTreeMap<[u8; 16], (u64, u64)> =
        known.iter().map(|(id, version, digest)| (*id, (*version, *digest))).collect();
    // Two machines may have made a version of the same number: then both are told, and the same one counts for both.
    let newer = bundle_of(inner, |order| {
        let same = Some(&(order.version, order.digest()));
        theirs.get(&order.id().0).is_none_or(|known| known.0 <= order.version && Some(known) != same)
    })?;
    let orders = inner.orders();
    let is_behind = |id: &[u8; 16], known: &(u64, u64)| {
        let ours = orders.get(&CrawlId(*id)).map(|order| (order.version, order.digest()));
        ours.is_none_or(|ours| ours.0 <= known.0 && ours != *known)
    };
    let wanted = theirs.iter().filter(|(id, known)| is_behind(id, known)).map(|(id, _)| *id).collect();
    Ok(Reply::Crawls { newer, wanted })
}

fn bundle_of(inner: &Inner, is_wanted: impl Fn(&Order) -> bool) -> Result<Bytes> {
    let orders = inner.orders();
    let records: Vec<Record> =
        orders.values().filter(|order| is_wanted(order)).map(Order::record).collect::<Result<_>>()?;
    Ok(Bytes(pack_bundle(&records, BUNDLE_BYTES_MAX)?.0))
}

pub(super) fn learn(inner: &Inner, bundle: &[u8]) -> Result<()> {
    for record in open_bundle(bundle)? {
        if let Some(order) = Order::of_record(&record) {
            inner.learn(order);
        }
    }
    Ok(())
}
