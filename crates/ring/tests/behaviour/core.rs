//! The rules of [`Core`] by themselves: what the model checker found once, each as its own small case, and invariants under any calls at all.

use herodotus_base::{Id, PeerKey};
use herodotus_ring::{Contact, Core, Duty, Neighbours, Notice, Planted};
use proptest::prelude::*;

fn contact(place: u8) -> Contact {
    Contact { id: Id::small(place), key: PeerKey([place; 32]), index: 0, addresses: Vec::new() }
}

fn told(before: Option<u8>, after: &[u8], is_whole: bool) -> Neighbours {
    let successors = after.iter().map(|place| contact(*place)).collect();
    Neighbours { predecessor: before.map(contact), successors, is_whole }
}

/// A member with these neighbours.
fn member(me: u8, before: u8, after: &[u8], is_whole: bool) -> Core {
    Core::joined(contact(me), 2, &contact(before), &told(None, after, is_whole), Planted::Nothing)
}

fn list(core: &Core) -> Vec<u8> {
    core.successors().iter().map(|contact| contact.id.0[0]).collect()
}

#[test]
fn a_newcomer_takes_the_list_of_its_predecessor() {
    assert_eq!(list(&member(20, 10, &[30, 40, 50], false)), [30, 40]);
    let core = member(20, 10, &[], true);
    assert!(core.is_whole() && list(&core) == [10] && core.arc() == (Id::small(10), Id::small(20)));
}

#[test]
fn a_newcomer_leaves_out_the_dead_between_its_predecessor_and_itself() {
    // Else the list would end with the dead one, which is beyond all others seen from here.
    assert_eq!(list(&member(20, 10, &[15, 30, 40], false)), [30, 40]);
    assert_eq!(list(&member(20, 200, &[5, 30], true)), [30, 200]);
}

#[test]
fn in_a_small_ring_nobody_is_forgotten_on_hearsay() {
    let mut core = member(30, 20, &[10, 20], true);
    // It has not heard of anybody yet.
    let duties = core.stabilised(&contact(10), &told(None, &[], true), |_| true);
    assert_eq!(list(&core), [10, 20]);
    assert_eq!(duties, [Duty::Doubt(contact(20)), Duty::Tell(contact(10), Notice::Here)]);
    // It has heard of us only.
    core.stabilised(&contact(10), &told(Some(30), &[30], true), |_| true);
    assert!(core.is_whole() && list(&core) == [10, 20]);
    // Who is found dead goes.
    core.lose(Id::small(20));
    assert_eq!(list(&core), [10]);
}

#[test]
fn a_list_that_comes_round_to_us_is_the_whole() {
    let mut core = member(30, 20, &[10, 20], false);
    core.hear(&contact(10), &told(Some(30), &[20, 30], false));
    assert!(core.is_whole());
}

#[test]
fn the_whole_ends_where_the_list_is_full_and_nobody_unasked_makes_another_go() {
    let mut core = member(30, 20, &[10, 20], true);
    assert_eq!(core.met(&contact(50)), Some(Duty::Ask(contact(50))));
    assert!(!core.is_whole() && list(&core) == [10, 20]);
    core.stabilised(&contact(50), &told(Some(30), &[10, 20], false), |_| true);
    assert_eq!(list(&core), [50, 10]);
}

#[test]
fn a_nearer_successor_is_adopted_when_it_has_answered() {
    let mut core = member(30, 20, &[60, 80], false);
    let duties = core.stabilised(&contact(60), &told(Some(50), &[80, 90], false), |_| true);
    assert_eq!((duties, list(&core)), (vec![Duty::Ask(contact(50))], vec![60, 80]));
    let duties = core.stabilised(&contact(50), &told(Some(20), &[60, 80], false), |_| true);
    assert_eq!((duties, list(&core)), (vec![Duty::Tell(contact(50), Notice::Here)], vec![50, 60]));
}

#[test]
fn who_is_farther_than_our_successor_changes_nothing() {
    let mut core = member(30, 20, &[60, 80], false);
    let before = core.clone();
    core.hear(&contact(70), &told(Some(60), &[80], false));
    core.hear(&contact(30), &told(Some(60), &[80], false));
    assert_eq!(core, before);
}

#[test]
fn a_dead_predecessor_makes_room_for_one_that_is_farther() {
    let mut core = member(60, 50, &[80, 90], false);
    core.meet(&contact(40));
    assert_eq!(core.predecessor(), Some(&contact(50)));
    core.lose(Id::small(50));
    // What it owned is nobody's until somebody is there to say where it begins.
    assert_eq!((core.predecessor(), core.arc().0), (None, Id::small(50)));
    core.meet(&contact(40));
    assert_eq!((core.predecessor(), core.arc().0), (Some(&contact(40)), Id::small(40)));
}

#[test]
fn one_that_joins_behind_us_is_not_taken_for_our_predecessor() {
    let mut core = member(60, 50, &[80, 90], false);
    core.lose(Id::small(50));
    core.meet(&contact(70));
    assert_eq!((core.predecessor(), core.arc().0), (None, Id::small(50)));
}

#[test]
fn the_last_of_a_small_ring_owns_everything() {
    let mut core = member(60, 50, &[50], true);
    core.lose(Id::small(50));
    assert!(!core.is_stranded() && core.predecessor().is_none());
    assert!([0, 50, 60, 61, 255].into_iter().all(|place| core.owns(Id::small(place))));
}

#[test]
fn the_last_of_a_list_is_stranded() {
    let mut core = member(60, 50, &[80, 90], false);
    core.lose(Id::small(80));
    assert!(!core.is_stranded());
    core.lose(Id::small(90));
    assert!(core.is_stranded());
}

#[test]
fn a_list_holds_so_many_machines_however_many_nodes_they_are() {
    let twin = |place: u8, machine: u8| Contact { key: PeerKey([machine; 32]), ..contact(place) };
    let successors = vec![twin(20, 1), twin(30, 1), twin(40, 2), twin(50, 1), twin(60, 3)];
    let told = Neighbours { predecessor: None, successors, is_whole: false };
    let core = Core::joined(contact(10), 2, &contact(5), &told, Planted::Nothing);
    assert_eq!(list(&core), [20, 30, 40, 50]);
    assert_eq!(core.replicas(3).iter().map(|contact| contact.id.0[0]).collect::<Vec<_>>(), [10, 20, 40]);
}

#[derive(Clone, Debug)]
enum Call {
    Hear(u8, Neighbours),
    Met(u8),
    Lose(u8),
    Part(u8, Neighbours),
    Merged(u8, u8, Neighbours),
    Widen(Vec<u8>),
}

fn any_told() -> impl Strategy<Value = Neighbours> {
    (any::<Option<u8>>(), proptest::collection::vec(any::<u8>(), 0..6), any::<bool>())
        .prop_map(|(before, after, is_whole)| told(before, &after, is_whole))
}

fn any_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        (any::<u8>(), any_told()).prop_map(|(from, told)| Call::Hear(from, told)),
        any::<u8>().prop_map(Call::Met),
        any::<u8>().prop_map(Call::Lose),
        (any::<u8>(), any_told()).prop_map(|(from, told)| Call::Part(from, told)),
        (any::<u8>(), any::<u8>(), any_told()).prop_map(|(before, after, told)| Call::Merged(before, after, told)),
        proptest::collection::vec(any::<u8>(), 0..6).prop_map(Call::Widen),
    ]
}

proptest! {
    #[test]
    fn whatever_is_said_lists_stay_in_order_and_bounded(
        before in any::<u8>(),
        first in any_told(),
        depth in 0usize..5,
        calls in proptest::collection::vec(any_call(), 0..40),
    ) {
        let me = contact(100);
        prop_assume!(before != 100);
        let mut core = Core::joined(me.clone(), depth, &contact(before), &first, Planted::Nothing);
        for call in calls {
            match call {
                Call::Hear(from, told) => drop(core.stabilised(&contact(from), &told, |_| true)),
                Call::Met(from) => drop(core.met(&contact(from))),
                Call::Lose(id) => core.lose(Id::small(id)),
                Call::Part(from, told) => core.part(&contact(from), &told),
                Call::Merged(before, after, told) => drop(core.merged(&contact(before), &contact(after), &told)),
                Call::Widen(others) => {
                    let others: Vec<_> = others.into_iter().map(contact).collect();
                    core.widen(&others);
                }
            }
            let ways: Vec<_> = core.successors().iter().map(|other| me.id.distance_to(other.id)).collect();
            prop_assert!(ways.is_sorted_by(|a, b| a < b), "{:?}", core);
            prop_assert!(ways.len() <= depth.max(1), "{:?}", core);
            prop_assert!(core.successors().iter().chain(core.predecessor()).all(|other| other.id != me.id), "{:?}", core);
            if let Some(before) = core.predecessor() {
                prop_assert_eq!(core.arc(), (before.id, me.id));
            }
            prop_assert!(core.owns(me.id));
        }
    }
}
