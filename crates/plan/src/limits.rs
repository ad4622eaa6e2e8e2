//! How large an input may be. Far beyond anything that will be archived, and small enough that no product of them leaves the
//! range of a 64-bit float (10^308): so nothing overflows, and no answer is infinite.

/// Pages: Google is said to know 10^11 or so.
pub const COUNT_MAX: f64 = 1e15;
/// An exabyte, for a file and for a disk.
pub const BYTES_MAX: f64 = 1e18;
/// A petabit a second.
pub const RATE_MAX: f64 = 1e15;
/// What there is of something on each page.
pub const PER_PAGE_MAX: f64 = 1e6;
/// A century.
pub const MONTHS_MAX: f64 = 1_200.0;
pub const DAYS_MAX: f64 = 36_500.0;
pub const HOURS_MAX: f64 = 24.0 * DAYS_MAX;
/// How many times its size something may take in another form.
pub const RATIO_MAX: f64 = 100.0;
/// The least that counts as more than nothing, so that quotients stay finite.
pub const POSITIVE_MIN: f64 = 1e-6;
/// Twice what a ring's list of successors could hold.
pub const COPIES_MAX: u32 = 64;
/// Machines: more than there are people, by far.
pub const NODES_MAX: u64 = 1_000_000_000_000;
/// Numbers of copies that are laid beside each other.
pub const COPIES_SHOWN_MAX: u32 = 8;
