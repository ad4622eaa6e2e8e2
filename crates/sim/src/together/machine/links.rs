//! Links: out of the outbox, and in from others' as `node::together::courier` takes them.

use super::super::part::Part;
use super::{ANSWER_WAIT, CRAWL, Machine, Message, Note, place_of};
use crate::chance::mix;
use crate::node::Out;
use crate::ring::slot_of;
use herodotus_frontier::Prospect;
use herodotus_links::end::{self, Phase, Welcome};
use herodotus_links::{BatchId, Planted, Prospect as Link, batch};
use std::rc::Rc;
use std::time::Duration;

impl Machine {
    /// `to` is nobody for a batch of our own.
    pub(super) fn answer(&mut self, now: Duration, to: Option<usize>, id: BatchId, is_taken: bool) {
        match (to, is_taken) {
            (Some(to), true) => {
                // Mostly it has nothing else to do.
                let work = Duration::from_secs(mix(self.seed ^ now.as_micros() as u64) % 40);
                let work = work.saturating_sub(Duration::from_secs(20));
                let message = Message::Ack { from: self.slot, id, work };
                self.out.push_back(Out::Send { to, message, after: Duration::ZERO });
            }
            (Some(to), false) => {
                self.out.push_back(Out::Send { to, message: Message::Refused { id }, after: Duration::ZERO });
            }
            (None, true) => self.outbox.handle_ack(now, id).expect("a disk in memory"),
            (None, false) => self.outbox.handle_refused(now, id),
        }
    }

    pub(super) fn receive(&mut self, now: Duration, from: Option<usize>, id: BatchId, bytes: &[u8]) {
        let Ok(batch) = batch::open(bytes) else {
            return self.out.push_back(Out::Note(Note::Broken("a batch of ours was refused".to_owned())));
        };
        match self.take(now, batch) {
            None => self.answer(now, from, id, false),
            Some(0) => self.answer(now, from, id, true),
            Some(_) if self.made_count <= self.handed_count => self.answer(now, from, id, true),
            Some(_) => self.acks.push((from, id, self.made_count)),
        }
    }

    /// Takes what is ours, and keeps the rest to send it on. How many were ours; nothing: ask again later.
    pub(super) fn take(&mut self, now: Duration, batch: batch::Batch) -> Option<usize> {
        let (wall, steps) = (self.wall(now), batch.steps);
        let prospects: Vec<Prospect> = batch.links.into_iter().filter_map(|(_, link)| link.open()).collect();
        let (phase, run) = self.body.order.as_ref().map_or((Phase::Unheard, 0), |order| (order.phase, order.run));
        let (mut taken, mut onward) = (0, Vec::new());
        match self.part.as_mut().filter(|_| phase != Phase::Complete) {
            Some(part) => {
                let strays = part.take_in(wall, &prospects);
                self.share(now);
                // Before the frontier: what it knows it does not tell again.
                if !self.is(Planted::RecordsUnsynced) {
                    self.body.made_synced = self.body.made.len();
                }
                self.part.as_mut().into_iter().for_each(Part::sync);
                if strays.iter().any(|stray| self.land.owns(place_of(stray.url.as_str()))) {
                    return None;
                }
                taken = prospects.len() - strays.len();
                onward = strays;
            }
            None => {
                let is_settled = |url: &str| self.body.ledger.get(url).is_some_and(|record| !record.is_open(run));
                for link in prospects {
                    match end::welcome(phase, is_settled(link.url.as_str())) {
                        Welcome::NotYet => return None,
                        Welcome::Rests => onward.push(link),
                        Welcome::Dropped => {}
                    }
                }
            }
        }
        for stray in &onward {
            let link = Link::from(stray);
            self.body.walked.insert(link.url.clone());
            self.outbox.forward(now, CRAWL, place_of(&link.url), link, steps).expect("room");
        }
        self.outbox.flush().expect("a disk in memory");
        Some(taken)
    }

    pub(super) fn send_links(&mut self, now: Duration) {
        let late: Vec<BatchId> = self.calls.iter().filter(|(_, due)| **due <= now).map(|(id, _)| *id).collect();
        for id in late {
            self.calls.remove(&id);
            self.outbox.handle_failed(now, id);
        }
        while let Some(send) = self.outbox.poll(now).expect("a disk in memory") {
            if send.to.key == self.contact.key {
                self.receive(now, None, send.id, &send.batch);
                continue;
            }
            self.calls.insert(send.id, now + ANSWER_WAIT);
            let message = Message::Batch { from: self.slot, id: send.id, bytes: Rc::new(send.batch) };
            self.out.push_back(Out::Send { to: slot_of(&send.to), message, after: Duration::ZERO });
        }
        while let Some(place) = self.outbox.poll_lookup(now) {
            self.out.push_back(Out::Note(Note::Lookup(place)));
        }
    }
}
