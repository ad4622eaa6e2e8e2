//! What a crawl of the ring is, as every machine knows it: a record that is kept like any other, and told from machine to machine.

use super::TogetherError;
use crate::crawl::Definition;
use herodotus_base::Timestamp;
use herodotus_ledger::{CrawlId, Name, Record};
use herodotus_links::end::{Edition, Phase};
use herodotus_page::WebUrl;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const FORM: u8 = 1;
/// An order is one record: 1,000 URLs of 80 bytes are 80 KB of it.
const LEADS_MAX: usize = 1_000;

/// What is to become of a crawl.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Running,
    /// Nothing new is begun; what is known stays.
    Paused,
    /// Ended by a person, or by a limit.
    Stopped,
    /// Everything known was visited.
    Complete,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Complete => "complete",
        }
    }
}

/// A crawl of the ring.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Order {
    pub(super) form: u8,
    pub name: String,
    pub definition: Definition,
    pub state: State,
    /// When everybody began, and for the how manieth time.
    pub began_ms: i64,
    pub run: u32,
    /// Why it is in this state, for people.
    #[serde(default)]
    pub reason: String,
    /// What was done when it ended.
    #[serde(default)]
    pub totals: Totals,
    /// Where seeds redirect to, as machines have found: it belongs to the crawl's scope, and all must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leads: Vec<String>,
    #[serde(skip)]
    pub version: u64,
}

/// What all machines did together, in one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    pub urls: u64,
    pub pages: u64,
    pub fetched: u64,
    pub new: u64,
    pub changed: u64,
    pub unchanged: u64,
    pub archived: u64,
    pub failed: u64,
    pub bytes: u64,
    pub round: u32,
    /// Of those fetched, how many by another machine than the URL's owner.
    #[serde(skip_serializing_if = "is_none")]
    pub elsewhere: u64,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

impl Order {
    pub fn new(name: String, definition: Definition) -> Self {
        let began_ms = Timestamp::now().millis();
        Self {
            form: FORM,
            name,
            definition,
            state: State::Running,
            began_ms,
            run: 1,
            reason: String::new(),
            totals: Totals::default(),
            leads: Vec::new(),
            version: 1,
        }
    }

    /// The next version, by a person.
    pub(super) fn said(self) -> Self {
        let now = u64::try_from(Timestamp::now().millis()).unwrap_or(0);
        Self { version: Edition(self.version).said(now).0, ..self }
    }

    /// The next version, by a machine of its own accord: it counts only as long as no person has said anything that it does not know.
    pub(super) fn noted(self) -> Self {
        Self { version: Edition(self.version).noted().0, ..self }
    }

    /// With what seeds redirect to, in one order for all. Whether that is news.
    pub(super) fn add_leads(&mut self, leads: &[String]) -> bool {
        let known: BTreeSet<&String> = self.leads.iter().collect();
        let room = LEADS_MAX.saturating_sub(known.len());
        let news: BTreeSet<&String> = leads.iter().filter(|lead| !known.contains(lead)).take(room).collect();
        if news.is_empty() {
            return false;
        }
        self.leads = known.union(&news).map(|lead| (*lead).clone()).collect();
        true
    }

    pub(super) fn lead_urls(&self) -> Vec<WebUrl> {
        self.leads.iter().filter_map(|lead| WebUrl::parse(lead).ok()).collect()
    }

    pub(super) fn phase(&self) -> Phase {
        match self.state {
            State::Running => Phase::Running,
            State::Paused => Phase::Paused,
            State::Stopped => Phase::Stopped,
            State::Complete => Phase::Complete,
        }
    }

    /// A crawl is its name: two machines that begin one of the same name at once make one crawl.
    pub fn id_of(name: &str) -> CrawlId {
        let digest = herodotus_base::Sha256::of(format!("herodotus crawl {name}").as_bytes()).0;
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        CrawlId(id)
    }

    pub fn id(&self) -> CrawlId {
        Self::id_of(&self.name)
    }

    /// Of what it is, whatever its version.
    pub(super) fn digest(&self) -> u64 {
        let value = serde_json::to_vec(self).unwrap_or_default();
        let digest = herodotus_base::Sha256::of(&value).0;
        digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }

    pub(super) fn record(&self) -> Result<Record, TogetherError> {
        let value = serde_json::to_vec(self).map_err(|_| TogetherError::Odd("a crawl that cannot be written down"))?;
        Ok(Record { name: Name::Crawl(self.id()), version: self.version, value })
    }

    /// Nothing for what a newer program wrote, or somebody who means no good.
    pub(super) fn of_record(record: &Record) -> Option<Self> {
        let order: Self = serde_json::from_slice(&record.value).ok()?;
        let is_it = order.form == FORM && record.name == Name::Crawl(order.id());
        is_it.then_some(Self { version: record.version, ..order })
    }

    /// What each machine does of it. Limits are the whole ring's, and are looked after where everything is counted.
    pub(super) fn part(&self) -> Definition {
        let mut definition = self.definition.clone();
        (definition.crawl.limit, definition.crawl.limit_bytes, definition.crawl.limit_time) = (None, None, None);
        definition
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::Strategy;

    #[test]
    fn an_order_comes_back_from_its_record_and_from_no_other() {
        let definition = Definition { seeds: vec!["example.org".into()], ..Definition::default() };
        let order = Order { version: 7, ..Order::new("news".into(), definition) };
        let record = order.record().unwrap();
        assert_eq!(Order::of_record(&record), Some(order));
        let other = Record { name: Name::Crawl(Order::id_of("other")), ..record.clone() };
        assert_eq!(Order::of_record(&other), None);
        assert_eq!(Order::of_record(&Record { value: b"{}".to_vec(), ..record }), None);
    }

    #[test]
    fn an_order_from_before_there_were_strategies_is_read_and_written_as_it_was() {
        let golden = include_bytes!("../../tests/golden/order-1.json");
        let record = Record { name: Name::Crawl(Order::id_of("news")), version: 3, value: golden.to_vec() };
        let order = Order::of_record(&record).unwrap();
        assert_eq!((order.definition.strategy, order.run, order.totals.fetched), (Strategy::Owner, 2, 7));
        // The default is not written: machines of that age still take part in such a crawl.
        let again = order.record().unwrap().value;
        assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(golden));
        let mut order = order;
        order.definition.strategy = Strategy::Near { candidates: 4 };
        assert_eq!(Order::of_record(&order.record().unwrap()), Some(order));
    }

    #[test]
    fn what_seeds_redirect_to_is_added_once_and_in_one_order_whoever_found_it_first() {
        let (a, b) = ("http://a.example/".to_owned(), "http://b.example/".to_owned());
        let begun = Order::new("news".into(), Definition::default());
        let (mut one, mut other) = (begun.clone(), begun);
        let (both, only_b) = ([a, b.clone()], [b]);
        assert!(one.add_leads(&only_b) && one.add_leads(&both) && !one.add_leads(&both[..1]));
        assert!(other.add_leads(&both));
        assert_eq!((&one.leads, one.lead_urls().len()), (&other.leads, 2));
        let many: Vec<String> = (0..2 * LEADS_MAX).map(|n| format!("http://{n}.example/")).collect();
        assert!(one.add_leads(&many) && !one.add_leads(&many), "no more than there is room for");
        assert_eq!(one.leads.len(), LEADS_MAX);
    }
}
