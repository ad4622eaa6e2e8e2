//! Who makes the exchange of a visit: a choice for each crawl, and pure. What is fetched elsewhere comes back to the URL's owner, which keeps it.
//!
//! The names are those of `sim crawl`; docs/CRAWL-STRATEGIES.md says which one when, decision 0016 what they have in common.

use herodotus_base::Id;
use herodotus_ring::placement::{Placement, bucket_of_key, place_of_key, place_of_part};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Who fetches what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Strategy {
    /// The owner of the URL.
    #[default]
    Owner,
    /// The owner of the URL's hash.
    Url,
    /// One machine for a host: the owner of its first place.
    Host,
    /// So many places for a host, by the URL's hash.
    HostOver { places: u32 },
    /// The owner, unless more URLs than that wait there; then another, by the URL's hash, and so often another if that one has as many.
    Redirect { over: u64, times: u8 },
    /// Of the owner and those after it the one that is nearest to the site.
    Near { candidates: u8 },
}

/// As in the paper, and in `sim crawl`.
const PLACES: u32 = 8;
const OVER: u64 = 500;
const TIMES: u8 = 1;
const CANDIDATES: u8 = 3;

/// More places than machines say nothing; those of a large ring.
const PLACES_MAX: u32 = 4096;
/// Each time costs a question that is in vain.
const TIMES_MAX: u8 = 16;
/// Each candidate connects to the site once.
const CANDIDATES_MAX: u8 = 64;

/// Where an exchange is to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Performer {
    /// Here, with the owner.
    Here,
    /// With the owner of the first of these places that takes it on; else here.
    OwnersOf(Vec<Id>),
    /// With the nearest of so many.
    Nearest { candidates: usize },
}

impl Strategy {
    /// Who fetches the URL of a key, where so many wait with its owner.
    pub(crate) fn performer(self, key: &str, waiting: u64) -> Performer {
        let host = bucket_of_key(Placement::ByHost, key);
        match self {
            Self::Owner => Performer::Here,
            Self::Url => Performer::OwnersOf(vec![place_of_part(key, 0)]),
            Self::Host => Performer::OwnersOf(vec![place_of_part(host, 0)]),
            Self::HostOver { places } => Performer::OwnersOf(vec![place_of_key(Placement::ByHost, key, places)]),
            Self::Redirect { over, .. } if waiting <= over => Performer::Here,
            Self::Redirect { times, .. } => {
                Performer::OwnersOf((1..=u32::from(times)).map(|time| place_of_part(key, time)).collect())
            }
            Self::Near { candidates } => Performer::Nearest { candidates: usize::from(candidates) },
        }
    }

    /// Whoever has more waiting than that takes nothing on for others.
    pub(crate) fn waiting_max(self) -> Option<u64> {
        match self {
            Self::Redirect { over, .. } => Some(over),
            _ => None,
        }
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("owner"),
            Self::Url => f.write_str("url"),
            Self::Host => f.write_str("host"),
            Self::HostOver { places } => write!(f, "host-over:{places}"),
            Self::Redirect { over, times } => write!(f, "redirect:{over}:{times}"),
            Self::Near { candidates } => write!(f, "near:{candidates}"),
        }
    }
}

/// Not a strategy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no strategy: write owner, url, host, host-over:N, redirect:THRESHOLD:TIMES or near:CANDIDATES")]
pub struct NoStrategy(String);

impl FromStr for Strategy {
    type Err = NoStrategy;

    fn from_str(text: &str) -> Result<Self, NoStrategy> {
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let numbers: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
        let read = |numbers: &[u64]| match (name, numbers) {
            ("owner", []) => Some(Self::Owner),
            ("url", []) => Some(Self::Url),
            ("host", []) => Some(Self::Host),
            ("host-over", []) => Some(Self::HostOver { places: PLACES }),
            ("host-over", [places]) => {
                let places = u32::try_from(*places).ok().filter(|places| (2..=PLACES_MAX).contains(places))?;
                Some(Self::HostOver { places })
            }
            ("redirect", []) => Some(Self::Redirect { over: OVER, times: TIMES }),
            ("redirect", [over]) => Some(Self::Redirect { over: *over, times: TIMES }),
            ("redirect", [over, times]) => {
                let times = u8::try_from(*times).ok().filter(|times| (1..=TIMES_MAX).contains(times))?;
                Some(Self::Redirect { over: *over, times })
            }
            ("near", []) => Some(Self::Near { candidates: CANDIDATES }),
            ("near", [candidates]) => {
                let candidates = u8::try_from(*candidates).ok().filter(|n| (2..=CANDIDATES_MAX).contains(n))?;
                Some(Self::Near { candidates })
            }
            _ => None,
        };
        numbers.and_then(|numbers| read(&numbers)).ok_or_else(|| NoStrategy(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for Strategy {
    type Error = NoStrategy;

    fn try_from(text: String) -> Result<Self, NoStrategy> {
        text.parse()
    }
}

impl From<Strategy> for String {
    fn from(strategy: Strategy) -> Self {
        strategy.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_strategy_is_written_as_it_is_read() {
        for text in ["owner", "url", "host", "host-over:3", "redirect:20:2", "near:5"] {
            assert_eq!(text.parse::<Strategy>().unwrap().to_string(), text);
        }
        for (short, long) in [
            ("redirect", "redirect:500:1"),
            ("redirect:7", "redirect:7:1"),
            ("near", "near:3"),
            ("host-over", "host-over:8"),
        ] {
            assert_eq!(short.parse::<Strategy>().unwrap().to_string(), long);
        }
        for wrong in ["", "Owner", "url:1", "host-over:1", "near:x", "near:999", "redirect:1:0", "redirect:1:2:3"] {
            assert!(wrong.parse::<Strategy>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_strategy_sends_a_url_where_it_says() {
        let key = |n: u32| herodotus_page::surt(&format!("http://example.org/{n}"));
        let places = |strategy: Strategy, waiting: u64| -> BTreeSet<Id> {
            (0..200)
                .flat_map(|n| match strategy.performer(&key(n), waiting) {
                    Performer::OwnersOf(places) => places,
                    Performer::Here | Performer::Nearest { .. } => Vec::new(),
                })
                .collect()
        };
        assert_eq!(places(Strategy::Owner, 0).len(), 0);
        assert_eq!(places(Strategy::Url, 0).len(), 200);
        assert_eq!(places(Strategy::Host, 0), BTreeSet::from([place_of_part("org,example", 0)]));
        let over = places(Strategy::HostOver { places: 4 }, 0);
        assert_eq!(over, (0..4).map(|part| place_of_part("org,example", part)).collect());
        let redirect = Strategy::Redirect { over: 10, times: 2 };
        assert_eq!(redirect.performer(&key(1), 10), Performer::Here, "not over");
        assert_eq!(places(redirect, 11).len(), 400, "twice, and to another place each time");
        assert_eq!(redirect.waiting_max(), Some(10));
        assert_eq!(Strategy::Near { candidates: 3 }.performer(&key(1), 0), Performer::Nearest { candidates: 3 });
    }
}
