//! What a node keeps of its ring beside what [`herodotus_net::Admission`] keeps: its own secret key, and the peers it remembers.
//!
//! Both are written whole under another name, synced and renamed. The key is the machine: losing it means joining anew with another
//! place. Remembered peers only save asking for a new ticket.

use super::RingError;
use herodotus_base::PeerKey;
use herodotus_ring::Contact;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

const SECRET: &str = "machine-key";
const PEERS: &str = "peers";
/// The letters and version that files begin with.
const SECRET_HEAD: &[u8] = b"hdrk\x01";
const PEERS_HEAD: &[u8] = b"hdrn\x01";
/// Peers that are worth a place on disk.
const PEERS_MAX: usize = 256;

/// Where a data directory keeps what belongs to its ring.
pub fn ring_dir(data: &Path) -> PathBuf {
    data.join("ring")
}

/// Peers from before, and whether we were a member with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub(super) was_member: bool,
    pub(super) peers: Vec<Contact>,
}

/// The machine's secret key, made the first time.
pub fn machine_secret(data: &Path) -> Result<[u8; 32], RingError> {
    let dir = ring_dir(data);
    let path = dir.join(SECRET);
    match fs::read(&path) {
        Ok(bytes) => {
            let key = bytes.strip_prefix(SECRET_HEAD).and_then(|rest| <[u8; 32]>::try_from(rest).ok());
            key.ok_or(RingError::Damaged { path, what: "it is no key of this version" })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir_all(&dir).map_err(RingError::disk("making", &dir))?;
            let mut secret = [0; 32];
            getrandom::fill(&mut secret).map_err(|error| RingError::Chance(error.to_string()))?;
            write(&dir, SECRET, &[SECRET_HEAD, &secret].concat())?;
            Ok(secret)
        }
        Err(error) => Err(RingError::disk("reading", &path)(error)),
    }
}

/// By which others know the machine.
pub fn machine_key(secret: &[u8; 32]) -> PeerKey {
    herodotus_net::public_key(secret)
}

pub(super) fn read_peers(data: &Path) -> Remembered {
    // Anything unreadable is as good as nothing: a ticket or a member that dials us brings us back.
    let bytes = fs::read(ring_dir(data).join(PEERS)).unwrap_or_default();
    bytes.strip_prefix(PEERS_HEAD).and_then(|rest| postcard::from_bytes(rest).ok()).unwrap_or_default()
}

pub(super) fn write_peers(data: &Path, remembered: &Remembered) -> Result<(), RingError> {
    let peers = remembered.peers.iter().take(PEERS_MAX).cloned().collect();
    let kept = Remembered { was_member: remembered.was_member, peers };
    let bytes =
        postcard::to_extend(&kept, PEERS_HEAD.to_vec()).map_err(|error| RingError::Chance(error.to_string()))?;
    write(&ring_dir(data), PEERS, &bytes)
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), RingError> {
    let (path, new) = (dir.join(name), dir.join(format!("{name}.new")));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let put = || -> std::io::Result<()> {
        let mut file = options.open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(dir)?.sync_all()
    };
    put().map_err(RingError::disk("writing", &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_a_damaged_one_is_said_to_be() {
        let dir = tempfile::tempdir().expect("a directory");
        let secret = machine_secret(dir.path()).expect("made");
        assert_eq!(machine_secret(dir.path()).expect("read"), secret);
        fs::write(ring_dir(dir.path()).join(SECRET), b"hdrk\x01short").expect("written");
        assert!(matches!(machine_secret(dir.path()), Err(RingError::Damaged { .. })));
    }

    #[test]
    fn remembered_peers_come_back_and_garbage_is_nobody() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(read_peers(dir.path()), Remembered::default());
        machine_secret(dir.path()).expect("made");
        let contact = Contact::of_key(PeerKey([3; 32]), 1, vec!["192.0.2.7:4000".parse().expect("an address")]);
        let kept = Remembered { was_member: true, peers: vec![contact] };
        write_peers(dir.path(), &kept).expect("written");
        assert_eq!(read_peers(dir.path()), kept);
        // The golden bytes: version 1 is read for ever.
        let bytes = fs::read(ring_dir(dir.path()).join(PEERS)).expect("read");
        assert_eq!(bytes, include_bytes!("../../tests/golden/peers-1"));
        fs::write(ring_dir(dir.path()).join(PEERS), b"hdrn\x01\xff\xff\xff").expect("written");
        assert_eq!(read_peers(dir.path()), Remembered::default());
    }
}
