//! How things are said: numbers with separators, bytes with units, tables, progress on a terminal.

use crate::Session;
use anyhow::Result;
use herodotus_store::{Entry, Kind};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::io;
use std::time::Duration;

/// `1 234 567`, with thin separators that survive copying.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `12.3 MB`, decimal as disks are sold.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{n} B"),
        _ if value < 10.0 => format!("{value:.2} {}", UNITS[unit]),
        _ if value < 100.0 => format!("{value:.1} {}", UNITS[unit]),
        _ => format!("{value:.0} {}", UNITS[unit]),
    }
}

/// `1 capture`, `2 captures`.
pub(crate) fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Prints one JSON value on a line.
pub(crate) fn json_line(session: &Session, value: &Value) -> Result<()> {
    session.console.json_line(value)
}

/// Everything the index knows of a capture.
pub(crate) fn entry_json(entry: &Entry) -> Value {
    json!({
        "url": entry.url,
        "key": entry.id.key,
        "time": entry.id.time.rfc3339(),
        "timestamp": entry.id.time.digits14(),
        "kind": entry.kind.as_str(),
        "status": entry.status,
        "media": if entry.media.is_empty() { Value::Null } else { entry.media.clone().into() },
        "length": entry.len,
        "sha1": entry.sha1.to_string(),
        "truncated": entry.truncated,
        "shared": entry.shared,
    })
}

/// What stands in the status column: a number, or why there is none.
pub(crate) fn status(entry: &Entry) -> String {
    match (entry.status, &entry.kind) {
        (Some(status), _) => status.to_string(),
        (None, Kind::Response) => "-".to_owned(),
        (None, kind) => kind.as_str().to_owned(),
    }
}

/// A progress bar on a terminal, silence elsewhere.
pub(crate) fn progress(session: &Session, total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), session.console.draw_target(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// Whoever reads our output may stop reading: that is no error of ours.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_000), "1.00 kB");
        assert_eq!(bytes(999_999), "1.00 MB");
        assert_eq!(bytes(12_345_678), "12.3 MB");
        assert_eq!(plural(1, "capture", "captures"), "1 capture");
    }
}
