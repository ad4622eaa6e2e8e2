//! What `node::together::part` does: the part is begun, changed and ended by its order, and takes over what is known of what becomes ours.

use super::super::part::Part;
use super::{Adopting, CRAWL, LOOK_EVERY, Machine, Note, place_of};
use crate::node::Out;
use herodotus_frontier::UrlRecord;
use herodotus_links::end::Phase;
use herodotus_links::{Planted, Prospect as Link};
use std::time::Duration;

impl Machine {
    /// The supervisor: parts are begun, changed and ended, and take over what is known.
    pub(super) fn look(&mut self, now: Duration) {
        if self.adopting.as_ref().is_some_and(|adopting| adopting.due > now) || self.next_look > now {
            return;
        }
        if let Some(adopting) = self.adopting.take() {
            self.adopt(now);
            self.adoption.handle_ground(adopting.ground, self.part.iter().map(|_| CRAWL));
        }
        self.next_look = now + LOOK_EVERY;
        let has_begun = self.begin_and_end(now);
        self.release();
        let ground = self.ground();
        let is_current = self.adoption.is_of(&ground);
        if is_current && !has_begun {
            return;
        }
        let wall = self.wall(now);
        if !is_current && let Some(part) = &mut self.part {
            part.look_again(wall);
            if !self.config.planted.is(Planted::SeedsOnce)
                && let Some(order) = &self.body.order
            {
                part.take_seeds(wall, order);
            }
        }
        if self.is(Planted::AnswersEarly) {
            self.adoption.handle_ground(ground, self.part.iter().map(|_| CRAWL));
        }
        // A large ledger takes long.
        let longest = if self.chance.happens(0.3) { 20_000 } else { 3_000 };
        let takes = Duration::from_millis(self.chance.between(5, longest) as u64);
        self.adopting = Some(Adopting { ground, due: now + self.adopts_for.unwrap_or(takes) });
    }

    /// Whether a part was begun.
    pub(super) fn begin_and_end(&mut self, now: Duration) -> bool {
        let (Some(order), wall) = (self.body.order.clone(), self.wall(now)) else { return false };
        let part = self.part.as_ref().map(|part| (part.version, part.run));
        match (order.phase, part) {
            (Phase::Running, None) => {
                let disk = std::mem::take(&mut self.body.frontier);
                let first = if self.is(Planted::LivesAlike) { 0 } else { self.chance.draw() >> 1 };
                let land = self.land.clone();
                self.part = Some(Part::open(disk, &order, land, first, wall));
                self.share(now);
                return true;
            }
            (Phase::Running, Some((_, run))) if run != order.run => self.end_part(now),
            (Phase::Running, Some((version, _))) if version != order.edition.0 => {
                if let Some(part) = &mut self.part {
                    part.change(wall, &order);
                }
            }
            (Phase::Complete, Some(_)) => {
                self.run_part(now);
                let has_work = self.part.as_ref().is_some_and(|part| !part.is_idle());
                if has_work { self.go_on(now) } else { self.end_part(now) }
            }
            (Phase::Complete, None) if self.outbox.pending_of(&CRAWL) > 0 && !self.is(Planted::EndIsFinal) => {
                self.go_on(now);
            }
            (Phase::Running, Some(_)) | (_, None) => {}
            (_, Some(_)) => self.end_part(now),
        }
        false
    }

    pub(super) fn go_on(&mut self, now: Duration) {
        self.out.push_back(Out::Note(Note::Again));
        self.say(now, Phase::Running);
    }

    /// What is in flight is let go; it stays in its queue.
    pub(super) fn end_part(&mut self, now: Duration) {
        self.run_part(now);
        self.adoption.forget(&CRAWL);
        if let Some(mut part) = self.part.take() {
            part.sync();
            self.body.frontier = part.into_disk();
        }
        self.next_look = now + Duration::from_millis(50);
    }

    pub(super) fn run_part(&mut self, now: Duration) {
        let wall = self.wall(now);
        let Some(part) = &mut self.part else { return };
        let visited = part.work(wall, &self.web, &mut self.chance, &mut self.body.unlucky);
        self.out.extend(visited.into_iter().map(|url| Out::Note(Note::Visited(url))));
        self.share(now);
        if let Some(part) = &mut self.part {
            part.flush(wall);
        }
    }

    /// Gives others what is theirs, before the frontier is written.
    pub(super) fn share(&mut self, now: Duration) {
        let Some(part) = &mut self.part else { return };
        let (prospects, news) = part.take_shared();
        if prospects.is_empty() && news.is_empty() {
            return;
        }
        if std::mem::replace(&mut self.sent_from, self.moves) != self.moves {
            // What we once sent and then took over may now have to go again.
            self.outbox.forget_lately();
        }
        for prospect in &prospects {
            let link = Link::from(prospect);
            self.outbox.add(now, CRAWL, place_of(&link.url), link).expect("room");
        }
        let sent = self.outbox.flush().expect("a disk in memory");
        let (seen, visited): (Vec<UrlRecord>, Vec<UrlRecord>) = news.into_iter().partition(|record| record.visits == 0);
        self.make(seen);
        self.held.push((sent, visited));
        self.release();
    }

    /// Visits whose links have arrived are told.
    pub(super) fn release(&mut self) {
        let arrived = self.outbox.arrived();
        let (ready, held): (Vec<_>, Vec<_>) = self.held.drain(..).partition(|(sent, _)| *sent <= arrived);
        self.held = held;
        self.make(ready.into_iter().flat_map(|(_, records)| records).collect());
    }

    pub(super) fn adopt(&mut self, now: Duration) {
        let (wall, Some((from, to))) = (self.wall(now), self.ground().0) else { return };
        let is_here = |record: &&UrlRecord| place_of(record.url.as_str()).is_in(from, to);
        let records: Vec<UrlRecord> = self.body.ledger.values().filter(is_here).cloned().collect();
        match &mut self.part {
            Some(part) => part.adopt(wall, &records),
            None => self.look_for_work(now),
        }
    }

    /// What was called complete, and is not by what we know now of what is ours, goes on.
    pub(super) fn look_for_work(&mut self, now: Duration) {
        let complete = self.order().filter(|order| order.phase == Phase::Complete).map(|order| order.run);
        let (Some(run), Some((from, to))) = (complete, self.ground().0) else { return };
        let is_work = |record: &UrlRecord| record.is_open(run) && place_of(record.url.as_str()).is_in(from, to);
        if !self.is(Planted::EndIsFinal) && self.body.ledger.values().any(is_work) {
            self.go_on(now);
        }
    }
}
