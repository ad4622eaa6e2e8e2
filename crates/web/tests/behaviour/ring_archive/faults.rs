//! What goes wrong in a ring, and what a reader sees of it.

use super::Ring;
use super::captures::{Made, all, answer, large, noise, page, place};
use super::machines::{Lie, Machines};
use herodotus_store::key_of;
use herodotus_web::archive::PublicAddress;
use herodotus_web::limits::READERS_MAX;
use std::sync::atomic::Ordering;

const PAGE: &str = "http://far.test/";
const AT: &str = "20260101000000";

/// One page, on these of the others and not here.
fn one_page(on: &[usize], change: impl FnOnce(&mut Machines)) -> Ring {
    let made = vec![page(PAGE, AT, "Far away", "True words.")];
    Ring::of(made, |_, _| (false, on.to_vec()), false, change)
}

#[test]
fn what_one_machine_does_not_answer_another_does_and_what_was_gathered_says_so() {
    // All of it twice, so that nothing depends on one.
    let twice = |n: usize, _: &Made| (n.is_multiple_of(4), vec![n % 3, (n + 1) % 3]);
    let ring = Ring::of(all(), twice, false, |machines| {
        machines.knows_here.store(false, Ordering::SeqCst);
        machines.silence(1, true);
    });
    for path in
        ["/web/*/http://site.test/", "/host/site.test", "/diff?url=http://site.test/", "/cdx?url=test&matchType=domain"]
    {
        assert_eq!(ring.same(true, path, &[]).0, 200, "{path}");
    }
    for path in ["/web/20140203030321/http://site.test/", "/web/2030oe_/http://site.test/film.mp4"] {
        assert_eq!(ring.same(false, path, &[]).0, 200, "{path}");
    }
    for path in ["/", "/search?q=histories"] {
        let told = ring.face.ask(ring.face.ui, "GET", path, &[]);
        assert_eq!(told.status, 200);
        assert!(told.text().contains("1 of 4 machines did not answer"), "{path}: {}", told.text());
        assert!(told.text().contains("Histories"), "{path}: {}", told.text());
    }
    for path in ["/api/v1/totals", "/api/v1/recent", "/api/v1/search?q=histories"] {
        let told = ring.face.ask(ring.face.ui, "GET", path, &[]);
        assert!(told.text().contains("\"silent\":{\"asked\":4,\"silent\":1}"), "{path}: {}", told.text());
    }
    // What watches this machine is told of this machine.
    let told = ring.face.ask(ring.face.ui, "GET", "/metrics", &[]).text();
    let here = ring.face.store.totals().unwrap().captures;
    assert!(told.contains(&format!("\nherodotus_archive_captures {here}\n")), "{told}");
}

#[test]
fn where_nobody_answers_it_is_said_and_when_to_try_again() {
    let ring = one_page(&[0, 1], |machines| (0..3).for_each(|machine| machines.silence(machine, true)));
    for (port, path) in [
        (ring.face.ui, format!("/web/*/{PAGE}")),
        (ring.face.ui, format!("/web/{AT}/{PAGE}")),
        (ring.face.ui, format!("/api/v1/versions?url={PAGE}")),
        (ring.face.replay, format!("/web/{AT}/{PAGE}")),
        (ring.face.replay, format!("/cdx?url={PAGE}")),
        (ring.face.replay, format!("/web/timemap/link/{PAGE}")),
        (ring.face.replay, format!("/warc/{AT}/{PAGE}")),
    ] {
        let told = ring.face.ask(port, "GET", &path, &[]);
        assert_eq!((told.status, told.header("retry-after")), (503, "10"), "{path}: {}", told.text());
        assert!(told.text().contains("none of the machines that hold this answered"), "{path}: {}", told.text());
    }
    let page = ring.face.ask(ring.face.ui, "GET", &format!("/web/*/{PAGE}"), &[]).text();
    assert!(page.contains("Nobody who holds this answered") && page.contains("</html>"), "{page}");
    let framed = ring.face.get_with(&format!("/web/{AT}/{PAGE}"), &[("Sec-Fetch-Dest", "iframe")]);
    assert_eq!((framed.status, framed.header("content-type")), (503, "text/html; charset=utf-8"));
    // It goes better the next time.
    ring.machines.silence(1, false);
    assert_eq!(ring.same(false, &format!("/web/{AT}/{PAGE}"), &[]).0, 200);
}

#[test]
fn where_nobody_is_sure_that_there_is_nothing_it_is_not_said_and_what_there_is_is_shown() {
    const NEVER: &str = "http://far.test/never";
    let made = vec![
        page(PAGE, AT, "Far away", "True words."),
        // Nothing is at the folder itself, and nothing where the other leads: a host of which nothing was asked before.
        page("http://far.test/a/b", AT, "Below", "Words below."),
        answer("http://far.test/moved", AT, "302 Found\r\nLocation: http://elsewhere.test/never", b""),
    ];
    let ring = Ring::of(made, |_, _| (false, vec![0]), false, |_| {});
    let is_unsure = |is: bool| ring.machines.is_unsure.store(is, Ordering::SeqCst);
    let asked = |url: &str| {
        [
            (ring.face.ui, format!("/web/*/{url}")),
            (ring.face.ui, format!("/web/{AT}/{url}")),
            (ring.face.ui, format!("/api/v1/versions?url={url}")),
            (ring.face.replay, format!("/web/{AT}/{url}")),
            (ring.face.replay, format!("/web/timemap/link/{url}")),
        ]
    };
    is_unsure(true);
    for (port, path) in asked(NEVER) {
        let told = ring.face.ask(port, "GET", &path, &[]);
        assert_eq!((told.status, told.header("retry-after")), (503, "10"), "{path}: {}", told.text());
        assert!(told.text().contains("too many are away to say that there is nothing"), "{path}: {}", told.text());
    }
    let framed = ring.face.get_with(&format!("/web/{AT}/{NEVER}"), &[("Sec-Fetch-Dest", "iframe")]);
    assert_eq!((framed.status, framed.text().contains("lies on other machines")), (503, false), "{}", framed.text());
    for path in [format!("/web/*/{PAGE}"), "/host/far.test".to_owned()] {
        assert_eq!(ring.same(true, &path, &[]).0, 200, "{path}");
    }
    for (path, status) in [(format!("/web/{AT}/{PAGE}"), 200), (format!("/web/{AT}/http://far.test/moved"), 302)] {
        assert_eq!(ring.same(false, &path, &[]).0, status, "{path}");
    }
    // They are back, or given up.
    is_unsure(false);
    assert_eq!(ring.same(false, &format!("/web/{AT}/{NEVER}"), &[]).0, 404);
}

#[test]
fn a_lie_is_never_shown() {
    for lie in [Lie::Bytes, Lie::Digests, Lie::Another] {
        for checks in [true, false] {
            let ring = one_page(&[0], |machines| {
                machines.tell_lies(0, lie);
                machines.checks.store(checks, Ordering::SeqCst);
            });
            for (port, path) in [
                (ring.face.replay, format!("/web/{AT}/{PAGE}")),
                (ring.face.replay, format!("/web/{AT}id_/{PAGE}")),
                (ring.face.replay, format!("/warc/{AT}/{PAGE}")),
                (ring.face.ui, format!("/api/v1/version?url={PAGE}")),
            ] {
                let told = ring.face.ask(port, "GET", &path, &[]);
                assert_eq!(told.status, 502, "{lie:?} {checks} {path}: {}", told.text());
                assert!(told.text().contains("fails its digest") && !told.text().contains("True words"), "{path}");
            }
        }
    }
    // An honest copy is enough.
    let ring = one_page(&[0, 2], |machines| machines.tell_lies(0, Lie::Bytes));
    assert_eq!(ring.same(false, &format!("/web/{AT}/{PAGE}"), &[]).0, 200);
}

#[test]
fn a_large_lie_is_never_whole() {
    let url = "http://far.test/film.mp4";
    let made = vec![large(url, AT, "200 OK\r\nContent-Type: video/mp4", noise(5_000_000))];
    let ring = Ring::of(made, |_, _| (false, vec![0]), false, |machines| machines.tell_lies(0, Lie::Bytes));
    let answer = ring.face.get(&format!("/web/{AT}oe_/{url}"));
    assert_eq!((answer.status, answer.header("content-length")), (200, "5000000"));
    assert!(answer.body.len() < 5_000_000, "{}", answer.body.len());
    // Nothing of a record is given before all of it was seen.
    assert_eq!(ring.face.get(&format!("/warc/{AT}/{url}")).status, 502);
}

/// Nothing is wrong with the archive: it may go better the next time, and the reader is told when.
#[test]
fn a_large_body_that_breaks_off_on_its_way_is_to_be_asked_for_again() {
    let film = |url: &str, len| vec![large(url, AT, "200 OK\r\nContent-Type: video/mp4", noise(len))];
    let path = |url: &str| format!("/warc/{AT}/{url}");
    let asked_again = |ring: &Ring, url: &str| {
        let told = ring.face.get(&path(url));
        assert_eq!((told.status, told.header("retry-after")), (503, "10"), "{}", told.text());
        assert!(told.text().contains("none of the machines that hold this answered"), "{}", told.text());
    };
    // It lies elsewhere, and comes in part.
    let far = "http://far.test/film.mp4";
    let ring = Ring::of(film(far, 1_000_000), |_, _| (false, vec![0]), false, |_| {});
    ring.machines.blobs_break_at.store(500_000, Ordering::SeqCst);
    asked_again(&ring, far);
    ring.machines.blobs_break_at.store(u64::MAX, Ordering::SeqCst);
    assert_eq!(ring.same(false, &path(far), &[]).0, 200);
    // It is read more than once before it is given: whichever time it breaks off, nothing was said of it yet.
    ring.machines.blobs_break_at.store(500_000, Ordering::SeqCst);
    let mut times_whole = 0;
    loop {
        ring.machines.blobs_whole.store(times_whole, Ordering::SeqCst);
        let told = ring.face.get(&path(far));
        if told.status == 200 {
            break;
        }
        assert_eq!((told.status, told.header("retry-after")), (503, "10"), "{times_whole}: {}", told.text());
        times_whole += 1;
        assert!(times_whole < 10, "it was whole nine times");
    }
    assert!(times_whole > 1);
    // It lies here, damaged in the middle, and nobody else answers; or nobody to the end.
    let here = "http://site.test/a/film.mp4";
    let ring = Ring::of(film(here, 5_000_000), |_, _| (true, vec![0]), false, |_| {});
    for blob in std::fs::read_dir(ring.face.folder.path().join("blobs")).unwrap() {
        let path = blob.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    (0..3).for_each(|machine| ring.machines.silence(machine, true));
    asked_again(&ring, here);
    (0..3).for_each(|machine| ring.machines.silence(machine, false));
    ring.machines.blobs_break_at.store(4_000_000, Ordering::SeqCst);
    asked_again(&ring, here);
    ring.machines.blobs_break_at.store(u64::MAX, Ordering::SeqCst);
    assert_eq!(ring.same(false, &path(here), &[]).0, 200);
}

#[test]
fn what_is_here_asks_nobody() {
    let ring = Ring::of(all(), place, false, |machines| (0..3).for_each(|machine| machines.silence(machine, true)));
    for _ in 0..3 {
        for path in ["/web/20140504000000/http://site.test/a/c", "/web/20140103030322cs_/http://site.test/s.css"] {
            assert_eq!(ring.same(false, path, &[]).0, 200, "{path}");
        }
        for path in ["/cdx?url=http://site.test/a/c", "/web/timemap/link/http://site.test/a/c"] {
            assert_eq!(ring.same(false, path, &[]).0, 200, "{path}");
        }
    }
    assert_eq!(ring.machines.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn a_ring_in_which_everything_is_here_asks_nobody_but_for_what_is_gathered() {
    let everywhere = |_: usize, _: &Made| (true, vec![0, 1, 2]);
    let ring = Ring::of(all(), everywhere, false, |machines| machines.has_all_here.store(true, Ordering::SeqCst));
    for path in ["/host/site.test", "/web/*/http://site.test/", "/search?q=site.test", "/cdx?url=test&matchType=domain"]
    {
        assert_eq!(ring.same(true, path, &[]).0, 200, "{path}");
    }
    assert_eq!(ring.machines.asked.load(Ordering::SeqCst), 0);
    assert_eq!(ring.same(true, "/", &[]).0, 200);
    assert_eq!(ring.machines.asked.load(Ordering::SeqCst), 2);
}

#[test]
fn what_was_fetched_is_kept_for_the_next_reader() {
    let ring = one_page(&[0], |_| {});
    let path = format!("/web/{AT}/{PAGE}");
    assert_eq!(ring.same(false, &path, &[]).0, 200);
    let asked = ring.machines.asked.load(Ordering::SeqCst);
    // The versions of one URL, and the page itself: two questions, whatever a page is made of.
    assert_eq!(asked, 2);
    for _ in 0..5 {
        assert_eq!(ring.same(false, &path, &[]).0, 200);
    }
    assert!(ring.machines.asked.load(Ordering::SeqCst) <= asked + 5, "the page is not fetched again");
}

#[test]
fn what_was_taken_out_here_is_not_shown_though_others_have_it() {
    let ring = one_page(&[0, 1], |_| {});
    let id = ring.whole.store.versions(&key_of(PAGE), false).next().unwrap().unwrap().id;
    ring.face.store.remove(&id).unwrap();
    assert_eq!(ring.face.get(&format!("/web/{AT}/{PAGE}")).status, 404);
    assert_eq!(ring.face.get(&format!("/cdx?url={PAGE}")).text(), "");
    let home = ring.face.ask(ring.face.ui, "GET", "/", &[]).text();
    assert!(!home.contains("Far away"), "{home}");
    assert_eq!(ring.face.get(&format!("/warc/{AT}/{PAGE}")).status, 404);
}

#[test]
fn what_is_damaged_here_is_read_elsewhere() {
    let url = "http://site.test/a/picture.png";
    let bytes = noise(20_000);
    let made = vec![answer(url, AT, "200 OK\r\nContent-Type: image/png", &bytes)];
    let ring = Ring::of(made, |_, _| (true, vec![0]), false, |_| {});
    let packs = std::fs::read_dir(ring.face.folder.path().join("packs")).unwrap();
    for pack in packs.map(|pack| pack.unwrap().path()) {
        let mut file = std::fs::read(&pack).unwrap();
        let at = file.windows(100).position(|window| *window == bytes[..100]);
        if let Some(at) = at {
            file[at + 5000] ^= 1;
            std::fs::write(&pack, file).unwrap();
        }
    }
    assert!(ring.face.store.read(&ring.whole.store.scan_all().next().unwrap().unwrap().id).is_err());
    let path = format!("/web/{AT}im_/{url}");
    let (status, body) = ring.same(false, &path, &[]);
    assert!(status == 200 && body == bytes);
    assert_eq!(ring.same(false, &format!("/warc/{AT}/{url}"), &[]).0, 200);
}

#[test]
fn fifty_pictures_of_a_page_are_fetched_at_once_and_hold_nobody_up() {
    const PICTURES: usize = 50;
    const { assert!(PICTURES > READERS_MAX) };
    let url = |n: usize| format!("http://far{}.test/{n}.png", n % 6);
    let head = "200 OK\r\nContent-Type: image/png";
    let mut made: Vec<Made> =
        (0..PICTURES).map(|n| answer(&url(n), AT, head, format!("picture {n}").as_bytes())).collect();
    made.push(page("http://site.test/a/", AT, "Near", "This one is here."));
    let on = |n: usize, _: &Made| if n < PICTURES { (false, vec![n % 3]) } else { (true, Vec::new()) };
    let ring = Ring::of(made, on, false, |machines| machines.gate.shut());
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..PICTURES)
            .map(|n| {
                scope.spawn({
                    let (face, url) = (&ring.face, url(n));
                    move || face.get(&format!("/web/{AT}im_/{url}"))
                })
            })
            .collect();
        ring.machines.gate.await_crowd(PICTURES);
        // All of them wait for the network, and whoever reads what is here does not wait for them.
        assert_eq!(ring.same(false, &format!("/web/{AT}/http://site.test/a/"), &[]).0, 200);
        ring.machines.gate.open();
        for (n, picture) in asking.into_iter().enumerate() {
            assert_eq!(picture.join().unwrap().text(), format!("picture {n}"));
        }
    });
}

#[test]
fn readers_are_sent_to_whoever_holds_what_they_ask_for_if_that_is_wished() {
    let address = PublicAddress {
        pages: "https://far.example/".to_owned(),
        replay: Some("https://*.replay.far.example".to_owned()),
    };
    let ring = Ring::of(all(), place, true, |machines| machines.address = Some(address));
    let (ui, replay) = (ring.face.ui, ring.face.replay);
    for (port, path, place) in [
        (replay, "/web/20140203030321/http://site.test/?q", "https://replay.far.example"),
        (replay, "/web/20140203030321im_/http://site.test/i.png", "https://replay.far.example"),
        (replay, "/cdx?url=http://site.test/&limit=1", "https://replay.far.example"),
        (ui, "/cdx?url=http://site.test/&limit=1", "https://far.example"),
        (replay, "/web/timemap/link/http://site.test/", "https://replay.far.example"),
        (ui, "/web/timegate/http://site.test/", "https://far.example"),
        (replay, "/warc/20140203030321/http://site.test/", "https://replay.far.example"),
        (ui, "/web/*/http://site.test/", "https://far.example"),
        (ui, "/web/20140203030321/http://site.test/", "https://far.example"),
        (ui, "/diff?url=http://site.test/", "https://far.example"),
        (ui, "/api/v1/versions?url=http://site.test/&year=2014", "https://far.example"),
        (ui, "/api/v1/version?url=http://site.test/", "https://far.example"),
        (ui, "/api/v1/difference?url=http://site.test/", "https://far.example"),
    ] {
        let told = ring.face.ask(port, "GET", path, &[]);
        assert_eq!((told.status, told.header("location")), (302, format!("{place}{path}").as_str()), "{path}");
    }
    // What is here, what is of many places, and what a frame shows, is answered here.
    for (port, path) in [
        (replay, "/web/20140504000000/http://site.test/a/c"),
        (replay, "/cdx?url=site.test&matchType=host"),
        (ui, "/host/site.test"),
        (ui, "/"),
    ] {
        assert_eq!(ring.face.ask(port, "GET", path, &[]).status, 200, "{path}");
    }
    let framed = ring.face.get_with("/web/20140203030321/http://site.test/", &[("Sec-Fetch-Dest", "iframe")]);
    assert_eq!(framed.status, 200);
}
