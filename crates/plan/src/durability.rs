//! What is lost and what is out of reach: the thesis's section 6.1.3.
//!
//! The thesis's model, and no more: machines leave independently of each other, at a constant rate, and copies are made again in a
//! given time. It leaves out what kills many at once (a bug, a power cut, a law), rot, liars, what is acknowledged and not
//! yet copied, and what people remove. So its figures are bounds from below on what can go wrong.

use crate::{Inputs, Repair, SECONDS_PER_DAY};
use serde::Serialize;

/// Two neighbours fill a newcomer: 6.1.2.
const SOURCES: f64 = 2.0;

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Durability {
    /// From the moment a machine leaves until what it held has all its copies again.
    pub repair_days: f64,
    /// That, and the grace before it.
    pub exposed_days: f64,
    /// Of what a machine held that left, how much is lost since all other holders leave in those days.
    pub loss_share_per_departure: f64,
    /// Of the whole archive.
    pub loss_share_per_year: f64,
    /// In the months of the plan.
    pub loss_share: f64,
    /// How much is out of reach at a moment, since all holders are away.
    pub absent_share: f64,
    /// How long machines should stay so that none has to do with more than one filling at a time.
    pub stay_days_needed: f64,
}

/// What happens to a newcomer, and to those beside it: a whole disk is filled.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Filling {
    pub bytes: f64,
    pub days: f64,
    pub down_bits_per_s: f64,
    /// Of each of the two that it is filled from.
    pub up_bits_per_s: f64,
    /// With all that a machine can receive.
    pub days_at_least: Option<f64>,
}

impl Durability {
    pub fn of(inputs: &Inputs, held_bytes: f64) -> Self {
        let copies = inputs.ring.copies_count;
        let repair_days = repair_days(inputs, held_bytes);
        let exposed_days = repair_days + inputs.ring.grace_hours.unwrap_or(0.0) / 24.0;
        let loss_share_per_departure = loss_share_per_departure(copies, exposed_days, inputs.machine.stay_days);
        let per_year = losses_per_year(copies, inputs.machine.stay_days, loss_share_per_departure);
        Self {
            repair_days,
            exposed_days,
            loss_share_per_departure,
            loss_share_per_year: lost_share(per_year),
            loss_share: lost_share(per_year * inputs.crawl.months / 12.0),
            absent_share: (1.0 - inputs.machine.up_share()).powi(copies as i32),
            stay_days_needed: stay_days_needed(Filling::of(inputs).days),
        }
    }
}

impl Filling {
    /// 6.1.2: a disk in so many days, from two neighbours. The whole disk, although in the mean it is not full.
    pub fn of(inputs: &Inputs) -> Self {
        let machine = &inputs.machine;
        let bits = machine.disk_bytes * 8.0;
        let down_bits_per_s = match inputs.ring.repair {
            Repair::Days(days) => bits / (days * SECONDS_PER_DAY),
            Repair::Share(share) => {
                let up = machine.up_bits_per_s.map_or(f64::INFINITY, |rate| rate * SOURCES);
                up.min(machine.down_bits_per_s.unwrap_or(f64::INFINITY)) * share
            }
        };
        Self {
            bytes: machine.disk_bytes,
            days: bits / down_bits_per_s / SECONDS_PER_DAY,
            down_bits_per_s,
            up_bits_per_s: down_bits_per_s / SOURCES,
            days_at_least: machine.down_bits_per_s.map(|rate| bits / rate / SECONDS_PER_DAY),
        }
    }
}

/// Until what one machine held lies elsewhere. Its arcs each get another holder, so as many machines receive at once as there are copies.
pub(crate) fn repair_days(inputs: &Inputs, held_bytes: f64) -> f64 {
    let (share, machine) = match inputs.ring.repair {
        Repair::Days(days) => return days,
        Repair::Share(share) => (share, &inputs.machine),
    };
    let receivers = if inputs.ring.is_repair_spread { f64::from(inputs.ring.copies_count) } else { 1.0 };
    let up = machine.up_bits_per_s.unwrap_or(f64::INFINITY);
    let rate = up.min(machine.down_bits_per_s.unwrap_or(f64::INFINITY)) * share;
    held_bytes * 8.0 / receivers / rate / SECONDS_PER_DAY
}

/// 6.1.3: (60/360)^5. The chance that one machine leaves in those days is their share of a stay, which is a little more than
/// the 1 − e^−share of a constant rate, so it errs on the safe side.
fn loss_share_per_departure(copies: u32, exposed_days: f64, stay_days: f64) -> f64 {
    (exposed_days / stay_days).min(1.0).powi(copies as i32 - 1)
}

/// Not in the thesis, which stops at one departure: each of the holders leaves once in a stay, and any may be the first.
fn losses_per_year(copies: u32, stay_days: f64, loss_share_per_departure: f64) -> f64 {
    f64::from(copies) * 365.0 / stay_days * loss_share_per_departure
}

/// What is gone after so many losses in the mean.
fn lost_share(losses: f64) -> f64 {
    -(-losses).exp_m1()
}

/// 6.1.3: of three neighbours, one may be filled at a time; and a machine that is replaced means two fillings.
fn stay_days_needed(fill_days: f64) -> f64 {
    3.0 * 2.0 * fill_days
}
