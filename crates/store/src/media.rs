//! Which media types are worth packing.

/// Formats that compress themselves: packing them again costs time and gains nothing.
pub(crate) fn is_compressed_media(media: &str) -> bool {
    match media.split_once('/') {
        Some(("image", kind)) => {
            !matches!(kind, "svg+xml" | "bmp" | "x-ms-bmp" | "x-icon" | "vnd.microsoft.icon" | "tiff")
        }
        Some(("video", _)) => true,
        Some(("audio", kind)) => !matches!(kind, "wav" | "x-wav" | "midi"),
        Some(("font", kind)) => matches!(kind, "woff" | "woff2"),
        Some(("application", kind)) => matches!(
            kind,
            "zip"
                | "gzip"
                | "x-gzip"
                | "x-bzip2"
                | "x-xz"
                | "zstd"
                | "x-7z-compressed"
                | "x-rar-compressed"
                | "vnd.rar"
                | "java-archive"
                | "epub+zip"
                | "font-woff"
                | "font-woff2"
        ),
        _ => false,
    }
}

/// Formats that are certain to be text.
pub(crate) fn is_text_media(media: &str) -> bool {
    media.starts_with("text/")
        || media.ends_with("+xml")
        || media.ends_with("+json")
        || matches!(
            media,
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/x-javascript"
                | "application/warc-fields"
        )
}
