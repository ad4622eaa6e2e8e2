//! Real documentation, as a folder to serve: Debian packages fetched by name and unpacked, nothing of them run.

use crate::peers::say;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sphinx: 4,300 pages, 120 MB with pictures and scripts.
const SMALL: &str = "python-scipy-doc";
/// rustdoc and books: 32,000 pages, 490 MB, links that lead nowhere because other packages are not installed.
const LARGE: &str = "rust-doc";

#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) name: String,
    pub(crate) root: PathBuf,
}

impl Site {
    /// The site that `--site` names, fetched if it is not there.
    pub(crate) fn find(data: &Path, name: &str) -> Result<Self> {
        let package = match name {
            "small" => SMALL,
            "large" => LARGE,
            folder => {
                let root = Path::new(folder).canonicalize().with_context(|| {
                    format!("--site {folder}: neither small nor large nor a folder that can be opened")
                })?;
                ensure!(root.join("index.html").exists(), "{} has no index.html to begin at", root.display());
                return Ok(Self { name: folder.to_owned(), root });
            }
        };
        let root = unpacked(&data.join("sites"), package)?.join("usr/share/doc").join(package).join("html");
        ensure!(root.join("index.html").exists(), "{} has no index.html: another package layout?", root.display());
        Ok(Self { name: package.to_owned(), root: root.canonicalize()? })
    }

    /// Every HTML file of the site, in a fixed order.
    pub(crate) fn html_files(&self) -> Result<Vec<PathBuf>> {
        self.files(&["html", "htm"])
    }

    /// Every file whose name ends so, in a fixed order.
    pub(crate) fn files(&self, extensions: &[&str]) -> Result<Vec<PathBuf>> {
        let (mut files, mut folders) = (Vec::new(), vec![self.root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let (path, kind) = entry.and_then(|e| Ok((e.path(), e.file_type()?)))?;
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() && path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
                    files.push(path);
                }
            }
        }
        files.sort();
        Ok(files)
    }
}

fn unpacked(sites: &Path, package: &str) -> Result<PathBuf> {
    let tree = sites.join(package);
    if tree.exists() {
        return Ok(tree);
    }
    say(&format!("fetching the Debian package {package} into {}", sites.display()));
    let folder = sites.join(format!("{package}.part"));
    std::fs::create_dir_all(&folder)?;
    run(Command::new("apt-get").args(["download", "-qq", package]).current_dir(&folder))?;
    let archive = std::fs::read_dir(&folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|e| e == "deb"))
        .with_context(|| format!("apt-get download {package} left no package"))?;
    let half = folder.join("tree");
    run(Command::new("dpkg").arg("-x").args([&archive, &half]))?;
    // Only a tree that was unpacked wholly gets the name that is looked for.
    std::fs::rename(&half, &tree)?;
    std::fs::remove_dir_all(&folder)?;
    Ok(tree)
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("starting {:?}", command.get_program()))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
