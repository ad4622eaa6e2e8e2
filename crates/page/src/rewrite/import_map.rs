//! Import maps: the addresses in `imports` and `scopes`, as keys and as values. `integrity` goes, since what it vouches
//! for is rewritten.

use super::Modifier;
use super::place::Place;
use super::script::names_address;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The map rewritten; `None` if it is none, which then stays as it was.
pub(super) fn rewrite_import_map(place: &mut Place, json: &str) -> Option<String> {
    let Value::Object(map) = serde_json::from_str(json).ok()? else { return None };
    let mut out = Map::new();
    for (key, value) in map {
        match (key.as_str(), value) {
            ("imports", Value::Object(imports)) => {
                out.insert(key, Value::Object(specifiers(place, imports)));
            }
            ("scopes", Value::Object(scopes)) => {
                let scopes = scopes.into_iter().map(|(scope, value)| {
                    let value = match value {
                        Value::Object(imports) => Value::Object(specifiers(place, imports)),
                        other => other,
                    };
                    // A scope is always an address, `app/` as much as `./app/`.
                    (place.text(&scope, Modifier::Script).unwrap_or(scope), value)
                });
                let scopes = scopes.collect();
                out.insert(key, Value::Object(scopes));
            }
            ("integrity", _) => {}
            (_, value) => {
                out.insert(key, value);
            }
        }
    }
    let json = serde_json::to_string(&Value::Object(out)).ok()?;
    Some(escaped(&json))
}

fn specifiers(place: &mut Place, imports: Map<String, Value>) -> Map<String, Value> {
    imports
        .into_iter()
        .map(|(key, value)| {
            let value = match value {
                Value::String(text) => Value::String(address(place, text)),
                other => other,
            };
            (address(place, key), value)
        })
        .collect()
}

fn address(place: &mut Place, text: String) -> String {
    if names_address(text.as_bytes()) { place.text(&text, Modifier::Script).unwrap_or(text) } else { text }
}

/// In ASCII, whatever the page's encoding, and without what would end the script.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '<' || !c.is_ascii() {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}
