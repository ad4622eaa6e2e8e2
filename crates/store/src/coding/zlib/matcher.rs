//! Finding matches: hash chains over a sliding window, greedy for levels 1 to 3 and lazy for 4 to 9.
//!
//! zlib copies the input into a window of twice the window size and moves the upper half down when it runs out. Here the
//! window is a view into the input, but it moves at the very same moments, because they show in the output: the string at
//! the window's first byte is never matched, and a block whose start has left the window cannot be stored.

use super::Params;
use super::trees::{BlockWriter, MATCH_MAX, MATCH_MIN};

/// The window moves on when less than this is left to look at.
const LOOKAHEAD_MIN: usize = MATCH_MAX + MATCH_MIN + 1;
/// Lazy levels drop a match of three bytes from further away than this: three literals are likely shorter.
const SHORT_MATCH_DISTANCE_MAX: usize = 4096;
/// Of a window, in either chain table: no string. It costs the matches at the window's first byte.
const NONE: u16 = 0;

/// How hard to look, by level.
struct Effort {
    /// With a match this long at hand, look at a quarter of the chain only.
    good: usize,
    /// Lazy levels: with a match this long at hand, do not look for a better one. Greedy levels: strings inside a match
    /// longer than this are not inserted.
    lazy: usize,
    /// A match this long ends the search.
    nice: usize,
    /// Most strings to look at.
    chain: usize,
}

impl Effort {
    #[rustfmt::skip]
    fn of(level: u8) -> Self {
        let (good, lazy, nice, chain) = match level {
            1 => ( 4,   4,   8,    4),
            2 => ( 4,   5,  16,    8),
            3 => ( 4,   6,  32,   32),
            4 => ( 4,   4,  16,   16),
            5 => ( 8,  16,  32,   32),
            6 => ( 8,  16, 128,  128),
            7 => ( 8,  32, 128,  256),
            8 => (32, 128, 258, 1024),
            _ => (32, 258, 258, 4096),
        };
        Self { good, lazy, nice, chain }
    }
}

/// Makes all of `input` into blocks, or stops early when the writer wants no more.
pub(super) fn compress(input: &[u8], params: Params, blocks: &mut BlockWriter<'_>) {
    let mut matcher = Matcher {
        window: Window::new(input, params.window_bits),
        chains: Chains::new(params),
        effort: Effort::of(params.level),
        block_start: 0,
        blocks,
    };
    // `None` is the writer's wish to stop; it knows why.
    let _ = if params.level <= 3 { matcher.greedy() } else { matcher.lazy() };
}

struct Matcher<'i, 'b, 'e> {
    window: Window<'i>,
    chains: Chains,
    effort: Effort,
    /// In the input.
    block_start: usize,
    blocks: &'b mut BlockWriter<'e>,
}

impl Matcher<'_, '_, '_> {
    /// Takes the longest match at each place.
    fn greedy(&mut self) -> Option<()> {
        let mut at = 0;
        let mut view = self.window.view();
        loop {
            if view.len() - at < LOOKAHEAD_MIN {
                self.advance(&mut at);
                view = self.window.view();
                if at == view.len() {
                    break;
                }
            }
            let ahead = view.len() - at;
            let mut found = None;
            if ahead >= MATCH_MIN {
                let head = self.chains.insert(view, at);
                if self.window.reaches(head, at) {
                    found = self.longest(view, at, head, MATCH_MIN - 1);
                }
            }
            let full = if let Some(Match { len, distance }) = found {
                let full = self.blocks.push_match(len, distance);
                if len <= self.effort.lazy && ahead - len >= MATCH_MIN {
                    self.chains.insert_all(view, at + 1, len - 1);
                }
                at += len;
                full
            } else {
                at += 1;
                self.blocks.push_literal(view[at - 1])
            };
            if full {
                self.end_block(at, false)?;
            }
        }
        self.end_block(at, true)
    }

    /// Takes a match only when there is no longer one at the next byte.
    fn lazy(&mut self) -> Option<()> {
        let mut at = 0;
        let mut view = self.window.view();
        // What was found at the byte before, which is not yet written: a match, or that byte alone.
        let mut before: Option<Match> = None;
        let mut byte_before = false;
        loop {
            if view.len() - at < LOOKAHEAD_MIN {
                self.advance(&mut at);
                view = self.window.view();
                if at == view.len() {
                    break;
                }
            }
            let ahead = view.len() - at;
            let len_before = before.map_or(MATCH_MIN - 1, |m| m.len);
            let mut found = None;
            if ahead >= MATCH_MIN {
                let head = self.chains.insert(view, at);
                if len_before < self.effort.lazy && self.window.reaches(head, at) {
                    found = self.longest(view, at, head, len_before);
                    found = found.filter(|m| m.len > MATCH_MIN || m.distance <= SHORT_MATCH_DISTANCE_MAX);
                }
            }
            match before {
                // `longest` only finds what is longer than what is at hand.
                Some(Match { len, distance }) if found.is_none() => {
                    let full = self.blocks.push_match(len, distance);
                    // The strings at the byte before and at this one are in; the last two of the input never get in.
                    let end = at - 1 + len;
                    let insert_end = end.min((view.len() + 1).saturating_sub(MATCH_MIN));
                    self.chains.insert_all(view, at + 1, insert_end.saturating_sub(at + 1));
                    at = end;
                    before = None;
                    byte_before = false;
                    if full {
                        self.end_block(at, false)?;
                    }
                }
                _ => {
                    if byte_before && self.blocks.push_literal(view[at - 1]) {
                        self.end_block(at, false)?;
                    }
                    before = found;
                    byte_before = true;
                    at += 1;
                }
            }
        }
        if byte_before {
            // Even when this fills the block: what ends here is the last block.
            self.blocks.push_literal(view[at - 1]);
        }
        self.end_block(at, true)
    }

    /// The longest match at `at` that is longer than `len_min`, the nearest of equals, starting with the string `head`.
    fn longest(&self, view: &[u8], at: usize, head: u16, len_min: usize) -> Option<Match> {
        let here = &view[at..view.len().min(at + MATCH_MAX)];
        // zlib goes on comparing behind the end of the input and cuts the result; nothing longer can come of it.
        if len_min >= here.len() {
            return None;
        }
        let mut chain = if len_min >= self.effort.good { self.effort.chain / 4 } else { self.effort.chain };
        let nice = self.effort.nice.min(here.len());
        let limit = at.saturating_sub(self.window.distance_max);
        let mut best = None;
        let mut best_len = len_min;
        let start = pair(here, 0);
        let mut tail = pair(here, best_len - 1);
        let mut there = usize::from(head);
        loop {
            // Asked for before it is needed: the walk is bound by waiting for this.
            let before = usize::from(self.chains.before(there));
            // Most strings cannot be longer than the best so far, and that shows in the bytes at its end.
            if pair(view, there + best_len - 1) == tail && pair(view, there) == start {
                let len = common_prefix(here, &view[there..there + here.len()]);
                if len > best_len {
                    best = Some(Match { len, distance: at - there });
                    best_len = len;
                    if len >= nice {
                        break;
                    }
                    tail = pair(here, best_len - 1);
                }
            }
            there = before;
            chain -= 1;
            if there <= limit || chain == 0 {
                break;
            }
        }
        best
    }

    /// Moves the window on if it is time, which makes `at`, a place in the window, smaller.
    fn advance(&mut self, at: &mut usize) {
        if *at >= self.window.size + self.window.distance_max {
            *at -= self.window.size;
            self.window.start += self.window.size;
            self.chains.slide();
        }
    }

    fn end_block(&mut self, at: usize, last: bool) -> Option<()> {
        let end = self.window.start + at;
        let bytes = (self.block_start >= self.window.start).then(|| &self.window.input[self.block_start..end]);
        self.block_start = end;
        self.blocks.end_block(bytes, last).then_some(())
    }
}

#[derive(Clone, Copy)]
struct Match {
    len: usize,
    distance: usize,
}

/// Which part of the input zlib would have in its window.
struct Window<'i> {
    input: &'i [u8],
    start: usize,
    size: usize,
    distance_max: usize,
}

impl<'i> Window<'i> {
    fn new(input: &'i [u8], window_bits: u8) -> Self {
        let size = 1 << window_bits;
        Self { input, start: 0, size, distance_max: size - LOOKAHEAD_MIN }
    }

    fn view(&self) -> &'i [u8] {
        &self.input[self.start..self.input.len().min(self.start + 2 * self.size)]
    }

    fn reaches(&self, head: u16, at: usize) -> bool {
        head != NONE && at - usize::from(head) <= self.distance_max
    }
}

/// For each string of three bytes in the window, the places with the same hash, latest first. Places are relative to the
/// window's start, which keeps both tables small enough for the cache.
struct Chains {
    /// By hash. As large as the largest hash, so that no index needs a check.
    heads: Box<[u16; 1 << 16]>,
    /// By place, modulo window size: the place before in the same chain.
    befores: Box<[u16; 1 << 15]>,
    hash_mask: u16,
    hash_shift: u32,
    window_mask: usize,
}

impl Chains {
    fn new(params: Params) -> Self {
        let hash_bits = u32::from(params.mem_level) + 7;
        Self {
            heads: zeroed(),
            befores: zeroed(),
            hash_mask: ((1u32 << hash_bits) - 1) as u16,
            hash_shift: hash_bits.div_ceil(MATCH_MIN as u32),
            window_mask: (1 << params.window_bits) - 1,
        }
    }

    /// Inserts the string at `at`; the head of its chain until now.
    fn insert(&mut self, view: &[u8], at: usize) -> u16 {
        let string = &view[at..at + MATCH_MIN];
        let hash = string.iter().fold(0, |hash, byte| self.hash_with(hash, *byte));
        let before = std::mem::replace(&mut self.heads[usize::from(hash)], at as u16);
        self.befores[at & self.window_mask & 0x7fff] = before;
        before
    }

    /// Inserts the strings at `from` and the places behind it.
    fn insert_all(&mut self, view: &[u8], from: usize, count: usize) {
        if count == 0 {
            return;
        }
        let (first, rest) = view[from..from + count + MATCH_MIN - 1].split_at(MATCH_MIN - 1);
        let mut hash = first.iter().fold(0, |hash, byte| self.hash_with(hash, *byte));
        for (byte, at) in rest.iter().zip(from..) {
            hash = self.hash_with(hash, *byte);
            let before = std::mem::replace(&mut self.heads[usize::from(hash)], at as u16);
            self.befores[at & self.window_mask & 0x7fff] = before;
        }
    }

    /// Three of these shift all older bytes out, so that the hash is one of three bytes.
    #[inline]
    fn hash_with(&self, hash: u16, byte: u8) -> u16 {
        ((hash << self.hash_shift) ^ u16::from(byte)) & self.hash_mask
    }

    #[inline]
    fn before(&self, at: usize) -> u16 {
        self.befores[at & self.window_mask & 0x7fff]
    }

    /// Makes places relative to a window that starts one window size later.
    fn slide(&mut self) {
        let size = self.window_mask + 1;
        let heads = &mut self.heads[..=usize::from(self.hash_mask)];
        for place in heads.iter_mut().chain(&mut self.befores[..size]) {
            *place = place.saturating_sub(size as u16);
        }
    }
}

fn zeroed<const N: usize>() -> Box<[u16; N]> {
    // By way of a vector, which is zeroed where it lies and not on the stack first.
    vec![0; N].into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("it has that length"))
}

#[inline]
fn pair(bytes: &[u8], at: usize) -> u16 {
    let pair = &bytes[at..at + 2];
    u16::from_le_bytes([pair[0], pair[1]])
}

/// How many bytes two slices of one length have in common from their start.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (a_words, a_rest) = a.as_chunks::<8>();
    let (b_words, b_rest) = b.as_chunks::<8>();
    for (i, (a, b)) in a_words.iter().zip(b_words).enumerate() {
        let difference = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if difference != 0 {
            return 8 * i + difference.trailing_zeros() as usize / 8;
        }
    }
    8 * a_words.len() + a_rest.iter().zip(b_rest).take_while(|(a, b)| a == b).count()
}
