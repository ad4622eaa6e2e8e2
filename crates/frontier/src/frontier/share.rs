//! The part of one machine in a crawl that many make: what is passed on, taken in, taken over and dropped.

use super::Frontier;
use crate::error::Result;
use crate::keys::{self, Class, HostHash, Place, Ticket, UrlHash};
use crate::record::UrlRecord;
use crate::settings::Settings;
use crate::table::Table;
use crate::territory::{Prospect, Territory};
use herodotus_base::Timestamp;
use herodotus_page::{Link, LinkKind, WebUrl};
use std::sync::Arc;

impl<T: Table> Frontier<T> {
    /// Goes on with our part of a crawl, which all machines began at one moment. To be followed by [`Frontier::change`] with the same settings. `run` counts how often it was begun: each time everything is due anew.
    pub fn open_part(
        table: T,
        settings: Settings,
        territory: Arc<dyn Territory>,
        (began, run): (Timestamp, u32),
        now: Timestamp,
    ) -> Result<Self> {
        let mut frontier = Self::peek(table, settings, now)?;
        frontier.territory = Some(territory);
        let clock = &mut frontier.kept.clock;
        if clock.round < run {
            clock.round = run.saturating_sub(1);
            clock.begin(&frontier.settings, began);
        } else {
            clock.extend(&frontier.settings);
            frontier.run = frontier.kept.run.take().unwrap_or_default();
        }
        if let Some(before) = frontier.kept.settings.take() {
            // As it was left. What it is now is told by [`Frontier::change`], which sees what has changed since.
            (frontier.patterns, frontier.settings) = (before.patterns()?, before);
        }
        Ok(frontier)
    }

    /// The territory has changed: hosts that had nothing for us are looked at again.
    pub fn look_again(&mut self, now: Timestamp) {
        let mut hosts: Vec<HostHash> = self.hosts.keys().copied().collect();
        // In an order that is the same each time: the simulator's runs follow from their seeds.
        hosts.sort_unstable();
        hosts.into_iter().for_each(|host| self.schedule_host(host, now));
    }

    /// Seeds that are ours and not known, because they were nobody's when the crawl began: whoever owned them did not know all of its own yet, or died with them.
    pub fn handle_missing_seeds(&mut self, now: Timestamp, seeds: &[WebUrl]) -> Result<()> {
        let mut missing = Vec::new();
        for seed in seeds {
            if !self.is_ours(seed) {
                continue;
            }
            let (host, url) = (self.host_hash(seed), UrlHash(keys::hash(seed.as_str())));
            if self.record(host, url)?.is_none() {
                missing.push(seed.clone());
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        self.kept.clock.complete = false;
        self.handle_seeds(now, &missing)
    }

    pub(super) fn is_ours(&self, url: &WebUrl) -> bool {
        self.territory.as_ref().is_none_or(|territory| territory.holds(url))
    }

    /// A link out of our territory: judged as our own would be, and kept for whoever it belongs to.
    /// Whether it was left out.
    pub(super) fn pass_on(&mut self, from: &UrlRecord, link: &Link, fingerprint: u64, refusal: u64) -> bool {
        if self.refused.contains(refusal) {
            return true;
        }
        match self.new_record(from, link) {
            Ok(record) => {
                if link.kind == LinkKind::Redirect && from.seed && from.depth == 0 {
                    self.kept.anchors.add_lead(self.settings.scope, &link.url);
                }
                // Most links lead to what many pages link to: it is told once in a while.
                self.seen.insert(fingerprint);
                let UrlRecord { url, kind, depth, hops, redirects, seed, .. } = record;
                self.prospects.push(Prospect { url, kind, depth, hops, redirects, seed });
                false
            }
            Err(code) => {
                self.refused.insert(refusal);
                self.skip(&link.url, code, from.seed && link.kind == LinkKind::Redirect);
                true
            }
        }
    }

    /// For other machines, since this was last asked.
    pub fn take_prospects(&mut self) -> Vec<Prospect> {
        std::mem::take(&mut self.prospects)
    }

    /// What was taken in or visited since this was last asked.
    pub fn take_news(&mut self) -> Vec<UrlRecord> {
        std::mem::take(&mut self.news)
    }

    pub(super) fn tell(&mut self, record: &UrlRecord) {
        if self.territory.is_some() {
            let mut told = record.clone();
            // In everybody's time: how far ours has jumped is our own affair.
            if let Some(place) = &mut told.place
                && place.class != Class::Fresh
            {
                place.order = self.kept.clock.at(place.order as i64).millis().max(0) as u64;
            }
            self.news.push(told);
        }
    }

    /// Takes in what other machines found for us. What is known already stays as it is. Those that are not ours come back.
    pub fn handle_prospects(&mut self, now: Timestamp, prospects: &[Prospect]) -> Result<Vec<Prospect>> {
        let mut strays = Vec::new();
        for prospect in prospects {
            if !self.is_ours(&prospect.url) {
                strays.push(prospect.clone());
                continue;
            }
            let fingerprint = keys::hash(prospect.url.as_str());
            let (host, url) = (self.host_hash(&prospect.url), UrlHash(fingerprint));
            if prospect.seed && prospect.redirects > 0 {
                self.kept.anchors.add_lead(self.settings.scope, &prospect.url);
            }
            if let Some(known) = self.record(host, url)? {
                if known.place.is_none() {
                    self.revive(now, host, url, known)?;
                }
                continue;
            }
            if !prospect.seed
                && let Some(code) = self.trap(host, &prospect.url)?
            {
                self.skip(&prospect.url, code, false);
                continue;
            }
            let mut record = UrlRecord::new(prospect.url.clone(), prospect.kind, self.settings.period.0);
            (record.depth, record.hops, record.redirects, record.seed) =
                (prospect.depth, prospect.hops, prospect.redirects, prospect.seed);
            self.seen.insert(fingerprint);
            self.kept.clock.complete = false;
            self.enqueue(now, host, url, record)?;
        }
        Ok(strays)
    }

    /// Takes over what another machine knew of URLs that are ours now. What we know better stays. How many were news.
    pub fn adopt(&mut self, now: Timestamp, records: &[UrlRecord]) -> Result<usize> {
        let mut adopted = 0;
        for told in records {
            if !self.is_ours(&told.url) {
                continue;
            }
            let (host, url) = (self.host_hash(&told.url), UrlHash(keys::hash(told.url.as_str())));
            let known = self.record(host, url)?;
            if known.as_ref().is_some_and(|known| known.visits >= told.visits) {
                continue;
            }
            let place = known.as_ref().and_then(|known| known.place);
            if self.hosts.get(&host).is_some_and(|host| host.taken.contains(&url)) {
                // It is about to be visited here: that will be the later news.
                continue;
            }
            if let Some(place) = place {
                self.forget(Ticket { host, place, url });
            }
            self.make_known(host, &told.url, known.is_none());
            if told.seed && told.redirects > 0 {
                self.kept.anchors.add_lead(self.settings.scope, &told.url);
            }
            let mut record = told.clone();
            record.place = record.place.map(|place| match place.class {
                Class::Fresh => Place { class: Class::Fresh, order: self.fresh_order(&record) },
                Class::Retry | Class::Again => {
                    // Who told it may not have known that the crawl was begun again. It is due as this run begins: what is due later may be left to the next.
                    let is_behind = record.round < self.kept.clock.round;
                    let due = match is_behind {
                        true => self.kept.clock.began_ms(),
                        false => self.kept.clock.time(Timestamp::from_millis_clamped(place.order as i64)),
                    };
                    self.kept.clock.note_due(due);
                    Place { class: place.class, order: due.max(0) as u64 }
                }
            });
            self.kept.clock.complete = false;
            self.queue(now, host, url, &record);
            self.schedule_host(host, now);
            adopted += 1;
        }
        Ok(adopted)
    }

    /// A URL whose turn has come and that is another machine's now. Whoever has it goes on from what we told of it, or, if it has not heard of that, from the
    /// bare URL: so it is at every moment with one of us or on its way.
    pub(super) fn disown(&mut self, ticket: Ticket, record: UrlRecord) {
        let UrlRecord { url, kind, depth, hops, redirects, seed, .. } = record;
        self.prospects.push(Prospect { url, kind, depth, hops, redirects, seed });
        self.forget(ticket);
        self.state.remove(keys::url(ticket.host, ticket.url));
        self.seen.forget(ticket.url.0);
        self.kept.urls = self.kept.urls.saturating_sub(1);
        if let Some(host) = self.hosts.get_mut(&ticket.host) {
            host.urls = host.urls.saturating_sub(1);
        }
        self.save_host(ticket.host);
    }
}
