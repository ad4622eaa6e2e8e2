//! HTTP messages that are none, codings that lie, and bombs.

use super::archive::{Archive, case, in_time};
use super::fixtures::{
    around, brotli, brotli_bomb, chunked, gzip, gzip_bomb, http, noise, page, record, response, url, zstd, zstd_bomb,
};
use super::large::resident_peak_bytes;
use herodotus_store::coding::plain_body;
use herodotus_store::limits::UNFOLDED_BYTES_MAX;
use std::time::{Duration, Instant};

const GIGABYTE: usize = 1 << 10;

/// Each of these blocks is kept, byte for byte, as the response that it was said to be.
#[track_caller]
fn kept(blocks: &[Vec<u8>]) {
    let responses = blocks.iter().enumerate().map(|(i, block)| response(100 + i, block));
    let (archive, _) = case(&around(&responses.flatten().collect::<Vec<_>>()), &[1, 3], "");
    for (i, block) in blocks.iter().enumerate() {
        let capture = archive.capture(&url(100 + i));
        assert!(archive.wire(&capture) == *block, "block {i} came back changed");
        // What a person is shown may be anything but a panic, or without end.
        let body = &block[capture.main.head.len()..];
        if capture.main.body.len() < 1 << 22 {
            assert!(plain_body(&capture.main.head, body).len() <= 2 * UNFOLDED_BYTES_MAX);
        }
    }
}

#[test]
fn an_empty_response_is_kept() {
    kept(&[Vec::new()]);
}

#[test]
fn a_response_without_an_http_head_is_kept() {
    let blocks =
        [&b"just text"[..], b"<html>\r\n\r\n</html>", b"\r\n\r\n", b"\n", b"ICY 200 OK\r\n\r\nradio", &[0xff; 300]];
    kept(&blocks.map(<[u8]>::to_vec));
}

#[test]
fn heads_that_never_end_are_kept() {
    kept(&[
        b"HTTP/1.1 200 OK".to_vec(),
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n".to_vec(),
        [&b"HTTP/1.1 200 OK\r\n"[..], &b"A: b\r\n".repeat(20_000)].concat(),
    ]);
}

#[test]
fn an_http_head_of_two_megabytes_is_kept() {
    let mut many = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n".to_vec();
    many.extend_from_slice(&b"X-Line: 0123456789\r\n".repeat(105_000));
    many.extend_from_slice(b"\r\nthe page");
    assert!(many.len() > 2 << 20);
    kept(&[many, [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), noise(2 << 20, 11), b"\r\n\r\nthe page".to_vec()].concat()]);
}

#[test]
fn an_http_head_just_at_the_limit_is_kept() {
    let around_limit = (0..12).map(|spare| {
        let line = "x".repeat((1 << 20) - 30 + spare);
        format!("HTTP/1.1 200 OK\r\nX: {line}\r\n\r\nthe page").into_bytes()
    });
    kept(&around_limit.collect::<Vec<_>>());
}

#[test]
fn nul_bytes_and_other_dirt_in_a_head_are_kept() {
    let blocks = [
        &b"HTTP/1.1 200 OK\r\nSet-Cookie: a\0b\r\n\0: \0\r\nContent-Type: \xff\xfe\r\nContent-Encoding: \0gzip\r\n\r\nbody"[..],
        b"HTTP/1.1 99999999999 \r\n : :\r\n\t\r\n\r\nbody",
        b"HTTP/\r\n\r\n",
    ];
    kept(&blocks.map(<[u8]>::to_vec));
}

#[test]
fn encodings_that_lie_are_kept() {
    let page = page(2).repeat(10);
    let bodies =
        [page.clone(), gzip(&page), brotli(&page), zstd(&page), noise(5000, 12), Vec::new(), vec![0x1f, 0x8b, 8]];
    let codings =
        ["gzip", "br", "zstd", "deflate", "compress", "gzip, br, zstd", "gzip,gzip,gzip,gzip,gzip,gzip", "\u{1f980}"];
    let blocks = codings.iter().flat_map(|coding| {
        let head = format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n");
        bodies.iter().map(move |body| http(&head, body))
    });
    kept(&blocks.collect::<Vec<_>>());
}

#[test]
fn gzip_with_damage_in_it_is_kept() {
    let page: Vec<u8> = (0..200).flat_map(page).collect();
    let good = gzip(&page);
    let blocks = (0..40).map(|i| {
        let mut bad = good.clone();
        let at = bad.len() * i / 40;
        match i % 4 {
            0 => bad[at] ^= 0x40,
            1 => bad.truncate(at),
            2 => bad.extend_from_slice(&good[..at]),
            _ => drop(bad.splice(at..at, [0; 5])),
        }
        http("Content-Type: text/html\r\nContent-Encoding: gzip\r\n", &bad)
    });
    kept(&blocks.collect::<Vec<_>>());
}

#[test]
fn chunks_that_are_nonsense_with_gzip_inside_are_kept() {
    let coded = gzip(&page(2).repeat(30));
    let good = chunked(&coded, 100);
    let head = "Content-Type: text/html\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n";
    let text = |s: &str| s.as_bytes().to_vec();
    let bodies = [
        good[..good.len() - 5].to_vec(),
        [text("ffffffffffffffffffff\r\n"), coded.clone(), text("\r\n0\r\n\r\n")].concat(),
        [text("7fffffffffffffff\r\n"), coded.clone()].concat(),
        [text("-5\r\n"), good.clone()].concat(),
        [text("0\r\n\r\n"), good.clone()].concat(),
        [good.clone(), good.clone()].concat(),
        text("5;ext=\"\r\n\"\r\nhello\r\n0\r\nTrailer: x\r\n\r\n"),
        text("000000000000000000000000000000001\r\na\r\n0\r\n\r\n"),
        text("1\na\n0\n\n"),
        b"1\r\nX".repeat(5000),
        coded.clone(),
        chunked(&coded, 1),
        Vec::new(),
    ];
    kept(&bodies.map(|body| http(head, &body)));
}

/// A gigabyte in a few kilobytes, said to be a page: kept as it came, and never unfolded whole.
#[test]
fn coded_bodies_of_a_gigabyte_are_kept_as_they_came() {
    let started = Instant::now();
    let bombs = [("gzip", gzip_bomb(GIGABYTE)), ("br", brotli_bomb(GIGABYTE)), ("zstd", zstd_bomb(GIGABYTE))];
    let mut file = record(1);
    let mut blocks = Vec::new();
    for (i, (coding, bomb)) in bombs.into_iter().enumerate() {
        assert!(bomb.len() < 2 << 20, "{coding}: {} bytes", bomb.len());
        let heads = [
            format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n"),
            format!("Content-Type: text/html\r\nContent-Encoding: {coding}, {coding}\r\n"),
            format!("Content-Type: text/html\r\nTransfer-Encoding: chunked\r\nContent-Encoding: {coding}\r\n"),
        ];
        let again = match coding {
            "gzip" => gzip(&bomb),
            "br" => brotli(&bomb),
            _ => zstd(&bomb),
        };
        let bodies = [bomb.clone(), again, chunked(&bomb, 4096)];
        for (j, (head, body)) in heads.iter().zip(&bodies).enumerate() {
            let block = http(head, body);
            file.extend_from_slice(&response(100 + 10 * i + j, &block));
            blocks.push((100 + 10 * i + j, block));
        }
    }
    file.extend_from_slice(&record(3));
    let (archive, _) = case(&file, &[1, 3], "");
    for (n, block) in blocks {
        let capture = archive.capture(&url(n));
        assert!(archive.wire(&capture) == block, "{n}");
        let shown = plain_body(&capture.main.head, &block[capture.main.head.len()..]);
        assert!(shown.len() <= 2 * UNFOLDED_BYTES_MAX, "{n} shows {} bytes", shown.len());
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

/// The bombs are what they claim, or the tests above show nothing.
#[test]
fn the_bombs_are_real() {
    use std::io::Read;
    let count = |mut reader: Box<dyn Read>| {
        let (mut total, mut buffer) = (0u64, vec![0; 1 << 20]);
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            total += n as u64;
        }
        total
    };
    let (gz, br, zs) = (gzip_bomb(80), brotli_bomb(80), zstd_bomb(80));
    assert_eq!(count(Box::new(zstd::stream::read::Decoder::new(std::io::Cursor::new(zs)).unwrap())), 80 << 20);
    assert_eq!(count(Box::new(flate2::read::GzDecoder::new(std::io::Cursor::new(gz)))), 80 << 20);
    assert_eq!(count(Box::new(brotli::Decompressor::new(std::io::Cursor::new(br), 1 << 16))), 80 << 20);
}

/// The records themselves are bombs: a gigabyte of zeros in a megabyte of gzip, or in a few bytes of zstd.
#[test]
fn records_that_are_bombs_are_counted_and_passed() {
    let body = 1usize << 30;
    let header = String::from_utf8(response(2, b"")).unwrap();
    let header = header.replace("Content-Length: 0", &format!("Content-Length: {body}"));
    let header = header.trim_end_matches("\r\n").to_owned() + "\r\n\r\n";
    // Within one member: the header, packed for itself, is followed by the bomb's own blocks.
    let bomb = zstd_bomb(GIGABYTE);
    let frame = {
        let raw = header.as_bytes();
        let mut out = bomb[..6].to_vec();
        out.extend_from_slice(&(((raw.len() as u32) << 3).to_le_bytes()[..3]));
        out.extend_from_slice(raw);
        out.extend_from_slice(&bomb[6..]);
        out
    };
    let (archive, _) = case(&[zstd(&record(1)), frame, zstd(&record(3))].concat(), &[1, 3], "*");
    assert!(archive.captures(&url(2)).is_empty(), "a bomb was stored");
    let member = {
        let raw = header.as_bytes();
        let bomb = gzip_bomb(GIGABYTE);
        let mut out = bomb[..10].to_vec();
        out.push(0);
        out.extend_from_slice(&(raw.len() as u16).to_le_bytes());
        out.extend_from_slice(&(!(raw.len() as u16)).to_le_bytes());
        out.extend_from_slice(raw);
        out.extend_from_slice(&bomb[10..]);
        out
    };
    let (archive, _) = case(&[gzip(&record(1)), member, gzip(&record(3))].concat(), &[1, 3], "*");
    assert!(archive.captures(&url(2)).is_empty(), "a bomb was stored");
}

/// Run by `bombs_pass_in_little_memory` in a process of its own, where memory can be told apart.
#[test]
#[ignore = "measures the whole process: run by another test"]
fn alone_bombs_pass_in_little_memory() {
    in_time(|| {
        let mut archive = Archive::new();
        let before = resident_peak_bytes().unwrap_or(0);
        for (i, (coding, bomb)) in
            [("gzip", gzip_bomb(GIGABYTE)), ("br", brotli_bomb(GIGABYTE)), ("zstd", zstd_bomb(GIGABYTE))]
                .into_iter()
                .enumerate()
        {
            let block = http(&format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n"), &bomb);
            archive.import(&response(50 + i, &block)).unwrap();
            assert!(archive.wire(&archive.capture(&url(50 + i))) == block);
        }
        let peak = resident_peak_bytes().unwrap_or(0);
        println!("peak {} MiB before, {} MiB after", before >> 20, peak >> 20);
        assert!(peak < 300 << 20, "{} MiB", peak >> 20);
    });
}

#[test]
fn bombs_pass_in_little_memory() {
    super::disks::run_alone("hostile::bodies::alone_bombs_pass_in_little_memory", |_| {});
}
