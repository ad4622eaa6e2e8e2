//! Content codings: bombs in each, lies, and damage.
//!
//! Bombs decode to a gibibyte and are made cheaply: one piece that decodes to some megabytes of zeros, repeated.

use super::Expect::{Either, Truncated, Whole};
use super::Group::Coding;
use super::plan::{Plan, html};
use super::talk::Talk;
use flate2::{Compress, Compression, Crc, FlushCompress, GzBuilder, write::ZlibEncoder};
use std::io::{self, Write};
use std::sync::OnceLock;

/// What a bomb decodes to.
const BOMB_BYTES: u64 = 1024 * 1024 * 1024;
/// What one piece of it decodes to: small enough to make in a blink.
const PIECE_BYTES: u64 = 16 * 1024 * 1024;
const PIECES: u64 = BOMB_BYTES / PIECE_BYTES;

const BOMB: super::Expect = Truncated(&["decoded"]);
/// The bytes are kept as they came; whether the damage within is marked is the crawler's affair.
const DAMAGED: super::Expect = Either(&[Whole, Truncated(&["decoded", "disconnect"])]);

fn coded(talk: &mut Talk<'_>, coding: &str, body: &[u8]) -> io::Result<()> {
    talk.answer("200 OK", &format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n"), body)
}

fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(body)?;
    encoder.finish()
}

/// Zeros in raw deflate, without an end. Every piece is flushed whole, so that copies of it can stand in a row.
fn deflated_zeros() -> &'static [u8] {
    static PIECE: OnceLock<Vec<u8>> = OnceLock::new();
    PIECE.get_or_init(|| {
        let (zeros, mut out) = (vec![0; PIECE_BYTES as usize], Vec::with_capacity(64 * 1024));
        // Room enough is reserved: a thousandth of the zeros is what deflate cannot go below.
        let _ = Compress::new(Compression::best(), false).compress_vec(&zeros, &mut out, FlushCompress::Full);
        out
    })
}

/// An empty last block.
const DEFLATE_END: &[u8] = &[0x03, 0x00];

fn gzip_bomb() -> Vec<u8> {
    let mut piece_sum = Crc::new();
    piece_sum.update(&vec![0; PIECE_BYTES as usize]);
    let mut sum = Crc::new();
    (0..PIECES).for_each(|_| sum.combine(&piece_sum));
    let mut bomb = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff".to_vec();
    (0..PIECES).for_each(|_| bomb.extend_from_slice(deflated_zeros()));
    bomb.extend_from_slice(DEFLATE_END);
    bomb.extend_from_slice(&sum.sum().to_le_bytes());
    bomb.extend_from_slice(&(BOMB_BYTES as u32).to_le_bytes());
    bomb
}

/// The gzip bomb, which robots.txt and sitemaps use as well.
pub(super) fn bomb() -> &'static [u8] {
    static BOMB: OnceLock<Vec<u8>> = OnceLock::new();
    BOMB.get_or_init(gzip_bomb)
}

fn zlib_bomb() -> Vec<u8> {
    let mut bomb = vec![0x78, 0xda];
    (0..PIECES).for_each(|_| bomb.extend_from_slice(deflated_zeros()));
    bomb.extend_from_slice(DEFLATE_END);
    // Adler's sum of zeros: one, and the count of them.
    let sum = ((BOMB_BYTES % 65_521) as u32) << 16 | 1;
    bomb.extend_from_slice(&sum.to_be_bytes());
    bomb
}

/// Brotli's second piece says the same as every later one, because by then nothing about its state changes.
fn brotli_bomb() -> io::Result<Vec<u8>> {
    let zeros = vec![0; PIECE_BYTES as usize];
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
    let mut ends = Vec::new();
    for _ in 0..3 {
        encoder.write_all(&zeros)?;
        encoder.flush()?;
        ends.push(encoder.get_ref().len());
    }
    let whole = encoder.into_inner();
    let (Some(first), Some(second), Some(third)) = (ends.first(), ends.get(1), ends.get(2)) else {
        return Err(io::Error::other("three pieces have three ends"));
    };
    let part = |from: usize, to: usize| whole.get(from..to).unwrap_or_default();
    let mut bomb = part(0, *first).to_vec();
    (2..PIECES).for_each(|_| bomb.extend_from_slice(part(*first, *second)));
    bomb.extend_from_slice(part(*second, *third));
    bomb.extend_from_slice(part(*third, whole.len()));
    Ok(bomb)
}

/// Blocks that each say "this byte 131,072 times" (RFC 8878, 3.1.1.2).
fn zstd_bomb(window: u8) -> Vec<u8> {
    const BLOCK_BYTES: u64 = 128 * 1024;
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, window];
    let blocks = BOMB_BYTES / BLOCK_BYTES;
    for block in 1..=blocks {
        let header = (BLOCK_BYTES as u32) << 3 | 1 << 1 | u32::from(block == blocks);
        bomb.extend_from_slice(header.to_le_bytes().get(..3).unwrap_or_default());
        bomb.push(0);
    }
    bomb
}

/// Window of 128 KiB: the least that takes such blocks.
const ZSTD_WINDOW_SMALL: u8 = 7 << 3;
/// Window of 3.75 TiB: the most that can be said.
const ZSTD_WINDOW_HUGE: u8 = 0xff;

pub(super) fn plans() -> Vec<Plan> {
    let mut plans = bombs();
    plans.extend(damage());
    plans
}

fn bombs() -> Vec<Plan> {
    vec![
        Plan::new("bomb-gzip", Coding, BOMB, "A megabyte of gzip that decodes to a gibibyte.", |t, _| {
            coded(t, "gzip", bomb())
        }),
        Plan::new("bomb-deflate", Coding, BOMB, "The same in deflate.", |t, _| coded(t, "deflate", &zlib_bomb())),
        Plan::new("bomb-br", Coding, BOMB, "The same in brotli, from less than a kilobyte.", |t, _| {
            coded(t, "br", &brotli_bomb()?)
        }),
        Plan::new("bomb-zstd", Coding, BOMB, "The same in Zstandard, from 32 KB.", |t, _| {
            coded(t, "zstd", &zstd_bomb(ZSTD_WINDOW_SMALL))
        }),
        Plan::new(
            "bomb-gzip-chunked",
            Coding,
            BOMB,
            "The gzip bomb in chunks, so that no length warns of it.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                for piece in bomb().chunks(8192) {
                    t.say(&[format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat())?;
                }
                t.say(b"0\r\n\r\n")
            },
        ),
        Plan::new(
            "bomb-nested",
            Coding,
            Either(&[BOMB, Whole]),
            "The gzip bomb packed twice more: a gibibyte from a few kilobytes.",
            |t, _| coded(t, "gzip, gzip, gzip", &gzip(&gzip(bomb())?)?),
        ),
        Plan::new(
            "endless-gzip",
            Coding,
            Truncated(&["decoded", "length"]),
            "A gzip stream of zeros that never ends.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n")?;
                t.say(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff")?;
                t.flood(deflated_zeros())
            },
        ),
        Plan::new(
            "zstd-window",
            Coding,
            Either(&[BOMB, DAMAGED]),
            "Asks for a window of 3.75 TiB, to have it allocated.",
            |t, _| coded(t, "zstd", &zstd_bomb(ZSTD_WINDOW_HUGE)),
        ),
        Plan::new("codings-100", Coding, DAMAGED, "Says that it is packed a hundred times over.", |t, _| {
            coded(t, &["gzip"; 100].join(", "), &gzip(html("<p>Once.</p>").as_bytes())?)
        }),
        Plan::new("gzip-members", Coding, DAMAGED, "A hundred thousand empty gzip files in a row.", |t, _| {
            let mut body = gzip(b"")?.repeat(100_000);
            body.extend(gzip(html("<p>At last.</p>").as_bytes())?);
            coded(t, "gzip", &body)
        }),
        Plan::new("zstd-skips", Coding, DAMAGED, "A hundred thousand frames that say nothing.", |t, _| {
            let mut body = b"\x50\x2a\x4d\x18\x00\x00\x00\x00".repeat(100_000);
            body.extend(zstd::encode_all(html("<p>At last.</p>").as_bytes(), 3)?);
            coded(t, "zstd", &body)
        }),
    ]
}

fn damage() -> Vec<Plan> {
    fn packed(text: &str) -> io::Result<Vec<u8>> {
        gzip(html(&format!("<p>{}</p>", text.repeat(500))).as_bytes())
    }
    vec![
        Plan::new("gzip-cut", Coding, DAMAGED, "Half a gzip file, with the length to fit.", |t, _| {
            let body = packed("Read on in the other half. ")?;
            coded(t, "gzip", body.get(..body.len() / 2).unwrap_or_default())
        }),
        Plan::new("gzip-bad-sum", Coding, DAMAGED, "A gzip file whose checksum is wrong.", |t, _| {
            let mut body = packed("Trust me. ")?;
            let at = body.len().saturating_sub(6);
            body.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 0xff);
            coded(t, "gzip", &body)
        }),
        Plan::new("gzip-bad-middle", Coding, DAMAGED, "A gzip file that is noise from its middle on.", |t, _| {
            let mut body = packed("So far so good. ")?;
            let half = body.len() / 2;
            body.iter_mut().skip(half).for_each(|byte| *byte = !*byte);
            coded(t, "gzip", &body)
        }),
        Plan::new("gzip-tail", Coding, DAMAGED, "A whole gzip file with noise behind it.", |t, _| {
            coded(t, "gzip", &[packed("Stop here. ")?, b"\0\0noise".repeat(100)].concat())
        }),
        Plan::new("gzip-long-name", Coding, DAMAGED, "A gzip header with a file name that never ends.", |t, _| {
            coded(t, "gzip", &[b"\x1f\x8b\x08\x08\x00\x00\x00\x00\x02\xff".to_vec(), vec![b'n'; 2_000_000]].concat())
        }),
        Plan::new("gzip-empty", Coding, DAMAGED, "Says gzip and sends nothing.", |t, _| coded(t, "gzip", b"")),
        Plan::new("coding-lies", Coding, DAMAGED, "Says gzip and sends plain text.", |t, _| {
            coded(t, "gzip", html("<p>Not packed at all.</p>").as_bytes())
        }),
        Plan::new("coding-unsaid", Coding, Whole, "Sends gzip and does not say so.", |t, _| t.page(packed("Guess. ")?)),
        Plan::new("coding-unknown", Coding, DAMAGED, "A coding that nobody knows.", |t, _| {
            coded(t, "x-snow", html("<p>Cold.</p>").as_bytes())
        }),
        Plan::new("coding-nonsense", Coding, DAMAGED, "A list of codings that is no list.", |t, _| {
            coded(t, ",, ,;q=1, \"gzip", html("<p>Eh?</p>").as_bytes())
        }),
        Plan::new("deflate-raw", Coding, DAMAGED, "Deflate without its wrapper, as some servers mean it.", |t, _| {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(html("<p>Unwrapped.</p>").as_bytes())?;
            let body = encoder.finish()?;
            coded(t, "deflate", body.get(2..body.len().saturating_sub(4)).unwrap_or_default())
        }),
        Plan::new("br-noise", Coding, DAMAGED, "Says brotli and sends noise.", |t, _| {
            coded(t, "br", &(0..4096u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<u8>>())
        }),
        Plan::new("zstd-noise", Coding, DAMAGED, "A Zstandard frame that is noise behind its magic number.", |t, _| {
            let noise = (0..4096u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8);
            coded(t, "zstd", &[0x28, 0xb5, 0x2f, 0xfd].into_iter().chain(noise).collect::<Vec<u8>>())
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Decodes to its end in every coding, which takes a moment and no memory.
    #[test]
    fn bombs_are_whole_and_as_large_as_they_are_said_to_be() {
        fn size(mut from: impl Read) -> u64 {
            let (mut piece, mut size) = (vec![0; 1 << 20], 0);
            loop {
                match from.read(&mut piece).unwrap() {
                    0 => return size,
                    count => size += count as u64,
                }
            }
        }
        let (deflate, br, zstd) = (zlib_bomb(), brotli_bomb().unwrap(), zstd_bomb(ZSTD_WINDOW_SMALL));
        assert!(bomb().len() < 1_100_000 && deflate.len() < 1_100_000 && br.len() < 20_000 && zstd.len() < 40_000);
        assert_eq!(size(flate2::read::GzDecoder::new(bomb())), BOMB_BYTES);
        assert_eq!(size(flate2::read::ZlibDecoder::new(deflate.as_slice())), BOMB_BYTES);
        assert_eq!(size(brotli::Decompressor::new(br.as_slice(), 4096)), BOMB_BYTES);
        assert_eq!(size(zstd::Decoder::new(zstd.as_slice()).unwrap()), BOMB_BYTES);
    }
}
