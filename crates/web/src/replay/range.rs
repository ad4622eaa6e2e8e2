//! Byte ranges, as players ask for them: one range, of a body whose length is known.

/// What `Range` asks of a body of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// No range, or one that we may leave unanswered (several, another unit, nonsense).
    Whole,
    /// First byte and one past the last.
    Part(u64, u64),
    /// Beyond the end: 416.
    Beyond,
}

pub(super) fn asked(range: &str, len: u64) -> Asked {
    let Some(spec) = range.trim().strip_prefix("bytes=") else { return Asked::Whole };
    let Some((first, last)) = spec.split_once('-') else { return Asked::Whole };
    let (first, last) = (first.trim(), last.trim());
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u64>().unwrap_or(u64::MAX));
    match (first.is_empty(), last.is_empty()) {
        (false, true) => match number(first) {
            Some(first) if first < len => Asked::Part(first, len),
            Some(_) => Asked::Beyond,
            None => Asked::Whole,
        },
        (false, false) => match (number(first), number(last)) {
            (Some(first), Some(last)) if last < first => Asked::Whole,
            (Some(first), Some(last)) if first < len => Asked::Part(first, last.saturating_add(1).min(len)),
            (Some(_), Some(_)) => Asked::Beyond,
            _ => Asked::Whole,
        },
        (true, false) => match number(last) {
            Some(0) => Asked::Beyond,
            Some(_) if len == 0 => Asked::Beyond,
            Some(last) => Asked::Part(len.saturating_sub(last), len),
            None => Asked::Whole,
        },
        (true, true) => Asked::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_rfc_9110_says() {
        for (range, answer) in [
            ("bytes=0-", Asked::Part(0, 10)),
            ("bytes=2-4", Asked::Part(2, 5)),
            ("bytes=2-400", Asked::Part(2, 10)),
            ("bytes=-3", Asked::Part(7, 10)),
            ("bytes=-300", Asked::Part(0, 10)),
            ("bytes=9-9", Asked::Part(9, 10)),
            ("bytes=10-", Asked::Beyond),
            ("bytes=99999999999999999999999-", Asked::Beyond),
            ("bytes=-0", Asked::Beyond),
            ("bytes=4-2", Asked::Whole),
            ("bytes=0-1,3-4", Asked::Whole),
            ("bytes=a-b", Asked::Whole),
            ("items=0-1", Asked::Whole),
            ("bytes=-", Asked::Whole),
            ("", Asked::Whole),
        ] {
            assert_eq!(asked(range, 10), answer, "{range}");
        }
        assert_eq!(asked("bytes=0-", 0), Asked::Beyond);
    }
}
