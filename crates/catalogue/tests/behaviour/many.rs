//! A hundred thousand titles: common words, rare words and both, answered rightly from a bounded look.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_catalogue::Catalogue;
use herodotus_catalogue::limits::FOUND_MAX;
use herodotus_store::{Options, Store};
use support::{catch_up, page, titles};

const TITLES: i64 = 100_000;

#[test]
fn a_hundred_thousand_titles_are_searched() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { batch_bytes: 4 << 20, background: false };
    let (store, _) = Store::open_with(&dir.path().join("data"), options).unwrap();
    for n in 0..TITLES {
        let title =
            format!("Page p{n} of the section s{} about {}", n % 1000, ["rivers", "kings", "wars"][n as usize % 3]);
        let title = if n == 77_777 { "Rivers".to_owned() } else { title };
        store.append(page(&format!("http://s{}.example/{n}", n % 1000), n, &title)).unwrap();
    }
    store.seal().unwrap();
    let catalogue = Catalogue::open(&dir.path().join("catalogue")).unwrap();
    assert_eq!(catch_up(&catalogue, &store).read as i64, TITLES);
    for n in [0, 1, 999, 50_000, 77_776, 99_999] {
        let found = titles(&catalogue, &store, &format!("the page p{n}"));
        assert!(found[0].starts_with(&format!("Page p{n} ")), "{found:?}");
        assert_eq!(catalogue.search(&store, &format!("about section p{n}"), 5).unwrap()[0].time, support::time(n));
    }
    // The shortest title of a common word, wherever it is; and no more than were asked for.
    assert_eq!(titles(&catalogue, &store, "rivers")[0], "Rivers");
    assert_eq!(titles(&catalogue, &store, "riv")[0], "Rivers");
    assert_eq!(catalogue.search(&store, "page of the section about", 10_000).unwrap().len(), FOUND_MAX);
    assert_eq!(catalogue.search(&store, "s7 page", 100).unwrap().len(), 100, "of a hundred pages in this section");
    assert!(
        titles(&catalogue, &store, "section s500 kings").iter().all(|t| t.contains(" s500 ") && t.ends_with("kings"))
    );
    assert_eq!(titles(&catalogue, &store, "p5 p6"), Vec::<String>::new());
}
