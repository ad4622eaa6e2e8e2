//! Which links are taken in: each either becomes a URL of the crawl, is one already, or is left out with a reason.

use super::Frontier;
use crate::anchors;
use crate::error::Result;
use crate::host::Host;
use crate::keys::{self, Class, HostHash, Place, UrlHash};
use crate::limits::{HOSTS_MAX, REDIRECTS_MAX, REQUISITE_HOPS_MAX};
use crate::record::UrlRecord;
use crate::settings::Media;
use crate::table::Table;
use crate::trap;
use herodotus_base::Timestamp;
use herodotus_page::{Link, LinkKind, WebUrl};

/// Needed to show a page, or said to be of use to it, rather than a page.
pub(super) fn is_requisite(kind: LinkKind) -> bool {
    kind.is_requisite() || kind == LinkKind::Other
}

pub(super) fn is_wanted(media: Media, kind: LinkKind) -> bool {
    match media {
        Media::All => true,
        Media::Images => !is_requisite(kind) || matches!(kind, LinkKind::Frame | LinkKind::Image),
        Media::Html => !is_requisite(kind) || kind == LinkKind::Frame,
    }
}

/// Pages come after what pages need, and by depth among themselves.
const PAGE_RANK: i32 = 0x4000;
pub(super) const ORDER_BITS: u32 = 48;
pub(super) const ORDER_MASK: u64 = (1 << ORDER_BITS) - 1;

impl<T: Table> Frontier<T> {
    /// Takes in seeds. Known ones stay as they are.
    pub fn handle_seeds(&mut self, now: Timestamp, seeds: &[WebUrl]) -> Result<()> {
        for seed in seeds {
            self.kept.anchors.add(self.settings.scope, seed);
            if !self.is_ours(seed) {
                continue;
            }
            let (host, url) = (self.host_hash(seed), UrlHash(keys::hash(seed.as_str())));
            match self.record(host, url)? {
                Some(record) if record.place.is_none() => self.revive(now, host, url, record)?,
                Some(_) => {}
                None => {
                    let mut record = UrlRecord::new(seed.clone(), LinkKind::Page, self.settings.period.0);
                    record.seed = true;
                    self.enqueue(now, host, url, record)?;
                }
            }
        }
        self.flush()
    }

    /// Takes in the links that are new on a page. Whether some were left out that the crawl would take if it were changed.
    pub(super) fn admit_links(&mut self, now: Timestamp, from: &UrlRecord, links: &[Link]) -> Result<bool> {
        let mut are_left_out = false;
        for link in links {
            are_left_out |= self.admit(now, from, link)?;
        }
        Ok(are_left_out)
    }

    fn admit(&mut self, now: Timestamp, from: &UrlRecord, link: &Link) -> Result<bool> {
        let fingerprint = keys::hash(link.url.as_str());
        let url = UrlHash(fingerprint);
        if link.kind == LinkKind::Redirect && link.url == from.url {
            self.skip(&link.url, "redirect_loop", from.seed);
            return Ok(false);
        }
        if self.seen.contains(fingerprint) && link.kind != LinkKind::Redirect {
            return Ok(false);
        }
        // A picture that is refused as a page may be taken as a picture: what was refused is remembered by kind.
        let refusal = fingerprint ^ (1 + link.kind as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if !self.is_ours(&link.url) {
            return Ok(self.pass_on(from, link, fingerprint, refusal));
        }
        let host = self.host_hash(&link.url);
        if let Some(known) = self.record(host, url)? {
            self.seen.insert(fingerprint);
            if known.place.is_none() {
                self.revive(now, host, url, known)?;
            } else if link.kind == LinkKind::Redirect && self.leads_back(from, url)? {
                self.skip(&link.url, "redirect_loop", from.seed);
            }
            return Ok(false);
        }
        if self.refused.contains(refusal) {
            return Ok(true);
        }
        match self.new_record(from, link) {
            Ok(record) => {
                if let Some(code) = self.trap(host, &record.url)? {
                    self.refused.insert(refusal);
                    self.skip(&link.url, code, false);
                    return Ok(false);
                }
                self.seen.insert(fingerprint);
                if link.kind == LinkKind::Redirect && from.seed && from.depth == 0 {
                    self.kept.anchors.add_lead(self.settings.scope, &link.url);
                }
                self.enqueue(now, host, url, record)?;
                Ok(false)
            }
            Err(code) => {
                self.refused.insert(refusal);
                self.skip(&link.url, code, from.seed && link.kind == LinkKind::Redirect);
                Ok(true)
            }
        }
    }

    /// What a link becomes, or why it is left out.
    pub(super) fn new_record(&self, from: &UrlRecord, link: &Link) -> std::result::Result<UrlRecord, &'static str> {
        let settings = &self.settings;
        if link.nofollow && !settings.ignore_robots {
            return Err("nofollow");
        }
        if !is_wanted(settings.media, link.kind) {
            return Err("media");
        }
        if self.patterns.excludes(link.url.as_str()) {
            return Err("excluded");
        }
        let mut record = UrlRecord::new(link.url.clone(), link.kind, settings.period.0);
        record.depth = from.depth;
        let within = self.kept.anchors.contain(settings.scope, &link.url);
        if link.kind == LinkKind::Redirect {
            // A redirect is the same step, whatever it was a step to.
            record.kind = from.kind;
            (record.hops, record.redirects) = (from.hops, from.redirects + 1);
            record.via = Some((HostHash(keys::hash(from.url.host())), UrlHash(keys::hash(from.url.as_str()))));
            record.seed = from.seed;
            if record.redirects > REDIRECTS_MAX {
                return Err("redirect_limit");
            }
            let needed = from.hops > 0 || from.seed;
            return if within || needed { Ok(record) } else { Err("scope") };
        }
        if is_requisite(link.kind) {
            record.hops = from.hops + 1;
            let limit = if within { REQUISITE_HOPS_MAX * 2 } else { REQUISITE_HOPS_MAX };
            return if record.hops <= limit { Ok(record) } else { Err("requisite_hops") };
        }
        // What is only here because a page needs it leads no further.
        if from.hops > 0 && !self.kept.anchors.contain(settings.scope, &from.url) {
            return Err("scope");
        }
        let is_listing = matches!(from.kind, LinkKind::Sitemap | LinkKind::Feed);
        record.depth = if is_listing && from.depth > 0 { from.depth } else { from.depth.saturating_add(1) };
        if !within {
            return Err("scope");
        }
        if settings.depth.is_some_and(|most| record.depth > most) {
            return Err("depth");
        }
        if !self.patterns.includes(link.url.as_str()) {
            return Err("not_included");
        }
        Ok(record)
    }

    pub(super) fn trap(&mut self, host: HostHash, url: &WebUrl) -> Result<Option<&'static str>> {
        let traps = &self.settings.traps;
        if let Some(code) = trap::of_url(traps, url) {
            return Ok(Some(code));
        }
        match self.hosts.get(&host) {
            Some(known) if known.urls >= traps.host_urls => return Ok(Some("trap_host_budget")),
            Some(_) => {}
            None if self.hosts.len() >= HOSTS_MAX => return Ok(Some("trap_hosts")),
            None => {
                let known = self.domains.get(&keys::hash(anchors::domain(url.host()))).copied().unwrap_or(0);
                if known >= traps.domain_hosts {
                    return Ok(Some("trap_domain_hosts"));
                }
            }
        }
        for counted in trap::counted(traps, url) {
            let key = keys::trap(host, counted.shape);
            let bytes = self.state.get(&key)?;
            let met = bytes.and_then(|b| b.try_into().ok()).map_or(0, u32::from_be_bytes);
            if met >= counted.most {
                return Ok(Some(counted.code));
            }
            self.state.put(key, (met + 1).to_be_bytes().to_vec());
        }
        Ok(None)
    }

    /// A retired URL that something links to anew is tried again.
    pub(super) fn revive(&mut self, now: Timestamp, host: HostHash, url: UrlHash, mut record: UrlRecord) -> Result<()> {
        record.dead = 0;
        record.tries = 0;
        record.place = Some(Place { class: Class::Fresh, order: self.fresh_order(&record) });
        self.queue(now, host, url, &record);
        Ok(())
    }

    /// Whether a redirect leads to where its chain came through.
    fn leads_back(&self, from: &UrlRecord, to: UrlHash) -> Result<bool> {
        let mut via = from.via;
        for _ in 0..from.redirects {
            let Some((host, url)) = via else { return Ok(false) };
            if url == to {
                return Ok(true);
            }
            via = self.record(host, url)?.and_then(|record| record.via);
        }
        Ok(false)
    }

    /// Makes a URL known, and puts it in its host's queue.
    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        host: HostHash,
        url: UrlHash,
        mut record: UrlRecord,
    ) -> Result<()> {
        self.make_known(host, &record.url, true);
        record.place = Some(Place { class: Class::Fresh, order: self.fresh_order(&record) });
        self.queue(now, host, url, &record);
        self.tell(&record);
        Ok(())
    }

    /// Counts a URL, and its host if that is new.
    pub(super) fn make_known(&mut self, host: HostHash, url: &WebUrl, is_new: bool) {
        if !self.hosts.contains_key(&host) {
            *self.domains.entry(keys::hash(anchors::domain(url.host()))).or_default() += 1;
            self.hosts.insert(host, Host::new(url.host()));
        }
        if let Some(known) = self.hosts.get_mut(&host) {
            known.urls += u64::from(is_new);
        }
        self.kept.urls += u64::from(is_new);
    }

    pub(super) fn fresh_order(&mut self, record: &UrlRecord) -> u64 {
        self.kept.next_order += 1;
        self.rank_of(record) << ORDER_BITS | self.kept.next_order & ORDER_MASK
    }

    /// What comes first: what pages need, then pages by depth and by what their rank says.
    pub(super) fn rank_of(&self, record: &UrlRecord) -> u64 {
        let rank = if record.hops > 0 {
            i32::from(record.hops)
        } else {
            PAGE_RANK + i32::from(record.depth) + self.patterns.steps(record.url.as_str())
        };
        rank.clamp(0, 0xffff) as u64
    }

    /// Writes a record with its place in the queue, and wakes its host.
    pub(super) fn queue(&mut self, now: Timestamp, hash: HostHash, url: UrlHash, record: &UrlRecord) {
        if let Some(place) = record.place {
            self.state.put(keys::queue(hash, place, url), Vec::new());
            if let Some(host) = self.hosts.get_mut(&hash) {
                if place.class != Class::Fresh || !host.take_early(place, url) {
                    let cursor = &mut host.cursors[place.class.index()];
                    *cursor = (*cursor).min((place.order, url.0));
                }
                if place.class != Class::Again {
                    host.waiting += 1;
                    self.waiting += 1;
                }
            }
            match place.class {
                Class::Fresh => self.schedule_host(hash, now),
                // Whoever picks for the host finds out when it is due.
                Class::Retry | Class::Again => {}
            }
        }
        self.save(hash, url, record);
        self.save_host(hash);
    }
}
