//! Versions as lines that a person would read, and how many of them two versions share.

use crate::answer::Trouble;
use crate::lookup::plain_bytes;
use crate::site::Site;
use herodotus_page::{decode_text, readable_lines, title};
use herodotus_store::Entry;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What there is to read in a capture.
#[derive(Debug)]
pub(super) enum Reading {
    Lines(Vec<String>),
    NotText,
    TooLarge,
}

/// Reads a capture of at most so many bytes, and says how many they were.
pub(super) fn read(site: &Site, entry: &Entry, bytes_max: usize) -> Result<(Reading, usize), Trouble> {
    let gone = || Trouble::NotFound(format!("{} of {} is no longer here", entry.url, entry.id.time));
    let entity = site.archive().entity_in_passing(&entry.id)?.ok_or_else(gone)?;
    let Some(body) = plain_bytes(&entity) else { return Ok((Reading::TooLarge, 0)) };
    if body.len() > bytes_max {
        return Ok((Reading::TooLarge, 0));
    }
    let content_type = entity.content_type.as_deref();
    let mut lines = Vec::new();
    if content_type.is_some_and(|said| said.to_ascii_lowercase().contains("html"))
        && let Some(title) = title(&decode_text(&body, content_type))
    {
        lines.push(format!("title: {title}"));
    }
    lines.extend(readable_lines(&body, content_type));
    // That is how `readable_lines` says that there is nothing to read.
    let size = format!(", {} bytes", body.len());
    let is_text = lines.len() != 1 || lines.first().is_none_or(|line| !line.ends_with(&size));
    Ok((if is_text { Reading::Lines(lines) } else { Reading::NotText }, body.len()))
}

/// Lines and how often each occurs, by their hashes: order does not count, nor does a collision in many millions.
#[derive(Debug, Default)]
pub(super) struct Bag {
    counts: HashMap<u64, u32>,
    total: u64,
}

impl Bag {
    pub(super) fn of(lines: &[String]) -> Self {
        let mut bag = Self { total: lines.len() as u64, ..Self::default() };
        for line in lines {
            let mut hasher = DefaultHasher::new();
            line.hash(&mut hasher);
            *bag.counts.entry(hasher.finish()).or_default() += 1;
        }
        bag
    }

    /// The share of both versions' lines that the other has not, 0 to 1.
    pub(super) fn share_changed(&self, other: &Self) -> f32 {
        let count = |bag: &Self, line: &u64| bag.counts.get(line).copied().unwrap_or(0);
        let here: u64 = self.counts.iter().map(|(line, n)| u64::from(n.abs_diff(count(other, line)))).sum();
        let there: u64 =
            other.counts.iter().filter(|(line, _)| count(self, line) == 0).map(|(_, n)| u64::from(*n)).sum();
        match self.total + other.total {
            0 => 0.0,
            total => (here + there) as f32 / total as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_changed_is_that_of_lines_new_or_gone() {
        let bag = |text: &str| Bag::of(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for (a, b, share) in [
            ("a b c d", "a b c d", 0.0),
            ("a b c d", "d c b a", 0.0),
            ("a b c d", "a b c x", 0.25),
            ("a a a a", "a a", 1.0 / 3.0),
            ("a b", "c d", 1.0),
        ] {
            assert_eq!(bag(a).share_changed(&bag(b)), share, "{a}, {b}");
            assert_eq!(bag(b).share_changed(&bag(a)), share, "{b}, {a}");
        }
        assert_eq!(Bag::default().share_changed(&Bag::default()), 0.0);
        assert_eq!(Bag::default().share_changed(&bag("a")), 1.0);
    }
}
