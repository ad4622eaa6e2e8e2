//! Every number that bounds a comparison, once, with its reason.

/// Pieces that an answer cuts an arc into: at some 11 bytes each they stay under 3 KB, and a few differences leave a hundredth to be read.
pub const PIECES_MAX: usize = 256;
/// Entries that are not cut further: their short ids cost no more than the pieces would.
pub const PIECE_ENTRIES_MIN: u64 = 64;
/// Spans in one question. No more come of one cutting.
pub const SPANS_MAX: usize = PIECES_MAX;
/// So many spans at most are cut once more; cutting more of them would gain a factor of less than four.
pub const SPANS_CUT_AGAIN_MAX: usize = 64;
/// Entries that are sketched without being cut once more: they are read in a tenth of a second.
pub const SKETCH_ENTRIES_FEW: u64 = 1 << 17;

/// The first symbols, with nothing known: they settle some eighty differences, and tell how many there are within an eighth.
pub const SYMBOLS_FIRST: u32 = 128;
/// Symbols in an answer: with 17 bytes each, more than one ever has, they fit into a call of 1 MiB.
pub const SYMBOLS_IN_ANSWER_MAX: u32 = 60_000;
/// Symbols held for one unit: 3 MB. What would need more is split.
pub const SYMBOLS_MAX: u32 = 1 << 17;
/// Differences that one sketch is to settle: their symbols come in one answer.
pub const SKETCH_DIFFERENCES_MAX: u64 = 1 << 15;
/// Differences that the parts of a split unit are to have: less than the most, since the parts come out uneven.
pub const SKETCH_DIFFERENCES_AIM: u64 = 26_000;
/// What a symbol costs on the wire, about, when a sketch is weighed against a list.
pub const SYMBOL_BYTES: u64 = 14;
/// What a short id costs.
pub const SHORT_BYTES: u64 = 8;

/// Short ids in one list: 800 KB.
pub const LIST_MAX: usize = 100_000;
/// Short ids that are asked for in one list: less than the most, since counts are of a moment ago and parts come out uneven.
pub const LIST_AIM: u64 = 70_000;
/// Short ids in one question for names: as names they take 49 bytes each at most, 800 KB.
pub const NAMES_MAX: usize = 1 << 14;
/// Entries that are confirmed in one go: as places with sums they take 61 bytes each at most, 1 MB.
pub const CONFIRMED_MAX: usize = 1 << 14;
/// Entries reported at once as lacking there after a list: 3 MB.
pub const FOUND_MAX: usize = 1 << 16;

/// Bits of a short id by which one place is parted: with all of them, two thousand million differences at one place.
pub const SHARE_BITS_MAX: u8 = 16;
/// Parts that a unit is split into at once; what is still too large is split again.
pub const PARTS_MAX: u64 = 64;
/// Times that a sketch starts over because the other side's entries changed between two answers.
pub const RESTARTS_MAX: u8 = 6;
/// Questions in one comparison: ten million differences take some 1,500. One that needs more goes on as a new comparison.
pub const QUESTIONS_MAX: u32 = 1 << 14;
/// Tasks that wait at once: each split leaves [`PARTS_MAX`] or [`PIECES_MAX`], some levels deep.
pub const TASKS_MAX: usize = 1 << 13;
