//! What is known of URLs: made here, handed on to others, heard from others.

use super::{FOLLOWERS, Handing, KEEP_WAIT, Machine, Message, Note, note, owner_of, place_of};
use crate::node::Out;
use herodotus_base::Id;
use herodotus_frontier::UrlRecord;
use std::rc::Rc;
use std::time::Duration;

impl Machine {
    pub(super) fn make(&mut self, records: Vec<UrlRecord>) {
        for record in records {
            note(&mut self.body.ledger, &record);
            self.body.made.push_back(record);
            self.made_count += 1;
        }
    }

    /// Others brought records.
    pub fn hear(&mut self, now: Duration, records: &[UrlRecord]) {
        records.iter().for_each(|record| note(&mut self.body.ledger, record));
        let wall = self.wall(now);
        match &mut self.part {
            Some(part) => part.adopt(wall, records),
            None => self.look_for_work(now),
        }
        self.work(now);
    }

    /// Who is to hold a record: those who follow its owner, and the owner if that is another.
    pub(super) fn holders(&self, place: Id) -> Vec<usize> {
        let mut holders = Vec::new();
        let mut at = place;
        for _ in 0..=FOLLOWERS {
            let Some((slot, arc)) = owner_of(&self.view, at) else { break };
            if !holders.contains(&slot) {
                holders.push(slot);
            }
            at = arc.1.plus_power(0);
        }
        holders.retain(|slot| *slot != self.slot);
        holders.truncate(FOLLOWERS);
        holders
    }

    pub(super) fn hand_on(&mut self, now: Duration) {
        if self.handing.as_ref().is_some_and(|handing| handing.due > now) {
            return;
        }
        let Some(first) = self.body.made.front() else { return };
        let holders = self.holders(place_of(first.url.as_str()));
        let is_same = |record: &&UrlRecord| self.holders(place_of(record.url.as_str())) == holders;
        let records: Vec<UrlRecord> = self.body.made.iter().take_while(is_same).cloned().collect();
        self.handing_last += 1;
        let number = self.handing_last;
        self.handing = Some(Handing { number, records: records.len(), due: now + KEEP_WAIT });
        let records = Rc::new(records);
        if holders.is_empty() {
            // Alone in the ring.
            self.out.push_back(Out::Note(Note::Recorded { maker: self.slot, records }));
            return self.handed(now, number);
        }
        for to in holders {
            let message = Message::Keep { from: self.slot, number, records: records.clone() };
            self.out.push_back(Out::Send { to, message, after: Duration::ZERO });
        }
    }

    pub(super) fn handed(&mut self, now: Duration, number: u64) {
        let Some(handing) = self.handing.take_if(|handing| handing.number == number) else { return };
        self.handed_count += handing.records as u64;
        self.body.made.drain(..handing.records);
        self.body.made_synced = self.body.made_synced.saturating_sub(handing.records);
        let handed = self.handed_count;
        let (ready, waiting): (Vec<_>, Vec<_>) = self.acks.drain(..).partition(|(_, _, needs)| *needs <= handed);
        self.acks = waiting;
        for (to, id, _) in ready {
            self.answer(now, to, id, true);
        }
        self.hand_on(now);
    }
}
