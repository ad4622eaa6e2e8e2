//! Text put into markup in the page's own encoding, and back.

use crate::entity;
use encoding_rs::{Decoder, Encoding};
use std::borrow::Cow;

/// Writes text so that it can stand in a value between these quotes, or without any. What the encoding lacks becomes a
/// reference.
pub(super) fn put_value(text: &str, quote: Option<u8>, encoding: &'static Encoding, out: &mut Vec<u8>) {
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '"' if quote != Some(b'\'') => escaped.push_str("&quot;"),
            '\'' if quote != Some(b'"') => escaped.push_str("&#39;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            ' ' | '\t' | '\n' | '\r' | '\x0c' | '`' | '=' if quote.is_none() => {
                escaped.push_str(match c {
                    ' ' => "&#32;",
                    '\t' => "&#9;",
                    '\n' => "&#10;",
                    '\r' => "&#13;",
                    '\x0c' => "&#12;",
                    '`' => "&#96;",
                    _ => "&#61;",
                });
            }
            _ => escaped.push(c),
        }
    }
    out.extend_from_slice(&encoding.encode(&escaped).0);
}

/// The text of a value, references decoded.
pub(super) fn value_text<'a>(value: &'a [u8], encoding: &'static Encoding) -> Cow<'a, str> {
    match encoding.decode_without_bom_handling(value).0 {
        Cow::Borrowed(text) => entity::decode(text, true),
        Cow::Owned(text) => Cow::Owned(entity::decode(&text, true).into_owned()),
    }
}

/// Whether a byte of the encoding can look like ASCII and be the second half of another character. Such text is made
/// UTF-8 before a lexer that knows backslashes reads it.
pub(super) fn is_double_byte(encoding: &'static Encoding) -> bool {
    encoding != encoding_rs::UTF_8 && !encoding.is_single_byte()
}

/// Text of a double-byte encoding on its way through a lexer.
#[derive(Debug)]
pub(super) struct Recoder {
    encoding: &'static Encoding,
    decoder: Decoder,
    text: String,
}

impl Recoder {
    pub(super) fn new(encoding: &'static Encoding) -> Self {
        Self { encoding, decoder: encoding.new_decoder_without_bom_handling(), text: String::new() }
    }

    /// The next piece as UTF-8.
    pub(super) fn decode(&mut self, piece: &[u8], is_last: bool) -> &str {
        self.text.clear();
        let room = self.decoder.max_utf8_buffer_length(piece.len()).unwrap_or_default();
        self.text.reserve(room);
        let _ = self.decoder.decode_to_string(piece, &mut self.text, is_last);
        &self.text
    }

    pub(super) fn encode(&self, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encoding.encode(&String::from_utf8_lossy(text)).0);
    }
}
