//! Real pages to test with: the HTML files below `HTML_DIRECTORY`, else the documentation of this machine.

use std::path::PathBuf;

pub(crate) fn html_files() -> Vec<PathBuf> {
    let directory = std::env::var_os("HTML_DIRECTORY").unwrap_or_else(|| "/usr/share/doc".into());
    let mut waiting = vec![PathBuf::from(directory)];
    let mut files = Vec::new();
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "html") {
                files.push(path);
            }
        }
    }
    files
}
