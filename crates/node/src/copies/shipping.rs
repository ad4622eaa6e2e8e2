//! Many captures at once, brought or fetched as they lie in packs (`herodotus_store::parcel::shipment`): one shipment after another over a stream,
//! the next made, sent and proved while the one before is kept. What cannot go like that goes in parcels ([`super::exchange`]), and so does everything with a machine that does not know shipments.
//!
//! Shipments of one stream are kept in their order, so that what leans on something in one before finds it.

use super::exchange::{address_of, note_taken};
use super::wire::{Ask, Bulk, Name, Reply};
use super::{CopiesError, Inner};
use herodotus_base::PeerKey;
use herodotus_net::{CallError, Refusal, Stream};
use herodotus_ring::Contact;
use herodotus_store::EntryKey;
use herodotus_store::parcel::shipment::SHIPMENT_FORM;
use herodotus_store::parcel::shipment::limits::{BLOCK_BYTES_MIN, SHIPMENT_BYTES_MAX, SHIPMENT_ENTRIES_MAX};
use herodotus_store::parcel::{Outcome, Taken};
use std::collections::{BTreeMap, HashSet};
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Fewer captures than that are a parcel, and not worth a stream and a seal of their own.
const CAPTURES_MIN: usize = 64;
/// Shipments that wait to be sent, beside the one that is.
const AHEAD: usize = 1;
/// Streams whose shipments are taken in at once, and those that are given: they are large in memory, and more than there are processors gain nothing.
const STREAMS_AT_ONCE: usize = 4;
/// Shipments that are proved at once, at most, whatever processors there are: one is up to 28 MiB in memory, with all that comes out of it.
const PROVED_AT_ONCE_MAX: usize = 8;
/// Beside one for each processor, those that wait for their turn, for the lock or for the disk.
const KEPT_BESIDE: usize = 2;
/// Names in the answer to a stream, or in the question for one, and what they take.
pub(super) const NAMES_BYTES_MAX: u64 = 4 << 20;
/// What a machine said of shipments is believed for so long: it may come back as another version of the program.
const BELIEVED_FOR: Duration = Duration::from_secs(10 * 60);
/// Machines that this is remembered of.
const PEERS_MAX: usize = 1024;

/// Who knows shipments, and how many streams of them are taken in.
#[derive(Debug)]
pub(super) struct Shipping {
    forms: Mutex<BTreeMap<PeerKey, (Instant, Option<u8>)>>,
    taking: Semaphore,
    giving: Semaphore,
    /// Shipments, of whatever stream, that are proved or wait to be kept.
    proving: Arc<Semaphore>,
}

impl Default for Shipping {
    fn default() -> Self {
        let [taking, giving] = [(); 2].map(|()| Semaphore::new(STREAMS_AT_ONCE));
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let proving = Arc::new(Semaphore::new((processors + KEPT_BESIDE).min(PROVED_AT_ONCE_MAX)));
        Self { forms: Mutex::default(), taking, giving, proving }
    }
}

/// Up to which form a machine takes and gives shipments, if it does.
async fn form_known_to(inner: &Arc<Inner>, machine: &Contact) -> Result<Option<u8>, CopiesError> {
    let forms = || inner.shipping.forms.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, form)) = forms().get(&machine.key).copied()
        && at.elapsed() < BELIEVED_FOR
    {
        return Ok(form);
    }
    let form = match inner.reach.ask(machine, &Ask::Shipments).await {
        Ok(Reply::Shipments { form }) => Some(form).filter(|form| *form > 0),
        Ok(_) => return Err(CopiesError::Odd("an answer to another question")),
        // One of the time before does not know the question.
        Err(CopiesError::Call(CallError::Refused(Refusal::Service(_)))) => None,
        Err(error) => return Err(error),
    };
    let mut forms = forms();
    if forms.len() >= PEERS_MAX {
        forms.clear();
    }
    forms.insert(machine.key, (Instant::now(), form));
    Ok(form)
}

/// Brings captures to a machine that lacks them, and gives those that have to go in parcels.
pub(super) async fn bring(inner: &Arc<Inner>, to: &Contact, ids: Vec<EntryKey>) -> Result<Vec<EntryKey>, CopiesError> {
    if ids.len() < CAPTURES_MIN {
        return Ok(ids);
    }
    let Some(form) = form_known_to(inner, to).await? else { return Ok(ids) };
    let all = ids.clone();
    let mut made = make(inner, ids, form).await?;
    let Some(first) = made.shipments.recv().await else { return made.left().await };
    let mut stream = inner.reach.open(&address_of(to), &Bulk::TakeShipments).await?;
    let mut next = Some(first);
    while let Some(shipment) = next {
        inner.courtesy.turn_out(shipment.len()).await;
        inner.counters.brought(shipment.len());
        write(&mut stream, &shipment).await?;
        next = made.shipments.recv().await;
    }
    stream.shutdown().await?;
    let mut reply = Vec::new();
    stream.take(NAMES_BYTES_MAX).read_to_end(&mut reply).await?;
    let reply = postcard::from_bytes(&reply).map_err(|_| CopiesError::Odd("an answer that cannot be read"))?;
    let Reply::Taken { refused, lacking_base, .. } = reply else {
        return Err(CopiesError::Odd("an answer to another question"));
    };
    if refused > 0 {
        // Something here is not what it should be: whoever makes a parcel of it finds out what, and it keeps nothing else from travelling.
        return Ok(all);
    }
    let mut left = made.left().await?;
    left.extend(lacking_base.iter().filter_map(Name::id));
    left.sort_unstable();
    Ok(left)
}

/// Shipments in the making.
struct Made {
    shipments: mpsc::Receiver<Vec<u8>>,
    maker: tokio::task::JoinHandle<Result<Vec<EntryKey>, CopiesError>>,
}

impl Made {
    /// What is in none of them.
    async fn left(self) -> Result<Vec<EntryKey>, CopiesError> {
        drop(self.shipments);
        self.maker.await.unwrap_or(Err(CopiesError::Odd("a task of ours broke")))
    }
}

/// Makes shipments for one who knows them up to a form, each while the one before is on its way.
async fn make(inner: &Arc<Inner>, ids: Vec<EntryKey>, form: u8) -> Result<Made, CopiesError> {
    let shipper = inner.blocking(move |inner| Ok(inner.store.shipper(ids, BLOCK_BYTES_MIN)?)).await?;
    let mut shipper = shipper.for_one_who_knows(form);
    let (made, shipments) = mpsc::channel(AHEAD);
    let inner = inner.clone();
    let maker = tokio::spawn(async move {
        inner
            .blocking(move |_| {
                while let Some(shipment) = shipper.next_shipment()? {
                    if made.blocking_send(shipment).is_err() {
                        break;
                    }
                }
                Ok(shipper.left())
            })
            .await
    });
    Ok(Made { shipments, maker })
}

/// Takes in the shipments of a stream that a peer opened, and answers as to a parcel.
pub(super) async fn take_all(inner: &Arc<Inner>, stream: &mut Stream) -> Result<(), CopiesError> {
    let _permit = inner.shipping.taking.acquire().await.map_err(|_| CopiesError::Odd("the node is stopping"))?;
    let (mut lacking_base, mut refused) = (Vec::new(), 0u32);
    keep_all(inner, stream, |taken| {
        lacking_base.extend(taken.lacking_bases().map(Name::of));
        refused += taken.entries.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Refused(_))).count() as u32;
        match lacking_base.len() > SHIPMENT_ENTRIES_MAX {
            true => Err(CopiesError::Odd("shipments that lean on what is not here")),
            false => Ok(()),
        }
    })
    .await?;
    let reply = Reply::Taken { machines: 2, lacking_base, refused };
    let reply = postcard::to_stdvec(&reply).map_err(|_| CopiesError::Odd("a reply too odd to write"))?;
    stream.write_all(&reply).await?;
    Ok(())
}

/// Keeps the shipments of a stream in their order; the next are read, and proved, meanwhile.
async fn keep_all(
    inner: &Arc<Inner>,
    stream: &mut (impl AsyncRead + Unpin),
    mut note: impl FnMut(&Taken) -> Result<(), CopiesError>,
) -> Result<(), CopiesError> {
    let (arrived, mut shipments) = mpsc::channel(PROVED_AT_ONCE_MAX);
    let reading = async move {
        let mut before = None;
        while let Some(shipment) = read(stream).await? {
            inner.courtesy.turn_in(shipment.len()).await;
            // In the order of the stream, so that of those who wait for their turn the first always goes on.
            let proving = inner.shipping.proving.clone().acquire_owned();
            let place = proving.await.map_err(|_| CopiesError::Odd("the node is stopping"))?;
            let (kept, turn) = oneshot::channel();
            let keeping = tokio::spawn(keep(inner.clone(), shipment, (before.replace(turn), kept), place));
            if arrived.send(keeping).await.is_err() {
                break;
            }
        }
        Ok::<_, CopiesError>(())
    };
    let keeping = async {
        while let Some(shipment) = shipments.recv().await {
            note(&shipment.await.unwrap_or(Err(CopiesError::Odd("a task of ours broke")))?)?;
        }
        Ok(())
    };
    tokio::try_join!(reading, keeping)?;
    Ok(())
}

/// Keeps one shipment durably when the one before it is kept, and tells the one behind it.
async fn keep(
    inner: Arc<Inner>,
    shipment: Vec<u8>,
    (before, kept): (Option<oneshot::Receiver<()>>, oneshot::Sender<()>),
    _place: OwnedSemaphorePermit,
) -> Result<Taken, CopiesError> {
    let turn = || match before.map(oneshot::Receiver::blocking_recv) {
        None | Some(Ok(())) => Ok(()),
        Some(Err(_)) => Err(CopiesError::Odd("the shipment before was not kept")),
    };
    let taken = inner
        .blocking(move |inner| {
            let taken = inner.store.take_shipment_in_turn(&shipment, turn)?;
            let _ = kept.send(());
            inner.store.commit()?;
            Ok(taken)
        })
        .await?;
    note_taken(&inner, &taken);
    Ok(taken)
}

/// Fetches captures that are lacking here, and gives those that have to come in parcels.
pub(super) async fn fetch(inner: &Arc<Inner>, from: &Contact, names: Vec<Name>) -> Result<Vec<Name>, CopiesError> {
    if names.len() < CAPTURES_MIN {
        return Ok(names);
    }
    let asked = match form_known_to(inner, from).await? {
        None => return Ok(names),
        Some(1) => Bulk::GiveShipments,
        Some(_) => Bulk::GiveShipmentsUpTo { form: SHIPMENT_FORM },
    };
    let mut stream = inner.reach.open(&address_of(from), &asked).await?;
    let asked = postcard::to_stdvec(&names).map_err(|_| CopiesError::Odd("a question too odd to write"))?;
    stream.write_all(&asked).await?;
    stream.shutdown().await?;
    let mut left: HashSet<Name> = names.iter().cloned().collect();
    keep_all(inner, &mut stream, |taken| {
        for (id, outcome) in &taken.entries {
            match outcome {
                Outcome::Stored | Outcome::Known | Outcome::Removed => _ = left.remove(&Name::of(id)),
                // If it is damaged there, whoever makes a parcel of it finds that out.
                Outcome::LacksBase | Outcome::LacksBlob | Outcome::Refused(_) => {}
            }
        }
        Ok(())
    })
    .await?;
    Ok(names.into_iter().filter(|name| left.contains(name)).collect())
}

/// Gives shipments of what a peer asks for who knows them up to a form, as much of it as can go like that.
pub(super) async fn give_all(inner: &Arc<Inner>, stream: &mut Stream, form: u8) -> Result<(), CopiesError> {
    let _permit = inner.shipping.giving.acquire().await.map_err(|_| CopiesError::Odd("the node is stopping"))?;
    let mut asked = Vec::new();
    (&mut *stream).take(NAMES_BYTES_MAX + 1).read_to_end(&mut asked).await?;
    let names: Vec<Name> = postcard::from_bytes(&asked).map_err(|_| CopiesError::Odd("names that are none"))?;
    let ids: Option<Vec<EntryKey>> = names.iter().map(Name::id).collect();
    let ids = ids.ok_or(CopiesError::Odd("that is no name"))?;
    let mut made = make(inner, ids, form).await?;
    while let Some(shipment) = made.shipments.recv().await {
        inner.courtesy.turn_out(shipment.len()).await;
        inner.counters.served(shipment.len());
        write(stream, &shipment).await?;
    }
    made.left().await.map(|_| ())
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), shipment: &[u8]) -> Result<(), CopiesError> {
    stream.write_all(&(shipment.len() as u32).to_be_bytes()).await?;
    Ok(stream.write_all(shipment).await?)
}

/// The next shipment of a stream. `None`: it is over.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<Vec<u8>>, CopiesError> {
    let mut len = Vec::with_capacity(4);
    stream.take(4).read_to_end(&mut len).await?;
    let len = match len[..] {
        [] => return Ok(None),
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
        _ => return Err(CopiesError::Odd("a stream of shipments broke off")),
    };
    if len > SHIPMENT_BYTES_MAX as u64 {
        return Err(CopiesError::Odd("a shipment that is too large"));
    }
    // What is announced takes no memory until it comes.
    let mut shipment = Vec::with_capacity(len as usize);
    stream.take(len).read_to_end(&mut shipment).await?;
    match shipment.len() as u64 == len {
        true => Ok(Some(shipment)),
        false => Err(CopiesError::Odd("a stream of shipments broke off")),
    }
}
