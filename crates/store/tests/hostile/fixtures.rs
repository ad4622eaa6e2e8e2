//! Files to import, whole and broken, made byte by byte so that the importer is never tested against our own writer.

use std::io::Write;

/// Words that repeat from page to page, as real ones do, with enough that differs.
pub fn page(n: usize) -> Vec<u8> {
    let words = ["alpha", "beta", "gamma", "delta", "kappa", "sigma", "omega"];
    let text: Vec<&str> = (0..60 + n % 7).map(|i| words[(i * 31 + n * 17 + i * i * n) % words.len()]).collect();
    format!("<title>{n}</title><p>{}</p>\n", text.join(" ")).into_bytes()
}

pub fn http(headers: &str, body: &[u8]) -> Vec<u8> {
    let mut block = format!("HTTP/1.1 200 OK\r\n{headers}\r\n").into_bytes();
    block.extend_from_slice(body);
    block
}

/// The block of good record number `n`.
pub fn block(n: usize) -> Vec<u8> {
    http("Content-Type: text/html\r\n", &page(n))
}

pub fn url(n: usize) -> String {
    format!("http://a.example/{n}")
}

pub fn uuid(n: usize) -> String {
    format!("<urn:uuid:00000000-0000-4000-8000-{n:012}>")
}

pub const DATE: &str = "2026-01-02T03:04:05Z";

/// One WARC record from its header fields, without `Content-Length`, and its block.
pub fn record_of(fields: &[(&str, &str)], block: &[u8]) -> Vec<u8> {
    let mut bytes = b"WARC/1.1\r\n".to_vec();
    for (name, value) in fields {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", block.len()).as_bytes());
    bytes.extend_from_slice(block);
    bytes.extend_from_slice(b"\r\n\r\n");
    bytes
}

/// A response like the good ones, with another block.
pub fn response(n: usize, block: &[u8]) -> Vec<u8> {
    let kind = "application/http; msgtype=response";
    let (url, id) = (url(n), uuid(n));
    let fields = [("WARC-Type", "response"), ("WARC-Target-URI", &url), ("WARC-Date", DATE), ("WARC-Record-ID", &id)];
    record_of(&[&fields[..], &[("Content-Type", kind)]].concat(), block)
}

/// Good record number `n`.
pub fn record(n: usize) -> Vec<u8> {
    response(n, &block(n))
}

/// Record number `n` with its header spoiled.
pub fn edited(n: usize, from: &str, to: &str) -> Vec<u8> {
    let whole = record(n);
    let at = whole.windows(4).position(|w| w == b"\r\n\r\n").expect("a header") + 2;
    let header = String::from_utf8(whole[..at].to_vec()).expect("a header of text");
    assert!(header.contains(from), "{header} has no {from}");
    [header.replace(from, to).as_bytes(), &whole[at..]].concat()
}

/// Record 1, the hostile one, record 3.
pub fn around(middle: &[u8]) -> Vec<u8> {
    [record(1).as_slice(), middle, &record(3)].concat()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("memory");
    encoder.include_checksum(true).expect("a known option");
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

pub fn brotli(bytes: &[u8]) -> Vec<u8> {
    let params = brotli::enc::BrotliEncoderParams { quality: 5, lgwin: 22, ..Default::default() };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &bytes[..], &mut out, &params).expect("memory");
    out
}

/// Each record packed for itself.
pub fn members(numbers: impl IntoIterator<Item = usize>, pack: fn(&[u8]) -> Vec<u8>) -> Vec<Vec<u8>> {
    numbers.into_iter().map(|n| pack(&record(n))).collect()
}

pub fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in entries {
        zip.start_file(*name, options).expect("memory");
        zip.write_all(bytes).expect("memory");
    }
    zip.finish().expect("memory").into_inner()
}

pub fn arc(numbers: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let shape = "1 0 test\nURL IP-address Archive-date Content-type Archive-length\n";
    let mut all = format!("filedesc://t.arc 0.0.0.0 20260102030405 text/plain {}\n{shape}\n", shape.len()).into_bytes();
    for n in numbers {
        let block = block(n);
        all.extend_from_slice(format!("{} 192.0.2.7 20260102030405 text/html {}\n", url(n), block.len()).as_bytes());
        all.extend_from_slice(&block);
        all.push(b'\n');
    }
    all
}

/// Bytes that no coder makes smaller, the same for a seed.
pub fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    out.truncate(len);
    out
}

/// A gzip file of a few bytes per kilobyte of zeros, made without packing them all.
pub fn gzip_bomb(megabytes: usize) -> Vec<u8> {
    const PIECE: usize = 8 << 20;
    let mut deflate = flate2::Compress::new(flate2::Compression::new(9), false);
    let mut piece = Vec::with_capacity(64 << 10);
    // A full flush ends on a byte and forgets what was before: the same bytes may follow themselves.
    deflate.compress_vec(&vec![0; PIECE], &mut piece, flate2::FlushCompress::Full).expect("memory");
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let (mut crc, mut crc_piece) = (crc32fast::Hasher::new(), crc32fast::Hasher::new());
    crc_piece.update(&vec![0; PIECE]);
    for _ in 0..megabytes >> 3 {
        out.extend_from_slice(&piece);
        crc.combine(&crc_piece);
    }
    out.extend_from_slice(&[3, 0]);
    out.extend_from_slice(&crc.finalize().to_le_bytes());
    out.extend_from_slice(&((megabytes << 20) as u32).to_le_bytes());
    out
}

/// A zstd frame of run-length blocks: 32 KiB for a gigabyte.
pub fn zstd_bomb(megabytes: usize) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x58];
    let blocks = megabytes << 3;
    for i in 0..blocks {
        let header = ((128u32 << 10) << 3) | (1 << 1) | u32::from(i + 1 == blocks);
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.push(b'a');
    }
    out
}

/// A brotli stream of zeros: a piece between two flushes may be repeated, since it refers to the bytes just before.
pub fn brotli_bomb(megabytes: usize) -> Vec<u8> {
    const PIECE: usize = 4 << 20;
    let mut writer = brotli::CompressorWriter::new(Vec::new(), 1 << 16, 5, 18);
    let mut lens = Vec::new();
    for _ in 0..3 {
        writer.write_all(&vec![0; PIECE]).expect("memory");
        writer.flush().expect("memory");
        lens.push(writer.get_ref().len());
    }
    let bytes = writer.get_ref().clone();
    let mut out = bytes[..lens[1]].to_vec();
    for _ in 2..megabytes >> 2 {
        out.extend_from_slice(&bytes[lens[1]..lens[2]]);
    }
    out.push(3);
    out
}

pub fn chunked(body: &[u8], chunk: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for part in body.chunks(chunk) {
        out.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}
