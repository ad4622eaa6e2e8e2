//! What is too large for a call: parcels of one large capture, and large bodies, over streams.

use super::wire::{Bulk, Bytes, Name, Reply};
use super::{CopiesError, Inner, desk, shipping};
use herodotus_base::Sha256;
use herodotus_net::{Address, Caller, Stream};
use herodotus_store::parcel::limits::PARCEL_BYTES_MAX;
use std::io::Read;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Bytes of a large body in memory at a time.
const PIECE_BYTES: usize = 256 << 10;
/// A reply is short.
const REPLY_BYTES_MAX: u64 = 64 << 10;

/// Answers a stream that a peer opened.
pub(super) async fn serve(inner: &Arc<Inner>, from: Caller, bulk: Bulk, mut stream: Stream) -> Result<(), CopiesError> {
    match bulk {
        Bulk::Blob { sha256, offset } => {
            let mut reader =
                inner.blocking(move |inner| Ok(inner.store.open_blob_at(&Sha256(sha256), offset)?)).await?;
            loop {
                let (back, piece) = inner
                    .blocking(move |_| {
                        let mut piece = vec![0; PIECE_BYTES];
                        let read = reader.read(&mut piece)?;
                        piece.truncate(read);
                        Ok((reader, piece))
                    })
                    .await?;
                if piece.is_empty() {
                    break;
                }
                reader = back;
                stream.write_all(&piece).await?;
                inner.counters.served(piece.len());
            }
        }
        Bulk::Take { spread } => {
            let mut parcel = Vec::new();
            (&mut stream).take(PARCEL_BYTES_MAX as u64 + 1).read_to_end(&mut parcel).await?;
            let reply = desk::take(inner, from, Bytes(parcel), spread).await?;
            let reply = postcard::to_stdvec(&reply).map_err(|_| CopiesError::Odd("a reply too odd to write"))?;
            stream.write_all(&reply).await?;
        }
        Bulk::Give { name } => {
            let id = name.id().ok_or(CopiesError::Odd("that is no name"))?;
            let given =
                inner.blocking(move |inner| Ok(inner.store.parcel(&[id], |_| false, PARCEL_BYTES_MAX)?)).await?;
            inner.counters.served(given.0.bytes.len());
            stream.write_all(&given.0.bytes).await?;
        }
        Bulk::Capture { name } => {
            let bytes = whole(inner, name).await?;
            inner.counters.served(bytes.len());
            stream.write_all(&bytes).await?;
        }
        Bulk::TakeShipments => shipping::take_all(inner, &mut stream).await?,
        Bulk::GiveShipments => shipping::give_all(inner, &mut stream, 1).await?,
        Bulk::GiveShipmentsUpTo { form } => shipping::give_all(inner, &mut stream, form).await?,
    }
    stream.shutdown().await?;
    Ok(())
}

async fn whole(inner: &Arc<Inner>, name: Name) -> Result<Vec<u8>, CopiesError> {
    let id = name.id().ok_or(CopiesError::Odd("that is no name"))?;
    let bytes = inner.blocking(move |inner| Ok(inner.store.capture_bytes(&id)?)).await?;
    bytes.ok_or(CopiesError::Odd("it is not here any more"))
}

/// Sends a parcel that is too large for a call.
pub(super) async fn send(
    inner: &Arc<Inner>,
    to: &Address,
    parcel: Vec<u8>,
    spread: bool,
) -> Result<Reply, CopiesError> {
    let mut stream = inner.reach.open(to, &Bulk::Take { spread }).await?;
    stream.write_all(&parcel).await?;
    stream.shutdown().await?;
    let mut reply = Vec::new();
    stream.take(REPLY_BYTES_MAX).read_to_end(&mut reply).await?;
    postcard::from_bytes(&reply).map_err(|_| CopiesError::Odd("an answer that cannot be read"))
}

/// Fetches what is answered with bytes and nothing else.
pub(super) async fn get(inner: &Arc<Inner>, from: &Address, bulk: &Bulk) -> Result<Vec<u8>, CopiesError> {
    let stream = inner.reach.open(from, bulk).await?;
    let mut bytes = Vec::new();
    stream.take(PARCEL_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).await?;
    Ok(bytes)
}
