//! Whether the crawl is over: how our part stands, and everybody's, where the order is ours to look after.

use super::{Asking, CRAWL, Machine, Message, Note, WAVE_EVERY, WAVE_WAIT, order_place};
use crate::node::Out;
use crate::ring::contact_of;
use herodotus_links::end::{self, Phase, Wave};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

impl Machine {
    pub(super) fn status(&mut self, now: Duration) -> Option<end::Part> {
        self.run_part(now);
        let ground = self.ground();
        let part = self.part.as_ref()?;
        let arcs = ground.0.into_iter().filter(|_| self.adoption.answers_for(&CRAWL, &ground)).collect();
        Some(end::Part {
            version: part.version,
            is_idle: part.is_idle(),
            activity: part.activity,
            unsent: self.outbox.pending_of(&CRAWL),
            arcs,
        })
    }

    pub(super) fn watch(&mut self, now: Duration) {
        if let Some(asking) = &self.asking {
            if asking.due > now && !asking.waiting.is_empty() {
                return;
            }
            self.judge(now);
        }
        if self.next_wave > now {
            return;
        }
        self.next_wave = now + WAVE_EVERY;
        let is_running = self.order().is_some_and(|order| order.phase == Phase::Running);
        if !is_running || !self.land.owns(order_place()) {
            return self.watch.forget(&CRAWL);
        }
        let version = self.order().map_or(0, |order| order.edition.0);
        self.waves += 1;
        let wave = self.waves;
        let mut brought = Wave::default();
        match self.status(now) {
            Some(part) => _ = brought.parts.insert(self.contact.key, part),
            None => brought.silent += 1,
        }
        let waiting: BTreeSet<usize> = self.view.values().copied().filter(|slot| *slot != self.slot).collect();
        for to in &waiting {
            let message = Message::Part { from: self.slot, wave };
            // A connection may have to be made first: some are asked when others have answered long ago.
            let slow = if self.chance.happens(0.3) { WAVE_WAIT.as_millis() as usize / 2 } else { 1 };
            let after = Duration::from_millis(self.chance.between(0, slow) as u64);
            self.out.push_back(Out::Send { to: *to, message, after });
        }
        self.asking = Some(Asking { wave, version, due: now + WAVE_WAIT, waiting, brought });
        if self.asking.as_ref().is_some_and(|asking| asking.waiting.is_empty()) {
            self.judge(now);
        }
    }

    pub(super) fn judge(&mut self, now: Duration) {
        let Some(Asking { version, waiting, mut brought, .. }) = self.asking.take() else { return };
        brought.silent += waiting.len();
        let is_answered = |slot: &usize| brought.parts.contains_key(&contact_of(self.seed, *slot, 0).key);
        let answered: BTreeSet<usize> = self.view.values().copied().filter(is_answered).collect();
        let is_over = self.watch.handle_wave(CRAWL, version, brought);
        let known = self.order().map(|order| (order.edition.0, order.phase));
        if is_over && known == Some((version, Phase::Running)) {
            self.watch.forget(&CRAWL);
            let order = Rc::new(self.order().cloned().expect("it was there"));
            self.out.push_back(Out::Note(Note::Complete { order, answered }));
            self.say(now, Phase::Complete);
        }
    }
}
