//! Pages that are hostile to whoever parses them: deep, wide, broken, or in another charset than they say.

use super::Expect::{Either, Failure, Skipped, Truncated, Whole};
use super::Group::{Address, Charset, Page, Refresh};
use super::plan::{Plan, html};
use super::talk::Talk;
use std::io;

/// Kept as it came, or as far as the limit on a page's size goes.
const LARGE: super::Expect = Either(&[Whole, Truncated(&["length"])]);

/// A page in whatever charset its media type says, or does not.
fn typed(talk: &mut Talk<'_>, media_type: &str, body: &[u8]) -> io::Result<()> {
    talk.answer("200 OK", &format!("Content-Type: {media_type}\r\n"), body)
}

/// Something repeated within an honest page, with the link to the page after in front of it.
fn amid(talk: &mut Talk<'_>, piece: &[u8], times: usize) -> io::Result<()> {
    let front = html("");
    talk.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n\r\n")?;
    talk.say(front.as_bytes())?;
    talk.repeat(piece, times)
}

pub(super) fn plans() -> Vec<Plan> {
    let mut plans = wide();
    plans.extend(broken());
    plans.extend(charsets());
    plans.extend(links());
    plans
}

fn wide() -> Vec<Plan> {
    vec![
        Plan::new(
            "nested-100000",
            Page,
            Whole,
            "A hundred thousand elements within each other, for whoever recurses.",
            |t, _| amid(t, b"<div>", 100_000),
        ),
        Plan::new(
            "nested-tables",
            Page,
            Whole,
            "Tables within tables, which parsers mend at a cost that grows by itself.",
            |t, _| amid(t, b"<table><tr><td><b><i><a><p>", 10_000),
        ),
        Plan::new(
            "misnested",
            Page,
            Whole,
            "Formatting elements closed in the wrong order, fifty thousand times.",
            |t, _| amid(t, b"<b><i></b><p></i>", 50_000),
        ),
        Plan::new("links-1000000", Page, LARGE, "A million links on one page, none of them seen before.", |t, _| {
            t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n\r\n")?;
            t.say(html("").as_bytes())?;
            for thousand in 0..1000 {
                let links: Vec<String> = (0..1000).map(|n| format!("<a href=/l/{thousand}/{n}>x</a>\n")).collect();
                t.say(links.concat().as_bytes())?;
            }
            Ok(())
        }),
        Plan::new("same-link-1000000", Page, LARGE, "One link, a million times.", |t, _| {
            amid(t, b"<a href=/after.html>x</a>\n", 1_000_000)
        }),
        Plan::new("attributes-100000", Page, Whole, "One tag with a hundred thousand attributes.", |t, _| {
            let attributes: Vec<String> = (0..100_000).map(|n| format!(" a{n}=v")).collect();
            t.page(html(&format!("<a{} href=\"/last.html\">x</a>", attributes.concat())))
        }),
        Plan::new("attribute-1mb", Page, Whole, "An attribute of a megabyte, and one whose name is.", |t, _| {
            let long = "a".repeat(1_000_000);
            t.page(html(&format!("<p title=\"{long}\" {long}=\"x\">x</p>")))
        }),
        Plan::new("tag-1mb", Page, Whole, "A tag whose name is a megabyte long.", |t, _| {
            t.page(html(&format!("<{}>", "x".repeat(1_000_000))))
        }),
        Plan::new("text-20mb", Page, LARGE, "Twenty megabytes of text without a tag or a space.", |t, _| {
            amid(t, b"aaaaaaaaaa", 2_000_000)
        }),
        Plan::new("brackets", Page, LARGE, "Ten megabytes of opening brackets.", |t, _| {
            amid(t, b"<<<<<<<<<<", 1_000_000)
        }),
        Plan::new(
            "entities",
            Page,
            Either(&[Whole, Truncated(&["length"])]),
            "A million character references, whole, broken and beyond Unicode.",
            |t, _| amid(t, b"&amp;&#x110000;&notit;&#0;", 250_000),
        ),
        Plan::new("srcset-100000", Page, Whole, "A picture to choose from a hundred thousand.", |t, _| {
            let choices: Vec<String> = (0..100_000).map(|n| format!("/i/{n}.png {n}w")).collect();
            t.page(html(&format!("<img src=\"/i.png\" srcset=\"{}\">", choices.join(", "))))
        }),
        Plan::new(
            "bases",
            Page,
            Whole,
            "A thousand bases that contradict each other; the first one counts.",
            |t, _| {
                let bases: Vec<String> = (0..1000).map(|n| format!("<base href=\"/base/{n}/\">")).collect();
                t.page(html(&format!("{}<a href=\"x.html\">x</a>", bases.concat())))
            },
        ),
        Plan::new("base-strange", Page, Whole, "A base that is a script, and one of a megabyte.", |t, _| {
            t.page(html(&format!("<base href=\"javascript:alert(1)\"><base href=\"{}\">", "/x".repeat(500_000))))
        }),
    ]
}

fn broken() -> Vec<Plan> {
    vec![
        Plan::new("unclosed-tag", Page, Whole, "Ends within a tag.", |t, _| t.page(html("") + "<a href=\"/x")),
        Plan::new("unclosed-comment", Page, Whole, "A comment that is never closed, with links in it.", |t, _| {
            amid(t, b"<!-- <a href=\"/commented.html\">x</a> ", 20_000)
        }),
        Plan::new(
            "unclosed-attribute",
            Page,
            Whole,
            "An attribute that is never closed, over two megabytes.",
            |t, _| {
                amid(t, b"<a href=\"/x ", 1)?;
                t.repeat(b"and on and on ", 150_000)
            },
        ),
        Plan::new("unclosed-script", Page, Whole, "A script that is never closed, with tags in it.", |t, _| {
            amid(t, b"<script>x = '</scrip' + '<a href=\"/s.html\">'; ", 20_000)
        }),
        Plan::new(
            "unclosed-title",
            Page,
            Whole,
            "A title that is never closed: the whole page is its title.",
            |t, _| amid(t, b"<title>On and on and on ", 50_000),
        ),
        Plan::new("title-1mb", Page, Whole, "A title of a megabyte.", |t, _| {
            t.page(format!("<title>{}</title>{}", "long ".repeat(200_000), html("")))
        }),
        Plan::new("nul-bytes", Page, Whole, "NULs in text, tags, attributes and links.", |t, _| {
            t.page(html("<p>a\0b</p><a\0 href=\"/n\0ul.html\">x</a><\0a href=/x>"))
        }),
        Plan::new("broken-utf8", Page, Whole, "Bytes that are no UTF-8, in text and in links.", |t, _| {
            let mut body = html("").into_bytes();
            body.extend_from_slice(
                b"<p>\xff\xfe\xc0\xaf\xed\xa0\x80\xf8\x88\x80\x80\x80</p><a href=\"/\xe9t\xe9.html\">x</a>",
            );
            t.page(body)
        }),
        Plan::new("not-html", Page, Whole, "Says that it is a page and is a picture.", |t, _| {
            t.page(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR<a href=\"/in-picture.html\">".repeat(1000))
        }),
        Plan::new("not-picture", Page, Whole, "Says that it is a picture and is a page.", |t, _| {
            typed(t, "image/png", html("<p>Look closely.</p>").as_bytes())
        }),
        Plan::new("svg-laughs", Page, Whole, "A picture in XML whose entities unfold to gigabytes.", |t, _| {
            let laughs = super::sitemap::laughs("&l9;");
            typed(
                t,
                "image/svg+xml",
                format!("{laughs}<svg xmlns=\"http://www.w3.org/2000/svg\"><text>&l9;</text></svg>").as_bytes(),
            )
        }),
        Plan::new(
            "css-imports",
            Page,
            Whole,
            "Styles that import a style that imports a style, without end.",
            |t, ask| match ask
                .path
                .strip_prefix("/style-")
                .and_then(|rest| rest.strip_suffix(".css")?.parse::<u32>().ok())
            {
                Some(n) => typed(
                    t,
                    "text/css",
                    format!("@import \"/style-{}.css\"; @import url(style-0.css);", u64::from(n) + 1).as_bytes(),
                ),
                None => t.page(html("<link rel=\"stylesheet\" href=\"/style-0.css\">")),
            },
        ),
        Plan::new("css-broken", Page, Whole, "A style of unclosed strings, comments and parentheses.", |t, ask| {
            match ask.path.as_str() {
                "/x.css" => {
                    typed(t, "text/css", &b"a{background:url(\"/u\\\n.png;} @import 'x /* url(( ".repeat(20_000))
                }
                _ => t.page(html("<link rel=\"stylesheet\" href=\"/x.css\">")),
            }
        }),
    ]
}

fn charsets() -> Vec<Plan> {
    vec![
        Plan::new("charset-says-utf8", Charset, Whole, "Says UTF-8 and is Windows-1251.", |t, _| {
            let mut body = html("").into_bytes();
            body.extend_from_slice(b"<p>\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0</p>");
            t.page(body)
        }),
        Plan::new("charset-utf16-unmarked", Charset, Whole, "UTF-16 without a mark or a word about it.", |t, _| {
            typed(t, "text/html", &html("<p>Wide.</p>").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
        }),
        Plan::new(
            "charset-utf16-marked",
            Charset,
            Whole,
            "UTF-16 with a mark, and a header that says UTF-8.",
            |t, _| {
                let wide = html("<p>Wide.</p>");
                t.page(
                    std::iter::once(0xfeff).chain(wide.encode_utf16()).flat_map(u16::to_be_bytes).collect::<Vec<u8>>(),
                )
            },
        ),
        Plan::new("charset-meta-lies", Charset, Whole, "Its own meta element says UTF-16, in ASCII.", |t, _| {
            typed(t, "text/html", html("<meta charset=\"utf-16\"><p>Narrow.</p>").as_bytes())
        }),
        Plan::new(
            "charset-late",
            Charset,
            Whole,
            "Names its charset after a hundred kilobytes, and then another one.",
            |t, _| {
                let body = format!("{}<meta charset=\"koi8-r\"><meta charset=\"big5\">", "x ".repeat(50_000));
                typed(t, "text/html", html(&body).as_bytes())
            },
        ),
        Plan::new(
            "charset-unknown",
            Charset,
            Whole,
            "A charset that nobody knows, with a name of a kilobyte.",
            |t, _| typed(t, &format!("text/html; charset={}", "klingon".repeat(150)), html("<p>Qapla'</p>").as_bytes()),
        ),
        Plan::new(
            "charset-utf7",
            Charset,
            Whole,
            "A charset in which a tag hides from whoever reads ASCII.",
            |t, _| typed(t, "text/html; charset=utf-7", html("+ADw-script+AD4-alert(1)+ADw-/script+AD4-").as_bytes()),
        ),
        Plan::new("charset-iso2022", Charset, Whole, "A charset with states, left in the wrong one.", |t, _| {
            let mut body = html("").into_bytes();
            body.extend_from_slice(b"\x1b$B$3$s<a href=\"/hidden.html\">x</a>\x1b$B\x1b(J");
            typed(t, "text/html; charset=iso-2022-jp", &body)
        }),
    ]
}

fn links() -> Vec<Plan> {
    const TOO_LONG: super::Expect = Skipped(&["links_dropped"]);
    vec![
        Plan::new("link-1mb", Page, Whole, "A link of a megabyte, which is not to be followed.", |t, _| {
            t.page(html(&format!("<a href=\"/{}\">x</a>", "long/".repeat(200_000))))
        }),
        Plan::new("link-40k", Page, TOO_LONG, "A link longer than any server takes.", |t, _| {
            t.page(html(&format!("<a href=\"/{}\">x</a>", "l".repeat(40_000))))
        })
        .at(format!("/{}", "l".repeat(40_000))),
        Plan::new(
            "link-schemes",
            Page,
            Skipped(&["not_web"]),
            "Links to files, scripts, data and doors of all kinds.",
            |t, _| {
                let schemes =
                    ["file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ftp://10.0.0.1/", "gopher://x/"];
                let links: Vec<String> =
                    schemes.iter().map(|url| format!("<a href=\"{url}\">x</a><img src=\"{url}\">")).collect();
                t.page(html(&links.concat()))
            },
        )
        .at("file:///etc/passwd"),
        Plan::new("link-broken", Page, Whole, "Links that are no URLs.", |t, _| {
            let urls = [
                "http://",
                "http://[",
                "http://a b/",
                "//",
                "http://x:99999/",
                "http://\u{0}/",
                "http://xn--a/",
                "%",
                "?#",
            ];
            let links: Vec<String> = urls.iter().map(|url| format!("<a href=\"{url}\">x</a>")).collect();
            t.page(html(&links.concat()))
        }),
        Plan::new(
            "link-private",
            Address,
            Failure(&["forbidden_address"]),
            "Links into the network that we stand in.",
            |t, _| {
                let urls = [
                    "http://169.254.169.254/latest/meta-data/",
                    "http://192.168.0.1/",
                    "http://[fd00::1]/",
                    "http://0/",
                ];
                let links: Vec<String> =
                    urls.iter().map(|url| format!("<a href=\"{url}\">x</a><img src=\"{url}\">")).collect();
                t.page(html(&links.concat()))
            },
        )
        .at("http://169.254.169.254/latest/meta-data/"),
        Plan::new(
            "meta-refresh-self",
            Refresh,
            Whole,
            "A page that asks to be loaded again at once, for ever.",
            |t, _| t.page(html("<meta http-equiv=\"refresh\" content=\"0\">")),
        ),
        Plan::new(
            "meta-refresh-endless",
            Refresh,
            Skipped(&["trap_", "redirect_limit"]),
            "A page that leads on to the next by refresh, without end.",
            |t, ask| {
                let next = ask.path.trim_start_matches("/r").parse::<u32>().map_or(1, |n| u64::from(n) + 1);
                t.page(html(&format!("<meta http-equiv=\"refresh\" content=\"0; url=/r{next}\">")))
            },
        ),
        Plan::new(
            "refresh-header-self",
            Refresh,
            Whole,
            "A header that asks to load the page again, for ever.",
            |t, _| t.answer("200 OK", "Content-Type: text/html\r\nRefresh: 0; url=/\r\n", html("<p>Again!</p>")),
        ),
        Plan::new(
            "refresh-header-endless",
            Refresh,
            Skipped(&["trap_", "redirect_limit"]),
            "A header that leads on, without end.",
            |t, ask| {
                let next = ask.path.trim_start_matches("/r").parse::<u32>().map_or(1, |n| u64::from(n) + 1);
                t.answer(
                    "200 OK",
                    &format!("Content-Type: text/html\r\nRefresh: 0; url=/r{next}\r\n"),
                    html("<p>On!</p>"),
                )
            },
        ),
        Plan::new(
            "frames-within",
            Page,
            Skipped(&["trap_"]),
            "A page that shows itself within itself, each time under a longer address.",
            |t, ask| {
                let deeper = format!("{}frame/", ask.path.trim_end_matches("index.html"));
                t.page(html(&format!("<iframe src=\"{deeper}\"></iframe>")))
            },
        ),
    ]
}
