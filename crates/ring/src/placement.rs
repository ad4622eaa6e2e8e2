//! Where a URL's versions live. Crawl, copies and replay all ask here, so that they agree.
//!
//! The URLs of a host live together, since most links stay within a host and politeness is the host's; a host that has grown is split
//! into a power of two of parts, and its first place knows how many. A ring may place every URL by itself instead.

use herodotus_base::{Id, Sha256};
use herodotus_page::host_of_key;
use serde::{Deserialize, Serialize};

/// How a ring places what it keeps. All its nodes must agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Placement {
    #[default]
    ByHost,
    ByUrl,
}

/// The place of a URL whose host has so many parts. `host` and `url` as they are in keys: canonical.
pub fn place(placement: Placement, host: &str, url: &str, parts: u32) -> Id {
    match placement {
        Placement::ByHost => {
            let digest = Sha256::of(url.as_bytes()).0;
            let number = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
            Id::of_host(host, number % parts.max(1))
        }
        Placement::ByUrl => Id::of_host(url, 0),
    }
}

/// What lies together unless it was split: the host as keys have it (with its port, or a scheme where there is no host), or, in a
/// ring that places every URL by itself, the key.
pub fn bucket_of_key(placement: Placement, key: &str) -> &str {
    match placement {
        Placement::ByHost => host_of_key(key),
        Placement::ByUrl => key,
    }
}

/// The place of a SURT key whose bucket has so many parts: what crawl, copies and replay ask for. URLs with one key lie in one
/// place, as all that is known of them stands under that key.
pub fn place_of_key(placement: Placement, key: &str, parts: u32) -> Id {
    place(placement, bucket_of_key(placement, key), key, parts)
}

/// The place of one part of a bucket. That of a host's part 0 knows how many there are.
pub fn place_of_part(bucket: &str, part: u32) -> Id {
    Id::of_host(bucket, part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_lies_in_a_part_of_its_bucket_however_it_was_written() {
        let key = |url: &str| herodotus_page::surt(url);
        let at = |url: &str, parts| place_of_key(Placement::ByHost, &key(url), parts);
        assert_eq!(at("http://www.example.org/a?b=1", 1), place_of_part("org,example", 0));
        assert_eq!(at("https://EXAMPLE.org/a?b=1", 8), at("http://www.example.org:80/a?b=1", 8));
        assert_eq!(at("http://example.org:8080/", 1), place_of_part("org,example:8080", 0));
        for n in 0..50 {
            let url = format!("http://example.org/{n}");
            assert!((0..4).any(|part| at(&url, 4) == place_of_part("org,example", part)), "{url}");
            let by_url = place_of_key(Placement::ByUrl, &key(&url), 4);
            assert_eq!(by_url, place_of_part(bucket_of_key(Placement::ByUrl, &key(&url)), 0));
        }
        let parts: std::collections::BTreeSet<_> = (0..50).map(|n| at(&format!("http://example.org/{n}"), 4)).collect();
        assert_eq!(parts.len(), 4);
    }

    #[test]
    fn a_host_of_one_part_lies_together_and_splits_by_halves() {
        let url = |number: u32| format!("http://example.org/{number}");
        let at = |number, parts| place(Placement::ByHost, "example.org", &url(number), parts);
        assert!((0..100).all(|number| at(number, 1) == Id::of_host("example.org", 0)));
        // Doubling moves half of a part, and always to one place.
        for number in 0..100 {
            let (two, four) = (at(number, 2), at(number, 4));
            let part = (0..2).find(|part| two == Id::of_host("example.org", *part)).expect("one of two");
            assert!([part, part + 2].iter().any(|part| four == Id::of_host("example.org", *part)));
        }
        assert_ne!(
            place(Placement::ByUrl, "example.org", &url(1), 1),
            place(Placement::ByUrl, "example.org", &url(2), 1)
        );
    }
}
