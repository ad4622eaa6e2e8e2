//! Hosts that take their time, and hosts that never come to an end.

use super::Expect::{Either, Failure, Truncated, Whole};
use super::Group::{Endless, Slow};
use super::plan::{Door, Plan};
use super::talk::Talk;
use crate::limits::HOSTILE_DRIP_EVERY;
use std::io;
use std::time::Duration;

const LATE: super::Expect = Failure(&["first_byte_timeout"]);
const OPEN_END: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<!DOCTYPE html>\n";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";

pub(super) fn plans() -> Vec<Plan> {
    let mut plans = slow();
    plans.extend(endless());
    plans
}

fn slow() -> Vec<Plan> {
    vec![
        Plan::new(
            "slow-head",
            Slow,
            LATE,
            "Sends its head a byte at a time, to hold a connection for hours.",
            |t, _| t.drip(format!("HTTP/1.1 200 OK\r\nX-Patience: {}\r\n\r\n", "z".repeat(100_000)).as_bytes()),
        ),
        Plan::new("silent-head", Slow, LATE, "Takes the request and never says a word.", |t, _| t.hold()),
        Plan::new("half-head", Slow, LATE, "Begins a head and falls silent in the middle of a line.", |t, _| {
            t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/ht")?;
            t.hold()
        }),
        Plan::new(
            "silent-connect",
            Slow,
            LATE,
            "Accepts the connection and never says a word, whatever is asked.",
            |t, _| t.hold(),
        )
        .door(Door::Raw),
        Plan::new(
            "slow-body",
            Slow,
            Truncated(&["idle", "slow", "time"]),
            "Sends a byte of its body a minute: always alive, never done.",
            |t, _| {
                t.say(OPEN_END)?;
                loop {
                    t.say(b"x")?;
                    t.pause(Duration::from_secs(60))?;
                }
            },
        ),
        Plan::new(
            "drip-body",
            Slow,
            Truncated(&["slow", "time"]),
            "Drips its body fast enough for any idle deadline and too slowly ever to end.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n")?;
                t.drip(&[b'x'; 1_000_000])
            },
        ),
        Plan::new(
            "body-stops",
            Slow,
            Truncated(&["idle", "slow", "time"]),
            "Sends half of the body it promised and waits for us to give up.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10000\r\n\r\n")?;
                t.repeat(b"half", 1250)?;
                t.hold()
            },
        ),
        Plan::new(
            "body-never-starts",
            Slow,
            Truncated(&["idle", "slow", "time"]),
            "Sends a whole head at once, and then nothing.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10\r\n\r\n")?;
                t.hold()
            },
        ),
        Plan::new(
            "never-closes",
            Slow,
            Truncated(&["idle", "slow", "time"]),
            "Sends a whole page without a length and keeps the connection open, so that its end cannot be seen.",
            |t, _| {
                t.say(OPEN_END)?;
                t.say(super::plan::html("That was all.").as_bytes())?;
                t.hold()
            },
        ),
        Plan::new(
            "slow-chunk-size",
            Slow,
            Truncated(&["idle", "slow", "time", "chunking"]),
            "Drips the digits of a chunk's size: bytes come, but no body does.",
            |t, _| {
                t.say(CHUNKED)?;
                t.drip(&[b'0'; 100_000])
            },
        ),
        Plan::new(
            "slow-chunks",
            Slow,
            Truncated(&["slow", "time"]),
            "Drips chunks of one byte each, to keep an idle clock from ever running out.",
            |t, _| {
                t.say(CHUNKED)?;
                for _ in 0..100_000 {
                    t.say(b"1\r\nx\r\n")?;
                    t.pause(HOSTILE_DRIP_EVERY)?;
                }
                t.say(b"0\r\n\r\n")
            },
        ),
        Plan::new(
            "bursts",
            Slow,
            Truncated(&["idle", "slow", "time"]),
            "Sends a kilobyte, rests for half a minute, and sends another: fast on average, if one measures early.",
            |t, _| {
                t.say(OPEN_END)?;
                loop {
                    t.repeat(b"burst... ", 114)?;
                    t.pause(Duration::from_secs(30))?;
                }
            },
        ),
    ]
}

fn endless() -> Vec<Plan> {
    vec![
        Plan::new("endless-body", Endless, Truncated(&["length"]), "A body that never ends.", |t, _| {
            t.say(OPEN_END)?;
            t.flood(b"and so on ")
        }),
        Plan::new("endless-chunks", Endless, Truncated(&["length"]), "A chunked body that never ends.", |t, _| {
            t.say(CHUNKED)?;
            t.flood(&[b"1000\r\n".as_slice(), &[b'x'; 4096], b"\r\n"].concat())
        }),
        Plan::new(
            "endless-length",
            Endless,
            Truncated(&["length"]),
            "Promises nine exabytes and begins to deliver.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9223372036854775807\r\n\r\n")?;
                t.flood(b"and so on ")
            },
        ),
        Plan::new(
            "endless-links",
            Endless,
            Truncated(&["length"]),
            "A page that never ends, every few bytes of it a link that nobody has seen before.",
            endless_links,
        ),
        Plan::new(
            "endless-headers",
            Endless,
            Failure(&["head_too_large", "too_many_headers"]),
            "Header after header, for ever.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\n")?;
                t.flood(b"X-And-So-On: and so on\r\n")
            },
        ),
        Plan::new(
            "endless-header-line",
            Endless,
            Failure(&["head_too_large"]),
            "One header whose value never ends.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nX-Long: ")?;
                t.flood(b"and so on ")
            },
        ),
        Plan::new(
            "endless-header-name",
            Endless,
            Failure(&["head_too_large", "not_http"]),
            "One header whose name never ends.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\n")?;
                t.flood(b"and-so-on-")
            },
        ),
        Plan::new(
            "endless-status-line",
            Endless,
            Failure(&["head_too_large", "not_http"]),
            "A reason phrase that never ends.",
            |t, _| {
                t.say(b"HTTP/1.1 200 ")?;
                t.flood(b"because ")
            },
        ),
        Plan::new(
            "endless-newlines",
            Endless,
            Failure(&["head_too_large", "not_http", "first_byte_timeout"]),
            "Empty lines before the status line, which some parsers skip without counting.",
            |t, _| t.flood(b"\r\n"),
        ),
        Plan::new(
            "endless-1xx",
            Endless,
            Failure(&["head_too_large", "too_many_headers", "not_http", "first_byte_timeout"]),
            "Interim answers for ever, each of them small enough.",
            |t, _| t.flood(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"),
        ),
        Plan::new(
            "many-1xx",
            Endless,
            Either(&[Whole, Failure(&["head_too_large", "too_many_headers", "not_http", "first_byte_timeout"])]),
            "Ten thousand interim answers, and then a page.",
            |t, _| {
                t.repeat(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n", 10_000)?;
                t.page(super::plan::html("At last."))
            },
        ),
        Plan::new(
            "endless-trailers",
            Endless,
            Truncated(&["chunking", "length", "slow", "time"]),
            "A whole chunked body, and then trailers for ever.",
            |t, _| {
                t.say(CHUNKED)?;
                t.say(b"5\r\nhello\r\n0\r\n")?;
                t.flood(b"X-And-So-On: and so on\r\n")
            },
        ),
        Plan::new(
            "endless-chunk-extension",
            Endless,
            Truncated(&["chunking", "length", "slow", "time"]),
            "A chunk extension that never ends: bytes that no body limit counts.",
            |t, _| {
                t.say(CHUNKED)?;
                t.say(b"5;a=")?;
                t.flood(b"and so on ")
            },
        ),
        Plan::new(
            "endless-chunk-size",
            Endless,
            Truncated(&["chunking", "length", "slow", "time"]),
            "A chunk size of zeros without end, which never overflows.",
            |t, _| {
                t.say(CHUNKED)?;
                t.flood(b"0000000000")
            },
        ),
    ]
}

fn endless_links(talk: &mut Talk<'_>, _: &super::plan::Ask) -> io::Result<()> {
    talk.say(OPEN_END)?;
    let mut number: u64 = 0;
    loop {
        let links: Vec<String> = (number..number + 1000).map(|n| format!("<a href=\"/l/{n}\">{n}</a>\n")).collect();
        talk.say(links.concat().as_bytes())?;
        number += 1000;
    }
}
