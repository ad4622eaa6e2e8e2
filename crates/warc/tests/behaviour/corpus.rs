//! Everything that fuzzing found worth keeping (`fuzz/README.md`), run again without a fuzzer.
#![allow(unreachable_pub, clippy::unwrap_used, reason = "shared with the fuzz target; a test may fail")]

#[path = "../../../../fuzz/bodies/containers.rs"]
mod containers;

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn the_corpus_of_containers_harms_nothing() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/containers");
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        println!("{}", file.display());
        containers::run(&fs::read(&file).unwrap());
    }
}
