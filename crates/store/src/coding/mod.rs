//! Unfolding coded bodies. A page that arrives gzipped changes everywhere when it changes anywhere, so that neither
//! differences nor shared frames find anything in it. We store it unfolded, with a recipe that folds it back to the very
//! same bytes; where there is no such recipe, or it does not pay, the body is stored as it came.
//!
//! The recipe is proved before it is trusted: each layer that [`unfold`] takes off was folded back and compared. Why which
//! coding is tried how is in docs/decisions/0004-coded-bodies.md, with figures.

mod brotli_fold;
mod dechunk;
mod gzip;
mod plain;
mod stream;
mod zlib;
mod zstd_plain;

pub(crate) use plain::Codings;
pub use plain::{Plain, plain_body};
pub(crate) use stream::CodedBlob;
pub use stream::Content;

use crate::limits::UNFOLDED_BYTES_MAX;
use crate::wire::{Cursor, Put};
use herodotus_page::{ChunkLayout, ResponseHead, dechunk, rechunk};

/// Layers that a body may be wrapped in: transfer coding and content codings.
const LAYERS_MAX: usize = 4;

mod layer {
    pub(super) const CHUNKED: u8 = 1;
    pub(super) const GZIP: u8 = 2;
    pub(super) const BROTLI: u8 = 3;
}

/// Takes the layers off a body, outermost first. `None`: store it as it is.
pub(crate) fn unfold(head: &[u8], body: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let head = ResponseHead::parse(head)?;
    let mut codings = head.content_encodings();
    let chunked = head.is_chunked();
    if !chunked && codings.is_empty() || codings.len() >= LAYERS_MAX {
        return None;
    }
    let mut recipe = Vec::new();
    let mut inner: Option<Vec<u8>> = None;
    // A recorder may have taken the chunks off and left the header, so that this layer may be missing.
    if chunked
        && let Some((entity, layout)) = dechunk(body)
        && rechunk(&entity, &layout).as_deref() == Some(body)
    {
        recipe.push(layer::CHUNKED);
        recipe.put_bytes(&layout.to_bytes());
        inner = Some(entity);
    }
    while let Some(coding) = codings.pop() {
        let folded = inner.as_deref().unwrap_or(body);
        let (code, unfolded) = match coding.as_str() {
            "gzip" | "x-gzip" => (layer::GZIP, gzip::unfold(folded)),
            "br" => (layer::BROTLI, brotli_fold::unfold(folded)),
            _ => break,
        };
        let Some((entity, params)) = unfolded else { break };
        recipe.push(code);
        recipe.put_bytes(&params);
        inner = Some(entity);
    }
    let inner = inner?;
    debug_assert!(fold(&recipe, &inner).as_deref() == Some(body), "a layer was taken off that does not go back on");
    Some((inner, recipe))
}

/// Puts the layers back on. `None`: the recipe is not one of ours.
pub(crate) fn fold(recipe: &[u8], inner: &[u8]) -> Option<Vec<u8>> {
    let mut layers = Vec::new();
    let mut c = Cursor::new(recipe);
    while !c.is_empty() {
        layers.push((c.u8()?, c.bytes()?));
        (layers.len() <= LAYERS_MAX).then_some(())?;
    }
    let mut out: Option<Vec<u8>> = None;
    for (code, params) in layers.into_iter().rev() {
        let inner = out.as_deref().unwrap_or(inner);
        (inner.len() <= UNFOLDED_BYTES_MAX).then_some(())?;
        out = Some(match code {
            layer::CHUNKED => rechunk(inner, &ChunkLayout::from_bytes(params)?)?,
            layer::GZIP => gzip::fold(params, inner)?,
            layer::BROTLI => brotli_fold::fold(params, inner)?,
            _ => return None,
        });
    }
    out
}

/// The codes of a recipe's layers, from the outside in.
fn layer_codes(recipe: &[u8]) -> Option<Vec<u8>> {
    let mut c = Cursor::new(recipe);
    let mut codes = Vec::new();
    while !c.is_empty() {
        codes.push(c.u8()?);
        c.bytes()?;
    }
    Some(codes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn page() -> Vec<u8> {
        (0..2000u32).flat_map(|i| format!("<li>item {}</li>\n", i.wrapping_mul(40_503)).into_bytes()).collect()
    }

    fn head(lines: &str) -> Vec<u8> {
        format!("HTTP/1.1 200 OK\r\n{lines}\r\n").into_bytes()
    }

    /// As zlib makes it: `zlib` is held to that by vectors of its own.
    fn gzip(page: &[u8], level: u8) -> Vec<u8> {
        let mut out = vec![0x1f, 0x8b, 8, 0, 7, 0, 0, 0, 0, 3];
        out.extend(zlib::deflate(page, zlib::Params { level, window_bits: 15, mem_level: 8 }).unwrap());
        out.extend(crc32fast::hash(page).to_le_bytes());
        out.extend((page.len() as u32).to_le_bytes());
        out
    }

    /// As another encoder makes it.
    fn gzip_by_another(page: &[u8]) -> Vec<u8> {
        let mut out = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::new(6));
        out.write_all(page).unwrap();
        out.finish().unwrap()
    }

    fn chunks(body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for part in body.chunks(1000) {
            out.extend(format!("{:x}\r\n", part.len()).bytes());
            out.extend(part);
            out.extend(b"\r\n");
        }
        out.extend(b"0\r\n\r\n");
        out
    }

    fn check(lines: &str, body: &[u8]) -> Vec<u8> {
        let (inner, recipe) = unfold(&head(lines), body).unwrap();
        assert!(recipe.len() < body.len() / 4, "{} of {}", recipe.len(), body.len());
        assert_eq!(fold(&recipe, &inner).unwrap(), body);
        inner
    }

    #[test]
    fn gzip_of_every_level_folds_back() {
        for level in 1..=9 {
            assert_eq!(check("Content-Encoding: gzip\r\n", &gzip(&page(), level)), page(), "level {level}");
        }
    }

    #[test]
    fn chunks_around_gzip_fold_back() {
        let body = chunks(&gzip(&page(), 6));
        assert_eq!(check("Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n", &body), page());
        assert_eq!(plain_body(&head("Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n"), &body), page());
    }

    #[test]
    fn gzip_of_an_encoder_we_do_not_know_is_left_as_it_came_but_readers_see_through_it() {
        let (head, body) = (head("Content-Encoding: gzip\r\n"), gzip_by_another(&page()));
        assert_eq!(unfold(&head, &body), None);
        assert_eq!(plain_body(&head, &body), page());
    }

    #[test]
    fn chunks_around_something_that_does_not_unfold_are_taken_off_all_the_same() {
        let body = chunks(&gzip_by_another(&page()));
        assert_eq!(check("Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n", &body), gzip_by_another(&page()));
    }

    #[test]
    fn brotli_of_the_qualities_servers_use_folds_back() {
        for quality in [5, 6] {
            let params = brotli::enc::BrotliEncoderParams { quality, lgwin: 19, ..Default::default() };
            let mut body = Vec::new();
            brotli::BrotliCompress(&mut page().as_slice(), &mut body, &params).unwrap();
            assert_eq!(check("Content-Encoding: br\r\n", &body), page());
        }
    }

    #[test]
    fn zstd_is_left_as_it_came_but_readers_see_through_it() {
        let body = crate::compress::pack(&page(), 3).unwrap();
        assert_eq!(unfold(&head("Content-Encoding: zstd\r\n"), &body), None);
        assert_eq!(plain_body(&head("Content-Encoding: zstd\r\n"), &body), page());
    }

    #[test]
    fn what_lies_about_its_coding_is_left_alone() {
        for coding in ["gzip", "br", "zstd", "deflate", "gzip, gzip, gzip, gzip, gzip", "x"] {
            for body in [
                b"".as_slice(),
                b"plain text",
                &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3],
                &[0x28, 0xb5, 0x2f, 0xfd],
            ] {
                let head = head(&format!("Content-Encoding: {coding}\r\n"));
                assert_eq!(unfold(&head, body), None, "{coding}");
                assert_eq!(plain_body(&head, body), body);
            }
        }
    }

    #[test]
    fn a_bomb_never_unfolds_beyond_the_limit() {
        let zeros = vec![0; UNFOLDED_BYTES_MAX * 2];
        for (coding, body) in [("gzip", gzip(&zeros, 9)), ("zstd", crate::compress::pack(&zeros, 3).unwrap())] {
            let head = head(&format!("Content-Encoding: {coding}\r\n"));
            assert!(unfold(&head, &body).is_none_or(|(inner, _)| inner.len() <= UNFOLDED_BYTES_MAX), "{coding}");
            assert!(plain_body(&head, &body).len() <= UNFOLDED_BYTES_MAX * 2, "{coding}");
        }
    }

    #[test]
    fn forged_recipes_are_refused() {
        for recipe in [
            b"\x01".as_slice(),
            b"\x02\x01\x00",
            b"\x03\x02\xff\xff",
            b"\x04\x01\x09",
            b"\x09\x00",
            &[1, 0, 1, 0, 1, 0, 1, 0, 1, 0],
        ] {
            assert_eq!(fold(recipe, b"inner"), None, "{recipe:?}");
        }
    }
}
