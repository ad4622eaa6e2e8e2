//! HTTP heads, chunks, codings, URLs and times of any bytes: every function is total, and what has a way back comes back.

use herodotus_base::Timestamp;
use herodotus_base::limits::URL_BYTES_MAX;
use herodotus_page::{
    ChunkLayout, ResponseHead, compress_url, dechunk, decode_text, domain_range, expand_url, head_len, host_of_key,
    host_range, prefix_range, readable_lines, rechunk, surt, surt_bytes, title,
};
use herodotus_store::coding::plain_body;
use herodotus_store::limits::UNFOLDED_BYTES_MAX;

pub fn run(bytes: &[u8]) {
    message(bytes);
    chunks(bytes);
    address(bytes);
    text(bytes);
}

fn message(bytes: &[u8]) {
    let at = head_len(bytes).unwrap_or(0);
    assert!(at <= bytes.len());
    let (head, body) = bytes.split_at(at);
    if let Some(parsed) = ResponseHead::parse(bytes) {
        assert!(parsed.status.is_none_or(|status| (100..1000).contains(&status)));
        assert!(parsed.headers().all(|(name, _)| !name.is_empty()));
        let _ = (parsed.header("content-type"), parsed.content_type_essence(), parsed.content_encodings());
    }
    assert!(plain_body(head, body).len() <= bytes.len().max(2 * UNFOLDED_BYTES_MAX));
}

fn chunks(bytes: &[u8]) {
    if let Some((entity, layout)) = dechunk(bytes) {
        assert!(entity.len() <= bytes.len());
        assert_eq!(rechunk(&entity, &layout).as_deref(), Some(bytes), "chunks go back on");
        let layout = ChunkLayout::from_bytes(&layout.to_bytes()).expect("our own");
        assert_eq!(rechunk(&entity, &layout).as_deref(), Some(bytes), "chunks go back on after storage");
    }
    if let Some(forged) = ChunkLayout::from_bytes(bytes) {
        let _ = rechunk(b"an entity", &forged);
    }
}

fn address(bytes: &[u8]) {
    let key = surt_bytes(bytes);
    assert!(key.len() <= URL_BYTES_MAX && key.bytes().all(|byte| byte.is_ascii_graphic()), "{key}");
    let url = String::from_utf8_lossy(bytes);
    let key = surt(&url);
    let (from, to) = prefix_range(&url);
    assert!(from <= to, "{from} {to}");
    let (from, to) = host_range(&url);
    assert!(from <= to, "{from} {to}");
    for (from, to) in domain_range(&url) {
        assert!(from <= to, "{from} {to}");
    }
    let _ = host_of_key(&key);
    assert_eq!(expand_url(&key, &compress_url(&key, &url)).as_deref(), Some(&*url), "a URL comes back");
    let _ = expand_url(&key, bytes);
    if let Ok(time) = Timestamp::parse(&url) {
        assert_eq!(Timestamp::parse(&time.rfc3339()).ok(), Some(time));
        assert_eq!(Timestamp::parse(&time.digits14()).ok(), Some(time.floor_second()));
        assert_eq!(Timestamp::from_sortable(time.to_sortable()), Some(time));
        assert!(Timestamp::parse_end(&url).is_ok_and(|end| end >= time));
    }
}

fn text(bytes: &[u8]) {
    for content_type in [None, Some("text/html; charset=utf-16"), Some("text/plain; charset=shift_jis")] {
        let text = decode_text(bytes, content_type);
        let _ = title(&text);
        let _ = readable_lines(bytes, content_type);
    }
}
