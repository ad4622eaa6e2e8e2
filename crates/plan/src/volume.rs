//! How much there is: the thesis's section 3.2 and its table 3.2.

use crate::{DAYS_PER_MONTH, Inputs};
use serde::Serialize;
use std::ops::{Add, Mul};

/// Objects, as they are on the web and as they are on a disk. One copy.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct Amount {
    pub objects_count: f64,
    pub raw_bytes: f64,
    pub stored_bytes: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Volume {
    pub pages: Amount,
    pub others: Amount,
    pub pages_changed_per_day: Amount,
    pub pages_added_per_day: Amount,
    pub others_changed_per_day: Amount,
    pub others_added_per_day: Amount,
    /// Of what is stored in the end, the index and the crawl's memory of URLs; one copy.
    pub index_bytes: f64,
}

impl Amount {
    /// Objects of one kind: as many, of that size, of which a disk takes a share and some bytes beside.
    fn of(objects_count: f64, object_bytes: f64, stored_ratio: f64, beside_bytes: f64) -> Self {
        let raw_bytes = objects_count * object_bytes;
        Self { objects_count, raw_bytes, stored_bytes: raw_bytes * stored_ratio + objects_count * beside_bytes }
    }
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            objects_count: self.objects_count + other.objects_count,
            raw_bytes: self.raw_bytes + other.raw_bytes,
            stored_bytes: self.stored_bytes + other.stored_bytes,
        }
    }
}

impl Mul<f64> for Amount {
    type Output = Self;

    fn mul(self, times: f64) -> Self {
        Self {
            objects_count: self.objects_count * times,
            raw_bytes: self.raw_bytes * times,
            stored_bytes: self.stored_bytes * times,
        }
    }
}

impl Volume {
    /// Sections 3.2.1 and 3.2.2: objects times size times ratio; a share of them changes in a day, a share is added.
    pub fn of(inputs: &Inputs) -> Self {
        let (web, packing, days) = (&inputs.web, &inputs.packing, inputs.crawl.round_days);
        let first = packing.page_gzip_ratio * packing.page_first_of_gzip;
        let version = packing.page_gzip_ratio * packing.page_version_of_gzip;
        let index = packing.index_bytes_per_capture;
        let with_record = index + packing.record_bytes_per_url;
        let (pages, others) = (web.pages_count, web.others_count());
        let pages_changed = pages * found_share_per_day(web.pages_changed_share_per_day, days);
        let others_changed = others * found_share_per_day(web.others_changed_share_per_day, days);
        let added = web.added_share_per_day;
        let captures_per_day = pages_changed + others_changed + (pages + others) * added;
        let urls = (pages + others) * (1.0 + added * inputs.crawl.months * DAYS_PER_MONTH);
        let captures = pages + others + captures_per_day * inputs.crawl.months * DAYS_PER_MONTH;
        Self {
            pages: Amount::of(pages, web.page_bytes, first, with_record),
            others: Amount::of(others, web.other_bytes, packing.other_ratio, with_record),
            pages_changed_per_day: Amount::of(pages_changed, web.page_bytes, version, index),
            pages_added_per_day: Amount::of(pages * added, web.page_bytes, first, with_record),
            others_changed_per_day: Amount::of(others_changed, web.other_bytes, packing.other_ratio, index),
            others_added_per_day: Amount::of(others * added, web.other_bytes, packing.other_ratio, with_record),
            index_bytes: captures * index + urls * packing.record_bytes_per_url,
        }
    }

    /// Everything once.
    pub fn snapshot(&self) -> Amount {
        self.pages + self.others
    }

    pub fn pages_new_per_day(&self) -> Amount {
        self.pages_changed_per_day + self.pages_added_per_day
    }

    pub fn others_new_per_day(&self) -> Amount {
        self.others_changed_per_day + self.others_added_per_day
    }

    pub fn new_per_day(&self) -> Amount {
        self.pages_new_per_day() + self.others_new_per_day()
    }

    /// Section 6.1.1: the first crawl, and what each month adds. The web of the first day goes on growing by as much, not by more.
    pub fn stored_bytes(&self, months: f64) -> f64 {
        self.snapshot().stored_bytes + self.new_per_day().stored_bytes * DAYS_PER_MONTH * months
    }
}

/// Versions found per object and day when each is visited every so many days and changes on a day with this chance, whatever it
/// did before: what changes twice between two visits is found once. With daily visits this is the chance itself, as in the thesis.
fn found_share_per_day(changed_share_per_day: f64, round_days: f64) -> f64 {
    // Not 1 − (1 − c)^d, which is nothing but rounding errors where c is small.
    let found_share = -(round_days * (-changed_share_per_day).ln_1p()).exp_m1();
    found_share / round_days
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daily_visits_find_every_change_and_rarer_ones_fewer() {
        assert!((found_share_per_day(0.05, 1.0) - 0.05).abs() < 1e-15);
        assert!((found_share_per_day(0.05, 2.0) - (1.0 - 0.95f64.powi(2)) / 2.0).abs() < 1e-15);
        assert!((found_share_per_day(1e-12, 30.0) - 1e-12).abs() < 1e-20);
        assert_eq!(found_share_per_day(0.0, 30.0), 0.0);
        assert_eq!(found_share_per_day(1.0, 30.0), 1.0 / 30.0);
    }
}
