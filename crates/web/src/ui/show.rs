//! `/web/…` on the pages' own origin: the calendar of a URL, or a version in the viewer.

use super::viewer::{self, Shown};
use super::{Answer, Reader, versions, words};
use crate::answer::{self, Trouble};
use crate::archive::Entries;
use crate::lookup::{self, Want};
use crate::memento;
use crate::site::Site;
use crate::views;
use crate::wayback::{Ask, Modifier, PREFIX, When, authority};
use axum::extract::State;
use herodotus_base::Timestamp;
use herodotus_store::{Entry, key_of};
use http::header::LINK;
use http::{HeaderMap, StatusCode, Uri};

/// Versions looked at to say which of them one is. Of a URL with more, only how many there are is said.
const POSITION_MAX: u64 = 2000;

pub(super) async fn answer(State(site): State<Site>, reader: Reader, uri: Uri, head: HeaderMap) -> Answer {
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let rest = target.strip_prefix(PREFIX).unwrap_or_default();
    let Some(ask) = Ask::parse(rest) else {
        return Err(Trouble::Asked(format!("there is no address in this: write {PREFIX}*/https://example.org/")).into());
    };
    let content = reader.seat.bare_replay_origin();
    if ask.modifier != Modifier::None {
        // Archived content itself, which is never given out here.
        return Ok(answer::redirect(StatusCode::TEMPORARY_REDIRECT, &format!("{content}{target}")));
    }
    if let Some(sent) = super::sent(&site, &ask.url, target).await? {
        return Ok(sent);
    }
    let at = match &ask.when {
        When::All => return calendar(&site, &reader, ask.url, rest).await,
        When::At(_, time) => *time,
        When::Newest => match memento::accept_datetime(&head)? {
            Some(time) => return Ok(memento::timegate(&site, &content, &ask.url, Some(time)).await?),
            None => Timestamp::MAX,
        },
    };
    let url = ask.url.clone();
    let found = site.blocking(move |site| find(site, &url, at, &content)).await?;
    // An address of which there is nothing has a page that helps.
    let Some((mut shown, links)) = found else { return calendar(&site, &reader, ask.url, rest).await };
    let is_exact = matches!(&ask.when, When::At(digits, _) if *digits == shown.stamp);
    if !is_exact {
        let asked = at.digits14();
        if asked >= shown.stamp {
            return Ok(answer::redirect(StatusCode::FOUND, &words::viewer(&shown.stamp, &shown.url)));
        }
        // Later than was asked for. Said on this page, since a redirect would forget what was asked.
        shown.asked = Some(asked);
    }
    shown.frame =
        format!("{}{}", reader.seat.replay_origin(&authority(&shown.url)), words::viewer(&shown.stamp, &shown.url));
    let mut page = viewer::page(&shown, &reader.seat);
    page.headers_mut().insert(LINK, answer::value(&links));
    Ok(page)
}

/// `/web/2024*/…` is the calendar of a year; `/web/20240102030405*/…` also goes on with the list before that moment.
async fn calendar(site: &Site, reader: &Reader, url: String, rest: &str) -> Answer {
    let digits = rest.split_once('*').map_or("", |(digits, _)| digits);
    let is_digits = digits.bytes().all(|b| b.is_ascii_digit());
    let year = digits.get(..4).filter(|_| is_digits).and_then(|year| year.parse().ok());
    let before = (is_digits && digits.len() == 14).then(|| digits.to_owned());
    let versions = site.blocking(move |site| views::versions(site, &url, year, before.as_deref())).await?;
    Ok(versions::page(&versions, reader))
}

/// What the viewer is told, and where programs find the same (Memento's links).
fn find(site: &Site, url: &str, at: Timestamp, content: &str) -> Result<Option<(Shown, String)>, Trouble> {
    let Some(entry) = lookup::choose(site, url, at, Want::Page)? else { return Ok(None) };
    let (archive, key, time) = (site.archive(), key_of(url), entry.id.time);
    let stamp = time.digits14();
    // Stamps name seconds: others of the same second have the same address, and cannot be walked to.
    let second = time.floor_second().millis();
    let before = Timestamp::from_millis_clamped(second.saturating_sub(1));
    let after = Timestamp::from_millis_clamped(second.saturating_add(999));
    let earlier = first_capture(archive.versions_until(&key, before))?;
    let later = first_capture(archive.versions_after(&key, after))?;
    let first = first_capture(archive.versions(&key, false))?;
    let last = first_capture(archive.versions(&key, true))?;
    let count = archive.count(&key)?;
    let position = (count <= POSITION_MAX)
        .then(|| archive.versions_until(&key, time).flatten().filter(Entry::is_capture).count() as u64);
    let of = |entry: Option<Entry>| entry.map(|entry| entry.id.time.digits14());
    let links = memento::links(site, content, &entry, true)?;
    let shown = Shown {
        url: entry.url.clone(),
        // An ornament: what goes wrong on the way to it is no reason to show nothing.
        title: archive.title_of(&key),
        asked: None,
        earlier: of(earlier),
        later: of(later),
        first: of(first).unwrap_or_else(|| stamp.clone()),
        last: of(last).unwrap_or_else(|| stamp.clone()),
        position,
        count,
        frame: String::new(),
        media: entry.media.clone(),
        status: entry.status,
        stamp,
    };
    Ok(Some((shown, links)))
}

fn first_capture(mut versions: Entries<'_>) -> Result<Option<Entry>, Trouble> {
    versions.find(|entry| entry.as_ref().map_or(true, Entry::is_capture)).transpose()
}
