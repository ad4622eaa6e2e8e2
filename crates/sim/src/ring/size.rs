//! How long a message is on the wire, without making it. `postcard` would tell the same and take ten times as long, which is felt at a thousand
//! million messages; a test holds both against each other.

use herodotus_ring::{Answer, Body, Contact, Envelope, Found, Neighbours, Notice, Question};
use std::net::SocketAddr;

/// An id or a key.
const PLACE: usize = 32;
/// A variant's number: there are fewer than 128 of each.
const VARIANT: usize = 1;
/// Whether there is one.
const OPTION: usize = 1;
const BOOL: usize = 1;

/// Bytes of a message as `postcard` writes it. What the transport adds (QUIC, UDP and IP) is not in it.
pub fn envelope_bytes(envelope: &Envelope) -> usize {
    let Envelope { to: _, from, nonce, is_member: _, body } = envelope;
    let body = match body {
        Body::Ask(question) => match question {
            Question::Neighbours { known } => varint(*known),
            Question::Find { key: _ } => PLACE,
            Question::Leaving { neighbours } => neighbours_bytes(neighbours),
        },
        Body::Answer(answer) => match answer {
            Answer::Neighbours(neighbours) => neighbours_bytes(neighbours),
            Answer::Found(Found { neighbours, nearer }) => neighbours_bytes(neighbours) + list_bytes(nearer),
            Answer::Same | Answer::Noted | Answer::Outside => 0,
        },
        Body::Tell(notice) => match notice {
            Notice::Here => 0,
            Notice::Meet { contact } => contact_bytes(contact),
        },
    };
    PLACE + contact_bytes(from) + varint(*nonce) + BOOL + 2 * VARIANT + body
}

fn neighbours_bytes(neighbours: &Neighbours) -> usize {
    let before = neighbours.predecessor.as_ref().map_or(0, contact_bytes);
    OPTION + before + list_bytes(&neighbours.successors) + BOOL
}

fn list_bytes(contacts: &[Contact]) -> usize {
    varint(contacts.len() as u64) + contacts.iter().map(contact_bytes).sum::<usize>()
}

fn contact_bytes(contact: &Contact) -> usize {
    let addresses: usize = contact.addresses.iter().map(address_bytes).sum();
    2 * PLACE + varint(u64::from(contact.index)) + varint(contact.addresses.len() as u64) + addresses
}

fn address_bytes(address: &SocketAddr) -> usize {
    let ip = if address.is_ipv4() { 4 } else { 16 };
    VARIANT + ip + varint(u64::from(address.port()))
}

/// Seven bits to a byte.
fn varint(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use herodotus_base::{Id, PeerKey};

    fn contact(n: u8, address: &str) -> Contact {
        let addresses = address.split_whitespace().map(|text| text.parse().expect("an address")).collect();
        Contact::of_key(PeerKey([n; 32]), u16::from(n) * 7, addresses)
    }

    #[test]
    fn sizes_are_those_of_postcard() {
        let all = ["", "10.0.0.1:80", "[2001:db8::1]:16384 10.0.0.1:127", "192.0.2.1:65535 [::1]:128"];
        let contacts: Vec<Contact> = (0..).zip(all).map(|(n, address)| contact(n * 31, address)).collect();
        let neighbours = |count: usize| Neighbours {
            predecessor: contacts.get(count).cloned(),
            successors: contacts.iter().cycle().take(count * 60).cloned().collect(),
            is_whole: count == 1,
        };
        let mut bodies = vec![
            Body::Ask(Question::Find { key: Id([200; 32]) }),
            Body::Answer(Answer::Same),
            Body::Answer(Answer::Noted),
            Body::Answer(Answer::Outside),
            Body::Tell(Notice::Here),
        ];
        for count in 0..4 {
            bodies.push(Body::Ask(Question::Leaving { neighbours: neighbours(count) }));
            bodies.push(Body::Answer(Answer::Neighbours(neighbours(count))));
            bodies.push(Body::Tell(Notice::Meet { contact: contacts[count].clone() }));
            let nearer = contacts[count..].to_vec();
            bodies.push(Body::Answer(Answer::Found(Found { neighbours: neighbours(count), nearer })));
        }
        for shift in 0..64 {
            bodies.push(Body::Ask(Question::Neighbours { known: u64::MAX >> shift }));
        }
        for (at, body) in bodies.into_iter().enumerate() {
            let from = contacts[at % contacts.len()].clone();
            let envelope =
                Envelope { to: Id::ZERO, from, nonce: (at as u64) << (at % 60), is_member: at % 2 == 0, body };
            let exact = postcard::to_stdvec(&envelope).expect("it can be written").len();
            assert_eq!(envelope_bytes(&envelope), exact, "{envelope:?}");
        }
    }
}
