//! A record, its name, and where it lies.

use crate::error::{Error, Result};
use herodotus_base::{Id, Sha256};
use herodotus_replica::Mark;
use herodotus_ring::placement::{Placement, bucket_of_key, place_of_key, place_of_part};
use serde::{Deserialize, Serialize};

/// A crawl's definition with some thousand seeds fits; what is known of a URL is a hundred bytes.
pub const RECORD_BYTES_MAX: usize = 256 << 10;
/// Longer keys are cut by whoever makes them.
pub const NAME_BYTES_MAX: usize = 8 << 10;

/// No UTF-8 has this byte, so no name of a record is one of a capture.
const FIRST: u8 = 0xff;
const CRAWL: u8 = 1;
const URL: u8 = 2;

/// Names a crawl in all of the ring.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CrawlId(pub [u8; 16]);

/// What a record is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Name {
    /// What a crawl is, and what is to become of it.
    Crawl(CrawlId),
    /// What is known of a URL in a crawl. `key` is its canonical key, `spelling` a digest of the URL itself: several may have one key.
    Url { key: String, crawl: CrawlId, spelling: u64 },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub name: Name,
    /// The later one counts; of two with the same version, the greater bytes.
    pub version: u64,
    pub value: Vec<u8>,
}

impl Name {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Crawl(id) => [&[FIRST, CRAWL][..], &id.0].concat(),
            Self::Url { key, crawl, spelling } => {
                [&[FIRST, URL][..], key.as_bytes(), &[0], &crawl.0, &spelling.to_be_bytes()].concat()
            }
        }
    }

    /// Nothing for what is no name of a record.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > NAME_BYTES_MAX {
            return None;
        }
        match bytes {
            [FIRST, CRAWL, id @ ..] => Some(Self::Crawl(CrawlId(id.try_into().ok()?))),
            [FIRST, URL, rest @ ..] => {
                let (rest, spelling) = rest.split_last_chunk::<8>()?;
                let (text, crawl) = rest.split_last_chunk::<16>()?;
                let key = std::str::from_utf8(text.strip_suffix(&[0])?).ok()?;
                let (crawl, spelling) = (CrawlId(*crawl), u64::from_be_bytes(*spelling));
                (!key.contains('\0')).then(|| Self::Url { key: key.to_owned(), crawl, spelling })
            }
            _ => None,
        }
    }

    /// What lies together unless it was split: as captures of the same URL.
    pub fn bucket(&self, placement: Placement) -> &str {
        match self {
            Self::Crawl(_) => "",
            Self::Url { key, .. } => bucket_of_key(placement, key),
        }
    }

    /// Where it lies, if its bucket has so many parts.
    pub fn place(&self, placement: Placement, parts: u32) -> Id {
        match self {
            Self::Crawl(id) => {
                let text: String = id.0.iter().map(|byte| format!("{byte:02x}")).collect();
                place_of_part(&format!("crawl {text}"), 0)
            }
            Self::Url { key, .. } => place_of_key(placement, key, parts),
        }
    }
}

impl Record {
    pub fn mark(&self) -> Mark {
        Mark::of(&self.name.encode(), &[&self.version.to_be_bytes()[..], &Sha256::of(&self.value).0].concat())
    }

    /// Whether it takes the place of another of the same name.
    pub fn is_later_than(&self, other: &Self) -> bool {
        (self.version, &self.value) > (other.version, &other.value)
    }

    pub fn check(&self) -> Result<()> {
        let key_len = match &self.name {
            Name::Crawl(_) => 0,
            Name::Url { key, .. } if key.contains('\0') => return Err(Error::Refused("its key has a NUL in it")),
            Name::Url { key, .. } => key.len(),
        };
        match () {
            () if key_len + 40 > NAME_BYTES_MAX => Err(Error::Refused("its name is too long")),
            () if self.value.len() > RECORD_BYTES_MAX => Err(Error::Refused("it is too large")),
            () => Ok(()),
        }
    }

    pub(crate) fn encode_value(&self) -> Vec<u8> {
        [&self.version.to_be_bytes()[..], &self.value].concat()
    }

    pub(crate) fn decode(name: &[u8], value: &[u8]) -> Result<Self> {
        let name = Name::decode(name).ok_or(Error::Damaged("a name cannot be read"))?;
        let (version, value) = value.split_first_chunk::<8>().ok_or(Error::Damaged("a record has no version"))?;
        Ok(Self { name, version: u64::from_be_bytes(*version), value: value.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_come_back_and_nothing_else_is_one(key in "[^\0]{0,40}", crawl: [u8; 16], spelling: u64, noise: Vec<u8>) {
            for name in [Name::Crawl(CrawlId(crawl)), Name::Url { key, crawl: CrawlId(crawl), spelling }] {
                prop_assert_eq!(Name::decode(&name.encode()), Some(name));
            }
            if let Some(name) = Name::decode(&noise) {
                prop_assert_eq!(name.encode(), noise);
            }
        }
    }

    #[test]
    fn what_is_known_of_a_url_lies_where_its_captures_lie() {
        let key = herodotus_page_key();
        let name = Name::Url { key: key.clone(), crawl: CrawlId([7; 16]), spelling: 1 };
        for placement in [Placement::ByHost, Placement::ByUrl] {
            assert_eq!(name.place(placement, 4), place_of_key(placement, &key, 4));
            assert_eq!(name.bucket(placement), bucket_of_key(placement, &key));
        }
    }

    fn herodotus_page_key() -> String {
        "org,example)/a?b=c".into()
    }
}
