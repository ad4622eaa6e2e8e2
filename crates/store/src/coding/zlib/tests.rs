//! Against stock zlib: tests/data/zlib_vectors.py makes the same inputs, and zlib_vectors.tsv says what zlib made of them.

use super::{Params, deflate, first_symbols};
use herodotus_base::Sha256;
use std::io::Read as _;

const VECTORS: &str = include_str!("../../../tests/data/zlib_vectors.tsv");
const WORDS: &str = "the of and archive page version web <p> </p> <div> </div> <a href=\"/ \"> </a> <li class=\"item\"> \
    </li> history crawl store &amp; 2026 Herodotus inquiry so that what was done by men may not be forgotten in time \n";
/// Whether both ways to ask say so, which must agree.
fn deflates_to(input: &[u8], params: Params, expected: &[u8]) -> bool {
    let [plain, screened] =
        [&[][..], &first_symbols(expected)].map(|start| super::deflates_to(input, params, expected, start));
    assert_eq!(plain, screened);
    plain
}

const USUAL: Params = Params { level: 6, window_bits: 15, mem_level: 8 };

#[test]
fn small_inputs_are_made_as_zlib_makes_them() {
    compare(&[
        ("empty", Vec::new()),
        ("one", b"x".to_vec()),
        ("two", b"xx".to_vec()),
        ("short", b"Herodotus of Halicarnassus here displays his inquiry, his inquiry, his inquiry.".to_vec()),
        ("nearly_lookahead", Random(1).html(261)),
    ]);
}

#[test]
fn text_is_made_as_zlib_makes_it() {
    compare(&[
        ("html_100k", Random(2).html(100_000)),
        ("html_300k", Random(3).html(300_000)),
        ("window_exactly", Random(7).html(65_536)),
    ]);
}

#[test]
fn stored_blocks_runs_and_mended_codes_are_made_as_zlib_makes_them() {
    compare(&[
        ("noise_70k", Random(4).noise(70_000)),
        ("runs_200k", Random(5).runs(200_000)),
        ("skewed_150k", Random(9).skewed(150_000)),
    ]);
}

#[test]
fn distances_up_to_the_window_are_made_as_zlib_makes_them() {
    let mut random = Random(8);
    let lengths = [249, 250, 251, 762, 763, 3834, 7930, 16122, 32505, 32506, 32507];
    let periods = lengths.iter().flat_map(|length| random.noise(*length).repeat(5)).collect();
    compare(&[("periods", periods), ("mixture_400k", Random(6).mixture(400_000))]);
}

#[test]
fn long_inputs_are_made_as_zlib_makes_them() {
    compare(&[("mixture_2m", Random(10).mixture(2_000_000))]);
}

#[test]
fn what_is_made_inflates_to_what_it_was_made_of() {
    let input = Random(11).mixture(150_000);
    let made = deflate(&input, USUAL).unwrap();
    let mut back = Vec::new();
    flate2::read::DeflateDecoder::new(&made[..]).read_to_end(&mut back).unwrap();
    assert!(back == input);
}

#[test]
fn only_the_very_same_stream_is_recognised() {
    let input = Random(12).html(200_000);
    let made = deflate(&input, USUAL).unwrap();
    assert!(deflates_to(&input, USUAL, &made));
    assert!(!deflates_to(&input, Params { level: 5, ..USUAL }, &made));
    assert!(!deflates_to(&input, Params { mem_level: 9, ..USUAL }, &made));
    assert!(!deflates_to(&input[1..], USUAL, &made));
    assert!(!deflates_to(&input, USUAL, &made[..made.len() - 1]));
    assert!(!deflates_to(&input, USUAL, &[&made[..], b"x"].concat()));
    assert!(!deflates_to(&input, USUAL, b""));
    for at in [0, 100, made.len() / 2, made.len() - 1] {
        let mut other = made.clone();
        other[at] ^= 1;
        assert!(!deflates_to(&input, USUAL, &other), "changed at {at}");
    }
}

#[test]
fn no_stream_is_too_strange_to_be_compared_with() {
    let mut random = Random(14);
    let input = random.html(2000);
    let made = deflate(&input, USUAL).unwrap();
    for _ in 0..2000 {
        let len = 1 + random.below(300);
        let stream = random.noise(len);
        assert!(!deflates_to(&input, USUAL, &stream), "{stream:?}");
        let mut broken = made.clone();
        broken[random.below(made.len())] ^= 1 << random.below(8);
        assert!(!deflates_to(&input, USUAL, &broken));
    }
}

#[test]
fn parameters_out_of_range_make_nothing() {
    let wrong = [
        Params { level: 0, ..USUAL },
        Params { level: 10, ..USUAL },
        Params { window_bits: 7, ..USUAL },
        Params { window_bits: 16, ..USUAL },
        Params { mem_level: 0, ..USUAL },
        Params { mem_level: 10, ..USUAL },
    ];
    for params in wrong {
        assert_eq!(deflate(b"x", params), None, "{params:?}");
        assert!(!deflates_to(b"x", params, b""), "{params:?}");
    }
}

#[test]
fn a_window_of_eight_bits_is_taken_as_nine() {
    let input = Random(13).html(5000);
    let [eight, nine] = [8, 9].map(|window_bits| deflate(&input, Params { window_bits, ..USUAL }));
    assert_eq!(eight, nine);
}

fn compare(inputs: &[(&str, Vec<u8>)]) {
    for (name, input) in inputs {
        let mut compared = 0;
        for line in VECTORS.lines() {
            let [of, made_by, hash] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("not a vector: {line}") };
            if of != *name {
                continue;
            }
            compared += 1;
            if made_by == "input" {
                assert_eq!(Sha256::of(input).to_string(), hash, "{name} is not the input that zlib was given");
                continue;
            }
            let [level, window_bits, mem_level] =
                made_by.split(',').map(|n| n.parse().unwrap()).collect::<Vec<u8>>()[..]
            else {
                panic!("not parameters: {made_by}")
            };
            let made = deflate(input, Params { level, window_bits, mem_level }).unwrap();
            assert_eq!(Sha256::of(&made).to_string(), hash, "{name} by {made_by}");
        }
        assert_eq!(compared, 1 + 9 * 8, "vectors of {name}");
    }
}

/// The same as in zlib_vectors.py, which see.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn noise(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.below(256) as u8).collect()
    }

    fn html(&mut self, n: usize) -> Vec<u8> {
        let words: Vec<&str> = WORDS.split(' ').collect();
        let mut out = String::new();
        while out.len() < n {
            out += words[self.below(words.len())];
            if self.below(8) == 0 {
                out += &self.below(10_000).to_string();
            }
            out.push(' ');
        }
        out.truncate(n);
        out.into_bytes()
    }

    fn runs(&mut self, n: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while out.len() < n {
            let byte = self.below(4) as u8;
            let bits = 1 + self.below(13);
            let len = 1 + self.below(1 << bits);
            out.resize(out.len() + len, byte);
        }
        out.truncate(n);
        out
    }

    fn mixture(&mut self, n: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while out.len() < n {
            let kind = self.below(4);
            let bits = 3 + self.below(12);
            let len = 1 + self.below(1 << bits);
            match kind {
                0 => out.extend(self.noise(len)),
                1 => out.extend(self.html(len)),
                2 => out.extend(self.runs(len)),
                _ if out.is_empty() => {}
                _ => {
                    let distance = 1 + self.below(out.len().min(70_000));
                    for _ in 0..len {
                        out.push(out[out.len() - distance]);
                    }
                }
            }
        }
        out.truncate(n);
        out
    }

    fn skewed(&mut self, n: usize) -> Vec<u8> {
        let mut one = || {
            let mut symbol = 0;
            while symbol < 40 && self.below(100) < 62 {
                symbol += 1;
            }
            (symbol * 37 % 256) as u8
        };
        (0..n).map(|_| one()).collect()
    }
}
