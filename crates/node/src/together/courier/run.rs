//! The outbox at work: it is told what is known of the ring, and what it wants sent or looked up is done.

use super::super::wire::{Ask, Bytes, Reply};
use super::super::{Inner, Result, TogetherError, lock};
use super::{Courier, take};
use crate::ring::Neighbourhood;
use herodotus_base::{Id, PeerKey};
use herodotus_links::{BatchId, Send};
use herodotus_net::CallError;
use herodotus_ring::Contact;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::task::JoinSet;

/// Who takes links answers when they lie on enough disks, which may wait for a machine that has just died. Less than `links::limits::ACK_WAIT`.
const TAKE_WAIT: Duration = Duration::from_secs(30);
/// How often those who may walk with links are gathered anew; the ring's own news come at once.
const SURVEY_EVERY: Duration = Duration::from_secs(15);
/// The outbox is not asked sooner again than this, whatever it says.
const PAUSE_MIN: Duration = Duration::from_millis(5);
/// After the disk has failed.
const RETRY: Duration = Duration::from_secs(1);

/// What the outbox wants done.
#[derive(Debug, Default)]
struct Work {
    sends: Vec<Send>,
    lookups: Vec<Id>,
    due: Option<Duration>,
}

/// What became of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// By one who has work for so long.
    Taken(Duration),
    /// Ask the same one again.
    NotYet,
    Lost,
}

/// Brings what there is, as long as there is any.
pub(in super::super) async fn run(inner: Arc<Inner>) {
    if inner.copies.ring().joined().await.is_err() {
        return;
    }
    tokio::spawn(survey(inner.clone()));
    let mut under_way = JoinSet::new();
    loop {
        let worker = inner.clone();
        let Ok(work) = tokio::task::spawn_blocking(move || worker.courier.work(worker.now())).await else { return };
        for send in work.sends {
            under_way.spawn(deliver(inner.clone(), send));
        }
        for place in work.lookups {
            under_way.spawn(look_up(inner.clone(), place));
        }
        let pause = work.due.map(|due| due.saturating_sub(inner.now()).max(PAUSE_MIN));
        tokio::select! {
            () = tokio::time::sleep(pause.unwrap_or(SURVEY_EVERY)) => {}
            () = inner.courier.wake.notified() => {}
            Some(_) = under_way.join_next(), if !under_way.is_empty() => {}
        }
    }
}

/// Tells the outbox what is known of the ring, whenever it changes and every now and then.
async fn survey(inner: Arc<Inner>) {
    let mut neighbourhood = inner.copies.ring().neighbourhood();
    loop {
        let now = neighbourhood.borrow_and_update().clone();
        inner.courier.learn(&now, inner.now());
        let machines = inner.copies.machines().await.unwrap_or_default();
        let near = now.nodes.iter().flat_map(|seat| seat.successors.iter().cloned()).chain(machines);
        lock(&inner.courier.outbox).learn_near(&near.collect::<Vec<_>>());
        tokio::select! {
            changed = neighbourhood.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(SURVEY_EVERY) => {}
        }
    }
}

impl Courier {
    /// Our own arcs, and those of the nodes that follow ours: no question is needed for them.
    fn learn(&self, neighbourhood: &Neighbourhood, now: Duration) {
        let mut outbox = lock(&self.outbox);
        let own: Vec<(Contact, (Id, Id))> =
            neighbourhood.nodes.iter().map(|seat| (seat.contact.clone(), seat.arc)).collect();
        outbox.set_own(&own);
        for seat in &neighbourhood.nodes {
            let mut from = seat.contact.id;
            for contact in &seat.successors {
                if contact.id != from {
                    outbox.learn_owner(now, (from, contact.id), contact.clone());
                }
                from = contact.id;
            }
        }
        drop(outbox);
        self.wake.notify_one();
    }

    fn work(&self, now: Duration) -> Work {
        let mut outbox = lock(&self.outbox);
        let mut work = Work::default();
        self.weigh(&outbox);
        loop {
            match outbox.poll(now) {
                Ok(Some(send)) => work.sends.push(send),
                Ok(None) => break,
                Err(error) => {
                    eprintln!("links wait, since they cannot be read: {error}");
                    work.due = Some(now + RETRY);
                    return work;
                }
            }
        }
        work.lookups.extend(std::iter::from_fn(|| outbox.poll_lookup(now)));
        work.due = outbox.poll_timeout();
        work
    }

    fn settle(&self, now: Duration, id: BatchId, to: PeerKey, fate: Fate) {
        let mut outbox = lock(&self.outbox);
        match fate {
            Fate::Taken(work) => {
                outbox.handle_work(now, to, work);
                if let Err(error) = outbox.handle_ack(now, id) {
                    eprintln!("links that have arrived are sent again: {error}");
                }
            }
            Fate::NotYet => outbox.handle_refused(now, id),
            Fate::Lost => outbox.handle_failed(now, id),
        }
        self.weigh(&outbox);
    }
}

async fn deliver(inner: Arc<Inner>, send: Send) {
    let (id, links, to) = (send.id, send.links as u64, send.to.key);
    let fate = if to == inner.copies.machine() {
        // It has become ours.
        match tokio::time::timeout(TAKE_WAIT, take(&inner, &send.batch, true)).await {
            Ok(Ok(Some(work))) => Fate::Taken(work),
            _ => Fate::NotYet,
        }
    } else {
        let fate = call(&inner, send).await;
        if matches!(fate, Fate::Taken(_)) {
            inner.courier.counters.sent.fetch_add(links, Relaxed);
        }
        fate
    };
    let _ = tokio::task::spawn_blocking(move || inner.courier.settle(inner.now(), id, to, fate)).await;
}

async fn call(inner: &Inner, send: Send) -> Fate {
    let batch_bytes = send.batch.len();
    let ask = Ask::Links { batch: Bytes(send.batch) };
    let (reply, sizes) = inner.ask_counting(&send.to, &ask, TAKE_WAIT).await;
    inner.courier.counters.called(batch_bytes, sizes.0, sizes.1);
    fate_of(&reply)
}

fn fate_of(reply: &Result<Reply>) -> Fate {
    match reply {
        Ok(Reply::TakenWith { work_ms }) => Fate::Taken(Duration::from_millis((*work_ms).into())),
        // An older machine.
        Ok(Reply::Taken) => Fate::Taken(Duration::ZERO),
        // It is there, and somebody else would be no better.
        Ok(_) | Err(TogetherError::Call(CallError::Refused(_) | CallError::TimedOut { .. })) => Fate::NotYet,
        Err(_) => Fate::Lost,
    }
}

async fn look_up(inner: Arc<Inner>, place: Id) {
    // The outbox has a memory of its own: it asks since that does not know, or was wrong.
    inner.copies.forget_owner(place);
    let found = tokio::time::timeout(TAKE_WAIT, inner.copies.owner_of(place)).await;
    let now = inner.now();
    let mut outbox = lock(&inner.courier.outbox);
    match found {
        Ok(Ok((owner, arc))) => outbox.learn_owner(now, arc, owner),
        _ => outbox.handle_lookup_failed(now, place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herodotus_net::Refusal;

    #[test]
    fn only_a_machine_that_is_silent_is_given_up_for_another() {
        let lost = CallError::Lost { peer: PeerKey([1; 32]), what: "gone".to_owned() };
        assert_eq!(fate_of(&Ok(Reply::Taken)), Fate::Taken(Duration::ZERO));
        assert_eq!(fate_of(&Ok(Reply::TakenWith { work_ms: 70 })), Fate::Taken(Duration::from_millis(70)));
        assert_eq!(fate_of(&Ok(Reply::NotNow)), Fate::NotYet);
        assert_eq!(fate_of(&Ok(Reply::Learnt)), Fate::NotYet, "an answer to another question");
        assert_eq!(fate_of(&Err(TogetherError::Call(CallError::Refused(Refusal::Busy)))), Fate::NotYet);
        assert_eq!(fate_of(&Err(TogetherError::Call(lost))), Fate::Lost);
    }
}
