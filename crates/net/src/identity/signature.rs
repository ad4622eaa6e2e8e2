//! Signatures over what travels: a word for the use, then the bytes, so that a signature of one thing is none of another.

use crate::error::{NetError, Result};
use herodotus_base::PeerKey;
use iroh::{PublicKey, SecretKey};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An ed25519 signature: 64 bytes, in two halves because serde knows arrays up to 32.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature([[u8; 32]; 2]);

impl Signature {
    pub(crate) fn sign(secret: &SecretKey, word: &str, what: &impl Serialize) -> Result<Self> {
        let signed = secret.sign(&message(word, what)?).to_bytes();
        let (low, high) = signed.split_at(32);
        let half = |bytes: &[u8]| <[u8; 32]>::try_from(bytes).unwrap_or_default();
        Ok(Self([half(low), half(high)]))
    }

    pub(crate) fn verify(&self, key: &PeerKey, word: &str, what: &impl Serialize) -> bool {
        let Ok(key) = PublicKey::from_bytes(&key.0) else { return false };
        let Ok(message) = message(word, what) else { return false };
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&self.0[0]);
        bytes[32..].copy_from_slice(&self.0[1]);
        key.verify(&message, &iroh::Signature::from_bytes(&bytes)).is_ok()
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0[0][..4]))
    }
}

fn message(word: &str, what: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = word.as_bytes().to_vec();
    bytes.push(0);
    bytes.extend(encode(what)?);
    Ok(bytes)
}

/// Our own things always have a form; that postcard can refuse one is a matter of its types.
pub(crate) fn encode(what: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_stdvec(what).map_err(|error| NetError::Settings(format!("it has no form: {error}")))
}

/// All of the bytes or nothing: a form with something behind it is another form.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> std::result::Result<T, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(format!("{} bytes too many", rest.len())),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_covers_the_use_the_bytes_and_the_key() {
        let secret = SecretKey::from_bytes(&[5; 32]);
        let key = PeerKey(*secret.public().as_bytes());
        let signature = Signature::sign(&secret, "a", &(1u64, "x")).unwrap();
        assert!(signature.verify(&key, "a", &(1u64, "x")));
        assert!(!signature.verify(&key, "b", &(1u64, "x")));
        assert!(!signature.verify(&key, "a", &(2u64, "x")));
        assert!(!signature.verify(&PeerKey([3; 32]), "a", &(1u64, "x")));
        let mut other = signature;
        other.0[1][3] ^= 1;
        assert!(!other.verify(&key, "a", &(1u64, "x")));
    }

    #[test]
    fn bytes_behind_a_form_are_not_overlooked() {
        let mut bytes = encode(&7u64).unwrap();
        assert_eq!(decode::<u64>(&bytes), Ok(7));
        bytes.push(0);
        assert!(decode::<u64>(&bytes).is_err());
    }
}
