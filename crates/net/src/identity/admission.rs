//! What one machine knows of its ring and of who may speak in it, and the files that keep it.
//!
//! Promised: a pass is on disk before it is given out, so no ticket works twice even over a crash; a list of revocations is on
//! disk before it counts. Checks of hellos never wait for the disk. What can be lost: nothing that was answered.

use super::charter::{Charter, Draft, RingId, RingKind};
use super::file::{self, Form};
use super::invitation::{Invitation, Invitations};
use super::pass::{Pass, Revocations};
use super::ticket::Ticket;
use crate::address::Address;
use crate::error::{NetError, Refusal, Result};
use crate::frame::Hello;
use crate::limits;
use herodotus_base::{PeerKey, Timestamp};
use iroh::SecretKey;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::watch;

pub(crate) const CHARTER: Form = Form { letters: b"hdrc", name: "charter", is_secret: false };
pub(crate) const OWNER: Form = Form { letters: b"hdro", name: "owner.key", is_secret: true };
pub(crate) const PASS: Form = Form { letters: b"hdrp", name: "pass", is_secret: false };
pub(crate) const REVOCATIONS: Form = Form { letters: b"hdrr", name: "revocations", is_secret: false };
pub(crate) const INVITATIONS: Form = Form { letters: b"hdri", name: "invitations", is_secret: true };

#[derive(Debug)]
pub struct Admission {
    dir: PathBuf,
    machine: PeerKey,
    charter: Charter,
    ring: RingId,
    pass: Option<Pass>,
    /// Read at every hello; replaced whole.
    revocations: RwLock<Option<Arc<Revocations>>>,
    /// Writers of the list take turns, so that a lower serial never lands on a higher one.
    hearing: Mutex<()>,
    owner: Option<Mutex<Owner>>,
    news: watch::Sender<u64>,
}

struct Owner {
    secret: SecretKey,
    invitations: Invitations,
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Owner").field("invitations", &self.invitations.list.len()).finish_non_exhaustive()
    }
}

impl Admission {
    /// Makes a closed ring whose owner is whoever has this directory. This machine is its first member.
    pub fn create_closed(
        dir: &Path,
        machine: PeerKey,
        name: &str,
        r: u16,
        copies: u16,
        now: Timestamp,
    ) -> Result<Self> {
        Self::create(dir, machine, Draft { name, r, copies, is_by_url: false }, None, now)
    }

    /// Makes an open ring: nobody owns it.
    pub fn create_open(
        dir: &Path,
        machine: PeerKey,
        name: &str,
        r: u16,
        copies: u16,
        index_max: u16,
        now: Timestamp,
    ) -> Result<Self> {
        Self::create(dir, machine, Draft { name, r, copies, is_by_url: false }, Some(index_max), now)
    }

    /// Makes a ring as it was drafted: an open one if it is said how many places an address has, else a closed one.
    pub fn create(
        dir: &Path,
        machine: PeerKey,
        draft: Draft<'_>,
        index_max: Option<u16>,
        now: Timestamp,
    ) -> Result<Self> {
        if let Some(index_max) = index_max {
            let charter = Charter::open(draft, index_max, now)?;
            return Self::join(dir, machine, &charter, None);
        }
        let secret = SecretKey::from_bytes(&random()?);
        let charter = Charter::closed(&secret, draft, now)?;
        let pass = Pass::sign(&secret, charter.ring()?, machine, 1, now)?;
        prepare(dir)?;
        // The charter last: without it the directory holds no ring, and making one can be tried again.
        file::write(dir, OWNER, &secret.to_bytes())?;
        file::write(dir, INVITATIONS, &Invitations { serial: 1, list: Vec::new() })?;
        file::write(dir, PASS, &pass)?;
        file::write(dir, CHARTER, &charter)?;
        Self::open(dir, machine)?.ok_or_else(|| gone(dir))
    }

    /// Keeps what a ticket and its issuer gave. [`crate::join()`] does the asking.
    pub fn join(dir: &Path, machine: PeerKey, charter: &Charter, pass: Option<&Pass>) -> Result<Self> {
        check(charter, machine, pass)?;
        prepare(dir)?;
        if let Some(pass) = pass {
            file::write(dir, PASS, pass)?;
        }
        file::write(dir, CHARTER, charter)?;
        Self::open(dir, machine)?.ok_or_else(|| gone(dir))
    }

    /// What the directory holds; `None` if there is no ring in it.
    pub fn open(dir: &Path, machine: PeerKey) -> Result<Option<Self>> {
        let Some(charter) = file::read::<Charter>(dir, CHARTER)? else { return Ok(None) };
        let pass = file::read::<Pass>(dir, PASS)?;
        check(&charter, machine, pass.as_ref())?;
        let ring = charter.ring()?;
        let revocations = file::read::<Revocations>(dir, REVOCATIONS)?;
        let owner_key = owner_key(&charter);
        if let (Some(list), Some(owner)) = (&revocations, owner_key)
            && !list.is_of(ring, owner)
        {
            return Err(NetError::Forged("the list of revocations on disk is not signed by the ring's owner"));
        }
        let owner = match file::read::<[u8; 32]>(dir, OWNER)?.map(|bytes| SecretKey::from_bytes(&bytes)) {
            Some(secret) if Some(PeerKey(*secret.public().as_bytes())) == owner_key => {
                let invitations = file::read(dir, INVITATIONS)?.ok_or_else(|| NetError::Damaged {
                    path: dir.join(INVITATIONS.name),
                    // With an empty one, tickets that were used could be used again.
                    what: "it is missing".into(),
                })?;
                Some(Mutex::new(Owner { secret, invitations }))
            }
            Some(_) => return Err(NetError::Forged("the owner's key on disk is that of another ring")),
            None => None,
        };
        let serial = revocations.as_ref().map_or(0, Revocations::serial);
        Ok(Some(Self {
            dir: dir.to_owned(),
            machine,
            charter,
            ring,
            pass,
            revocations: RwLock::new(revocations.map(Arc::new)),
            hearing: Mutex::new(()),
            owner,
            news: watch::Sender::new(serial),
        }))
    }

    pub fn charter(&self) -> &Charter {
        &self.charter
    }

    pub fn ring(&self) -> RingId {
        self.ring
    }

    pub fn kind(&self) -> RingKind {
        self.charter.terms().kind
    }

    pub fn machine(&self) -> PeerKey {
        self.machine
    }

    /// Whether this machine can invite and revoke.
    pub fn is_owner(&self) -> bool {
        self.owner.is_some()
    }

    /// A ticket that says to ask `issuer`, which should be this machine. Touches the disk.
    pub fn invite(&self, issuer: Address, now: Timestamp, lasts: Duration) -> Result<Ticket> {
        let expires = now.millis().saturating_add(i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX));
        let expires = Timestamp::from_millis_clamped(expires);
        if let RingKind::Open { .. } = self.kind() {
            return Ticket::new(self.charter.clone(), issuer, None, expires);
        }
        let owner = self.owner.as_ref().ok_or(NetError::NotOwner("invite others"))?;
        let secret = random()?;
        let ticket = Ticket::new(self.charter.clone(), issuer, Some(secret), expires)?;
        let mut owner = lock(owner);
        let mut next = owner.invitations.clone();
        next.add(&secret, now, expires)?;
        file::write(&self.dir, INVITATIONS, &next)?;
        owner.invitations = next;
        Ok(ticket)
    }

    pub fn invitations(&self) -> Vec<Invitation> {
        self.owner.as_ref().map_or_else(Vec::new, |owner| lock(owner).invitations.list.clone())
    }

    /// Shuts a key out. Open connections to it are dropped, and those who are connected hear of it. Touches the disk.
    pub fn revoke(&self, key: PeerKey) -> Result<u64> {
        let owner = self.owner.as_ref().ok_or(NetError::NotOwner("shut others out"))?;
        if key == self.machine {
            return Err(NetError::Settings("this is the owner's own machine: it cannot shut itself out".into()));
        }
        let secret = lock(owner).secret.clone();
        let _turn = lock(&self.hearing);
        let (serial, mut keys) = match self.revocations() {
            Some(list) => (list.serial(), list.keys().to_vec()),
            None => (0, Vec::new()),
        };
        if keys.contains(&key) {
            return Ok(serial);
        }
        keys.push(key);
        let list = Revocations::sign(&secret, self.ring, serial + 1, keys)?;
        self.keep(list)?;
        Ok(serial + 1)
    }

    pub fn is_revoked(&self, key: &PeerKey) -> bool {
        self.revocations.read().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|list| list.contains(key))
    }

    /// The newest list that we heard of.
    pub fn revocations(&self) -> Option<Arc<Revocations>> {
        self.revocations.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn revocations_serial(&self) -> u64 {
        self.revocations().map_or(0, |list| list.serial())
    }

    /// Tells the serial whenever a newer list was heard.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// What we say first on every connection.
    pub(crate) fn hello(&self) -> Hello {
        Hello {
            version: u16::from(limits::FRAME_VERSION),
            ring: self.ring,
            pass: self.pass.clone(),
            revocations_serial: self.revocations_serial(),
        }
    }

    /// Whether the one who says this may go on.
    pub(crate) fn check_hello(&self, from: PeerKey, hello: &Hello) -> Result<(), Refusal> {
        if hello.version != u16::from(limits::FRAME_VERSION) {
            return Err(Refusal::Version(u16::from(limits::FRAME_VERSION)));
        }
        if hello.ring != self.ring {
            return Err(Refusal::WrongRing);
        }
        let RingKind::Closed { owner } = self.kind() else { return Ok(()) };
        // First, so that one who was shut out hears why.
        if self.is_revoked(&from) {
            return Err(Refusal::Revoked);
        }
        match &hello.pass {
            None => Err(Refusal::NoPass),
            Some(pass) if pass.is_for(from, self.ring, owner) => Ok(()),
            Some(_) => Err(Refusal::BadPass),
        }
    }

    /// Lets a key in that came with a ticket's secret. Touches the disk.
    pub(crate) fn admit(&self, now: Timestamp, key: PeerKey, secret: &[u8; 32]) -> Result<Result<Pass, Refusal>> {
        let Some(owner) = &self.owner else { return Ok(Err(Refusal::TicketUnknown)) };
        if self.is_revoked(&key) {
            return Ok(Err(Refusal::Revoked));
        }
        let mut owner = lock(owner);
        let mut next = owner.invitations.clone();
        let signer = owner.secret.clone();
        let answer = next.redeem(now, key, secret, |serial| Pass::sign(&signer, self.ring, key, serial, now))?;
        if next != owner.invitations {
            file::write(&self.dir, INVITATIONS, &next)?;
            owner.invitations = next;
        }
        Ok(answer)
    }

    /// A list that somebody sent. Touches the disk if it is newer. An error is the sender's fault unless it is the disk's.
    pub(crate) fn hear(&self, list: Revocations) -> Result<bool> {
        let RingKind::Closed { owner } = self.kind() else {
            return Err(NetError::Forged("an open ring has no revocations"));
        };
        if !list.is_of(self.ring, owner) {
            return Err(NetError::Forged("the list of revocations is not signed by the ring's owner"));
        }
        let _turn = lock(&self.hearing);
        if list.serial() <= self.revocations_serial() {
            return Ok(false);
        }
        self.keep(list)?;
        Ok(true)
    }

    /// With the turn to hear held.
    fn keep(&self, list: Revocations) -> Result<()> {
        file::write(&self.dir, REVOCATIONS, &list)?;
        let serial = list.serial();
        *self.revocations.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(list));
        self.news.send_replace(serial);
        Ok(())
    }
}

fn owner_key(charter: &Charter) -> Option<PeerKey> {
    match charter.terms().kind {
        RingKind::Closed { owner } => Some(owner),
        RingKind::Open { .. } => None,
    }
}

fn check(charter: &Charter, machine: PeerKey, pass: Option<&Pass>) -> Result<()> {
    charter.check()?;
    match (owner_key(charter), pass) {
        (None, _) => Ok(()),
        (Some(owner), Some(pass)) if pass.is_for(machine, charter.ring()?, owner) => Ok(()),
        _ => Err(NetError::Forged("there is no pass for this machine's key: join the ring with a ticket")),
    }
}

fn prepare(dir: &Path) -> Result<()> {
    if let Some(charter) = file::read::<Charter>(dir, CHARTER)? {
        return Err(NetError::Settings(format!(
            "{} already holds the ring `{}`: leave that first, or choose another directory",
            dir.display(),
            charter.terms().name
        )));
    }
    fs::create_dir_all(dir).map_err(NetError::disk("making", dir))
}

fn gone(dir: &Path) -> NetError {
    NetError::Damaged { path: dir.join(CHARTER.name), what: "it was written and is not there".into() }
}

pub(crate) fn random() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| NetError::Random(error.to_string()))?;
    Ok(bytes)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> PeerKey {
        PeerKey([n; 32])
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis_clamped(ms)
    }

    fn ring(dir: &Path) -> Admission {
        Admission::create_closed(dir, key(1), "letters", 16, 6, at(0)).unwrap()
    }

    #[test]
    fn a_used_ticket_stays_used_over_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let first = ring(dir.path());
        let ticket = first.invite(Address::new(key(1), []), at(0), Duration::from_secs(60)).unwrap();
        let secret = ticket.secret.unwrap();
        let pass = first.admit(at(1), key(2), &secret).unwrap().unwrap();
        drop(first);
        let again = Admission::open(dir.path(), key(1)).unwrap().unwrap();
        assert!(again.is_owner());
        assert_eq!(again.admit(at(2), key(3), &secret).unwrap(), Err(Refusal::TicketUsed));
        assert_eq!(again.admit(at(2), key(2), &secret).unwrap(), Ok(pass));
        assert_eq!(again.admit(at(2), key(2), &[0; 32]).unwrap(), Err(Refusal::TicketUnknown));
    }

    #[test]
    fn a_hello_needs_the_ring_and_a_pass_for_its_key() {
        let (dir, other, joined) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mine = ring(dir.path());
        let theirs = Admission::create_closed(other.path(), key(2), "others", 16, 6, at(0)).unwrap();
        assert_eq!(mine.check_hello(key(2), &theirs.hello()), Err(Refusal::WrongRing));
        assert_eq!(mine.check_hello(key(2), &Hello { pass: None, ..mine.hello() }), Err(Refusal::NoPass));
        // Mine is for key 1.
        assert_eq!(mine.check_hello(key(2), &mine.hello()), Err(Refusal::BadPass));
        assert_eq!(mine.check_hello(key(2), &Hello { version: 9, ..mine.hello() }), Err(Refusal::Version(1)));
        let ticket = mine.invite(Address::new(key(1), []), at(0), Duration::from_secs(60)).unwrap();
        let pass = mine.admit(at(1), key(2), &ticket.secret.unwrap()).unwrap().unwrap();
        assert!(Admission::join(joined.path(), key(3), mine.charter(), Some(&pass)).is_err());
        let member = Admission::join(joined.path(), key(2), mine.charter(), Some(&pass)).unwrap();
        assert_eq!(mine.check_hello(key(2), &member.hello()), Ok(()));
        assert_eq!(member.check_hello(key(1), &mine.hello()), Ok(()));
        assert!(matches!(member.revoke(key(1)), Err(NetError::NotOwner(_))));
        assert!(matches!(member.invite(Address::new(key(2), []), at(0), Duration::ZERO), Err(NetError::NotOwner(_))));
        // Whoever is shut out stays out, even with a ticket.
        mine.revoke(key(2)).unwrap();
        assert_eq!(mine.check_hello(key(2), &member.hello()), Err(Refusal::Revoked));
        assert_eq!(mine.admit(at(2), key(2), &ticket.secret.unwrap()).unwrap(), Err(Refusal::Revoked));
    }

    #[test]
    fn a_list_is_heard_once_kept_and_never_replaced_by_an_older_one() {
        let (dir, joined) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mine = ring(dir.path());
        let ticket = mine.invite(Address::new(key(1), []), at(0), Duration::from_secs(60)).unwrap();
        let pass = mine.admit(at(1), key(2), &ticket.secret.unwrap()).unwrap().unwrap();
        let member = Admission::join(joined.path(), key(2), mine.charter(), Some(&pass)).unwrap();
        assert_eq!(mine.revoke(key(8)).unwrap(), 1);
        let first = (*mine.revocations().unwrap()).clone();
        assert_eq!(mine.revoke(key(9)).unwrap(), 2);
        assert_eq!(mine.revoke(key(9)).unwrap(), 2);
        let second = (*mine.revocations().unwrap()).clone();
        let news = member.watch();
        assert!(member.hear(second).unwrap());
        assert!(news.has_changed().unwrap());
        assert!(!member.hear(first).unwrap());
        let again = Admission::open(joined.path(), key(2)).unwrap().unwrap();
        assert!(again.is_revoked(&key(8)) && again.is_revoked(&key(9)) && !again.is_revoked(&key(1)));
        let elsewhere = tempfile::tempdir().unwrap();
        let stranger = ring(elsewhere.path());
        stranger.revoke(key(2)).unwrap();
        assert!(matches!(member.hear((*stranger.revocations().unwrap()).clone()), Err(NetError::Forged(_))));
    }

    #[test]
    fn a_directory_holds_one_ring() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Admission::open(dir.path(), key(1)).unwrap().is_none());
        ring(dir.path());
        assert!(matches!(Admission::create_open(dir.path(), key(1), "x", 16, 6, 4, at(0)), Err(NetError::Settings(_))));
        assert!(Admission::open(dir.path(), key(2)).is_err());
        fs::remove_file(dir.path().join("invitations")).unwrap();
        assert!(matches!(Admission::open(dir.path(), key(1)), Err(NetError::Damaged { .. })));
    }
}
