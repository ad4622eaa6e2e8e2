//! What was changed of a crawl, in words for people.

use crate::crawl::Definition;
use serde::Serialize;
use std::fmt::Display;

/// One sentence for each thing that differs; nothing where all is as it was.
pub(super) fn changes(before: &Definition, now: &Definition) -> Vec<String> {
    let (old, new) = (&before.crawl, &now.crawl);
    let mut said = Vec::new();
    let mut list = |name: &str, old: &[String], new: &[String]| {
        let without = |some: &[String], of: &[String]| -> Vec<String> {
            some.iter().filter(|one| !of.contains(one)).cloned().collect()
        };
        let (more, less) = (without(new, old), without(old, new));
        said.extend((!more.is_empty()).then(|| format!("{name}: {} more", more.join(" "))));
        said.extend((!less.is_empty()).then(|| format!("{name}: no longer {}", less.join(" "))));
    };
    list("seeds", &before.seeds, &now.seeds);
    list("include", &old.include, &new.include);
    list("exclude", &old.exclude, &new.exclude);
    let ranks = |settings: &herodotus_frontier::Settings| -> Vec<String> {
        settings.rank.iter().map(|rank| format!("{} by {}", rank.pattern, rank.steps)).collect()
    };
    list("rank", &ranks(old), &ranks(new));
    let pairs = [
        ("scope", word(&old.scope), word(&new.scope)),
        ("media", word(&old.media), word(&new.media)),
        ("depth", some(old.depth), some(new.depth)),
        ("limit of pages", some(old.limit), some(new.limit)),
        ("limit of bytes", some(old.limit_bytes), some(new.limit_bytes)),
        ("limit of time", some(old.limit_time), some(new.limit_time)),
        ("delay", old.delay.to_string(), new.delay.to_string()),
        ("requests at once to a host", old.concurrency.to_string(), new.concurrency.to_string()),
        ("requests at once", before.requests.to_string(), now.requests.to_string()),
        ("rounds", old.rounds.to_string(), new.rounds.to_string()),
        ("period", old.period.to_string(), new.period.to_string()),
        ("strategy", before.strategy.to_string(), now.strategy.to_string()),
        ("robots.txt ignored", old.ignore_robots.to_string(), new.ignore_robots.to_string()),
    ];
    let differ = pairs.into_iter().filter(|(_, old, new)| old != new);
    said.extend(differ.map(|(name, old, new)| format!("{name}: {new} (was {old})")));
    if said.is_empty() && before != now {
        said.push("how it fetches".to_owned());
    }
    said
}

fn some(value: Option<impl Display>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

/// As a crawl file has it.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use herodotus_frontier::{Rank, Scope};

    #[test]
    fn every_change_is_said_and_nothing_else() {
        let before = Definition { seeds: vec!["a.example".into()], ..Definition::default() };
        assert!(changes(&before, &before).is_empty());
        let mut now = before.clone();
        now.seeds.push("b.example".into());
        now.crawl.exclude.push("/private/".into());
        now.crawl.rank.push(Rank { pattern: "/news/".into(), steps: -3 });
        (now.crawl.scope, now.crawl.limit) = (Scope::Any, Some(50));
        let said = changes(&before, &now);
        let expected = [
            "seeds: b.example more",
            "exclude: /private/ more",
            "rank: /news/ by -3 more",
            "scope: any (was host)",
            "limit of pages: 50 (was none)",
        ];
        assert_eq!(said, expected);
        assert_eq!(changes(&now, &before)[1], "exclude: no longer /private/");
        let other = Definition { user_agent: Some("x".into()), ..before.clone() };
        assert_eq!(changes(&before, &other), ["how it fetches"]);
    }
}
