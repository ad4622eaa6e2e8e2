//! A place between two records of a file, short enough to be kept in a checkpoint.
//!
//! It names the nearest start that can be reached by seeking and how many records to read and drop from there: none in
//! plain files and in record-wise gzip or zstd, all of those before in a file that was gzipped as one.

use crate::Error;
use std::fmt;
use std::str::FromStr;

/// Where the next record starts. Made by [`crate::Reader::position`], for the same file only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Position {
    /// Which WARC file of a WACZ, in the order of its directory; 0 elsewhere.
    pub(crate) file: u32,
    /// Offset in that file of a record, or of the compressed member that holds it.
    pub(crate) offset: u64,
    /// Records to drop from there.
    pub(crate) records: u64,
}

impl Position {
    /// The start of a file.
    pub const START: Self = Self { file: 0, offset: 0, records: 0 };

    /// Reads what `to_string` wrote.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = || Error::Position(text.chars().take(60).collect());
        let mut parts = text.split('.').map(|part| {
            // `parse` alone would also take a plus sign.
            part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<u64>().ok()).flatten()
        });
        let mut part = || parts.next().flatten().ok_or_else(bad);
        let (file, offset, records) = (part()?, part()?, part()?);
        match (u32::try_from(file), parts.next()) {
            (Ok(file), None) => Ok(Self { file, offset, records }),
            _ => Err(bad()),
        }
    }
}

/// `file.offset.records`, for example `0.81234.0`.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.file, self.offset, self.records)
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_survives_its_spelling() {
        let at = Position { file: 3, offset: u64::MAX, records: 7 };
        assert_eq!(Position::parse(&at.to_string()).unwrap(), at);
        assert_eq!(Position::START.to_string(), "0.0.0");
    }

    #[test]
    fn nonsense_is_not_a_position() {
        for text in
            ["", "1", "1.2", "1.2.3.4", "a.b.c", "+1.2.3", "-1.0.0", "4294967296.0.0", "0.99999999999999999999.0"]
        {
            assert!(Position::parse(text).is_err(), "{text}");
        }
    }
}
