//! What comes of a ring when faults stop: everybody asks in turn until nothing changes. A function of the cores alone.

use crate::world::{DEPTH, PLACES, at, contact, look_up};
use herodotus_base::Id;
use herodotus_ring::{Core, Duty, Notice, Planted};

/// The members, by place.
pub(crate) type Cores = [Option<Core>; PLACES];

/// Rounds in which five nodes must have become one ring. More than are ever needed: a ring that is not ideal by then never is.
const ROUNDS_MAX: usize = 24;

/// Whether members also look up their own place by way of each other, as those do that remember peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Probing {
    No,
    Yes,
}

/// Lets everybody stabilise in turn until nothing changes, nobody failing and nobody joining. Gives whether it came to rest.
pub(crate) fn mend(cores: &mut Cores, probing: Probing) -> bool {
    for _ in 0..ROUNDS_MAX {
        let before = cores.clone();
        for n in 0..PLACES {
            if probing == Probing::Yes {
                probe(cores, n);
            }
            check_predecessor(cores, n);
            stabilise(cores, n);
        }
        if *cores == before {
            return true;
        }
    }
    false
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mended {
    pub(crate) is_ideal: bool,
    /// Who says that its list is the whole is right, and nobody else's is.
    pub(crate) knows_whole: bool,
}

impl Mended {
    pub(crate) fn of(cores: &Cores, probing: Probing) -> Self {
        let mut cores = cores.clone();
        let rests = mend(&mut cores, probing);
        let count = cores.iter().flatten().count();
        let knows_whole = cores.iter().flatten().all(|core| core.is_whole() == (count <= DEPTH + 1));
        Self { is_ideal: rests && is_ideal(|n| cores[n].as_ref()), knows_whole }
    }
}

/// Every list, predecessor and beginning of an arc is what it should be.
pub(crate) fn is_ideal<'a>(core: impl Fn(usize) -> Option<&'a Core>) -> bool {
    let members: Vec<(usize, &Core)> = (0..PLACES).filter_map(|n| Some((n, core(n)?))).collect();
    members.iter().enumerate().all(|(rank, (n, core))| {
        let others = || (1..members.len()).map(|step| members[(rank + step) % members.len()].0);
        let before = others().next_back();
        core.successors().iter().map(|contact| at(contact.id)).eq(others().take(DEPTH))
            && core.predecessor().map(|contact| at(contact.id)) == before
            && at(core.arc().0) == before.unwrap_or(*n)
    })
}

/// The member that a key belongs to.
pub(crate) fn owner(cores: &Cores, key: Id) -> Option<usize> {
    (0..PLACES).filter(|n| cores[*n].is_some()).min_by_key(|n| key.distance_to(contact(*n).id))
}

/// A predecessor that does not ask is asked whether it lives.
fn check_predecessor(cores: &mut Cores, n: usize) {
    let before = cores[n].as_ref().and_then(|core| core.predecessor().cloned());
    if let Some(before) = before {
        doubt(cores, n, at(before.id));
    }
}

fn doubt(cores: &mut Cores, n: usize, other: usize) {
    if cores[other].is_none()
        && let Some(core) = &mut cores[n]
    {
        core.lose(contact(other).id);
    }
}

fn stabilise(cores: &mut Cores, n: usize) {
    let mut to = cores[n].as_ref().and_then(|core| core.head().map(|head| at(head.id)));
    // Each is nearer than the one before.
    for _ in 0..PLACES {
        let Some(other) = to.take() else { return };
        let told = cores[other].as_ref().map(Core::neighbours);
        let duty = cores[other].as_ref().and_then(|core| core.noticed(&contact(n)));
        ask_once(cores, other, duty);
        let Some(core) = &mut cores[n] else { return };
        match told {
            Some(told) => {
                let duties = core.stabilised(&contact(other), &told, |_| true);
                to = fulfil(cores, n, duties);
            }
            None => core.lose(contact(other).id),
        }
    }
}

/// Looks up its own place by way of everybody else, and enters there anew if all its successors died.
fn probe(cores: &mut Cores, n: usize) {
    for via in (0..PLACES).filter(|via| *via != n) {
        if cores[via].is_none() || cores[n].is_none() {
            continue;
        }
        let me = contact(n);
        let Some(verdict) = look_up(cores, via, me.id, Some(me.id)) else { continue };
        let Some(core) = &mut cores[n] else { continue };
        if core.is_stranded() {
            *core = Core::joined(me, DEPTH, &verdict.before, &verdict.told_to_newcomer(), Planted::Nothing);
            let duties = core.arrived(&verdict.before);
            fulfil(cores, n, duties);
            continue;
        }
        let duties = core.merged(&verdict.before, &verdict.owner, &verdict.owner_told);
        fulfil(cores, n, duties);
    }
}

/// Notices arrive at once; a question is given back.
fn fulfil(cores: &mut Cores, n: usize, duties: impl IntoIterator<Item = Duty>) -> Option<usize> {
    let mut to_ask = None;
    for duty in duties {
        match duty {
            Duty::Ask(other) => to_ask = Some(at(other.id)),
            Duty::Doubt(other) => doubt(cores, n, at(other.id)),
            Duty::Tell(other, Notice::Here) => {
                let to = at(other.id);
                let duty = cores[to].as_mut().and_then(|core| core.met(&contact(n)));
                ask_once(cores, to, duty);
            }
            // Everybody probes everybody here.
            Duty::Tell(_, Notice::Meet { .. }) => {}
        }
    }
    to_ask
}

/// What it hears is taken, and nobody else is asked or told for it.
fn ask_once(cores: &mut Cores, n: usize, duty: Option<Duty>) {
    let Some(Duty::Ask(other)) = duty else { return };
    let told = cores[at(other.id)].as_ref().map(Core::neighbours);
    if let (Some(core), Some(told)) = (&mut cores[n], told) {
        core.stabilised(&other, &told, |_| false);
    }
}
