//! Digests of payloads. SHA-256 is what we trust and check on every read; SHA-1 is what the field's tools speak
//! (WARC-Payload-Digest, CDX), so both are computed in one pass over the bytes.

use data_encoding::{BASE32, HEXLOWER_PERMISSIVE};
use sha2::Digest as _;
use std::fmt;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256(pub [u8; 32]);

/// A SHA-1 digest: a name that other tools understand, never proof of equality.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha1(pub [u8; 20]);

/// Both digests of one payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digests {
    pub sha256: Sha256,
    pub sha1: Sha1,
}

impl Sha256 {
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }
}

impl Sha1 {
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha1::Sha1::digest(bytes).into())
    }

    /// For bytes that arrive in pieces.
    pub fn hasher() -> Sha1Hasher {
        Sha1Hasher(sha1::Sha1::default())
    }

    /// The 32 letters used in WARC and CDX files.
    pub fn base32(&self) -> String {
        BASE32.encode(&self.0)
    }

    /// Reads `sha1:` digests as the field writes them: base32 in either case, or 40 hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let text = match text.split_once(':') {
            Some((algorithm, rest)) if algorithm.eq_ignore_ascii_case("sha1") => rest,
            Some(_) => return None,
            None => text,
        };
        let bytes = match text.len() {
            32 => {
                let mut upper = <[u8; 32]>::try_from(text.as_bytes()).ok()?;
                upper.make_ascii_uppercase();
                let mut bytes = [0; 20];
                BASE32.decode_mut(&upper, &mut bytes).ok()?;
                bytes
            }
            40 => HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?.try_into().ok()?,
            _ => return None,
        };
        Some(Self(bytes))
    }
}

impl Digests {
    pub fn of(bytes: &[u8]) -> Self {
        Self { sha256: Sha256::of(bytes), sha1: Sha1::of(bytes) }
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER_PERMISSIVE.encode(&self.0))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256({self})")
    }
}

/// As WARC writes it: `sha1:` and base32.
impl fmt::Display for Sha1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha1:{}", self.base32())
    }
}

impl fmt::Debug for Sha1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha1({})", self.base32())
    }
}

/// Computes a [`Sha1`] alone.
#[derive(Clone, Debug)]
pub struct Sha1Hasher(sha1::Sha1);

impl Sha1Hasher {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn finish(self) -> Sha1 {
        Sha1(self.0.finalize().into())
    }
}

/// Computes [`Digests`] over bytes that arrive in pieces.
#[derive(Clone, Default, Debug)]
pub struct Digester {
    sha256: sha2::Sha256,
    sha1: sha1::Sha1,
}

impl Digester {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        self.sha1.update(bytes);
    }

    pub fn finish(self) -> Digests {
        Digests { sha256: Sha256(self.sha256.finalize().into()), sha1: Sha1(self.sha1.finalize().into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_payload_has_the_well_known_names() {
        let d = Digester::new().finish();
        assert_eq!(d.sha1.to_string(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(d.sha256.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn sha1_reads_every_spelling_of_the_field() {
        let d = Sha1::of(b"");
        for text in [
            "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            "SHA1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj",
            "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709",
        ] {
            assert_eq!(Sha1::parse(text), Some(d), "{text}");
        }
        for text in ["", "sha1:", "md5:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "sha1:1I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"] {
            assert_eq!(Sha1::parse(text), None, "{text}");
        }
    }

    #[test]
    fn pieces_and_whole_agree() {
        let mut d = Digester::new();
        d.update(b"hero");
        d.update(b"dotus");
        assert_eq!(d.finish(), Digests::of(b"herodotus"));
    }
}
