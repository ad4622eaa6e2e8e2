//! Every number that bounds peers, once, with its reason. Those in [`crate::Limits`] are its defaults.

use std::time::Duration;

/// The protocol's name in the handshake. Another number is another protocol: both can be spoken at once while a ring moves on.
pub const ALPN: &[u8] = b"herodotus/1";
/// The version inside the frames, for changes that both sides can see and bear.
pub const FRAME_VERSION: u8 = 1;
/// Version, form, kind, nothing, and four bytes of length.
pub const HEAD_BYTES: usize = 8;

/// A call or its answer. Whatever is larger is bulk and goes by a stream, which nobody has to hold in memory.
pub const CALL_BYTES_MAX: usize = 1 << 20;
/// A notice. With [`NOTICES_MAX`] of them a peer's share of memory is full, so those of one that keeps the rules are not refused.
pub const NOTICE_BYTES_MAX: usize = 64 << 10;
/// What opens a stream: names and ranges, no contents.
pub const STREAM_HEAD_BYTES_MAX: usize = 64 << 10;
/// A hello has a ring, a pass and some numbers: 200 bytes. The rest is room for years to come.
pub const HELLO_BYTES_MAX: usize = 16 << 10;
/// A refusal is a word and a sentence.
pub const REFUSAL_BYTES_MAX: usize = 2 << 10;
/// The sentence in it, which ends up in somebody's log.
pub const REFUSAL_TEXT_BYTES_MAX: usize = 512;

/// Keys that an owner can shut out. A ring that has fallen out with more machines than this had better be made anew.
pub const REVOKED_KEYS_MAX: usize = 4096;
/// As many keys of 32 bytes, and what stands around them.
pub const REVOCATIONS_BYTES_MAX: usize = REVOKED_KEYS_MAX * 32 + 1024;
/// Tickets that are out at once. A person makes a handful; a script that makes more has gone wrong.
pub const INVITATIONS_MAX: usize = 1024;
/// A used ticket is remembered so long after its expiry, so that a joiner who lost the answer can ask again.
pub const INVITATION_GRACE: Duration = Duration::from_secs(24 * 60 * 60);
/// A ticket is pasted by people: charter, addresses and secret have some 300 bytes.
pub const TICKET_BYTES_MAX: usize = 4 << 10;
/// A ring's name is for people.
pub const RING_NAME_BYTES_MAX: usize = 128;
/// The largest file of ours: the revocations, or the invitations with their passes.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

/// Where a machine can be dialled: old and new addresses, inside and outside. Who names more is fishing.
pub const DIRECT_ADDRESSES_MAX: usize = 8;
/// Virtual nodes of one machine in a closed ring, whose members the owner trusts not to crowd it.
pub const CLOSED_INDEX_MAX: u16 = 256;
/// Virtual nodes of one address in an open ring: the less, the dearer is a place that was looked for. The thesis had four.
pub const OPEN_INDEX_MAX: u16 = 4;

/// Connections that we dialled and that are kept: a ring of thousands has log2(N) fingers and some dozens of neighbours, and
/// the cache of known peers wants hundreds. One idle connection costs 20 to 50 KB.
pub const DIALLED_MAX: usize = 512;
/// Connections that others dialled. As many, because the ring is symmetric.
pub const ACCEPTED_MAX: usize = 512;
/// Strangers: connections whose hello has not come yet. Each may hold [`STRANGER_WINDOW_BYTES`] for [`HELLO_WAIT`].
pub const HANDSHAKES_MAX: usize = 128;
/// Of those, from one address. A quarter, so that one address alone cannot shut the door for everybody.
pub const HANDSHAKES_PER_ADDRESS_MAX: usize = 32;
/// Accepted connections from one address: an institution behind one address may run some dozens of nodes.
pub const ACCEPTED_PER_ADDRESS_MAX: usize = 64;
/// Accepted connections of one key: one in use and one that is being given up, or that a restart left behind.
pub const ACCEPTED_PER_KEY_MAX: usize = 2;
/// When this share of the handshakes is under way, callers must show first that they are where they say (QUIC's retry): one
/// round trip more, and floods from forged addresses no longer leave anything behind.
pub const RETRY_SHARE: usize = 4;
/// Distinct addresses whose counts are kept.
pub const ADDRESSES_MAX: usize = 16_384;

/// Calls and streams under way that one peer has opened. What is above waits at its side.
pub const STREAMS_MAX: u32 = 256;
/// One-way messages under way from one peer. They are small and soon done.
pub const NOTICES_MAX: u32 = 64;
/// What one peer may have sent on one stream before we read it: 100 Mbit/s at 100 ms.
pub const STREAM_WINDOW_BYTES: u32 = 1_250_000;
/// And on all of its streams.
pub const WINDOW_BYTES: u32 = 4 << 20;
/// What a stranger may have sent before its hello: a hello, twice over.
pub const STRANGER_WINDOW_BYTES: u32 = 32 << 10;
/// What waits for one peer to take it. Whoever does not read makes us hold no more than this.
pub const SEND_WINDOW_BYTES: u64 = 4 << 20;
/// Bodies of calls longer than one packet that are held for one peer: four of the largest. The caller keeps count and waits at
/// its side; one that does not is refused. Nobody waits here: what waits unread fills the window, and those who have leave
/// would wait for what cannot come.
pub const HELD_PER_PEER_BYTES_MAX: usize = 4 << 20;
/// And for all peers together.
pub const HELD_BYTES_MAX: usize = 256 << 20;
/// Bodies up to this size need no leave: they came in one packet and are in memory anyway.
pub const HELD_FREE_BYTES: usize = 2 << 10;

/// QUIC gives up on a peer after so long without a sign of life. Keep-alives go out every 5 s.
pub const SILENCE_MAX: Duration = Duration::from_secs(20);
/// A connection over which a call was not answered and no packet came for so long is taken for dead, and the next call dials:
/// a peer that was killed and started anew knows nothing of it. Several times what a lost packet takes to be sent again.
pub const DEAD_AFTER: Duration = Duration::from_millis(1_500);
/// A dial: three tries of a handshake over a bad line.
pub const DIAL_WAIT: Duration = Duration::from_secs(10);
/// From the handshake to an accepted hello: two round trips and a signature.
pub const HELLO_WAIT: Duration = Duration::from_secs(5);
/// From a frame's first byte to its last: 1 MiB at 50 KB/s.
pub const FRAME_WAIT: Duration = Duration::from_secs(20);
/// An answer that the caller does not take. As long as a frame has to come in.
pub const ANSWER_WAIT: Duration = Duration::from_secs(20);
/// A bulk stream on which nothing moves in either direction.
pub const STREAM_SILENCE_MAX: Duration = Duration::from_secs(60);
/// A connection over which nobody has said anything is closed. A new one costs two round trips.
pub const CONNECTION_IDLE: Duration = Duration::from_secs(120);
/// Whoever closes waits so long for the other side to hear of it.
pub const CLOSE_WAIT: Duration = Duration::from_secs(3);
/// How often the connections are looked over: idle ones, moved ones, old counts.
pub const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// More often would be work without end, whatever the settings say.
pub const SWEEP_INTERVAL_MIN: Duration = Duration::from_millis(10);

/// Calls of one peer per second, for long: neighbours at work exchange some hundreds.
pub const CALLS_PER_S: u32 = 2_000;
/// And at once.
pub const CALLS_BURST: u32 = 8_000;
/// Bytes of frames (not of streams, which their reader holds back) of one peer per second: a gigabit line.
pub const BYTES_PER_S: u32 = 128 << 20;
pub const BYTES_BURST: u32 = 128 << 20;
/// Who is so far over its rate that it would wait longer than this is refused. A caller would have given up by then.
pub const RATE_WAIT_MAX: Duration = Duration::from_secs(2);
/// Peers whose rates are kept when they are not connected, so that a new connection is no new allowance.
pub const RATES_MAX: usize = 4096;

/// The first refusal after garbage. A mistake in a hello is repaired within minutes; a flood is stopped at once.
pub const BAN_FIRST: Duration = Duration::from_secs(5);
/// Each further one doubles, up to this.
pub const BAN_MAX: Duration = Duration::from_secs(60 * 60);
/// Good conduct for so long, and it is forgotten.
pub const BAN_FORGOTTEN: Duration = Duration::from_secs(2 * 60 * 60);
/// Peers remembered for garbage. The one whose time is up first goes when the table is full.
pub const BANS_MAX: usize = 4096;

/// A proof that somebody answers at an address holds so long: addresses of homes change daily.
pub const PROOF_LASTS: Duration = Duration::from_secs(10 * 60);
/// Proofs that are kept.
pub const PROOFS_MAX: usize = 8192;
/// Dials from a socket of their own, for one address alone, when the transport was led astray by another.
pub const ASIDE_MAX: usize = 32;
/// Dial-backs under way. Each is a handshake that strangers can make us try.
pub const PROVING_MAX: usize = 32;
/// Places (address and index) whose holder is known.
pub const HOLDERS_MAX: usize = 65_536;
/// A holder that was not proven for so long has gone: three proofs missed.
pub const HOLDER_LASTS: Duration = Duration::from_secs(30 * 60);
