//! What must be so in every state.

use crate::mend::{self, Cores, Mended, Probing};
use crate::world::{Action, DEPTH, PLACES, State, World, at, contact, look_up};
use herodotus_base::Id;
use herodotus_ring::Core;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

pub(crate) const LIVE_SUCCESSOR: &str = "every member has a live successor";
pub(crate) const LISTS_IN_ORDER: &str = "lists are in order, without doubles or oneself";
pub(crate) const ONE_RING: &str = "there is one ring, in order, and everybody reaches it";
pub(crate) const RIGHT_LOOKUPS: &str = "lookups in an ideal ring find the owner";
pub(crate) const KNOWS_WHOLE: &str = "when faults stop everybody knows whether its list is the whole";
pub(crate) const MENDS: &str = "when faults stop the ring becomes ideal";

impl stateright::Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.begin()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.possible(state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        self.after(state, &action)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        use stateright::Property;
        let mut all = vec![
            Property::always(LISTS_IN_ORDER, |_, state: &State| has_lists_in_order(state)),
            Property::always(RIGHT_LOOKUPS, |world: &World, state: &State| world.looks_up_rightly(state)),
            Property::always(MENDS, |world: &World, state: &State| world.mended(state).is_ideal),
            Property::always(KNOWS_WHOLE, |world: &World, state: &State| world.mended(state).knows_whole),
        ];
        // Who takes the living for dead is left by itself for a while; what must be so is that it does not stay so.
        if self.mistakes_max == 0 {
            all.push(Property::always(LIVE_SUCCESSOR, |_, state: &State| has_live_successors(state)));
            all.push(Property::always(ONE_RING, |_, state: &State| is_one_ring(state)));
        }
        all
    }
}

/// Somebody in its list lives; or it believes to know everybody, and is its own successor when they are dead. That it is
/// then not by itself beside a ring of others is for [`ONE_RING`] to see.
fn has_live_successors(state: &State) -> bool {
    let is_only = state.members().count() == 1;
    let has_one = |core: &Core| core.successors().iter().any(|contact| state.is_member(at(contact.id)));
    state.members().all(|(_, core)| is_only || core.is_whole() || has_one(core))
}

fn has_lists_in_order(state: &State) -> bool {
    state.members().all(|(n, core)| {
        let ways: Vec<_> = core.successors().iter().map(|other| contact(n).id.distance_to(other.id)).collect();
        ways.is_sorted_by(|a, b| a < b)
            && ways.len() <= DEPTH
            && core.successors().iter().chain(core.predecessor()).all(|other| at(other.id) != n)
    })
}

/// First live successors lead everybody into one circle, and once round it is once round the places.
fn is_one_ring(state: &State) -> bool {
    let next: [Option<usize>; PLACES] = std::array::from_fn(|n| {
        let list = state.core(n)?.successors();
        Some(list.iter().map(|contact| at(contact.id)).find(|other| state.is_member(*other)).unwrap_or(n))
    });
    let mut ring = None;
    state.members().all(|(n, _)| {
        let mut here = n;
        for _ in 0..PLACES {
            here = next[here].unwrap_or(here);
        }
        // Now it is on the circle. Its lowest place names it.
        let (mut lowest, mut turns, first) = (here, 0, here);
        loop {
            let to = next[here].unwrap_or(here);
            turns += usize::from(to <= here);
            lowest = lowest.min(to);
            here = to;
            if here == first {
                break;
            }
        }
        turns == 1 && *ring.get_or_insert(lowest) == lowest
    })
}

impl World {
    fn mended(&self, state: &State) -> Mended {
        let probing = if self.mistakes_max > 0 && self.remembers { Probing::Yes } else { Probing::No };
        remember(&self.mended, state, || Mended::of(&state.cores(), probing))
    }

    fn looks_up_rightly(&self, state: &State) -> bool {
        !mend::is_ideal(|n| state.core(n)) || remember(&self.looked_up, state, || finds_owners(&state.cores()))
    }
}

/// From everybody, for every place and for those just before, between and after.
fn finds_owners(cores: &Cores) -> bool {
    let keys = (0..PLACES).flat_map(|n| [0, 1, 25].map(|step| Id::small(contact(n).id.0[0] + step)));
    keys.chain([Id::ZERO]).all(|key| {
        (0..PLACES).filter(|from| cores[*from].is_some()).all(|from| {
            let owner = mend::owner(cores, key);
            look_up(cores, from, key, None).map(|verdict| at(verdict.owner.id)) == owner
        })
    })
}

/// What was judged of the same cores before, whatever is in flight.
fn remember<T: Copy>(memory: &Mutex<HashMap<u64, T>>, state: &State, judge: impl FnOnce() -> T) -> T {
    let mut hasher = DefaultHasher::new();
    state.members().for_each(|member| member.hash(&mut hasher));
    let name = hasher.finish();
    let known = memory.lock().expect("no judge panics").get(&name).copied();
    known.unwrap_or_else(|| {
        let verdict = judge();
        memory.lock().expect("no judge panics").insert(name, verdict);
        verdict
    })
}
