//! What a crawl holds to: the folders, hosts or domains that its seeds span. Seeds that redirect bring their targets in.

use crate::settings::Scope;
use herodotus_page::WebUrl;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The scope's anchors, in the words of the scope: prefixes, hosts or domains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Anchors {
    names: BTreeSet<String>,
    /// What seeds redirect to: the same in every scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    leads: Vec<String>,
    /// So many of them were known when all that is known was last judged.
    #[serde(default, skip_serializing_if = "is_zero")]
    judged: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// More than this and links are compared with a tree of them all the same: it is the seeds that are bounded.
const REDIRECT_ANCHORS_MAX: usize = 100_000;
/// What seeds redirect to is told to all machines of a ring with the crawl's order: 1,000 URLs are some 80 KB.
const LEADS_MAX: usize = 1_000;

impl Anchors {
    /// Takes in what a seed redirects to. Whether that is news to the scope.
    pub(crate) fn add_lead(&mut self, scope: Scope, url: &WebUrl) -> bool {
        if self.leads.len() < LEADS_MAX && !self.leads.iter().any(|known| known == url.as_str()) {
            self.leads.push(url.as_str().to_owned());
        }
        self.add(scope, url)
    }

    pub(crate) fn leads(&self) -> &[String] {
        &self.leads
    }

    /// Everything is about to be judged by the leads that are known. Whether there are any by which it was not.
    pub(crate) fn judge(&mut self) -> bool {
        let before = std::mem::replace(&mut self.judged, self.leads.len());
        before != self.judged
    }

    /// The scope is another: names are of that from now on. Seeds are to be added again.
    pub(crate) fn turn_to(&mut self, scope: Scope) {
        self.names.clear();
        for url in self.leads.clone().iter().filter_map(|lead| WebUrl::parse(lead).ok()) {
            self.add(scope, &url);
        }
    }

    /// Takes in a seed. Whether it is news to the scope.
    pub(crate) fn add(&mut self, scope: Scope, seed: &WebUrl) -> bool {
        let name = match scope {
            Scope::Page | Scope::Any => return false,
            Scope::Prefix => folder(seed),
            Scope::Host => server(seed),
            Scope::Domain => domain(seed.host()).to_owned(),
        };
        self.names.len() < REDIRECT_ANCHORS_MAX && self.names.insert(name)
    }

    pub(crate) fn contain(&self, scope: Scope, url: &WebUrl) -> bool {
        match scope {
            Scope::Page => false,
            Scope::Any => true,
            Scope::Host => self.names.contains(server(url).as_str()),
            Scope::Domain => self.names.contains(domain(url.host())),
            Scope::Prefix => {
                // The longest anchor that could be a prefix sorts right before the text it is a prefix of, or is a
                // prefix of what does: walk back while there is something in common.
                let mut text = format!("{}{}", server(url), url.path());
                loop {
                    let Some(found) = self.names.range(..=text.clone()).next_back() else { return false };
                    if text.starts_with(found.as_str()) {
                        return true;
                    }
                    let common = found.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
                    let common = (0..=common).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                    if common == 0 {
                        return false;
                    }
                    text.truncate(common);
                }
            }
        }
    }
}

/// Host, and port where it is neither of the web's own: `http` and `https` are one server.
fn server(url: &WebUrl) -> String {
    match url.port() {
        80 | 443 => url.host().to_owned(),
        port => format!("{}:{port}", url.host()),
    }
}

fn folder(url: &WebUrl) -> String {
    let path = url.path();
    let end = path.rfind('/').map_or(0, |at| at + 1);
    format!("{}{}", server(url), path.get(..end).unwrap_or("/"))
}

/// The registered domain; a host that has none, such as an address, stands for itself.
pub(crate) fn domain(host: &str) -> &str {
    if host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok() {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> WebUrl {
        WebUrl::parse(text).unwrap()
    }

    #[test]
    fn a_scope_is_what_its_seeds_span() {
        let seed = url("http://www.example.co.uk/docs/start.html?x=1");
        let cases = [
            // url, prefix, host, domain
            ("http://www.example.co.uk/docs/start.html?x=1", true, true, true),
            ("https://www.example.co.uk/docs/deep/er", true, true, true),
            ("http://www.example.co.uk/docs", false, true, true),
            ("http://www.example.co.uk/other", false, true, true),
            ("http://www.example.co.uk:8080/docs/", false, false, true),
            ("http://shop.example.co.uk/docs/", false, false, true),
            ("http://other.co.uk/docs/", false, false, false),
            ("http://example.org/docs/", false, false, false),
        ];
        for (text, prefix, host, domain) in cases {
            for (scope, within) in [
                (Scope::Page, false),
                (Scope::Prefix, prefix),
                (Scope::Host, host),
                (Scope::Domain, domain),
                (Scope::Any, true),
            ] {
                let mut anchors = Anchors::default();
                anchors.add(scope, &seed);
                assert_eq!(anchors.contain(scope, &url(text)), within, "{scope:?} {text}");
            }
        }
    }

    #[test]
    fn one_of_many_prefixes_is_found() {
        let mut anchors = Anchors::default();
        for seed in ["http://a.example/", "http://b.example/x/", "http://b.example/x/y/z/", "http://b.example/xa/"] {
            anchors.add(Scope::Prefix, &url(seed));
        }
        for (text, within) in [
            ("http://b.example/x/y/w", true),
            ("http://b.example/x/y/z/1", true),
            ("http://b.example/xb/", false),
            ("http://b.example/", false),
            ("http://a.example/anything", true),
            ("http://0.example/", false),
        ] {
            assert_eq!(anchors.contain(Scope::Prefix, &url(text)), within, "{text}");
        }
    }
}
