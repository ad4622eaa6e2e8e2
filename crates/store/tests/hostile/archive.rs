//! An archive in a directory of its own that already holds captures of every sort, and the checks that hold after every
//! hostile import: what was there is there, whole; what was good around the damage is there too; what was said is a sentence.

use super::fixtures::{self, DATE, block, record_of, response, url, uuid};
use herodotus_base::{Sha256, Timestamp};
use herodotus_store::archive::{self, Format, ImportOptions, ImportReport, Selection};
use herodotus_store::{Capture, Kind, Recovery, Result, Store, key_of};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use tempfile::TempDir;

/// A whole case takes a second; one that takes this long never ends.
const HANGS_AFTER: Duration = Duration::from_secs(100);

/// Runs a case in a thread of its own, so that one that waits for ever fails instead.
#[track_caller]
pub fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = channel();
    let thread = std::thread::spawn(move || done.send(work()).ok());
    match wait.recv_timeout(HANGS_AFTER) {
        Ok(value) => value,
        Err(RecvTimeoutError::Timeout) => panic!("it hangs: nothing came within {HANGS_AFTER:?}"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(_) => panic!("the case ended without an answer"),
        },
    }
}

/// Captures that are in the archive before anything hostile comes: versions, equal bodies, coded and raw ones, an
/// exchange with its request, a body in a file of its own.
pub fn earlier_file() -> Vec<u8> {
    let mut file = Vec::new();
    for version in 0..6 {
        let mut body =
            (0..200).flat_map(|i| format!("<li>line {i} of the page</li>\n").into_bytes()).collect::<Vec<_>>();
        body.extend_from_slice(format!("version {version}").as_bytes());
        let (id, date) = (uuid(900_000 + version), format!("202{version}-01-01T00:00:00Z"));
        let fields = [("WARC-Type", "response"), ("WARC-Target-URI", "http://before.example/page")];
        let fields = [&fields[..], &[("WARC-Date", &date), ("WARC-Record-ID", &id)]].concat();
        file.extend_from_slice(&record_of(&fields, &fixtures::http("Content-Type: text/html\r\n", &body)));
    }
    let page: Vec<u8> = (0..400).flat_map(fixtures::page).collect();
    let blocks = [
        fixtures::http("Content-Type: text/html\r\n", &page),
        fixtures::http("Content-Type: text/html\r\nX-Other: yes\r\n", &page),
        fixtures::http("Content-Type: text/html\r\nContent-Encoding: gzip\r\n", &fixtures::gzip(&page)),
        fixtures::http("Content-Type: image/png\r\n", &fixtures::noise(20_000, 1)),
        fixtures::http("Content-Type: video/mp4\r\n", &fixtures::noise(5 << 20, 2)),
        fixtures::http("", b""),
    ];
    for (i, block) in blocks.iter().enumerate() {
        file.extend_from_slice(&response(910_000 + i, block));
    }
    let (id, other) = (uuid(910_005), uuid(910_099));
    let request = [
        ("WARC-Type", "request"),
        ("WARC-Target-URI", "http://a.example/910005"),
        ("WARC-Date", DATE),
        ("WARC-Record-ID", &other),
        ("WARC-Concurrent-To", &id),
    ];
    file.extend_from_slice(&record_of(&request, b"GET /910005 HTTP/1.1\r\nHost: a.example\r\n\r\n"));
    file
}

/// The earlier captures' archive, closed: made once, copied for each case.
fn template() -> &'static Path {
    static TEMPLATE: OnceLock<TempDir> = OnceLock::new();
    let dir = TEMPLATE.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("earlier.warc");
        std::fs::write(&file, earlier_file()).expect("written");
        let (store, _) = Store::open(&dir.path().join("data")).expect("a new archive");
        let report = archive::import(&store, &file, &ImportOptions::default(), |_| {}).expect("a good file");
        assert_eq!((report.skipped, report.stored), (0, 12));
        store.close().expect("closed");
        dir
    });
    dir.path()
}

pub fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("listed") {
        let entry = entry.expect("listed");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("known").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).expect("copied");
        }
    }
}

/// An archive with the earlier captures in it.
pub struct Archive {
    dir: TempDir,
    store: Option<Store>,
    files: usize,
}

impl Archive {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        copy_tree(&template().join("data"), &dir.path().join("data"));
        let mut archive = Self { dir, store: None, files: 0 };
        assert_eq!(archive.open().expect("a whole archive"), Recovery::default());
        archive
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn store(&self) -> &Store {
        self.store.as_ref().expect("open")
    }

    /// Leaves the store as a killed process does: whatever is not on disk is gone.
    pub fn drop_store(&mut self) {
        self.store = None;
    }

    pub fn close(&mut self) {
        if let Some(store) = self.store.take() {
            store.close().expect("closed");
        }
    }

    pub fn open(&mut self) -> Result<Recovery> {
        self.store = None;
        let (store, recovery) = Store::open(&self.data())?;
        self.store = Some(store);
        Ok(recovery)
    }

    /// The files of one folder of the data directory.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let list = std::fs::read_dir(self.data().join(folder)).expect("listed");
        let mut files: Vec<_> = list.map(|entry| entry.expect("listed").path()).filter(|path| path.is_file()).collect();
        files.sort();
        files
    }

    pub fn save(&mut self, bytes: &[u8]) -> PathBuf {
        self.files += 1;
        let path = self.dir.path().join(format!("hostile-{}", self.files));
        std::fs::write(&path, bytes).expect("written");
        path
    }

    pub fn import(&mut self, bytes: &[u8]) -> Result<ImportReport> {
        let path = self.save(bytes);
        self.import_path(&path, &ImportOptions::default())
    }

    pub fn import_path(&self, path: &Path, options: &ImportOptions) -> Result<ImportReport> {
        let report = archive::import(self.store(), path, options, |_| {})?;
        assert_sentences(&report);
        Ok(report)
    }

    /// The earlier captures read back as they were, and the archive verifies.
    #[track_caller]
    pub fn assert_whole(&self) {
        self.assert_earlier();
        let found = self.store().verify(|_, _| {}).expect("a verified archive");
        assert!(found.damaged.is_empty(), "{:?}", found.damaged);
    }

    /// The earlier captures read back as they were.
    #[track_caller]
    pub fn assert_earlier(&self) {
        assert_earlier(self.store());
    }

    /// Good record number `n` is stored, byte for byte.
    #[track_caller]
    pub fn assert_good(&self, n: usize) {
        let captures = self.captures(&url(n));
        assert_eq!(captures.len(), 1, "captures of good record {n}");
        assert!(wire(self.store(), &captures[0]) == block(n), "good record {n} came back changed");
        assert_eq!(captures[0].time, Timestamp::parse(DATE).expect("a date"));
    }

    /// Every capture of a URL, oldest first.
    #[track_caller]
    pub fn captures(&self, url: &str) -> Vec<Capture> {
        captures(self.store(), url)
    }

    /// The one capture of a URL.
    #[track_caller]
    pub fn capture(&self, url: &str) -> Capture {
        let mut captures = self.captures(url);
        assert_eq!(captures.len(), 1, "captures of {url:.100}");
        captures.remove(0)
    }

    pub fn wire(&self, capture: &Capture) -> Vec<u8> {
        wire(self.store(), capture)
    }
}

#[track_caller]
pub fn captures(store: &Store, url: &str) -> Vec<Capture> {
    let entries: Vec<_> = store.versions(&key_of(url), false).map(|e| e.expect("an entry")).collect();
    entries.iter().map(|entry| store.read(&entry.id).expect("readable").expect("there")).collect()
}

/// The block of a capture's main record: what stood in the file.
#[track_caller]
pub fn wire(store: &Store, capture: &Capture) -> Vec<u8> {
    let mut bytes = capture.main.head.clone();
    store.open_body(&capture.main.body).expect("a body").read_to_end(&mut bytes).expect("a whole body");
    bytes
}

/// The blocks of the earlier captures, by URL and in the order of time.
fn earlier() -> &'static [(String, Vec<u8>)] {
    static EARLIER: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    EARLIER.get_or_init(|| {
        let mut all = Vec::new();
        let mut rest = earlier_file();
        while !rest.is_empty() {
            let at = rest.windows(4).position(|w| w == b"\r\n\r\n").expect("a header") + 4;
            let header = String::from_utf8(rest[..at].to_vec()).expect("text");
            let field = |name: &str| {
                let line = header.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
                line.trim().to_owned()
            };
            let len: usize = field("Content-Length:").parse().expect("a length");
            if field("WARC-Type:") == "response" {
                all.push((field("WARC-Target-URI:"), rest[at..at + len].to_vec()));
            }
            rest.drain(..at + len + 4);
        }
        all
    })
}

#[track_caller]
pub fn assert_earlier(store: &Store) {
    let mut urls: Vec<&str> = earlier().iter().map(|(url, _)| url.as_str()).collect();
    urls.dedup();
    for url in urls {
        let found: Vec<Vec<u8>> = captures(store, url).iter().map(|c| wire(store, c)).collect();
        let expected: Vec<&Vec<u8>> = earlier().iter().filter(|(u, _)| u == url).map(|(_, block)| block).collect();
        assert!(found.iter().eq(expected), "{url} is not what it was");
    }
    let exchange = captures(store, "http://a.example/910005");
    assert_eq!(exchange[0].companions.len(), 1, "the request of an earlier capture is gone");
}

#[track_caller]
fn assert_sentences(report: &ImportReport) {
    assert_eq!(report.skips.len() as u64, report.skipped.min(1000));
    for skip in &report.skips {
        let reason = &skip.reason;
        assert!((8..400).contains(&reason.chars().count()), "{reason:?} is no sentence");
        assert!(!reason.contains(|c: char| c.is_control()), "{reason:?} would garble a terminal");
    }
}

#[track_caller]
pub fn assert_says(report: &ImportReport, says: &str) {
    let all: Vec<&str> = report.skips.iter().map(|skip| skip.reason.as_str()).collect();
    if says == "*" {
        return;
    }
    if says.is_empty() {
        assert_eq!(report.skipped, 0, "{all:?}");
    } else {
        assert!(all.iter().any(|reason| reason.contains(says)), "{all:?} does not say `{says}`");
    }
}

/// Imports a hostile file into an archive with captures in it. The numbered good records are stored whole; `says` is part
/// of what is told of the rest (empty: nothing is skipped; `*`: whatever). Afterwards everything is read again from disk, imported again,
/// and taken out and in.
#[track_caller]
pub fn case(bytes: &[u8], good: &[usize], says: &str) -> (Archive, ImportReport) {
    let (bytes, good, says) = (bytes.to_vec(), good.to_vec(), says.to_owned());
    in_time(move || {
        let mut archive = Archive::new();
        let report = archive.import(&bytes).expect("a file with damage is still a file");
        assert_says(&report, &says);
        let check = |archive: &Archive| {
            good.iter().for_each(|n| archive.assert_good(*n));
            archive.assert_whole();
        };
        check(&archive);
        archive.close();
        assert_eq!(archive.open().expect("it opens again"), Recovery::default());
        check(&archive);
        let path = archive.save(&bytes);
        let again = archive.import_path(&path, &ImportOptions { again: true, ..Default::default() }).expect("again");
        assert_eq!((again.stored, again.skipped), (0, report.skipped), "the same file adds nothing");
        let again = archive.import_path(&path, &ImportOptions::default()).expect("known");
        // What had damage in it is read again, in case it was mended, and then brings nothing new.
        assert!(again.already || again.stored == 0, "{again:?}");
        assert_goes_out_and_in(&archive);
        (archive, report)
    })
}

/// Everything that is here can be exported, and imported elsewhere without a loss.
#[track_caller]
pub fn assert_goes_out_and_in(archive: &Archive) {
    let out = archive.path("out.warc");
    let (all, plain) = (Selection::default(), Format::Warc(herodotus_warc::Coding::Plain));
    let report = archive::export(archive.store(), &all, &out, plain, true, |_| {}).expect("exported");
    assert_eq!(report.damaged, 0);
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let (other, _) = Store::open(elsewhere.path()).expect("a new archive");
    let back = archive::import(&other, &out, &ImportOptions::default(), |_| {}).expect("our own file");
    assert_eq!(back.skipped, 0, "our own export is not whole: {:?}", back.skips);
    let (here, there) = (records(archive.store()), records(&other));
    for (id, digest) in here {
        // Exchanges may be put together in another way; a revisit that found its original comes out as that.
        let found = there.get(&id).unwrap_or_else(|| panic!("{id:?} was lost on the way"));
        assert!(digest.is_none() || *found == digest, "{id:?} changed on the way");
    }
}

type RecordName = (String, Timestamp, String);

/// Every record by URL, time and id, with the digest of its block; `None` for revisits.
fn records(store: &Store) -> BTreeMap<RecordName, Option<Sha256>> {
    let mut all = BTreeMap::new();
    for entry in store.scan_all().map(|e| e.expect("an entry")) {
        let capture = store.read(&entry.id).expect("readable").expect("there");
        for record in std::iter::once(&capture.main).chain(&capture.companions) {
            // A record without a target is known by its id alone.
            let url = record.field("WARC-Target-URI").unwrap_or_default().to_owned();
            let mut block = record.head.clone();
            store.open_body(&record.body).expect("a body").read_to_end(&mut block).expect("a whole body");
            let digest = (record.kind != Kind::Revisit).then(|| Sha256::of(&block));
            all.insert((url, capture.time, record.id.bracketed()), digest);
        }
    }
    all
}

/// The import as a whole is refused, in words, and nothing else happens.
#[track_caller]
pub fn refused(bytes: &[u8], says: &str) {
    let (bytes, says) = (bytes.to_vec(), says.to_owned());
    in_time(move || {
        let mut archive = Archive::new();
        let error = archive.import(&bytes).expect_err("no file to import").to_string();
        assert!(error.contains(&says), "`{error}` does not say `{says}`");
        archive.assert_whole();
        // The refusal harms no later import.
        assert_eq!(archive.import(&fixtures::record(1)).expect("a good file").stored, 1);
        archive.assert_good(1);
    });
}
