//! Where a URL's versions live. Crawl, copies and replay all ask here, so that they agree.
//!
//! The URLs of a host live together, since most links stay within a host and politeness is the host's; a host that has grown is split
//! into a power of two of parts, and its first place knows how many. A ring may place every URL by itself instead.

use herodotus_base::{Id, Sha256};
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

#[cfg(test)]
mod tests {
    use super::*;

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
