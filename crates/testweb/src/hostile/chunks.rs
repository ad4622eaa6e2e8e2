//! Transfer codings that are none, or nearly.

use super::Expect::{Either, Failure, Truncated, Whole};
use super::Group::Chunks;
use super::plan::{Plan, html};
use super::talk::Talk;
use std::io;

const BROKEN: super::Expect = Truncated(&["chunking"]);
const CUT: super::Expect = Truncated(&["chunking", "disconnect"]);
const LENIENT: super::Expect = Either(&[Whole, BROKEN]);
/// How a message is framed that we cannot tell the frame of is not for us to guess.
const UNFRAMED: super::Expect = Either(&[Whole, Failure(&["not_http"]), CUT]);

/// A head that announces chunks, and bytes behind it.
fn chunked(talk: &mut Talk<'_>, bytes: &[u8]) -> io::Result<()> {
    talk.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    talk.say(bytes)
}

/// A head that announces some transfer coding, and a whole chunked page behind it.
fn coded(talk: &mut Talk<'_>, coding: &str) -> io::Result<()> {
    let body = html("<p>In pieces.</p>");
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: {coding}\r\n\r\n");
    talk.say(format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes())
}

pub(super) fn plans() -> Vec<Plan> {
    let mut plans = sizes();
    plans.extend(frames());
    plans
}

fn sizes() -> Vec<Plan> {
    vec![
        Plan::new(
            "chunk-huge",
            Chunks,
            Truncated(&["chunking", "disconnect", "length"]),
            "A chunk of 16 exabytes.",
            |t, _| chunked(t, b"5\r\nhello\r\nFFFFFFFFFFFFFFFF\r\nhello"),
        ),
        Plan::new(
            "chunk-overflow",
            Chunks,
            BROKEN,
            "A chunk size that comes round to five again in 64 bits.",
            |t, _| chunked(t, b"5\r\nhello\r\n10000000000000005\r\nhello\r\n0\r\n\r\n"),
        ),
        Plan::new("chunk-negative", Chunks, BROKEN, "A chunk size below zero.", |t, _| {
            chunked(t, b"5\r\nhello\r\n-5\r\nhello\r\n0\r\n\r\n")
        }),
        Plan::new("chunk-words", Chunks, BROKEN, "A chunk size that is no number.", |t, _| {
            chunked(t, b"5\r\nhello\r\nfive\r\nhello\r\n0\r\n\r\n")
        }),
        Plan::new("chunk-0x", Chunks, BROKEN, "A chunk size as programmers write it.", |t, _| {
            chunked(t, b"5\r\nhello\r\n0x5\r\nhello\r\n0\r\n\r\n")
        }),
        Plan::new("chunk-no-size", Chunks, BROKEN, "An empty line where a size should be.", |t, _| {
            chunked(t, b"5\r\nhello\r\n\r\nhello\r\n0\r\n\r\n")
        }),
        Plan::new("chunk-space", Chunks, LENIENT, "Spaces around the sizes.", |t, _| {
            chunked(t, b"5  \r\nhello\r\n 5\r\nhello\r\n0\r\n\r\n")
        }),
        Plan::new("chunk-zeros", Chunks, LENIENT, "Sizes with a thousand leading zeros.", |t, _| {
            chunked(t, format!("{}5\r\nhello\r\n0\r\n\r\n", "0".repeat(1000)).as_bytes())
        }),
        Plan::new("chunk-too-long", Chunks, BROKEN, "A chunk longer than its size says.", |t, _| {
            chunked(t, b"5\r\nhello, and more\r\n0\r\n\r\n")
        }),
        Plan::new("chunk-nul", Chunks, BROKEN, "NULs among the sizes.", |t, _| {
            chunked(t, b"5\0\r\nhello\r\n0\r\n\r\n")
        }),
    ]
}

fn frames() -> Vec<Plan> {
    vec![
        Plan::new("chunk-no-crlf", Chunks, BROKEN, "No line end behind a chunk.", |t, _| {
            chunked(t, b"5\r\nhello5\r\nhello0\r\n\r\n")
        }),
        Plan::new("chunk-lf-only", Chunks, LENIENT, "Line feeds alone between chunks.", |t, _| {
            chunked(t, b"5\nhello\n5\nhello\n0\n\n")
        }),
        Plan::new("chunk-no-last", Chunks, CUT, "Leaves without the last chunk: was that all?", |t, _| {
            chunked(t, b"5\r\nhello\r\n5\r\nhello\r\n")
        }),
        Plan::new("chunk-cut", Chunks, CUT, "Leaves in the middle of a chunk.", |t, _| {
            chunked(t, b"5\r\nhello\r\nffff\r\nhello")
        }),
        Plan::new(
            "chunk-no-final-line",
            Chunks,
            Either(&[Whole, CUT]),
            "Leaves before the very last empty line.",
            |t, _| chunked(t, b"5\r\nhello\r\n0\r\n"),
        ),
        Plan::new("chunk-extension-1mb", Chunks, LENIENT, "A chunk extension of a megabyte.", |t, _| {
            chunked(t, b"5;a=")?;
            t.repeat(b"long ", 200_000)?;
            t.say(b"\r\nhello\r\n0\r\n\r\n")
        }),
        Plan::new(
            "chunk-extensions",
            Chunks,
            LENIENT,
            "Fifty thousand chunks of one byte, each with an extension of its own.",
            |t, _| {
                chunked(t, b"")?;
                t.repeat(b"1;name=\"value; with; more\"\r\nx\r\n", 50_000)?;
                t.say(b"0\r\n\r\n")
            },
        ),
        Plan::new(
            "chunk-tiny",
            Chunks,
            Whole,
            "Half a megabyte in chunks of one byte: six bytes of frame for each.",
            |t, _| {
                chunked(t, b"")?;
                t.repeat(b"1\r\nx\r\n", 500_000)?;
                t.say(b"0\r\n\r\n")
            },
        ),
        Plan::new(
            "trailers-lie",
            Chunks,
            Either(&[Whole, BROKEN]),
            "Trailers that would change how the message is read.",
            |t, _| {
                let body = html("<p>See below.</p>");
                chunked(t, format!("{:x}\r\n{body}\r\n0\r\n", body.len()).as_bytes())?;
                t.say(b"Content-Length: 5\r\nLocation: http://10.0.0.1/\r\nContent-Encoding: gzip\r\nSet-Cookie: a=b\r\n\r\n")
            },
        ),
        Plan::new("trailers-broken", Chunks, LENIENT, "Trailers that are no headers.", |t, _| {
            chunked(t, b"5\r\nhello\r\n0\r\nno colon here\r\n\0\0\0\r\n\r\n")
        }),
        Plan::new("te-unknown", Chunks, UNFRAMED, "A transfer coding that nobody knows.", |t, _| coded(t, "zip")),
        Plan::new("te-twice", Chunks, UNFRAMED, "Chunks within chunks.", |t, _| coded(t, "chunked, chunked")),
        Plan::new("te-not-last", Chunks, UNFRAMED, "Chunks that are not the last coding.", |t, _| {
            coded(t, "chunked, gzip")
        }),
        Plan::new("te-disguised", Chunks, UNFRAMED, "Nearly chunked: read by some and not by others.", |t, _| {
            coded(t, "\x0bchunked")
        }),
        Plan::new("te-identity", Chunks, UNFRAMED, "The coding that was taken out of the standard.", |t, _| {
            coded(t, "identity")
        }),
        Plan::new("te-http10", Chunks, UNFRAMED, "Chunks in HTTP/1.0, which has none.", |t, _| {
            t.say(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            t.say(b"5\r\nhello\r\n0\r\n\r\n")
        }),
    ]
}
