//! Small landscapes as PNG files: a sky, a sun, two ranges of hills and a lake, in a site's colours.
//!
//! Pixels are stored, not compressed, so that no library's taste in compression can change the bytes.

use crate::Web;
use crate::dice::{Dice, Topic};
use crate::place::Site;

impl Web {
    /// A picture as its edition `number` has it. The number is written into the file, so no two editions are equal.
    pub(crate) fn draw_picture(&self, site: &Site, page: u32, picture: u32, number: u32) -> Vec<u8> {
        let mut size = self.dice(Topic::Picture, &[site.host, page, picture]);
        let (width, height) = (size.within(48, 160) as u32, size.within(32, 112) as u32);
        let mut dice = self.dice(Topic::Picture, &[site.host, page, picture, number]);
        landscape(width, height, site.hue, &format!("Leaf {}", number + 1), &mut dice)
    }

    pub(crate) fn draw_logo(&self, site: &Site) -> Vec<u8> {
        landscape(48, 48, site.hue, &site.name, &mut self.dice(Topic::Picture, &[site.host]))
    }
}

const SKY: u8 = 0;
const SUN: u8 = 4;
const FAR: u8 = 5;
const NEAR: u8 = 6;
const LAKE: u8 = 7;

fn landscape(width: u32, height: u32, hue: u32, comment: &str, dice: &mut Dice) -> Vec<u8> {
    let (sun_x, sun_y) = (dice.below32(width), dice.within(u64::from(height) / 8, u64::from(height) / 3) as u32);
    let radius = dice.within(4, 9) as u32;
    let mut range = |base: u32| {
        let (step, swing) = (dice.within(9, 40) as u32, dice.within(3, u64::from(height) / 4) as u32);
        let shift = dice.below32(step);
        // Two saw-tooth waves, one twice as quick: hills enough for a picture of this size.
        move |x: u32| {
            let wave = |x: u32, step: u32| (x % (2 * step)).abs_diff(step) * swing / step;
            (base + wave(x + shift, step) + wave(x, step / 2 + 1) / 3).min(height)
        }
    };
    let (far, near) = (range(height / 3), range(height / 2));
    let hills: Vec<(u32, u32)> = (0..width).map(|x| (near(x), far(x))).collect();
    let shore = height - height / 6;
    let mut rows = Vec::with_capacity(((width + 1) * height) as usize);
    for y in 0..height {
        rows.push(0); // Every row says that it is unfiltered.
        for (x, (near, far)) in (0..width).zip(&hills) {
            rows.push(match (x, y) {
                (_, y) if y >= shore => LAKE,
                (_, y) if y >= *near => NEAR,
                (_, y) if y >= *far => FAR,
                (x, y) if x.abs_diff(sun_x).pow(2) + y.abs_diff(sun_y).pow(2) <= radius * radius => SUN,
                (_, y) => SKY + (y * 4 / height).min(3) as u8,
            });
        }
    }
    png(width, height, &palette(hue), comment, &rows)
}

/// Four tones of sky, then sun, far hills, near hills, lake.
fn palette(hue: u32) -> Vec<u8> {
    let tones = [(215, 150, 220), (205, 170, 230), (40, 200, 236), (30, 215, 240), (48, 255, 225)];
    let ground = [(hue + 20, 120, 150), (hue, 140, 95), (205, 150, 140)];
    tones.into_iter().chain(ground).flat_map(|(hue, strength, light)| tint(hue, strength, light)).collect()
}

/// A colour from degrees on the wheel, strength and lightness. Whole numbers only: floats may differ by machine.
fn tint(hue: u32, strength: u32, light: u32) -> [u8; 3] {
    [0, 240, 120].map(|turn| {
        let distance = ((hue + turn) % 360).abs_diff(180); // 180 at red, as seen from this channel
        let full = (distance.clamp(60, 120) - 60) * 255 / 60;
        let toned = (light * 255 + strength * full).saturating_sub(strength * 128) / 255;
        toned.min(255) as u8
    })
}

fn png(width: u32, height: u32, palette: &[u8], comment: &str, rows: &[u8]) -> Vec<u8> {
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend_from_slice(&[8, 3, 0, 0, 0]); // eight bits of palette index; no interlacing
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, b"IHDR", &header);
    chunk(&mut file, b"PLTE", palette);
    chunk(&mut file, b"tEXt", &[b"Comment\0", comment.as_bytes()].concat());
    chunk(&mut file, b"IDAT", &stored_zlib(rows));
    chunk(&mut file, b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    file.extend_from_slice(&(data.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend_from_slice(name);
    file.extend_from_slice(data);
    let sum = crc32(file.get(start..).unwrap_or_default());
    file.extend_from_slice(&sum.to_be_bytes());
}

fn stored_zlib(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut pieces = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(piece) = pieces.next() {
        let len = piece.len() as u16;
        out.push(u8::from(pieces.peek().is_none()));
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&(!len).to_le_bytes());
        out.extend_from_slice(piece);
    }
    out.extend_from_slice(&adler32(data).to_be_bytes());
    out
}

/// What each byte does to a CRC: a picture is summed by the byte and not by the bit, which would take most of its time.
const CRC32_STEPS: [u32; 256] = {
    let mut steps = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
            bit += 1;
        }
        steps[byte] = sum;
        byte += 1;
    }
    steps
};

fn crc32(data: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        let at = (sum ^ u32::from(*byte)) & 0xff;
        (sum >> 8) ^ CRC32_STEPS.get(at as usize).copied().unwrap_or_default()
    };
    !data.iter().fold(u32::MAX, step)
}

fn adler32(data: &[u8]) -> u32 {
    // So many bytes can be added up before a sum could overflow (RFC 1950's own figure).
    let (a, b) = data.chunks(5552).fold((1, 0), |sums, piece| {
        let (a, b) = piece.iter().fold(sums, |(a, b), byte| (a + u32::from(*byte), b + a + u32::from(*byte)));
        (a % 65_521, b % 65_521)
    });
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn checksums_agree_with_their_published_examples() {
        assert_eq!((crc32(b"123456789"), adler32(b"Wikipedia")), (0xcbf4_3926, 0x11e6_0398));
    }

    #[test]
    fn long_pictures_are_split_into_blocks() {
        let out = stored_zlib(&[7; 70_000]);
        assert_eq!(out.len(), 2 + 5 + 65_535 + 5 + (70_000 - 65_535) + 4);
        assert_eq!((out.get(2), out.get(2 + 5 + 65_535)), (Some(&0), Some(&1)));
    }

    #[test]
    fn pictures_are_whole_png_files_of_the_size_they_say() {
        let web = Web::new(Config::default());
        let site = web.site(1);
        for file in [web.draw_logo(&site), web.draw_picture(&site, 3, 1, 0), web.draw_picture(&site, 9, 2, 70)] {
            let mut rest = file.strip_prefix(b"\x89PNG\r\n\x1a\n").unwrap();
            let mut chunks = Vec::new();
            while !rest.is_empty() {
                let len = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
                let sum = u32::from_be_bytes(rest[8 + len..12 + len].try_into().unwrap());
                assert_eq!(crc32(&rest[4..8 + len]), sum);
                chunks.push((&rest[4..8], &rest[8..8 + len]));
                rest = &rest[12 + len..];
            }
            let names: Vec<&[u8]> = chunks.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [b"IHDR", b"PLTE", b"tEXt", b"IDAT", b"IEND"]);
            let side = |at: usize| u32::from_be_bytes(chunks[0].1[at..at + 4].try_into().unwrap()) as usize;
            assert_eq!(chunks[3].1.len(), (side(0) + 1) * side(4) + 2 + 5 + 4);
            assert_eq!(chunks[1].1.len(), 8 * 3);
        }
    }
}
