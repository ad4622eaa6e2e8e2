//! Exchanges that one machine makes for another: the owner of a URL asks, and is sent what came over the wire, piece by piece.
//!
//! A machine makes them only for a crawl that runs here, as a GET that it words itself, within its own rules of which networks may be asked and with a bounded number of
//! hands: it is no proxy for anybody. Nothing is kept here. Whoever asks checks what comes as it would a server's, and if anything breaks asks somebody else, or the site itself.

use super::wire::{Bulk, Bytes, CRAWLS, Errand, Frame, Report};
use super::{Inner, lock, near};
use crate::crawl::{Context, Elsewhere, Performer, is_wanted};
use bytes::Bytes as Shared;
use herodotus_base::{PeerKey, Timestamp};
use herodotus_fetch::{Ask, Exchange, Failure, Receiver, Replay, ResponseHead, TlsInfo, Took, Validators, Wish};
use herodotus_frontier::Media;
use herodotus_ledger::CrawlId;
use herodotus_net::{Address, Stream};
use herodotus_page::WebUrl;
use herodotus_ring::Contact;
use herodotus_store::key_of;
use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{self, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes of a frame: the longest head, or what one read of a fetch brings, and some to say what it is.
const FRAME_BYTES_MAX: usize = 1 << 20;
/// Beyond what the exchange itself may take.
const MARGIN: Duration = Duration::from_secs(10);
/// Whether it is made at all is said by then: well before the lease ends.
const ACCEPT_WAIT: Duration = Duration::from_secs(5);
/// Whoever was silent is not asked again for so long; by then the ring has closed the gap.
const SHUNNED_FOR: Duration = Duration::from_secs(10);

/// Machines that are left alone for a moment.
#[derive(Debug, Default)]
pub(super) struct Shunned(Mutex<HashMap<PeerKey, Instant>>);

impl Shunned {
    fn add(&self, machine: PeerKey, now: Instant) {
        lock(&self.0).insert(machine, now + SHUNNED_FOR);
    }

    fn has(&self, machine: PeerKey, now: Instant) -> bool {
        let mut all = lock(&self.0);
        all.retain(|_, until| *until > now);
        all.contains_key(&machine)
    }
}

/// Who is to make the exchange of a URL of ours, as the crawl's strategy says.
pub(super) async fn others(inner: &Arc<Inner>, crawl: CrawlId, context: &Context, url: &WebUrl) -> Vec<Contact> {
    let strategy = inner.orders().get(&crawl).map(|order| order.definition.strategy).unwrap_or_default();
    let mut found: Vec<Contact> = Vec::new();
    match strategy.performer(&key_of(url.as_str()), context.waiting()) {
        Performer::Here => {}
        Performer::OwnersOf(places) => {
            for place in places {
                match inner.copies.owner_of(place).await {
                    Ok((owner, _)) if found.iter().all(|known| known.key != owner.key) => found.push(owner),
                    Ok(_) => {}
                    Err(_) => inner.copies.forget_owner(place),
                }
            }
        }
        Performer::Nearest { candidates } => found.extend(near::nearest(inner, crawl, url, candidates).await),
    }
    let (now, machine) = (Instant::now(), inner.copies.machine());
    found.retain(|contact| contact.key != machine && !inner.shunned.has(contact.key, now));
    found
}

/// Has an exchange made by another machine.
pub(super) async fn fetch_at(
    inner: &Arc<Inner>,
    crawl: CrawlId,
    other: &Contact,
    context: &Context,
    ask: &Ask,
    receiver: &mut dyn Receiver,
) -> Elsewhere {
    let waiting_max = inner.orders().get(&crawl).and_then(|order| order.definition.strategy.waiting_max());
    let errand = Errand {
        crawl: crawl.0,
        url: ask.url.as_str().to_owned(),
        etag: ask.validators.etag.clone(),
        last_modified: ask.validators.last_modified.clone(),
        referer: ask.referer.clone(),
        media: context.media(),
        waiting_max,
    };
    let config = context.fetch_config();
    let address = Address::new(other.key, other.addresses.clone());
    let made = async {
        let stream = tokio::time::timeout(ACCEPT_WAIT, open(inner, &address, errand)).await??;
        let Some(mut stream) = stream else { return Ok(Elsewhere::Declined) };
        take(&mut stream, config, receiver).await
    };
    let made = tokio::time::timeout(config.deadlines.whole + MARGIN, made).await;
    match made.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(made) => made,
        // Whether the site was asked, nobody can say.
        Err(_) => {
            inner.shunned.add(other.key, Instant::now());
            inner.nearness.forget(other);
            Elsewhere::Broken
        }
    }
}

/// Asks for an exchange. Nothing: it was declined.
async fn open(inner: &Arc<Inner>, address: &Address, errand: Errand) -> io::Result<Option<Stream>> {
    let head = postcard::to_stdvec(&Bulk::Fetch(errand)).map_err(io::Error::other)?;
    let stream = inner.copies.ring().endpoint().stream(address, CRAWLS, Shared::from(head)).await;
    let mut stream = stream.map_err(io::Error::other)?;
    // That is all we have to say.
    stream.shutdown().await?;
    match read_frame(&mut stream).await? {
        Frame::Accepted => Ok(Some(stream)),
        Frame::Declined => Ok(None),
        _ => Err(odd()),
    }
}

/// Takes what another machine sends of an exchange.
async fn take(
    stream: &mut Stream,
    config: &herodotus_fetch::Config,
    mut receiver: &mut dyn Receiver,
) -> io::Result<Elsewhere> {
    let head = match read_frame(stream).await? {
        Frame::Head(Bytes(head)) => head,
        Frame::Failed { code, is_temporary, text } => {
            let code = Failure::code_named(&code);
            let text = text.chars().filter(|char| !char.is_control()).take(400).collect();
            return Ok(Elsewhere::Made(Err(Failure::Elsewhere { code, is_temporary, text })));
        }
        _ => return Err(odd()),
    };
    let mut replay = Replay::new(&head, config.caps, &mut receiver).map_err(io::Error::other)?;
    loop {
        match read_frame(stream).await? {
            Frame::Wire(Bytes(bytes)) => match replay.push(&bytes).await {
                Ok(()) => {}
                // Ours: our disk is full, which no other machine can help.
                Err(failure) => return Ok(Elsewhere::Made(Err(failure))),
            },
            Frame::Made(report) => return Ok(Elsewhere::Made(Ok(Box::new(replay.finish(exchange_of(*report)))))),
            // It had a head, so that what failed is over there, not the site.
            _ => return Err(odd()),
        }
    }
}

fn odd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a machine that tells of no exchange")
}

async fn read_frame(stream: &mut Stream) -> io::Result<Frame> {
    let len = stream.read_u32().await? as usize;
    if len > FRAME_BYTES_MAX {
        return Err(odd());
    }
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes).await?;
    postcard::from_bytes(&bytes).map_err(|_| odd())
}

fn exchange_of(report: Report) -> Exchange {
    let [connect, first_byte, whole] = report.took_us.map(Duration::from_micros);
    Exchange {
        time: Timestamp::from_millis_clamped(report.time_ms),
        request: report.request.0,
        // What the bytes say is put in when they are all here.
        status: 0,
        remote: report.remote,
        protocol: report.protocol,
        tls: report.tls.map(|(version, cipher)| TlsInfo::named(&version, &cipher)),
        truncated: report.truncated,
        body_left: report.body_left,
        wire_bytes: 0,
        content_bytes: 0,
        coding_error: None,
        took: Took { connect, first_byte, whole },
        reused: report.reused,
    }
}

fn report_of(exchange: Exchange) -> Report {
    let took = [exchange.took.connect, exchange.took.first_byte, exchange.took.whole];
    Report {
        time_ms: exchange.time.millis(),
        request: Bytes(exchange.request),
        remote: exchange.remote,
        protocol: exchange.protocol,
        tls: exchange.tls.map(|tls| (tls.version.to_owned(), tls.cipher.to_owned())),
        truncated: exchange.truncated,
        body_left: exchange.body_left,
        took_us: took.map(|took| took.as_micros() as u64),
        reused: exchange.reused,
    }
}

/// Makes an exchange for another machine, if that is ours to do and we have a hand free.
pub(super) async fn serve(inner: &Arc<Inner>, errand: Errand, stream: Stream) {
    let mut relay = Relay { writer: stream, out: Vec::new(), sent: 0, media: errand.media, is_broken: false };
    // What cannot be sent any more nobody waits for.
    let _ = make(inner, errand, &mut relay).await;
}

async fn make(inner: &Arc<Inner>, errand: Errand, relay: &mut Relay) -> io::Result<()> {
    let (context, url) = (inner.context(CrawlId(errand.crawl)), WebUrl::parse(&errand.url));
    let hand = context.as_ref().and_then(|context| Some((context, context.free_hand(errand.waiting_max)?)));
    let (Some((context, hand)), Ok(url)) = (hand, url) else {
        relay.add(&Frame::Declined)?;
        return relay.end().await;
    };
    relay.add(&Frame::Accepted)?;
    relay.send().await?;
    let validators = Validators { etag: errand.etag, last_modified: errand.last_modified };
    let ask = Ask { url, validators, referer: errand.referer };
    match context.fetch_for_other(&ask, relay, hand).await {
        Ok(exchange) => relay.add(&Frame::Made(Box::new(report_of(exchange))))?,
        Err(failure) => {
            let (code, is_temporary) = (failure.code().to_owned(), failure.is_temporary());
            relay.add(&Frame::Failed { code, is_temporary, text: failure.to_string() })?;
        }
    }
    relay.end().await
}

/// Sends a response on as it comes. What the other side does not take yet holds the exchange back.
struct Relay {
    writer: Stream,
    /// Frames, of which so much is sent.
    out: Vec<u8>,
    sent: usize,
    media: Media,
    is_broken: bool,
}

impl Relay {
    fn add(&mut self, frame: &Frame) -> io::Result<()> {
        let bytes = postcard::to_stdvec(frame).map_err(io::Error::other)?;
        if self.is_broken || bytes.len() > FRAME_BYTES_MAX {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        self.out.extend_from_slice(&bytes);
        Ok(())
    }

    async fn send(&mut self) -> io::Result<()> {
        std::future::poll_fn(|context| self.poll_ready(context)).await;
        if self.is_broken { Err(io::ErrorKind::BrokenPipe.into()) } else { self.writer.flush().await }
    }

    async fn end(&mut self) -> io::Result<()> {
        self.send().await?;
        self.writer.shutdown().await
    }
}

impl Receiver for Relay {
    fn head(&mut self, head: &[u8], parsed: &ResponseHead<'_>) -> Wish {
        self.is_broken |= self.add(&Frame::Head(Bytes(head.to_vec()))).is_err();
        let essence = parsed.content_type_essence().unwrap_or_default();
        match is_wanted(self.media, parsed.status.unwrap_or(0), &essence) {
            true => Wish::Take,
            false => Wish::Leave,
        }
    }

    fn wire(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(FRAME_BYTES_MAX / 2).try_for_each(|piece| self.add(&Frame::Wire(Bytes(piece.to_vec()))))
    }

    /// Decoding is for whoever asked.
    fn content(&mut self, _: &[u8]) {}

    fn wants_content(&self) -> bool {
        false
    }

    fn poll_ready(&mut self, context: &mut task::Context<'_>) -> Poll<()> {
        while self.sent < self.out.len() && !self.is_broken {
            match Pin::new(&mut self.writer).poll_write(context, &self.out[self.sent..]) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0) | Err(_)) => self.is_broken = true,
                Poll::Ready(Ok(sent)) => self.sent += sent,
            }
        }
        self.out.clear();
        self.sent = 0;
        Poll::Ready(())
    }
}
