//! From symbols to bits: gathers the literals and matches of a block, builds its Huffman codes, and writes it stored, with
//! the fixed codes, or with its own, whichever zlib holds to be shortest.
//!
//! Which of several optimal codes comes out depends on the order in which ties are broken, here as in zlib: a binary heap
//! ordered by frequency, then by depth, filled in order of symbols; overlong codes are mended as zlib mends them.

pub(super) const MATCH_MIN: usize = 3;
pub(super) const MATCH_MAX: usize = 258;

pub(super) const END_OF_BLOCK: usize = 256;
const LENGTH_CODES: usize = 29;
const LITERAL_CODES: usize = END_OF_BLOCK + 1 + LENGTH_CODES;
const DISTANCE_CODES: usize = 30;
/// The codes that code lengths are written with.
const LENGTH_LENGTH_CODES: usize = 19;
/// Nodes of the largest tree.
const NODES_MAX: usize = 2 * LITERAL_CODES + 1;
const CODE_BITS_MAX: usize = 15;

const REPEAT_3_TO_6: usize = 16;
const ZEROS_3_TO_10: usize = 17;
const ZEROS_11_TO_138: usize = 18;

/// The order in which the lengths of [`LENGTH_LENGTH_CODES`] are written: those likely to be missing come last.
pub(super) const LENGTH_LENGTH_ORDER: [usize; LENGTH_LENGTH_CODES] =
    [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

pub(super) const LENGTH_EXTRA_BITS: [u8; LENGTH_CODES] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
pub(super) const DISTANCE_EXTRA_BITS: [u8; DISTANCE_CODES] =
    [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const LENGTH_LENGTH_EXTRA_BITS: [u8; LENGTH_LENGTH_CODES] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 7];

/// By length less [`MATCH_MIN`]. The longest has a code of its own.
static LENGTH_CODE: [u8; 256] = {
    let mut codes = [0; 256];
    let (mut code, mut length) = (0, 0);
    while code < LENGTH_CODES - 1 {
        let end = length + (1 << LENGTH_EXTRA_BITS[code]);
        while length < end {
            codes[length] = code as u8;
            length += 1;
        }
        code += 1;
    }
    codes[255] = LENGTH_CODES as u8 - 1;
    codes
};

/// By distance less one where that is below 256, and by 256 more than its 128th part otherwise.
static DISTANCE_CODE: [u8; 512] = {
    let mut codes = [0; 512];
    let (mut code, mut distance) = (0, 0);
    while code < DISTANCE_CODES {
        let end = distance + (1 << DISTANCE_EXTRA_BITS[code]);
        while distance < end {
            codes[if distance < 256 { distance } else { 256 + (distance >> 7) }] = code as u8;
            distance += if distance < 256 { 1 } else { 128 };
        }
        code += 1;
    }
    codes
};

/// Smallest length less [`MATCH_MIN`] of each code.
pub(super) static LENGTH_BASE: [u16; LENGTH_CODES] = {
    let mut bases = bases(&LENGTH_EXTRA_BITS);
    bases[LENGTH_CODES - 1] = MATCH_MAX as u16 - MATCH_MIN as u16;
    bases
};
/// Smallest distance less one of each code.
pub(super) static DISTANCE_BASE: [u16; DISTANCE_CODES] = bases(&DISTANCE_EXTRA_BITS);

const fn bases<const N: usize>(extra_bits: &[u8; N]) -> [u16; N] {
    let mut bases = [0; N];
    let mut code = 1;
    while code < N {
        bases[code] = bases[code - 1] + (1 << extra_bits[code - 1]);
        code += 1;
    }
    bases
}

/// Two more than exist, which the fixed code is defined with.
pub(super) static FIXED_LITERALS: [Code; LITERAL_CODES + 2] = {
    let mut codes = [Code { bits: 0, len: 8 }; LITERAL_CODES + 2];
    let mut symbol = 144;
    while symbol < 280 {
        codes[symbol].len = if symbol < 256 { 9 } else { 7 };
        symbol += 1;
    }
    assign_bits(&mut codes);
    codes
};
pub(super) static FIXED_DISTANCES: [Code; DISTANCE_CODES] = {
    let mut codes = [Code { bits: 0, len: 5 }; DISTANCE_CODES];
    assign_bits(&mut codes);
    codes
};

#[derive(Clone, Copy, Default)]
pub(super) struct Code {
    /// First bit lowest, as they are written.
    bits: u16,
    /// 0: not used.
    pub(super) len: u8,
}

/// Gives each symbol that has a length its bits: counting up, shorter lengths first.
const fn assign_bits(codes: &mut [Code]) {
    let mut counts = [0u16; CODE_BITS_MAX + 1];
    let mut symbol = 0;
    while symbol < codes.len() {
        counts[codes[symbol].len as usize] += 1;
        symbol += 1;
    }
    counts[0] = 0;
    let mut next = [0u16; CODE_BITS_MAX + 1];
    let mut len = 1;
    while len <= CODE_BITS_MAX {
        // What does not fit would belong to a length that no symbol has.
        next[len] = next[len - 1].wrapping_add(counts[len - 1]) << 1;
        len += 1;
    }
    symbol = 0;
    while symbol < codes.len() {
        let len = codes[symbol].len as usize;
        if len > 0 {
            codes[symbol].bits = next[len].reverse_bits() >> (16 - len);
            next[len] = next[len].wrapping_add(1);
        }
        symbol += 1;
    }
}

/// Distance (0: a literal), then length less [`MATCH_MIN`] or literal.
pub(crate) type Symbol = (u16, u8);

/// Gathers symbols, and writes them block by block.
pub(super) struct BlockWriter<'e> {
    symbols: Vec<Symbol>,
    symbols_max: usize,
    literals: [u16; LITERAL_CODES],
    distances: [u16; DISTANCE_CODES],
    bits: BitWriter,
    /// What is still to come, where the result is only compared.
    expected: Option<&'e [u8]>,
    /// How the first block is expected to start, which tells early.
    expected_symbols: &'e [Symbol],
    as_expected: bool,
}

impl<'e> BlockWriter<'e> {
    pub(super) fn new(symbols_max: usize, expected: Option<&'e [u8]>) -> Self {
        Self {
            symbols: Vec::with_capacity(symbols_max),
            symbols_max,
            literals: [0; LITERAL_CODES],
            distances: [0; DISTANCE_CODES],
            bits: BitWriter::default(),
            expected,
            expected_symbols: &[],
            as_expected: true,
        }
    }

    /// The same, told how the first block is expected to start.
    pub(super) fn starting_with(self, expected_symbols: &'e [Symbol]) -> Self {
        Self { expected_symbols, ..self }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bits.bytes
    }

    /// Once all blocks are written: whether they are what was expected, all of it.
    pub(super) fn made_all_expected(&self) -> bool {
        self.as_expected && self.expected.is_none_or(<[u8]>::is_empty)
    }

    /// Whether the block must now be ended: it is full, or not what was expected.
    #[inline]
    pub(super) fn push_literal(&mut self, literal: u8) -> bool {
        self.literals[usize::from(literal)] += 1;
        self.push((0, literal))
    }

    /// Whether the block must now be ended: it is full, or not what was expected.
    #[inline]
    pub(super) fn push_match(&mut self, len: usize, distance: usize) -> bool {
        let len = (len - MATCH_MIN) as u8;
        self.literals[END_OF_BLOCK + 1 + usize::from(LENGTH_CODE[usize::from(len)])] += 1;
        self.distances[distance_code(distance as u16 - 1)] += 1;
        self.push((distance as u16, len))
    }

    #[inline]
    fn push(&mut self, symbol: Symbol) -> bool {
        if self.expected_symbols.get(self.symbols.len()).is_some_and(|expected| *expected != symbol) {
            self.as_expected = false;
            return true;
        }
        self.symbols.push(symbol);
        self.symbols.len() >= self.symbols_max
    }

    /// Writes what was pushed since the last block. `bytes` is what it stands for, if zlib still had it in its window.
    /// Whether to go on: not if this is not what was expected.
    pub(super) fn end_block(&mut self, bytes: Option<&[u8]>, last: bool) -> bool {
        if !self.as_expected {
            return false;
        }
        self.expected_symbols = &[];
        self.literals[END_OF_BLOCK] = 1;
        let literals = Tree::build(&LITERAL_SHAPE, &mut self.literals);
        let distances = Tree::build(&DISTANCE_SHAPE, &mut self.distances);
        let own = OwnCodes::new(&literals, &distances);
        // In bytes, with the three bits of the header.
        let own_bytes = (own.bits + literals.bits + distances.bits + 3).div_ceil(8);
        let fixed_bytes = (literals.fixed_bits + distances.fixed_bits + 3).div_ceil(8);

        let coded_bytes = own_bytes.min(fixed_bytes);
        let last_bit = u32::from(last);
        match bytes {
            // Two words for the lengths.
            Some(bytes) if bytes.len() as u64 + 4 <= coded_bytes => {
                self.bits.put(last_bit, 3);
                self.bits.put_stored(bytes);
            }
            _ if fixed_bytes <= own_bytes => {
                self.bits.put(2 + last_bit, 3);
                self.bits.put_symbols(&self.symbols, &FIXED_LITERALS, &FIXED_DISTANCES);
            }
            _ => {
                self.bits.put(4 + last_bit, 3);
                own.write(&literals, &distances, &mut self.bits);
                self.bits.put_symbols(&self.symbols, &literals.codes, &distances.codes);
            }
        }
        if last {
            self.bits.align();
        }
        self.symbols.clear();
        self.literals.fill(0);
        self.distances.fill(0);
        self.compare()
    }

    fn compare(&mut self) -> bool {
        if let Some(expected) = self.expected {
            self.bits.drain_whole_bytes();
            match expected.strip_prefix(&self.bits.bytes[..]) {
                Some(rest) => self.expected = Some(rest),
                None => self.as_expected = false,
            }
            self.bits.bytes.clear();
        }
        self.as_expected
    }
}

#[inline]
fn distance_code(less_one: u16) -> usize {
    let place = if less_one < 256 { less_one } else { 256 + (less_one >> 7) };
    usize::from(DISTANCE_CODE[usize::from(place)])
}

/// What kind of symbols a tree is for.
struct Shape {
    /// Of the symbols from `extra_from` on.
    extra_bits: &'static [u8],
    extra_from: usize,
    /// Empty: there is no fixed code for these.
    fixed: &'static [Code],
    code_bits_max: usize,
}

static LITERAL_SHAPE: Shape = Shape {
    extra_bits: &LENGTH_EXTRA_BITS,
    extra_from: END_OF_BLOCK + 1,
    fixed: &FIXED_LITERALS,
    code_bits_max: CODE_BITS_MAX,
};
static DISTANCE_SHAPE: Shape =
    Shape { extra_bits: &DISTANCE_EXTRA_BITS, extra_from: 0, fixed: &FIXED_DISTANCES, code_bits_max: CODE_BITS_MAX };
static LENGTH_LENGTH_SHAPE: Shape =
    Shape { extra_bits: &LENGTH_LENGTH_EXTRA_BITS, extra_from: 0, fixed: &[], code_bits_max: 7 };

/// The code for `N` symbols that is best for their frequencies, and what it costs.
struct Tree<const N: usize> {
    codes: [Code; N],
    /// Symbols up to the last that is used.
    used: usize,
    /// All symbols and their extra bits in this code, and in the fixed one.
    bits: u64,
    fixed_bits: u64,
}

impl<const N: usize> Tree<N> {
    fn build(shape: &Shape, frequencies: &mut [u16; N]) -> Self {
        let mut heap = Heap::new();
        let mut used = 0;
        for (symbol, frequency) in frequencies.iter().enumerate() {
            if *frequency > 0 {
                heap.append(symbol, u32::from(*frequency), 0);
                used = symbol + 1;
            }
        }
        // A tree has at least two leaves, so that each has a bit. What is added for that is not counted.
        let mut added = [None; 2];
        for added in &mut added[..2usize.saturating_sub(heap.len)] {
            let symbol = if used < 3 { used } else { 0 };
            used = used.max(symbol + 1);
            heap.append(symbol, 1, 0);
            frequencies[symbol] = 1;
            *added = Some(symbol);
        }
        heap.establish();

        // Combines the two rarest nodes again and again.
        let mut parents = [0u16; NODES_MAX];
        let mut by_frequency = [0u16; NODES_MAX];
        let mut nodes = 0;
        let mut parent = N;
        loop {
            let (rarest, next) = heap.pop_two();
            by_frequency[nodes] = rarest;
            by_frequency[nodes + 1] = next;
            nodes += 2;
            parents[usize::from(rarest)] = parent as u16;
            parents[usize::from(next)] = parent as u16;
            heap.replace_first(parent, rarest, next);
            parent += 1;
            if heap.len < 2 {
                break;
            }
        }
        let root = parent - 1;

        let mut lens = [0u8; NODES_MAX];
        let by_frequency = &by_frequency[..nodes];
        code_lengths(shape, by_frequency, &parents, root, &mut lens, N);

        let mut tree = Self { codes: [Code::default(); N], used, bits: 0, fixed_bits: 0 };
        for (symbol, frequency) in frequencies.iter().enumerate() {
            tree.codes[symbol].len = lens[symbol];
            let extra = symbol.checked_sub(shape.extra_from).map_or(0, |i| shape.extra_bits[i]);
            let fixed = shape.fixed.get(symbol).map_or(0, |c| c.len);
            tree.bits += u64::from(*frequency) * u64::from(lens[symbol] + extra);
            tree.fixed_bits += u64::from(*frequency) * u64::from(fixed + extra);
        }
        for symbol in added.into_iter().flatten() {
            tree.bits -= 1;
            tree.fixed_bits -= u64::from(shape.fixed.get(symbol).map_or(0, |c| c.len));
        }
        assign_bits(&mut tree.codes);
        tree
    }
}

/// Lengths by depth, where too long ones are shortened at the cost of rare shorter ones. Nodes from `leaves` on are inner
/// ones.
fn code_lengths(
    shape: &Shape,
    by_frequency: &[u16],
    parents: &[u16; NODES_MAX],
    root: usize,
    lens: &mut [u8; NODES_MAX],
    leaves: usize,
) {
    let len_max = shape.code_bits_max;
    let mut counts = [0usize; CODE_BITS_MAX + 1];
    let mut too_long = 0usize;
    lens[root] = 0;
    for &node in by_frequency.iter().rev() {
        let node = usize::from(node);
        let mut len = usize::from(lens[usize::from(parents[node])]) + 1;
        if len > len_max {
            len = len_max;
            too_long += 1;
        }
        lens[node] = len as u8;
        if node < leaves {
            counts[len] += 1;
        }
    }
    if too_long == 0 {
        return;
    }
    // Each time, a leaf moves down to make room for two, one of the overlong ones beside it.
    while too_long > 0 {
        let mut len = len_max - 1;
        while counts[len] == 0 {
            len -= 1;
        }
        counts[len] -= 1;
        counts[len + 1] += 2;
        counts[len_max] -= 1;
        too_long = too_long.saturating_sub(2);
    }
    let mut rarest_leaves = by_frequency.iter().map(|n| usize::from(*n)).filter(|n| *n < leaves);
    for len in (1..=len_max).rev() {
        for leaf in rarest_leaves.by_ref().take(counts[len]) {
            lens[leaf] = len as u8;
        }
    }
}

/// A binary heap, rarest node first. Which of equal nodes comes first is part of zlib's format, so to say: hence not the
/// standard library's heap.
struct Heap {
    /// From 1 on; the children of `i` are `2 * i` and `2 * i + 1`.
    nodes: [u16; NODES_MAX],
    len: usize,
    /// By node: frequency, then depth in the lowest eight bits.
    keys: [u32; NODES_MAX],
}

impl Heap {
    fn new() -> Self {
        Self { nodes: [0; NODES_MAX], len: 0, keys: [0; NODES_MAX] }
    }

    /// Not in order until [`Self::establish`].
    fn append(&mut self, node: usize, frequency: u32, depth: u32) {
        self.len += 1;
        self.nodes[self.len] = node as u16;
        self.keys[node] = frequency << 8 | depth;
    }

    fn establish(&mut self) {
        for i in (1..=self.len / 2).rev() {
            self.sift_down(i);
        }
    }

    /// Takes the rarest out and leaves the next in its place.
    fn pop_two(&mut self) -> (u16, u16) {
        let rarest = self.nodes[1];
        self.nodes[1] = self.nodes[self.len];
        self.len -= 1;
        self.sift_down(1);
        (rarest, self.nodes[1])
    }

    /// Puts the parent of two nodes where the second of them is.
    fn replace_first(&mut self, parent: usize, a: u16, b: u16) {
        let (a, b) = (self.keys[usize::from(a)], self.keys[usize::from(b)]);
        let depth = (a & 0xff).max(b & 0xff) + 1;
        self.keys[parent] = ((a >> 8) + (b >> 8)) << 8 | depth;
        self.nodes[1] = parent as u16;
        self.sift_down(1);
    }

    fn sift_down(&mut self, mut i: usize) {
        let node = self.nodes[i];
        let key = self.keys[usize::from(node)];
        let key_at = |nodes: &[u16; NODES_MAX], i: usize| self.keys[usize::from(nodes[i])];
        let mut child = 2 * i;
        while child <= self.len {
            if child < self.len && key_at(&self.nodes, child + 1) <= key_at(&self.nodes, child) {
                child += 1;
            }
            if key <= key_at(&self.nodes, child) {
                break;
            }
            self.nodes[i] = self.nodes[child];
            i = child;
            child *= 2;
        }
        self.nodes[i] = node;
    }
}

/// How a block's own codes are written at its start.
struct OwnCodes {
    lengths: Tree<LENGTH_LENGTH_CODES>,
    /// How many of [`LENGTH_LENGTH_ORDER`] are written.
    count: usize,
    bits: u64,
}

impl OwnCodes {
    fn new(literals: &Tree<LITERAL_CODES>, distances: &Tree<DISTANCE_CODES>) -> Self {
        let mut frequencies = [0; LENGTH_LENGTH_CODES];
        let mut count = |symbol: usize, _, _| frequencies[symbol] += 1;
        run_lengths(&literals.codes[..literals.used], &mut count);
        run_lengths(&distances.codes[..distances.used], &mut count);
        let lengths = Tree::build(&LENGTH_LENGTH_SHAPE, &mut frequencies);
        let unused = LENGTH_LENGTH_ORDER[4..].iter().rev().take_while(|s| lengths.codes[**s].len == 0).count();
        let count = LENGTH_LENGTH_CODES - unused;
        let bits = lengths.bits + 3 * count as u64 + 5 + 5 + 4;
        Self { lengths, count, bits }
    }

    fn write(&self, literals: &Tree<LITERAL_CODES>, distances: &Tree<DISTANCE_CODES>, out: &mut BitWriter) {
        out.put(literals.used as u32 - 257, 5);
        out.put(distances.used as u32 - 1, 5);
        out.put(self.count as u32 - 4, 4);
        for symbol in &LENGTH_LENGTH_ORDER[..self.count] {
            out.put(self.lengths.codes[*symbol].len.into(), 3);
        }
        let mut write = |symbol: usize, extra: usize, extra_bits: u32| {
            let Code { bits, len } = self.lengths.codes[symbol];
            out.put(u32::from(bits) | (extra as u32) << len, u32::from(len) + extra_bits);
        };
        run_lengths(&literals.codes[..literals.used], &mut write);
        run_lengths(&distances.codes[..distances.used], &mut write);
    }
}

/// Code lengths, with runs shortened: calls with symbol, extra value and how many bits that has.
fn run_lengths(codes: &[Code], put: &mut impl FnMut(usize, usize, u32)) {
    let mut len_before = None;
    let mut rest = codes;
    while let Some(first) = rest.first() {
        let len = usize::from(first.len);
        // After the same length, all of the run can be repeats; otherwise the first stands for itself.
        let repeats = len_before == Some(len);
        let (run_min, run_max) = match len {
            0 => (3, 138),
            _ if repeats => (3, 6),
            _ => (4, 7),
        };
        let run = rest.iter().take(run_max).take_while(|c| c.len == first.len).count();
        if run < run_min {
            (0..run).for_each(|_| put(len, 0, 0));
        } else if len == 0 {
            if run <= 10 { put(ZEROS_3_TO_10, run - 3, 3) } else { put(ZEROS_11_TO_138, run - 11, 7) }
        } else if repeats {
            put(REPEAT_3_TO_6, run - 3, 2);
        } else {
            put(len, 0, 0);
            put(REPEAT_3_TO_6, run - 4, 2);
        }
        len_before = Some(len);
        rest = &rest[run..];
    }
}

/// Bits to bytes, lowest first.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    /// Fewer than 32 between calls.
    pending: u64,
    pending_bits: u32,
}

impl BitWriter {
    /// At most 32 bits.
    #[inline]
    fn put(&mut self, value: u32, bits: u32) {
        self.pending |= u64::from(value) << self.pending_bits;
        self.pending_bits += bits;
        if self.pending_bits >= 32 {
            self.bytes.extend_from_slice(&(self.pending as u32).to_le_bytes());
            self.pending >>= 32;
            self.pending_bits -= 32;
        }
    }

    fn put_symbols(&mut self, symbols: &[Symbol], literals: &[Code], distances: &[Code; DISTANCE_CODES]) {
        for &(distance, literal) in symbols {
            if distance == 0 {
                let code = literals[usize::from(literal)];
                self.put(code.bits.into(), code.len.into());
                continue;
            }
            let symbol = usize::from(LENGTH_CODE[usize::from(literal)]);
            let code = literals[END_OF_BLOCK + 1 + symbol];
            let extra = u32::from(u16::from(literal) - LENGTH_BASE[symbol]);
            self.put(u32::from(code.bits) | extra << code.len, u32::from(code.len + LENGTH_EXTRA_BITS[symbol]));

            let less_one = distance - 1;
            let symbol = distance_code(less_one);
            let code = distances[symbol];
            let extra = u32::from(less_one - DISTANCE_BASE[symbol]);
            self.put(u32::from(code.bits) | extra << code.len, u32::from(code.len + DISTANCE_EXTRA_BITS[symbol]));
        }
        let end = literals[END_OF_BLOCK];
        self.put(end.bits.into(), end.len.into());
    }

    /// zlib never has more than 64 KiB of window to store.
    fn put_stored(&mut self, bytes: &[u8]) {
        self.align();
        let len = bytes.len() as u16;
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.extend_from_slice(&(!len).to_le_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    fn align(&mut self) {
        self.pending_bits = self.pending_bits.next_multiple_of(8);
        self.drain_whole_bytes();
    }

    fn drain_whole_bytes(&mut self) {
        while self.pending_bits >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.pending_bits -= 8;
        }
    }
}
