//! What can go wrong between two ends that agreed on HTTP/2.

use super::super::Expect::{self, Either, Failure, Truncated, Whole};
use super::super::plan::{Frames, Plan, StreamScript, html};
use super::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PUSH_PROMISE, RST_STREAM,
    SETTING_FRAME_BYTES_MAX, SETTING_INITIAL_WINDOW, SETTING_STREAMS_MAX, SETTINGS, WINDOW_UPDATE, block, frame,
    literal, number,
};

const BROKEN: Expect = Failure(&["http2"]);
const CUT: Expect = Either(&[BROKEN, Truncated(&["reset", "disconnect"])]);
const LATE: Expect = Failure(&["http2", "first_byte_timeout"]);
/// A flood beside an answer that never comes ends when either clock or patience runs out.
const FLOODED: Expect = Either(&[LATE, Truncated(&["idle", "slow", "time", "reset", "disconnect"])]);
const TOO_LARGE: Expect = Failure(&["head_too_large", "too_many_headers", "http2"]);

const PROTOCOL_ERROR: [u8; 4] = [0, 0, 0, 1];
const INTERNAL_ERROR: [u8; 4] = [0, 0, 0, 2];
const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];

pub(in crate::hostile) fn plans() -> Vec<Plan> {
    let mut plans = ends();
    plans.extend(floods());
    plans.extend(breaches());
    plans
}

fn on(name: &'static str, expect: Expect, why: &'static str, script: StreamScript) -> Plan {
    Plan::http2(name, expect, why, Frames::OnRequest(script))
}

fn at_once(name: &'static str, expect: Expect, why: &'static str, script: StreamScript) -> Plan {
    Plan::http2(name, expect, why, Frames::AtOnce(script))
}

fn ends() -> Vec<Plan> {
    vec![
        on("h2-honest", Whole, "An honest page over HTTP/2, to compare the others with.", |s| {
            s.page(&html("<p>Framed.</p>"))
        }),
        at_once("h2-goaway", LATE, "Says farewell before anything was asked.", |s| {
            s.say(&frame(SETTINGS, 0, 0, &[]))?;
            s.say(&frame(GOAWAY, 0, 0, &[[0; 4], PROTOCOL_ERROR].concat()))
        }),
        at_once("h2-http1", BROKEN, "Agrees on HTTP/2 and speaks HTTP/1.", |s| {
            s.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        }),
        at_once("h2-noise", BROKEN, "Agrees on HTTP/2 and answers with noise.", |s| {
            s.say(&(0..8192u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<u8>>())
        }),
        at_once("h2-closed", Failure(&["http2", "closed_before_head"]), "Agrees on HTTP/2 and hangs up.", |_| Ok(())),
        at_once("h2-no-streams", LATE, "Allows no streams at all, so that nothing can ever be asked.", |s| {
            s.connection.settings(&[(SETTING_STREAMS_MAX, 0)])?;
            s.hold()
        }),
        on("h2-goaway-late", BROKEN, "Says farewell on the request, and that it was not processed.", |s| {
            s.say(&frame(GOAWAY, 0, 0, &[[0; 4], [0; 4]].concat()))?;
            s.hold()
        }),
        on("h2-goaway-body", CUT, "Says farewell within a body, with an error and a debug text of 16 KB.", |s| {
            s.ok()?;
            s.data(b"half", false)?;
            s.say(&frame(GOAWAY, 0, 0, &[&[0; 4], &INTERNAL_ERROR[..], &[b'x'; 16_000]].concat()))?;
            s.connection.talk.cut()
        }),
        on("h2-reset", BROKEN, "Resets every stream.", |s| s.frame(RST_STREAM, 0, &INTERNAL_ERROR)),
        on("h2-refused", BROKEN, "Refuses every stream, which means that we may try again, for ever.", |s| {
            s.frame(RST_STREAM, 0, &REFUSED_STREAM)
        }),
        on("h2-reset-body", CUT, "Resets the stream within its body.", |s| {
            s.ok()?;
            s.data(b"half", false)?;
            s.frame(RST_STREAM, 0, &INTERNAL_ERROR)
        }),
        on("h2-cut-body", CUT, "Hangs up within a body.", |s| {
            s.ok()?;
            s.data(b"half", false)?;
            s.connection.talk.cut()
        }),
        on("h2-silent", LATE, "Takes the request and never answers it.", |s| s.hold()),
        on("h2-no-body", Truncated(&["idle", "slow", "time"]), "Sends a head and never any data.", |s| {
            s.ok()?;
            s.hold()
        }),
        on("h2-drip", Truncated(&["slow", "time"]), "Sends a byte of data at a time.", |s| {
            s.ok()?;
            loop {
                s.data(b"x", false)?;
                s.connection.talk.pause(crate::limits::HOSTILE_DRIP_EVERY)?;
            }
        }),
        on("h2-endless", Truncated(&["length"]), "A body that never ends, within all windows.", |s| {
            s.ok()?;
            loop {
                s.data(&[b'x'; 16_384], false)?;
            }
        }),
    ]
}

fn floods() -> Vec<Plan> {
    vec![
        on("h2-settings-flood", FLOODED, "Settings without end, each of which has to be acknowledged.", |s| {
            s.flood(&frame(SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 0]))
        }),
        on("h2-ping-flood", FLOODED, "Pings without end, each of which has to be answered.", |s| {
            s.flood(&frame(PING, 0, 0, b"are you?"))
        }),
        on("h2-ping-acks", FLOODED, "Answers without end to pings that nobody sent.", |s| {
            s.flood(&frame(PING, ACK, 0, b"here am I"))
        }),
        on("h2-empty-data", FLOODED, "Empty data without end: frames, but never a byte.", |s| {
            s.ok()?;
            let piece = frame(DATA, 0, s.id, &[]);
            s.flood(&piece)
        }),
        on("h2-padding", FLOODED, "Data that is nothing but padding, without end.", |s| {
            s.ok()?;
            let mut padded = vec![0; 256];
            padded.iter_mut().take(1).for_each(|length| *length = 255);
            loop {
                // Padding counts against the windows like a body's bytes.
                while s.connection.window.min(s.connection.stream_window) < 256 {
                    s.wait()?;
                }
                s.connection.window -= 256;
                s.connection.stream_window -= 256;
                s.frame(DATA, 0x8, &padded)?;
            }
        }),
        on("h2-window-flood", FLOODED, "Opens our window by one byte, without end.", |s| {
            s.flood(&frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]))
        }),
        on("h2-priority-flood", FLOODED, "Priorities of streams that do not exist, without end.", |s| {
            s.flood(&frame(2, 0, 99, &[0, 0, 0, 1, 16]))
        }),
        on("h2-unknown-flood", FLOODED, "Frames of a kind that nobody knows, without end.", |s| {
            s.flood(&frame(0xee, 0xff, 0, &[7; 1024]))
        }),
        on("h2-reset-flood", FLOODED, "Resets of streams that were never opened, without end.", |s| {
            s.flood(&frame(RST_STREAM, 0, 99, &INTERNAL_ERROR))
        }),
        on("h2-1xx-flood", Either(&[LATE, TOO_LARGE]), "Interim heads without end.", |s| {
            let piece = frame(HEADERS, END_HEADERS, s.id, &block("103", &[("link", "</a.css>; rel=preload")]));
            s.flood(&piece)
        }),
        on("h2-continuation-flood", TOO_LARGE, "A head that goes on in the next frame, without end.", |s| {
            s.frame(HEADERS, 0, &block("200", &[]))?;
            let piece = frame(CONTINUATION, 0, s.id, &literal(0x00, "x-and-so-on", &"x".repeat(1000)));
            s.flood(&piece)
        }),
        on("h2-continuation-empty", LATE, "A head that goes on in empty frames, without end.", |s| {
            s.frame(HEADERS, 0, &block("200", &[]))?;
            let piece = frame(CONTINUATION, 0, s.id, &[]);
            s.flood(&piece)
        }),
        on(
            "h2-hpack-bomb",
            TOO_LARGE,
            "One header of 4 KB, remembered, and named sixteen thousand times by a byte each.",
            |s| {
                let mut head = block("200", &[]);
                head.extend(literal(0x40, "x-bomb", &"x".repeat(4000)));
                // 62 is the first place of what is remembered.
                head.extend_from_slice(&[0x80 | 62; 12_000]);
                s.frame(HEADERS, END_HEADERS, &head)?;
                s.hold()
            },
        ),
        on("h2-headers-1mb", TOO_LARGE, "A head of two megabytes over many frames.", |s| {
            s.frame(HEADERS, 0, &block("200", &[]))?;
            for n in 0..200 {
                let header = literal(0x00, &format!("x-{n}"), &"x".repeat(10_000));
                s.frame(CONTINUATION, if n == 199 { END_HEADERS } else { 0 }, &header)?;
            }
            s.hold()
        }),
        on("h2-headers-many", TOO_LARGE, "Eighty thousand headers over many frames.", |s| {
            s.frame(HEADERS, 0, &block("200", &[]))?;
            let many = literal(0x00, "a", "b").repeat(2000);
            for n in 0..40 {
                s.frame(CONTINUATION, if n == 39 { END_HEADERS } else { 0 }, &many)?;
            }
            s.hold()
        }),
    ]
}

fn breaches() -> Vec<Plan> {
    const LENGTHS: Expect = Either(&[BROKEN, Truncated(&["length", "disconnect", "reset"])]);
    vec![
        on("h2-hpack-index", BROKEN, "A head that names a header which was never said.", |s| {
            s.frame(HEADERS, END_HEADERS, &[0xff, 0xff, 0xff, 0x7f])?;
            s.hold()
        }),
        on("h2-hpack-number", BROKEN, "A length in a head that fits no register.", |s| {
            s.frame(HEADERS, END_HEADERS, &[[0x00, 0x7f].as_slice(), &[0xff; 30], &[0x7f]].concat())?;
            s.hold()
        }),
        on("h2-hpack-huffman", BROKEN, "A string in a code that it does not follow.", |s| {
            s.frame(
                HEADERS,
                END_HEADERS,
                &[block("200", &[]), vec![0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00]].concat(),
            )?;
            s.hold()
        }),
        on("h2-hpack-table", BROKEN, "Makes the table of what is remembered larger than we allow.", |s| {
            s.frame(HEADERS, END_HEADERS, &[vec![0x3f, 0xe1, 0xff, 0xff, 0x7f], block("200", &[])].concat())?;
            s.hold()
        }),
        on("h2-large-frame", CUT, "A frame of sixteen megabytes, where 16 KB are allowed.", |s| {
            s.ok()?;
            let head = [0xff, 0xff, 0xff, DATA, 0];
            let id = s.id.to_be_bytes();
            s.say(&[head.as_slice(), &id].concat())?;
            s.flood(&[b'x'; 1024])
        }),
        on("h2-short-frame", BROKEN, "A setting of five bytes, and a ping of seven.", |s| {
            s.say(&frame(SETTINGS, 0, 0, &[0; 5]))?;
            s.say(&frame(PING, 0, 0, &[0; 7]))?;
            s.hold()
        }),
        on(
            "h2-overrun",
            Either(&[BROKEN, Truncated(&["reset", "disconnect", "length"])]),
            "Sends megabytes beyond the window that we opened.",
            |s| {
                s.ok()?;
                let piece = frame(DATA, 0, s.id, &[b'x'; 16_384]);
                s.flood(&piece)
            },
        ),
        on("h2-window-overflow", LATE, "Opens our window until its number turns over.", |s| {
            s.say(&frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]).repeat(2))?;
            s.hold()
        }),
        on("h2-window-zero", LATE, "Opens our window by nothing.", |s| {
            s.say(&frame(WINDOW_UPDATE, 0, 0, &[0; 4]))?;
            s.hold()
        }),
        on("h2-bad-setting", BROKEN, "Settings beyond what the protocol allows.", |s| {
            s.connection.settings(&[(SETTING_INITIAL_WINDOW, u32::MAX), (SETTING_FRAME_BYTES_MAX, 1)])?;
            s.hold()
        }),
        on("h2-data-first", BROKEN, "A body before its head.", |s| {
            s.frame(DATA, 0, b"hello")?;
            s.hold()
        }),
        on("h2-stream-zero", LATE, "An answer on the stream that is for the connection.", |s| {
            s.say(&frame(HEADERS, END_HEADERS, 0, &block("200", &[])))?;
            s.hold()
        }),
        on("h2-other-stream", LATE, "An answer to a question that nobody asked.", |s| {
            s.say(&frame(HEADERS, END_HEADERS | END_STREAM, 99, &block("200", &[])))?;
            s.hold()
        }),
        on(
            "h2-push",
            Either(&[Whole, BROKEN]),
            "Promises to push a page that we did not ask for, and pushes it.",
            |s| {
                let promised =
                    [&[0, 0, 0, 2], block("200", &[(":path", "/evil"), (":method", "GET")]).as_slice()].concat();
                s.frame(PUSH_PROMISE, END_HEADERS, &promised)?;
                s.say(&frame(HEADERS, END_HEADERS, 2, &block("200", &[])))?;
                s.say(&frame(DATA, END_STREAM, 2, b"evil"))?;
                s.page(&html("<p>And here is yours.</p>"))
            },
        ),
        on("h2-length-lies", LENGTHS, "Promises five bytes and sends fifty.", |s| {
            s.head("200", &[("content-length", "5")], false)?;
            s.data(&[b'x'; 50], true)
        }),
        on("h2-length-long", LENGTHS, "Promises five hundred bytes and sends fifty.", |s| {
            s.head("200", &[("content-length", "500")], false)?;
            s.data(&[b'x'; 50], true)
        }),
        on("h2-no-status", BROKEN, "A head without a status.", |s| {
            s.frame(HEADERS, END_HEADERS | END_STREAM, &literal(0x00, "content-type", "text/html"))?;
            s.hold()
        }),
        on("h2-status-words", BROKEN, "A status in words.", |s| s.head("fine", &[], true)),
        on("h2-status-twice", Either(&[BROKEN, Whole]), "Two statuses.", |s| {
            s.head("200", &[(":status", "404")], true)
        }),
        on("h2-capitals", Either(&[BROKEN, Whole]), "Header names in capitals, which HTTP/2 forbids.", |s| {
            s.head("200", &[("Content-Type", "text/html")], true)
        }),
        on(
            "h2-connection",
            Either(&[BROKEN, Whole]),
            "Headers of HTTP/1 that would frame the message otherwise.",
            |s| s.head("200", &[("connection", "close"), ("transfer-encoding", "chunked")], true),
        ),
        on(
            "h2-newline",
            Either(&[BROKEN, Whole]),
            "A line end in a header, to become a header where it is written out as HTTP/1.",
            |s| s.head("200", &[("x-one", "a\r\nset-cookie: evil=1\r\n\r\n<script>")], true),
        ),
        on("h2-interleaved", BROKEN, "Another frame within a head, where none may be.", |s| {
            s.frame(HEADERS, 0, &block("200", &[]))?;
            s.say(&frame(PING, 0, 0, b"between!"))?;
            s.frame(CONTINUATION, END_HEADERS, &literal(0x00, "a", "b"))?;
            s.hold()
        }),
        on("h2-bad-padding", CUT, "More padding than there is frame.", |s| {
            s.ok()?;
            s.frame(DATA, 0x8, &[255, b'x'])?;
            s.hold()
        }),
        on("h2-after-end", Either(&[Whole, CUT]), "Goes on after the end of its answer.", |s| {
            s.page(&html("<p>The end.</p>"))?;
            s.frame(DATA, 0, b"and another thing")
        }),
        on("h2-trailers", Either(&[Whole, CUT]), "Trailers of forty kilobytes that change the status.", |s| {
            s.ok()?;
            s.data(html("").as_bytes(), false)?;
            let mut trailers = block("500", &[("content-length", "3")]);
            trailers
                .extend([0x00].into_iter().chain(number(1)).chain([b'x']).chain(number(10_000)).chain([b'y'; 10_000]));
            s.frame(HEADERS, END_HEADERS | END_STREAM, &trailers)
        }),
    ]
}
