//! The digests of a record in one pass: SHA-256 and SHA-1 of the body, and SHA-1 of the whole block (head and body), which is
//! what `WARC-Block-Digest` says.
//!
//! A processor's SHA instructions wait for one another within one digest, not between digests. So the digests take turns,
//! 64 bytes each, and much of the waiting of one is spent on the others: measured, three in turns cost about as much as two
//! one after the other (docs/figures.md). The compression functions are those of `sha1` and `sha2`; here are only the turns and
//! the padding (FIPS 180-4, 5.1.1). Of many bodies, sixteen at once are faster still where the processor can do that ([`lanes`]).

#[cfg(target_arch = "x86_64")]
mod lanes;

use herodotus_base::{Digests, Sha1, Sha256};
use sha1::block_api::compress as compress1;
use sha2::block_api::compress256;

const BLOCK: usize = 64;
const SHA1_START: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
const SHA256_START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Both digests of a body.
pub(crate) fn of_body(body: &[u8]) -> Digests {
    let (mut sha256, mut sha1) = (SHA256_START, SHA1_START);
    let (blocks, rest) = body.as_chunks::<BLOCK>();
    for block in blocks.chunks(1) {
        compress256(&mut sha256, block);
        compress1(&mut sha1, block);
    }
    finish_body(sha256, sha1, rest, body.len())
}

/// Both digests of each of many bodies.
pub(crate) fn of_bodies(bodies: &[&[u8]]) -> Vec<Digests> {
    #[cfg(target_arch = "x86_64")]
    if let Some(processor) = lanes::Processor::detect() {
        return lanes::of_bodies(processor, bodies);
    }
    bodies.iter().map(|body| of_body(body)).collect()
}

/// Both digests of a body, and SHA-1 of the block that it ends.
pub(crate) fn of_block(head: &[u8], body: &[u8]) -> (Digests, Sha1) {
    let (mut sha256, mut sha1, mut whole) = (SHA256_START, SHA1_START, SHA1_START);
    // The block's own 64 bytes begin at another place than the body's: up to where they first begin in the body, they are
    // hashed alone.
    let (head_blocks, head_rest) = head.as_chunks::<BLOCK>();
    compress1(&mut whole, head_blocks);
    let mut seam = Vec::with_capacity(BLOCK);
    seam.extend_from_slice(head_rest);
    let lead = if head_rest.is_empty() { 0 } else { (BLOCK - head_rest.len()).min(body.len()) };
    seam.extend_from_slice(&body[..lead]);
    let (seam_blocks, seam_rest) = seam.as_chunks::<BLOCK>();
    compress1(&mut whole, seam_blocks);
    let (blocks, rest) = body.as_chunks::<BLOCK>();
    let (whole_blocks, whole_rest) = body[lead..].as_chunks::<BLOCK>();
    // There is at most one fewer of the block's: the last of the body's own has no partner then.
    for (block, whole_block) in blocks.chunks(1).zip(whole_blocks.chunks(1)) {
        compress256(&mut sha256, block);
        compress1(&mut sha1, block);
        compress1(&mut whole, whole_block);
    }
    let alone = &blocks[whole_blocks.len().min(blocks.len())..];
    compress256(&mut sha256, alone);
    compress1(&mut sha1, alone);
    // What is left of the block is behind the seam, or is the seam where the body did not fill it.
    let whole_rest = if seam_rest.is_empty() { whole_rest } else { seam_rest };
    let (padding, padded) = pad(whole_rest, head.len() + body.len());
    compress1(&mut whole, &padding[..padded]);
    (finish_body(sha256, sha1, rest, body.len()), sha1_of(whole))
}

fn finish_body(mut sha256: [u32; 8], mut sha1: [u32; 5], rest: &[u8], len: usize) -> Digests {
    let (padding, padded) = pad(rest, len);
    compress256(&mut sha256, &padding[..padded]);
    compress1(&mut sha1, &padding[..padded]);
    let mut out = [0; 32];
    for (bytes, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(sha256) {
        *bytes = word.to_be_bytes();
    }
    Digests { sha256: Sha256(out), sha1: sha1_of(sha1) }
}

fn sha1_of(state: [u32; 5]) -> Sha1 {
    let mut out = [0; 20];
    for (bytes, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    Sha1(out)
}

/// The last bytes of a message of so many bytes, a one bit, zeros, and the length in bits: one block, or two.
fn pad(rest: &[u8], len: usize) -> ([[u8; BLOCK]; 2], usize) {
    let mut out = [[0; BLOCK]; 2];
    let flat = out.as_flattened_mut();
    flat[..rest.len()].copy_from_slice(rest);
    flat[rest.len()] = 0x80;
    let blocks = (rest.len() + 1 + 8).div_ceil(BLOCK);
    flat[blocks * BLOCK - 8..blocks * BLOCK].copy_from_slice(&(len as u64 * 8).to_be_bytes());
    (out, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that repeat nowhere near.
    fn bytes(len: u32) -> Vec<u8> {
        (0..len).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    #[test]
    fn many_bodies_at_once_have_the_digests_of_the_plain_way() {
        let bytes = bytes(70_000);
        let held_to = |bodies: &[&[u8]]| {
            let plain: Vec<Digests> = bodies.iter().map(|body| Digests::of(body)).collect();
            assert_eq!(of_bodies(bodies), plain, "{:?}", bodies.iter().map(|body| body.len()).collect::<Vec<_>>());
        };
        // Every number of bodies around one, two and three rounds of lanes, each of another length.
        for count in 0..=50 {
            let bodies: Vec<&[u8]> = (0..count).map(|n| &bytes[n..n + n * 37 % 1500]).collect();
            held_to(&bodies);
        }
        // Every length around the ends of blocks, and some that are far from all others.
        let ends = (0..=200).chain([255, 256, 257, 4_095, 4_096, 65_535, 65_536]);
        held_to(&ends.map(|len| &bytes[len % 7..len % 7 + len]).collect::<Vec<_>>());
        held_to(&[&bytes[..]; 16]);
        held_to(&[&bytes[..64]; 17]);
        held_to(&[&bytes[..0]; 40]);
        let one_long: Vec<&[u8]> = std::iter::once(&bytes[..]).chain((0..20).map(|n| &bytes[n..n + 100])).collect();
        held_to(&one_long);
    }

    #[test]
    fn every_length_of_head_and_body_gives_the_digests_of_the_plain_way() {
        let bytes = bytes(700);
        for head in (0..=130).chain([191, 192, 193, 256]) {
            for body in (0..=200).chain([319, 320, 321, 383, 384]) {
                let (head, rest) = bytes.split_at(head);
                let body = &rest[..body];
                let (digests, whole) = of_block(head, body);
                assert_eq!(digests, Digests::of(body), "{} and {}", head.len(), body.len());
                assert_eq!(of_body(body), digests);
                assert_eq!(whole, Sha1::of(&[head, body].concat()), "{} and {}", head.len(), body.len());
            }
        }
    }
}
