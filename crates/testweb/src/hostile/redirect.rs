//! Redirects: loops, endless chains, into private networks, to other schemes, and `Location`s that are none.

use super::Expect::{Either, Failure, Skipped, Truncated, Whole};
use super::Group::{Address, Cookies, Redirect};
use super::plan::{Ask, Plan, html};
use super::talk::Talk;
use std::io;

const LOOP: super::Expect = Skipped(&["redirect_loop", "redirect_limit"]);
const LIMIT: super::Expect = Skipped(&["redirect_limit"]);
const FORBIDDEN: super::Expect = Failure(&["forbidden_address"]);
const SCHEME: super::Expect = Skipped(&["not_web"]);
const LENIENT: super::Expect = Either(&[Whole, Failure(&["not_http"])]);

fn to(talk: &mut Talk<'_>, location: &str) -> io::Result<()> {
    talk.answer("302 Found", &format!("Location: {location}\r\n"), "Go on.\n")
}

/// A redirect whose `Location` is any bytes.
fn raw(talk: &mut Talk<'_>, location: &[u8]) -> io::Result<()> {
    talk.say(&[b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ", location, b"\r\n\r\n"].concat())?;
    talk.keep();
    Ok(())
}

/// The number at the end of a path such as `/hop/7`.
fn hop(ask: &Ask) -> u64 {
    ask.path.rsplit(['/', '=']).next().and_then(|n| n.parse::<u32>().ok()).unwrap_or(0).into()
}

pub(super) fn plans() -> Vec<Plan> {
    let mut plans = chains();
    plans.extend(addresses());
    plans.extend(locations());
    plans.extend(cookies());
    plans
}

fn chains() -> Vec<Plan> {
    vec![
        Plan::new("redirect-self", Redirect, LOOP, "Redirects to itself.", |t, _| to(t, "/")),
        Plan::new("redirect-self-permanent", Redirect, LOOP, "Is moved permanently to where it is.", |t, ask| {
            t.answer("308 Permanent Redirect", &format!("Location: http://{}/\r\n", ask.host), "")
        }),
        Plan::new("redirect-two", Redirect, LOOP, "Two pages that redirect to each other.", |t, ask| {
            to(t, if ask.path == "/" { "/other" } else { "/" })
        }),
        Plan::new("redirect-fragment", Redirect, LOOP, "Redirects to itself under ever new fragments.", |t, ask| {
            to(t, &format!("/#{}", ask.number))
        }),
        Plan::new("redirect-hosts", Redirect, LOOP, "Two hosts that redirect to each other.", |t, ask| {
            let other = if ask.host.starts_with("www.") { "redirect-hosts" } else { "www.redirect-hosts" };
            to(t, &format!("http://{other}.hostile.test/"))
        }),
        Plan::new("redirect-endless", Redirect, LIMIT, "Redirects to the next page, for ever.", |t, ask| {
            to(t, &format!("/hop/{}", hop(ask) + 1))
        }),
        Plan::new("redirect-endless-query", Redirect, LIMIT, "The same in the query.", |t, ask| {
            to(t, &format!("/?hop={}", hop(ask) + 1))
        }),
        Plan::new("redirect-endless-hosts", Redirect, LIMIT, "Redirects to the next host, for ever.", |t, ask| {
            to(
                t,
                &format!(
                    "http://h{}.redirect-endless-hosts.hostile.test/",
                    ask.host
                        .trim_start_matches('h')
                        .split('.')
                        .next()
                        .and_then(|n| n.parse::<u32>().ok())
                        .map_or(1, |n| u64::from(n) + 1)
                ),
            )
        }),
        Plan::new(
            "redirect-growing",
            Redirect,
            Skipped(&["redirect_limit", "links_dropped", "not_web", "trap_"]),
            "Redirects to an address twice as long.",
            |t, ask| to(t, &format!("http://{}{path}{path}x", ask.host, path = ask.path)),
        ),
        Plan::new("redirect-30", Redirect, LIMIT, "Thirty redirects that do arrive.", |t, ask| match hop(ask) {
            30.. => t.page(html("<p>Here at last.</p>")),
            n => to(t, &format!("/hop/{}", n + 1)),
        }),
        Plan::new(
            "redirect-body-endless",
            Redirect,
            Truncated(&["length"]),
            "A redirect with a body that never ends.",
            |t, _| {
                t.say(b"HTTP/1.1 302 Found\r\nLocation: /after.html\r\n\r\n")?;
                t.flood(b"go on ")
            },
        ),
        Plan::new(
            "redirect-body-stops",
            Redirect,
            Truncated(&["idle", "slow", "time"]),
            "A redirect whose body never comes.",
            |t, _| {
                t.say(b"HTTP/1.1 302 Found\r\nLocation: /after.html\r\nContent-Length: 100\r\n\r\n")?;
                t.hold()
            },
        ),
    ]
}

/// Redirects to an address that the last part of the case's name stands for. Addresses in every spelling that some
/// library reads as a number.
fn addresses() -> Vec<Plan> {
    macro_rules! private {
        ($(($name:literal, $url:literal, $why:literal)),* $(,)?) => {
            vec![$(Plan::new($name, Address, FORBIDDEN, $why, |t, _| to(t, $url)).at($url)),*]
        };
    }
    let mut plans = private![
        ("to-10", "http://10.0.0.1/", "Redirects into a private network."),
        ("to-172", "http://172.31.255.254/", "Redirects into another one."),
        ("to-192", "http://192.168.1.1/", "Redirects to the router at home."),
        ("to-metadata", "http://169.254.169.254/latest/meta-data/", "Redirects to a cloud's keys."),
        ("to-loopback", "http://127.0.0.1:22/", "Redirects to this machine."),
        ("to-loopback-short", "http://127.1/", "Redirects to this machine, abbreviated."),
        ("to-loopback-hex", "http://0x7f000001/", "Redirects to this machine, in base 16."),
        ("to-loopback-octal", "http://0177.0.0.1/", "Redirects to this machine, in base 8."),
        ("to-loopback-decimal", "http://2130706433/", "Redirects to this machine, as one number."),
        ("to-zero", "http://0.0.0.0/", "Redirects to the address that means this machine to some systems."),
        ("to-cgnat", "http://100.64.0.1/", "Redirects into the provider's network."),
        ("to-multicast", "http://224.0.0.1/", "Redirects to all machines on the network."),
        ("to-broadcast", "http://255.255.255.255/", "Redirects to all machines there are."),
        ("to-benchmark", "http://198.18.0.1/", "Redirects into the range for benchmarks, where test gear stands."),
        ("to-v6-loopback", "http://[::1]/", "Redirects to this machine, in IPv6."),
        ("to-v6-mapped", "http://[::ffff:127.0.0.1]/", "Redirects to this machine, as IPv4 within IPv6."),
        ("to-v6-mapped-private", "http://[::ffff:10.0.0.1]/", "Redirects into a private network, as IPv4 within IPv6."),
        ("to-v6-compatible", "http://[::7f00:1]/", "The same in a form that was given up."),
        ("to-v6-unspecified", "http://[::]/", "Redirects to no address at all."),
        ("to-v6-link", "http://[fe80::1]/", "Redirects to the neighbour on the wire."),
        ("to-v6-unique", "http://[fd00::1]/", "Redirects into a private network, in IPv6."),
        ("to-v6-nat64", "http://[64:ff9b::7f00:1]/", "Redirects to this machine through a translator."),
        ("to-v6-6to4", "http://[2002:7f00:1::]/", "Redirects to this machine through a tunnel."),
    ];
    plans.push(
        Plan::new(
            "to-localhost",
            Address,
            Failure(&["forbidden_address", "dns", "no_address"]),
            "Redirects to this machine by name.",
            |t, _| to(t, "http://localhost/"),
        )
        .at("http://localhost/"),
    );
    plans.push(
        Plan::new(
            "to-private-late",
            Address,
            FORBIDDEN,
            "Three honest redirects, and then one into a private network.",
            |t, ask| {
                if hop(ask) < 3 { to(t, &format!("/hop/{}", hop(ask) + 1)) } else { to(t, "http://10.1.2.3/") }
            },
        )
        .at("http://10.1.2.3/"),
    );
    plans
}

fn locations() -> Vec<Plan> {
    macro_rules! schemes {
        ($(($name:literal, $url:literal, $why:literal)),* $(,)?) => {
            vec![$(Plan::new($name, Redirect, SCHEME, $why, |t, _| to(t, $url)).at($url)),*]
        };
    }
    let mut plans = schemes![
        ("to-file", "file:///etc/passwd", "Redirects to a file of ours."),
        ("to-javascript", "javascript:alert(1)", "Redirects to a script."),
        ("to-data", "data:text/html,<h1>hello</h1>", "Redirects to a page within the address."),
        ("to-ftp", "ftp://10.0.0.1/", "Redirects to another protocol."),
    ];
    plans.extend([
        Plan::new(
            "location-1mb",
            Redirect,
            Failure(&["head_too_large"]),
            "A Location of more than a megabyte.",
            |t, _| raw(t, &b"/long".repeat(250_000)),
        ),
        Plan::new(
            "location-50k",
            Redirect,
            Either(&[Whole, Skipped(&["links_dropped"])]),
            "A Location longer than any URL we keep.",
            |t, ask| {
                if ask.path == "/" { raw(t, &b"/long".repeat(10_000)) } else { t.page(html("<p>You came!</p>")) }
            },
        ),
        Plan::new(
            "location-crlf",
            Redirect,
            Whole,
            "An encoded line end in a Location, for whoever decodes before asking.",
            |t, ask| {
                if ask.path == "/" {
                    to(t, "/%0d%0aX-Evil:%201%0d%0a%0d%0a?x=%0a")
                } else {
                    t.page(html("<p>Still one request.</p>"))
                }
            },
        ),
        Plan::new(
            "location-split",
            Redirect,
            Whole,
            "A line end in a Location that makes a header of its rest.",
            |t, _| raw(t, b"/after.html\r\nSet-Cookie: evil=1"),
        ),
        Plan::new("location-nul", Redirect, LENIENT, "A Location with NULs.", |t, _| raw(t, b"/after\0.html\0")),
        Plan::new("location-bad-utf8", Redirect, Whole, "A Location in bytes that are no text.", |t, ask| {
            if ask.path == "/" { raw(t, b"/caf\xe9-\xff\xfe.html") } else { t.page(html("<p>Found.</p>")) }
        }),
        Plan::new(
            "location-utf8",
            Redirect,
            Whole,
            "A Location in UTF-8, unescaped, as many servers write it.",
            |t, ask| {
                if ask.path == "/" { raw(t, "/café?q=ü".as_bytes()) } else { t.page(html("<p>Found.</p>")) }
            },
        ),
        Plan::new("location-none", Redirect, Whole, "A redirect without a Location.", |t, _| {
            t.answer("302 Found", "", "Go!\n")
        }),
        Plan::new("location-empty", Redirect, Whole, "A redirect to nothing.", |t, _| raw(t, b"")),
        Plan::new("location-relative", Redirect, Whole, "A relative Location that climbs above the root.", |t, _| {
            to(t, "../../.././after.html?x#y")
        }),
        Plan::new("location-twice", Redirect, LENIENT, "Two Locations that contradict each other.", |t, _| {
            raw(t, b"/after.html\r\nLocation: http://10.0.0.1/")
        }),
        Plan::new("location-broken", Redirect, Whole, "A Location that is no URL.", |t, _| to(t, "http://[not a url")),
        Plan::new("location-backslash", Redirect, Whole, "Backslashes, which browsers read as slashes.", |t, _| {
            to(t, "\\\\10.0.0.1\\share")
        }),
        Plan::new(
            "location-user",
            Redirect,
            Whole,
            "A Location with a name and a password, and a host that looks like another.",
            |t, _| to(t, "http://example.org:secret@location-user.hostile.test/after.html"),
        ),
        Plan::new("location-port", Redirect, Whole, "A port that is no port.", |t, _| {
            to(t, "http://location-port.hostile.test:99999/")
        }),
        Plan::new(
            "multiple-choices",
            Redirect,
            Whole,
            "A 300 with a Location, and a 305 behind it that would make us use its proxy.",
            |t, ask| {
                let status = if ask.path == "/" { "300 Multiple Choices" } else { "305 Use Proxy" };
                t.answer(status, "Location: /proxy\r\n", html(""))
            },
        ),
    ]);
    plans
}

fn cookies() -> Vec<Plan> {
    vec![
        Plan::new("cookie-wall", Cookies, LOOP, "Redirects to itself until a cookie comes back.", |t, ask| {
            if ask.has_cookie {
                return t.page(html("<p>You have been counted.</p>"));
            }
            t.answer("302 Found", "Location: /\r\nSet-Cookie: seen=1; Path=/\r\n", "")
        }),
        Plan::new("cookie-wall-query", Cookies, LIMIT, "The same, and counts the tries in the address.", |t, ask| {
            let next = format!("Location: /?try={}\r\nSet-Cookie: seen=1\r\n", hop(ask) + 1);
            t.answer("302 Found", &next, "")
        }),
        Plan::new(
            "cookie-wall-session",
            Cookies,
            LIMIT,
            "The same, with a new session in the path each time.",
            |t, ask| {
                t.answer(
                    "302 Found",
                    &format!("Location: /s/{:08x}/\r\nSet-Cookie: s=1\r\n", ask.number.wrapping_mul(2_654_435_761)),
                    "",
                )
            },
        ),
        Plan::new(
            "cookies-10000",
            Cookies,
            Failure(&["too_many_headers", "head_too_large"]),
            "Ten thousand cookies.",
            |t, _| {
                let cookies: Vec<String> = (0..10_000).map(|n| format!("Set-Cookie: c{n}=v\r\n")).collect();
                t.answer("200 OK", &cookies.concat(), html(""))
            },
        ),
        Plan::new("cookie-100k", Cookies, Whole, "A cookie of 100 KB, to be sent back with every request.", |t, _| {
            t.answer(
                "200 OK",
                &format!("Content-Type: text/html\r\nSet-Cookie: c={}\r\n", "v".repeat(100_000)),
                html(""),
            )
        }),
        Plan::new("cookie-tld", Cookies, Whole, "A cookie for all hosts of a top-level domain.", |t, _| {
            t.answer("200 OK", "Content-Type: text/html\r\nSet-Cookie: evil=1; Domain=test; Path=/\r\n", html(""))
        }),
    ]
}
