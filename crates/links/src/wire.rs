//! What a call costs on the wire with everything that carries it, by counting: QUIC tells the bytes of a connection, not of a call.
//!
//! No packet is lost, and none is shared with anything else: who talks much pays less than this. docs/figures.md sets it beside what a real connection took.

/// IPv4 and UDP.
const UDP_BYTES: usize = 28;
/// A short QUIC head with a connection id of 8 and a number of 2 bytes; its seal.
const QUIC_BYTES: usize = 11 + 16;
const PACKET_BYTES: usize = UDP_BYTES + QUIC_BYTES;
const STREAM_FRAME_BYTES: usize = 8;
const ACK_FRAME_BYTES: usize = 6;
/// What QUIC may put into a packet before it has tried larger ones (RFC 9000, 14.1), without IP and UDP.
const DATAGRAM_BYTES: usize = 1_200;
/// The head of a call and of its answer: `net::frame`.
const FRAME_HEAD_BYTES: usize = 8;

/// Everything that goes over the wire for a call, both ways: packets, one acknowledgement for two of them, the answer and its acknowledgement.
pub fn on_the_wire(call_bytes: usize, answer_bytes: usize) -> usize {
    let room = DATAGRAM_BYTES - QUIC_BYTES - STREAM_FRAME_BYTES;
    let packets = (call_bytes + FRAME_HEAD_BYTES).div_ceil(room);
    let there = call_bytes + FRAME_HEAD_BYTES + packets * (PACKET_BYTES + STREAM_FRAME_BYTES);
    let acks = (packets.div_ceil(2) + 1) * (PACKET_BYTES + ACK_FRAME_BYTES);
    there + acks + PACKET_BYTES + STREAM_FRAME_BYTES + ACK_FRAME_BYTES + FRAME_HEAD_BYTES + answer_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_of_one_packet_costs_its_head_and_a_longer_one_a_twentieth_more() {
        assert_eq!(on_the_wire(100, 1) - 100, 271);
        let long = on_the_wire(100_000, 1) as f64 / 100_000.0;
        assert!((1.07..1.10).contains(&long), "{long}");
    }
}
