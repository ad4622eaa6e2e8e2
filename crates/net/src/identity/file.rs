//! Small durable files: four letters for what it is, a version, a postcard body, and eight bytes of a digest against rot.
//!
//! A file is written beside its old self, made durable and renamed over it, so that after a crash there is the old one or the
//! new one. A file that does not match its digest is an error, never a guess.

use super::signature::{decode, encode};
use crate::error::{NetError, Result};
use crate::limits;
use herodotus_base::Sha256;
use serde::{Serialize, de::DeserializeOwned};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What a file is, and the form we write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) letters: &'static [u8; 4],
    pub(crate) name: &'static str,
    /// Only for its owner to read.
    pub(crate) is_secret: bool,
}

const VERSION: u8 = 1;
const DIGEST_BYTES: usize = 8;

pub(crate) fn write(dir: &Path, form: Form, what: &impl Serialize) -> Result<()> {
    let path = dir.join(form.name);
    let bytes = to_bytes(form, what)?;
    let beside = dir.join(format!("{}.new", form.name));
    let put = || -> io::Result<()> {
        // What a crash left must not lend its permissions.
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mode = if form.is_secret { 0o600 } else { 0o644 };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&beside, &path)?;
        File::open(dir)?.sync_all()
    };
    put().map_err(NetError::disk("writing", &path))
}

/// `None` if there is no such file.
pub(crate) fn read<T: DeserializeOwned>(dir: &Path, form: Form) -> Result<Option<T>> {
    let path = dir.join(form.name);
    let mut bytes = Vec::new();
    match File::open(&path).and_then(|file| file.take(limits::FILE_BYTES_MAX + 1).read_to_end(&mut bytes)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(NetError::disk("reading", &path))?,
    };
    from_bytes(&path, form, &bytes).map(Some)
}

pub(crate) fn to_bytes(form: Form, what: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = form.letters.to_vec();
    bytes.push(VERSION);
    bytes.extend(encode(what)?);
    bytes.extend_from_slice(&Sha256::of(&bytes).0[..DIGEST_BYTES]);
    Ok(bytes)
}

pub(crate) fn from_bytes<T: DeserializeOwned>(path: &Path, form: Form, bytes: &[u8]) -> Result<T> {
    let damaged = |what: String| NetError::Damaged { path: path.to_owned(), what };
    if bytes.len() as u64 > limits::FILE_BYTES_MAX {
        return Err(damaged("it is too long".into()));
    }
    let Some((front, digest)) = bytes.split_last_chunk::<DIGEST_BYTES>() else {
        return Err(damaged("it is too short".into()));
    };
    if Sha256::of(front).0[..DIGEST_BYTES] != digest[..] {
        return Err(damaged("its digest does not match".into()));
    }
    let Some((head, body)) = front.split_first_chunk::<5>() else {
        return Err(damaged("it is too short".into()));
    };
    if head[..4] != form.letters[..] {
        return Err(damaged(format!("it is not the ring's {}", form.name)));
    }
    if head[4] != VERSION {
        return Err(NetError::Newer { what: path.display().to_string(), found: head[4], known: VERSION });
    }
    decode(body).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const FORM: Form = Form { letters: b"test", name: "x", is_secret: true };

    #[test]
    fn a_file_comes_back_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read::<String>(dir.path(), FORM).unwrap(), None);
        // A crash left something behind.
        fs::write(dir.path().join("x.new"), b"half").unwrap();
        write(dir.path(), FORM, &"one").unwrap();
        write(dir.path(), FORM, &"two").unwrap();
        assert_eq!(read::<String>(dir.path(), FORM).unwrap(), Some("two".into()));
        let path = dir.path().join("x");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert!(matches!(from_bytes::<String>(&path, FORM, &other), Err(NetError::Damaged { .. })), "{at}");
            assert!(from_bytes::<String>(&path, FORM, &bytes[..at]).is_err());
        }
    }

    #[test]
    fn a_newer_file_is_told_apart_from_a_damaged_one() {
        let mut bytes = b"test\x02something else".to_vec();
        bytes.extend_from_slice(&Sha256::of(&bytes).0[..DIGEST_BYTES]);
        let error = from_bytes::<String>(Path::new("x"), FORM, &bytes).unwrap_err();
        assert!(matches!(error, NetError::Newer { found: 2, known: 1, .. }), "{error}");
    }
}
