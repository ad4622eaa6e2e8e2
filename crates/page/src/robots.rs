//! robots.txt by RFC 9309, read as leniently as Google reads it: misspelt keys, forgotten colons, any line ends.
//!
//! Kept are only the rules that concern one agent. A match takes, for each rule, time linear in the lengths of the rule
//! and the address, whatever wildcards it has. Where the RFC and Google's published cases differ over percent-encoding
//! (`%62` and `b`, `%2F` and `/` in a query), a rule that forbids applies to both spellings and a rule that allows only to its own: in doubt
//! we stay out.

use crate::limits::{CRAWL_DELAY_SECONDS_MAX, ROBOTS_BYTES_MAX, ROBOTS_LINE_BYTES_MAX, ROBOTS_SITEMAPS_MAX};
use herodotus_base::limits::URL_BYTES_MAX;
use memchr::{memchr, memmem};
use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

/// What one robots.txt says to one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Robots {
    /// The longest first, and of equal ones those that allow: the first that matches decides.
    rules: Vec<Rule>,
    /// The patterns of all rules.
    text: Vec<u8>,
    crawl_delay: Option<Duration>,
    sitemaps: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// Length as written, which decides between rules.
    priority: u32,
    allows: bool,
    pattern: Range<u32>,
    /// The pattern with every needless escape undone, where that makes a difference.
    plain_pattern: Option<Range<u32>>,
}

/// What was said to us by name and to all: only one of them counts in the end.
#[derive(Debug, Default)]
struct Group {
    /// Whether each allows, and its pattern as written.
    rules: Vec<(bool, Vec<u8>)>,
    crawl_delay: Option<Duration>,
}

impl Robots {
    /// Reads at most [`ROBOTS_BYTES_MAX`]. A group that names the agent counts, else those for `*`; several are one.
    pub fn parse(bytes: &[u8], agent_token: &str) -> Self {
        let bytes = &bytes[..bytes.len().min(ROBOTS_BYTES_MAX)];
        let bytes = without_mark(bytes);
        let (mut ours, mut global) = (Group::default(), Group::default());
        let (mut is_ours, mut is_global, mut has_ours) = (false, false, false);
        let mut has_rules = false;
        let mut sitemaps = Vec::new();
        for line in bytes.split(|byte| matches!(byte, b'\n' | b'\r')) {
            let Some((key, value)) = key_and_value(&line[..line.len().min(ROBOTS_LINE_BYTES_MAX)]) else { continue };
            match key {
                Key::Agent => {
                    if has_rules {
                        (is_ours, is_global, has_rules) = (false, false, false);
                    }
                    if value.first() == Some(&b'*') && value.get(1).is_none_or(u8::is_ascii_whitespace) {
                        is_global = true;
                    } else if !agent_token.is_empty() && agent_of(value).eq_ignore_ascii_case(agent_token.as_bytes()) {
                        (is_ours, has_ours) = (true, true);
                    }
                }
                Key::Rule { allows } => {
                    if let Some(group) = group_of(is_ours, is_global, &mut ours, &mut global) {
                        has_rules = true;
                        group.add_rule(allows, value);
                    }
                }
                Key::CrawlDelay => {
                    if let Some(group) = group_of(is_ours, is_global, &mut ours, &mut global) {
                        group.crawl_delay = group.crawl_delay.max(delay_of(value));
                    }
                }
                Key::Sitemap => {
                    if sitemaps.len() < ROBOTS_SITEMAPS_MAX && !value.is_empty() && value.len() <= URL_BYTES_MAX {
                        sitemaps.push(String::from_utf8_lossy(value).into_owned());
                    }
                }
            }
        }
        let group = if has_ours { ours } else { global };
        let mut robots = Self { crawl_delay: group.crawl_delay, sitemaps, ..Self::default() };
        group.rules.iter().for_each(|(allows, pattern)| robots.add_rule(*allows, pattern));
        robots.rules.sort_by_key(|rule| (std::cmp::Reverse(rule.priority), !rule.allows));
        robots
    }

    /// There is no robots.txt.
    pub fn allow_all() -> Self {
        Self::default()
    }

    /// The site does not answer when asked for its rules.
    pub fn deny_all() -> Self {
        let mut robots = Self::default();
        robots.add_rule(false, b"/");
        robots
    }

    /// Whether the agent may ask for this path and query, as [`crate::WebUrl::target`] gives it.
    pub fn allows(&self, target: &str) -> bool {
        let target = if target.is_empty() { "/" } else { target };
        if self.rules.is_empty() || target == "/robots.txt" {
            return true;
        }
        let target = spelled(target.as_bytes(), false, false);
        let plain_target = spelled(&target, false, true);
        let has_plain = matches!(plain_target, Cow::Owned(_));
        self.rules
            .iter()
            .find(|rule| {
                matches(self.pattern(&rule.pattern), &target)
                    || (!rule.allows
                        && (has_plain || rule.plain_pattern.is_some())
                        && matches(self.pattern(rule.plain_pattern.as_ref().unwrap_or(&rule.pattern)), &plain_target))
            })
            .is_none_or(|rule| rule.allows)
    }

    /// How long to wait between two requests, where the file asks for it.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// As written, and for all agents; they need not be addresses.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        let sitemaps: usize = self.sitemaps.iter().map(|sitemap| size_of::<String>() + sitemap.capacity()).sum();
        size_of::<Self>() + self.rules.capacity() * size_of::<Rule>() + self.text.capacity() + sitemaps
    }

    fn pattern(&self, range: &Range<u32>) -> &[u8] {
        self.text.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    fn add_rule(&mut self, allows: bool, value: &[u8]) {
        let pattern = spelled(value, true, false);
        let plain = (!allows).then(|| spelled(&pattern, true, true));
        let pattern_range = self.add_text(&pattern);
        let plain_pattern = match plain {
            Some(Cow::Owned(plain)) => Some(self.add_text(&plain)),
            _ => None,
        };
        // The length once escaped, as Google counts; what we escape beyond that does not count.
        let priority = value.len() + 2 * value.iter().filter(|byte| !byte.is_ascii()).count();
        self.rules.push(Rule { priority: priority as u32, allows, pattern: pattern_range, plain_pattern });
    }

    fn add_text(&mut self, text: &[u8]) -> Range<u32> {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(text);
        start..self.text.len() as u32
    }
}

impl Group {
    fn add_rule(&mut self, allows: bool, pattern: &[u8]) {
        // An empty rule says nothing, except that there is a group.
        if pattern.is_empty() {
            return;
        }
        self.rules.push((allows, pattern.to_vec()));
        // As Google: who allows `/a/index.html` allows `/a/`.
        if allows
            && let Some(slash) = pattern.iter().rposition(|byte| *byte == b'/')
            && pattern[slash..].starts_with(b"/index.htm")
        {
            self.rules.push((true, [&pattern[..=slash], b"$"].concat()));
        }
    }
}

fn group_of<'a>(is_ours: bool, is_global: bool, ours: &'a mut Group, global: &'a mut Group) -> Option<&'a mut Group> {
    if is_ours { Some(ours) } else { is_global.then_some(global) }
}

/// Without a byte order mark, or the part of one that is there.
fn without_mark(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().zip(b"\xef\xbb\xbf").take_while(|(byte, mark)| byte == mark).count();
    &bytes[len..]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Agent,
    Rule { allows: bool },
    CrawlDelay,
    Sitemap,
}

fn key_and_value(line: &[u8]) -> Option<(Key, &[u8])> {
    let line = line.split(|byte| *byte == b'#').next()?.trim_ascii();
    let (key, value) = match memchr(b':', line) {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => {
            // A blank will do, if it leaves two words.
            let at = line.iter().position(|byte| matches!(byte, b' ' | b'\t'))?;
            let value = line[at..].trim_ascii();
            if value.iter().any(|byte| matches!(byte, b' ' | b'\t')) {
                return None;
            }
            (&line[..at], value)
        }
    };
    Some((key_of(key.trim_ascii())?, value.trim_ascii()))
}

/// By how it begins, with the misspellings that Google has met.
fn key_of(key: &[u8]) -> Option<Key> {
    let is = |names: &[&str]| {
        names.iter().any(|name| key.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes())))
    };
    if is(&["user-agent", "useragent", "user agent"]) {
        Some(Key::Agent)
    } else if is(&["allow"]) {
        Some(Key::Rule { allows: true })
    } else if is(&["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"]) {
        Some(Key::Rule { allows: false })
    } else if is(&["sitemap", "site-map"]) {
        Some(Key::Sitemap)
    } else if is(&["crawl-delay", "crawldelay", "crawl delay"]) {
        Some(Key::CrawlDelay)
    } else {
        None
    }
}

/// The product token that a user-agent line names; a version and the like after it do not count.
fn agent_of(value: &[u8]) -> &[u8] {
    let is_token = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    &value[..value.iter().position(|byte| !is_token(byte)).unwrap_or(value.len())]
}

fn delay_of(value: &[u8]) -> Option<Duration> {
    let seconds: f64 =
        str::from_utf8(value).ok()?.split_ascii_whitespace().next()?.trim_end_matches('s').parse().ok()?;
    if !seconds.is_finite() || seconds < 0.0 {
        return None;
    }
    Some(Duration::from_secs_f64(seconds.min(CRAWL_DELAY_SECONDS_MAX as f64)))
}

/// One spelling of a path for both sides of a comparison. Escapes are in upper case; bytes that are not ASCII are
/// escaped in patterns (an address comes escaped); `*` and `$` that mean themselves are escaped. If `is_plain`, also:
/// what is escaped needlessly is not, and in a query `:` and `/` are, as in the RFC's table.
fn spelled(text: &[u8], is_pattern: bool, is_plain: bool) -> Cow<'_, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    let mut in_query = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let escaped = if byte == b'%' { hex_pair(text.get(at + 1..at + 3)) } else { None };
        let len = if escaped.is_some() { 3 } else { 1 };
        let is_special = match byte {
            b'$' => !(is_pattern && at + 1 == text.len()),
            b'*' => !is_pattern,
            b':' | b'/' => is_plain && in_query,
            byte => is_pattern && !byte.is_ascii(),
        };
        in_query |= byte == b'?';
        let replacement = match escaped {
            Some(code) if is_plain && is_unreserved(code) => Some(Spelling::Byte(code)),
            Some(code) if text[at + 1..at + 3].iter().any(u8::is_ascii_lowercase) => Some(Spelling::Escape(code)),
            Some(_) => None,
            None => is_special.then_some(Spelling::Escape(byte)),
        };
        match replacement {
            None => {
                if let Some(out) = &mut out {
                    out.extend_from_slice(&text[at..at + len]);
                }
            }
            Some(spelling) => {
                let out = out.get_or_insert_with(|| text[..at].to_vec());
                match spelling {
                    Spelling::Byte(byte) => out.push(byte),
                    Spelling::Escape(byte) => {
                        let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value & 15)];
                        out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte)]);
                    }
                }
            }
        }
        at += len;
    }
    out.map_or(Cow::Borrowed(text), Cow::Owned)
}

enum Spelling {
    Byte(u8),
    Escape(u8),
}

fn hex_pair(digits: Option<&[u8]>) -> Option<u8> {
    let &[high, low] = digits? else { return None };
    let value = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(value(high)? * 16 + value(low)?).ok()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Whether the pattern matches from the beginning of the path. Between its stars each part is taken where it comes first,
/// so no byte of the path is tried by more than one part.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, is_anchored) = match pattern.strip_suffix(b"$") {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let first_len = memchr(b'*', pattern).unwrap_or(pattern.len());
    let (first, mut pattern) = pattern.split_at(first_len);
    let Some(mut path) = path.strip_prefix(first) else { return false };
    if pattern.is_empty() {
        return !is_anchored || path.is_empty();
    }
    while let Some(rest) = pattern.strip_prefix(b"*") {
        let len = memchr(b'*', rest).unwrap_or(rest.len());
        let (part, after) = rest.split_at(len);
        if after.is_empty() && is_anchored {
            return path.ends_with(part);
        }
        match memmem::find(path, part) {
            Some(at) => path = &path[at + part.len()..],
            None => return false,
        }
        pattern = after;
    }
    true
}
