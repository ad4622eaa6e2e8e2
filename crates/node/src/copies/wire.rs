//! What machines ask each other about copies. One call each, postcard within the transport's frame; numbers of variants are for ever.

use herodotus_base::Id;
use herodotus_net::Kind;
use herodotus_replica::compare::{self, Short, Span, Spans};
use herodotus_replica::custody::Holders;
use herodotus_store::{Entry, EntryKey};
use serde::{Deserialize, Serialize};

/// Copies' own calls among those of the transport.
pub(super) const COPIES: Kind = Kind(2);
/// Names that one call may carry: a parcel of small captures.
pub(super) const NAMES_MAX: usize = 4096;
/// Entries that one answer carries.
pub(super) const ENTRIES_MAX: usize = 2048;

/// Keys whose titles one call asks for: a page's worth.
pub(super) const TITLES_MAX: usize = 256;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// Who holds this place? Only its owner answers.
    Holders { place: Id },
    /// May I let go of what I hold there? Only its owner answers, and counts me no more.
    MayLetGo { place: Id },
    /// One step of a comparison.
    Compare(compare::Question),
    /// Which of these do you not have?
    Lacks { names: Vec<Name> },
    /// Keep these durably. With `spread`, as their owner: pass them on.
    Take { parcel: Bytes, spread: bool },
    /// Give me these, written against these where it saves bytes.
    Give { names: Vec<Name>, bases: Vec<Name> },
    /// What are the names of these short ids of a comparison?
    Named { salt: u64, spans: Spans, shorts: Vec<Short> },
    /// Names of what you hold on a span, behind one, if one is given.
    NamesOn { span: Span, behind: Option<(Id, Name)> },
    /// Prove that you have the bytes.
    Challenge { nonce: [u8; 32], names: Vec<Name> },
    /// Entries with `from <= name < to`, in order or backwards.
    Entries { from: Bytes, to: Bytes, backwards: bool, max: u32 },
    /// How many captures of a key.
    Count { key: String },
    /// One whole capture, to show it.
    Capture { name: Name },
    /// Captures by the words of their titles.
    Search { words: String, max: u32 },
    /// The newest titles of these keys.
    Titles { keys: Vec<String> },
    /// What came last.
    Recent { max: u32 },
    /// How you are.
    Status,
    /// The same question, only if you can answer for all that lies there.
    At { place: Id, ask: Box<Ask> },
    /// Keep these records durably. With `spread`, as their owner: pass them on.
    Keep { bundle: Bytes, spread: bool },
    /// Give me these records, as many as fit.
    GiveRecords { names: Vec<Name> },

    // Of hosts that are split.
    /// These hosts have so many parts. Answered with those of which the other knows more.
    Split { hosts: Vec<(String, u32)> },
    /// Has everything that left this part of yours when the host got so many parts come to where it belongs? Only the part's owner answers.
    HasMoved { bucket: String, parts: u32, part: u32 },
    /// Into how many parts is a host split, and up to how many has everything moved? Only those answer who hold its first place.
    Parts { bucket: String },
    /// As [`Ask::At`], from one who takes the host for split into so many parts: whoever knows of more says so instead.
    Within { place: Id, bucket: String, parts: u32, ask: Box<Ask> },

    /// Up to which form do you know shipments? Who does not know the question knows none.
    Shipments,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Holders(Option<Holders>),
    MayLetGo(bool),
    Compare(compare::Answer),
    /// Those of the names that are lacking, by their number.
    Lacks(Vec<u32>),
    /// How many machines have it durably, and what could not be taken: lacking its base, or refused.
    Taken {
        machines: u16,
        lacking_base: Vec<Name>,
        refused: u32,
    },
    /// A parcel, and how many of the names it covers. None: the first of them is large, and is to be had as bulk.
    Given {
        parcel: Bytes,
        covered: u32,
    },
    Names(Vec<Name>),
    /// With the place of the last one: the next page is behind it. Empty: there are no more.
    NamesOn(Vec<Name>, Option<Id>),
    Proof(Option<[u8; 32]>),
    Entries(Vec<WireEntry>),
    Hits(Vec<Hit>),
    Titles(Vec<Option<String>>),
    Count(u64),
    Capture(Option<Bytes>),
    Status(Status),
    /// It may be here or not: ask somebody else.
    NotHere,
    /// How many machines have the records durably.
    Kept {
        machines: u16,
    },
    /// Records, and how many of the names they cover; those that are not here are passed over.
    Records {
        bundle: Bytes,
        covered: u32,
    },

    // Of hosts that are split.
    /// Hosts that have more parts than you know; of how many the other had not known. To [`Ask::Take`]: nothing was taken, it belongs elsewhere.
    Split {
        larger: Vec<(String, u32)>,
        learnt: u32,
    },
    /// Whether it has, and how many parts the host has.
    Moved {
        done: bool,
        parts: u32,
    },
    /// To a question about a host, too: it is split into more parts than you think.
    Parts {
        parts: u32,
        settled: u32,
    },
    Shipments {
        form: u8,
    },
    /// There is nothing here, and that is not to say that there is nothing: too many who may have it are away.
    Unsure,
}

/// What is too large for a call. After the head come bytes one way, and a [`Reply`] the other, or bytes only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Bulk {
    /// Give me this large body from an offset on.
    Blob { sha256: [u8; 32], offset: u64 },
    /// Keep the parcel that follows; answered as [`Ask::Take`] is.
    Take { spread: bool },
    /// Answered with a parcel and nothing else.
    Give { name: Name },
    /// One whole capture; answered with its bytes.
    Capture { name: Name },
    /// Keep the shipments that follow, each with its length (u32, big-endian) before it; answered as [`Ask::Take`] is.
    TakeShipments,
    /// Names follow; answered with shipments as above of what can go like that, and nothing else.
    GiveShipments,
    /// The same, from one who knows shipments up to this form. Asked of those who know form 2: the ones before give form 1.
    GiveShipmentsUpTo { form: u8 },
}

/// The name of an entry: a capture's as in the index, or a record's as in the ledger.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Name(#[serde(with = "serde_bytes")] pub(super) Vec<u8>);

impl Name {
    pub(super) fn of(id: &EntryKey) -> Self {
        Self(id.encode())
    }

    pub(super) fn of_record(name: &herodotus_ledger::Name) -> Self {
        Self(name.encode())
    }

    /// Of a capture.
    pub(super) fn id(&self) -> Option<EntryKey> {
        EntryKey::decode(&self.0)
    }

    /// The key of the URL that it is about, if it is about one.
    pub(super) fn key(&self) -> Option<String> {
        match self.record() {
            Some(herodotus_ledger::Name::Url { key, .. }) => Some(key),
            Some(herodotus_ledger::Name::Crawl(_)) => None,
            None => self.id().map(|id| id.key),
        }
    }

    /// Of a record.
    pub(super) fn record(&self) -> Option<herodotus_ledger::Name> {
        herodotus_ledger::Name::decode(&self.0)
    }
}

/// Bytes that postcard takes as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Bytes(#[serde(with = "serde_bytes")] pub(super) Vec<u8>);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WireEntry {
    pub(super) name: Name,
    pub(super) value: Bytes,
}

impl WireEntry {
    pub(super) fn of(entry: &Entry) -> Self {
        Self { name: Name::of(&entry.id), value: Bytes(entry.encode_told()) }
    }

    pub(super) fn entry(&self) -> Option<Entry> {
        Entry::decode_told(self.name.id()?, &self.value.0)
    }
}

/// A page that was found by its title.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hit {
    pub(super) key: String,
    pub(super) url: String,
    pub(super) title: String,
    pub(super) time_ms: i64,
}

/// What a machine tells of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Status {
    /// Everything it holds.
    pub(super) entries: u64,
    pub(super) bytes_held: u64,
    pub(super) disk_free: u64,
    pub(super) uptime_s: u64,
    pub(super) bytes_served: u64,
    pub(super) bytes_brought: u64,
    /// On its own arcs, so that each object of the ring is counted once: entries, and bytes as they came.
    pub(super) own: Own,
    pub(super) public: Option<String>,
    pub(super) version: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Own {
    pub(super) entries: u64,
    /// Its share of all that it holds, for what is only known of all.
    pub(super) captures: u64,
    pub(super) urls: u64,
    pub(super) bytes_in: u64,
    pub(super) shared: u64,
    /// Entries by how many machines hold them, from none on.
    pub(super) by_copies: Vec<u64>,
    /// Machines that each arc is to lie on.
    pub(super) needed: u16,
    pub(super) filling: u16,
    pub(super) away: u16,
    pub(super) strays: bool,
}
