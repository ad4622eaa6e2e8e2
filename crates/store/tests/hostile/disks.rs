//! Data directories that cannot be written, are in use, or are none; disks that fill up in the middle of an import.

use super::archive::{Archive, assert_earlier, captures, in_time, wire};
use super::fixtures::{block, http, noise, page, record, response, url};
use herodotus_base::Timestamp;
use herodotus_store::archive::{ImportOptions, import};
use herodotus_store::disk::sim::{Luck, SimDisk};
use herodotus_store::index::MemoryEngine;
use herodotus_store::{Body, Capture, Error, Kind, Record, Store};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Runs an ignored test of this file in a process of its own, which `with` may hobble. The data directory, where one is
/// needed, goes by `HOSTILE_DIR`.
#[track_caller]
pub fn run_alone(test: &str, with: impl FnOnce(&mut Command)) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    with(&mut command);
    let output = command.output().unwrap();
    let said = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    said.lines().filter(|line| line.contains("skipped:")).for_each(|line| println!("{line}"));
}

fn open_error(dir: &Path) -> String {
    Store::open(dir).map(drop).expect_err("it opened").to_string()
}

#[test]
fn a_data_directory_that_is_a_file_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fs::write(&data, b"a file").unwrap();
    assert!(open_error(&data).contains("making the data directory"), "{}", open_error(&data));
    assert!(open_error(&data.join("below")).contains("data/below"), "{}", open_error(&data.join("below")));
    assert_eq!(fs::read(&data).unwrap(), b"a file");
}

#[test]
fn a_data_directory_in_a_place_that_takes_none_is_refused_by_name() {
    let error = open_error(Path::new("/proc/herodotus"));
    assert!(error.contains("/proc/herodotus"), "{error}");
}

#[test]
fn folders_that_are_files_are_refused_by_name() {
    for folder in ["packs", "blobs", "journal", "tmp", "index"] {
        let mut archive = Archive::new();
        archive.close();
        let path = archive.data().join(folder);
        let aside = archive.data().join("aside");
        fs::rename(&path, &aside).unwrap();
        fs::write(&path, b"a file").unwrap();
        let error = open_error(&archive.data());
        assert!(error.contains("data"), "{folder}: {error}");
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
        archive.open().unwrap();
        archive.assert_whole();
    }
}

#[test]
fn a_lock_that_cannot_be_written_is_refused_by_name() {
    for target in ["/dev/full", "/dev/null/nothing"] {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(target, dir.path().join("LOCK")).unwrap();
        let error = open_error(dir.path());
        assert!(error.contains("LOCK") && error.contains("needs a directory that can be written"), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("LOCK")).unwrap();
    assert!(open_error(dir.path()).contains("LOCK"));
}

#[test]
fn a_data_directory_in_use_names_the_process() {
    let archive = Archive::new();
    let error = open_error(&archive.data());
    assert!(error.contains(&format!("in use by process {}", std::process::id())), "{error}");
    assert!(error.contains("--data"), "{error}");
    archive.assert_whole();
}

#[test]
fn a_data_directory_in_use_by_another_process_names_that_one() {
    let mut archive = Archive::new();
    let data = archive.data();
    let mine = std::process::id();
    run_alone("hostile::disks::alone_the_lock_names_the_holder", |command| {
        command.env("HOSTILE_DIR", &data).env("HOSTILE_PID", mine.to_string());
    });
    archive.import(&record(1)).unwrap();
    archive.assert_whole();
}

#[test]
#[ignore = "run by another test, in another process"]
fn alone_the_lock_names_the_holder() {
    let dir = std::env::var("HOSTILE_DIR").unwrap();
    let error = open_error(Path::new(&dir));
    assert!(error.contains(&format!("process {}:", std::env::var("HOSTILE_PID").unwrap())), "{error}");
}

#[test]
fn a_lock_with_garbage_in_it_is_taken() {
    let mut archive = Archive::new();
    archive.close();
    fs::write(archive.data().join("LOCK"), noise(3000, 1)).unwrap();
    archive.open().unwrap();
    archive.assert_whole();
}

/// Root is not stopped by modes, so this part runs as nobody.
#[test]
fn a_read_only_directory_is_refused_by_name_and_loses_nothing() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let mut archive = Archive::new();
    archive.close();
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&archive.path(""), 0o755);
    let mut all = vec![archive.data()];
    while let Some(path) = all.pop() {
        if path.is_dir() {
            all.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
            mode(&path, 0o555);
        } else {
            mode(&path, 0o444);
        }
    }
    let root = std::process::Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout == b"0\n");
    let exe = std::env::current_exe().unwrap();
    let reachable = Command::new(&exe).arg("--list").uid(65_534).gid(65_534).output().is_ok_and(|o| o.status.success());
    if root && !reachable {
        println!("skipped: root ignores modes, and nobody may not run {}", exe.display());
    } else {
        let data = archive.data();
        run_alone("hostile::disks::alone_a_read_only_directory_is_refused", |command| {
            command.env("HOSTILE_DIR", data);
            if root {
                command.uid(65_534).gid(65_534);
            }
        });
    }
    let mut all = vec![archive.data()];
    while let Some(path) = all.pop() {
        mode(&path, 0o755);
        if path.is_dir() {
            all.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        }
    }
    archive.open().unwrap();
    archive.assert_whole();
}

#[test]
#[ignore = "run by another test, in another process"]
fn alone_a_read_only_directory_is_refused() {
    let dir = std::env::var("HOSTILE_DIR").unwrap();
    let error = open_error(Path::new(&dir));
    assert!(error.contains("needs a directory that can be written") && error.contains("ermission denied"), "{error}");
}

/// A real file system that takes no more: a limit on file sizes, in a process of its own.
#[test]
fn a_disk_that_takes_no_more_loses_nothing_that_was_there() {
    let mut archive = Archive::new();
    archive.close();
    let data = archive.data();
    let exe = std::env::current_exe().unwrap();
    // In blocks of 512 or 1024 bytes, by shell; either is more than the packs have now and less than the import needs.
    let script = "trap '' XFSZ; ulimit -f 16384 && exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(exe);
    command.args(["--exact", "hostile::disks::alone_a_full_disk_poisons", "--ignored", "--nocapture"]);
    let output = command.env("HOSTILE_DIR", &data).output().unwrap();
    let said = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    let recovery = archive.open().unwrap();
    archive.assert_whole();
    archive.import(&record(1)).unwrap();
    archive.assert_good(1);
    println!("{:?}", recovery.sentences());
}

#[test]
#[ignore = "run by another test, with a limit on file sizes"]
fn alone_a_full_disk_poisons() {
    let dir = std::env::var("HOSTILE_DIR").unwrap();
    let (store, _) = Store::open(Path::new(&dir)).unwrap();
    let time = Timestamp::parse("2026-01-02").unwrap();
    let mut failed = None;
    for n in 0..40 {
        let url = url(500 + n);
        let body = Body::new(noise(2 << 20, n as u64));
        let main = Record::new(
            Kind::Response,
            &url,
            time,
            b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n".to_vec(),
            body,
        );
        let capture = Capture { url, time, main, companions: Vec::new() };
        if let Err(error) = store.append(capture).and_then(|_| store.seal()) {
            failed = Some(error);
            break;
        }
    }
    let error = failed.expect("the limit was never met").to_string();
    assert!(error.contains("no longer takes writes") || error.contains("writing"), "{error}");
    assert!(store.poisoned().is_some());
    assert_earlier(&store);
    let error = store.seal().expect_err("poisoned").to_string();
    assert!(error.contains("no longer takes writes") && error.contains("What was stored before is safe"), "{error}");
}

struct Sim {
    disk: SimDisk,
    engine: MemoryEngine,
}

impl Sim {
    fn new() -> Self {
        Self { disk: SimDisk::new(), engine: MemoryEngine::new() }
    }

    fn open(&self) -> herodotus_store::Result<Store> {
        Store::open_simulated(Arc::new(self.disk.clone()), Arc::new(self.engine.clone())).map(|(store, _)| store)
    }
}

fn own(n: usize) -> Capture {
    let time = Timestamp::from_millis_clamped(1_700_000_000_000 + n as i64);
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec();
    let main = Record::new(Kind::Response, &url(n % 7), time, head, Body::new(page(n)));
    Capture { url: url(n % 7), time, main, companions: Vec::new() }
}

/// A disk that is full from step `n` on, for every `n`: writes are refused with the reason, reads go on, and when the
/// disk is well everything acknowledged is there.
#[test]
fn a_disk_that_fills_at_any_step_keeps_what_was_acknowledged() {
    in_time(|| {
        let steps = {
            let sim = Sim::new();
            run(&sim).1.expect("a good disk");
            sim.disk.steps()
        };
        assert!(steps > 40, "{steps}");
        for full_at in 0..steps {
            let sim = Sim::new();
            sim.disk.fail_after(Some(full_at));
            let (acknowledged, result) = run(&sim);
            let error = result.expect_err("the disk is full").to_string();
            assert!(error.contains("no space left") || error.contains("no longer takes writes"), "{full_at}: {error}");
            sim.disk.fail_after(None);
            // As found after a restart, and as found after a power cut at that moment.
            for disk in [sim.disk.clone(), sim.disk.crash_image(sim.disk.steps(), Luck::Worst)] {
                let engine = if disk.steps() == 0 { MemoryEngine::new() } else { sim.engine.clone() };
                let again = Sim { disk, engine };
                let store = again.open().unwrap_or_else(|e| panic!("full at {full_at}: {e}"));
                for (id, capture) in &acknowledged {
                    let found = store.read(id).unwrap_or_else(|e| panic!("full at {full_at}: {e}"));
                    assert_eq!(found.as_ref(), Some(capture), "full at {full_at}: an acknowledged capture is lost");
                }
                assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty(), "full at {full_at}");
                store.append(own(1000)).unwrap();
                store.seal().unwrap();
            }
        }
    });
}

type Acknowledged = BTreeMap<herodotus_store::EntryKey, Capture>;

/// Appends, commits, seals and imports until something fails; then checks that reads go on and writes do not.
fn run(sim: &Sim) -> (Acknowledged, herodotus_store::Result<()>) {
    let mut acknowledged = Acknowledged::new();
    let store = match sim.open() {
        Ok(store) => store,
        Err(error) => return (acknowledged, Err(error)),
    };
    let mut waiting = Vec::new();
    let mut work = || -> herodotus_store::Result<()> {
        for n in 0..24 {
            store.append(own(n))?;
            waiting.push(own(n));
            match n % 6 {
                1 | 3 => store.commit()?,
                5 => store.seal()?,
                _ => continue,
            }
            acknowledged.extend(waiting.drain(..).map(|c| (c.id(), c)));
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.warc");
        let large = http("Content-Type: video/mp4\r\n", &noise(5 << 20, 1));
        fs::write(&file, [record(100), response(101, &large), record(102)].concat()).unwrap();
        import(&store, &file, &ImportOptions::default(), |_| {})?;
        for n in [100, 101, 102] {
            acknowledged.extend(captures(&store, &url(n)).into_iter().map(|c| (c.id(), c)));
        }
        Ok(())
    };
    let result = work();
    for (id, capture) in &acknowledged {
        assert_eq!(store.read(id).expect("reads go on").as_ref(), Some(capture));
    }
    if let (Err(_), Some(why)) = (&result, store.poisoned()) {
        assert!(why.contains("no space left"), "{why}");
        for refused in [store.append(own(500)).map(drop), store.commit(), store.seal(), store.note("a", b"b")] {
            let error = refused.expect_err("a poisoned store takes no writes");
            assert!(matches!(error, Error::Poisoned(_)), "{error}");
            assert!(error.to_string().contains("Mend the cause"), "{error}");
        }
        store.verify(|_, _| {}).expect("a poisoned store can be verified");
    }
    (acknowledged, result)
}

#[test]
fn a_disk_that_fills_during_an_import_says_so_and_the_import_goes_on_later() {
    let sim = Sim::new();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.warc");
    fs::write(&file, (1..=700).flat_map(record).collect::<Vec<_>>()).unwrap();
    let store = sim.open().unwrap();
    sim.disk.fail_after(Some(sim.disk.steps() + 2));
    let error = import(&store, &file, &ImportOptions::default(), |_| {}).expect_err("full").to_string();
    assert!(error.contains("no longer takes writes") && error.contains("no space left"), "{error}");
    drop(store);
    sim.disk.fail_after(None);
    let store = sim.open().unwrap();
    import(&store, &file, &ImportOptions::default(), |_| {}).unwrap();
    for n in [1, 350, 700] {
        let found = captures(&store, &url(n));
        assert_eq!(found.iter().map(|c| wire(&store, c)).collect::<Vec<_>>(), [block(n)]);
    }
    assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
}

#[test]
fn a_pack_that_a_full_disk_left_empty_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("packs")).unwrap();
    fs::write(dir.path().join("packs/00000001.pack"), b"").unwrap();
    let time = Timestamp::parse("2026-11-16").unwrap();
    let body = || Body::new(b"kept".to_vec());
    let main = Record::new(Kind::Response, "https://example.org/", time, b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), body());
    let (store, _) = Store::open(dir.path()).unwrap();
    let url = "https://example.org/".to_owned();
    store.append(Capture { url, time, main, companions: Vec::new() }).unwrap();
    store.close().unwrap();
    let (store, recovery) = Store::open(dir.path()).unwrap();
    assert_eq!(recovery.sentences(), Vec::<String>::new());
    let verified = store.verify(|_, _| {}).unwrap();
    assert!(verified.damaged.is_empty() && verified.captures == 1, "{verified:?}");
}
