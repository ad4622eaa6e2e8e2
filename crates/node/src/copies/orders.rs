//! Carrying out what the custodian wants: comparing and bringing over, proving, finding strays, confirming, letting go; and reading our own
//! bytes through.

use super::desk::{CHALLENGE_MAX, proof};
use super::exchange::{blob_from_others, bring_names, fetch, fill, from_others};
use super::wire::{Ask, Name, Reply};
use super::{CopiesError, Inner, split};
use herodotus_base::Id;
use herodotus_replica::compare::{Comparison, Confirmation, Confirmed, Found, Holdings, Question, Span, Spans, Step};
use herodotus_replica::custody::{Order, Outcome, Piece, Survey, Task};
use herodotus_replica::{Mark, Sum};
use herodotus_ring::Contact;
use herodotus_store::{EntryKey, Error as StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

/// Entries of a piece that is brought home at once.
const PIECE_ENTRIES_MAX: u64 = 20_000;
/// And what the names of so many take at most.
const PAGE_BYTES_MAX: usize = 4 << 20;
/// Pages that are fetched at once: the last few captures of one come in parcels, and the line is not to wait for them.
const PAGES_AT_ONCE: usize = 2;
/// The last place on the circle.
const LAST: Id = Id([0xff; 32]);
/// Times that a comparison begins again because one of the two did not know how a host is split: each time one host more is known.
const SPLITS_MAX: usize = 16;
/// Bytes that are read through before others have their turn.
const SCRUB_BYTES: u64 = 4 << 20;

/// Which way a comparison brings what one of the two lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Both,
    /// The same, for the other to pass on.
    Spread,
    /// Nothing comes here but other states of what is here: removals, newer versions.
    Give,
}

pub(super) async fn carry_out(inner: &Arc<Inner>, order: Order) -> Outcome {
    let (task, way) = (order.task, if order.gives_only { Way::Give } else { Way::Both });
    let done = match &task {
        Task::Compare { with, from, to } => compare(inner, with, Span::new(*from, *to), way).await,
        Task::Audit { with, from, to, nonce } => audit(inner, with, Span::new(*from, *to), *nonce).await,
        Task::Prove { with, from, to, nonce } => prove(inner, with, Span::new(*from, *to), *nonce).await,
        Task::Survey { after } => survey(inner, *after).await,
        Task::Confirm { with, piece } => confirm(inner, with, *piece).await,
        Task::Release { owner, piece } => release(inner, owner, *piece).await,
    };
    done.unwrap_or_else(|error| {
        inner.counters.failed(&task, &error);
        Outcome::Failed
    })
}

/// Compares a span with another machine, and brings over what either lacks as it is found. Where the two
/// differed on how a host is split, and so on where its entries lie, they begin again.
pub(super) async fn compare(inner: &Arc<Inner>, with: &Contact, span: Span, way: Way) -> Result<Outcome, CopiesError> {
    for _ in 0..SPLITS_MAX {
        match compare_once(inner, with, span, way).await {
            Err(CopiesError::Split) => {}
            done => return done,
        }
    }
    Err(CopiesError::Split)
}

async fn compare_once(inner: &Arc<Inner>, with: &Contact, span: Span, way: Way) -> Result<Outcome, CopiesError> {
    inner.blocking(|inner| Ok(inner.store.seal()?)).await?;
    let mut comparison = Comparison::new(span, random());
    let mut answer = None;
    loop {
        let (given, step) = inner
            .blocking(move |inner| {
                let step = comparison.next(&inner.shelf(), answer)?;
                Ok((comparison, step))
            })
            .await?;
        comparison = given;
        answer = None;
        match step {
            Step::Ask(question) => answer = Some(ask(inner, with, question).await?),
            Step::Found(found) => exchange(inner, with, comparison.salt(), found, way).await?,
            Step::Done => return Ok(Outcome::Well),
        }
    }
}

async fn ask(
    inner: &Arc<Inner>,
    with: &Contact,
    question: Question,
) -> Result<herodotus_replica::compare::Answer, CopiesError> {
    match inner.reach.ask(with, &Ask::Compare(question)).await? {
        Reply::Compare(answer) => Ok(answer),
        _ => Err(CopiesError::Odd("an answer to another question")),
    }
}

/// Brings a part of the differences over, both ways.
async fn exchange(inner: &Arc<Inner>, with: &Contact, salt: u64, found: Found, way: Way) -> Result<(), CopiesError> {
    let spread = way == Way::Spread;
    match found {
        Found::OnlyHere(spans) => {
            for span in spans {
                let mut behind = None;
                loop {
                    let page = inner.blocking(move |inner| {
                        let shelf = inner.shelf();
                        Ok(shelf.page_on(span, behind, PIECE_ENTRIES_MAX as usize, PAGE_BYTES_MAX)?)
                    });
                    let (names, Some(last)) = page.await? else { break };
                    behind = names.last().map(|name| (last, name.clone()));
                    agree(inner, with, &names).await?;
                    bring_names(inner, with, names, spread).await?;
                }
            }
        }
        Found::OnlyThere(_) if way == Way::Give => {}
        Found::OnlyThere(spans) => {
            for span in spans {
                fill_span(inner, with, span).await?;
            }
        }
        Found::Each { spans, lacking_here, lacking_there } => {
            let names = inner.blocking(move |inner| Ok(inner.shelf().names(&lacking_there)?)).await?;
            agree(inner, with, &names).await?;
            bring_names(inner, with, names, spread).await?;
            for shorts in lacking_here.chunks(herodotus_replica::compare::limits::NAMES_MAX) {
                let ask = Ask::Named { salt, spans: Spans::pack(&spans), shorts: shorts.to_vec() };
                let Reply::Names(mut names) = inner.reach.ask(with, &ask).await? else {
                    return Err(CopiesError::Odd("an answer to another question"));
                };
                if way == Way::Give {
                    names = inner.blocking(move |inner| held(inner, names)).await?;
                }
                agree(inner, with, &names).await?;
                fetch(inner, with, names).await?;
            }
        }
    }
    Ok(())
}

/// Fetches all that another machine holds on a span of which nothing is here, page by page: the next while the last of those before still come.
async fn fill_span(inner: &Arc<Inner>, with: &Contact, span: Span) -> Result<(), CopiesError> {
    let (mut under_way, mut behind) = (JoinSet::new(), None);
    let ended = |fill: Result<Result<(), CopiesError>, JoinError>| {
        fill.unwrap_or(Err(CopiesError::Odd("a task of ours broke")))
    };
    loop {
        let reply = inner.reach.ask(with, &Ask::NamesOn { span, behind }).await?;
        let Reply::NamesOn(names, last) = reply else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
        let Some(last) = last else { break };
        behind = names.last().map(|name| (last, name.clone()));
        agree(inner, with, &names).await?;
        if under_way.len() == PAGES_AT_ONCE
            && let Some(fill) = under_way.join_next().await
        {
            ended(fill)?;
        }
        let (inner, with) = (inner.clone(), with.clone());
        under_way.spawn(async move { fill(&inner, &with, names).await });
    }
    while let Some(fill) = under_way.join_next().await {
        ended(fill)?;
    }
    Ok(())
}

/// Those of the names that something is held of here, in whatever state.
fn held(inner: &Inner, names: Vec<Name>) -> Result<Vec<Name>, CopiesError> {
    let mut held = Vec::new();
    for name in names {
        let is_held = match (name.record(), name.id()) {
            (Some(record), _) => inner.ledger.get(&record)?.is_some(),
            (None, Some(id)) => inner.store.knows(&id)?,
            (None, None) => false,
        };
        if is_held {
            held.push(name);
        }
    }
    Ok(held)
}

/// Sees to it that both place entries alike before they are brought over: what seemed lacking may only have been looked for elsewhere.
async fn agree(inner: &Arc<Inner>, with: &Contact, names: &[Name]) -> Result<(), CopiesError> {
    let keys: Vec<String> = names.iter().filter_map(Name::key).collect();
    let learnt = split::tell(inner, with, keys.iter().map(String::as_str)).await?;
    if learnt.here || learnt.there { Err(CopiesError::Split) } else { Ok(()) }
}

/// Has a holder prove that it has the bytes of some entries that we have too.
async fn audit(inner: &Arc<Inner>, with: &Contact, span: Span, number: u64) -> Result<Outcome, CopiesError> {
    let names = inner.blocking(move |inner| sample(inner, span, random() ^ number)).await?;
    let Some((challenge, ours)) = prepare(inner, names).await? else { return Ok(Outcome::Well) };
    let outcome = match challenged(inner, with, &challenge, ours).await? {
        // It may have been asked for what is on its way to it.
        Outcome::Wrong => match brought_and_asked_again(inner, with, span, number).await {
            Ok(outcome @ (Outcome::Well | Outcome::Failed)) => outcome,
            _ => Outcome::Wrong,
        },
        outcome => outcome,
    };
    inner.counters.audited(with.key, &outcome);
    Ok(outcome)
}

/// Brings a holder what it lacks, and has it prove others: damage that the first question met is mended by now, and the rest of a dead disk is not.
async fn brought_and_asked_again(
    inner: &Arc<Inner>,
    with: &Contact,
    span: Span,
    number: u64,
) -> Result<Outcome, CopiesError> {
    compare(inner, with, span, Way::Give).await?;
    let names = inner.blocking(move |inner| sample(inner, span, random() ^ number)).await?;
    let Some((challenge, ours)) = prepare(inner, names).await? else { return Ok(Outcome::Failed) };
    challenged(inner, with, &challenge, ours).await
}

/// Has the owner of what is entrusted to us prove what was picked before it was brought what it lacked.
async fn prove(inner: &Arc<Inner>, with: &Contact, span: Span, number: u64) -> Result<Outcome, CopiesError> {
    let names = inner.blocking(move |inner| sample(inner, span, random() ^ number)).await?;
    if names.is_empty() {
        return Ok(Outcome::Well);
    }
    let outcome = brought_and_proved(inner, with, span, names).await?;
    inner.counters.audited(with.key, &outcome);
    Ok(outcome)
}

/// Brings another machine what it lacks, and has it prove that it has some of what it should have then.
async fn brought_and_proved(
    inner: &Arc<Inner>,
    with: &Contact,
    span: Span,
    names: Vec<Name>,
) -> Result<Outcome, CopiesError> {
    compare(inner, with, span, Way::Give).await?;
    // What has left us meanwhile proves nothing, nor what lies elsewhere since we learnt that its host is split.
    let names = inner.blocking(move |inner| Ok(still_on(inner, span, names))).await?;
    let Some((challenge, ours)) = prepare(inner, names).await? else { return Ok(Outcome::Failed) };
    // It took part in a comparison a moment ago.
    Ok(challenged(inner, with, &challenge, ours).await.unwrap_or(Outcome::Unproven))
}

fn still_on(inner: &Inner, span: Span, mut names: Vec<Name>) -> Vec<Name> {
    names.retain(|name| name.key().is_some_and(|key| span.contains(inner.place_of(&key))));
    names
}

/// What another machine is to prove, and the proof. Nothing, if there is nothing to prove, or not all of it is here.
async fn prepare(inner: &Arc<Inner>, names: Vec<Name>) -> Result<Option<(Ask, [u8; 32])>, CopiesError> {
    if names.is_empty() {
        return Ok(None);
    }
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce).map_err(|_| CopiesError::Odd("no randomness"))?;
    inner
        .blocking(move |inner| {
            let ours = proof(inner, &nonce, &names)?;
            Ok(ours.map(|ours| (Ask::Challenge { nonce, names }, ours)))
        })
        .await
}

async fn challenged(
    inner: &Arc<Inner>,
    with: &Contact,
    challenge: &Ask,
    ours: [u8; 32],
) -> Result<Outcome, CopiesError> {
    match inner.reach.ask(with, challenge).await? {
        Reply::Proof(theirs) if theirs == Some(ours) => Ok(Outcome::Well),
        Reply::Proof(_) => Ok(Outcome::Wrong),
        _ => Err(CopiesError::Odd("an answer to another question")),
    }
}

/// Some captures on a span, beside each other, from a random one on: each is as likely to be asked for, so that nobody knows which, and if there are few, there is always one.
fn sample(inner: &Inner, span: Span, seed: u64) -> Result<Vec<Name>, CopiesError> {
    let rows = || inner.store.places(span.from, span.to);
    let mut all = 0;
    for row in rows() {
        all += row?.2.count;
    }
    let Some(mut skip) = seed.checked_rem(all) else { return Ok(Vec::new()) };
    let mut left = all.min(CHALLENGE_MAX as u64 * 4);
    let mut names = Vec::new();
    // Behind the last comes the first.
    for row in rows().chain(rows()) {
        let (place, bucket, sum) = row?;
        if skip >= sum.count {
            skip -= sum.count;
            continue;
        }
        for entry in inner.store.entries_at(place, &bucket).skip(skip as usize) {
            if left == 0 || names.len() == CHALLENGE_MAX {
                return Ok(names);
            }
            left -= 1;
            let (id, ..) = entry?;
            // Not what was removed.
            if inner.store.entry(&id)?.is_some() {
                names.push(Name::of(&id));
            }
        }
        skip = 0;
    }
    Ok(names)
}

/// Finds the first piece of what we hold that is on none of our own arcs.
async fn survey(inner: &Arc<Inner>, after: Id) -> Result<Outcome, CopiesError> {
    let first = inner
        .blocking(move |inner| {
            inner.store.seal()?;
            // Not going round: up to the last place there is.
            if after == LAST {
                return Ok(None);
            }
            for row in inner.shelf().sums(Span::new(after, LAST)) {
                let (place, _) = row?;
                if !inner.custodian().owns(place) {
                    return Ok(Some(place));
                }
            }
            Ok(None)
        })
        .await?;
    let Some(place) = first else { return Ok(Outcome::Surveyed(Survey::Nothing)) };
    inner.reach.forget(place);
    let told = inner.holders(place).await?;
    let (_, end) = told.holders.arc;
    // An arc that goes round ends, for this round, where the circle does.
    let to = if end < place { LAST } else { end };
    let piece = inner.blocking(move |inner| measure(inner, Span::at(place).from, to)).await?;
    Ok(Outcome::Surveyed(Survey::Found { piece, owner: told.owner, holders: told.holders }))
}

/// What we hold behind one place up to another, as many entries as are brought home at once.
fn measure(inner: &Inner, from: Id, to: Id) -> Result<Piece, CopiesError> {
    let mut piece = Piece { from, to, sum: Sum::default() };
    for row in inner.shelf().sums(Span::new(from, to)) {
        let (place, sum) = row?;
        if piece.sum.count > 0 && piece.sum.count + sum.count > PIECE_ENTRIES_MAX && place != piece.to {
            return Ok(piece);
        }
        piece.to = place;
        piece.sum.join(sum);
    }
    piece.to = to;
    Ok(piece)
}

/// An entry with its place and its mark.
type Marked = (Id, Name, Mark);

/// The entries of a piece, if they are still those it was measured with.
fn entries_of(inner: &Inner, piece: Piece) -> Result<Option<Vec<Marked>>, CopiesError> {
    let mut sum = Sum::default();
    let mut entries = Vec::new();
    for entry in inner.shelf().entries(Span::new(piece.from, piece.to)) {
        let (place, (name, mark)) = entry?;
        sum.add(mark);
        entries.push((place, name, mark));
    }
    Ok((sum == piece.sum).then_some(entries))
}

/// Asks whether another machine holds every entry of a piece, by full marks.
async fn confirm(inner: &Arc<Inner>, with: &Contact, piece: Piece) -> Result<Outcome, CopiesError> {
    let Some(entries) = inner.blocking(move |inner| entries_of(inner, piece)).await? else {
        return Ok(Outcome::Partly);
    };
    let limit = herodotus_replica::compare::limits::CONFIRMED_MAX;
    for some in entries.chunks(limit) {
        let marks = some.iter().map(|(place, _, mark)| (*place, *mark));
        let mut confirmation = Confirmation::new(marks).map_err(|_| CopiesError::Odd("too much to confirm"))?;
        let mut answer = None;
        loop {
            match confirmation.next(answer).map_err(|_| CopiesError::Odd("a confirmation that is none"))? {
                Confirmed::Ask(question) => answer = Some(ask(inner, with, question).await?),
                Confirmed::Done { lacking, .. } if lacking.is_empty() => break,
                Confirmed::Done { .. } => return Ok(Outcome::Partly),
            }
        }
    }
    Ok(Outcome::Well)
}

/// Lets a piece go that others have confirmed.
async fn release(inner: &Arc<Inner>, owner: &Contact, piece: Piece) -> Result<Outcome, CopiesError> {
    // Its owner may have come to want us again; after this it knows that we hold nothing.
    let reply = inner.reach.ask(owner, &Ask::MayLetGo { place: piece.to }).await?;
    let Reply::MayLetGo(true) = reply else { return Ok(Outcome::Partly) };
    inner
        .blocking(move |inner| {
            let Some(entries) = entries_of(inner, piece)? else { return Ok(Outcome::Partly) };
            if entries.iter().any(|(place, ..)| inner.custodian().owns(*place)) {
                return Ok(Outcome::Partly);
            }
            let ids: Vec<EntryKey> = entries.iter().filter_map(|(_, name, _)| name.id()).collect();
            let released = inner.store.release(&ids)?;
            let mut records = Vec::new();
            for (_, name, mark) in &entries {
                let Some(name) = name.record() else { continue };
                records.extend(inner.ledger.get(&name)?.filter(|record| record.mark() == *mark));
            }
            let records_released = inner.ledger.release(&records)?;
            inner.counters.released(released + records_released as u64);
            Ok(Outcome::Well)
        })
        .await
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness a salt that others could guess only lets them hide a difference, until the next comparison.
    let _ = getrandom::fill(&mut bytes);
    u64::from_be_bytes(bytes)
}

/// Reads everything through in the time that was given for it, again and again, and mends what is damaged from others' copies.
pub(super) async fn scrub(inner: Arc<Inner>) {
    let mut cursor: Option<EntryKey> = None;
    loop {
        let held = inner.store.bytes_on_disk().unwrap_or(0).max(1);
        let share = (SCRUB_BYTES as f64 / held as f64).min(1.0);
        let pause = inner.settings.scrub_every.mul_f64(share).max(Duration::from_millis(200));
        tokio::time::sleep(pause).await;
        let after = cursor.clone();
        let read = inner.blocking(move |inner| Ok(inner.store.scrub(after.as_ref(), SCRUB_BYTES)?)).await;
        let Ok((damaged, next)) = read else { continue };
        cursor = next;
        for id in damaged {
            inner.counters.found_damaged();
            if mend(&inner, &id).await.is_ok() {
                inner.counters.mended();
            }
        }
    }
}

/// Mends what somebody came upon: a challenge, a reader.
pub(super) async fn mend_found(inner: Arc<Inner>, mut damaged: mpsc::Receiver<EntryKey>) {
    while let Some(id) = damaged.recv().await {
        let read = id.clone();
        let found = inner.blocking(move |inner| Ok(inner.store.audit_digest(&read, &[0; 32]).map(drop)?)).await;
        // It may have been told of twice.
        let Err(CopiesError::Store(StoreError::Damaged(_))) = found else { continue };
        inner.counters.found_damaged();
        if mend(&inner, &id).await.is_ok() {
            inner.counters.mended();
        }
    }
}

/// Takes a capture anew from somebody who has it.
pub(super) async fn mend(inner: &Arc<Inner>, id: &EntryKey) -> Result<(), CopiesError> {
    let capture = from_others(inner, id).await?.ok_or(CopiesError::Nobody)?;
    blob_from_others(inner, id, &capture).await?;
    inner.blocking(move |inner| Ok(inner.store.mend(capture)?)).await?;
    Ok(())
}
