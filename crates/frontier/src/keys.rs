//! The keys of the table. One byte says which table; a host's entries lie together, a queue's in the order of visiting.
//!
//! | key | value |
//! |---|---|
//! | `m` name | what concerns the whole crawl |
//! | `h` host | a host record |
//! | `u` host url | a URL record |
//! | `q` host class order url | nothing: the URL is due in this order |
//! | `t` host shape | how often a trap's shape was met |

use herodotus_base::Sha256;

/// Eight bytes of SHA-256: stable for ever, and nobody chooses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HostHash(pub(crate) u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct UrlHash(pub(crate) u64);

pub(crate) fn hash(text: &str) -> u64 {
    let digest = Sha256::of(text.as_bytes()).0;
    digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Which queue of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Failed a moment ago in a way that may pass; by the time of the next try.
    Retry = 1,
    /// Never fetched; by rank, then as they were found.
    Fresh = 2,
    /// Known; by the time they are due again.
    Again = 3,
}

impl Class {
    pub(crate) const ALL: [Self; 3] = [Self::Retry, Self::Fresh, Self::Again];

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|class| *class as u8 == code)
    }

    pub(crate) fn index(self) -> usize {
        self as usize - 1
    }
}

/// A place in a host's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) class: Class,
    pub(crate) order: u64,
}

/// An entry of a host's queues: whose, where, and which URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) host: HostHash,
    pub(crate) place: Place,
    pub(crate) url: UrlHash,
}

pub(crate) fn meta(name: &str) -> Vec<u8> {
    [b"m", name.as_bytes()].concat()
}

pub(crate) fn host(host: HostHash) -> Vec<u8> {
    [b"h".as_slice(), &host.0.to_be_bytes()].concat()
}

pub(crate) fn url(host: HostHash, url: UrlHash) -> Vec<u8> {
    [b"u".as_slice(), &host.0.to_be_bytes(), &url.0.to_be_bytes()].concat()
}

pub(crate) fn trap(host: HostHash, shape: u64) -> Vec<u8> {
    [b"t".as_slice(), &host.0.to_be_bytes(), &shape.to_be_bytes()].concat()
}

pub(crate) fn queue(host: HostHash, place: Place, url: UrlHash) -> Vec<u8> {
    [b"q".as_slice(), &host.0.to_be_bytes(), &[place.class as u8], &place.order.to_be_bytes(), &url.0.to_be_bytes()]
        .concat()
}

/// Order and URL of a queue key.
pub(crate) fn parse_queue(key: &[u8]) -> Option<(Place, UrlHash)> {
    let class = Class::from_code(*key.get(9)?)?;
    let order = u64::from_be_bytes(key.get(10..18)?.try_into().ok()?);
    let url = u64::from_be_bytes(key.get(18..26)?.try_into().ok()?);
    (key.len() == 26).then_some((Place { class, order }, UrlHash(url)))
}

/// Host and URL of a record's key.
pub(crate) fn parse_url(key: &[u8]) -> Option<(HostHash, UrlHash)> {
    let host = u64::from_be_bytes(key.get(1..9)?.try_into().ok()?);
    let url = u64::from_be_bytes(key.get(9..17)?.try_into().ok()?);
    (key.len() == 17).then_some((HostHash(host), UrlHash(url)))
}

/// The first key after everything that begins so.
pub(crate) fn after(mut prefix: Vec<u8>) -> Vec<u8> {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return prefix;
        }
    }
    vec![u8::MAX; 32]
}
