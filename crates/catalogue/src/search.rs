//! Searching: the rarest term leads, the others are checked one by one, and a bounded number of titles is ranked.

use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::limits::{CANDIDATES_MAX, FOUND_MAX, POSTINGS_MAX, PROBE_POSTINGS_MAX, TITLES_READ_MAX};
use crate::rows::{Posting, TitleRow, posting_range};
use crate::words::{self, Term};
use herodotus_base::Timestamp;
use herodotus_store::Store;
use std::cmp::Reverse;
use std::collections::HashSet;

/// A page that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The SURT key of its URL.
    pub key: String,
    pub url: String,
    pub title: String,
    /// Of the newest capture that has this title.
    pub time: Timestamp,
}

/// How many terms are only the beginning of a word, how many words there are, how new it is.
type Rank = (usize, usize, Reverse<Timestamp>);

/// How well a title fits a question, as [`Catalogue::search`] has it: less is better, and of like ones the newer comes first.
/// `None`: it does not. For whoever puts together what several catalogues found.
pub fn rank(question: &str, title: &str) -> Option<(usize, usize)> {
    let (terms, words) = (words::of_question(question), words::of_title(title));
    let fits = !terms.is_empty() && terms.iter().all(|term| term.fits(&words));
    fits.then(|| (terms.iter().filter(|term| !words.contains(&term.text)).count(), words.len()))
}

/// Titles to be ranked.
#[derive(Debug, Default)]
struct Candidates {
    rows: Vec<(Rank, TitleRow)>,
    numbers: HashSet<u32>,
}

impl Catalogue {
    /// Pages whose title has all these words, the last of which may be half typed; each once. The more exact and the
    /// shorter title comes first, and of like ones the newer. Of very common words, only the shortest titles are looked
    /// at.
    pub fn search(&self, store: &Store, question: &str, max: usize) -> Result<Vec<Found>> {
        let max = max.min(FOUND_MAX);
        let terms = words::of_question(question);
        let mut candidates = Candidates::default();
        // Whole words first: among all that begin with the last one, it may be far behind.
        let whole: Vec<Term> = terms.iter().map(|term| Term { is_prefix: false, ..term.clone() }).collect();
        self.gather(&whole, &mut candidates)?;
        if candidates.rows.len() < max && whole != terms {
            self.gather(&terms, &mut candidates)?;
        }
        let mut candidates = candidates.rows;
        candidates.sort_by_key(|(rank, _)| *rank);
        let mut found: Vec<Found> = Vec::new();
        let mut keys = HashSet::new();
        for (_, TitleRow { id, url, title }) in candidates {
            if found.len() >= max {
                break;
            }
            if !keys.contains(&id.key) && store.entry(&id)?.is_some() {
                keys.insert(id.key.clone());
                found.push(Found { key: id.key, url, title, time: id.time });
            }
        }
        Ok(found)
    }

    /// Titles that have all terms, from a bounded look at the rarest of them.
    fn gather(&self, terms: &[Term], candidates: &mut Candidates) -> Result<()> {
        let Some(lead) = self.rarest(terms)? else { return Ok(()) };
        let mut titles_read = 0;
        for posting in self.postings(&terms[lead]).take(POSTINGS_MAX) {
            let posting = posting?;
            if candidates.rows.len() >= CANDIDATES_MAX || titles_read >= TITLES_READ_MAX {
                break;
            }
            if candidates.numbers.contains(&posting.number) || !self.has_words(posting, terms, lead)? {
                continue;
            }
            titles_read += 1;
            // A posting and its title go together, but for the moment between two looks.
            let Some(row) = self.title_row(posting.number)? else { continue };
            let words = words::of_title(&row.title);
            if terms.iter().all(|term| term.fits(&words)) {
                let inexact = terms.iter().filter(|term| !words.contains(&term.text)).count();
                candidates.numbers.insert(posting.number);
                candidates.rows.push(((inexact, words.len(), Reverse(row.id.time)), row));
            }
        }
        Ok(())
    }

    /// The term with the fewest postings, as far as they are counted. `None`: there are no terms, or one is nowhere.
    fn rarest(&self, terms: &[Term]) -> Result<Option<usize>> {
        let mut rarest = None;
        let mut fewest = usize::MAX;
        for (n, term) in terms.iter().enumerate() {
            let mut count = 0;
            for posting in self.postings(term).take(PROBE_POSTINGS_MAX.min(fewest)) {
                posting?;
                count += 1;
            }
            if count == 0 {
                return Ok(None);
            }
            if count < fewest {
                (rarest, fewest) = (Some(n), count);
            }
        }
        Ok(rarest)
    }

    fn postings(&self, term: &Term) -> impl Iterator<Item = Result<Posting>> + use<> {
        let (from, to) = posting_range(&term.text, term.is_prefix);
        let keys = self.rows.range(from..to).map(|row| row.key());
        keys.filter_map(|key| match key {
            Ok(key) => Posting::decode(&key).map(Ok),
            Err(error) => Some(Err(error.into())),
        })
    }

    /// Whether a title has the other words, as far as its postings tell without reading it.
    fn has_words(&self, posting: Posting, terms: &[Term], lead: usize) -> Result<bool> {
        for (n, term) in terms.iter().enumerate() {
            if n != lead && !term.is_prefix && !self.rows.contains_key(posting.key(&term.text))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
