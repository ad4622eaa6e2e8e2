//! How a line is written: CDXJ, JSON or text, as pywb writes them.

use super::field::{Field, Line};
use std::fmt::Write;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// Key, time, and the rest as JSON.
    #[default]
    Cdxj,
    /// A JSON object per line.
    Json,
    /// Values with a blank between, `-` for those that are not there.
    Text,
}

/// Fields that were asked for, by the names that they were asked by.
pub(crate) type Fields = [(String, Field)];

impl Output {
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "cdxj" => Self::Cdxj,
            "json" => Self::Json,
            "text" => Self::Text,
            _ => return None,
        })
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Cdxj => "text/x-cdxj",
            Self::Json => "text/x-ndjson",
            Self::Text => "text/plain; charset=utf-8",
        }
    }

    pub(crate) fn put(self, line: &Line<'_>, fields: Option<&Fields>, out: &mut String) {
        match self {
            Self::Cdxj => put_cdxj(line, fields, out),
            Self::Json => put_json(line, fields, 0, out),
            Self::Text => put_text(line, fields, out),
        }
        out.push('\n');
    }

    /// Where to go on: after an empty line, as OpenWayback does; to readers of JSON, as JSON.
    pub(crate) fn put_resume_key(self, key: &str, out: &mut String) {
        let _ = match self {
            Self::Json => writeln!(out, "{{\"resumeKey\": \"{key}\"}}"),
            Self::Cdxj | Self::Text => write!(out, "\n{key}\n"),
        };
    }
}

pub(crate) fn put_cdxj(line: &Line<'_>, fields: Option<&Fields>, out: &mut String) {
    for field in [Field::UrlKey, Field::Timestamp] {
        line.put(field, out);
        out.push(' ');
    }
    put_json(line, fields, 2, out);
}

/// `skip`: how many of the fields stand before the JSON already.
fn put_json(line: &Line<'_>, fields: Option<&Fields>, skip: usize, out: &mut String) {
    out.push('{');
    let mut pairs = Pairs { line, out, is_first: true };
    match fields {
        Some(fields) => {
            let before = Field::ALL.get(..skip).unwrap_or_default();
            let wanted = fields.iter().filter(|(_, field)| before.iter().all(|(_, known)| known != field));
            wanted.for_each(|(name, field)| pairs.put(name, *field));
        }
        None => {
            Field::ALL.iter().skip(skip).for_each(|(name, field)| pairs.put(name, *field));
            if line.original.is_some() {
                Field::ORIGINAL.iter().for_each(|(name, field)| pairs.put(name, *field));
            }
        }
    }
    out.push('}');
}

struct Pairs<'a> {
    line: &'a Line<'a>,
    out: &'a mut String,
    is_first: bool,
}

impl Pairs<'_> {
    fn put(&mut self, name: &str, field: Field) {
        let before = self.out.len();
        self.out.push_str(if self.is_first { "\"" } else { ", \"" });
        self.out.push_str(name);
        self.out.push_str("\": \"");
        let start = self.out.len();
        if !self.line.put(field, self.out) {
            self.out.truncate(before);
            return;
        }
        escape_from(self.out, start);
        self.out.push('"');
        self.is_first = false;
    }
}

/// Makes what was appended from `start` on the inside of a JSON string in ASCII. Nearly every value is one already.
fn escape_from(out: &mut String, start: usize) {
    let value = out.get(start..).unwrap_or_default();
    if value.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        return;
    }
    let value = value.to_owned();
    out.truncate(start);
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
}

fn put_text(line: &Line<'_>, fields: Option<&Fields>, out: &mut String) {
    let mut put = |nth: usize, field: Field| {
        if nth > 0 {
            out.push(' ');
        }
        let start = out.len();
        if !line.put(field, out) {
            out.push('-');
        }
        // A value is one word, whatever a site said its media type was.
        if out.get(start..).is_some_and(|value| value.contains(|c: char| c.is_whitespace() || c.is_control())) {
            let word: String =
                out.drain(start..).map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect();
            out.push_str(&word);
        }
    };
    match fields {
        Some(fields) => fields.iter().enumerate().for_each(|(nth, (_, field))| put(nth, *field)),
        None => {
            let known = Field::ALL.iter().take(Field::IN_TEXT).enumerate();
            known.for_each(|(nth, (_, field))| put(nth, *field));
        }
    }
}
