//! What must hold whatever is asked: more of what helps is never worse, nonsense is refused with a reason, extremes stay finite.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use herodotus_plan::limits::{
    BYTES_MAX, COPIES_MAX, COUNT_MAX, DAYS_MAX, HOURS_MAX, MONTHS_MAX, NODES_MAX, PER_PAGE_MAX, POSITIVE_MIN, RATE_MAX,
    RATIO_MAX,
};
use herodotus_plan::{Error, Inputs, Plan, Preset, Repair, plan};
use proptest::prelude::*;

/// From almost nothing to the limit, evenly by order of magnitude. In a box, since forty of them do not fit a test's stack.
fn size(max: f64) -> BoxedStrategy<f64> {
    let between =
        (POSITIVE_MIN.log10()..=max.log10()).prop_map(move |power| 10f64.powf(power).clamp(POSITIVE_MIN, max));
    prop_oneof![6 => between, 1 => Just(POSITIVE_MIN), 1 => Just(max)].boxed()
}

/// The same, or nothing.
fn some(max: f64) -> BoxedStrategy<f64> {
    prop_oneof![1 => Just(0.0), 5 => size(max)].boxed()
}

prop_compose! {
    fn web()(
        pages_count in size(COUNT_MAX), others_per_page in some(PER_PAGE_MAX), page_bytes in size(BYTES_MAX),
        other_bytes in some(BYTES_MAX), pages_changed_share_per_day in some(1.0), others_changed_share_per_day in some(1.0),
        added_share_per_day in some(1.0), links_per_page in some(PER_PAGE_MAX), changed_links_share in some(1.0),
    ) -> herodotus_plan::Web {
        herodotus_plan::Web {
            pages_count, others_per_page, page_bytes, other_bytes, pages_changed_share_per_day,
            others_changed_share_per_day, added_share_per_day, links_per_page, changed_links_share,
        }
    }
}

prop_compose! {
    fn packing()(ratios in prop::array::uniform4(size(RATIO_MAX)), index in some(BYTES_MAX), record in some(BYTES_MAX))
    -> herodotus_plan::Packing {
        herodotus_plan::Packing {
            page_gzip_ratio: ratios[0], page_first_of_gzip: ratios[1], page_version_of_gzip: ratios[2],
            other_ratio: ratios[3], index_bytes_per_capture: index, record_bytes_per_url: record,
        }
    }
}

prop_compose! {
    fn crawl(copies: u32)(
        months in some(MONTHS_MAX), round_days in size(DAYS_MAX), fetchers_count in 1..=copies,
        request_bytes in some(BYTES_MAX), answer_bytes in some(BYTES_MAX), resent_share in some(1.0),
        is_sent_gzipped in any::<bool>(),
    ) -> herodotus_plan::Crawl {
        herodotus_plan::Crawl {
            months, round_days, fetchers_count, request_bytes, answer_bytes, resent_share, is_sent_gzipped,
        }
    }
}

prop_compose! {
    fn machine()(
        disk_bytes in size(BYTES_MAX), disk_fill_share in size(1.0), up in size(RATE_MAX), down in size(RATE_MAX),
        stay_days in size(DAYS_MAX), session_hours in size(HOURS_MAX), absence_hours in some(HOURS_MAX),
    ) -> herodotus_plan::Machine {
        herodotus_plan::Machine {
            disk_bytes, disk_fill_share, up_bits_per_s: Some(up), down_bits_per_s: Some(down), stay_days,
            session_hours, absence_hours,
        }
    }
}

prop_compose! {
    /// Anything that is allowed.
    fn anything()(copies in 1..=COPIES_MAX)(
        web in web().boxed(), packing in packing().boxed(), crawl in crawl(copies).boxed(), machine in machine().boxed(),
        bytes_per_link in some(BYTES_MAX), leaving_share in some(1.0), receivers_count in 1..=COPIES_MAX,
        nodes_count in prop::option::of(u64::from(copies)..=NODES_MAX), handed_of_stored in some(RATIO_MAX),
        upkeep_bytes_per_minute in some(BYTES_MAX), grace_hours in prop::option::of(some(HOURS_MAX)),
        repair in prop_oneof![size(DAYS_MAX).prop_map(Repair::Days), size(1.0).prop_map(Repair::Share)],
        is_repair_spread in any::<bool>(), copies_count in Just(copies),
    ) -> Inputs {
        Inputs {
            web, packing, crawl, machine,
            links: herodotus_plan::Links { bytes_per_link, leaving_share, receivers_count },
            ring: herodotus_plan::Ring {
                copies_count, nodes_count, handed_of_stored, upkeep_bytes_per_minute, grace_hours, repair,
                is_repair_spread,
            },
        }
    }
}

prop_compose! {
    /// Within some orders of magnitude of today's, so that most of it can be planned.
    fn likely()(
        pages in 1e3..1e12f64, page_bytes in 1e3..1e6f64, changing in 0.0..1.0f64, round_days in 0.1..60.0f64,
        months in 0.0..120.0f64, copies in 1..=16u32, disk in 1e10..1e14f64, up in 1e6..1e9f64, down in 1e6..1e10f64,
        stay_days in 1.0..2_000.0f64, session_hours in 1.0..5_000.0f64, absence_hours in 0.0..200.0f64,
        grace_hours in prop::option::of(0.0..48.0f64), share in 0.05..1.0f64,
    ) -> Inputs {
        let mut inputs = Preset::Today.inputs().with_copies(copies);
        inputs.web.pages_count = pages;
        inputs.web.page_bytes = page_bytes;
        inputs.web.pages_changed_share_per_day = changing;
        inputs.crawl.round_days = round_days;
        inputs.crawl.months = months;
        inputs.machine.disk_bytes = disk;
        inputs.machine.up_bits_per_s = Some(up);
        inputs.machine.down_bits_per_s = Some(down);
        inputs.machine.stay_days = stay_days;
        inputs.machine.session_hours = session_hours;
        inputs.machine.absence_hours = absence_hours;
        inputs.ring.grace_hours = grace_hours;
        inputs.ring.repair = Repair::Share(share);
        inputs
    }
}

/// What no change for the better may raise.
fn nodes(inputs: &Inputs) -> u64 {
    plan(inputs).map_or(u64::MAX, |plan| plan.fleet.needed_count)
}

fn changed(inputs: &Inputs, change: impl FnOnce(&mut Inputs)) -> Inputs {
    let mut other = *inputs;
    change(&mut other);
    other
}

fn numbers(plan: &Plan) -> Vec<f64> {
    let (total, d, f) = (plan.traffic.total(), &plan.durability, &plan.filling);
    let mut numbers = vec![
        plan.stored_bytes,
        plan.held_bytes,
        plan.volume.index_bytes,
        total.up_bytes_per_day,
        total.down_bytes_per_day,
        d.repair_days,
        d.exposed_days,
        d.stay_days_needed,
        f.days,
        f.down_bits_per_s,
        f.up_bits_per_s,
    ];
    numbers.extend(plan.first_round_days.into_iter().chain(f.days_at_least).chain(plan.fleet.months_until_full));
    numbers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_is_allowed_gives_finite_numbers_or_a_reason(inputs in anything()) {
        match plan(&inputs) {
            Err(error) => {
                prop_assert!(matches!(error, Error::TooManyNodes { .. } | Error::Upkeep { .. }), "{error}");
            }
            Ok(plan) => {
                for number in numbers(&plan) {
                    prop_assert!(number.is_finite() && number >= 0.0, "{plan:?}");
                }
                let d = &plan.durability;
                for share in [d.loss_share_per_departure, d.loss_share_per_year, d.loss_share, d.absent_share] {
                    prop_assert!((0.0..=1.0).contains(&share), "{plan:?}");
                }
                prop_assert!(plan.fleet.planned_count >= inputs.ring.copies_count.into());
            }
        }
    }

    #[test]
    fn nothing_at_all_makes_it_panic(
        inputs in anything(), value in any::<f64>(), at in 0..33usize, count in any::<u32>(), nodes in any::<u64>(),
    ) {
        let mut inputs = inputs;
        if let Some(field) = fields(&mut inputs).into_iter().nth(at) {
            *field = value;
        } else {
            (inputs.ring.copies_count, inputs.ring.nodes_count) = (count, Some(nodes));
        }
        if let Err(error) = plan(&inputs) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn more_of_what_helps_never_needs_more_machines(inputs in likely(), times in 1.0..10.0f64) {
        let before = nodes(&inputs);
        let better = |change: &dyn Fn(&mut Inputs)| nodes(&changed(&inputs, change));
        prop_assert!(better(&|i| i.machine.disk_bytes *= times) <= before, "disk");
        prop_assert!(better(&|i| i.machine.stay_days *= times) <= before, "stay");
        // Not shorter absences: in the same sessions there are more of them, and each may begin copies for nothing.
        prop_assert!(better(&|i| i.machine.session_hours *= times) <= before, "sessions");
        prop_assert!(better(&|i| i.ring.grace_hours = None) <= before, "grace");
        prop_assert!(better(&|i| i.packing.page_version_of_gzip /= times) <= before, "packing");
        prop_assert!(better(&|i| i.links.bytes_per_link /= times) <= before, "links");
        prop_assert!(better(&|i| i.crawl.round_days *= times) <= before, "rounds");
        // Without repairs that speed up with it, as in the thesis.
        let steady = changed(&inputs, |i| i.ring.repair = Repair::Days(30.0));
        let up = changed(&steady, |i| i.machine.up_bits_per_s = i.machine.up_bits_per_s.map(|rate| rate * times));
        prop_assert!(nodes(&up) <= nodes(&steady), "up");
        let down = changed(&steady, |i| i.machine.down_bits_per_s = i.machine.down_bits_per_s.map(|rate| rate * times));
        prop_assert!(nodes(&down) <= nodes(&steady), "down");
    }

    #[test]
    fn more_to_do_never_needs_fewer_machines(inputs in likely(), times in 1.0..10.0f64) {
        let before = nodes(&inputs);
        let harder = |change: &dyn Fn(&mut Inputs)| nodes(&changed(&inputs, change));
        prop_assert!(harder(&|i| i.web.pages_count *= times) >= before, "pages");
        prop_assert!(harder(&|i| i.web.page_bytes *= times) >= before, "size");
        prop_assert!(harder(&|i| i.crawl.months *= times) >= before, "months");
        prop_assert!(harder(&|i| i.web.added_share_per_day *= times) >= before, "growing");
        prop_assert!(harder(&|i| i.crawl.resent_share = (i.crawl.resent_share * times).min(1.0)) >= before, "resent");
    }

    #[test]
    fn as_many_machines_as_are_needed_fit_and_one_less_does_not(inputs in likely()) {
        let Ok(answer) = plan(&inputs) else { return Ok(()) };
        let (needed, machine) = (answer.fleet.needed_count, &inputs.machine);
        prop_assert!(answer.held_bytes <= machine.disk_bytes * machine.disk_fill_share * (1.0 + 1e-12));
        let given = |rate: Option<f64>| rate.unwrap() * machine.up_share();
        prop_assert!(answer.traffic.total().up_bits_per_s(needed) <= given(machine.up_bits_per_s));
        prop_assert!(answer.traffic.total().down_bits_per_s(needed) <= given(machine.down_bits_per_s));
        if needed > u64::from(inputs.ring.copies_count) {
            let fewer = plan(&changed(&inputs, |i| i.ring.nodes_count = Some(needed - 1))).unwrap();
            let Repair::Share(share) = inputs.ring.repair else { unreachable!() };
            let for_repair = machine.up_bits_per_s.unwrap().min(machine.down_bits_per_s.unwrap()) * share;
            let total = fewer.traffic.total();
            prop_assert!(
                fewer.held_bytes > machine.disk_bytes * machine.disk_fill_share
                    || total.up_bits_per_s(needed - 1) > given(machine.up_bits_per_s)
                    || total.down_bits_per_s(needed - 1) > given(machine.down_bits_per_s)
                    || fewer.traffic.mending().up_bits_per_s(needed - 1) > for_repair
            );
        }
    }

    #[test]
    fn longer_stays_and_faster_repairs_lose_less(inputs in likely(), times in 1.0..10.0f64, days in 0.1..400.0f64) {
        let base = changed(&inputs, |i| {
            i.ring.repair = Repair::Days(days);
            i.ring.nodes_count = Some(1_000_000);
        });
        let loss = |inputs: &Inputs| plan(inputs).map_or(1.0, |plan| plan.durability.loss_share_per_year);
        let before = loss(&base);
        prop_assert!(loss(&changed(&base, |i| i.machine.stay_days *= times)) <= before);
        prop_assert!(loss(&changed(&base, |i| i.ring.repair = Repair::Days(days / times))) <= before);
        let absent = |inputs: &Inputs| plan(inputs).map_or(1.0, |plan| plan.durability.absent_share);
        prop_assert!(absent(&changed(&base, |i| i.machine.session_hours *= times)) <= absent(&base));
        prop_assert!(absent(&changed(&base, |i| i.ring.copies_count += 1)) <= absent(&base));
    }
}

/// Every number that is not a count.
fn fields(inputs: &mut Inputs) -> Vec<&mut f64> {
    let Inputs { web, packing, crawl, links, ring, machine } = inputs;
    let mut fields = vec![
        &mut web.pages_count,
        &mut web.others_per_page,
        &mut web.page_bytes,
        &mut web.other_bytes,
        &mut web.pages_changed_share_per_day,
        &mut web.others_changed_share_per_day,
        &mut web.added_share_per_day,
        &mut web.links_per_page,
        &mut web.changed_links_share,
        &mut packing.page_gzip_ratio,
        &mut packing.page_first_of_gzip,
        &mut packing.page_version_of_gzip,
        &mut packing.other_ratio,
        &mut packing.index_bytes_per_capture,
        &mut packing.record_bytes_per_url,
        &mut crawl.months,
        &mut crawl.round_days,
        &mut crawl.request_bytes,
        &mut crawl.answer_bytes,
        &mut crawl.resent_share,
        &mut links.bytes_per_link,
        &mut links.leaving_share,
        &mut ring.handed_of_stored,
        &mut ring.upkeep_bytes_per_minute,
        &mut machine.disk_bytes,
        &mut machine.disk_fill_share,
        &mut machine.stay_days,
        &mut machine.session_hours,
        &mut machine.absence_hours,
    ];
    fields.extend(ring.grace_hours.as_mut().into_iter().chain(&mut machine.up_bits_per_s));
    fields.extend(machine.down_bits_per_s.as_mut());
    fields.push(match &mut ring.repair {
        Repair::Days(value) | Repair::Share(value) => value,
    });
    fields
}

#[test]
fn senseless_numbers_are_refused_by_name() {
    let count = fields(&mut Preset::Today.inputs()).len();
    for at in 0..count {
        for value in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            let mut inputs = Preset::Today.inputs();
            *fields(&mut inputs)[at] = value;
            let error = plan(&inputs).unwrap_err();
            assert!(matches!(error, Error::Input { .. }), "{at}: {value}: {error}");
        }
    }
    let zero = plan(&changed(&Preset::Today.inputs(), |i| i.machine.disk_bytes = 0.0)).unwrap_err();
    assert_eq!(zero.to_string(), "disk must be more than 0 and at most 1e18, not 0");
}

#[test]
fn what_cannot_be_together_says_what_to_do() {
    let today = Preset::Today.inputs();
    let few = plan(&changed(&today, |i| i.ring.nodes_count = Some(5))).unwrap_err();
    assert_eq!(few, Error::TooFewNodes { copies: 6, nodes: 5 });
    assert!(few.to_string().contains("give more machines, or ask for fewer copies"));
    let fetchers = plan(&changed(&today, |i| i.crawl.fetchers_count = 7)).unwrap_err();
    assert_eq!(fetchers, Error::TooManyFetchers { fetchers: 7, copies: 6 });
    let silent = plan(&changed(&today, |i| i.machine.up_bits_per_s = None)).unwrap_err();
    assert_eq!(silent, Error::NoBandwidth);
    let slow = plan(&changed(&today, |i| i.machine.up_bits_per_s = Some(1_000.0))).unwrap_err();
    assert!(matches!(slow, Error::Upkeep { does: "sends", .. }), "{slow}");
    let none = plan(&changed(&today, |i| i.ring.copies_count = 0)).unwrap_err();
    assert_eq!(none.to_string(), "copies must be between 1 and 64, not 0");
}

#[test]
fn a_short_grace_with_machines_that_sleep_at_night_is_paid_in_copies_for_nothing() {
    let nightly = changed(&Preset::Today.inputs(), |i| {
        (i.machine.session_hours, i.machine.absence_hours) = (16.0, 8.0);
        i.ring.nodes_count = Some(2_000);
    });
    let patient = changed(&nightly, |i| i.ring.grace_hours = Some(24.0));
    let bytes = |inputs: &Inputs| plan(inputs).unwrap().traffic.absences.up_bytes_per_day;
    assert!(bytes(&nightly) > 15.0 * bytes(&patient));
    assert_eq!(bytes(&changed(&nightly, |i| i.ring.grace_hours = None)), 0.0);
    for grace in [0.0, 0.25] {
        let never_away = changed(&nightly, |i| (i.machine.absence_hours, i.ring.grace_hours) = (0.0, Some(grace)));
        assert_eq!(bytes(&never_away), 0.0);
    }
}

/// 1,000 pages of 10 kB, a tenth of which changes in a day and a hundredth is new, on 10 machines in three copies.
#[test]
fn what_travels_in_a_small_ring_is_what_one_reckons_by_hand() {
    let mut inputs = Preset::Today.inputs().pages_only().with_copies(3);
    (inputs.web.pages_count, inputs.web.page_bytes) = (1_000.0, 10e3);
    (inputs.web.pages_changed_share_per_day, inputs.web.added_share_per_day) = (0.1, 0.01);
    (inputs.web.links_per_page, inputs.web.changed_links_share) = (50.0, 0.2);
    (inputs.packing.page_gzip_ratio, inputs.packing.page_first_of_gzip) = (0.25, 0.8);
    (inputs.packing.page_version_of_gzip, inputs.packing.index_bytes_per_capture) = (0.1, 100.0);
    (inputs.packing.record_bytes_per_url, inputs.crawl.months) = (50.0, 1.0);
    (inputs.crawl.request_bytes, inputs.crawl.answer_bytes, inputs.crawl.resent_share) = (400.0, 300.0, 0.5);
    (inputs.links.bytes_per_link, inputs.links.leaving_share) = (20.0, 0.25);
    (inputs.ring.nodes_count, inputs.ring.handed_of_stored, inputs.ring.upkeep_bytes_per_minute) =
        (Some(10), 1.5, 10.0);
    (inputs.machine.stay_days, inputs.ring.grace_hours) = (100.0, None);
    let answer = plan(&inputs).unwrap();
    let near = |ours: f64, wanted: f64| assert!((ours - wanted).abs() <= wanted * 1e-9, "{ours} is not {wanted}");
    // A first version is 2,000 bytes, a later one 250; the index beside each, and a record beside each URL.
    near(answer.volume.pages.stored_bytes, 1_000.0 * 2_150.0);
    let new = 100.0 * 350.0 + 10.0 * 2_150.0;
    near(answer.volume.new_per_day().stored_bytes, new);
    near(answer.stored_bytes, 2_150_000.0 + 30.0 * new);
    near(answer.volume.index_bytes, (1_000.0 + 30.0 * 110.0) * 100.0 + (1_000.0 + 300.0) * 50.0);
    let traffic = &answer.traffic;
    near(traffic.requests.up_bytes_per_day, 400_000.0);
    near(traffic.requests.down_bytes_per_day, 300_000.0);
    near(traffic.downloads.down_bytes_per_day, 110.0 * 2_500.0);
    near(traffic.resent.down_bytes_per_day, 900.0 * 2_500.0 / 2.0);
    near(traffic.links.up_bytes_per_day, (10.0 + 20.0) * 50.0 * 0.25 * 20.0);
    near(traffic.replication.down_bytes_per_day, 2.0 * 1.5 * new);
    // A departure, and an arrival for it.
    near(traffic.repair.up_bytes_per_day, 2.0 * 3.0 * answer.stored_bytes / 100.0);
    near(traffic.upkeep.up_bytes_per_day, 10.0 * 10.0 * 1_440.0);
    near(answer.held_bytes, 3.0 * answer.stored_bytes / 10.0);
    // Three receivers, each with half of 10 Mbit/s.
    near(answer.durability.repair_days, answer.held_bytes * 8.0 / 3.0 / 5e6 / 86_400.0);
    near(answer.traffic.total().up_bits_per_s(10), answer.traffic.total().up_bytes_per_day / 10.0 * 8.0 / 86_400.0);
}

#[test]
fn every_input_of_a_preset_has_a_source() {
    for name in [
        "pages",
        "others-per-page",
        "page-size",
        "other-size",
        "changing",
        "others-changing",
        "growing",
        "links",
        "new-links",
        "gzip",
        "first",
        "version",
        "other",
        "index-size",
        "record-size",
        "months",
        "round-days",
        "fetchers",
        "request-size",
        "answer-size",
        "resent",
        "link-size",
        "leaving",
        "receivers",
        "copies",
        "nodes",
        "handed",
        "upkeep",
        "grace-hours",
        "disk",
        "fill",
        "up",
        "down",
        "stay-days",
        "session-hours",
        "absence-hours",
    ] {
        for preset in [Preset::Thesis, Preset::Today] {
            assert!(herodotus_plan::source(preset, name).is_some(), "{preset:?}: {name}");
        }
    }
    assert!(herodotus_plan::source(Preset::Thesis, "repair-days").is_some());
    assert!(herodotus_plan::source(Preset::Today, "repair-share").is_some());
}
