//! What a reader sees of a body in memory: its transfer and content codings taken off, as far as we know them and as
//! far as they are true. What unfolds beyond the limit, or is not in the coding that its head names, is given as it
//! came, together with the codings that are still on it, so that a browser may do better than we do.

use super::{CodedBlob, LAYERS_MAX, brotli_fold, dechunk, gzip, layer, layer_codes, zstd_plain};
use crate::error::Result;
use herodotus_page::ResponseHead;

/// A body without its codings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    pub body: Vec<u8>,
    /// Content codings that are still on it, in the order in which they were applied.
    pub codings_left: Vec<String>,
}

/// What a reader sees of a body.
pub fn plain_body(head: &[u8], body: &[u8]) -> Vec<u8> {
    Codings::of(head).take_off(body.to_vec()).body
}

/// What a head says is on its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Codings {
    pub(super) chunked: bool,
    /// In the order in which they were applied.
    pub(super) content: Vec<String>,
}

impl Codings {
    pub(crate) fn of(head: &[u8]) -> Self {
        match ResponseHead::parse(head) {
            Some(head) => Self { chunked: head.is_chunked(), content: head.content_encodings() },
            None => Self { chunked: false, content: Vec::new() },
        }
    }

    /// What is left of them when the layers of a recipe are off. `None`: the recipe is not of these codings. The same
    /// bytes may have come under another head, and what this one does not speak of is to stay on.
    pub(crate) fn without(mut self, recipe: &[u8]) -> Option<Self> {
        let codes = layer_codes(recipe)?;
        let (transfer, content) = match codes.split_first() {
            Some((&layer::CHUNKED, rest)) => (true, rest),
            _ => (false, codes.as_slice()),
        };
        (!transfer || self.chunked).then_some(())?;
        for code in content {
            let coding = self.content.pop()?;
            let same = match *code {
                layer::GZIP => is_gzip(&coding),
                layer::BROTLI => coding == "br",
                _ => false,
            };
            same.then_some(())?;
        }
        // Chunks that are there are taken off first, so that none are left under what is off.
        self.chunked &= codes.is_empty();
        Some(self)
    }

    /// Takes them off a body in memory.
    pub(crate) fn take_off(mut self, mut body: Vec<u8>) -> Plain {
        if self.chunked
            && let Some(entity) = dechunk::whole_or_cut(&body)
        {
            body = entity;
        }
        // More than anybody applies is a way to keep us busy.
        if self.content.len() <= LAYERS_MAX {
            while let Some(coding) = self.content.last() {
                let unfolded = match coding.as_str() {
                    coding if is_gzip(coding) => gzip::decode(&body),
                    "br" => brotli_fold::decode(&body),
                    "zstd" => zstd_plain::decode(&body),
                    "deflate" => gzip::decode_deflate(&body),
                    _ => None,
                };
                let Some(entity) = unfolded else { break };
                body = entity;
                self.content.pop();
            }
        }
        Plain { body, codings_left: self.content }
    }

    /// Finds out which of them can be taken off a large body as it is read, and which are left.
    pub(crate) fn take_off_blob(mut self, mut blob: CodedBlob) -> Result<(CodedBlob, Vec<String>)> {
        if self.chunked {
            blob = blob.chunked()?;
        }
        if self.content.len() <= LAYERS_MAX {
            while let Some(coding) = self.content.last() {
                match blob.under(coding)? {
                    Ok(inner) => blob = inner,
                    Err(as_it_was) => {
                        blob = as_it_was;
                        break;
                    }
                }
                self.content.pop();
            }
        }
        Ok((blob, self.content))
    }
}

pub(super) fn is_gzip(coding: &str) -> bool {
    matches!(coding, "gzip" | "x-gzip")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codings(lines: &str) -> Codings {
        Codings::of(format!("HTTP/1.1 200 OK\r\n{lines}\r\n").as_bytes())
    }

    #[test]
    fn what_is_not_known_or_not_true_is_left_and_named() {
        let text = b"<html>plain</html>".to_vec();
        let gzipped = {
            use std::io::Write;
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(&text).unwrap();
            out.finish().unwrap()
        };
        let of = |lines: &str, body: &[u8]| codings(lines).take_off(body.to_vec());
        let whole = |body: &[u8], left: &[&str]| Plain {
            body: body.to_vec(),
            codings_left: left.iter().map(|s| (*s).to_owned()).collect(),
        };
        assert_eq!(of("Content-Encoding: gzip\r\n", &gzipped), whole(&text, &[]));
        assert_eq!(of("Content-Encoding: gzip\r\n", &text), whole(&text, &["gzip"]));
        assert_eq!(of("Content-Encoding: lzma\r\n", &text), whole(&text, &["lzma"]));
        assert_eq!(of("Content-Encoding: lzma, gzip\r\n", &gzipped), whole(&text, &["lzma"]));
        let many = ["gzip"; LAYERS_MAX + 1];
        assert_eq!(of(&format!("Content-Encoding: {}\r\n", many.join(",")), &gzipped), whole(&gzipped, &many));
    }

    #[test]
    fn deflate_is_read_with_and_without_its_header() {
        use std::io::Write;
        let text = b"deflate means two things. ".repeat(50);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        zlib.write_all(&text).unwrap();
        bare.write_all(&text).unwrap();
        for body in [zlib.finish().unwrap(), bare.finish().unwrap()] {
            let plain = codings("Content-Encoding: deflate\r\n").take_off(body);
            assert_eq!(plain, Plain { body: text.clone(), codings_left: Vec::new() });
        }
    }

    #[test]
    fn a_recipe_counts_only_for_the_codings_that_a_head_names() {
        let chunked_gzip = [layer::CHUNKED, 0, layer::GZIP, 0];
        let left = |lines: &str, recipe: &[u8]| codings(lines).without(recipe).map(|c| (c.chunked, c.content));
        let both = "Transfer-Encoding: chunked\r\nContent-Encoding: br, gzip\r\n";
        assert_eq!(left(both, &chunked_gzip), Some((false, vec!["br".to_owned()])));
        assert_eq!(left(both, &[]), Some((true, vec!["br".to_owned(), "gzip".to_owned()])));
        assert_eq!(left("Content-Encoding: gzip\r\n", &chunked_gzip), None);
        assert_eq!(left("Transfer-Encoding: chunked\r\n", &chunked_gzip), None);
        assert_eq!(left("Content-Encoding: br\r\n", &[layer::GZIP, 0]), None);
        assert_eq!(left("Content-Encoding: gzip\r\n", &[layer::GZIP]), None);
    }
}
