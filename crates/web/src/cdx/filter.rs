//! Which lines are wanted, by the value of a field.
//!
//! pywb: `field:text` holds the text, `=field:text` is it, `~field:regex` begins with a match; `!` before any of them turns it
//! round; without a field, the whole line is meant. OpenWayback: `field:regex` matches as a whole. The two agree on every
//! plain word; where a word is also a regular expression, either way counts.

use super::field::{Field, Line};
use super::output::put_cdxj;
use crate::limits::{CDX_FILTER_BYTES_MAX, CDX_REGEX_BYTES_MAX};
use regex::{Regex, RegexBuilder};

#[derive(Debug)]
pub(crate) struct Filter {
    is_inverted: bool,
    /// `None`: the whole line.
    field: Option<Field>,
    test: Test,
}

#[derive(Debug)]
enum Test {
    Is(String),
    Contains(String, Option<Regex>),
    Begins(Regex),
}

impl Filter {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > CDX_FILTER_BYTES_MAX {
            return Err(format!("a filter may have at most {CDX_FILTER_BYTES_MAX} bytes"));
        }
        let (is_inverted, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let (kind, rest) = match rest.chars().next() {
            Some(kind @ ('=' | '~')) => (kind, &rest[1..]),
            _ => (' ', rest),
        };
        let (field, value) = match rest.split_once(':') {
            Some((field, value)) => (Some(Field::of(field)), value),
            None => (None, rest),
        };
        let test = match kind {
            '=' => Test::Is(value.to_owned()),
            '~' => {
                let regex = regex(&format!("^(?:{value})"));
                Test::Begins(regex.map_err(|error| format!("Invalid regular expression in filter={text}: {error}"))?)
            }
            _ => {
                let is_word = value.chars().all(|c| c.is_alphanumeric() || " -_/,:;=&%~@!<>\"'#".contains(c));
                // What is no regular expression is still a text to be found.
                let whole = if is_word { None } else { regex(&format!("^(?:{value})$")).ok() };
                Test::Contains(value.to_owned(), whole)
            }
        };
        Ok(Self { is_inverted, field, test })
    }

    /// Whether a line passes. `scratch` is for the value, so that it need not be made anew for every line.
    pub(crate) fn passes(&self, line: &Line<'_>, scratch: &mut String) -> bool {
        scratch.clear();
        match self.field {
            Some(field) => _ = line.put(field, scratch),
            None => put_cdxj(line, None, scratch),
        }
        let fits = match &self.test {
            Test::Is(text) => scratch == text,
            Test::Contains(text, whole) => {
                scratch.contains(text.as_str()) || whole.as_ref().is_some_and(|regex| regex.is_match(scratch))
            }
            Test::Begins(regex) => regex.is_match(scratch),
        };
        fits != self.is_inverted
    }
}

fn regex(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(CDX_REGEX_BYTES_MAX).dfa_size_limit(CDX_REGEX_BYTES_MAX).build()
}
