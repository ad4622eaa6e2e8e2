//! What a simulated crawl promises under every strategy, and what the strategies are for.

#![allow(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use herodotus_sim::crawl::{Options, Report, Strategy, Workload, run};

/// Small enough for every strategy in a second, large enough that hosts are split several times.
fn small(workload: Workload, strategy: Strategy, is_paper: bool) -> Options {
    let make = if is_paper { Options::paper } else { Options::new };
    let hosts = match workload {
        Workload::Exhaustive => 200,
        Workload::Sites => 9,
        Workload::One => 1,
    };
    let host_rate = if is_paper { 0.0 } else { 20.0 };
    Options {
        pages: 4_000,
        hosts,
        minutes: None,
        host_rate,
        redirect_over: 20,
        redirects_max: 2,
        ..make(workload, strategy, 12)
    }
}

fn each(check: impl Fn(&Options, &Report)) {
    for is_paper in [false, true] {
        for workload in Workload::ALL {
            for strategy in Strategy::ALL {
                let options = small(workload, strategy, is_paper);
                check(&options, &run(&options).unwrap());
            }
        }
    }
}

#[test]
fn every_page_is_fetched_exactly_once_under_every_strategy() {
    each(|options, report| {
        assert_eq!((report.fetched, report.requests, report.fetched_twice), (4_000, 4_000, 0), "{options:?}");
    });
}

#[test]
fn no_server_sees_two_requests_closer_than_the_rate_allows() {
    for strategy in Strategy::ALL {
        for (workload, host_rate) in [(Workload::Exhaustive, 2.0), (Workload::Sites, 8.0), (Workload::One, 15.0)] {
            let options = Options { host_rate, ..small(workload, strategy, false) };
            let gap = run(&options).unwrap().gap_ms_min.unwrap();
            assert!(gap >= 1000.0 / host_rate, "{options:?}: {gap} ms");
            // And the check would see it: without a rate they are closer.
            let hasty = run(&Options { host_rate: 0.0, ..options }).unwrap().gap_ms_min.unwrap();
            assert!(hasty < 1000.0 / host_rate, "{workload} {strategy}: {hasty} ms");
        }
    }
}

#[test]
fn a_rate_that_one_machine_can_keep_is_kept_by_twelve() {
    // Twelve machines of three threads could fetch eight pages a second; the host allows four, and gets nearly that many while all have work.
    let options = Options { host_rate: 4.0, minutes: Some(5.0), ..small(Workload::One, Strategy::Url, false) };
    let rate = run(&options).unwrap().pages_per_second;
    assert!((3.5..=4.0).contains(&rate), "{rate}");
}

#[test]
fn the_same_seed_gives_the_same_crawl_and_another_gives_another() {
    for strategy in Strategy::ALL {
        let options = small(Workload::Sites, strategy, false);
        let (one, same) = (run(&options).unwrap(), run(&options).unwrap());
        assert_eq!((&same.trace, same.traffic, same.seconds), (&one.trace, one.traffic, one.seconds));
        let other = run(&Options { seed: 2, ..options }).unwrap();
        assert_ne!(other.trace, one.trace);
    }
}

#[test]
fn one_site_is_spread_by_its_owners_but_not_by_its_host() {
    for is_paper in [false, true] {
        let of = |strategy| run(&Options { host_rate: 0.0, ..small(Workload::One, strategy, is_paper) }).unwrap();
        let (owner, host, some) = (of(Strategy::Owner), of(Strategy::Host), of(Strategy::HostN));
        assert_eq!(host.idle, 11.0 / 12.0);
        // 32 parts on twelve uneven arcs leave a few empty.
        assert!(owner.idle <= 0.25 && owner.idle <= some.idle && some.idle < host.idle, "{owner}\n{some}");
        assert!(owner.pages_per_second > 2.0 * host.pages_per_second, "{owner}\n{host}");
        let busiest = |report: &Report| report.crawl_load_max() / report.kilobytes_per_second;
        assert!(busiest(&host) == 1.0 && busiest(&owner) < 0.4, "{owner}");
    }
}

#[test]
fn redirection_takes_work_from_the_busiest_and_costs_bytes() {
    for workload in [Workload::Sites, Workload::One] {
        let fetched_by_busiest = |strategy| {
            let report = run(&small(workload, strategy, true)).unwrap();
            // The whole web was fetched: KB/s times seconds is the share of it.
            (report.crawl_load_max() * report.seconds, report)
        };
        let (by_host, host) = fetched_by_busiest(Strategy::Host);
        let (by_redirect, redirect) = fetched_by_busiest(Strategy::Redirect);
        assert!(by_redirect < 0.7 * by_host, "{workload}: {by_redirect} of {by_host}");
        assert!(redirect.seconds < host.seconds && redirect.redirected > 500);
        assert!(redirect.bytes_per_request > host.bytes_per_request);
        assert!(redirect.queued_max < host.queued_max);
    }
}

#[test]
fn links_within_a_host_cost_nothing_by_host_and_a_machine_alone_sends_nothing() {
    let of = |strategy, nodes| run(&Options { nodes, ..small(Workload::One, strategy, true) }).unwrap();
    assert_eq!(of(Strategy::Host, 12).traffic.links, 0);
    assert!(of(Strategy::Url, 12).bytes_per_request > of(Strategy::HostN, 12).bytes_per_request);
    for strategy in Strategy::ALL {
        assert_eq!(of(strategy, 1).bytes_per_request, 0.0, "{strategy}");
    }
}

#[test]
fn the_nearest_of_several_is_nearer_and_what_the_owner_fetches_is_not_sent_anywhere() {
    let of =
        |strategy, candidates| run(&Options { candidates, ..small(Workload::Exhaustive, strategy, false) }).unwrap();
    let middle = |report: &Report| report.round_trip_ms[report.round_trip_ms.len() / 2];
    let (owner, three, ten) = (of(Strategy::Owner, 3), of(Strategy::Near, 3), of(Strategy::Near, 10));
    assert!(middle(&ten) < middle(&three) && middle(&three) < 0.8 * middle(&owner));
    let url = of(Strategy::Url, 3);
    assert!(owner.archived_bytes_per_page < 0.3 * url.archived_bytes_per_page, "{owner}\n{url}");
}

#[test]
fn time_that_is_over_ends_a_crawl() {
    let report = run(&Options { minutes: Some(1.0), ..small(Workload::Exhaustive, Strategy::Owner, false) }).unwrap();
    assert!(report.seconds == 60.0 && report.fetched > 20 && report.fetched < 4_000);
}

#[test]
fn senseless_options_are_refused_with_a_reason() {
    let good = Options::new(Workload::Exhaustive, Strategy::Owner, 4);
    let refused = |options: Options, reason: &str| {
        let error = run(&options).expect_err(reason).to_string();
        assert!(error.contains(reason), "{error}");
    };
    refused(Options { nodes: 0, ..good.clone() }, "number of nodes must be between 1 and 100,000, not 0");
    refused(Options { pages: 10, hosts: 11, ..good.clone() }, "at most the number of pages");
    refused(Options { workload: Workload::One, ..good.clone() }, "1 in a crawl of one site");
    refused(Options { pages: usize::MAX, ..good.clone() }, "50,000,000");
    refused(Options { minutes: Some(f64::NAN), ..good.clone() }, "more than 0");
    refused(Options { bytes_per_link: 0, ..good.clone() }, "bytes of a link");
    refused(Options { host_rate: -1.0, ..good.clone() }, "0 for none");
    refused(Options { threads: 0, ..good.clone() }, "threads");
    refused(Options { kilobytes_per_second: 0.0, ..good.clone() }, "link's speed");
    refused(Options { handling_ms: f64::INFINITY, ..good.clone() }, "time for a page");
    refused(Options { strategy: Strategy::HostN, host_nodes: 1, ..good.clone() }, "one is the strategy host");
    refused(Options { strategy: Strategy::Redirect, redirects_max: 0, ..good.clone() }, "with none it is no");
    refused(Options { strategy: Strategy::Near, candidates: 1, ..good }, "one is the strategy owner");
    assert!("hots".parse::<Strategy>().unwrap_err().to_string().contains("owner, url, host"));
    assert!("many".parse::<Workload>().unwrap_err().to_string().contains("exhaustive, sites or one"));
}
