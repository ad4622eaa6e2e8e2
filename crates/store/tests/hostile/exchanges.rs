//! Requests without answers, answers without requests, notes of five megabytes, and revisits of nothing.

use super::archive::{Archive, case};
use super::fixtures::{DATE, around, block, http, noise, page, record, record_of, response, url, uuid};
use herodotus_base::Sha1;
use herodotus_store::Kind;
use herodotus_store::archive::{Format, Selection, export};

const ASKED: &[u8] = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";

fn of(kind: &str, n: usize, url: &str, more: &[(&str, &str)], block: &[u8]) -> Vec<u8> {
    let id = uuid(n);
    let fields = [("WARC-Type", kind), ("WARC-Target-URI", url), ("WARC-Date", DATE), ("WARC-Record-ID", &id)];
    record_of(&[&fields[..], more].concat(), block)
}

fn request(n: usize, url: &str, of_response: usize) -> Vec<u8> {
    of("request", n, url, &[("WARC-Concurrent-To", &uuid(of_response))], ASKED)
}

#[test]
fn a_request_without_a_response_is_kept() {
    let (archive, report) = case(&around(&request(20, &url(2), 2)), &[1, 3], "");
    assert_eq!(report.stored, 3);
    let capture = archive.capture(&url(2));
    assert_eq!((&capture.main.kind, archive.wire(&capture)), (&Kind::Request, ASKED.to_vec()));
}

#[test]
fn a_response_that_names_a_request_far_away_is_kept_and_so_is_the_request() {
    let far: Vec<u8> = (100..400).flat_map(record).collect();
    let (archive, report) =
        case(&[record(1), record(2), far, request(20, &url(2), 2), record(3)].concat(), &[1, 3], "");
    assert_eq!(report.records_total(), 304);
    let found = archive.captures(&url(2));
    let requests = found.iter().filter(|c| c.main.kind == Kind::Request).count();
    let joined: usize = found.iter().map(|c| c.companions.len()).sum();
    assert_eq!(requests + joined, 1);
    assert!(found.iter().any(|c| c.main.kind == Kind::Response && archive.wire(c) == block(2)));
}

#[test]
fn a_hundred_requests_that_name_one_response_are_all_kept() {
    let after: Vec<u8> = (100..200).flat_map(|n| request(n, &url(2), 2)).collect();
    for middle in [[record(2), after.clone()].concat(), [after, record(2)].concat()] {
        let (archive, report) = case(&around(&middle), &[1, 3], "");
        assert_eq!((report.records["request"], report.skipped), (100, 0));
        let found = archive.captures(&url(2));
        let requests = found.iter().filter(|c| c.main.kind == Kind::Request).count();
        let joined: usize = found.iter().map(|c| c.companions.len()).sum();
        assert_eq!(requests + joined, 100);
        assert!(found.iter().any(|c| c.main.kind == Kind::Response && archive.wire(c) == block(2)));
    }
}

#[test]
fn requests_and_responses_that_name_each_other_crosswise_are_all_kept() {
    let middle = [request(20, &url(2), 4), request(21, &url(4), 2), record(2), record(4)].concat();
    let (archive, report) = case(&around(&middle), &[1, 3], "");
    assert_eq!(report.records_total(), 6);
    for n in [2, 4] {
        let found = archive.captures(&url(n));
        assert!(found.iter().any(|c| c.main.kind == Kind::Response && archive.wire(c) == block(n)));
    }
    let kept: usize = [2, 4].iter().flat_map(|n| archive.captures(&url(*n))).map(|c| 1 + c.companions.len()).sum();
    assert_eq!(kept, 4);
}

#[test]
fn a_request_of_another_url_keeps_its_own() {
    let middle = [record(2), request(20, "http://elsewhere.example/", 2)].concat();
    let (archive, _) = case(&around(&middle), &[1, 3], "");
    let mut kept = archive.captures(&url(2));
    kept.extend(archive.captures("http://elsewhere.example/"));
    let requests: Vec<String> = kept
        .iter()
        .flat_map(|c| std::iter::once((&c.main, &c.url)).chain(c.companions.iter().map(move |r| (r, &c.url))))
        .filter(|(r, _)| r.kind == Kind::Request)
        .map(|(r, url)| r.field("WARC-Target-URI").unwrap_or(url).to_owned())
        .collect();
    assert_eq!(requests, ["http://elsewhere.example/"]);
}

/// The response is known, but nobody has seen its request yet.
#[test]
fn a_request_that_comes_in_a_later_file_than_its_response_is_kept() {
    let mut archive = Archive::new();
    archive.import(&record(2)).unwrap();
    let report = archive.import(&[record(2), request(20, &url(2), 2), record(3)].concat()).unwrap();
    archive.assert_good(3);
    let found = archive.captures(&url(2));
    let kept = found.iter().any(|c| c.main.kind == Kind::Request || c.request().is_some());
    assert!(kept || report.skipped > 0, "the request was dropped without a word: {report:?}");
    archive.assert_whole();
}

/// A record without a target goes by its id; what comes out is the same record when it comes in again.
#[test]
fn an_export_of_records_without_a_target_or_an_id_adds_nothing_here() {
    let mut archive = Archive::new();
    let bare = |kind: &str, block: &[u8]| record_of(&[("WARC-Type", kind), ("WARC-Date", DATE)], block);
    archive.import(&[bare("metadata", b"a: b\r\n"), bare("warcinfo", b"software: x\r\n")].concat()).unwrap();
    let out = archive.path("out.warc");
    let plain = Format::Warc(herodotus_warc::Coding::Plain);
    export(archive.store(), &Selection::default(), &out, plain, true, |_| {}).unwrap();
    let report = archive.import(&std::fs::read(&out).unwrap()).unwrap();
    // The one that the export wrote about itself.
    assert!(report.stored <= 1, "{report:?}");
}

#[test]
fn metadata_of_five_megabytes_is_kept() {
    let note = noise(5 << 20, 3);
    let more = [("WARC-Concurrent-To", uuid(2)), ("Content-Type", "application/warc-fields".to_owned())];
    let more: Vec<(&str, &str)> = more.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let middle = [record(2), of("metadata", 20, &url(2), &more, &note)].concat();
    let (archive, _) = case(&around(&middle), &[1, 3], "");
    let found = archive.captures(&url(2));
    assert!(found.iter().any(|c| c.main.kind == Kind::Metadata && archive.wire(c) == note));
    assert!(found.iter().any(|c| c.main.kind == Kind::Response && archive.wire(c) == block(2)));
}

#[test]
fn a_request_that_sends_five_megabytes_is_kept() {
    let sent = [&b"POST / HTTP/1.1\r\nHost: a.example\r\n\r\n"[..], &noise(5 << 20, 4)].concat();
    let middle = [of("request", 20, &url(2), &[("WARC-Concurrent-To", &uuid(2))], &sent), record(2)].concat();
    let (archive, _) = case(&around(&middle), &[1, 3], "");
    let found = archive.captures(&url(2));
    assert!(found.iter().any(|c| c.main.kind == Kind::Request && archive.wire(c) == sent));
    assert!(found.iter().any(|c| c.main.kind == Kind::Response && archive.wire(c) == block(2)));
}

#[test]
fn metadata_and_warcinfo_without_a_target_are_kept() {
    let bare = |kind: &str, block: &[u8]| record_of(&[("WARC-Type", kind), ("WARC-Date", DATE)], block);
    let middle = [bare("metadata", b"a: b\r\n"), bare("warcinfo", b"software: x\r\n"), bare("warcinfo", b"")].concat();
    let (_, report) = case(&around(&middle), &[1, 3], "");
    assert_eq!((report.stored, report.skipped), (5, 0));
}

const REVISIT: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

fn revisit(n: usize, url: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let head = http("Content-Type: text/html\r\n", b"");
    of("revisit", n, url, &[&[("WARC-Profile", REVISIT)][..], more].concat(), &head)
}

#[test]
fn a_revisit_of_nothing_is_kept() {
    let digest = Sha1::of(b"nobody has this").to_string();
    for more in [
        vec![],
        vec![("WARC-Payload-Digest", digest.as_str()), ("WARC-Refers-To-Target-URI", "http://nowhere.example/")],
        vec![("WARC-Refers-To", "<urn:nothing>"), ("WARC-Refers-To-Date", "whenever")],
    ] {
        let (archive, _) = case(&around(&revisit(20, "http://r.example/", &more)), &[1, 3], "");
        let capture = archive.capture("http://r.example/");
        assert_eq!(capture.main.kind, Kind::Revisit);
        assert_eq!(archive.store().original_of(&capture).unwrap(), None);
    }
}

#[test]
fn a_revisit_of_itself_has_no_original() {
    let digest = Sha1::of(b"x").to_string();
    let id = uuid(20);
    let more = [
        ("WARC-Refers-To-Target-URI", "http://r.example/"),
        ("WARC-Refers-To-Date", DATE),
        ("WARC-Refers-To", &id),
        ("WARC-Payload-Digest", &digest),
    ];
    let (archive, _) = case(&around(&revisit(20, "http://r.example/", &more)), &[1, 3], "");
    let capture = archive.capture("http://r.example/");
    assert_eq!(archive.store().original_of(&capture).unwrap(), None);
}

#[test]
fn revisits_in_a_circle_end() {
    let digest = Sha1::of(b"x").to_string();
    let urls: Vec<String> = (0..5).map(|i| format!("http://circle.example/{i}")).collect();
    let circle: Vec<u8> = (0..5)
        .flat_map(|i| {
            let more = [
                ("WARC-Refers-To-Target-URI", urls[(i + 1) % 5].as_str()),
                ("WARC-Refers-To-Date", DATE),
                ("WARC-Payload-Digest", &digest),
            ];
            revisit(20 + i, &urls[i], &more)
        })
        .collect();
    let (archive, _) = case(&around(&circle), &[1, 3], "");
    for url in &urls {
        let capture = archive.capture(url);
        assert_eq!(archive.store().original_of(&capture).unwrap(), None);
    }
}

/// Export in full resolves revisits: one whose original is damaged must not stop the rest.
#[test]
fn a_revisit_finds_its_original_and_comes_out_in_full() {
    let digest = Sha1::of(&page(2)).to_string();
    let target = url(2);
    let more = [("WARC-Refers-To-Target-URI", target.as_str()), ("WARC-Payload-Digest", &digest)];
    // The revisit comes before what it revisits.
    let middle = [revisit(20, "http://r.example/", &more), record(2)].concat();
    let (archive, _) = case(&around(&middle), &[1, 2, 3], "");
    let capture = archive.capture("http://r.example/");
    let original = archive.store().original_of(&capture).unwrap().expect("an original");
    assert_eq!(original.url, target);
    let out = archive.path("full.warc");
    let plain = Format::Warc(herodotus_warc::Coding::Plain);
    export(archive.store(), &Selection::default(), &out, plain, true, |_| {}).unwrap();
    let mut other = Archive::new();
    other.import(&std::fs::read(&out).unwrap()).unwrap();
    let full = other.capture("http://r.example/");
    assert_eq!((full.main.kind.clone(), other.wire(&full)), (Kind::Response, block(2)));
}

#[test]
fn a_revisit_that_claims_the_digest_of_another_page_gets_only_that_page() {
    // A digest that the original's own header lies about: the digest of record 4 on the content of record 2.
    let digest = Sha1::of(&page(4)).to_string();
    let liar = String::from_utf8(record(2)).unwrap();
    let liar = liar.replace("WARC-Date:", &format!("WARC-Payload-Digest: {digest}\r\nWARC-Date:")).into_bytes();
    let target = url(2);
    let more = [("WARC-Refers-To-Target-URI", target.as_str()), ("WARC-Payload-Digest", &digest)];
    let middle = [liar, revisit(20, "http://r.example/", &more)].concat();
    let (archive, report) = case(&around(&middle), &[1, 2, 3], "");
    assert_eq!(report.digest_mismatches, 1);
    archive.assert_whole();
}

#[test]
fn a_revisit_with_a_body_is_kept_as_it_is() {
    let odd = of("revisit", 20, &url(2), &[("WARC-Profile", "urn:unknown")], &block(2));
    let (archive, _) = case(&around(&odd), &[1, 3], "");
    assert_eq!(archive.wire(&archive.capture(&url(2))), block(2));
}

#[test]
fn a_thousand_pages_with_one_body_are_kept_once_and_come_back_each() {
    let same = http("Content-Type: text/html\r\n", &page(7).repeat(20));
    let all: Vec<u8> = (1000..2000).flat_map(|n| response(n, &same)).collect();
    let (archive, _) = case(&around(&all), &[1, 3], "");
    for n in (1000..2000).step_by(97) {
        assert_eq!(archive.wire(&archive.capture(&url(n))), same);
    }
}
