//! The calendar of this web: round 0 is the first of March 2020, and every round is a day.

use crate::words::MONTHS;
use herodotus_base::Timestamp;

/// 2020-03-01T06:00:00Z.
const ROUND_0_MS: i64 = 1_583_042_400_000;
const DAY_MS: i64 = 86_400_000;

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// When a round takes place. From the end of the year 9999 on, rounds share its last moment.
pub fn round_time(round: u32) -> Timestamp {
    Timestamp::from_millis_clamped(ROUND_0_MS + i64::from(round) * DAY_MS)
}

/// `Sun, 01 Mar 2020 06:00:00 GMT`
pub(crate) fn http_date(time: Timestamp) -> String {
    let weekday = WEEKDAYS.get(time.millis().div_euclid(DAY_MS).rem_euclid(7) as usize).copied().unwrap_or_default();
    let text = time.rfc3339();
    let month = month_of(&text).get(..3).unwrap_or_default();
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{weekday}, {} {month} {} {} GMT", part(8, 10), part(0, 4), part(11, 19))
}

/// Reads what [`http_date`] writes, which is the only spelling that HTTP still allows to be written.
pub(crate) fn parse_http_date(text: &str) -> Option<Timestamp> {
    let mut parts = text.trim().strip_suffix(" GMT")?.split(", ").nth(1)?.split(' ');
    let (day, month, year, clock) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| name.get(..3) == Some(month))? + 1;
    let valid = parts.next().is_none() && day.len() == 2 && year.len() == 4 && clock.len() == 8;
    if !valid {
        return None;
    }
    Timestamp::parse(&format!("{year}-{month:02}-{day}T{clock}Z")).ok()
}

/// `1 March 2020`
pub(crate) fn long_date(round: u32) -> String {
    let text = round_time(round).rfc3339();
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{} {} {}", part(8, 10).trim_start_matches('0'), month_of(&text), part(0, 4))
}

/// `2020-03-01`
pub(crate) fn short_date(round: u32) -> String {
    round_time(round).rfc3339().get(..10).unwrap_or_default().to_owned()
}

fn month_of(rfc3339: &str) -> &'static str {
    let number: usize = rfc3339.get(5..7).and_then(|digits| digits.parse().ok()).unwrap_or(1);
    MONTHS.get(number.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_days_in_every_spelling() {
        assert_eq!(http_date(round_time(0)), "Sun, 01 Mar 2020 06:00:00 GMT");
        assert_eq!(http_date(round_time(31)), "Wed, 01 Apr 2020 06:00:00 GMT");
        assert_eq!((long_date(0), short_date(366)), ("1 March 2020".to_owned(), "2021-03-02".to_owned()));
    }

    #[test]
    fn http_dates_are_read_back_and_nonsense_is_not() {
        for round in [0, 1, 59, 305, 9999] {
            assert_eq!(parse_http_date(&http_date(round_time(round))), Some(round_time(round)));
        }
        for text in ["", "yesterday", "Sun, 01 Mar 2020", "Sun, 99 Mar 2020 06:00:00 GMT", "Sun, 1 Mar 2020 06:00 GMT"]
        {
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_round_still_has_a_date() {
        assert_eq!(http_date(round_time(u32::MAX)), "Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
