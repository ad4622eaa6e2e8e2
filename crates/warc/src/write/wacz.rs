//! Makes a WACZ (spec 1.1.1): one WARC file, its index, its pages, and a signed-off list of them with their SHA-256.
//!
//! A ZIP is written front to back, so index and pages wait in temporary files beside the output until the WARC is done.
//! The WACZ itself is temporary too until `finish`: there is never half of one under the name asked for. What is not
//! compressed already is deflated; the WARC is stored, so that players read single records out of it. Entries may pass
//! 4 GiB (ZIP64).

use super::cdx::CdxLine;
use super::record::{Coding, Span, Writer};
use crate::{Error, Fields};
use herodotus_base::{Sha256, Timestamp};
use serde::Serialize;
use sha2::Digest as _;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const WARC_PATH: &str = "archive/data.warc.gz";
/// CDXJ inside, but `wb-manager add --unpack-wacz` passes over every index that is not called `.cdx`.
const INDEX_PATH: &str = "indexes/index.cdx";
const PAGES_PATH: &str = "pages/pages.jsonl";
const PACKAGE_PATH: &str = "datapackage.json";
const DIGEST_PATH: &str = "datapackage-digest.json";
const WACZ_VERSION: &str = "1.1.1";

/// What a WACZ says of itself.
#[derive(Clone, Debug)]
pub struct WaczAbout {
    /// The program that made it, with its version.
    pub software: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub created: Timestamp,
}

/// An entry of the page list that players show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    pub url: String,
    pub title: Option<String>,
    pub time: Timestamp,
}

/// Writes one WACZ.
pub struct WaczWriter {
    path: PathBuf,
    about: WaczAbout,
    warc: Writer<Hashed<ZipWriter<BufWriter<NamedTempFile>>>>,
    index: BufWriter<File>,
    index_last: Option<String>,
    pages: BufWriter<File>,
}

impl WaczWriter {
    /// The name of the WARC file within, for [`CdxLine::filename`].
    pub const WARC_NAME: &'static str = "data.warc.gz";

    /// Starts a WACZ that will appear at `path`, replacing what is there, when it is finished.
    pub fn create(path: &Path, about: WaczAbout) -> Result<Self, Error> {
        let dir = match path.parent() {
            Some(dir) if dir != Path::new("") => dir,
            _ => Path::new("."),
        };
        let file = NamedTempFile::with_prefix_in(".wacz-", dir)?;
        let mut zip = ZipWriter::new(BufWriter::with_capacity(256 << 10, file));
        zip.start_file(WARC_PATH, stored(about.created).large_file(true))?;
        let mut pages = BufWriter::new(tempfile::tempfile_in(dir)?);
        write_json_line(&mut pages, &PagesHead { format: "json-pages-1.0", id: "pages", title: "All Pages" })?;
        Ok(Self {
            path: path.to_owned(),
            about,
            warc: Writer::new(Hashed { out: zip, hash: sha2::Sha256::new(), len: 0 }, Coding::Gzip)?,
            index: BufWriter::new(tempfile::tempfile_in(dir)?),
            index_last: None,
            pages,
        })
    }

    /// Writes a record; see [`Writer::write`]. The span is what its index line needs.
    pub fn write(
        &mut self,
        version: &str,
        fields: &Fields,
        block: &mut dyn Read,
        block_len: u64,
    ) -> Result<Span, Error> {
        self.warc.write(version, fields, block, block_len)
    }

    /// Adds an index line. Lines must come in the order of their keys and times.
    pub fn index(&mut self, line: &CdxLine) -> Result<(), Error> {
        let key = line.sort_key();
        if let Some(after) = &self.index_last
            && *after > key
        {
            return Err(Error::Unsorted { line: key, after: after.clone() });
        }
        writeln!(self.index, "{line}")?;
        self.index_last = Some(key);
        Ok(())
    }

    /// Adds a page, in the order in which players are to list them.
    pub fn page(&mut self, page: &Page) -> Result<(), Error> {
        let ts = page.time.rfc3339();
        // Players want an id for each page; this one is the same in every export.
        let id = Sha256::of(format!("{ts} {}", page.url).as_bytes()).to_string();
        let line =
            PageLine { id: &id[..22], url: &page.url, title: page.title.as_deref().unwrap_or(&page.url), ts: &ts };
        write_json_line(&mut self.pages, &line)
    }

    /// Completes the file and gives it its name.
    pub fn finish(self) -> Result<(), Error> {
        let Self { path, about, warc, index, index_last: _, pages } = self;
        let Hashed { out: mut zip, hash, len } = warc.finish()?;
        let mut resources = vec![Resource::new(WARC_PATH, hash, len)];
        for (name, spill) in [(INDEX_PATH, index), (PAGES_PATH, pages)] {
            resources.push(add_spill(&mut zip, name, spill, about.created)?);
        }
        let package = Package {
            profile: "data-package",
            resources,
            title: about.title.as_deref(),
            description: about.description.as_deref(),
            created: about.created.floor_second().rfc3339(),
            wacz_version: WACZ_VERSION,
            software: &about.software,
        };
        let package = serde_json::to_vec_pretty(&package).map_err(io::Error::from)?;
        let hash = format!("sha256:{}", Sha256::of(&package));
        let digest = serde_json::to_vec_pretty(&PackageDigest { path: PACKAGE_PATH, hash }).map_err(io::Error::from)?;
        for (name, bytes) in [(PACKAGE_PATH, package), (DIGEST_PATH, digest)] {
            zip.start_file(name, deflated(about.created))?;
            zip.write_all(&bytes)?;
        }
        let file = zip.finish()?.into_inner().map_err(|e| e.into_error())?;
        set_ordinary_permissions(file.as_file())?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|e| e.error)?;
        Ok(())
    }
}

impl std::fmt::Debug for WaczWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WaczWriter").field("path", &self.path).field("warc", &self.warc).finish_non_exhaustive()
    }
}

/// Copies what waited in a temporary file into the ZIP.
fn add_spill(
    zip: &mut ZipWriter<BufWriter<NamedTempFile>>,
    name: &'static str,
    spill: BufWriter<File>,
    created: Timestamp,
) -> Result<Resource, Error> {
    let mut file = spill.into_inner().map_err(|e| e.into_error())?;
    let size = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    // Deflate can add a little to what it cannot compress.
    zip.start_file(name, deflated(created).large_file(size > u64::from(u32::MAX) / 2))?;
    let mut hashed = Hashed { out: zip, hash: sha2::Sha256::new(), len: 0 };
    io::copy(&mut BufReader::new(file), &mut hashed)?;
    Ok(Resource::new(name, hashed.hash, hashed.len))
}

fn stored(created: Timestamp) -> SimpleFileOptions {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).unix_permissions(0o644);
    match dos_time(created) {
        Some(time) => options.last_modified_time(time),
        None => options.last_modified_time(zip::DateTime::default()),
    }
}

fn deflated(created: Timestamp) -> SimpleFileOptions {
    stored(created).compression_method(CompressionMethod::Deflated)
}

/// ZIP's clock starts in 1980.
fn dos_time(time: Timestamp) -> Option<zip::DateTime> {
    let digits = time.digits14();
    let part = |from: usize, to: usize| digits.get(from..to)?.parse::<u16>().ok();
    let small = |from: usize, to: usize| part(from, to).and_then(|n| u8::try_from(n).ok());
    let (month, day, hour, minute, second) =
        (small(4, 6)?, small(6, 8)?, small(8, 10)?, small(10, 12)?, small(12, 14)?);
    zip::DateTime::from_date_and_time(part(0, 4)?, month, day, hour, minute, second).ok()
}

/// Temporary files are for their owner alone; what they become is not.
#[cfg(unix)]
fn set_ordinary_permissions(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_ordinary_permissions(_: &File) -> io::Result<()> {
    Ok(())
}

fn write_json_line(out: &mut impl Write, line: &impl Serialize) -> Result<(), Error> {
    serde_json::to_writer(&mut *out, line).map_err(io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

/// Passes bytes on and hashes them.
struct Hashed<W> {
    out: W,
    hash: sha2::Sha256,
    len: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.hash.update(&bytes[..n]);
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[derive(Serialize)]
struct PagesHead {
    format: &'static str,
    id: &'static str,
    title: &'static str,
}

#[derive(Serialize)]
struct PageLine<'a> {
    id: &'a str,
    url: &'a str,
    title: &'a str,
    ts: &'a str,
}

#[derive(Serialize)]
struct Package<'a> {
    profile: &'static str,
    resources: Vec<Resource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    created: String,
    wacz_version: &'static str,
    software: &'a str,
}

#[derive(Serialize)]
struct Resource {
    name: &'static str,
    path: &'static str,
    hash: String,
    bytes: u64,
}

impl Resource {
    fn new(path: &'static str, hash: sha2::Sha256, bytes: u64) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        Self { name, path, hash: format!("sha256:{}", Sha256(hash.finalize().into())), bytes }
    }
}

#[derive(Serialize)]
struct PackageDigest {
    path: &'static str,
    hash: String,
}
