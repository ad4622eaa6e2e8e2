//! Heads that are none, or nearly: status lines, headers, ends too early, and bodies that do not fit their head.

use super::Expect::{Either, Failure, Truncated, Whole};
use super::Group::{Head, Length};
use super::plan::{Door, Plan, html};
use super::talk::Talk;
use std::io;

const NOT_HTTP: super::Expect = Failure(&["not_http"]);
const LENIENT: super::Expect = Either(&[Whole, NOT_HTTP]);
const CLOSED: super::Expect = Failure(&["closed_before_head"]);
const TOO_LARGE: super::Expect = Failure(&["head_too_large"]);

/// A page whose head has further lines, raw.
fn with(talk: &mut Talk<'_>, lines: &[u8]) -> io::Result<()> {
    let body = html("<p>An odd head.</p>");
    let rest = format!("Content-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    talk.say(&[b"HTTP/1.1 200 OK\r\n", lines, rest.as_bytes()].concat())
}

/// A page under a status line of any kind.
fn under(talk: &mut Talk<'_>, line: &[u8]) -> io::Result<()> {
    let body = html("<p>An odd status.</p>");
    let rest = format!("\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    talk.say(&[line, rest.as_bytes()].concat())
}

/// A page of 100 bytes whose head speaks of its length in some other way.
fn measured(talk: &mut Talk<'_>, lines: &[u8]) -> io::Result<()> {
    let mut body = html("<p>Measured.</p>").into_bytes();
    body.resize(100, b' ');
    talk.say(&[b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", lines, b"\r\n", &body].concat())
}

pub(super) fn plans() -> Vec<Plan> {
    let mut plans = status_lines();
    plans.extend(headers());
    plans.extend(ends());
    plans.extend(lengths());
    plans
}

fn status_lines() -> Vec<Plan> {
    vec![
        Plan::new("no-reason", Head, Whole, "A status line without a reason, which is allowed.", |t, _| {
            under(t, b"HTTP/1.1 200 ")
        }),
        Plan::new(
            "no-reason-no-space",
            Head,
            Whole,
            "The same without the space, which is not, but common.",
            |t, _| under(t, b"HTTP/1.1 200"),
        ),
        Plan::new("version-9", Head, LENIENT, "Claims HTTP/9.9, of which we know nothing.", |t, _| {
            under(t, b"HTTP/9.9 200 OK")
        }),
        Plan::new("version-2-in-text", Head, LENIENT, "Claims HTTP/2 in the text form of HTTP/1.", |t, _| {
            under(t, b"HTTP/2 200 OK")
        }),
        Plan::new("status-99", Head, NOT_HTTP, "A status of two digits.", |t, _| under(t, b"HTTP/1.1 99 Low")),
        Plan::new("status-1000", Head, NOT_HTTP, "A status of four digits.", |t, _| under(t, b"HTTP/1.1 1000 High")),
        Plan::new("status-000", Head, LENIENT, "A status of three digits that is below all classes.", |t, _| {
            under(t, b"HTTP/1.1 000 Nothing")
        }),
        Plan::new("status-999", Head, Whole, "A status above all classes; three digits are a status.", |t, _| {
            under(t, b"HTTP/1.1 999 Denied")
        }),
        Plan::new("status-words", Head, NOT_HTTP, "A status in words.", |t, _| under(t, b"HTTP/1.1 fine OK")),
        Plan::new("status-negative", Head, NOT_HTTP, "A status below zero.", |t, _| under(t, b"HTTP/1.1 -20 OK")),
        Plan::new("status-bytes", Head, LENIENT, "A reason phrase of bytes that are no text.", |t, _| {
            under(t, b"HTTP/1.1 200 \xff\xfe\x80\x90")
        }),
        Plan::new("http-09", Head, NOT_HTTP, "Answers as in 1991: a page and no head.", |t, _| {
            t.say(html("<p>Oh, the old days.</p>").as_bytes())
        }),
        Plan::new("icy", Head, NOT_HTTP, "Answers as a radio station does.", |t, _| under(t, b"ICY 200 OK")),
        Plan::new("other-protocol", Head, NOT_HTTP, "Is a mail server.", |t, _| {
            t.say(b"220 mail.hostile.test ESMTP ready\r\n500 What was that?\r\n221 Bye\r\n")
        }),
        Plan::new("garbage", Head, NOT_HTTP, "Answers with noise.", |t, _| {
            let noise: Vec<u8> = (0..8192u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            t.say(&noise)
        }),
        Plan::new("leading-newline", Head, LENIENT, "An empty line before the status line.", |t, _| {
            under(t, b"\r\nHTTP/1.1 200 OK")
        }),
        Plan::new(
            "switches",
            Head,
            Failure(&["not_http", "closed_before_head"]),
            "Switches protocols unasked.",
            |t, _| {
                t.say(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: gopher\r\nConnection: upgrade\r\n\r\n\x01\x02\x03")
            },
        ),
    ]
}

fn headers() -> Vec<Plan> {
    vec![
        Plan::new(
            "headers-100000",
            Head,
            Failure(&["too_many_headers", "head_too_large"]),
            "A hundred thousand headers, small ones.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\n")?;
                t.repeat(b"A: b\r\n", 100_000)?;
                t.say(b"Content-Length: 0\r\n\r\n")
            },
        ),
        Plan::new("header-1mb", Head, TOO_LARGE, "One header of more than a megabyte.", |t, _| {
            t.say(b"HTTP/1.1 200 OK\r\nX-Long: ")?;
            t.repeat(b"long ", 250_000)?;
            t.say(b"\r\nContent-Length: 0\r\n\r\n")
        }),
        Plan::new("etag-1mb", Head, TOO_LARGE, "An ETag that we would have to send back with every visit.", |t, _| {
            t.say(b"HTTP/1.1 200 OK\r\nETag: \"")?;
            t.repeat(b"etag-", 250_000)?;
            t.say(b"\"\r\nContent-Length: 0\r\n\r\n")
        }),
        Plan::new(
            "etag-60k",
            Head,
            Whole,
            "An ETag within all limits that makes the next conditional request larger than most servers take.",
            |t, _| with(t, format!("ETag: \"{}\"\r\n", "t".repeat(60_000)).as_bytes()),
        ),
        Plan::new("content-type-100k", Head, Whole, "A media type with parameters of 100 KB.", |t, _| {
            with(t, format!("Content-Type: text/html; {}\r\n", "a=b; ".repeat(20_000)).as_bytes())
        }),
        Plan::new(
            "link-header-10000",
            Head,
            Either(&[Whole, TOO_LARGE]),
            "Ten thousand links in one header.",
            |t, _| {
                let links: Vec<String> = (0..10_000).map(|n| format!("</l/{n}>; rel=next")).collect();
                with(t, format!("Link: {}\r\n", links.join(", ")).as_bytes())
            },
        ),
        Plan::new("header-nul", Head, LENIENT, "NUL bytes within a header, to end a C string early.", |t, _| {
            with(t, b"X-Name: before\0after\r\nX-\0-Y: z\r\n")
        }),
        Plan::new("header-fold", Head, LENIENT, "Headers folded over lines, as was once allowed.", |t, _| {
            with(t, b"X-Long: one\r\n two\r\n\tthree\r\n")
        }),
        Plan::new("header-fold-first", Head, LENIENT, "A fold with nothing before it.", |t, _| {
            with(t, b" X-Long: one\r\n")
        }),
        Plan::new("header-no-colon", Head, LENIENT, "A header without a colon.", |t, _| with(t, b"hello\r\n")),
        Plan::new(
            "header-space-colon",
            Head,
            Either(&[LENIENT, Truncated(&["chunking"])]),
            "A space before the colon, to smuggle a header by.",
            |t, _| with(t, b"Transfer-Encoding : chunked\r\n"),
        ),
        Plan::new("header-no-name", Head, LENIENT, "A header without a name.", |t, _| with(t, b": value\r\n")),
        Plan::new("header-latin1", Head, Whole, "Headers in ISO 8859-1 and in UTF-8 at once.", |t, _| {
            with(t, b"X-Caf\x65: caf\xe9\r\nX-Other: caf\xc3\xa9\r\n")
        }),
        Plan::new("header-bare-cr", Head, LENIENT, "A carriage return alone within a header.", |t, _| {
            with(t, b"X-One: a\rSet-Cookie: b=c\r\n")
        }),
        Plan::new("header-lf-only", Head, Either(&[Whole, NOT_HTTP]), "Lines ended by a line feed alone.", |t, _| {
            let body = html("<p>Lines from Unix.</p>");
            t.say(
                format!("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: {}\n\n{body}", body.len())
                    .as_bytes(),
            )
        }),
        Plan::new("header-control", Head, LENIENT, "Escape sequences meant for whoever reads the log.", |t, _| {
            with(t, b"Server: \x1b[2J\x1b[31mown3d\x07\r\n")
        }),
        Plan::new("two-types", Head, Whole, "Two media types that contradict each other.", |t, _| {
            with(t, b"Content-Type: image/png\r\nContent-Type: application/json\r\n")
        }),
        Plan::new("type-nonsense", Head, Whole, "A media type that is none.", |t, _| {
            t.answer("200 OK", "Content-Type: ;;;/=\"\r\n", html("<p>What am I?</p>"))
        }),
        Plan::new("disposition", Head, Whole, "A file name that climbs out of every directory.", |t, _| {
            with(
                t,
                b"Content-Disposition: attachment; filename=\"../../../../etc/passwd\"; \
                  filename*=UTF-8''..%2f..%2fetc%2fpasswd%00.html\r\n",
            )
        }),
        Plan::new("disposition-nul", Head, LENIENT, "A file name with a NUL, and one with a newline.", |t, _| {
            with(t, b"Content-Disposition: attachment; filename=\"a.txt\0.exe\"\r\n")
        }),
        Plan::new("dates", Head, Whole, "Dates that never were.", |t, _| {
            with(
                t,
                b"Date: Thu, 99 Foo 0000 99:99:99 GMT\r\nLast-Modified: the day before yesterday\r\n\
                  Expires: -1\r\nAge: 99999999999999999999\r\n",
            )
        }),
        Plan::new("dates-far", Head, Whole, "A modification in the year 9999, and one before time began.", |t, _| {
            with(t, b"Last-Modified: Fri, 31 Dec 9999 23:59:59 GMT\r\nLast-Modified: Mon, 01 Jan 0001 00:00:00 GMT\r\n")
        }),
    ]
}

fn ends() -> Vec<Plan> {
    const HALF: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/ht";
    const RESET: super::Expect = Failure(&["closed_before_head", "connect"]);
    vec![
        Plan::new("refused", Head, Failure(&["connect"]), "Nobody listens there.", |_, _| Ok(())).door(Door::Nobody),
        Plan::new("empty-reply", Head, CLOSED, "Takes the request and hangs up.", |_, _| Ok(())),
        Plan::new(
            "half-head-close",
            Head,
            Failure(&["closed_before_head", "not_http"]),
            "Hangs up within its head.",
            |t, _| t.say(HALF),
        ),
        Plan::new("reset-connect", Head, RESET, "Resets the connection before a word is said.", |t, _| t.reset())
            .door(Door::Raw),
        Plan::new("reset-request", Head, RESET, "Resets the connection on the request.", |t, _| t.reset()),
        Plan::new("reset-head", Head, RESET, "Resets the connection within its head.", |t, _| {
            t.say(HALF)?;
            t.reset()
        }),
        Plan::new(
            "reset-body",
            Length,
            Truncated(&["reset", "disconnect"]),
            "Resets the connection within its body.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10000\r\n\r\n")?;
                t.repeat(b"half", 1250)?;
                t.reset()
            },
        ),
        Plan::new(
            "unclosed-reset",
            Length,
            Truncated(&["reset", "disconnect"]),
            "Resets the connection where only its orderly end would say that the body is whole.",
            |t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")?;
                t.repeat(b"half", 1250)?;
                t.reset()
            },
        ),
        Plan::new(
            "poisoned-keep-alive",
            Length,
            Whole,
            "Sends a second answer that nobody asked for, to be taken for that of our next request.",
            |t, _| {
                t.page(html("<p>Ask me again.</p>"))?;
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\npoisoned")?;
                t.keep();
                Ok(())
            },
        ),
        Plan::new(
            "status-204-body",
            Length,
            Whole,
            "A 204 with a body, which would be the next answer's head.",
            |t, _| t.answer("204 No Content", "", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned"),
        ),
        Plan::new("status-304-body", Length, Whole, "A 304 to a question without condition, with a body.", |t, _| {
            t.answer("304 Not Modified", "ETag: \"x\"\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned")
        }),
    ]
}

fn lengths() -> Vec<Plan> {
    vec![
        Plan::new("length-short", Length, Whole, "Promises 40 bytes and sends 100: the rest is not ours.", |t, _| {
            measured(t, b"Content-Length: 40\r\n")
        }),
        Plan::new(
            "length-long",
            Length,
            Truncated(&["disconnect"]),
            "Promises a thousand bytes and sends 100.",
            |t, _| measured(t, b"Content-Length: 1000\r\n"),
        ),
        Plan::new(
            "length-huge",
            Length,
            Truncated(&["disconnect", "length"]),
            "Promises exabytes, sends 100 bytes, leaves.",
            |t, _| measured(t, b"Content-Length: 9223372036854775807\r\n"),
        ),
        Plan::new("length-zero", Length, Whole, "Promises nothing and sends 100 bytes.", |t, _| {
            measured(t, b"Content-Length: 0\r\n")
        }),
        Plan::new("length-negative", Length, LENIENT, "A length below zero.", |t, _| {
            measured(t, b"Content-Length: -1\r\n")
        }),
        Plan::new(
            "length-overflow",
            Length,
            Either(&[LENIENT, Truncated(&["disconnect"])]),
            "A length that fits no register.",
            |t, _| measured(t, b"Content-Length: 184467440737095516160000100\r\n"),
        ),
        Plan::new("length-words", Length, LENIENT, "A length in words.", |t, _| {
            measured(t, b"Content-Length: one hundred\r\n")
        }),
        Plan::new("length-hex", Length, LENIENT, "A length in another base.", |t, _| {
            measured(t, b"Content-Length: 0x64\r\n")
        }),
        Plan::new("length-plus", Length, LENIENT, "A length with a sign.", |t, _| {
            measured(t, b"Content-Length: +100\r\n")
        }),
        Plan::new("length-empty", Length, LENIENT, "A length without a number.", |t, _| {
            measured(t, b"Content-Length:\r\n")
        }),
        Plan::new(
            "length-twice",
            Length,
            LENIENT,
            "Two lengths: whoever takes the other one reads other answers.",
            |t, _| measured(t, b"Content-Length: 40\r\nContent-Length: 100\r\n"),
        ),
        Plan::new(
            "length-twice-same",
            Length,
            LENIENT,
            "The same length twice, in a list and in two lines.",
            |t, _| measured(t, b"Content-Length: 100, 100\r\nContent-Length: 100\r\n"),
        ),
        Plan::new("length-and-chunks", Length, LENIENT, "A length and chunks, to smuggle an answer by.", |t, _| {
            t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            t.say(b"5\r\nhello\r\n0\r\n\r\n")
        }),
    ]
}
