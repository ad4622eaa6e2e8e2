//! The answering side: a function of the question and of what is held. It keeps nothing, so it may be asked again by anybody at any time.
//!
//! A question is bounded in what it may make us do: each entry is read once at most, and what is gathered fits into an answer.

use super::cut::cut_all;
use super::limits::{CONFIRMED_MAX, LIST_MAX, NAMES_MAX, SYMBOLS_IN_ANSWER_MAX, SYMBOLS_MAX};
use super::message::{Answer, Ask, Question, Reply};
use super::span::Spans;
use super::symbol::{Salt, Share, Short, Sketch};
use super::{Error, Holdings, Span};
use crate::{Mark, Sum};
use herodotus_base::Id;
use std::ops::Range;

/// What to say to a question. An error is for our log; the asker hears no more than that there was one.
pub fn answer<H: Holdings>(holdings: &H, question: &Question) -> Result<Answer, Error<H::Error>> {
    let Question::V1(ask) = question;
    let reply = match ask {
        Ask::Whole { salt, span, sum } => whole(holdings, &Salt::new(*salt), *span, *sum)?,
        Ask::Cut { salt, spans } => {
            Reply::Cut(cut_all(holdings, &Salt::new(*salt), &opened(spans)?).map_err(Error::Holdings)?)
        }
        Ask::Symbols { salt, spans, share, from, until } => {
            symbols(holdings, &Salt::new(*salt), &opened(spans)?, sound(*share)?, *from..*until)?
        }
        Ask::List { salt, spans, share } => list(holdings, &Salt::new(*salt), &opened(spans)?, sound(*share)?)?,
        Ask::Names { salt, spans, shorts } => names(holdings, *salt, &opened(spans)?, shorts)?,
        Ask::HoldsSums { places } => holds_sums(holdings, places)?,
        Ask::HoldsMarks { places } => holds_marks(holdings, places)?,
    };
    Ok(Answer::V1(reply))
}

/// Turns short ids back into entries, with one pass. Ids that nothing here has are left out; a node that is asked to send
/// what lies behind short ids begins with this.
pub fn resolve<H: Holdings>(
    holdings: &H,
    salt: u64,
    spans: &[Span],
    shorts: &[Short],
) -> Result<Vec<(Id, Mark)>, H::Error> {
    let salt = Salt::new(salt);
    let mut wanted = shorts.to_vec();
    wanted.sort_unstable();
    let mut found = Vec::new();
    for item in spans.iter().flat_map(|span| holdings.marks(*span)) {
        let (place, mark) = item?;
        if found.len() < wanted.len() && wanted.binary_search(&salt.short(mark)).is_ok() {
            found.push((place, mark));
        }
    }
    Ok(found)
}

/// The sum of everything on a span.
pub(super) fn sum_of<H: Holdings>(holdings: &H, span: Span) -> Result<Sum, H::Error> {
    let mut whole = Sum::default();
    for item in holdings.sums(span) {
        whole.join(item?.1);
    }
    Ok(whole)
}

/// A sketch of everything on the spans that belongs to the share, and the sum of it.
pub(super) fn sketch<H: Holdings>(
    holdings: &H,
    salt: &Salt,
    spans: &[Span],
    share: Share,
    indices: Range<u32>,
) -> Result<(Sketch, Sum), H::Error> {
    let (mut sketch, mut sum) = (Sketch::new(indices), Sum::default());
    for item in spans.iter().flat_map(|span| holdings.marks(*span)) {
        let (_, mark) = item?;
        let short = salt.short(mark);
        if share.contains(short) {
            sketch.add(salt, short);
            sum.add(mark);
        }
    }
    Ok((sketch, sum))
}

fn opened<E>(spans: &Spans) -> Result<Vec<Span>, Error<E>> {
    spans.open().ok_or(Error::Peer("spans that are none"))
}

fn sound<E>(share: Share) -> Result<Share, Error<E>> {
    Some(share).filter(|share| share.is_sound()).ok_or(Error::Peer("a share that is none"))
}

fn whole<H: Holdings>(holdings: &H, salt: &Salt, span: Span, theirs: Sum) -> Result<Reply, Error<H::Error>> {
    if sum_of(holdings, span).map_err(Error::Holdings)? == theirs {
        return Ok(Reply::Same);
    }
    Ok(Reply::Cut(cut_all(holdings, salt, &[span]).map_err(Error::Holdings)?))
}

fn symbols<H: Holdings>(
    holdings: &H,
    salt: &Salt,
    spans: &[Span],
    share: Share,
    indices: Range<u32>,
) -> Result<Reply, Error<H::Error>> {
    if indices.is_empty() || indices.len() > SYMBOLS_IN_ANSWER_MAX as usize || indices.end > SYMBOLS_MAX {
        return Err(Error::Peer("asked for more symbols than there may be"));
    }
    let (sketch, sum) = sketch(holdings, salt, spans, share, indices).map_err(Error::Holdings)?;
    let digest = salt.digest(sum).to_be_bytes();
    Ok(Reply::Symbols { entries: sum.count, digest, symbols: sketch.symbols(sum.count) })
}

fn list<H: Holdings>(holdings: &H, salt: &Salt, spans: &[Span], share: Share) -> Result<Reply, Error<H::Error>> {
    let mut shorts = Vec::new();
    for item in spans.iter().flat_map(|span| holdings.marks(*span)) {
        let short = salt.short(item.map_err(Error::Holdings)?.1);
        if !share.contains(short) {
            continue;
        }
        if shorts.len() == LIST_MAX {
            return Ok(Reply::TooMany);
        }
        shorts.push(short);
    }
    Ok(Reply::List(shorts))
}

fn names<H: Holdings>(holdings: &H, salt: u64, spans: &[Span], shorts: &[Short]) -> Result<Reply, Error<H::Error>> {
    if shorts.len() > NAMES_MAX {
        return Err(Error::Peer("asked for too many names"));
    }
    let mut names: Vec<(Id, Vec<Mark>)> = Vec::new();
    for (place, mark) in resolve(holdings, salt, spans, shorts).map_err(Error::Holdings)? {
        match names.last_mut() {
            Some((last, marks)) if *last == place => marks.push(mark),
            _ => names.push((place, vec![mark])),
        }
    }
    Ok(Reply::Names(names))
}

fn holds_sums<H: Holdings>(holdings: &H, places: &[(Id, Sum)]) -> Result<Reply, Error<H::Error>> {
    check_order(places.iter().map(|(place, _)| *place), places.len())?;
    let mut held = Vec::with_capacity(places.len());
    for (place, sum) in places {
        held.push(sum_of(holdings, Span::at(*place)).map_err(Error::Holdings)? == *sum);
    }
    Ok(Reply::Held(bits(&held)))
}

fn holds_marks<H: Holdings>(holdings: &H, places: &[(Id, Vec<Mark>)]) -> Result<Reply, Error<H::Error>> {
    check_order(places.iter().map(|(place, _)| *place), places.iter().map(|(_, marks)| marks.len().max(1)).sum())?;
    let mut held = Vec::new();
    for (place, marks) in places {
        let mut sorted: Vec<_> = marks.iter().zip(held.len()..).collect();
        sorted.sort_unstable();
        held.resize(held.len() + marks.len(), false);
        for item in holdings.marks(Span::at(*place)) {
            let (_, mark) = item.map_err(Error::Holdings)?;
            let from = sorted.partition_point(|(wanted, _)| **wanted < mark);
            sorted[from..].iter().take_while(|(wanted, _)| **wanted == mark).for_each(|(_, index)| held[*index] = true);
        }
    }
    Ok(Reply::Held(bits(&held)))
}

/// Each place once: whoever could name one often could have it read as often.
fn check_order<E>(places: impl Iterator<Item = Id>, entries: usize) -> Result<(), Error<E>> {
    if entries > CONFIRMED_MAX {
        return Err(Error::Peer("asked about too many entries"));
    }
    places.is_sorted_by(|a, b| a < b).then_some(()).ok_or(Error::Peer("places out of order"))
}

fn bits(flags: &[bool]) -> Vec<u8> {
    flags.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |byte, flag| byte << 1 | u8::from(*flag))).collect()
}
