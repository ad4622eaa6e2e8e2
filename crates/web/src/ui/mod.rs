//! Pages for people: what is asked, read from the archive as a view, and rendered. Rendering is pure; reading is in `views`.
//!
//! Every page is whole without scripts: links and forms do the work, and `ui.js` only makes some of it quicker. Names of hosts, and
//! leave to change something, are checked before any route (`guard`).

mod assets;
mod calendar;
mod crawl;
mod difference;
mod forms;
mod home;
mod host;
mod icons;
mod layout;
mod parts;
mod post;
mod ring;
#[cfg(test)]
mod route_tests;
#[cfg(test)]
mod samples;
mod search;
mod show;
#[cfg(test)]
mod tests;
mod trouble;
mod versions;
mod viewer;
mod words;

pub(crate) use trouble::TroublePage;

use crate::answer::{self, Trouble};
use crate::archive::PublicAddress;
use crate::crawls::Crawls;
use crate::guard::Trust;
use crate::origin::UiSeat;
use crate::site::Site;
use crate::views::{self, ReadAs, Version};
use crate::wayback::{full_url, moment};
use axum::Router;
use axum::extract::{FromRequestParts, Path, RawQuery, State};
use axum::response::Response;
use axum::routing::{get, post};
use difference::{Around, Look};
use herodotus_base::Timestamp;
use http::request::Parts;
use http::{StatusCode, Uri};
use std::sync::Arc;

pub(crate) fn router() -> Router<Site> {
    Router::new()
        .route("/", get(home))
        .route("/search", get(search))
        .route("/go", get(go))
        .route("/web/{*rest}", get(show::answer))
        .route("/diff", get(difference))
        .route("/host/{host}", get(host))
        .route("/host/{host}/{*path}", get(host))
        .route("/crawls", get(crawls).post(post::start))
        .route("/crawls/{name}", get(crawl))
        .route("/crawls/{name}/stop", post(post::stop))
        .route("/ring", get(ring::answer))
        .route("/ring/health", get(ring::health))
        .route("/ring/people", get(ring::people))
        .merge(assets::router())
        .fallback(nowhere)
}

/// A page, or why there is none, said as a page.
type Answer = Result<Response, TroublePage>;

/// Who reads, as far as pages differ by it.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    seat: UiSeat,
    /// Whether crawls can be started here at all.
    can_crawl: bool,
    /// Whether a form must ask for the archive's token: whoever sits at this machine needs none.
    needs_token: bool,
    /// Whether this machine belongs to a ring.
    has_ring: bool,
}

impl FromRequestParts<Site> for Reader {
    type Rejection = TroublePage;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, TroublePage> {
        let unguarded = || TroublePage(Trouble::Ours("a page was asked for past its guard".to_owned()));
        let seat = parts.extensions.get::<UiSeat>().cloned().ok_or_else(unguarded)?;
        let trust = parts.extensions.get::<Trust>().ok_or_else(unguarded)?;
        let (can_crawl, has_ring) = (site.crawls().is_some(), site.peers().is_some());
        Ok(Self { seat, can_crawl, needs_token: !trust.is_local, has_ring })
    }
}

/// What a query or a form says, by name. Of names that come twice the first counts.
struct Query(Vec<(String, String)>);

impl Query {
    fn of(raw: Option<String>) -> Self {
        let raw = raw.unwrap_or_default();
        let pair = |field: &str| {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            (words::decoded(name), words::decoded(value))
        };
        Self(raw.split('&').map(pair).collect())
    }

    /// What was given under a name, unless that is nothing.
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }
}

async fn nowhere(uri: Uri) -> Response {
    trouble::no_such_page(uri.path())
}

async fn home(State(site): State<Site>, reader: Reader) -> Answer {
    let home = site.blocking(views::home).await?;
    Ok(home::page(&home, &reader, Timestamp::now()))
}

async fn search(State(site): State<Site>, reader: Reader, RawQuery(query): RawQuery) -> Answer {
    let query = Query::of(query);
    let Some(words) = query.get("q").map(str::to_owned) else {
        return Ok(answer::redirect(StatusCode::SEE_OTHER, "/"));
    };
    let from = query.get("from").map(str::to_owned);
    let found = site.blocking(move |site| views::search(site, &words, from.as_deref())).await?;
    // Whoever types an address wants to see it, not a list of one; and of one that is not here, the page that helps.
    let exact = found.found.first().filter(|_| found.exact).map(|only| only.url.clone());
    if found.read_as == ReadAs::Url
        && let Some(url) = exact.or_else(|| full_url(&found.query))
    {
        return Ok(answer::redirect(StatusCode::SEE_OTHER, &words::calendar(&url)));
    }
    Ok(search::page(&found, &reader))
}

/// The viewer's address box: another address, at the same date.
async fn go(RawQuery(query): RawQuery) -> Answer {
    let query = Query::of(query);
    let url = query.get("url").and_then(full_url);
    let Some(url) = url else { return Err(Trouble::Asked("no address was given".to_owned()).into()) };
    let at = query.get("at").filter(|at| at.bytes().all(|b| b.is_ascii_digit())).and_then(moment);
    let path = match at {
        Some(time) => words::viewer(&time.digits14(), &url),
        None => words::calendar(&url),
    };
    Ok(answer::redirect(StatusCode::SEE_OTHER, &path))
}

/// The answer that sends whoever asks for a URL to the machine that holds it, if that is how it is done in this ring.
pub(crate) async fn sent(site: &Site, url: &str, target: &str) -> Result<Option<Response>, Trouble> {
    let address = site.redirect(url).await?;
    let to = |address: PublicAddress| format!("{}{target}", address.pages.trim_end_matches('/'));
    Ok(address.map(|address| answer::redirect(StatusCode::FOUND, &to(address))))
}

async fn difference(State(site): State<Site>, reader: Reader, uri: Uri) -> Answer {
    let query = Query::of(uri.query().map(str::to_owned));
    let Some(url) = query.get("url").and_then(full_url) else {
        return Err(Trouble::Asked("name a page to compare: /diff?url=https://example.org/".to_owned()).into());
    };
    if let Some(sent) = sent(&site, &url, uri.path_and_query().map_or("/", |target| target.as_str())).await? {
        return Ok(sent);
    }
    let (from, to) = (query.get("from").map(str::to_owned), query.get("to").map(str::to_owned));
    let look = query.get("view").and_then(Look::parse).unwrap_or_default();
    let compare = move |site: &Site| {
        let difference = views::difference(site, &url, from.as_deref(), to.as_deref())?;
        // Ways on to the next change are a comfort: without them there is still this one.
        let facts = |version: &Version| views::facts(site, &version.url, Some(&version.stamp)).ok();
        let earlier = facts(&difference.from).and_then(|facts| facts.earlier);
        let later = facts(&difference.to).and_then(|facts| facts.later);
        Ok((difference, Around { earlier, later }))
    };
    let (difference, around) = site.blocking(compare).await?;
    Ok(difference::page(&difference, &around, look, &reader))
}

async fn host(State(site): State<Site>, reader: Reader, uri: Uri, Path(path): Path<Vec<(String, String)>>) -> Answer {
    let host = path.iter().find(|(name, _)| name == "host").map(|(_, host)| host.clone()).unwrap_or_default();
    let path = host::path_of(uri.path());
    let from = Query::of(uri.query().map(str::to_owned)).get("from").map(str::to_owned);
    let host = site.blocking(move |site| views::host(site, &host, &path, from.as_deref())).await?;
    Ok(host::page(&host, &reader))
}

async fn crawls(State(site): State<Site>, reader: Reader) -> Answer {
    let list = match site.crawls().cloned() {
        Some(crawls) => site.blocking(move |_| crawls.list().map_err(refused)).await?,
        None => Vec::new(),
    };
    Ok(crawl::list_page(&list, &reader, Timestamp::now()))
}

async fn crawl(State(site): State<Site>, reader: Reader, Path(name): Path<String>) -> Answer {
    let crawls = runner(&site)?;
    let view = site.blocking({
        let name = name.clone();
        move |_| crawls.get(&name).map_err(refused)
    });
    let Some(view) = view.await? else {
        return Err(Trouble::NotFound(format!("there is no crawl named {name}")).into());
    };
    Ok(crawl::page(&view, &reader, Timestamp::now()))
}

/// Whoever runs crawls; an archive that is only looked at has nobody.
fn runner(site: &Site) -> Result<Arc<dyn Crawls>, Trouble> {
    let nobody = || Trouble::NotFound("this archive is only being looked at: no crawl runs from here".to_owned());
    site.crawls().cloned().ok_or_else(nobody)
}

fn refused(refused: crate::crawls::Refused) -> Trouble {
    Trouble::Asked(refused.0)
}
