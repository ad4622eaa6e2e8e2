//! All that is known of one capture, for whoever cites it or doubts it.

use super::Version;
use super::limits::HEAD_BYTES_MAX;
use super::walk::{first_capture, version_at};
use crate::answer::Trouble;
use crate::site::Site;
use crate::wayback::moment;
use herodotus_base::Timestamp;
use herodotus_store::Entry;
use serde::Serialize;

/// One capture.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Facts {
    #[serde(flatten)]
    pub(crate) version: Version,
    /// `response`, `revisit`, `resource`, `conversion`: as in WARC.
    pub(crate) kind: String,
    /// WARC record id, without its brackets.
    pub(crate) record_id: String,
    /// The HTTP head as it came, with what is not UTF-8 replaced; empty where there is none.
    pub(crate) head: String,
    /// The head of the request that was answered, if it was kept.
    pub(crate) request: Option<String>,
    /// Of the payload as it came, in hexadecimal. (Of a revisit: of what it brought itself.)
    pub(crate) sha256: String,
    /// The same in base32, computed here; [`Version::digest`] is what the record says.
    pub(crate) sha1: String,
    /// The address that answered.
    pub(crate) address: Option<String>,
    /// Why the payload is shorter than it was: `length`, `time`, `disconnect`, `unspecified`.
    pub(crate) truncated_by: Option<String>,
    /// The capture that a revisit's payload is found with.
    pub(crate) original: Option<Original>,
    /// Stamps of the versions before and after.
    pub(crate) earlier: Option<String>,
    pub(crate) later: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Original {
    pub(crate) url: String,
    pub(crate) stamp: String,
}

/// The version current at a moment (`None`: the newest); failing that, the first after it.
pub(crate) fn facts(site: &Site, url: &str, at: Option<&str>) -> Result<Facts, Trouble> {
    let at = at.map(stamp_time).transpose()?.unwrap_or(Timestamp::MAX);
    let not_here = || Trouble::NotFound(format!("{url} is not in the archive"));
    let entry = version_at(site, url, at)?.ok_or_else(not_here)?;
    let gone = || Trouble::NotFound(format!("{} of {} is no longer here", entry.url, entry.id.time));
    let capture = site.archive().read(&entry.id)?.ok_or_else(gone)?;
    let original = site.archive().original_of(&capture)?;
    let stamp = |entry: Entry| entry.id.time.digits14();
    let second = entry.id.time.floor_second().millis();
    let before = Timestamp::from_millis_clamped(second.saturating_sub(1));
    let second_end = Timestamp::from_millis_clamped(second.saturating_add(999));
    let digests = capture.main.body.digests();
    Ok(Facts {
        version: Version::seen(&entry, original.as_ref()),
        kind: capture.main.kind.as_str().to_owned(),
        record_id: capture.main.id.bracketed().trim_matches(['<', '>']).to_owned(),
        head: shown_head(&capture.main.head),
        request: capture.request().map(|request| shown_head(&request.head)),
        sha256: digests.sha256.to_string(),
        sha1: digests.sha1.base32(),
        address: capture.remote().map(|address| address.to_string()),
        truncated_by: capture.truncated().map(str::to_owned),
        original: original.map(|original| Original { stamp: original.id.time.digits14(), url: original.url }),
        earlier: first_capture(site.archive().versions_until(&entry.id.key, before))?.map(stamp),
        later: first_capture(site.archive().versions_after(&entry.id.key, second_end))?.map(stamp),
    })
}

/// The last moment that a stamp names; dates are taken too.
pub(super) fn stamp_time(stamp: &str) -> Result<Timestamp, Trouble> {
    let is_digits = !stamp.is_empty() && stamp.bytes().all(|byte| byte.is_ascii_digit());
    let time = if is_digits { moment(stamp) } else { Timestamp::parse_end(stamp).ok() };
    let shown: String = stamp.chars().take(40).collect();
    time.ok_or_else(|| Trouble::Asked(format!("`{shown}` is not a time: write it as 20260102030405 or 2026-01-02")))
}

fn shown_head(head: &[u8]) -> String {
    let head = head.get(..HEAD_BYTES_MAX).unwrap_or(head);
    String::from_utf8_lossy(head).trim_end().to_owned()
}
