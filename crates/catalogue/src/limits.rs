//! The catalogue's numbers, once, each with its reason.

/// Longest title kept: more than any list shows.
pub const TITLE_BYTES_MAX: usize = 512;

/// A title is looked for this far into a page: heads with inlined styles reach a hundred kilobytes.
pub const TITLE_WITHIN_BYTES_MAX: usize = 256 * 1024;

/// Words of a title that it is found by. Honest titles have ten; keyword lists are not worth more rows.
pub const WORDS_PER_TITLE_MAX: usize = 24;

/// The same for pairs of characters, in scripts that set no blanks between words: a title of forty characters.
pub const PAIRS_PER_TITLE_MAX: usize = 40;

/// Characters of a word; what follows is cut off, in titles and in questions.
pub const WORD_CHARS_MAX: usize = 32;

/// Bytes of a question that are looked at, and terms that are made of it.
pub const QUESTION_BYTES_MAX: usize = 512;
pub const TERMS_MAX: usize = 8;

/// Titles that one URL is found by, the newest. Some pages put a clock into theirs.
pub const TITLES_PER_URL_MAX: usize = 8;

/// Longest key of a URL that is catalogued: the engine's keys end at 64 KiB, and nobody looks for such pages by title.
pub const KEY_BYTES_MAX: usize = 4096;

/// Entries of the feed that are taken in one atomic step: what a crash makes us read again, and what waits in memory.
pub const STEP_ENTRIES: usize = 256;

/// Versions that are looked at for a title when the capture that gave one is removed.
pub const VERSIONS_AGAIN_MAX: usize = 16;

/// Postings of a term that are counted to find the rarest.
pub const PROBE_POSTINGS_MAX: usize = 1000;
/// Postings of the rarest term that are looked at: some ten milliseconds. They come shortest titles first.
pub const POSTINGS_MAX: usize = 10_000;
/// Titles that are read to see whether they fit, which costs some microseconds each, and that are then ranked.
pub const TITLES_READ_MAX: usize = 2000;
pub const CANDIDATES_MAX: usize = 500;
/// Answers to one question.
pub const FOUND_MAX: usize = 200;

/// Memory for blocks read lately, for what is gathered before it is written in order, and the journal that backs it.
pub(crate) const CACHE_BYTES: u64 = 16 << 20;
pub(crate) const BUFFER_BYTES: u64 = 8 << 20;
pub(crate) const JOURNAL_BYTES: u64 = 64 << 20;
