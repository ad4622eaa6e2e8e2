//! What a WACZ holds: the WARC files under `archive/` in a ZIP, by its directory.
//!
//! Nothing is unpacked: an entry is a range of the file, read in place. Names are only shown, yet an entry whose name
//! would leave a directory (`..`, a leading slash, a backslash, a drive) is refused all the same, since such a file was
//! made to harm, as are encrypted ones and methods that WACZ does not use.

use crate::fields::text_of;
use crate::header::shown;
use crate::{Error, ReadLimits};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use zip::{CompressionMethod, ZipArchive};

/// One WARC file within the file.
pub(crate) struct Entry {
    pub(crate) name: Option<String>,
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// The checksum of what it holds, if it is deflated: what is stored is read where it lies.
    pub(crate) deflated: Option<u32>,
    /// Why it is not read.
    pub(crate) refused: Option<String>,
}

impl Entry {
    pub(crate) fn whole(len: u64) -> Self {
        Self { name: None, start: 0, len, deflated: None, refused: None }
    }
}

/// The entries that are, or claim to be, WARC files, in the order of the directory.
pub(crate) fn list(file: &File, path: &Path, limits: &ReadLimits) -> Result<Vec<Entry>, Error> {
    let broken = |why: String| Error::Container { path: path.to_owned(), why };
    let file_len = file.metadata()?.len();
    let mut file = file.try_clone()?;
    if entries_claimed(&mut file)? > limits.wacz_entries_max {
        return Err(broken(format!("its ZIP directory lists more than {} files", limits.wacz_entries_max)));
    }
    let mut zip = match ZipArchive::new(std::io::BufReader::new(file)) {
        Ok(zip) => zip,
        Err(zip::result::ZipError::Io(e)) if !crate::read::is_format_error(e.kind()) => return Err(e.into()),
        Err(e) => {
            let hint = "its download or copy may have been cut short; fetch it again";
            return Err(broken(format!("its ZIP directory is missing or damaged ({e}): {hint}")));
        }
    };
    let mut entries = Vec::new();
    for index in 0..zip.len() {
        let name = zip.by_index_data(index).map(|entry| text_of(entry.name_raw()).into_owned()).unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        let is_warc = [".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz"].iter().any(|end| lower.ends_with(end));
        if !is_warc {
            continue;
        }
        let entry = match zip.by_index_raw(index) {
            Ok(entry) => entry,
            Err(zip::result::ZipError::Io(e)) if !crate::read::is_format_error(e.kind()) => return Err(e.into()),
            Err(e) => {
                let refused = Some(format!("Its ZIP entry is damaged ({e})"));
                entries.push(Entry { name: Some(shown_path(&name)), start: 0, len: 0, deflated: None, refused });
                continue;
            }
        };
        let (start, len) = (entry.data_start().unwrap_or(u64::MAX), entry.compressed_size());
        let method = entry.compression();
        let refused = if is_hostile(&name) {
            Some("Its name leads out of the archive: it is not read".to_owned())
        } else if !lower.starts_with("archive/") {
            Some("It does not lie under archive/, where a WACZ keeps its WARC files".to_owned())
        } else if entry.encrypted() {
            Some("It is encrypted: decrypt it first".to_owned())
        } else if !matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) {
            Some("It is compressed with a method that WACZ does not use: pack it again, stored".to_owned())
        } else if start.checked_add(len).is_none_or(|end| end > file_len) {
            Some("It reaches past the end of the file, which may have been cut short".to_owned())
        } else {
            None
        };
        let len = if refused.is_some() { 0 } else { len };
        let deflated = (method == CompressionMethod::Deflated).then(|| entry.crc32());
        entries.push(Entry { name: Some(shown_path(&name)), start, len, deflated, refused });
    }
    refuse_shared(&mut entries);
    if zip.has_duplicate_names() {
        let refused = Some("Two members of the ZIP have the same name: one of them is not read".to_owned());
        entries.push(Entry { name: None, start: 0, len: 0, deflated: None, refused });
    }
    if entries.is_empty() {
        let why = "it is a ZIP file without any WARC file under archive/".to_owned();
        return Err(Error::NotAnArchive { path: path.to_owned(), why });
    }
    Ok(entries)
}

/// Entries that lie on top of each other expand the same bytes many times (Fifield, "A better zip bomb").
fn refuse_shared(entries: &mut [Entry]) {
    let mut order: Vec<usize> = (0..entries.len()).filter(|index| entries[*index].refused.is_none()).collect();
    order.sort_by_key(|index| entries[*index].start);
    let mut taken_upto = 0;
    for index in order {
        let entry = &mut entries[index];
        if entry.start < taken_upto {
            entry.refused = Some("It shares its bytes with another member: the file was made to do harm".to_owned());
            entry.len = 0;
        } else {
            taken_upto = entry.start + entry.len;
        }
    }
}

/// Whether a path would lead out of a directory on any system.
fn is_hostile(name: &str) -> bool {
    name.starts_with('/')
        || name.contains(['\\', '\0', ':'])
        || name.split('/').any(|part| part == "..")
        || name.chars().any(char::is_control)
}

fn shown_path(name: &str) -> String {
    if name.chars().count() <= 200 && !name.chars().any(char::is_control) { name.to_owned() } else { shown(name) }
}

/// The most entries that anything at the file's end that looks like a ZIP directory's end record speaks of. It is asked
/// before the directory is read, since that is held in memory.
fn entries_claimed(file: &mut File) -> Result<u64, Error> {
    const END_BYTES_MAX: u64 = 22 + 65_535;
    let len = file.seek(SeekFrom::End(0))?;
    let start = len.saturating_sub(END_BYTES_MAX + 20);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    Read::by_ref(file).take(END_BYTES_MAX + 20).read_to_end(&mut tail)?;
    let mut most = 0;
    for at in memchr::memmem::find_iter(&tail, b"PK\x05\x06") {
        let Some(record) = tail.get(at..at + 22) else { continue };
        let count = u64::from(u16::from_le_bytes([record[10], record[11]]));
        most = most.max(count);
    }
    for at in memchr::memmem::find_iter(&tail, b"PK\x06\x07") {
        let Some(offset) = tail.get(at + 8..at + 16).and_then(|b| b.first_chunk::<8>()) else { continue };
        let mut record = [0; 40];
        file.seek(SeekFrom::Start(u64::from_le_bytes(*offset).min(len)))?;
        let mut read = 0;
        while read < record.len() {
            match file.read(&mut record[read..])? {
                0 => break,
                n => read += n,
            }
        }
        if record.starts_with(b"PK\x06\x06")
            && let Some(count) = record[32..].first_chunk::<8>()
        {
            most = most.max(u64::from_le_bytes(*count));
        }
    }
    Ok(most)
}
