//! Who keeps a URL, asked for a page or for the API: the ring answers, and here it is bounded how many ask at once and how long
//! each may wait. Nothing is remembered: where a URL lies may be another machine the next minute.

use crate::answer::Trouble;
use crate::limits::LOOKUP_TIME;
use crate::peers::{HealthView, LookupView, Peers};
use crate::site::Site;
use crate::wayback::full_url;
use herodotus_base::limits::URL_BYTES_MAX;
use std::sync::Arc;
use tokio::time::timeout;

/// The ring that this machine belongs to.
pub(crate) fn peers(site: &Site) -> Result<Arc<dyn Peers>, Trouble> {
    let sentence =
        "this archive belongs to no ring: `herodotus ring create` begins one, `herodotus node --join TICKET` joins one";
    site.peers().cloned().ok_or_else(|| Trouble::NotFound(sentence.to_owned()))
}

/// How well everything is kept.
pub(crate) fn health(site: &Site) -> Result<HealthView, Trouble> {
    let sentence = "this machine does not look after copies (yet), so that it cannot say how well they are kept";
    peers(site)?.health().ok_or_else(|| Trouble::NotFound(sentence.to_owned()))
}

/// Who keeps a URL, written as people write it.
pub(crate) async fn lookup(site: &Site, text: &str) -> Result<LookupView, Trouble> {
    let peers = peers(site)?;
    if text.len() > URL_BYTES_MAX {
        return Err(Trouble::Asked(format!("that is longer than any URL ({URL_BYTES_MAX} bytes)")));
    }
    let Some(url) = full_url(text) else {
        return Err(Trouble::Asked("name a URL, as in url=https://example.org/".to_owned()));
    };
    let _place = site.caches().lookups.clone().try_acquire_owned().map_err(|_| Trouble::Busy)?;
    match timeout(LOOKUP_TIME, peers.lookup(&url)).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(refused)) => Err(Trouble::Unanswered(refused.0)),
        Err(_) => Err(Trouble::Unanswered(format!("the ring had no answer within {} s", LOOKUP_TIME.as_secs()))),
    }
}
