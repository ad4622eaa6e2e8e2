//! Pages, replay and every protocol over a ring: three other machines among which captures are spread, some held twice, some only
//! here, must answer byte for byte as one store that has them all. What one machine does not answer another does; what is false is
//! never shown; and what is here asks nobody.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod captures;
mod faults;
mod machines;
mod same;

use crate::common::Face;
use captures::Made;
use machines::Machines;
use std::sync::Arc;

/// A ring of four, seen from one of its machines, and one store with everything.
pub(crate) struct Ring {
    pub(crate) whole: Face,
    pub(crate) face: Face,
    pub(crate) machines: Arc<Machines>,
}

/// Where a capture lies: on this machine, and on which of the three others.
type Places = (bool, Vec<usize>);

impl Ring {
    pub(crate) fn new() -> Self {
        Self::of(captures::all(), captures::place, false, |_| {})
    }

    /// `change`: what is wrong with the machines from the beginning.
    pub(crate) fn of(
        made: Vec<Made>,
        place: impl Fn(usize, &Made) -> Places,
        redirects: bool,
        change: impl FnOnce(&mut Machines),
    ) -> Self {
        let whole = Face::with(
            |store| {
                made.iter().for_each(|made| made.put(store));
                store.seal().unwrap();
            },
            |site| site,
        );
        let mut machines = Machines::new(3, &whole.store);
        for (n, made) in made.iter().enumerate() {
            for machine in place(n, made).1 {
                made.put(machines.store(machine));
            }
        }
        machines.seal();
        change(&mut machines);
        let machines = Arc::new(machines);
        let fill = |store: &herodotus_store::Store| {
            for (_, made) in made.iter().enumerate().filter(|(n, made)| place(*n, made).0) {
                made.put(store);
            }
            store.seal().unwrap();
        };
        let face = Face::with(fill, |site| site.with_elsewhere(machines.clone(), redirects));
        Self { whole, face, machines }
    }
}
