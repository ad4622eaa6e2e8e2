//! Pages found by the words of their titles, as the archive grows, changes and forgets.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_catalogue::Catalogue;
use herodotus_catalogue::limits::{TITLE_BYTES_MAX, TITLES_PER_URL_MAX};
use herodotus_store::key_of;
use std::sync::atomic::AtomicBool;
use support::{answer, archive, catch_up, page, store_all, time, titles};

#[test]
fn titles_are_found_by_all_their_words_and_the_beginning_of_the_last() {
    let (store, dir) = (archive(), tempfile::tempdir().unwrap());
    let catalogue = Catalogue::open(dir.path()).unwrap();
    store_all(
        &store,
        &[
            page("http://a.example/1", 1, "The Histories of Herodotus"),
            page("http://a.example/2", 2, "Histories"),
            page("http://a.example/3", 3, "Herodotus, Café &amp; Bar"),
            page("http://a.example/4", 4, "東京タワーの歴史"),
            page("http://a.example/5", 5, "History"),
            answer("http://a.example/gone", 6, "404 Not Found", "text/html", b"<title>Histories lost</title>".to_vec()),
            answer("http://a.example/raw", 7, "200 OK", "text/plain", b"<title>Histories raw</title>".to_vec()),
            answer("http://a.example/none", 8, "200 OK", "text/html", b"<p>no title".to_vec()),
        ],
    );
    assert_eq!((catch_up(&catalogue, &store).read, catch_up(&catalogue, &store).read), (8, 0));
    let found = |question: &str| titles(&catalogue, &store, question);
    assert_eq!(found("histories"), ["Histories", "The Histories of Herodotus"]);
    assert_eq!(found("HERODOTUS hist"), ["The Histories of Herodotus"]);
    assert_eq!(found("hist"), ["History", "Histories", "The Histories of Herodotus"]);
    assert_eq!(found("cafe"), ["Herodotus, Café & Bar"]);
    assert_eq!(found("歴史"), ["東京タワーの歴史"]);
    assert_eq!(found("歴"), ["東京タワーの歴史"]);
    assert_eq!(found("the histories persia"), Vec::<String>::new());
    assert_eq!(found("herodotus c"), ["Herodotus, Café & Bar"], "after a look at whole words alone");
    assert_eq!(found(" \u{0}!"), Vec::<String>::new());
    let first = &catalogue.search(&store, "histories", 1).unwrap()[..];
    assert_eq!((first.len(), &first[0].url[..], &first[0].key[..]), (1, "http://a.example/2", "example,a)/2"));
    assert_eq!(first[0].time, time(2));
}

#[test]
fn the_exact_the_shorter_and_the_newer_come_first() {
    let (store, dir) = (archive(), tempfile::tempdir().unwrap());
    let catalogue = Catalogue::open(dir.path()).unwrap();
    store_all(
        &store,
        &[
            page("http://a.example/1", 1, "rust"),
            page("http://a.example/2", 2, "rusty"),
            page("http://a.example/3", 3, "rust and more rust words"),
            page("http://a.example/4", 4, "Rust"),
            page("http://a.example/5", 5, "rust book"),
        ],
    );
    catch_up(&catalogue, &store);
    assert_eq!(titles(&catalogue, &store, "rust"), ["Rust", "rust", "rust book", "rust and more rust words", "rusty"]);
}

#[test]
fn a_page_has_its_newest_title_and_is_still_found_by_its_older_ones() {
    let (store, dir) = (archive(), tempfile::tempdir().unwrap());
    let catalogue = Catalogue::open(dir.path()).unwrap();
    let url = "http://a.example/";
    let key = key_of(url);
    store_all(&store, &[page(url, 20, "Summer"), page(url, 30, "Summer"), page(url, 10, "Spring")]);
    catch_up(&catalogue, &store);
    assert_eq!(catalogue.title_of(&store, &key).unwrap().as_deref(), Some("Summer"));
    assert_eq!(catalogue.search(&store, "summer", 9).unwrap()[0].time, time(30));
    assert_eq!(titles(&catalogue, &store, "spring"), ["Spring"]);
    assert_eq!(catalogue.title_of(&store, "org,nowhere)/").unwrap(), None);
    // One that changes with every look keeps only the last few.
    let clock: Vec<_> = (100..130).map(|n| page(url, n, &format!("It is {n}"))).collect();
    store_all(&store, &clock);
    catch_up(&catalogue, &store);
    assert_eq!(catalogue.title_of(&store, &key).unwrap().as_deref(), Some("It is 129"));
    assert_eq!(titles(&catalogue, &store, "spring"), Vec::<String>::new());
    let kept = (100..130).filter(|n| !titles(&catalogue, &store, &format!("is {n}")).is_empty()).count();
    assert_eq!(kept, TITLES_PER_URL_MAX);
    assert_eq!(titles(&catalogue, &store, "it is"), ["It is 129"], "each page once");
}

#[test]
fn what_was_removed_is_not_found_and_what_another_capture_says_still_is() {
    let (store, dir) = (archive(), tempfile::tempdir().unwrap());
    let catalogue = Catalogue::open(dir.path()).unwrap();
    let url = "http://a.example/";
    let (old, new) = (page(url, 1, "Secret plans"), page(url, 2, "Secret plans"));
    store_all(&store, &[old.clone(), new.clone(), page("http://a.example/other", 3, "Secret garden")]);
    catch_up(&catalogue, &store);
    store.remove(&new.id()).unwrap();
    assert_eq!(titles(&catalogue, &store, "secret"), ["Secret garden"], "hidden at once");
    assert_eq!(catalogue.title_of(&store, &key_of(url)).unwrap(), None);
    store.seal().unwrap();
    catch_up(&catalogue, &store);
    assert_eq!(titles(&catalogue, &store, "secret plans"), ["Secret plans"], "the older capture says the same");
    assert_eq!(catalogue.search(&store, "plans", 9).unwrap()[0].time, time(1));
    store.remove(&old.id()).unwrap();
    store.seal().unwrap();
    catch_up(&catalogue, &store);
    assert_eq!(titles(&catalogue, &store, "plans"), Vec::<String>::new());
    // Nothing of it is left in any row either.
    store.compact(true, |_, _| {}).unwrap();
    catch_up(&catalogue, &store);
    drop(catalogue);
    let rows = support::rows(dir.path());
    assert!(
        !rows
            .iter()
            .any(|(key, value)| [key, value].iter().any(|b| b.windows(5).any(|w| w.eq_ignore_ascii_case(b"plans"))))
    );
    assert!(rows.iter().any(|(key, _)| key.starts_with(b"wgarden\0")));
}

#[test]
fn it_goes_on_where_it_was_in_small_steps_and_after_a_compaction() {
    let (store, dir) = (archive(), tempfile::tempdir().unwrap());
    let all: Vec<_> =
        (0..1000).map(|n| page(&format!("http://a.example/{n}"), n, &format!("Number n{n} page"))).collect();
    all.chunks(300).for_each(|some| store_all(&store, some));
    let mut read = 0;
    loop {
        // Opened anew each time: what it knows is on the disk.
        let catalogue = Catalogue::open(dir.path()).unwrap();
        let step = catalogue.catch_up(&store, 1, &AtomicBool::new(false)).unwrap();
        read += step.read;
        if read == 512 {
            store.compact(true, |_, _| {}).unwrap();
        }
        if !step.behind {
            break;
        }
    }
    assert!((1000..=2000).contains(&read), "{read}");
    let catalogue = Catalogue::open(dir.path()).unwrap();
    for n in 0..1000 {
        assert_eq!(titles(&catalogue, &store, &format!("n{n} number page")), [format!("Number n{n} page")]);
    }
    let stopped = catalogue.catch_up(&store, 9, &AtomicBool::new(true)).unwrap();
    assert_eq!((stopped.read, stopped.behind), (0, false), "nothing to stop");
}

#[test]
fn one_that_is_told_to_stop_says_that_it_is_behind() {
    let (store, dir) = (archive(), tempfile::tempdir().unwrap());
    let catalogue = Catalogue::open(dir.path()).unwrap();
    store_all(&store, &[page("http://a.example/", 1, "Late")]);
    let stopped = catalogue.catch_up(&store, 9, &AtomicBool::new(true)).unwrap();
    assert_eq!((stopped.read, stopped.behind), (0, true));
    catch_up(&catalogue, &store);
    assert_eq!(titles(&catalogue, &store, "late"), ["Late"]);
}

#[test]
fn hostile_titles_are_kept_short_and_stop_nothing() {
    let (store, dir) = (archive(), tempfile::tempdir().unwrap());
    let catalogue = Catalogue::open(dir.path()).unwrap();
    let many: String = (0..20_000).map(|n| format!("w{n} ")).collect();
    let hostile = [
        many.clone(),
        "x".repeat(1 << 20),
        "\u{202e}\u{0}\u{1b}]0;evil\u{7}".to_owned(),
        "&#0;&#x10ffff;&#xd800;&amp;".repeat(1000),
        "\u{301}".repeat(10_000),
        "ﷺ".repeat(10_000),
        "<script>alert(1)</script>".to_owned(),
        "東".repeat(10_000),
        "🦀🦀🦀".to_owned(),
        String::new(),
    ];
    let mut captures: Vec<_> =
        hostile.iter().enumerate().map(|(n, title)| page(&format!("http://h{n}.example/"), n as i64, title)).collect();
    captures.push(answer(
        "http://bytes.example/",
        50,
        "200 OK",
        "text/html",
        [b"<title>".as_slice(), &[0xff; 5000]].concat(),
    ));
    captures.push(page(&format!("http://long.example/{}", "a".repeat(30_000)), 51, "Endless path"));
    captures.push(page("http://good.example/", 52, "Good page"));
    store_all(&store, &captures);
    catch_up(&catalogue, &store);
    assert_eq!(titles(&catalogue, &store, "good"), ["Good page"]);
    assert_eq!(titles(&catalogue, &store, "endless"), Vec::<String>::new());
    assert_eq!(titles(&catalogue, &store, "w0 w5").len(), 1);
    for question in [&many, &"x".repeat(100_000), "\u{202e}", "東東東", "w\u{0}0", "\u{ffff}"] {
        for title in titles(&catalogue, &store, question) {
            assert!(title.len() <= TITLE_BYTES_MAX && !title.chars().any(char::is_control));
        }
    }
    drop(catalogue);
    assert!(support::rows(dir.path()).iter().all(|(key, value)| key.len() < 5000 && value.len() < 12_000));
}
