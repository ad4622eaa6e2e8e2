//! A crawl that is changed while it goes on: scope, rank, limits, seeds, and where seeds redirect to.
//!
//! What waits is judged when its turn comes (`unwanted`), by what is wanted then, so that it does not matter who found it by which settings. It stands in its new
//! order at once. If more may be wanted than before, pages of which links were left out are read again: from the archive, if it has them of this
//! round. Nothing that was visited is forgotten.

use super::Frontier;
use super::admit::{is_requisite, is_wanted};
use crate::error::Result;
use crate::keys::{self, Class, HostHash, Place, Ticket, UrlHash};
use crate::record::UrlRecord;
use crate::settings::Settings;
use crate::table::Table;
use herodotus_base::Timestamp;
use herodotus_page::WebUrl;

/// Records that are read at once.
const RECORDS_AT_ONCE: usize = 1_024;

impl<T: Table> Frontier<T> {
    /// Settings, seeds and leads (where seeds redirect to, as other machines found) are these from now on.
    pub fn change(&mut self, now: Timestamp, settings: Settings, seeds: &[WebUrl], leads: &[WebUrl]) -> Result<()> {
        settings.check()?;
        self.patterns = settings.patterns()?;
        let before = std::mem::replace(&mut self.settings, settings);
        let scope = self.settings.scope;
        let mut is_wider = may_want_more(&before, &self.settings);
        if scope != before.scope {
            self.kept.anchors.turn_to(scope);
        }
        for lead in leads {
            self.kept.anchors.add_lead(scope, lead);
        }
        // Others may have told us of one, with a link or a record, or we have found it ourselves: what came before it was judged without.
        is_wider |= self.kept.anchors.judge();
        for seed in seeds {
            is_wider |= self.kept.anchors.add(scope, seed);
        }
        self.kept.clock.extend(&self.settings);
        if is_wider {
            // What was refused may be wanted now.
            self.refused = crate::seen::Seen::new(crate::limits::SEEN_SLOTS / 4);
        }
        if is_wider || before.rank != self.settings.rank {
            self.sort_anew(now, is_wider)?;
        }
        self.handle_seeds(now, seeds)?;
        self.look_again(now);
        Ok(())
    }

    /// Where seeds redirect to, as far as is known here.
    pub fn leads(&self) -> &[String] {
        self.kept.anchors.leads()
    }

    /// Why a URL that waits is not to be asked for by what is wanted now.
    pub(super) fn unwanted(&self, record: &UrlRecord) -> Option<&'static str> {
        if record.seed {
            return None;
        }
        let (settings, text) = (&self.settings, record.url.as_str());
        if !is_wanted(settings.media, record.kind) {
            return Some("media");
        }
        if self.patterns.excludes(text) {
            return Some("excluded");
        }
        if record.hops > 0 || is_requisite(record.kind) {
            return None;
        }
        if !self.kept.anchors.contain(settings.scope, &record.url) {
            return Some("scope");
        }
        // A redirect is the same step, whatever it was a step to.
        if record.redirects > 0 {
            return None;
        }
        if settings.depth.is_some_and(|most| record.depth > most) {
            return Some("depth");
        }
        (!self.patterns.includes(text)).then_some("not_included")
    }

    /// Puts what waits in its order by the ranks of now. `is_wider`: what was left out waits again, and so do pages of which links were left out.
    fn sort_anew(&mut self, now: Timestamp, is_wider: bool) -> Result<()> {
        for host in self.hosts.values_mut() {
            // What was read from the queues goes back; what is in flight stays taken.
            for (_, url) in std::mem::take(&mut host.window) {
                host.taken.remove(&url);
            }
            host.cursors = [(0, 0); 3];
        }
        let (mut from, end) = (b"u".to_vec(), keys::after(b"u".to_vec()));
        loop {
            let entries = self.state.scan(&from, &end, RECORDS_AT_ONCE)?;
            let Some((last, _)) = entries.last() else { return Ok(()) };
            from = [last.as_slice(), &[0]].concat();
            for (key, value) in entries {
                let Some((host, url)) = keys::parse_url(&key) else { continue };
                self.place_anew(now, (host, url), UrlRecord::decode(&value)?, is_wider);
            }
            // Without the settings: whoever is cut off here begins again, and finds some of it done.
            self.state.flush()?;
        }
    }

    fn place_anew(&mut self, now: Timestamp, (host, url): (HostHash, UrlHash), mut record: UrlRecord, is_wider: bool) {
        let is_in_flight = self.hosts.get(&host).is_some_and(|host| host.taken.contains(&url));
        let Some(place) = record.place.filter(|_| !is_in_flight) else { return };
        let order = match place.class {
            Class::Fresh => self.rank_of(&record) << super::admit::ORDER_BITS | place.order & super::admit::ORDER_MASK,
            Class::Again if is_wider && (record.visits == 0 || record.left_out) => self.fresh_order(&record),
            Class::Retry | Class::Again => return,
        };
        let new = Place { class: Class::Fresh, order };
        if new != place {
            self.forget(Ticket { host, place, url });
            record.place = Some(new);
            self.kept.clock.complete = false;
            self.queue(now, host, url, &record);
        }
    }
}

/// Whether there may be links that were left out before and are wanted now.
fn may_want_more(before: &Settings, now: &Settings) -> bool {
    let has_all = |some: &[String], of: &[String]| of.iter().all(|one| some.contains(one));
    let is_narrower = now.scope == before.scope
        && now.media == before.media
        && (before.depth == now.depth || now.depth.is_some_and(|now| before.depth.is_none_or(|before| now <= before)))
        && has_all(&now.exclude, &before.exclude)
        && (before.include == now.include
            || before.include.is_empty()
            || has_all(&before.include, &now.include) && !now.include.is_empty())
        && (before.ignore_robots || !now.ignore_robots);
    !is_narrower
}
