//! Making a parcel.

use super::form::{Base, Form, Held};
use super::layout::{Coded, Fit, Writer, form_tag};
use super::limits::{BASES_TRIED, REPEAT_WORTH_SHARE};
use super::{Parcel, proof};
use crate::Store;
use crate::capture::{Body, Capture};
use crate::compress;
use crate::envelope::{Envelope, Where};
use crate::error::{Error, Result};
use crate::index::EntryKey;
use crate::limits::{DELTA_WORTH_SHARE, ZSTD_LEVEL};
use crate::read::Item;
use herodotus_base::Sha256;
use std::collections::{HashMap, HashSet};

impl Store {
    /// Puts captures, and the marks of those that were removed, into a parcel of at most `bytes_max`, and says how many of the
    /// ids it covers: the next parcel begins behind them. A single capture may be larger than `bytes_max`; then it is alone, and
    /// the parcel says that it needs a stream. Ids in key order pack best. `has_base` says of a version of one of their keys
    /// whether the receiver has it; where that is wrong, the receiver tells, and the capture is sent whole.
    pub fn parcel(
        &self,
        ids: &[EntryKey],
        has_base: impl Fn(&EntryKey) -> bool,
        bytes_max: usize,
    ) -> Result<(Parcel, usize)> {
        let mut sender = Sender::new(self, &has_base, bytes_max);
        let mut parcel = Parcel::default();
        let mut covered = 0;
        for id in ids {
            match sender.load(id) {
                Ok(Loaded::Taken) => {}
                Ok(Loaded::Full) => break,
                Ok(Loaded::Unknown) => parcel.unknown.push(id.clone()),
                Err(Error::Damaged(why)) => parcel.unreadable.push((id.clone(), why)),
                // A disk that gives one capture no more is no reason to keep the others.
                Err(error @ Error::Disk { .. }) => parcel.unreadable.push((id.clone(), error.to_string())),
                Err(e) => return Err(e),
            }
            covered += 1;
        }
        parcel.entries = sender.out.entries();
        parcel.bytes = sender.out.finish()?;
        parcel.needs_stream = parcel.bytes.len() > bytes_max;
        Ok((parcel, covered))
    }

    /// One whole capture for a reader on another machine, who opens it with [`super::open_capture`]. `None`: it is not here, or
    /// was removed. Of a large body it has the digests; the body is read with [`Store::open_blob_at`].
    pub fn capture_bytes(&self, id: &EntryKey) -> Result<Option<Vec<u8>>> {
        if !matches!(self.held(id)?, Held::Waiting(_) | Held::Packed(..)) {
            return Ok(None);
        }
        let has_none = |_: &EntryKey| false;
        let mut sender = Sender::new(self, &has_none, usize::MAX);
        match sender.load(id)? {
            Loaded::Taken => Ok(Some(sender.out.finish()?)),
            Loaded::Full | Loaded::Unknown => Ok(None),
        }
    }
}

enum Loaded {
    Taken,
    Full,
    Unknown,
}

struct Sender<'a> {
    store: &'a Store,
    has_base: &'a dyn Fn(&EntryKey) -> bool,
    out: Writer,
    /// What is in the parcel.
    sent: HashSet<EntryKey>,
    /// And who in it has which body, of those that are no files.
    bodies: HashMap<Sha256, EntryKey>,
    beside: HashSet<Sha256>,
    /// The last item of the key at hand that has a body, and, since then, the last that only repeats one, for each body.
    last: Option<Near>,
    repeats: Vec<Near>,
}

#[derive(Debug)]
struct Near {
    key: String,
    number: usize,
    item: Vec<u8>,
    body: Option<Sha256>,
}

impl<'a> Sender<'a> {
    fn new(store: &'a Store, has_base: &'a dyn Fn(&EntryKey) -> bool, bytes_max: usize) -> Self {
        Self {
            store,
            has_base,
            out: Writer::new(bytes_max),
            sent: HashSet::new(),
            bodies: HashMap::new(),
            beside: HashSet::new(),
            last: None,
            repeats: Vec::new(),
        }
    }

    /// Puts one entry in. If it does not fit, the parcel is as it was.
    fn load(&mut self, id: &EntryKey) -> Result<Loaded> {
        if self.sent.contains(id) {
            return Ok(Loaded::Taken);
        }
        let (form, far, body) = match self.store.held(id)? {
            Held::Unknown => return Ok(Loaded::Unknown),
            Held::Removed => {
                let fit = self.out.remove(id)?;
                return Ok(if fit == Fit::Taken { Loaded::Taken } else { Loaded::Full });
            }
            Held::Waiting(capture) => {
                let far = self.far(id, None)?;
                let body = matches!(capture.main.body, Body::Bytes(..)).then(|| capture.main.body.digests().sha256);
                (self.form_of(&capture, far.as_ref()), far, body)
            }
            Held::Packed(item, envelope) => {
                let far = self.far(id, Some(&envelope.body))?;
                let body = (envelope.body != Where::Blob).then_some(envelope.sha256);
                (self.form_of_packed(id, &item, &envelope, far.as_ref())?, far, body)
            }
        };
        self.put(id, form, far, body)
    }

    fn put(&mut self, id: &EntryKey, form: Form, far: Option<Base>, body: Option<Sha256>) -> Result<Loaded> {
        let weight = proof::weigh(&form.item).ok_or_else(|| Error::Damaged("an item cannot be read".into()))?;
        let beside = form.beside.as_ref().filter(|(digest, _)| !self.beside.contains(digest));
        let bytes = beside.map(|(_, bytes)| &bytes[..]);
        let packed = self.difference(id, &form, body, far.as_ref())?;
        let raw_len = form.item.len();
        let coded = match &packed {
            None => Coded::Whole { raw_len },
            Some((Against::Near(number), packed)) => Coded::Near { back: self.out.entries() - number, raw_len, packed },
            Some((Against::Far(base), packed)) => {
                let form = form_tag(&base.item);
                Coded::Far { time: base.id.time, tag: base.id.tag, form, raw_len, packed }
            }
        };
        let number = self.out.entries();
        match self.out.put(id, &form.item, weight, &coded, bytes)? {
            Fit::Full => return Ok(Loaded::Full),
            Fit::TooHeavy => return Err(Error::Damaged(format!("{weight} bytes in one capture"))),
            Fit::Taken => {}
        }
        self.beside.extend(form.beside.map(|(digest, _)| digest));
        self.sent.insert(id.clone());
        if let Some(digest) = body {
            self.bodies.entry(digest).or_insert_with(|| id.clone());
        }
        let near = Near { key: id.key.clone(), number, item: form.item, body };
        if form.repeats {
            self.repeats.retain(|other| other.key == near.key && other.body != near.body);
            self.repeats.push(near);
        } else {
            self.repeats.clear();
            self.last = Some(near);
        }
        Ok(Loaded::Taken)
    }

    /// The item as a difference, if that is worth it.
    fn difference<'b>(
        &self,
        id: &EntryKey,
        form: &Form,
        body: Option<Sha256>,
        far: Option<&'b Base>,
    ) -> Result<Option<(Against<'b>, Vec<u8>)>> {
        let repeats = || self.repeats.iter().rev().filter(|near| near.key == id.key);
        let near = repeats().find(|near| near.body == body).or_else(|| repeats().next()).filter(|_| form.repeats);
        let near = near.or_else(|| self.last.as_ref().filter(|near| near.key == id.key));
        let (against, base) = match (near, far) {
            (Some(near), _) => (Against::Near(near.number), &near.item),
            (None, Some(base)) => (Against::Far(base), &base.item),
            (None, None) => return Ok(None),
        };
        let packed = compress::pack_delta(&form.item, base, ZSTD_LEVEL)?;
        let share = if form.repeats { REPEAT_WORTH_SHARE } else { DELTA_WORTH_SHARE };
        Ok((packed.len() * share <= form.item.len()).then_some((against, packed)))
    }

    /// A version that the receiver has, unless there is one in this parcel already. First of all the one that has the body.
    fn far(&self, id: &EntryKey, body: Option<&Where>) -> Result<Option<Base>> {
        if let Some(Where::With(owner)) = body
            && owner.key == id.key
            && !self.sent.contains(owner)
            && (self.has_base)(owner)
            && let Some(base) = self.store.base(owner)?
        {
            return Ok(Some(base));
        }
        let is_near = |near: &Option<Near>| near.as_ref().is_some_and(|near| near.key == id.key);
        if is_near(&self.last) || self.store.count(&id.key)? < 2 {
            return Ok(None);
        }
        let before = self.store.versions_until(&id.key, id.time).take(BASES_TRIED + 1);
        let after = self.store.versions_after(&id.key, id.time).take(BASES_TRIED);
        for entry in before.chain(after) {
            let entry = entry?;
            if entry.id != *id
                && !entry.in_file
                && (self.has_base)(&entry.id)
                && let Some(base) = self.store.base(&entry.id)?
            {
                return Ok(Some(base));
            }
        }
        Ok(None)
    }

    /// How a capture that is at hand travels.
    fn form_of(&self, capture: &Capture, far: Option<&Base>) -> Form {
        match &capture.main.body {
            Body::Blob { digests, .. } => Form::large(Form::plain(capture).item, &digests.sha1),
            Body::Bytes(bytes, digests) if !bytes.is_empty() => match self.owner(&digests.sha256, far) {
                Some(owner) => Form::repeat(capture, owner),
                None => Form::plain(capture),
            },
            Body::Bytes(..) => Form::plain(capture),
        }
    }

    /// How a capture that lies in a pack travels: mostly as it lies there.
    fn form_of_packed(&self, id: &EntryKey, item: &Item, envelope: &Envelope, far: Option<&Base>) -> Result<Form> {
        let gone = || Error::Damaged(format!("{} of {} went while it was read", id.key, id.time));
        let capture = || self.store.read(id)?.ok_or_else(gone);
        Ok(match &envelope.body {
            Where::Here => Form::alone(item.to_vec()),
            Where::With(owner) if self.sent.contains(owner) || far.is_some_and(|base| base.id == *owner) => {
                Form { repeats: true, ..Form::alone(item.to_vec()) }
            }
            Where::With(_) => match self.owner(&envelope.sha256, far) {
                Some(owner) => Form::repeat(&capture()?, owner),
                None => Form::alone(self.store.unshared(id)?),
            },
            // It is named by its digest, and stands in the parcel.
            Where::Raw if self.beside.contains(&envelope.sha256) => Form::alone(item.to_vec()),
            Where::Raw => match self.owner(&envelope.sha256, far) {
                Some(owner) => Form::repeat(&capture()?, owner),
                None => {
                    let Body::Bytes(bytes, _) = capture()?.main.body else { return Err(gone()) };
                    Form { beside: Some((envelope.sha256, bytes)), ..Form::alone(item.to_vec()) }
                }
            },
            Where::Blob => Form::large(item.to_vec(), &self.store.open_blob(&envelope.sha256)?.digests.sha1),
        })
    }

    /// Who has this body, in the parcel or at the receiver.
    fn owner<'b>(&'b self, digest: &Sha256, far: Option<&'b Base>) -> Option<&'b EntryKey> {
        self.bodies.get(digest).or_else(|| far.filter(|base| base.digest == *digest).map(|base| &base.id))
    }
}

enum Against<'a> {
    /// The entry of this number.
    Near(usize),
    Far(&'a Base),
}
