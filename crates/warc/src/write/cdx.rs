//! One line of a CDXJ index, byte for byte as cdxj-indexer writes it: the key, fourteen digits, and JSON whose values are
//! strings, whose characters beyond ASCII are escaped, and whose separators have a space, as Python's `json.dumps` has it.

use herodotus_base::Timestamp;
use std::fmt::{self, Write as _};

/// One record in an index. Index responses, revisits, resources and metadata; not requests, not warcinfo, and not
/// resources or metadata of type `application/warc-fields`: so cdxj-indexer does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CdxLine {
    /// The URL's sort key (SURT).
    pub key: String,
    pub time: Timestamp,
    pub url: String,
    /// Without parameters: `text/html`. `warc/revisit` for every revisit.
    pub mime: Option<String>,
    /// Of responses, and of revisits that hold HTTP headers.
    pub status: Option<u16>,
    /// As WARC-Payload-Digest has it: `sha1:…`.
    pub digest: Option<String>,
    /// Of the record's member in `filename`; without a file there is nothing to point into, and both are left out.
    pub length: u64,
    pub offset: u64,
    pub filename: Option<String>,
}

impl CdxLine {
    /// What lines are sorted by.
    pub fn sort_key(&self) -> String {
        // A key is one word, whatever the caller made of a URL.
        let key = self.key.replace(' ', "%20").replace('\n', "%0A").replace('\r', "%0D");
        format!("{key} {}", self.time.digits14())
    }
}

/// The line, without its line end.
impl fmt::Display for CdxLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {{", self.sort_key())?;
        let status = self.status.map(|status| status.to_string());
        let place = self.filename.as_ref().map(|_| (self.length.to_string(), self.offset.to_string()));
        let (length, offset) = place.as_ref().map(|(l, o)| (l.as_str(), o.as_str())).unzip();
        let fields = [
            ("url", Some(self.url.as_str())),
            ("mime", self.mime.as_deref()),
            ("status", status.as_deref()),
            ("digest", self.digest.as_deref()),
            ("length", length),
            ("offset", offset),
            ("filename", self.filename.as_deref()),
        ];
        let present = fields.iter().filter_map(|(name, value)| value.map(|value| (name, value)));
        for (index, (name, value)) in present.enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}\"{name}\": ")?;
            write_string(f, value)?;
        }
        f.write_char('}')
    }
}

/// A JSON string in ASCII.
fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            ' '..='~' => f.write_char(c)?,
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(f, "\\u{unit:04x}")?;
                }
            }
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> CdxLine {
        CdxLine {
            key: "com,example)/".to_owned(),
            time: Timestamp::parse("2014-01-03T03:03:21Z").unwrap(),
            url: "http://example.com/".to_owned(),
            mime: Some("text/html".to_owned()),
            status: Some(200),
            digest: Some("sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A".to_owned()),
            length: 1043,
            offset: 333,
            filename: Some("example.warc.gz".to_owned()),
        }
    }

    #[test]
    fn a_line_is_what_cdxj_indexer_prints() {
        // Of example.warc.gz in cdxj-indexer's own tests.
        assert_eq!(
            line().to_string(),
            r#"com,example)/ 20140103030321 {"url": "http://example.com/", "mime": "text/html", "status": "200", "digest": "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A", "length": "1043", "offset": "333", "filename": "example.warc.gz"}"#
        );
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let line = CdxLine { mime: None, status: None, digest: None, filename: None, ..line() };
        assert_eq!(line.to_string(), r#"com,example)/ 20140103030321 {"url": "http://example.com/"}"#);
    }

    #[test]
    fn any_url_stays_on_one_line_of_ascii_json() {
        let line = CdxLine { url: "http://x/\"\\\n\u{7f}é😀".to_owned(), key: "x)/a b\n".to_owned(), ..line() };
        let text = line.to_string();
        assert!(text.starts_with("x)/a%20b%0A 2014"), "{text}");
        assert!(text.contains(r#""http://x/\"\\\n\u007f\u00e9\ud83d\ude00""#), "{text}");
    }
}
