//! Many machines on one virtual time. One event at a time, in the order of time and then of making, so that a run follows from its
//! seed alone; every event goes into a hash that two runs of one seed share.
//!
//! Who drives a world lets it [`step`](World::step), reads what machines noted, and does harm in between.

use crate::chance::{Chance, mix};
use crate::clock::Clock;
use crate::network::Network;
use crate::node::{Node, Out};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

/// A machine that asks for a moment that has passed is woken after this all the same: a world must not stand still.
const WAKE_LATE: u64 = 10_000;
/// A machine that is down answers nothing, or its system says so after a round trip.
const REFUSALS_AFTER: f64 = 2.0;

#[derive(Debug)]
pub struct World<N: Node> {
    now: u64,
    /// Time, then order of making, then where in `events`.
    queue: BinaryHeap<Reverse<(u64, u64, u32)>>,
    events: Vec<Option<Event<N::Message>>>,
    free: Vec<u32>,
    made: u64,
    slots: Vec<Slot<N>>,
    pub network: Network,
    chance: Chance,
    notes: VecDeque<(usize, N::Note)>,
    trace: u64,
    counts: Counts,
}

#[derive(Debug)]
struct Slot<N> {
    node: Option<N>,
    clock: Clock,
    /// The moment in the queue at which it will be woken.
    wake: Option<u64>,
    /// It does nothing until then.
    stalled: u64,
    /// It was woken, did nothing about it and would be woken again for ever: not before then.
    rests: u64,
    /// While it is down, senders are told.
    refuses: bool,
    counts: Counts,
}

#[derive(Debug)]
enum Event<M> {
    Wake { slot: u32 },
    Deliver { from: u32, to: u32, message: M },
    Refuse { from: u32, message: M },
}

/// What went over the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub sent: u64,
    pub bytes: u64,
    pub delivered: u64,
    /// Machines that asked to be woken at a moment that had passed.
    pub past_wakes: u64,
}

impl<N: Node> World<N> {
    pub fn new(seed: u64, network: Network) -> Self {
        Self {
            now: 0,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            made: 0,
            slots: Vec::new(),
            network,
            chance: Chance::new(mix(seed)),
            notes: VecDeque::new(),
            trace: seed,
            counts: Counts::default(),
        }
    }

    /// True time since the beginning.
    pub fn now(&self) -> Duration {
        Duration::from_micros(self.now)
    }

    /// What every event so far hashes to.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    pub fn counts_of(&self, slot: usize) -> Counts {
        self.slots.get(slot).map_or(Counts::default(), |slot| slot.counts)
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The machine, unless it is down.
    pub fn node(&self, slot: usize) -> Option<&N> {
        self.slots.get(slot)?.node.as_ref()
    }

    /// All that are up.
    pub fn nodes(&self) -> impl Iterator<Item = (usize, &N)> {
        self.slots.iter().enumerate().filter_map(|(at, slot)| Some((at, slot.node.as_ref()?)))
    }

    pub fn take_note(&mut self) -> Option<(usize, N::Note)> {
        self.notes.pop_front()
    }

    /// A place for one more machine, down until it is started. Its clock begins anywhere.
    pub fn add(&mut self) -> usize {
        let shown = self.chance.draw() % 1_000_000_000_000;
        let clock = Clock::new(self.now, shown);
        self.slots.push(Slot {
            node: None,
            clock,
            wake: None,
            stalled: 0,
            rests: 0,
            refuses: false,
            counts: Counts::default(),
        });
        self.slots.len() - 1
    }

    /// Starts a machine where none is running.
    pub fn start(&mut self, slot: usize, node: N) {
        self.record(1, slot as u64);
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.node = Some(node);
            slot.stalled = 0;
        }
    }

    /// Stops it in the middle of whatever it does. `refuses`: its system lives, and tells senders that nobody is there.
    pub fn crash(&mut self, slot: usize, refuses: bool) -> Option<N> {
        self.record(2, slot as u64);
        let slot = self.slots.get_mut(slot)?;
        slot.refuses = refuses;
        slot.node.take()
    }

    /// Until then it neither hears nor does anything; afterwards all at once.
    pub fn stall(&mut self, slot: usize, time: Duration) {
        let until = self.now + micros(time);
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.stalled = until;
        }
    }

    /// How fast its clock goes, in millionths.
    pub fn set_clock_rate(&mut self, slot: usize, rate: u64) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.clock.set_rate(self.now, rate);
            slot.wake = None;
        }
        self.settle_wake(slot);
    }

    pub fn leap_clock(&mut self, slot: usize, by: Duration) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.clock.leap(self.now, by);
            slot.wake = None;
        }
        self.settle_wake(slot);
    }

    /// Does something with a machine that is up, at its own time, and sends what comes of it.
    pub fn act<R>(&mut self, slot: usize, act: impl FnOnce(&mut N, Duration) -> R) -> Option<R> {
        let at = self.slots.get_mut(slot)?;
        let now = at.clock.now(self.now);
        let out = act(at.node.as_mut()?, now);
        self.flush(slot);
        Some(out)
    }

    /// The next event, unless it comes after `until`; then time goes there. Says whether there was one.
    pub fn step(&mut self, until: Duration) -> bool {
        let end = micros(until);
        let Some(Reverse((at, _, place))) = self.queue.peek().copied().filter(|Reverse((at, ..))| *at <= end) else {
            self.now = self.now.max(end);
            return false;
        };
        self.queue.pop();
        self.now = at;
        let event = self.events.get_mut(place as usize).and_then(Option::take);
        self.free.push(place);
        match event {
            Some(Event::Wake { slot }) => self.wake(slot as usize, at),
            Some(Event::Deliver { from, to, message }) => self.deliver(from as usize, to as usize, message),
            Some(Event::Refuse { from, message }) => self.refuse(from as usize, message),
            None => {}
        }
        true
    }

    fn wake(&mut self, place: usize, at: u64) {
        let Some(slot) = self.slots.get_mut(place) else { return };
        if slot.wake != Some(at) {
            return;
        }
        slot.wake = None;
        if slot.stalled > at {
            let until = slot.stalled;
            return self.wake_at(place, until);
        }
        let now = slot.clock.now(at);
        let Some(node) = slot.node.as_mut() else { return };
        // It may have wanted this moment once, and no longer does.
        if node.poll_timeout().is_some_and(|due| due <= now) {
            node.handle_timeout(now);
            let is_past = node.poll_timeout().is_some_and(|due| due <= now);
            slot.counts.past_wakes += u64::from(is_past);
            slot.rests = if is_past { at + WAKE_LATE } else { 0 };
            self.counts.past_wakes += u64::from(is_past);
            self.record(3, place as u64);
        }
        self.flush(place);
    }

    fn deliver(&mut self, from: usize, to: usize, message: N::Message) {
        if !self.network.reaches(from, to) {
            return;
        }
        let now = self.now;
        let Some(slot) = self.slots.get_mut(to) else { return };
        if slot.stalled > now {
            let until = slot.stalled;
            return self.push(until, Event::Deliver { from: narrow(from), to: narrow(to), message });
        }
        let Some(node) = slot.node.as_mut() else {
            if slot.refuses {
                let back = micros(self.network.latency(from, to).mul_f64(REFUSALS_AFTER));
                self.push(now + back, Event::Refuse { from: narrow(from), message });
            }
            return;
        };
        let name = mix(N::fingerprint(&message) ^ (from as u64) << 32 ^ to as u64);
        node.handle_message(slot.clock.now(now), message);
        self.counts.delivered += 1;
        self.record(4, name);
        self.flush(to);
    }

    fn refuse(&mut self, from: usize, message: N::Message) {
        let Some(slot) = self.slots.get_mut(from) else { return };
        if let Some(node) = slot.node.as_mut().filter(|_| slot.stalled <= self.now) {
            node.handle_unreachable(slot.clock.now(self.now), &message);
            self.record(5, from as u64);
            self.flush(from);
        }
    }

    /// Sends and notes what a machine gave out, and sees when it wants to be woken.
    fn flush(&mut self, place: usize) {
        while let Some(out) = self.slots[place].node.as_mut().and_then(N::poll_output) {
            match out {
                Out::Note(note) => self.notes.push_back((place, note)),
                Out::Send { to, message, after } => self.send(place, to, message, after),
            }
        }
        self.settle_wake(place);
    }

    fn send(&mut self, from: usize, to: usize, message: N::Message, after: Duration) {
        if from != to {
            let bytes = N::bytes(&message) as u64;
            for counts in [&mut self.counts, &mut self.slots[from].counts] {
                counts.sent += 1;
                counts.bytes += bytes;
            }
        }
        if to >= self.slots.len() {
            return;
        }
        let [first, second] = self.network.carry(&mut self.chance, from, to);
        let start = self.now + micros(after);
        if let Some(time) = second {
            let message = message.clone();
            self.push(start + micros(time), Event::Deliver { from: narrow(from), to: narrow(to), message });
        }
        if let Some(time) = first {
            self.push(start + micros(time), Event::Deliver { from: narrow(from), to: narrow(to), message });
        }
    }

    fn settle_wake(&mut self, place: usize) {
        let Some(slot) = self.slots.get(place) else { return };
        let Some(due) = slot.node.as_ref().and_then(N::poll_timeout) else { return };
        let at = slot.clock.when(due).max(slot.stalled).max(slot.rests).max(self.now + 1);
        self.wake_at(place, at);
    }

    fn wake_at(&mut self, place: usize, at: u64) {
        let slot = &mut self.slots[place];
        // A wake that comes too soon is cheap and looks again; one that comes too late would be wrong.
        if slot.wake.is_none_or(|wake| at < wake) {
            slot.wake = Some(at);
            self.push(at, Event::Wake { slot: narrow(place) });
        }
    }

    fn push(&mut self, at: u64, event: Event<N::Message>) {
        self.made += 1;
        let place = match self.free.pop() {
            Some(place) => {
                self.events[place as usize] = Some(event);
                place
            }
            None => {
                self.events.push(Some(event));
                narrow(self.events.len() - 1)
            }
        };
        self.queue.push(Reverse((at, self.made, place)));
    }

    fn record(&mut self, kind: u64, name: u64) {
        self.trace = mix(self.trace ^ mix(self.now ^ kind << 56) ^ name.rotate_left(17));
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Worlds have fewer machines and events under way than that; more is a mistake of ours.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).expect("fewer than 2^32 machines and events")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Latency, Weather};

    /// Sends a number on to the next machine once a second, and notes what it hears.
    struct Echo {
        me: usize,
        next: Option<Duration>,
        out: VecDeque<Out<u64, u64>>,
    }

    impl Node for Echo {
        type Message = u64;
        type Note = u64;

        fn handle_message(&mut self, _: Duration, message: u64) {
            self.out.push_back(Out::Note(message));
        }

        fn handle_unreachable(&mut self, _: Duration, _: &u64) {
            self.out.push_back(Out::Note(u64::MAX));
        }

        fn handle_timeout(&mut self, now: Duration) {
            self.next = Some(now + Duration::from_secs(1));
            self.out.push_back(Out::Send { to: 1 - self.me, message: 7, after: Duration::ZERO });
        }

        fn poll_timeout(&self) -> Option<Duration> {
            self.next
        }

        fn poll_output(&mut self) -> Option<Out<u64, u64>> {
            self.out.pop_front()
        }

        fn bytes(_: &u64) -> usize {
            8
        }

        fn fingerprint(message: &u64) -> u64 {
            *message
        }
    }

    fn pair(seed: u64) -> World<Echo> {
        let latency = Latency::Even { min: Duration::from_millis(1), max: Duration::from_millis(50) };
        let weather = Weather { loss: 0.3, doubles: 0.3, held: 0.3, ..Weather::FAIR };
        let mut world = World::new(seed, Network::new(seed, latency).with_weather(weather));
        for me in 0..2 {
            let slot = world.add();
            world.start(slot, Echo { me, next: None, out: VecDeque::new() });
            world.act(slot, |echo, now| echo.next = Some(now));
        }
        world
    }

    fn run(world: &mut World<Echo>, seconds: u64) -> Vec<u64> {
        let until = world.now() + Duration::from_secs(seconds);
        while world.step(until) {}
        std::iter::from_fn(|| world.take_note()).map(|(_, note)| note).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_trace_and_another_gives_another() {
        let trace = |seed| {
            let mut world = pair(seed);
            run(&mut world, 100);
            (world.trace(), world.counts())
        };
        assert_eq!(trace(5), trace(5));
        assert_ne!(trace(5).0, trace(6).0);
    }

    #[test]
    fn a_machine_is_woken_by_its_own_clock() {
        let mut world = pair(1);
        world.network.weather = Weather::FAIR;
        world.set_clock_rate(1, 3_000_000);
        run(&mut world, 10);
        assert_eq!((world.counts_of(0).sent, world.counts_of(1).sent), (10, 30));
    }

    #[test]
    fn a_machine_that_is_down_hears_nothing_and_a_stalled_one_later() {
        let mut world = pair(1);
        world.network.weather = Weather::FAIR;
        run(&mut world, 10);
        world.crash(0, true);
        assert_eq!(run(&mut world, 10), [u64::MAX; 10]);
        world.crash(0, false);
        assert_eq!(run(&mut world, 10), [0u64; 0]);
        world.start(0, Echo { me: 0, next: None, out: VecDeque::new() });
        world.stall(0, Duration::from_secs(20));
        assert_eq!(run(&mut world, 15), [0u64; 0]);
        assert!(run(&mut world, 6).len() >= 20);
    }
}
