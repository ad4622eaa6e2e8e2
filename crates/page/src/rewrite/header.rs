//! Addresses in the head of a response: `Location:`, `Refresh:` and `Link:`.

use super::element::{is_hint, modifier_of_rel};
use super::place::Place;
use super::{Modifier, Setting};
use crate::links::header::items;
use crate::links::html::refresh_target;
use encoding_rs::UTF_8;

/// Where a link leads in the archive, always from the root: `/web/<stamp><modifier>/<url>`. `None` if it leads nowhere
/// on the web.
pub fn rewrite_link(setting: &Setting<'_>, modifier: Modifier, link: &str) -> Option<String> {
    let mut place = Place::new(setting);
    let link = link.trim_matches(|c: char| c <= ' ');
    if link.is_empty() || link.starts_with('#') {
        return place.any(&format!("{}{link}", setting.url), modifier, UTF_8);
    }
    place.any(link, modifier, UTF_8)
}

/// `5; url=/x` with the archive's address; as it was if it names none.
pub fn rewrite_refresh(setting: &Setting<'_>, value: &str) -> String {
    refresh(&mut Place::new(setting), value).unwrap_or_else(|| value.to_owned())
}

pub(super) fn refresh(place: &mut Place, value: &str) -> Option<String> {
    let link = place.text(refresh_target(value)?, Modifier::Document)?;
    let time = value.trim_ascii_start();
    let time_len = time.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    Some(format!("{}; url={link}", &time[..time_len]))
}

/// The value of a `Link:`, its addresses turned into the archive's. Links that only ask for a connection or for what may
/// come next are left out; the answer may be empty.
pub fn rewrite_link_header(setting: &Setting<'_>, value: &str) -> String {
    let mut place = Place::new(setting);
    let mut out = String::with_capacity(value.len() + 64);
    for item in items(value) {
        let rel = item.rel.as_deref().unwrap_or_default();
        if is_hint(rel) {
            continue;
        }
        let modifier = modifier_of_rel(rel, item.media_type.as_deref(), item.purpose.as_deref());
        let Some(link) = place.any(item.target, modifier, UTF_8) else { continue };
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push('<');
        out.push_str(&link);
        out.push('>');
        out.push_str(item.parameters);
    }
    out
}
