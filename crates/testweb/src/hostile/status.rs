//! Answers that ask us to come again: never, at once, or in eight thousand years.

use super::Expect::{Either, Failure, Truncated, Whole};
use super::Group::Status;
use super::plan::{Plan, html};
use super::talk::Talk;
use std::io;

fn busy(talk: &mut Talk<'_>, retry_after: &str) -> io::Result<()> {
    talk.answer("503 Service Unavailable", &format!("Retry-After: {retry_after}\r\n"), html("<p>Not now.</p>"))
}

pub(super) fn plans() -> Vec<Plan> {
    vec![
        Plan::new("retry-huge", Status, Whole, "Busy for longer than a clock can count.", |t, _| {
            busy(t, "99999999999999999999999")
        }),
        Plan::new("retry-century", Status, Whole, "Busy for a hundred years.", |t, _| busy(t, "3155760000")),
        Plan::new("retry-negative", Status, Whole, "Was free yesterday.", |t, _| busy(t, "-86400")),
        Plan::new("retry-zero", Status, Whole, "Busy, and asks to be asked again at once, for ever.", |t, _| {
            busy(t, "0")
        }),
        Plan::new("retry-9999", Status, Whole, "Busy until the last day of the year 9999.", |t, _| {
            busy(t, "Fri, 31 Dec 9999 23:59:59 GMT")
        }),
        Plan::new("retry-past", Status, Whole, "Busy until a date that is long gone.", |t, _| {
            busy(t, "Thu, 01 Jan 1970 00:00:00 GMT")
        }),
        Plan::new("retry-nonsense", Status, Whole, "Busy until soon.", |t, _| busy(t, "soon, NaN, 1e9")),
        Plan::new("always-429", Status, Whole, "Says for ever that we ask too often.", |t, _| {
            t.answer("429 Too Many Requests", "Retry-After: 1\r\n", html("<p>Slower!</p>"))
        }),
        Plan::new("always-500", Status, Whole, "Is broken for ever.", |t, _| {
            t.answer("500 Internal Server Error", "Content-Type: text/html\r\n", html("<p>Oh dear.</p>"))
        }),
        Plan::new("status-401", Status, Whole, "Asks for a password, in a realm of 10 KB.", |t, _| {
            let realm = format!("WWW-Authenticate: Basic realm=\"{}\", Digest nonce=x\r\n", "r".repeat(10_000));
            t.answer("401 Unauthorized", &realm, html("<p>Who are you?</p>"))
        }),
        Plan::new("status-407", Status, Whole, "Pretends to be our proxy and asks for its password.", |t, _| {
            t.answer("407 Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"x\"\r\n", html(""))
        }),
        Plan::new("status-408", Status, Whole, "Says that we were too slow, before we were.", |t, _| {
            t.answer("408 Request Timeout", "Connection: close\r\n", html("<p>Too late.</p>"))
        }),
        Plan::new("status-206", Status, Whole, "Sends a part of a page that we asked for whole.", |t, _| {
            t.answer(
                "206 Partial Content",
                "Content-Type: text/html\r\nContent-Range: bytes 5-99/18446744073709551615\r\n",
                html(""),
            )
        }),
        Plan::new("error-endless", Status, Truncated(&["length"]), "An error page that never ends.", |t, _| {
            t.say(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n")?;
            t.flood(b"not found ")
        }),
        Plan::new(
            "flaky",
            Status,
            Either(&[Whole, Failure(&["closed_before_head"])]),
            "Hangs up on every other request without a word.",
            |t, ask| {
                if ask.number % 2 == 1 { Ok(()) } else { t.page(html("<p>Second time lucky.</p>")) }
            },
        ),
    ]
}
