//! Sixteen bodies at once, one in each lane of a processor's 512 bits (AVX-512).
//!
//! Within one digest every step waits for the one before, also with a processor's SHA instructions; sixteen digests of different bodies
//! wait for nothing of each other. Where many bodies are to be proved this takes a third of the time of one after another (docs/figures.md). A lane whose
//! body ends takes up the next; what is left when few are still under way is done one by one.
//!
//! Promised: the digests are those of `sha1` and `sha2`, for any number of bodies of any length. The rounds are those of FIPS 180-4, 6.1.2 and 6.2.2; beginnings and ends are
//! [`super`]'s. The idea is that of Gueron and Krasnov, "Simultaneous hashing of multiple messages" (2012).

// Two things the compiler cannot see for itself: that the processor has these instructions, which `compress` is told by `Processor`,
// and that a vector and sixteen numbers are the same 64 bytes. There is no other `unsafe` in this program.
#![allow(unsafe_code)]

use super::{BLOCK, SHA1_START, SHA256_START, finish_body};
use herodotus_base::Digests;
use sha1::block_api::compress as compress1;
use sha2::block_api::compress256;
use std::arch::x86_64::*;
use std::cmp::Reverse;

const LANES: usize = 16;
/// With fewer bodies than this, one after another is faster.
const LANES_WORTH: usize = 5;

type Row = [u32; LANES];

/// Word by word, the states of all lanes.
struct States {
    sha256: [Row; 8],
    sha1: [Row; 5],
}

/// A body under way.
#[derive(Clone, Copy)]
struct Lane<'a> {
    /// Its number among all.
    number: usize,
    left: &'a [[u8; BLOCK]],
}

/// That the processor has what this takes.
#[derive(Clone, Copy)]
pub(super) struct Processor(());

impl Processor {
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")).then_some(Self(()))
    }
}

/// Both digests of each of the bodies.
pub(super) fn of_bodies(processor: Processor, bodies: &[&[u8]]) -> Vec<Digests> {
    let mut digests: Vec<Option<Digests>> = vec![None; bodies.len()];
    // The longest first, so that all lanes end at about the same time.
    let mut order: Vec<usize> = (0..bodies.len()).collect();
    order.sort_unstable_by_key(|number| Reverse(bodies[*number].len()));
    let mut waiting = order.into_iter();
    let mut states = States { sha256: [[0; LANES]; 8], sha1: [[0; LANES]; 5] };
    let mut lanes: [Option<Lane<'_>>; LANES] = [None; LANES];
    loop {
        for (at, lane) in lanes.iter_mut().enumerate() {
            while lane.is_none_or(|lane| lane.left.is_empty()) {
                if let Some(Lane { number, .. }) = *lane {
                    digests[number] = Some(states.finish(at, bodies[number]));
                }
                *lane = waiting.next().map(|number| Lane { number, left: bodies[number].as_chunks().0 });
                states.begin(at);
                if lane.is_none() {
                    break;
                }
            }
        }
        let under_way = lanes.iter().flatten();
        let Some(shortest) = under_way.clone().min_by_key(|lane| lane.left.len()).map(|lane| lane.left) else { break };
        if under_way.count() < LANES_WORTH {
            for (at, lane) in lanes.iter_mut().enumerate() {
                if let Some(Lane { left, .. }) = lane {
                    states.go_on_alone(at, left);
                    *left = &[];
                }
            }
            continue;
        }
        // A lane without a body goes over another's, and nobody looks at what comes out.
        let pieces = lanes.map(|lane| lane.map_or(shortest, |lane| &lane.left[..shortest.len()]));
        // SAFETY: there is a `Processor` only where these instructions are.
        unsafe { compress(processor, &mut states, &pieces) };
        for Lane { left, .. } in lanes.iter_mut().flatten() {
            *left = &left[shortest.len()..];
        }
    }
    // All have come to their end; of one that had not, the plain way is as right.
    digests.into_iter().zip(bodies).map(|(found, body)| found.unwrap_or_else(|| super::of_body(body))).collect()
}

impl States {
    fn begin(&mut self, lane: usize) {
        self.set(lane, SHA256_START, SHA1_START);
    }

    fn finish(&self, lane: usize, body: &[u8]) -> Digests {
        let (sha256, sha1) = self.get(lane);
        finish_body(sha256, sha1, body.as_chunks::<BLOCK>().1, body.len())
    }

    fn go_on_alone(&mut self, lane: usize, blocks: &[[u8; BLOCK]]) {
        let (mut sha256, mut sha1) = self.get(lane);
        for block in blocks.chunks(1) {
            compress256(&mut sha256, block);
            compress1(&mut sha1, block);
        }
        self.set(lane, sha256, sha1);
    }

    fn get(&self, lane: usize) -> ([u32; 8], [u32; 5]) {
        (self.sha256.map(|row| row[lane]), self.sha1.map(|row| row[lane]))
    }

    fn set(&mut self, lane: usize, sha256: [u32; 8], sha1: [u32; 5]) {
        self.sha256.iter_mut().zip(sha256).for_each(|(row, word)| row[lane] = word);
        self.sha1.iter_mut().zip(sha1).for_each(|(row, word)| row[lane] = word);
    }
}

/// Takes every lane over its piece. All are of one length.
#[target_feature(enable = "avx512f,avx512bw")]
fn compress(_: Processor, states: &mut States, pieces: &[&[[u8; BLOCK]]; LANES]) {
    let mut sha256 = states.sha256.map(vector);
    let mut sha1 = states.sha1.map(vector);
    for at in 0..pieces[0].len() {
        let mut blocks = [_mm512_setzero_si512(); LANES];
        for (block, piece) in blocks.iter_mut().zip(pieces) {
            *block = vector(bytes_as_words(&piece[at]));
        }
        let words = words(blocks);
        rounds256(&mut sha256, words);
        rounds1(&mut sha1, words);
    }
    states.sha256 = sha256.map(row);
    states.sha1 = sha1.map(row);
}

#[inline]
fn vector(row: Row) -> __m512i {
    // SAFETY: both are 64 bytes, and any will do for either.
    unsafe { std::mem::transmute(row) }
}

#[inline]
fn row(vector: __m512i) -> Row {
    // SAFETY: as above.
    unsafe { std::mem::transmute(vector) }
}

/// As they lie in memory; [`words`] turns them.
#[inline]
fn bytes_as_words(block: &[u8; BLOCK]) -> Row {
    let mut out = [0; LANES];
    for (word, bytes) in out.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_ne_bytes(*bytes);
    }
    out
}

/// From the blocks of sixteen lanes to their first words, their second words and so on, each read from its highest byte on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn words(blocks: [__m512i; LANES]) -> [__m512i; 16] {
    // Four by four within quarters of a vector, then the quarters.
    let mut quads = [_mm512_setzero_si512(); 16];
    for (four, out) in blocks.as_chunks::<4>().0.iter().zip(quads.as_chunks_mut::<4>().0) {
        let [a, b, c, d] = *four;
        let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        *out = [
            _mm512_unpacklo_epi64(ab_low, cd_low),
            _mm512_unpackhi_epi64(ab_low, cd_low),
            _mm512_unpacklo_epi64(ab_high, cd_high),
            _mm512_unpackhi_epi64(ab_high, cd_high),
        ];
    }
    let turned = _mm512_set_epi64(
        0x0c0d_0e0f_0809_0a0b,
        0x0405_0607_0001_0203,
        0x0c0d_0e0f_0809_0a0b,
        0x0405_0607_0001_0203,
        0x0c0d_0e0f_0809_0a0b,
        0x0405_0607_0001_0203,
        0x0c0d_0e0f_0809_0a0b,
        0x0405_0607_0001_0203,
    );
    let mut words = [_mm512_setzero_si512(); 16];
    for n in 0..4 {
        let [a, b, c, d] = [quads[n], quads[n + 4], quads[n + 8], quads[n + 12]];
        let (ab_low, ab_high) = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xee>(a, b));
        let (cd_low, cd_high) = (_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xee>(c, d));
        words[n] = _mm512_shuffle_epi8(_mm512_shuffle_i32x4::<0x88>(ab_low, cd_low), turned);
        words[n + 4] = _mm512_shuffle_epi8(_mm512_shuffle_i32x4::<0xdd>(ab_low, cd_low), turned);
        words[n + 8] = _mm512_shuffle_epi8(_mm512_shuffle_i32x4::<0x88>(ab_high, cd_high), turned);
        words[n + 12] = _mm512_shuffle_epi8(_mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high), turned);
    }
    words
}

/// What a ternary instruction is to make of three bits: their sum, what the first picks of the others, what most of them say.
const XOR: i32 = 0x96;
const CHOICE: i32 = 0xca;
const MAJORITY: i32 = 0xe8;

#[inline]
#[target_feature(enable = "avx512f")]
fn rounds256(state: &mut [__m512i; 8], mut w: [__m512i; 16]) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (n, constants) in SHA256_CONSTANTS.as_chunks::<16>().0.iter().enumerate() {
        macro_rules! rounds {
            ($($t:literal)*) => {$({
                if n > 0 {
                    let (near, far) = (w[($t + 1) % 16], w[($t + 14) % 16]);
                    let (near_7, near_18) = (_mm512_ror_epi32::<7>(near), _mm512_ror_epi32::<18>(near));
                    let (far_17, far_19) = (_mm512_ror_epi32::<17>(far), _mm512_ror_epi32::<19>(far));
                    let near = _mm512_ternarylogic_epi32::<XOR>(near_7, near_18, _mm512_srli_epi32::<3>(near));
                    let far = _mm512_ternarylogic_epi32::<XOR>(far_17, far_19, _mm512_srli_epi32::<10>(far));
                    w[$t] = sum(sum(w[$t], near), sum(w[($t + 9) % 16], far));
                }
                let (e_6, e_11, e_25) = (_mm512_ror_epi32::<6>(e), _mm512_ror_epi32::<11>(e), _mm512_ror_epi32::<25>(e));
                let (a_2, a_13, a_22) = (_mm512_ror_epi32::<2>(a), _mm512_ror_epi32::<13>(a), _mm512_ror_epi32::<22>(a));
                let constant = _mm512_set1_epi32(constants[$t].cast_signed());
                let chosen = _mm512_ternarylogic_epi32::<CHOICE>(e, f, g);
                let by_e = sum(_mm512_ternarylogic_epi32::<XOR>(e_6, e_11, e_25), chosen);
                let first = sum(sum(h, sum(constant, w[$t])), by_e);
                let most = _mm512_ternarylogic_epi32::<MAJORITY>(a, b, c);
                let second = sum(_mm512_ternarylogic_epi32::<XOR>(a_2, a_13, a_22), most);
                (a, b, c, d, e, f, g, h) = (sum(first, second), a, b, c, sum(d, first), e, f, g);
            })*};
        }
        rounds!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    }
    for (word, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = sum(*word, new);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rounds1(state: &mut [__m512i; 5], mut w: [__m512i; 16]) {
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    macro_rules! rounds {
        ($mix:expr, $constant:literal: $($t:literal)*) => {$({
            if $t >= 16 {
                let [one, two, three] = [w[($t + 13) % 16], w[($t + 8) % 16], w[($t + 2) % 16]];
                let mixed = _mm512_xor_si512(_mm512_ternarylogic_epi32::<XOR>(one, two, three), w[$t % 16]);
                w[$t % 16] = _mm512_rol_epi32::<1>(mixed);
            }
            let constant = _mm512_set1_epi32(u32::cast_signed($constant));
            let mixed = _mm512_ternarylogic_epi32::<{ $mix }>(b, c, d);
            let new = sum(sum(_mm512_rol_epi32::<5>(a), mixed), sum(e, sum(constant, w[$t % 16])));
            (a, b, c, d, e) = (new, a, _mm512_rol_epi32::<30>(b), c, d);
        })*};
    }
    rounds!(CHOICE, 0x5a82_7999: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
    rounds!(XOR, 0x6ed9_eba1: 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39);
    rounds!(MAJORITY, 0x8f1b_bcdc: 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59);
    rounds!(XOR, 0xca62_c1d6: 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79);
    for (word, new) in state.iter_mut().zip([a, b, c, d, e]) {
        *word = sum(*word, new);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sum(a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi32(a, b)
}

#[rustfmt::skip]
const SHA256_CONSTANTS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];
