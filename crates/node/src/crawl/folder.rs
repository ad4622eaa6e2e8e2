//! Where crawls lie in an archive: `crawls/NAME/crawl.toml` says what, `crawls/NAME/state` how far.

use super::{Definition, DiskTable, Error, Result};
use herodotus_base::Timestamp;
use herodotus_frontier::{Frontier, Progress, Tally};
use herodotus_page::WebUrl;
use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = "crawls";
const DEFINITION: &str = "crawl.toml";
const STATE: &str = "state";

/// A crawl in the archive.
#[derive(Debug)]
pub struct Listed {
    pub name: String,
    pub definition: Definition,
    pub complete: bool,
    pub round: u32,
    pub progress: Progress,
    pub total: Tally,
}

/// A name for a crawl that was given none: the host of its first seed.
pub fn name_for(seed: &WebUrl) -> String {
    seed.authority().chars().map(|c| if is_plain(c) { c } else { '_' }).take(NAME_CHARS_MAX).collect()
}

const NAME_CHARS_MAX: usize = 100;

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn dir_of(data: &Path, name: &str) -> Result<PathBuf> {
    let plain =
        !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.chars().all(is_plain) && !name.starts_with('.');
    if !plain {
        let rule = "letters, digits, `-`, `_` and `.`, at most 100, not beginning with a dot";
        return Err(Error::Asked(format!("`{name}` cannot name a crawl: use {rule}")));
    }
    Ok(data.join(FOLDER).join(name))
}

/// The definition of a crawl of this name, if there is one.
pub fn load(data: &Path, name: &str) -> Result<Option<Definition>> {
    let path = dir_of(data, name)?.join(DEFINITION);
    if path.is_file() { Definition::read(&path).map(Some) } else { Ok(None) }
}

/// Writes a definition down, whole or not at all.
pub(super) fn save(data: &Path, name: &str, definition: &Definition) -> Result<()> {
    let dir = dir_of(data, name)?;
    let making = || Error::disk(format!("writing the crawl {name} in {}", dir.display()));
    fs::create_dir_all(&dir).map_err(making())?;
    let temporary = dir.join("crawl.toml.new");
    fs::write(&temporary, definition.to_toml()?).map_err(making())?;
    fs::File::open(&temporary).and_then(|file| file.sync_all()).map_err(making())?;
    fs::rename(&temporary, dir.join(DEFINITION)).map_err(making())?;
    fs::File::open(&dir).and_then(|file| file.sync_all()).map_err(making())
}

pub(super) fn open_table(data: &Path, name: &str) -> Result<DiskTable> {
    table_in(&dir_of(data, name)?.join(STATE))
}

/// A crawl's state in a folder of its own.
pub(super) fn table_in(dir: &Path) -> Result<DiskTable> {
    fs::create_dir_all(dir).map_err(Error::disk(format!("making {}", dir.display())))?;
    DiskTable::open(dir).map_err(Error::disk(format!("opening the crawl's state in {}", dir.display())))
}

/// The names of all crawls in the archive.
pub fn names(data: &Path) -> Result<Vec<String>> {
    let folder = data.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::disk(format!("reading {}", folder.display()))(e)),
    };
    let mut names: Vec<String> = entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
    names.retain(|name| dir_of(data, name).is_ok());
    names.sort_unstable();
    Ok(names)
}

/// Every crawl in the archive, by name. Needs the archive to itself, as a crawl does.
pub fn list(data: &Path) -> Result<Vec<Listed>> {
    let mut crawls = Vec::new();
    for name in names(data)? {
        crawls.extend(look(data, &name)?);
    }
    Ok(crawls)
}

/// One of them, if there is one of that name.
pub(crate) fn look(data: &Path, name: &str) -> Result<Option<Listed>> {
    let Some(definition) = load(data, name)? else { return Ok(None) };
    let frontier = peek(data, name, &definition)?;
    Ok(Some(Listed {
        name: name.to_owned(),
        complete: frontier.is_complete(),
        round: frontier.rounds_begun(),
        progress: frontier.progress(),
        total: frontier.total().clone(),
        definition,
    }))
}

/// A crawl's frontier, to look at: nothing is begun by opening it so.
pub fn peek(data: &Path, name: &str, definition: &Definition) -> Result<Frontier<DiskTable>> {
    Ok(Frontier::peek(open_table(data, name)?, definition.crawl.clone(), Timestamp::now())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_folder() {
        for name in ["", "..", "../x", "a/b", ".hidden", "a\0b", &"x".repeat(101)] {
            assert!(dir_of(Path::new("/data"), name).is_err(), "{name:?}");
        }
        let seed = WebUrl::parse("http://[::1]:8080/").unwrap();
        assert!(dir_of(Path::new("/data"), &name_for(&seed)).is_ok());
    }
}
