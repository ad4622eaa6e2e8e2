//! Every page of ours on data worth looking at: a museum's site through seven years, in a scratch archive, a crawl that seems to run,
//! and a ring of 24 nodes that seems to live (`GALLERY_RING=5000`: of so many; `GALLERY_RING=0`: none).
//!
//! `cargo run -p herodotus-web --example gallery [UI PORT] [REPLAY PORT]`, then open what it prints. Nothing is kept.

#[path = "gallery/ring.rs"]
mod ring;

use herodotus_base::Timestamp;
use herodotus_catalogue::Catalogue;
use herodotus_store::{Body, Capture, Kind, Record, Store};
use herodotus_web::{
    Bound, CrawlAsk, CrawlEvent, CrawlHost, CrawlState, CrawlView, Crawls, Hosts, Options, Refused, Scope, Site, Token,
};
use ring::PretendedRing;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

const HOST: &str = "https://museum.example";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut ports = std::env::args().skip(1).map(|port| port.parse::<u16>());
    let (ui, replay) = (ports.next().unwrap_or(Ok(8480))?, ports.next().unwrap_or(Ok(8481))?);
    let dir = tempfile::tempdir()?;
    let (store, _) = Store::open(dir.path())?;
    if std::env::var_os("GALLERY_EMPTY").is_none() {
        fill(&store)?;
    }
    let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let bound = Bound::bind(&Options { ui: address(ui), replay: address(replay) }).await?;
    let hosts = Hosts {
        ui_port: bound.ui_address()?.port(),
        replay_port: bound.replay_address()?.port(),
        ui_url: None,
        replay_url: None,
    };
    println!("http://127.0.0.1:{}/", hosts.ui_port);
    let crawls: Arc<dyn Crawls> = Arc::new(Pretence::begin());
    let catalogue = Catalogue::open(&dir.path().join("catalogue"))?;
    catalogue.catch_up(&store, usize::MAX, &AtomicBool::new(false))?;
    let mut site = Site::new(store, dir.path(), Some(crawls), Arc::new(catalogue), hosts, Token::of(dir.path())?);
    let size: usize = std::env::var("GALLERY_RING").map_or(Ok(24), |size| size.parse())?;
    if size > 1 {
        site = site.with_peers(Arc::new(PretendedRing::begin(size)));
    }
    let stop = async {
        // Without a signal to wait for there is nothing better than to go on.
        let _ = tokio::signal::ctrl_c().await;
    };
    bound.serve(site, stop).await;
    Ok(())
}

/// Seven years of a few pages, some of which change often, some never, and one that is gone for a while.
fn fill(store: &Store) -> Result<(), Box<dyn Error>> {
    for round in 0..220_i64 {
        // Denser towards the present; the last few of them today.
        let age_ms = (219 - round).pow(2) * 4_700_000 + (219 - round) * 1_000;
        let time = Timestamp::from_millis_clamped(Timestamp::now().millis() - age_ms - 60_000);
        let (status, page) =
            if (140..146).contains(&round) { ("503 Service Unavailable", closed()) } else { ("200 OK", front(round)) };
        append(store, "/", time, status, "text/html", page.into_bytes())?;
        if round % 12 == 0 {
            append(store, "/style.css", time, "200 OK", "text/css", STYLE.as_bytes().to_vec())?;
            for hall in ["ceramics", "coins", "maps", "textiles"] {
                append(
                    store,
                    &format!("/halls/{hall}/"),
                    time,
                    "200 OK",
                    "text/html",
                    hall_page(hall, round).into_bytes(),
                )?;
            }
        }
        if round % 40 == 3 {
            append(store, "/visit/hours", time, "200 OK", "text/html", hours(round).into_bytes())?;
            append(store, "/visit/", time, "301 Moved\r\nLocation: /visit/hours", "text/html", Vec::new())?;
            append(store, "/plan.svg", time, "200 OK", "image/svg+xml", PLAN.as_bytes().to_vec())?;
        }
    }
    // The catalogue reads what is sealed.
    store.seal()?;
    Ok(())
}

fn append(
    store: &Store,
    path: &str,
    time: Timestamp,
    status: &str,
    media: &str,
    body: Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    let url = format!("{HOST}{path}");
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {media}; charset=utf-8\r\nContent-Length: {}\r\n\r\n", body.len());
    let main = Record::new(Kind::Response, &url, time, head.into_bytes(), Body::new(body));
    store.append(Capture { url, time, main, companions: Vec::new() })?;
    Ok(())
}

const SHOWS: [&str; 5] =
    ["Ships on clay", "The weavers of Ionia", "Coins that lie", "A map without a north", "What the divers found"];

fn whole(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><link rel=stylesheet href=/style.css>\
         <header><a href=/>Museum of the Harbour</a><nav><a href=/visit/hours>Visit</a> <a href=/halls/ceramics/>Ceramics</a> \
         <a href=/halls/coins/>Coins</a> <a href=/halls/maps/>Maps</a></nav></header><main>{body}</main>"
    )
}

fn front(round: i64) -> String {
    let show = SHOWS[usize::try_from(round / 9).unwrap_or(0) % SHOWS.len()];
    let until = ["spring", "summer", "autumn", "winter"][usize::try_from(round / 20).unwrap_or(0) % 4];
    let visitors = 1200 + round / 3 * 17;
    let news: String = (0..6)
        .map(|n| format!("<li>Object {} of the collection has been photographed.</li>", round / 5 * 3 + n))
        .collect();
    whole(
        "Museum of the Harbour",
        &format!(
            "<h1>{show}</h1><p>On show until the end of {until}, in the great hall by the water.</p>\
             <p>{visitors} guests came last week. Children under twelve are our guests too.</p><h2>From the collection</h2>\
             <ul>{news}</ul><p>The museum lies by the harbour, ten minutes on foot from the station.</p>"
        ),
    )
}

fn closed() -> String {
    whole("Back soon", "<h1>Back soon</h1><p>The site is being moved to a new building.</p>")
}

fn hall_page(hall: &str, round: i64) -> String {
    whole(
        &format!("Hall of {hall}"),
        &format!(
            "<h1>Hall of {hall}</h1><p>{} objects in {} cases.</p><p>Please do not lean on the glass.</p>",
            300 + round,
            12 + round / 50
        ),
    )
}

fn hours(round: i64) -> String {
    let (open, close) = if round < 120 { ("nine", "five") } else { ("ten", "six") };
    whole(
        "Opening hours and how to find us",
        &format!(
            "<h1>Opening hours</h1><p>Open every day from {open} to {close}, except on Mondays.</p><p>Take tram 4 to the harbour.</p>"
        ),
    )
}

const STYLE: &str = "body{margin:0;font:18px/1.6 Georgia,serif;color:#123}header{display:flex;justify-content:space-between;padding:1.5rem 3rem;\
    background:#0d3b52}header a{color:#fff;text-decoration:none;margin-right:1.5rem}main{max-width:44rem;margin:3rem auto;padding:0 1rem}h1{font-size:3rem}";

const PLAN: &str = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 200 100'><rect width='200' height='100' fill='#d8e6ea'/></svg>";

/// Crawls that only seem to run: numbers grow with the clock.
#[derive(Debug)]
struct Pretence {
    began: Instant,
    asked: Mutex<Vec<CrawlView>>,
    changed: watch::Sender<u64>,
}

impl Pretence {
    fn begin() -> Self {
        let changed = watch::Sender::new(0);
        let ticker = changed.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                ticker.send_modify(|n| *n += 1);
            }
        });
        let over = [
            ("harbour-blog.example", CrawlState::Complete),
            ("archive.test", CrawlState::Stopped),
            ("slow.test", CrawlState::Failed),
        ];
        let asked = over.map(|(name, state)| view(name, state, 40 + name.len() as u64 * 90)).to_vec();
        Self { began: Instant::now(), asked: Mutex::new(asked), changed }
    }
}

impl Crawls for Pretence {
    fn list(&self) -> Result<Vec<CrawlView>, Refused> {
        let mut list = vec![view("museum.example", CrawlState::Running, 300 + self.began.elapsed().as_secs())];
        list.extend(self.asked.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
        Ok(list)
    }

    fn get(&self, name: &str) -> Result<Option<CrawlView>, Refused> {
        Ok(self.list()?.into_iter().find(|view| view.name == name))
    }

    fn start(&self, ask: CrawlAsk) -> Result<String, Refused> {
        let seed = ask.seeds.first().cloned().unwrap_or_default();
        let host = seed.split('/').nth(2).unwrap_or(&ask.name).to_owned();
        let name = if ask.name.is_empty() { host } else { ask.name };
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|view| view.name != name);
        asked.push(view(&name, CrawlState::Running, 1));
        Ok(name)
    }

    fn stop(&self, name: &str) -> Result<bool, Refused> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let found = asked.iter_mut().find(|view| view.name == name);
        Ok(found.map(|view| view.state = CrawlState::Stopping).is_some())
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

fn view(name: &str, state: CrawlState, seconds: u64) -> CrawlView {
    let is_over = state == CrawlState::Complete;
    let fetched = seconds * 3;
    let now = Timestamp::now().millis();
    let event = |at: u64| {
        let (what, detail) = match (fetched - at.min(fetched)) % 9 {
            0 | 5 => ("changed", "200 text/html"),
            3 => ("failed", "timeout: no answer for 30 s, to be tried again"),
            1 | 7 => ("unchanged", "304"),
            8 => ("skipped", "robots.txt"),
            _ => ("new", "200 text/html"),
        };
        CrawlEvent {
            time: Timestamp::from_millis_clamped(now - i64::try_from(at).unwrap_or(0) * 333).rfc3339(),
            url: format!("https://{name}/halls/ceramics/object-{}", fetched - at.min(fetched)),
            what: what.to_owned(),
            detail: detail.to_owned(),
            bytes: if what == "failed" || what == "skipped" { 0 } else { 9000 + at * 731 },
        }
    };
    CrawlView {
        name: name.to_owned(),
        state,
        seeds: vec![format!("https://{name}/")],
        scope: Scope::Host,
        depth: None,
        limit: (name == "archive.test").then_some(5000),
        round: 2,
        began: Some(Timestamp::from_millis_clamped(now - i64::try_from(seconds).unwrap_or(0) * 1000).rfc3339()),
        seconds,
        urls: 6200,
        waiting: if is_over { 0 } else { 6200_u64.saturating_sub(fetched) },
        in_flight: if is_over { 0 } else { 4 },
        hosts: 3,
        fetched,
        new: fetched / 2,
        changed: fetched / 5,
        unchanged: fetched - fetched / 2 - fetched / 5,
        failed: fetched / 90,
        bytes: fetched * 21_400,
        statuses: [("200", fetched), ("301", fetched / 20), ("404", fetched / 33)]
            .map(|(name, n)| (name.to_owned(), n))
            .into(),
        media: [("text/html", fetched / 2), ("image/jpeg", fetched / 3), ("text/css", 4)]
            .map(|(name, n)| (name.to_owned(), n))
            .into(),
        failures: [("timeout".to_owned(), (fetched / 90, format!("https://{name}/shop/basket")))].into(),
        skipped: [("robots.txt".to_owned(), (31, format!("https://{name}/admin/")))].into(),
        machines: Vec::new(),
        busiest: [(name.to_owned(), fetched, 2), (format!("pictures.{name}"), fetched / 4, 0)]
            .map(|(name, fetched, failed)| CrawlHost {
                name,
                fetched,
                failed,
                bytes: fetched * 21_400,
                waiting: fetched / 7,
            })
            .to_vec(),
        events: (0..14).map(event).collect(),
        note: None,
        trouble: (state == CrawlState::Failed)
            .then(|| "the disk is full: the crawl could not go on (it will where it was)".to_owned()),
    }
}
