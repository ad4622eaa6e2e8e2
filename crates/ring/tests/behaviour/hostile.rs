//! Peers that lie, forge and flood: what they say is checked, and what they cost is bounded.

use crate::circle::{Circle, config, contact, keyed};
use herodotus_base::{Id, PeerKey};
use herodotus_ring::{
    Answer, Body, Config, Contact, Envelope, Found, Identity, Neighbours, Notice, Output, Question, Ring,
};
use std::time::Duration;

const NOW: Duration = Duration::from_secs(1);

fn envelope(from: &Contact, to: &Ring, body: Body) -> Envelope {
    Envelope { to: to.me().id, from: from.clone(), nonce: 7, is_member: true, body }
}

/// The only node of a ring.
fn alone(me: Contact, config: Config) -> Ring {
    let mut ring = Ring::new(me, config);
    ring.begin_ring(Duration::ZERO);
    while ring.poll_output().is_some() {}
    ring
}

fn sent(ring: &mut Ring) -> Vec<(Contact, Body)> {
    std::iter::from_fn(|| ring.poll_output())
        .filter_map(|output| match output {
            Output::Send { to, envelope } => Some((to, envelope.body)),
            Output::Event(_) => None,
        })
        .collect()
}

#[test]
fn one_whose_place_does_not_follow_from_its_key_is_not_heard() {
    let mut ring = alone(keyed(1), Config::default());
    let forged = Contact { id: keyed(3).id, ..keyed(2) };
    let far = Contact::of_key(PeerKey([2; 32]), 64, Vec::new());
    let many = Contact { addresses: vec!["192.0.2.1:1".parse().unwrap(); 9], ..keyed(2) };
    for from in [forged, far, many] {
        let message = envelope(&from, &ring, Body::Tell(Notice::Here));
        ring.handle_message(NOW, message);
        let message = envelope(&from, &ring, Body::Ask(Question::Neighbours { known: 0 }));
        ring.handle_message(NOW, message);
        assert!(sent(&mut ring).is_empty() && ring.core().head().is_none() && ring.load().known == 0);
    }
    let message = envelope(&keyed(2), &ring, Body::Tell(Notice::Here));
    ring.handle_message(NOW, message);
    assert_eq!(ring.core().head(), Some(&keyed(2)));
}

#[test]
fn in_an_open_ring_a_place_follows_from_the_address() {
    let at = |address: &str, index: u16, id: Option<Id>| {
        let address: std::net::SocketAddr = address.parse().unwrap();
        let id = id.unwrap_or(Id::of_address(address.ip(), index));
        Contact { id, key: PeerKey([9; 32]), index, addresses: vec![address] }
    };
    let identity = Identity::Address { index_max: 4 };
    assert!(identity.allows(&at("192.0.2.1:1000", 3, None)));
    assert!(!identity.allows(&at("192.0.2.1:1000", 4, None)));
    assert!(!identity.allows(&at("192.0.2.1:1000", 0, Some(Id::small(1)))));
    assert!(!identity.allows(&Contact { addresses: Vec::new(), ..at("192.0.2.1:1000", 0, None) }));
}

#[test]
fn forged_contacts_in_a_list_are_left_out() {
    let mut ring = alone(keyed(1), Config::default());
    let message = envelope(&keyed(2), &ring, Body::Tell(Notice::Here));
    ring.handle_message(NOW, message);
    let asked = std::iter::from_fn(|| ring.poll_output()).find_map(|output| match output {
        Output::Send { envelope: Envelope { nonce, body: Body::Ask(_), .. }, .. } => Some(nonce),
        _ => None,
    });
    let forged = Contact { id: Id::small(77), ..keyed(3) };
    let successors = vec![forged.clone(), keyed(1)];
    let told = Neighbours { predecessor: Some(forged), successors, is_whole: true };
    let message =
        Envelope { nonce: asked.unwrap(), ..envelope(&keyed(2), &ring, Body::Answer(Answer::Neighbours(told))) };
    ring.handle_message(NOW, message);
    assert_eq!(ring.core().successors(), [keyed(2)]);
    assert!(sent(&mut ring).iter().all(|(to, _)| to.id == keyed(2).id));
}

#[test]
fn an_answer_that_was_not_asked_for_changes_nothing() {
    let circle = Circle::of(&[10, 50, 90, 130, 170], &config());
    let mut ring = circle.node(10).clone();
    let before = ring.core().clone();
    let told = Neighbours { predecessor: None, successors: vec![contact(20), contact(30)], is_whole: false };
    for nonce in 0..1000 {
        let body = Body::Answer(Answer::Neighbours(told.clone()));
        ring.handle_message(circle.now, Envelope { nonce, ..envelope(&contact(50), &ring, body) });
    }
    assert_eq!(*ring.core(), before);
}

#[test]
fn a_stranger_that_says_it_is_a_neighbour_is_asked_before_it_is_one() {
    let circle = Circle::of(&[10, 50, 90, 130, 170], &config());
    let mut ring = circle.node(10).clone();
    let before: Vec<_> = ring.core().successors().to_vec();
    let message = envelope(&contact(30), &ring, Body::Tell(Notice::Here));
    ring.handle_message(circle.now, message);
    assert_eq!(ring.core().successors(), before);
    assert!(sent(&mut ring).iter().any(|(to, body)| *to == contact(30) && matches!(body, Body::Ask(_))));
}

#[test]
fn a_stranger_that_leaves_takes_nobody_with_it() {
    let circle = Circle::of(&[10, 50, 90, 130, 170], &config());
    let mut ring = circle.node(10).clone();
    let before = ring.core().clone();
    let neighbours = Neighbours { predecessor: Some(contact(31)), successors: vec![contact(32)], is_whole: true };
    let message = envelope(&contact(30), &ring, Body::Ask(Question::Leaving { neighbours }));
    ring.handle_message(circle.now, message);
    assert_eq!(*ring.core(), before);
}

#[test]
fn a_successor_that_leaves_does_not_put_strangers_before_those_we_know() {
    let circle = Circle::of(&[10, 50, 90, 130, 170], &config());
    let mut ring = circle.node(10).clone();
    let strangers = (11..40).map(contact).collect();
    let neighbours = Neighbours { predecessor: None, successors: strangers, is_whole: false };
    let message = envelope(&contact(50), &ring, Body::Ask(Question::Leaving { neighbours }));
    ring.handle_message(circle.now, message);
    assert_eq!(ring.core().successors(), [90, 130].map(contact));
}

#[test]
fn a_flood_of_questions_and_invitations_is_bounded() {
    let config = Config { known_max: 64, ..config() };
    let circle = Circle::of(&[10, 50, 90, 130, 170], &config);
    let mut ring = circle.node(10).clone();
    let (mut pending, mut answers) = (0, 0);
    for n in 0..10_000u16 {
        // All of them between us and our successor, each nearer than the one before.
        let mut stranger = contact(11);
        stranger.id.0[1..3].copy_from_slice(&(u16::MAX - n).to_be_bytes());
        stranger.key.0[..2].copy_from_slice(&n.to_be_bytes());
        let bodies = [
            Body::Ask(Question::Find { key: Id::small(n.to_le_bytes()[0]) }),
            Body::Tell(Notice::Meet { contact: stranger.clone() }),
            Body::Tell(Notice::Here),
        ];
        for body in bodies {
            ring.handle_message(circle.now, envelope(&stranger, &ring, body));
        }
        answers += sent(&mut ring).iter().filter(|(_, body)| matches!(body, Body::Answer(_))).count();
        pending = pending.max(ring.load().pending);
        assert!(ring.load().known <= 64 && ring.load().lookups <= 2, "{:?}", ring.load());
    }
    assert_eq!(answers, 10_000);
    assert!(pending <= 64, "{pending} questions of ours were open");
    assert_eq!(ring.core().successors(), [50, 90, 130].map(contact));
}

#[test]
fn a_list_of_any_length_and_order_is_taken_in_without_harm() {
    let circle = Circle::of(&[10, 50, 90, 130, 170], &config());
    let mut ring = circle.node(10).clone();
    let mut now = circle.now;
    for round in 0..50u8 {
        now += Duration::from_secs(3);
        ring.handle_timeout(now);
        let asked: Vec<_> = std::iter::from_fn(|| ring.poll_output())
            .filter_map(|output| match output {
                Output::Send { to, envelope } => Some((to, envelope)),
                Output::Event(_) => None,
            })
            .collect();
        for (to, question) in asked {
            let list = (0..=255u8).map(|n| contact(n.wrapping_mul(round | 1)));
            let neighbours =
                Neighbours { predecessor: Some(contact(round)), successors: list.collect(), is_whole: round % 2 == 0 };
            let answer = match question.body {
                Body::Ask(Question::Find { .. }) => {
                    Answer::Found(Found { nearer: neighbours.successors.clone(), neighbours })
                }
                Body::Ask(_) => Answer::Neighbours(neighbours),
                Body::Answer(_) | Body::Tell(_) => continue,
            };
            ring.handle_message(now, Envelope { nonce: question.nonce, ..envelope(&to, &ring, Body::Answer(answer)) });
        }
        let ways: Vec<_> = ring.core().successors().iter().map(|other| ring.me().id.distance_to(other.id)).collect();
        assert!(ways.len() <= 3 && ways.is_sorted_by(|a, b| a < b));
    }
}
