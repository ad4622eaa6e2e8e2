//! How many machines: the thesis's section 6.1.1, which asks only for disks, and the same question asked of bandwidth.

use crate::limits::NODES_MAX;
use crate::{DAYS_PER_MONTH, Error, Inputs, Repair, Result, Traffic, Volume};
use serde::Serialize;

/// What decides how many machines there must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Each copy lies on a machine of its own.
    Copies,
    Disk,
    /// What machines send.
    Up,
    /// What machines receive.
    Down,
    /// The share of bandwidth that repair may take.
    Repair,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Fleet {
    pub by_disk_count: u64,
    /// Nothing where no bandwidth is given, and bandwidth is not asked.
    pub by_up_count: Option<u64>,
    pub by_down_count: Option<u64>,
    pub by_repair_count: Option<u64>,
    pub needed_count: u64,
    pub decides: Bound,
    /// As many as there are said to be, or as many as are needed.
    pub planned_count: u64,
    /// When the disks of those are full; nothing if what is stored does not grow.
    pub months_until_full: Option<f64>,
}

impl Bound {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Copies => "the number of copies",
            Self::Disk => "disk",
            Self::Up => "what machines send",
            Self::Down => "what machines receive",
            Self::Repair => "bandwidth for repair",
        }
    }
}

impl Fleet {
    pub fn of(inputs: &Inputs, volume: &Volume) -> Result<Self> {
        let by_disk_count = by_disk(inputs, volume)?;
        let by_up_count = by_up(inputs, volume)?;
        let by_down_count = by_down(inputs, volume)?;
        let by_repair_count = by_repair(inputs, volume)?;
        let mut most = (u64::from(inputs.ring.copies_count), Bound::Copies);
        for (count, bound) in [
            (Some(by_disk_count), Bound::Disk),
            (by_up_count, Bound::Up),
            (by_down_count, Bound::Down),
            (by_repair_count, Bound::Repair),
        ] {
            if let Some(count) = count.filter(|count| *count > most.0) {
                most = (count, bound);
            }
        }
        let planned_count = inputs.ring.nodes_count.unwrap_or(most.0);
        Ok(Self {
            by_disk_count,
            by_up_count,
            by_down_count,
            by_repair_count,
            needed_count: most.0,
            decides: most.1,
            planned_count,
            months_until_full: months_until_full(inputs, volume, planned_count),
        })
    }
}

/// Of all copies, one machine's part when the months are over, if all parts are equal.
pub(crate) fn held_bytes(inputs: &Inputs, volume: &Volume, nodes_count: u64) -> f64 {
    volume.stored_bytes(inputs.crawl.months) * f64::from(inputs.ring.copies_count) / nodes_count.max(1) as f64
}

/// 6.1.1: all copies, over what a disk takes.
fn by_disk(inputs: &Inputs, volume: &Volume) -> Result<u64> {
    let count = (held_bytes(inputs, volume, 1) / room_bytes(inputs)).ceil();
    if count > NODES_MAX as f64 { Err(Error::TooManyNodes { what: Bound::Disk.as_str() }) } else { Ok(count as u64) }
}

fn room_bytes(inputs: &Inputs) -> f64 {
    inputs.machine.disk_bytes * inputs.machine.disk_fill_share
}

/// So many that each sends no more than it gives while it is there.
fn by_up(inputs: &Inputs, volume: &Volume) -> Result<Option<u64>> {
    let Some(given) = inputs.machine.up_bits_per_s.map(|rate| rate * inputs.machine.up_share()) else {
        return Ok(None);
    };
    check_upkeep(inputs, "sends", given)?;
    let fits = |nodes| Traffic::of(inputs, volume, nodes).total().up_bits_per_s(nodes) <= given;
    fewest(fits).map(Some).ok_or(Error::TooManyNodes { what: Bound::Up.as_str() })
}

fn by_down(inputs: &Inputs, volume: &Volume) -> Result<Option<u64>> {
    let Some(given) = inputs.machine.down_bits_per_s.map(|rate| rate * inputs.machine.up_share()) else {
        return Ok(None);
    };
    check_upkeep(inputs, "receives", given)?;
    let fits = |nodes| Traffic::of(inputs, volume, nodes).total().down_bits_per_s(nodes) <= given;
    fewest(fits).map(Some).ok_or(Error::TooManyNodes { what: Bound::Down.as_str() })
}

/// So many that machines do not leave and stay away faster than what they held is copied.
fn by_repair(inputs: &Inputs, volume: &Volume) -> Result<Option<u64>> {
    let (Repair::Share(share), Some(up), Some(down)) =
        (inputs.ring.repair, inputs.machine.up_bits_per_s, inputs.machine.down_bits_per_s)
    else {
        return Ok(None);
    };
    let given = up.min(down) * share;
    let fits = |nodes| Traffic::of(inputs, volume, nodes).mending().up_bits_per_s(nodes) <= given;
    fewest(fits).map(Some).ok_or(Error::TooManyNodes { what: Bound::Repair.as_str() })
}

/// Everything but upkeep becomes less for each where there are more.
fn check_upkeep(inputs: &Inputs, does: &'static str, given_bits_per_s: f64) -> Result<()> {
    let takes_bits_per_s = inputs.ring.upkeep_bytes_per_minute * 8.0 / 60.0;
    if takes_bits_per_s < given_bits_per_s {
        return Ok(());
    }
    Err(Error::Upkeep { does, takes_bits_per_s, given_bits_per_s })
}

/// The least number that fits, where all larger ones do too.
fn fewest(fits: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = 1;
    while !fits(high) {
        if high == NODES_MAX {
            return None;
        }
        high = (high * 2).min(NODES_MAX);
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

fn months_until_full(inputs: &Inputs, volume: &Volume, nodes_count: u64) -> Option<f64> {
    let room = room_bytes(inputs) * nodes_count as f64 / f64::from(inputs.ring.copies_count);
    let per_month = volume.new_per_day().stored_bytes * DAYS_PER_MONTH;
    let months = ((room - volume.snapshot().stored_bytes) / per_month).max(0.0);
    (per_month > 0.0 && months.is_finite()).then_some(months)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_that_fits_is_found() {
        for least in [1, 2, 3, 4, 5, 1_000, 1_023, 1_024, 1_025, NODES_MAX - 1, NODES_MAX] {
            assert_eq!(fewest(|n| n >= least), Some(least));
        }
        assert_eq!(fewest(|_| false), None);
    }
}
