//! What is replayed: real documentation pages of about 32 KB, pictures, and one page with thirty versions; in an archive of
//! ours, and exported from it as a WARC for others.

use crate::crawl::Site;
use crate::peers::say;
use anyhow::{Context, Result, ensure};
use herodotus_base::Timestamp;
use herodotus_store::archive::{Format, Selection, export};
use herodotus_store::{Body, Capture, Kind, Record, Store};
use std::path::{Path, PathBuf};

/// Pages, and as many pictures if the site has them.
const PAGES: usize = 500;
const PAGE_BYTES: std::ops::Range<u64> = 24_000..42_000;
const VERSIONS: i64 = 30;
const BASE: &str = "http://docs.example";
/// 2026-01-02 03:04:05
const BEGAN: &str = "20260102030405";
const MIB: f64 = 1024.0 * 1024.0;

#[derive(Debug)]
pub(crate) struct Corpus {
    folder: tempfile::TempDir,
    /// Stamp and URL.
    pub(crate) pages: Vec<(String, String)>,
    pub(crate) pictures: Vec<(String, String)>,
    /// The URL with many versions.
    pub(crate) versions_of: String,
    bytes: u64,
}

impl Corpus {
    pub(crate) fn make(data: &Path, work: &Path) -> Result<Self> {
        let site = Site::find(data, "small")?;
        let folder = tempfile::Builder::new().prefix("herodotus-bench-replay-").tempdir_in(work)?;
        let (store, _) = Store::open(&folder.path().join("archive"))?;
        let mut corpus = Self {
            pages: Vec::new(),
            pictures: Vec::new(),
            versions_of: format!("{BASE}/versions.html"),
            bytes: 0,
            folder,
        };
        let mut time = Timestamp::parse(BEGAN)?.millis();
        let mut next = || {
            time += 1_000;
            Timestamp::from_millis_clamped(time)
        };
        let mut any = None;
        for (file, media, is_page) in chosen(&site)? {
            let bytes = std::fs::read(&file)?;
            let path = file.strip_prefix(&site.root)?.to_string_lossy().into_owned();
            let (url, at) = (format!("{BASE}/{path}"), next());
            corpus.bytes += bytes.len() as u64;
            append(&store, &url, at, media, &bytes)?;
            if is_page && any.is_none() {
                any = Some(bytes);
            }
            let list = if is_page { &mut corpus.pages } else { &mut corpus.pictures };
            list.push((at.digits14(), url));
        }
        let page = any.unwrap_or_default();
        for n in 0..VERSIONS {
            let mut body = page.clone();
            body.extend_from_slice(format!("<!-- version {n} -->").as_bytes());
            append(&store, &corpus.versions_of, next(), "text/html; charset=utf-8", &body)?;
        }
        store.seal()?;
        say("writing the same as a WARC");
        let (path, everything) = (corpus.warc(), Selection::default());
        let format = Format::of_path(&path).context("the name of a WARC")?;
        export(&store, &everything, &path, format, false, |_| {})?;
        store.close()?;
        ensure!(corpus.pages.len() > 100, "the site has only {} pages of the right size", corpus.pages.len());
        Ok(corpus)
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.folder.path().join("archive")
    }

    pub(crate) fn warc(&self) -> PathBuf {
        self.folder.path().join("corpus.warc.gz")
    }

    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn words(&self) -> String {
        format!(
            "{} documentation pages of {} to {} KB, {} pictures, {:.1} MiB in all; one page with {VERSIONS} versions.",
            self.pages.len(),
            PAGE_BYTES.start / 1000,
            PAGE_BYTES.end / 1000,
            self.pictures.len(),
            self.bytes as f64 / MIB
        )
    }
}

/// Files of the site, with their type, and whether they are pages.
fn chosen(site: &Site) -> Result<Vec<(PathBuf, &'static str, bool)>> {
    let fits = |path: &PathBuf| path.metadata().is_ok_and(|m| PAGE_BYTES.contains(&m.len()));
    let pages = site.html_files()?.into_iter().filter(fits).take(PAGES);
    let mut all: Vec<_> = pages.map(|path| (path, "text/html; charset=utf-8", true)).collect();
    let pictures =
        site.files(&["png"])?.into_iter().filter(|p| p.metadata().is_ok_and(|m| m.len() < 100_000)).take(PAGES);
    all.extend(pictures.map(|path| (path, "image/png", false)));
    Ok(all)
}

fn append(store: &Store, url: &str, at: Timestamp, media: &str, body: &[u8]) -> Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: {media}\r\nContent-Length: {}\r\nETag: \"1\"\r\n\r\n",
        body.len()
    );
    let main = Record::new(Kind::Response, url, at, head.into_bytes(), Body::new(body));
    store.append(Capture { url: url.to_owned(), time: at, main, companions: Vec::new() })?;
    Ok(())
}
