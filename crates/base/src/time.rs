//! Moments, in UTC milliseconds, and the spellings that the field gives them.
//!
//! Years 0 to 9999: what fits fourteen digits. Anything else is an error, not a wrapped number.

use std::fmt;

/// A moment: milliseconds since 1970-01-01T00:00:00Z, within years 0 to 9999.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(i64);

/// A time that a person or a file wrote and that we cannot read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a time: write it as 2026-01-02, 20260102030405 or 2026-01-02T03:04:05Z")]
pub struct TimeError(pub String);

impl Timestamp {
    /// The first moment of year 0.
    pub const MIN: Self = Self(-62_167_219_200_000);
    /// The last millisecond of year 9999.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// The clock's time. For the edges of the program only: machines and stores are given their time.
    pub fn now() -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self::from_millis_clamped(since.as_millis().try_into().unwrap_or(i64::MAX))
    }

    pub fn from_millis(ms: i64) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0).contains(&ms).then_some(Self(ms))
    }

    pub fn from_millis_clamped(ms: i64) -> Self {
        Self(ms.clamp(Self::MIN.0, Self::MAX.0))
    }

    pub fn millis(self) -> i64 {
        self.0
    }

    /// Eight bytes whose order is the order of time: for index keys.
    pub fn to_sortable(self) -> [u8; 8] {
        ((self.0 - Self::MIN.0) as u64).to_be_bytes()
    }

    pub fn from_sortable(bytes: [u8; 8]) -> Option<Self> {
        let since = i64::try_from(u64::from_be_bytes(bytes)).ok()?;
        Self::from_millis(since.checked_add(Self::MIN.0)?)
    }

    /// The second this moment lies in.
    pub fn floor_second(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1000))
    }

    /// `20260102030405`: the name of a moment in Wayback URLs and CDX files.
    pub fn digits14(self) -> String {
        let t = self.civil();
        format!("{:04}{:02}{:02}{:02}{:02}{:02}", t.year, t.month, t.day, t.hour, t.minute, t.second)
    }

    /// `2026-01-02T03:04:05Z`, with `.678` only where there is a fraction: as WARC-Date is written.
    pub fn rfc3339(self) -> String {
        let Civil { year, month, day, hour, minute, second, ms } = self.civil();
        // By hand: an import spells one for each capture, and formatting takes ten times as long.
        let mut out = String::with_capacity(24);
        let mut put = |mark: &str, number: i64, places: u32| {
            out.push_str(mark);
            for place in (0..places).rev() {
                out.push(char::from(b'0' + (number / 10i64.pow(place) % 10) as u8));
            }
        };
        put("", year, 4);
        for (mark, number) in [("-", month), ("-", day), ("T", hour), (":", minute), (":", second)] {
            put(mark, number, 2);
        }
        if ms != 0 {
            put(".", ms, 3);
        }
        out.push('Z');
        out
    }

    /// Reads a moment as people and files write it: a date, 4 to 14 digits (17 with milliseconds), or RFC 3339
    /// with any fraction and offset. What is left out is taken as its smallest value.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        Self::parse_earliest(text).ok_or_else(|| TimeError(text.chars().take(60).collect()))
    }

    /// The same, but what is left out is taken as its largest value: the end of a range that a person named.
    pub fn parse_end(text: &str) -> Result<Self, TimeError> {
        let start = Self::parse(text)?;
        let trimmed = text.trim();
        let digits = trimmed.bytes().filter(u8::is_ascii_digit).count();
        let full = Civil { hour: 23, minute: 59, second: 59, ms: 999, ..start.civil() };
        let t = start.civil();
        let end = match digits {
            4 => Civil { month: 12, day: 31, ..full },
            6 => Civil { day: days_in_month(t.year, t.month), ..full },
            8 => full,
            10 => Civil { hour: t.hour, ..full },
            12 => Civil { hour: t.hour, minute: t.minute, ..full },
            14 if !trimmed.contains('.') => Civil { ms: 999, ..t },
            _ => t,
        };
        Self::from_civil(end).ok_or_else(|| TimeError(text.chars().take(60).collect()))
    }

    fn parse_earliest(text: &str) -> Option<Self> {
        if let Some(moment) = Self::parse_plain(text.as_bytes()) {
            return Some(moment);
        }
        let text = text.trim();
        if text.len() > 64 || !text.is_ascii() {
            return None;
        }
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return Self::parse_digits(text);
        }
        // `2026`, `2026-01` and `2026-01-02` are what people type.
        let (date, rest) = match text.find(['T', 't', ' ']) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        let mut parts = date.splitn(3, '-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next());
        if year.len() != 4 || month.len() != 2 || day.is_some_and(|d| d.len() != 2) {
            return None;
        }
        let mut digits = format!("{year}{month}{}", day.unwrap_or("01"));
        let Some(rest) = rest else { return Self::parse_digits(&digits) };
        day?;
        let clock_end = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
        let (clock, zone) = rest.split_at(clock_end);
        let (clock, fraction) = clock.split_once('.').map_or((clock, ""), |(c, f)| (c, f));
        for part in clock.split(':') {
            if part.len() != 2 {
                return None;
            }
            digits.push_str(part);
        }
        if digits.len() != 12 && digits.len() != 14 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let base = Self::parse_digits(&digits)?;
        let fraction_ms: i64 = format!("{fraction:0<3}")[..3].parse().ok()?;
        let offset_ms = match zone {
            "" | "Z" | "z" => 0,
            zone => {
                let sign = if zone.starts_with('-') { -1 } else { 1 };
                let hm: String = zone[1..].chars().filter(|c| *c != ':').collect();
                let (h, m) = (hm.get(..2)?.parse::<i64>().ok()?, hm.get(2..4).unwrap_or("00").parse::<i64>().ok()?);
                if hm.len() > 4 || h > 23 || m > 59 {
                    return None;
                }
                sign * (h * 60 + m) * 60_000
            }
        };
        Self::from_millis(base.0 + fraction_ms - offset_ms)
    }

    /// `2026-01-02T03:04:05Z` and nothing else: what nearly every record of a file says, so that it is read without the long way.
    fn parse_plain(text: &[u8]) -> Option<Self> {
        let text: &[u8; 20] = text.try_into().ok()?;
        let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
        marks.iter().all(|(at, mark)| text[*at] == *mark).then_some(())?;
        let number = |from: usize, to: usize| {
            text[from..to]
                .iter()
                .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0')))
        };
        Self::from_civil(Civil {
            year: number(0, 4)?,
            month: number(5, 7)?,
            day: number(8, 10)?,
            hour: number(11, 13)?,
            minute: number(14, 16)?,
            second: number(17, 19)?,
            ms: 0,
        })
    }

    fn parse_digits(d: &str) -> Option<Self> {
        if !matches!(d.len(), 4 | 6 | 8 | 10 | 12 | 14 | 17) || !d.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let field = |from: usize, to: usize, least: i64| d.get(from..to).map_or(Some(least), |s| s.parse().ok());
        Self::from_civil(Civil {
            year: field(0, 4, 0)?,
            month: field(4, 6, 1)?,
            day: field(6, 8, 1)?,
            hour: field(8, 10, 0)?,
            minute: field(10, 12, 0)?,
            // Leap seconds are written in files; the second before is the nearest moment that exists here.
            second: field(12, 14, 0).map(|s| if s == 60 { 59 } else { s })?,
            ms: field(14, 17, 0)?,
        })
    }

    fn civil(self) -> Civil {
        let (year, month, day) = civil_from_days(self.0.div_euclid(86_400_000));
        let ms = self.0.rem_euclid(86_400_000);
        Civil {
            year,
            month,
            day,
            hour: ms / 3_600_000,
            minute: ms / 60_000 % 60,
            second: ms / 1000 % 60,
            ms: ms % 1000,
        }
    }

    fn from_civil(t: Civil) -> Option<Self> {
        let in_range = (0..=9999).contains(&t.year)
            && (1..=12).contains(&t.month)
            && (1..=days_in_month(t.year, t.month)).contains(&t.day)
            && t.hour < 24
            && t.minute < 60
            && t.second < 60;
        let seconds = (t.hour * 60 + t.minute) * 60 + t.second;
        in_range.then(|| Self(days_from_civil(t.year, t.month, t.day) * 86_400_000 + seconds * 1000 + t.ms))
    }
}

/// The parts of a moment as a calendar shows them. Never negative.
#[derive(Clone, Copy)]
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    ms: i64,
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms").
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let year_of_era = y.rem_euclid(400);
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let (era, day_of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_from_civil(next_year, next, 1) - days_from_civil(year, month, 1)
}

/// RFC 3339, as [`Timestamp::rfc3339`].
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn the_plain_spelling_is_read_and_written_as_every_other() {
        for millis in (-62_167_219_200_000..=253_402_300_799_000).step_by(123_456_789_000) {
            let moment = Timestamp::from_millis(millis).unwrap();
            let spelled = moment.rfc3339();
            assert_eq!(spelled.replace(['-', 'T', ':', 'Z'], ""), moment.digits14());
            assert_eq!(Timestamp::parse(&spelled), Ok(moment));
            assert_eq!(Timestamp::parse(&spelled.to_lowercase()), Ok(moment), "the long way");
        }
        assert_eq!(Timestamp::from_millis(5).unwrap().rfc3339(), "1970-01-01T00:00:00.005Z");
        assert_eq!(Timestamp::parse("2016-12-31T23:59:60Z"), Timestamp::parse("2016-12-31T23:59:59Z"));
        for wrong in ["2016-13-31T23:59:59Z", "2016-12-31T24:59:59Z", "2016-12-31T23:59:5aZ", "2016-12-31T23:59-59Z"] {
            assert!(Timestamp::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_accepted_spelling_names_the_same_moment() {
        let want = Timestamp::from_millis(1_767_322_800_000).unwrap();
        for text in ["20260102030000", "2026-01-02T03:00:00Z", "2026-01-02 03:00", "2026-01-02T05:00:00+02:00"] {
            assert_eq!(t(text), want, "{text}");
        }
        assert_eq!(t("2026-01-02").digits14(), "20260102000000");
        assert_eq!(t("2026").digits14(), "20260101000000");
        assert_eq!(t("2026-01-02T03:04:05.6789Z").rfc3339(), "2026-01-02T03:04:05.678Z");
        assert_eq!(t("20160229235960").digits14(), "20160229235959");
    }

    #[test]
    fn the_ends_of_what_fourteen_digits_can_say_survive() {
        for text in ["00000101000000", "99991231235959", "19691231235959", "20240229120000"] {
            assert_eq!(t(text).digits14(), text);
            assert_eq!(Timestamp::from_sortable(t(text).to_sortable()), Some(t(text)));
        }
        assert_eq!(Timestamp::parse_end("9999").unwrap(), Timestamp::MAX);
        assert_eq!(t("0000"), Timestamp::MIN);
    }

    #[test]
    fn nonsense_is_an_error_that_says_what_to_write() {
        for text in ["", "yesterday", "2026-13-01", "20260230000000", "2026-1-2", "2026-01-02T25:00:00Z", "123", "٢٠٢٦"]
        {
            let error = Timestamp::parse(text).unwrap_err().to_string();
            assert!(error.contains("20260102030405"), "{text}: {error}");
        }
    }

    #[test]
    fn an_end_covers_what_was_left_out() {
        assert_eq!(Timestamp::parse_end("2024-02").unwrap().rfc3339(), "2024-02-29T23:59:59.999Z");
        assert_eq!(Timestamp::parse_end("20260102030405").unwrap().rfc3339(), "2026-01-02T03:04:05.999Z");
        assert_eq!(Timestamp::parse_end("2026-01-02T03:04:05.1Z").unwrap().rfc3339(), "2026-01-02T03:04:05.100Z");
    }

    #[test]
    fn byte_order_is_time_order() {
        let mut times = [t("2026"), t("0001"), t("1969"), t("1970"), t("9999")];
        times.sort_by_key(|t| t.to_sortable());
        assert!(times.is_sorted());
    }
}
