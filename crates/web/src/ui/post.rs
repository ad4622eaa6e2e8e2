//! What forms ask for: a crawl to begin, go on or stop. Answered by the page of the crawl, so that reloading it does nothing again.

use super::{Answer, Query, refused, runner, words};
use crate::answer::{self, Trouble};
use crate::crawls::{CrawlAsk, Scope};
use crate::site::Site;
use axum::extract::{Path, State};
use herodotus_base::Sha256;
use herodotus_page::WebUrl;
use http::StatusCode;

/// Seeds in one form. More belong in a file, for the command.
const SEEDS_MAX: usize = 1000;

pub(super) async fn start(State(site): State<Site>, form: String) -> Answer {
    let crawls = runner(&site)?;
    let ask = ask(&Query::of(Some(form)))?;
    let name = site.blocking(move |_| crawls.start(ask).map_err(refused)).await?;
    Ok(answer::redirect(StatusCode::SEE_OTHER, &words::crawl(&name)))
}

pub(super) async fn stop(State(site): State<Site>, Path(name): Path<String>) -> Answer {
    let crawls = runner(&site)?;
    let page = words::crawl(&name);
    // One that has just ended by itself is as stopped as was wished.
    let _was_running = site.blocking(move |_| crawls.stop(&name).map_err(refused)).await?;
    Ok(answer::redirect(StatusCode::SEE_OTHER, &page))
}

fn ask(form: &Query) -> Result<CrawlAsk, Trouble> {
    let seeds = seeds(form.get("seeds").unwrap_or_default())?;
    let mut name = form.get("name").unwrap_or_default().to_owned();
    if seeds.is_empty() && name.is_empty() {
        return Err(Trouble::Asked("name an address to begin with, such as https://example.org".to_owned()));
    }
    let scope = form.get("scope").map_or(Some(Scope::default()), scope);
    let Some(scope) = scope else { return Err(Trouble::Asked("there is no such scope".to_owned())) };
    if let (true, Scope::Page, [seed]) = (name.is_empty(), scope, seeds.as_slice()) {
        name = name_of_page(seed);
    }
    let depth = number(form.get("depth"), "links deep")?;
    let limit = number(form.get("limit"), "pages")?;
    let seeds = seeds.iter().map(|seed| seed.as_str().to_owned()).collect();
    let together = form.get("together").is_some();
    Ok(CrawlAsk { name, seeds, scope, depth, limit, together })
}

/// A page alone is a crawl of its own: under the name of its host it would take the place of the crawl of the whole site.
fn name_of_page(seed: &WebUrl) -> String {
    let host: String = seed
        .host()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' })
        .take(80)
        .collect();
    let hash = Sha256::of(seed.as_str().as_bytes());
    let short: String = hash.0.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-page-{short}", host.trim_start_matches('.'))
}

fn seeds(text: &str) -> Result<Vec<WebUrl>, Trouble> {
    let mut seeds = Vec::new();
    for word in text.split_whitespace() {
        if seeds.len() == SEEDS_MAX {
            return Err(Trouble::Asked(format!(
                "more than {SEEDS_MAX} addresses: give them to `herodotus crawl` in a file"
            )));
        }
        let seed = WebUrl::parse(&with_scheme(word)).map_err(|error| {
            let shown: String = word.chars().take(100).collect();
            Trouble::Asked(format!("`{shown}` is not an address to begin with: {error}"))
        })?;
        seeds.push(seed);
    }
    Ok(seeds)
}

/// Sites speak https, unless they are on this machine, in this house, or at a port.
fn with_scheme(word: &str) -> String {
    if word.contains("://") {
        return word.to_owned();
    }
    let host = word.split(['/', '?', '#']).next().unwrap_or(word);
    let is_plain = host.contains(':') || !host.contains('.') || host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    format!("{}://{word}", if is_plain { "http" } else { "https" })
}

fn scope(name: &str) -> Option<Scope> {
    Some(match name {
        "page" => Scope::Page,
        "prefix" => Scope::Prefix,
        "host" => Scope::Host,
        "domain" => Scope::Domain,
        "any" => Scope::Any,
        _ => return None,
    })
}

fn number<T: std::str::FromStr>(text: Option<&str>, what: &str) -> Result<Option<T>, Trouble> {
    match text.map(str::parse) {
        None => Ok(None),
        Some(Ok(number)) => Ok(Some(number)),
        Some(Err(_)) => Err(Trouble::Asked(format!("the number of {what} is not a number that can be used"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(form: &str) -> Result<CrawlAsk, Trouble> {
        ask(&Query::of(Some(form.to_owned())))
    }

    #[test]
    fn a_form_says_what_to_crawl() {
        let got =
            asked("seeds=example.org+http%3A%2F%2Flocalhost%3A80%2Fa&scope=prefix&depth=3&limit=&token=x").unwrap();
        assert_eq!(got.seeds, ["https://example.org/", "http://localhost/a"]);
        assert_eq!((got.scope, got.depth, got.limit, got.name.as_str()), (Scope::Prefix, Some(3), None, ""));
        let again = asked("name=docs&scope=host&limit=10").unwrap();
        assert_eq!((again.name.as_str(), again.seeds.len(), again.limit), ("docs", 0, Some(10)));
    }

    #[test]
    fn a_page_alone_does_not_take_the_name_of_its_site() {
        let one = asked("seeds=http%3A%2F%2Fexample.org%2Fa&scope=page").unwrap();
        let other = asked("seeds=http%3A%2F%2Fexample.org%2Fb&scope=page").unwrap();
        assert!(one.name.starts_with("example.org-page-"), "{}", one.name);
        assert_ne!(one.name, other.name);
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        for form in [
            "",
            "seeds=",
            "seeds=ftp%3A%2F%2Fx",
            "seeds=example.org&scope=moon",
            "seeds=example.org&depth=-1",
            "seeds=%FF",
        ] {
            assert!(matches!(asked(form), Err(Trouble::Asked(_))), "{form}");
        }
        let many = format!("seeds={}", "example.org+".repeat(SEEDS_MAX + 1));
        assert!(matches!(asked(&many), Err(Trouble::Asked(_))));
    }

    #[test]
    fn sites_speak_https_unless_they_are_near() {
        for (word, url) in [
            ("example.org/a", "https://example.org/a"),
            ("localhost", "http://localhost"),
            ("localhost:8080/x", "http://localhost:8080/x"),
            ("192.168.1.5", "http://192.168.1.5"),
            ("http://example.org", "http://example.org"),
        ] {
            assert_eq!(with_scheme(word), url);
        }
    }
}
