//! Sites of pages that a test names itself, on one address of the loop: whatever host is asked for.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A page: links, or where it redirects to.
#[derive(Clone, Debug)]
pub(crate) enum Page {
    Links(Vec<String>),
    Redirect(String),
}

pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Site {
    /// Pages by URL. What is not among them is not there.
    pub(crate) fn start(pages: BTreeMap<String, Page>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, pages) = (listener.local_addr().unwrap(), Arc::new(pages));
        let asked = Arc::<Mutex<Vec<_>>>::default();
        let log = asked.clone();
        // Both end with the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pages, log) = (pages.clone(), log.clone());
                std::thread::spawn(move || serve(stream, &pages, &log));
            }
        });
        Self { address, asked }
    }

    /// What was asked for, and when; robots.txt aside.
    pub(crate) fn asked(&self) -> Vec<(Instant, String)> {
        let asked = self.asked.lock().unwrap().clone();
        asked.into_iter().filter(|(_, url)| !url.ends_with("/robots.txt")).collect()
    }

    /// How often each URL was asked for.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        self.asked().into_iter().for_each(|(_, url)| *counts.entry(url).or_default() += 1);
        counts
    }
}

fn serve(stream: TcpStream, pages: &BTreeMap<String, Page>, log: &Mutex<Vec<(Instant, String)>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let (mut target, mut host, mut line) = (String::new(), String::new(), String::new());
        loop {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let text = line.trim_end();
            if let Some(rest) = text.strip_prefix("GET ") {
                target = rest.split(' ').next()?.to_owned();
            }
            if text.to_ascii_lowercase().starts_with("host:") {
                host = text[5..].trim().to_owned();
            }
            if text.is_empty() {
                break;
            }
        }
        let url = format!("http://{host}{target}");
        log.lock().unwrap().push((Instant::now(), url.clone()));
        let answer = match pages.get(&url) {
            None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
            Some(Page::Redirect(to)) => {
                format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
            }
            Some(Page::Links(links)) => {
                let links: String = links.iter().map(|to| format!("<a href=\"{to}\">{to}</a>\n")).collect();
                let body = format!("<!doctype html><title>{url}</title>\n{links}");
                format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            }
        };
        stream.write_all(answer.as_bytes()).ok()?;
    }
}
