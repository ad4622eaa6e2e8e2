//! Batches: what goes in comes out, nothing a peer sends does harm, and the first form is read for ever.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use herodotus_links::{CrawlId, Prospect, batch, limits};
use proptest::prelude::*;
use std::path::PathBuf;

fn prospect(url: &str) -> Prospect {
    Prospect { url: url.into(), kind: 0, depth: 3, hops: 0, redirects: 0, seed: false }
}

fn any_url() -> impl Strategy<Value = String> {
    let host = "[a-z]{1,4}(\\.[a-z]{1,6}){0,3}(:[0-9]{1,5})?";
    prop_oneof![
        (prop_oneof![Just("http"), Just("https")], host, "(/[!-~]{0,12}){1,4}")
            .prop_map(|(scheme, host, path)| format!("{scheme}://{host}{path}")),
        // No browser writes these, and they come back all the same.
        "https?://[!-~]{0,20}",
    ]
}

fn any_link() -> impl Strategy<Value = (CrawlId, Prospect)> {
    let crawl = (0..3_u8).prop_map(|n| [n; 16]);
    (crawl, any_url(), any::<(u8, u16, u8, u8, bool)>()).prop_map(
        |(crawl, url, (kind, depth, hops, redirects, seed))| {
            let (kind, depth) = (kind % 4, if depth % 3 == 0 { depth } else { depth % 5 });
            (crawl, Prospect { url, kind, depth, hops: hops % 3, redirects: redirects % 2, seed })
        },
    )
}

/// The order does not matter, and doubles are one.
fn sorted(mut links: Vec<(CrawlId, Prospect)>) -> Vec<(CrawlId, Prospect)> {
    links.sort();
    links.dedup();
    links
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(links in prop::collection::vec(any_link(), 0..60), steps: u8) {
        let bytes = batch::close(steps, &links).unwrap();
        let batch = batch::open(&bytes).unwrap();
        prop_assert_eq!(batch.steps, steps);
        let count = batch.links.len();
        prop_assert_eq!(sorted(batch.links), sorted(links.clone()));
        prop_assert_eq!(count, sorted(links).len());
    }

    #[test]
    fn nothing_panics_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = batch::open(&bytes);
        let _ = batch::open(&[&[1, 0, 100][..], &bytes].concat());
    }

    #[test]
    fn a_batch_with_flipped_bits_opens_within_limits_or_not_at_all(
        links in prop::collection::vec(any_link(), 1..40), at: prop::sample::Index, bit in 0..8_u8, cut: prop::sample::Index,
    ) {
        let mut bytes = batch::close(0, &links).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(batch) = batch::open(&bytes) {
            let text: usize = batch.links.iter().map(|(_, prospect)| prospect.url.len()).sum();
            prop_assert!(batch.links.len() <= limits::LINKS_MAX && text <= limits::TEXT_BYTES_MAX);
            prop_assert!(batch.links.iter().all(|(_, prospect)| prospect.check().is_ok()));
        }
        prop_assert!(batch::open(&bytes[..cut.index(bytes.len())]).is_err());
    }
}

fn number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Columns as a liar writes them, in a frame that is right: zstd's plain blocks need no compressor.
fn lie(raw: &[u8], announced: usize) -> Vec<u8> {
    let mut out = vec![batch::VERSION, 0];
    number(&mut out, announced);
    // No content size, window of 1 MiB.
    out.extend_from_slice(&[0x00, 0x50]);
    for (nth, block) in raw.chunks(100_000).enumerate() {
        let is_last = u32::from((nth + 1) * 100_000 >= raw.len());
        out.extend_from_slice(&(is_last | (block.len() as u32) << 3).to_le_bytes()[..3]);
        out.extend_from_slice(block);
    }
    out
}

/// One crawl, one row, and whatever comes.
fn head(links: usize, run: usize) -> Vec<u8> {
    let mut raw = vec![1];
    raw.extend_from_slice(&[7; 16]);
    raw.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    number(&mut raw, links);
    raw.push(0);
    number(&mut raw, run);
    raw
}

#[test]
fn a_liar_who_follows_the_form_is_understood() {
    let raw = [head(2, 2), vec![0, 4], b"org.a/\nb\n".to_vec()].concat();
    let batch = batch::open(&lie(&raw, raw.len())).unwrap();
    let urls: Vec<_> = batch.links.iter().map(|(_, prospect)| &prospect.url[..]).collect();
    assert_eq!(urls, ["https://a.org/", "https://b.org"]);
}

#[test]
fn a_prefix_that_is_unpacked_ten_thousand_times_is_refused() {
    // 10,000 links of 30,000 bytes in 50 KB: 300 MB if one believes it.
    let mut raw = head(10_000, 10_000);
    number(&mut raw, 0);
    (1..10_000).for_each(|_| number(&mut raw, 30_000));
    raw.extend_from_slice(&[b'a'; 30_000]);
    (0..10_000).for_each(|_| raw.push(b'\n'));
    let refused = batch::open(&lie(&raw, raw.len())).unwrap_err();
    assert_eq!(refused.to_string(), "not a batch of links: its columns do not fit each other");
}

#[test]
fn lies_about_lengths_and_counts_are_refused() {
    let texts = b"org.a/\n".to_vec();
    let good = [head(1, 1), vec![0], texts.clone()].concat();
    assert!(batch::open(&lie(&good, good.len())).is_ok());
    let bad = [
        // More links than runs, more runs than links, an empty run, too many links.
        [head(2, 1), vec![0, 0], texts.clone()].concat(),
        [head(1, 2), vec![0], texts.clone()].concat(),
        [head(1, 0), vec![0], texts.clone()].concat(),
        head(10_001, 10_001),
        // A prefix of nothing, a text without an end, something behind the last, a blank in a URL.
        [head(1, 1), vec![1], texts.clone()].concat(),
        [head(1, 1), vec![0], b"org.a/".to_vec()].concat(),
        [head(1, 1), vec![0], texts.clone(), vec![0]].concat(),
        [head(1, 1), vec![0], b"org.a/ b\n".to_vec()].concat(),
    ];
    for raw in bad {
        assert!(batch::open(&lie(&raw, raw.len())).is_err(), "{raw:?}");
    }
    for announced in [good.len() - 1, good.len() + 1, limits::RAW_BYTES_MAX + 1, usize::MAX >> 1] {
        assert!(batch::open(&lie(&good, announced)).is_err(), "{announced}");
    }
    let mut newer = lie(&good, good.len());
    newer[0] = 2;
    assert!(batch::open(&newer).is_err() && batch::open(&[]).is_err());
    assert!(batch::open(&vec![1; limits::BATCH_BYTES_MAX + 1]).is_err());
}

#[test]
fn what_no_peer_would_open_is_not_closed() {
    let many: Vec<_> = (0..=limits::LINKS_MAX).map(|n| ([0; 16], prospect(&format!("http://a/{n}")))).collect();
    assert!(batch::close(0, &many).is_err() && batch::close(0, &many[1..]).is_ok());
    let long = vec![([0; 16], prospect(&format!("http://a/{}", "x".repeat(32_000)))); 26];
    assert!(batch::close(0, &long).is_err() && batch::close(0, &long[..20]).is_ok());
    let crawls = |n: usize| (0..n).map(|n| ([n as u8; 16], prospect("http://a/"))).collect::<Vec<_>>();
    assert!(batch::close(0, &crawls(limits::CRAWLS_MAX + 1)).is_err());
    assert!(batch::open(&batch::close(0, &crawls(limits::CRAWLS_MAX)).unwrap()).is_ok());
    for url in ["ftp://a/", "http://a/ b", "http://ä/", ""] {
        assert!(batch::close(0, &[([0; 16], prospect(url))]).is_err(), "{url}");
    }
}

#[test]
fn the_largest_batch_of_what_does_not_compress_fits_a_call() {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + ((state >> 33) % 94) as u8)
    };
    let links: Vec<_> = (0..limits::LINKS_MAX)
        .map(|n| {
            let url = format!("https://{}", (0..70).map(|_| letter()).collect::<String>());
            let fields = Prospect { depth: (n * 7919) as u16, hops: n as u8, ..prospect(&url) };
            ([(n % limits::CRAWLS_MAX) as u8; 16], fields)
        })
        .collect();
    let bytes = batch::close(0, &links).unwrap();
    assert!(bytes.len() <= limits::BATCH_BYTES_MAX, "{}", bytes.len());
    assert_eq!(batch::open(&bytes).unwrap().links.len(), links.len());
}

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/batch-v1.bin")
}

fn golden_links() -> Vec<(CrawlId, Prospect)> {
    let urls = [
        "https://example.org/",
        "https://www.example.org/a/b.html?c=d",
        "https://www.example.org/a/c.html",
        "http://example.org:8080/x",
        "http://[2001:db8::1]/",
        "https://xn--bcher-kva.example/%C3%BC",
    ];
    let mut links: Vec<_> = urls.iter().map(|url| ([1; 16], prospect(url))).collect();
    links.push(([2; 16], Prospect { kind: 5, depth: 300, hops: 2, redirects: 1, seed: true, ..prospect(urls[1]) }));
    links
}

#[test]
fn a_batch_of_the_first_form_is_read_for_ever() {
    let batch = batch::open(&std::fs::read(golden()).unwrap()).unwrap();
    assert_eq!((batch.steps, sorted(batch.links)), (4, sorted(golden_links())));
}

#[test]
#[ignore = "writes the golden file, which is only right before a form was ever released"]
fn write_the_golden_file() {
    std::fs::write(golden(), batch::close(4, &golden_links()).unwrap()).unwrap();
}
