//! WARC, ARC and WACZ files of any bytes: the reader ends, tells each thing once, and goes on from every position.

use herodotus_warc::{Item, Position, ReadLimits, Reader};
use std::cell::RefCell;
use std::io::{Read, Seek, Write};
use std::path::Path;
use tempfile::NamedTempFile;

thread_local! {
    static FILE: RefCell<NamedTempFile> = RefCell::new(scratch());
}

fn scratch() -> NamedTempFile {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { NamedTempFile::new_in(memory) } else { NamedTempFile::new() };
    made.expect("a temporary file")
}

pub fn run(bytes: &[u8]) {
    FILE.with_borrow_mut(|file| {
        let out = file.as_file_mut();
        out.rewind()
            .and_then(|()| out.write_all(bytes))
            .and_then(|()| out.set_len(bytes.len() as u64))
            .expect("written");
        read(file.path(), bytes.len());
    });
}

fn limits() -> ReadLimits {
    // Bombs are a test of their own; here they would only slow the search.
    ReadLimits { expansion_free_bytes: 1 << 20, zstd_window_log_max: 22, ..ReadLimits::default() }
}

fn read(path: &Path, len: usize) {
    let Ok(mut reader) = Reader::open(path, limits()) else { return };
    let mut positions: Vec<(Position, usize)> = Vec::new();
    let (mut records, mut items) = (0, 0);
    loop {
        positions.push((reader.position(), records));
        match reader.next().expect("a file in memory can be read") {
            None => break,
            Some(Item::Skipped(skip)) => {
                assert!(skip.reason.chars().count() < 300, "{}", skip.reason);
                assert!(!skip.reason.contains(|c: char| c.is_control()), "{}", skip.reason);
            }
            Some(Item::Record(mut record)) => {
                records += 1;
                let (_, _, _) = (record.header.kind(), record.header.date(), record.header.target_uri().map(str::len));
                let read = std::io::copy(&mut (&mut record.block).take(record.len + 1), &mut std::io::sink());
                if let Ok(read) = read {
                    assert_eq!(read, record.len, "a whole block has the length it announced");
                }
            }
        }
        items += 1;
        assert!(items <= len + 1000, "{items} items in {len} bytes");
    }
    // From the first, a middle and the last position, what follows is the same.
    for (position, before) in
        [positions.first(), positions.get(positions.len() / 2), positions.last()].into_iter().flatten()
    {
        let text = position.to_string();
        assert_eq!(Position::parse(&text).expect("our own").to_string(), text);
        let mut again = Reader::open(path, limits()).expect("it opened before");
        again.resume(position).expect("its own position");
        let mut rest = 0;
        while let Some(item) = again.next().expect("a file in memory can be read") {
            rest += usize::from(matches!(item, Item::Record(_)));
        }
        assert_eq!(before + rest, records, "from {position}");
    }
}
