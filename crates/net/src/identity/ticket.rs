//! What a person pastes to join a ring: the charter, who to ask, a secret that works once, and until when.
//!
//! As text it is `hdt1` and base32, so that it survives chats and terminals, double clicks and capital letters. Whoever reads it
//! can join in our place: it is a secret until it was used.

use super::charter::Charter;
use super::signature::{decode, encode};
use crate::address::Address;
use crate::error::{NetError, Result};
use crate::limits;
use data_encoding::BASE32_NOPAD;
use herodotus_base::{Sha256, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    charter: Charter,
    issuer: Address,
    /// None in an open ring, where nobody is asked.
    pub(crate) secret: Option<[u8; 32]>,
    expires_ms: i64,
}

const PREFIX: &str = "hdt1";
const CHECK_BYTES: usize = 4;

impl Ticket {
    pub(crate) fn new(charter: Charter, issuer: Address, secret: Option<[u8; 32]>, expires: Timestamp) -> Result<Self> {
        if issuer.direct.len() > limits::DIRECT_ADDRESSES_MAX {
            return Err(NetError::TooMany { what: "addresses in a ticket", max: limits::DIRECT_ADDRESSES_MAX });
        }
        Ok(Self { charter, issuer, secret, expires_ms: expires.millis() })
    }

    pub fn charter(&self) -> &Charter {
        &self.charter
    }

    /// Whom to ask, and whom to know first.
    pub fn issuer(&self) -> &Address {
        &self.issuer
    }

    pub fn expires(&self) -> Timestamp {
        Timestamp::from_millis_clamped(self.expires_ms)
    }

    /// As a person pastes it.
    pub fn to_text(&self) -> Result<String> {
        let mut bytes = encode(self)?;
        bytes.extend_from_slice(&Sha256::of(&bytes).0[..CHECK_BYTES]);
        Ok(format!("{PREFIX}{}", BASE32_NOPAD.encode(&bytes).to_ascii_lowercase()))
    }
}

impl FromStr for Ticket {
    type Err = NetError;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |what: &str| NetError::Ticket(what.to_owned());
        // Mail and chats break lines.
        let text: String = text.chars().filter(|c| !c.is_whitespace()).take(2 * limits::TICKET_BYTES_MAX).collect();
        let text = text.to_ascii_uppercase();
        let Some(body) = text.strip_prefix("HDT1") else {
            return Err(match text.strip_prefix("HDT").and_then(|rest| rest.chars().next()?.to_digit(10)) {
                Some(found) => {
                    NetError::Newer { what: "the ticket".into(), found: u8::try_from(found).unwrap_or(0), known: 1 }
                }
                None => wrong("it does not begin with hdt1"),
            });
        };
        let bytes = BASE32_NOPAD.decode(body.as_bytes()).map_err(|_| wrong("it has letters that no ticket has"))?;
        if bytes.len() > limits::TICKET_BYTES_MAX {
            return Err(wrong("it is too long"));
        }
        let Some((front, check)) = bytes.split_last_chunk::<CHECK_BYTES>() else {
            return Err(wrong("it is too short"));
        };
        if Sha256::of(front).0[..CHECK_BYTES] != check[..] {
            return Err(wrong("a letter is missing or wrong"));
        }
        let ticket: Self = decode(front).map_err(NetError::Ticket)?;
        ticket.charter.check()?;
        if !ticket.issuer.is_sound() {
            return Err(wrong("its address is none"));
        }
        Ok(ticket)
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the secret: tickets end up in logs.
        f.debug_struct("Ticket").field("issuer", &self.issuer).field("charter", &self.charter).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Draft;
    use herodotus_base::PeerKey;
    use iroh::SecretKey;

    fn ticket() -> Ticket {
        let owner = SecretKey::from_bytes(&[1; 32]);
        let charter = Charter::closed(
            &owner,
            Draft { name: "letters", r: 16, copies: 6, is_by_url: false },
            Timestamp::default(),
        )
        .unwrap();
        let issuer = Address::new(PeerKey([2; 32]), ["192.0.2.7:4433".parse().unwrap()]);
        Ticket::new(charter, issuer, Some([7; 32]), Timestamp::from_millis_clamped(1_000)).unwrap()
    }

    #[test]
    fn a_ticket_survives_line_breaks_and_capital_letters() {
        let text = ticket().to_text().unwrap();
        assert!(text.starts_with("hdt1") && text.len() < 600, "{}", text.len());
        assert_eq!(text.parse::<Ticket>().unwrap(), ticket());
        let broken = format!("  {}\n{}\r\n", &text[..50].to_uppercase(), &text[50..]);
        assert_eq!(broken.parse::<Ticket>().unwrap(), ticket());
        assert!(!format!("{:?}", ticket()).contains("7, 7"));
    }

    #[test]
    fn a_ticket_with_a_wrong_letter_is_refused_with_the_fix() {
        let text = ticket().to_text().unwrap();
        for at in 4..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] = if other[at] == b'a' { b'b' } else { b'a' };
            assert!(String::from_utf8(other).unwrap().parse::<Ticket>().is_err(), "{at}");
            assert!(text[..at].parse::<Ticket>().is_err(), "{at}");
        }
        let error = "hdt2aaaa".parse::<Ticket>().unwrap_err();
        assert!(matches!(error, NetError::Newer { found: 2, .. }));
        let error = "hello".parse::<Ticket>().unwrap_err().to_string();
        assert!(error.contains("Copy it whole"), "{error}");
        assert!("hdt1".parse::<Ticket>().is_err() && "".parse::<Ticket>().is_err());
    }
}
