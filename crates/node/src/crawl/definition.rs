//! What a crawl is: its seeds, its settings, how it fetches. A crawl file is this in TOML, and so is what the archive keeps.

use super::{AGENT_TOKEN, Error, REQUESTS_DEFAULT, Result, Strategy};
use herodotus_fetch::{CertificateDer, Config, ConnectTo, Roots};
use herodotus_frontier::{Settings, Span};
use herodotus_page::WebUrl;
use ipnet::IpNet;
use rustls_pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A crawl, as a person writes it down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Definition {
    pub seeds: Vec<String>,
    /// Whole User-Agent header; none: ours, with the contact.
    pub user_agent: Option<String>,
    /// Mail address or URL that a server's owner can write to
    pub contact: Option<String>,
    /// Networks that may be asked although they are not public
    pub allow_private: Vec<IpNet>,
    /// `PATTERN=ADDRESS:PORT`: where hosts are dialled instead of where DNS says
    pub connect_to: Vec<String>,
    /// Requests at once, over all hosts
    pub requests: usize,
    /// Who fetches, in a crawl that a ring makes together: owner, url, host, host-over:N, redirect:THRESHOLD:TIMES, near:CANDIDATES
    #[serde(skip_serializing_if = "Strategy::is_default")]
    pub strategy: Strategy,
    pub crawl: Settings,
    pub fetch: FetchSettings,
}

/// How long and how much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FetchSettings {
    pub connect: Span,
    pub first_byte: Span,
    pub idle: Span,
    pub whole: Span,
    /// Bytes a second, once the first seconds are over
    pub rate_min: u64,
    /// Bytes of a body over the wire; what is longer is kept so far and marked as cut
    pub body_bytes: u64,
    /// Bytes of a body once its codings are undone
    pub decoded_bytes: u64,
    pub http2: bool,
    /// File with the root certificates (PEM) to believe instead of the system's
    pub roots: Option<PathBuf>,
}

impl Default for FetchSettings {
    fn default() -> Self {
        let (config, ms) = (Config::default(), |d: std::time::Duration| Span(d.as_millis() as u64));
        Self {
            connect: ms(config.deadlines.connect),
            first_byte: ms(config.deadlines.first_byte),
            idle: ms(config.deadlines.idle),
            whole: ms(config.deadlines.whole),
            rate_min: config.rate_min.bytes_per_s,
            body_bytes: config.caps.wire_bytes,
            decoded_bytes: config.caps.decoded_bytes,
            http2: config.http2,
            roots: None,
        }
    }
}

impl Default for Definition {
    fn default() -> Self {
        Self {
            seeds: Vec::new(),
            user_agent: None,
            contact: None,
            allow_private: Vec::new(),
            connect_to: Vec::new(),
            requests: REQUESTS_DEFAULT,
            strategy: Strategy::default(),
            crawl: Settings::default(),
            fetch: FetchSettings::default(),
        }
    }
}

impl Definition {
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::disk(format!("reading {}", path.display())))?;
        toml::from_str(&text).map_err(|e| Error::Asked(format!("{} is not a crawl file: {e}", path.display())))
    }

    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self).map_err(|e| Error::Asked(format!("the crawl cannot be written down: {e}")))
    }

    /// The seeds as URLs. People write `example.org`.
    pub fn seed_urls(&self) -> Result<Vec<WebUrl>> {
        self.seeds.iter().map(|text| seed_url(text)).collect()
    }

    pub fn user_agent(&self) -> String {
        if let Some(whole) = &self.user_agent {
            return whole.clone();
        }
        let version = env!("CARGO_PKG_VERSION");
        match &self.contact {
            Some(contact) => format!("Mozilla/5.0 (compatible; {AGENT_TOKEN}/{version}; +{contact})"),
            None => format!("Mozilla/5.0 (compatible; {AGENT_TOKEN}/{version})"),
        }
    }

    pub(crate) fn fetch_config(&self) -> Result<Config> {
        let mut config = Config { user_agent: self.user_agent(), ..Config::default() };
        let from = &self.fetch;
        let span = |span: Span| std::time::Duration::from_millis(span.0);
        config.deadlines.connect = span(from.connect);
        config.deadlines.first_byte = span(from.first_byte);
        config.deadlines.idle = span(from.idle);
        config.deadlines.whole = span(from.whole);
        config.rate_min.bytes_per_s = from.rate_min;
        config.caps.wire_bytes = from.body_bytes;
        config.caps.decoded_bytes = from.decoded_bytes;
        config.http2 = from.http2;
        if let Some(path) = &from.roots {
            config.roots = Roots::Only(roots(path)?);
        }
        let at_once = self.crawl.concurrency as usize;
        config.connections_per_host_idle_max = config.connections_per_host_idle_max.max(at_once);
        config.connections_idle_max = config.connections_idle_max.max(self.requests);
        config.allow_private = self.allow_private.clone();
        config.connect_to = self.connect_to.iter().map(|text| connect_to(text)).collect::<Result<_>>()?;
        Ok(config)
    }
}

fn roots(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let wrong =
        |e: rustls_pki_types::pem::Error| Error::Asked(format!("reading certificates from {}: {e}", path.display()));
    CertificateDer::pem_file_iter(path).map_err(wrong)?.map(|one| one.map_err(wrong)).collect()
}

fn seed_url(text: &str) -> Result<WebUrl> {
    let text = text.trim();
    let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    WebUrl::parse(&full).map_err(|why| Error::Asked(format!("`{text}` cannot be crawled: it {why}")))
}

fn connect_to(text: &str) -> Result<ConnectTo> {
    let wrong =
        || Error::Asked(format!("`{text}` does not say where to connect: write it as *.example=127.0.0.1:8080"));
    let (host, address) = text.split_once('=').ok_or_else(wrong)?;
    Ok(ConnectTo::new(host, address.parse().map_err(|_| wrong())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_file_is_read_and_written() {
        let text = r#"
            seeds = ["https://example.org/", "example.com"]
            contact = "archivist@example.org"
            allow_private = ["127.0.0.0/8"]
            strategy = "near:5"
            [crawl]
            scope = "domain"
            period = "12h"
            exclude = ["/private/"]
            rank = [{ pattern = "/news/", steps = -2 }]
            [crawl.traps]
            dates = 10
            [fetch]
            whole = "5m"
        "#;
        let read: Definition = toml::from_str(text).unwrap();
        assert_eq!(read.seed_urls().unwrap()[1].as_str(), "http://example.com/");
        assert_eq!(read.crawl.period, Span(43_200_000));
        assert_eq!(read.strategy, Strategy::Near { candidates: 5 });
        assert!(read.user_agent().contains("+archivist@example.org"));
        let again: Definition = toml::from_str(&read.to_toml().unwrap()).unwrap();
        assert_eq!(again, read);
    }

    #[test]
    fn a_wrong_knob_is_named() {
        let error = toml::from_str::<Definition>("[crawl]\nscop = \"host\"").unwrap_err().to_string();
        assert!(error.contains("scop"), "{error}");
    }
}
