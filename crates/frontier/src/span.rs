//! Spans of time as people write them: `500ms`, `90s`, `30m`, `12h`, `1d`, `2w`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A span of time in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub u64);

const UNITS: [(&str, u64); 6] =
    [("w", 7 * 86_400_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Ten years: nobody waits longer, and sums of a few stay far from overflow.
const SPAN_MS_MAX: u64 = 10 * 366 * 86_400_000;

impl Span {
    pub const fn secs(s: u64) -> Self {
        Self(s * 1_000)
    }

    pub fn ms(self) -> i64 {
        self.0 as i64
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a span of time: write it as 500ms, 90s, 30m, 12h or 1d");
        let trimmed = text.trim();
        let at = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(at);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let unit = match unit.trim() {
            "" if number == 0.0 => 1,
            unit => UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1,
        };
        let ms = number * unit as f64;
        if ms > SPAN_MS_MAX as f64 {
            return Err(format!("`{text}` is longer than ten years"));
        }
        Ok(Self(ms as u64))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, ms) = UNITS.iter().find(|(_, ms)| self.0 >= *ms && self.0.is_multiple_of(*ms)).unwrap_or(&("ms", 1));
        write!(f, "{}{unit}", self.0 / ms)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        for (text, ms, back) in [
            ("500ms", 500, "500ms"),
            ("1.5s", 1_500, "1500ms"),
            ("90s", 90_000, "90s"),
            ("2 h", 7_200_000, "2h"),
            ("1d", 86_400_000, "1d"),
            ("0", 0, "0ms"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!((span.0, span.to_string().as_str()), (ms, back), "{text}");
        }
        for text in ["", "1", "d", "-1s", "1y", "99999999999d", "1e400s", "nan s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
