//! Which origin is whose: by what names we may be called, where archived pages are shown, and what they may do there.
//!
//! Archived scripts are strangers to us and to each other. They run on the replay listener, and there
//! - under **a name of their own** for each archived host (`h….localhost:8481`) where browsers know such names: the browser
//!   itself then keeps their storage, cookies and windows apart; or, where no such names are to be had (an address, a name in a LAN),
//! - **sandboxed without any origin**, so that there is no storage to read and nobody to be.
//!
//! Every answer carries a policy by which the browser refuses requests to anywhere but the replay listener. That policy, and the
//! sandbox of the frame around, are the wall; rewriting is only there so that pages find what they ask for.
//!
//! Names are checked on every request: a name that somebody else's DNS points at us (rebinding) is answered with 421.

use data_encoding::BASE32_NOPAD;
use herodotus_base::Sha256;
use herodotus_page::rewrite::Mode;

/// By what names and ports browsers reach us.
#[derive(Clone, Debug)]
pub struct Hosts {
    pub ui_port: u16,
    pub replay_port: u16,
    /// How people reach the pages from elsewhere (`https://archive.example.org`), if not by address or `localhost`.
    pub ui_url: Option<String>,
    /// The same for archived content. With `*.` before the host, every archived host gets a name of its own under it.
    pub replay_url: Option<String>,
}

/// Where a request to the pages came in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UiSeat {
    /// `http://127.0.0.1:8480`
    pub(crate) origin: String,
    replay: ReplayBase,
}

/// Where a request for archived content came in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReplaySeat {
    /// The name of the archived host whose place this is; `None`: nobody's.
    pub(crate) label: Option<String>,
    pub(crate) origin: String,
    pub(crate) ui_origin: String,
    base: ReplayBase,
    ui_origins: String,
}

#[derive(Clone, Debug, PartialEq)]
struct ReplayBase {
    scheme: &'static str,
    /// `localhost:8481`
    authority: String,
    has_names: bool,
}

impl ReplayBase {
    fn origin_of(&self, archived_authority: &str) -> String {
        let Self { scheme, authority, has_names } = self;
        match has_names {
            true => format!("{scheme}://{}.{authority}", label(archived_authority)),
            false => format!("{scheme}://{authority}"),
        }
    }

    fn bare_origin(&self) -> String {
        format!("{}://{}", self.scheme, self.authority)
    }

    fn sources(&self) -> String {
        let Self { scheme, authority, has_names } = self;
        match has_names {
            true => format!("{scheme}://*.{authority}"),
            false => format!("{scheme}://{authority}"),
        }
    }
}

/// The name of an archived host: the same for http and https, nothing that it could choose.
pub(crate) fn label(archived_authority: &str) -> String {
    let hash = Sha256::of(archived_authority.to_ascii_lowercase().as_bytes());
    let text = BASE32_NOPAD.encode(hash.0.get(..10).unwrap_or_default());
    format!("h{}", text.to_ascii_lowercase())
}

fn is_label(text: &str) -> bool {
    text.len() == 17 && text.starts_with('h') && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

/// `example.org:80` into name and port. Brackets of an address stay with it.
fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.ends_with(':') && !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    }
}

fn is_address(name: &str) -> bool {
    let inner = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    inner.map_or_else(|| name.parse::<std::net::Ipv4Addr>().is_ok(), |n| n.parse::<std::net::Ipv6Addr>().is_ok())
}

/// A name that browsers take for this machine. Pages and archived content below one such name are one site for a browser,
/// which otherwise gives frames neither storage nor service workers.
pub(crate) const LOCAL_NAME: &str = "herodotus.localhost";

fn is_loopback(name: &str) -> bool {
    let inner = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
    name == "localhost" || name == LOCAL_NAME || inner.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Scheme, and the rest without a closing slash.
fn split_url(url: &str) -> (&'static str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/');
    (if url.starts_with("https:") { "https" } else { "http" }, rest)
}

impl Hosts {
    /// Where a request with this `Host` to the pages stands; `None`: that is no name of ours.
    pub(crate) fn ui(&self, host: &str) -> Option<UiSeat> {
        let host = host.to_ascii_lowercase();
        let (name, _) = split_port(&host);
        if let Some(url) = &self.ui_url {
            let (scheme, authority) = split_url(url);
            if host == authority || name == split_port(authority).0 {
                return Some(UiSeat { origin: format!("{scheme}://{authority}"), replay: self.replay_base(name) });
            }
        }
        if name != "localhost" && name != LOCAL_NAME && !is_address(name) {
            return None;
        }
        Some(UiSeat { origin: format!("http://{host}"), replay: self.replay_base(name) })
    }

    fn replay_base(&self, ui_name: &str) -> ReplayBase {
        if let Some(url) = &self.replay_url {
            let (scheme, authority) = split_url(url);
            let has_names = authority.starts_with("*.");
            return ReplayBase { scheme, authority: authority.trim_start_matches("*.").to_owned(), has_names };
        }
        let has_names = is_loopback(ui_name);
        let name = match has_names {
            true if ui_name == LOCAL_NAME => LOCAL_NAME,
            true => "localhost",
            false => ui_name,
        };
        ReplayBase { scheme: "http", authority: format!("{name}:{}", self.replay_port), has_names }
    }

    /// Where a request with this `Host` for archived content stands.
    pub(crate) fn replay(&self, host: &str) -> Option<ReplaySeat> {
        let host = host.to_ascii_lowercase();
        let (name, _) = split_port(&host);
        let own = self.replay_url.as_ref().map(|url| {
            let (scheme, authority) = split_url(url);
            (scheme, authority.trim_start_matches("*.").to_owned())
        });
        let (label, bare) = match host.split_once('.') {
            Some((first, rest)) if is_label(first) => (Some(first.to_owned()), rest.to_owned()),
            _ => (None, host.clone()),
        };
        let bare_name = split_port(&bare).0;
        let is_ours = match &own {
            Some((_, authority)) => bare == *authority || bare_name == split_port(authority).0,
            None => false,
        };
        let is_local = bare_name == "localhost" || bare_name == LOCAL_NAME || label.is_none() && is_address(name);
        if !is_ours && !is_local {
            return None;
        }
        let scheme = own.as_ref().filter(|_| is_ours).map_or("http", |(scheme, _)| scheme);
        let is_named = bare_name == LOCAL_NAME;
        let mut ui_origins = match &self.ui_url {
            Some(url) => vec![format!("{}://{}", split_url(url).0, split_url(url).1)],
            None => Vec::new(),
        };
        if is_local && is_named {
            ui_origins.push(format!("http://{LOCAL_NAME}:{}", self.ui_port));
        } else if is_local && is_loopback(bare_name) {
            ui_origins.extend(["localhost", "127.0.0.1"].map(|n| format!("http://{n}:{}", self.ui_port)));
        } else if !is_ours {
            ui_origins.push(format!("http://{name}:{}", self.ui_port));
        }
        let ui_origin = ui_origins.first().cloned().unwrap_or_default();
        let mut base = self.replay_base(if is_ours { "" } else { bare_name });
        if is_local && own.is_none() && is_loopback(bare_name) {
            let name = if is_named { LOCAL_NAME } else { "localhost" };
            base = ReplayBase { scheme: "http", authority: format!("{name}:{}", self.replay_port), has_names: true };
        }
        Some(ReplaySeat {
            origin: format!("{scheme}://{host}"),
            label,
            ui_origin,
            base,
            ui_origins: ui_origins.join(" "),
        })
    }
}

impl UiSeat {
    /// Origin of the place where an archived host's pages are shown.
    pub(crate) fn replay_origin(&self, archived_authority: &str) -> String {
        self.replay.origin_of(archived_authority)
    }

    /// Where programs ask for archived content: nobody's place.
    pub(crate) fn bare_replay_origin(&self) -> String {
        self.replay.bare_origin()
    }

    /// Sources of frames, for the policy of a page that shows archived ones.
    pub(crate) fn frame_sources(&self) -> String {
        self.replay.sources()
    }

    /// Whether each archived host has a name of its own here.
    pub(crate) fn has_names(&self) -> bool {
        self.replay.has_names
    }
}

const SANDBOX: &str = "sandbox allow-scripts allow-forms allow-modals allow-downloads allow-pointer-lock";

impl ReplaySeat {
    pub(crate) fn mode(&self) -> Mode {
        if self.label.is_some() { Mode::Names } else { Mode::Opaque }
    }

    /// Whether pages without an origin are what this place is for. Chromium lets them say nothing of where they come from, so that
    /// whoever says nothing must be taken for one of them. On this machine's own names there are none, and nobody is.
    pub(crate) fn is_for_pages_without_origin(&self) -> bool {
        let host = self.origin.split_once("://").map_or("", |(_, host)| host);
        self.label.is_none() && !is_loopback(split_port(host).0)
    }

    /// Whether a page of this archived host may run here.
    pub(crate) fn is_place_of(&self, archived_authority: &str) -> bool {
        match &self.label {
            Some(label) => *label == self::label(archived_authority),
            None => true,
        }
    }

    /// Origin of the place of an archived host, in the way that this request came.
    pub(crate) fn origin_of(&self, archived_authority: &str) -> String {
        match self.label {
            Some(_) => self.base.origin_of(archived_authority),
            None => self.origin.clone(),
        }
    }

    /// Where programs ask for archived content: nobody's place.
    pub(crate) fn bare_origin(&self) -> String {
        match self.label {
            Some(_) => self.base.bare_origin(),
            None => self.origin.clone(),
        }
    }

    /// The wall: what a browser lets an archived page do.
    pub(crate) fn policy(&self) -> String {
        let (own, same_origin) = match self.label {
            Some(_) => (format!("'self' {}", self.base.sources()), " allow-same-origin"),
            None => (format!("'self' {}", self.origin), ""),
        };
        let inline = "data: blob: 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval'";
        // A frame in a frame without an origin has an ancestor that no policy can name.
        let ancestors = match self.label {
            Some(_) => format!("frame-ancestors {own} {}; ", self.ui_origins),
            None => String::new(),
        };
        format!(
            "default-src 'self' {inline}; frame-src {own} data: blob: about:; form-action {own}; base-uri {own}; object-src 'self'; \
             worker-src 'self' blob: data:; manifest-src 'none'; webrtc 'block'; {ancestors}{SANDBOX}{same_origin}"
        )
    }

    /// For what is to be looked at and never run: original bytes.
    pub(crate) fn policy_of_originals(&self) -> String {
        format!("default-src 'none'; sandbox; frame-ancestors {}", self.ui_origins)
    }

    /// For documents that a viewer of the browser shows: nothing in them runs.
    pub(crate) fn policy_of_documents(&self) -> String {
        format!("default-src 'self' data: blob:; frame-ancestors {} {}", self.base.sources(), self.ui_origins)
    }

    /// Whether `Origin` or `Referer` names a place of archived pages of ours.
    pub(crate) fn is_replay_url(&self, url: &str) -> bool {
        let end = url.find("://").and_then(|at| url.get(at + 3..)?.find('/').map(|slash| at + 3 + slash));
        let origin = url.get(..end.unwrap_or(url.len())).unwrap_or(url);
        if origin == self.origin {
            return true;
        }
        let (scheme, authority) = split_url(origin);
        let Some((first, rest)) = authority.split_once('.') else { return false };
        scheme == self.base.scheme && self.base.has_names && is_label(first) && rest == self.base.authority
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> Hosts {
        Hosts { ui_port: 8480, replay_port: 8481, ui_url: None, replay_url: None }
    }

    #[test]
    fn on_this_machine_every_archived_host_has_a_name_of_its_own() {
        for host in ["localhost:8480", "127.0.0.1:8480", "herodotus.localhost:8480"] {
            let ui = local().ui(host).unwrap();
            assert_eq!(ui.origin, format!("http://{host}"));
            let a = ui.replay_origin("example.org");
            let below = if host.starts_with("herodotus") { ".herodotus.localhost:8481" } else { ".localhost:8481" };
            assert!(a.ends_with(below) && a != ui.replay_origin("example.com"), "{a}");
            assert_eq!(a, ui.replay_origin("EXAMPLE.org"));
            let seat = local().replay(a.strip_prefix("http://").unwrap()).unwrap();
            assert_eq!(seat.mode(), Mode::Names);
            assert!(seat.is_place_of("example.org") && !seat.is_place_of("example.com"));
            assert!(seat.policy().contains("allow-same-origin"));
            assert!(seat.policy().contains(&ui.origin), "{}", seat.policy());
            assert!(seat.is_replay_url(&format!("{}/web/2026/http://x/", ui.replay_origin("x"))));
        }
    }

    #[test]
    fn elsewhere_archived_pages_have_no_origin() {
        let ui = local().ui("192.168.1.5:8480").unwrap();
        assert_eq!(ui.replay_origin("example.org"), "http://192.168.1.5:8481");
        let seat = local().replay("192.168.1.5:8481").unwrap();
        assert_eq!(seat.mode(), Mode::Opaque);
        assert!(seat.is_for_pages_without_origin());
        assert!(!local().replay("127.0.0.1:8481").unwrap().is_for_pages_without_origin());
        assert!(!seat.policy().contains("allow-same-origin"));
        assert!(!seat.policy().contains("frame-ancestors"));
    }

    #[test]
    fn names_of_others_are_refused() {
        for host in
            ["evil.example", "evil.example:8480", "localhost.evil.example", "127.0.0.1.evil.example", "", "h.localhost"]
        {
            assert_eq!(local().ui(host), None, "{host}");
        }
        for host in
            ["evil.example:8481", "x.localhost:8481", "hshort.localhost:8481", "", "habcdefghij234567.evil.example"]
        {
            assert_eq!(local().replay(host), None, "{host}");
        }
        let seat = local().replay("127.0.0.1:8481").unwrap();
        for url in ["http://evil.example/", "http://localhost:8480/", "http://hshort.localhost:8481/", "null", ""] {
            assert!(!seat.is_replay_url(url), "{url}");
        }
    }

    #[test]
    fn behind_a_proxy_the_configured_names_count() {
        let hosts = Hosts {
            ui_url: Some("https://archive.example.org".into()),
            replay_url: Some("https://*.replay.example.org/".into()),
            ..local()
        };
        let ui = hosts.ui("archive.example.org").unwrap();
        assert_eq!(ui.origin, "https://archive.example.org");
        let place = ui.replay_origin("a.test");
        assert!(place.starts_with("https://h") && place.ends_with(".replay.example.org"), "{place}");
        let seat = hosts.replay(place.strip_prefix("https://").unwrap()).unwrap();
        assert_eq!((seat.origin.as_str(), seat.ui_origin.as_str()), (place.as_str(), "https://archive.example.org"));
        assert_eq!(seat.mode(), Mode::Names);
    }
}
