//! Lines that are too much alike: of neighbours with the same value of a field, or of its first characters, one stays.
//!
//! OpenWayback: `collapse=field` or `field:N`. pywb: `collapseTime=N` looks at the time and the status. The first of a run in the
//! order of the index stays, whichever way the index is walked.

use super::field::{Field, Line};
use herodotus_store::Entry;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    field: Field,
    /// Characters of the value that count.
    length: usize,
    with_status: bool,
}

impl Rule {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, length) = match text.split_once(':') {
            Some((name, length)) => {
                let refused =
                    || format!("Invalid value for collapse= param: {}", length.chars().take(60).collect::<String>());
                (name, length.parse().map_err(|_| refused())?)
            }
            None => (text, usize::MAX),
        };
        Ok(Self { field: Field::of(name), length, with_status: false })
    }

    pub(crate) fn of_time(length: u64) -> Self {
        Self { field: Field::Timestamp, length: usize::try_from(length).unwrap_or(usize::MAX), with_status: true }
    }

    fn token(&self, line: &Line<'_>) -> String {
        let mut token = String::new();
        line.put(self.field, &mut token);
        if let Some((end, _)) = token.char_indices().nth(self.length) {
            token.truncate(end);
        }
        if self.with_status {
            token.push(' ');
            line.put(Field::Status, &mut token);
        }
        token
    }
}

/// A rule at work.
#[derive(Debug)]
pub(crate) struct Collapse {
    rule: Rule,
    is_backwards: bool,
    /// Of the run that is going on.
    token: Option<String>,
    /// Walking backwards: the first of the run, as far as is known.
    first: Option<Entry>,
}

impl Collapse {
    pub(crate) fn new(rule: &Rule, is_backwards: bool) -> Self {
        Self { rule: rule.clone(), is_backwards, token: None, first: None }
    }

    /// Begins as if this line, which somebody has already, were the last that was let through.
    pub(crate) fn begin_after(&mut self, line: &Line<'_>) {
        // Backwards, what stays of a run is its end, so that the next line begins another.
        if !self.is_backwards {
            self.token = Some(self.rule.token(line));
        }
    }

    /// Takes the next entry; gives one that stays.
    pub(crate) fn push(&mut self, line: &Line<'_>, entry: Entry) -> Option<Entry> {
        let token = self.rule.token(line);
        let is_new = self.token.as_ref() != Some(&token);
        self.token = Some(token);
        if !self.is_backwards {
            return is_new.then_some(entry);
        }
        let before = self.first.replace(entry);
        before.filter(|_| is_new)
    }

    /// What stays of the last run.
    pub(crate) fn finish(&mut self) -> Option<Entry> {
        self.first.take()
    }
}
