"""Input made with warcio's own writer: a small site with history, one of every kind of record, and odd URLs.

Everything is made from fixed seeds, so a failure repeats.
"""

import base64
import collections
import gzip
import hashlib
import io
import random
import uuid

from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

Version = collections.namedtuple(
    "Version", "url timestamp status media wire entity"
)  # entity: wire without chunked framing

WORDS = "river stone letter harbour winter copper garden signal paper orchard market silver window mountain".split()


def sha1(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def record_id(name):
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'herodotus-interop/' + name)}>"


class Writer:
    """Writes records with exactly the block it is given, through warcio."""

    def __init__(self, path, version="1.0"):
        self.file = open(path, "wb")
        self.version = version
        self.warcio = _Verbatim(self.file, gzip=str(path).endswith(".gz"), warc_version=version)
        self.count = 0

    def add(self, kind, uri, date, block, media, payload=None, **fields):
        """`payload` is the part of the block whose digest is written; None writes none."""
        self.count += 1
        name = fields.pop("name", f"{self.file.name.rsplit('/', 1)[-1]}/{self.count}")
        headers = [("WARC-Type", kind), ("WARC-Record-ID", record_id(name))]
        if uri:
            headers.append(("WARC-Target-URI", uri))
        headers.append(("WARC-Date", date))
        headers += [("WARC-" + key.replace("_", "-"), value) for key, value in fields.items()]
        if payload is not None and "Payload_Digest" not in fields:
            headers.append(("WARC-Payload-Digest", sha1(payload)))
        headers.append(("WARC-Block-Digest", sha1(block)))
        heads = StatusAndHeaders("", headers, protocol="WARC/" + self.version)
        # Given http_headers, warcio would reformat the HTTP head, and of a revisit it writes nothing else:
        # to it every block is opaque, as a resource's is.
        record = ArcWarcRecord("warc", "resource", heads, io.BytesIO(block), None, media, len(block))
        self.warcio.write_record(record)
        return record_id(name)

    def response(self, uri, date, head, body, **fields):
        payload = fields.pop("payload", body)
        media = "application/http; msgtype=response"
        return self.add("response", uri, date, head + body, media, payload=payload, **fields)

    def request(self, uri, date, block, **fields):
        return self.add("request", uri, date, block, "application/http; msgtype=request", **fields)

    def close(self):
        self.file.close()


class _Verbatim(WARCWriter):
    """warcio's writer, writing the digests it was given and no others."""

    def ensure_digest(self, record, block=True, payload=True):
        pass


def head(status="200 OK", media="text/html; charset=utf-8", **fields):
    lines = [f"HTTP/1.1 {status}", "Server: nginx/1.24.0"]
    if media:
        lines.append(f"Content-Type: {media}")
    lines += [f"{key.replace('_', '-')}: {value}" for key, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunked(body, sizes=(17, 4096, 1000)):
    out, at, turn = b"", 0, 0
    while at < len(body):
        piece = body[at : at + sizes[turn % len(sizes)]]
        out += b"%x\r\n%s\r\n" % (len(piece), piece)
        at, turn = at + len(piece), turn + 1
    return out + b"0\r\n\r\n"


# ---- a site with history, for replay ----


def site(path):
    """Writes 60 URLs in up to 4 versions and gives every Version written, in order."""
    dice = random.Random(20260102)
    writer = Writer(path)
    versions, pages = [], {}
    for visit in range(4):
        for number in range(60):
            if number % 10 >= 7 and visit % 2:  # some pages are visited half as often
                continue
            url = _site_url(number)
            old = pages.get(number)
            body = _site_body(dice, number, visit, old)
            pages[number] = body
            status, media, wire, entity, heads = _site_answer(number, body)
            stamp = f"2025{visit + 3:02d}{number % 28 + 1:02d}12{number % 60:02d}07"
            date = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[8:10]}:{stamp[10:12]}:{stamp[12:]}Z"
            answer = writer.response(url, date, heads, wire, IP_Address="192.0.2.7")
            path_part = url.split("example", 1)[1].split("/", 1)[1]
            asked = f"GET /{path_part} HTTP/1.1\r\nHost: site.example\r\nUser-Agent: check\r\nAccept: */*\r\n\r\n"
            writer.request(url, date, asked.encode(), Concurrent_To=answer)
            versions.append(Version(url, stamp, status, media, wire, entity))
    writer.close()
    return versions


def _site_url(number):
    if number % 6 == 5:
        return f"https://site.example/find?q=word{number}&page={number % 4}"
    kind = ("html", "html", "png", "css", "json", "txt")[number % 6]
    return f"https://site.example/part{number % 5}/item-{number}.{kind}"


def _site_body(dice, number, visit, old):
    if number == 7:
        return b""
    if number == 14:
        return b"the same bytes at two addresses, and at every visit\n" * 40
    if number == 21:
        return b"the same bytes at two addresses, and at every visit\n" * 40
    if number % 6 == 2:  # a picture: bytes that do not compress, replaced once
        return old if old is not None and visit != 2 else b"\x89PNG\r\n\x1a\n" + dice.randbytes(200 + number * 700)
    if old is not None and dice.random() < 0.4:
        return old
    if old is None:
        count = 30_000 if number == 36 else 20 + number * 6  # one page of a few MiB
        lines = [" ".join(dice.choices(WORDS, k=12)) for _ in range(count)]
        return f"<!doctype html><title>{number}</title>\n<p>".encode() + "\n<p>".join(lines).encode()
    lines = old.split(b"\n")
    for _ in range(3):
        lines[dice.randrange(len(lines))] = b"<p>changed " + " ".join(dice.choices(WORDS, k=9)).encode()
    return b"\n".join(lines)


def _site_answer(number, body):
    media = ("text/html", "text/html", "image/png", "text/css", "application/json", "text/plain")[number % 6]
    status, entity, fields = "200 OK", body, {}
    if number % 6 == 1 or number % 12 == 4:
        entity = gzip.compress(body, 6, mtime=0)
        fields["Content_Encoding"] = "gzip"
    if number % 6 == 3 or number % 12 == 4:
        wire = chunked(entity)
        fields["Transfer_Encoding"] = "chunked"
    else:
        wire = entity
        fields["Content_Length"] = str(len(wire))
    if number % 12 == 10:
        status = "404 Not Found"
    return int(status[:3]), media, wire, entity, head(status, media, **fields)


# ---- every kind of record ----


def zoo(path, version):
    """One file with every record type of WARC 1.0 and 1.1, in the shapes that crawlers write."""
    w = Writer(path, version)
    at = (
        (lambda s: f"2025-06-01T10:{s // 60:02d}:{s % 60:02d}Z")
        if version == "1.0"
        else (lambda s: f"2025-07-01T10:{s // 60:02d}:{s % 60:02d}.{(s * 37) % 1000:03d}Z")
    )
    base = f"http://zoo{version.replace('.', '')}.example"
    same = f"http://netpreserve.org/warc/{version}/revisit/identical-payload-digest"
    not_modified = f"http://netpreserve.org/warc/{version}/revisit/server-not-modified"
    page = f"<html><title>{version}</title>".encode() + b"<p>a page of some length</p>" * 50

    info = w.add(
        "warcinfo",
        None,
        at(0),
        b"software: warcio\r\nformat: WARC File Format\r\nrobots: classic\r\noperator: someone\r\n",
        "application/warc-fields",
        Filename=f"zoo-{version}.warc.gz",
    )

    # responses and requests, in both orders
    first = w.response(
        base + "/", at(1), head(Content_Length=len(page)), page, IP_Address="192.0.2.1", Warcinfo_ID=info
    )
    w.request(base + "/", at(1), b"GET / HTTP/1.1\r\nHost: zoo\r\n\r\n", Concurrent_To=first)
    form = record_id(f"form-{version}")
    w.request(
        base + "/form",
        at(2),
        b"POST /form HTTP/1.1\r\nHost: zoo\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: 11\r\n\r\na=1&b=two+3",
        Concurrent_To=form,
    )
    w.response(
        base + "/form",
        at(2),
        head("303 See Other", None, Location="/done", Content_Length=0),
        b"",
        name=f"form-{version}",
    )
    packed = gzip.compress(page * 3, 6, mtime=0)
    w.response(base + "/gzip", at(3), head(Content_Encoding="gzip", Content_Length=len(packed)), packed)
    w.response(base + "/chunked", at(4), head(Transfer_Encoding="chunked"), chunked(page[::-1]))
    w.response(
        base + "/both",
        at(5),
        head(Content_Encoding="gzip", Transfer_Encoding="chunked"),
        chunked(packed[:9] + packed[9:], (64,)),
        payload=None,
    )
    w.response(base + "/missing", at(6), head("404 Not Found", Content_Length=9), b"not found")
    w.response(base + "/moved", at(7), head("301 Moved Permanently", Location=base + "/", Content_Length=0), b"")
    w.response(base + "/cut", at(8), head(Content_Length=100000), b"only the beginning", Truncated="length")
    w.response(base + "/late", at(9), head(Content_Length=100000), b"stopped by the clock", Truncated="time")
    w.response(base + "/empty", at(10), head("204 No Content", None), b"")
    # heads that a tidy writer would change
    w.response(base + "/odd/lf", at(11), b"HTTP/1.0 200 OK\nContent-Type: text/plain\n\n", b"line feeds only")
    w.response(
        base + "/odd/case",
        at(12),
        b"HTTP/1.1 200\r\ncONTENT-tYPE:text/plain\r\nX-Twice: 1\r\nX-Twice:  2 \r\n\r\n",
        b"odd case",
    )
    w.response(
        base + "/odd/latin",
        at(13),
        b"HTTP/1.1 200 OK\r\nX-Name: caf\xe9\r\nContent-Type: text/plain\r\n\r\n",
        b"latin-1 in the head",
    )
    w.response(
        base + "/odd/folded",
        at(14),
        b"HTTP/1.1 200 OK\r\nX-Long: one\r\n two\r\nContent-Type: text/plain\r\n\r\n",
        b"a folded field",
    )
    w.response(base + "/odd/nul", at(15), head(media="application/octet-stream"), bytes(range(256)) * 30)
    w.response(base + "/no-digest", at(16), head(media="text/plain"), b"no payload digest was written", payload=None)
    w.response(
        base + "/hex-digest",
        at(17),
        head(media="text/plain"),
        b"hex",
        Payload_Digest="sha256:" + hashlib.sha256(b"hex").hexdigest(),
    )
    w.response(
        base + "/typed",
        at(18),
        head(media="text/plain"),
        b"%PDF-1.4 in truth",
        Identified_Payload_Type="application/pdf",
    )
    # the same body elsewhere and later, as a crawler without deduplication writes it
    w.response(base + "/copy", at(19), head(Content_Length=len(page)), page)
    w.response(base + "/", at(20), head(Content_Length=len(page), X_Visit="2"), page)

    # revisits: of the same URL, of another, by id only, of something never seen, without a head, not modified
    refers = {"Refers_To_Target_URI": base + "/", "Refers_To_Date": at(1)}
    digest = sha1(page)
    again = head(Content_Length=len(page), X_Visit="3")
    http = "application/http; msgtype=response"
    w.add("revisit", base + "/", at(21), again, http, Profile=same, Payload_Digest=digest, Refers_To=first, **refers)
    w.add("revisit", base + "/alias", at(22), again, http, Profile=same, Payload_Digest=digest, **refers)
    w.add(
        "revisit",
        base + "/by-id",
        at(23),
        again,
        http,
        Profile=same,
        Payload_Digest=digest,
        Refers_To=first,
        Truncated="length",
    )
    w.add(
        "revisit",
        base + "/unseen",
        at(24),
        again,
        http,
        Profile=same,
        Payload_Digest=sha1(b"never seen"),
        Refers_To_Target_URI=base + "/gone",
        Refers_To_Date=at(0),
    )
    w.add("revisit", base + "/", at(25), b"", http, Profile=same, Payload_Digest=digest, **refers)
    w.add(
        "revisit",
        base + "/",
        at(26),
        head("304 Not Modified", None, ETag='"1"'),
        http,
        Profile=not_modified,
        Refers_To=first,
        **refers,
    )

    # resources, metadata, conversions
    w.add(
        "resource",
        f"ftp://zoo.example/{version}/readme.txt",
        at(30),
        b"from ftp\n",
        "text/plain",
        payload=b"from ftp\n",
    )
    w.add(
        "resource", f"file:///srv/{version}/notes.html", at(31), b"<p>from disk", "text/html", payload=b"<p>from disk"
    )
    w.add(
        "resource",
        f"urn:screenshot:{base}/",
        at(32),
        b"\x89PNG\r\n\x1a\nnot really",
        "image/png",
        payload=b"\x89PNG\r\n\x1a\nnot really",
        Concurrent_To=first,
    )
    w.add(
        "metadata",
        base + "/",
        at(33),
        b"via: http://seed.example/\r\nhopsFromSeed: L\r\nfetchTimeMs: 12\r\n",
        "application/warc-fields",
        Concurrent_To=first,
    )
    w.add(
        "metadata", f"urn:herodotus-check:{version}", at(34), b'{"key": "value"}', "application/json", Refers_To=first
    )
    w.add("metadata", None, at(35), b"note: about the file\r\n", "application/warc-fields", Refers_To=info)
    w.add(
        "conversion",
        base + "/",
        at(36),
        b"a page of some length",
        "text/plain",
        payload=b"a page of some length",
        Refers_To=first,
    )
    w.add(
        "response",
        f"dns:zoo{version}.example",
        at(37),
        b"20250601103700\nzoo.example. 300 IN A 192.0.2.1\n",
        "text/dns",
        payload=b"20250601103700\nzoo.example. 300 IN A 192.0.2.1\n",
        IP_Address="192.0.2.53",
    )

    if version == "1.1":  # warcio and others write microseconds
        w.response(base + "/micro", at(38)[:-1] + "456Z", head(media="text/plain"), b"microseconds")

    # one response in three segments
    whole = head(Content_Length=3000) + b"s" * 1000
    origin = w.add("response", base + "/segmented", at(40), whole, http, Segment_Number="1", payload=None)
    w.add("continuation", base + "/segmented", at(40), b"t" * 1000, http, Segment_Number="2", Segment_Origin_ID=origin)
    w.add(
        "continuation",
        base + "/segmented",
        at(40),
        b"u" * 1000,
        http,
        Segment_Number="3",
        Segment_Origin_ID=origin,
        Segment_Total_Length=str(len(whole) + 2000),
    )
    w.close()


# ---- URLs whose keys people get wrong ----

ODD_URLS = """
http://Example.COM
http://example.com/
http://www.example.com/A/B/
http://www2.example.com/a
http://example.com:80/x
https://example.com:443/x
http://example.com:8080/x
https://example.com:80/x
http://user:pass@example.com/private
http://example.com/a/../b/./c
http://example.com/a//b///c
http://example.com/?b=2&a=1&B=3
http://example.com/?
http://example.com/path?
http://example.com/p?a=1&a=0&=x&c
http://example.com/p?q=a+b%20c%2Bd
http://example.com/%7Euser/%41%42
http://example.com/%e4%bd%a0%E5%A5%BD
http://example.com/caf%C3%A9?x=%zz
http://example.com/p;jsessionid=0123456789abcdef0123456789ABCDEF?x=1
http://example.com/p?jsessionid=0123456789abcdef0123456789ABCDEF
http://example.com/p?PHPSESSID=0123456789abcdef0123456789abcdef&x=1
http://example.com/p?sid=0123456789abcdef0123456789abcdef
http://example.com/(S(4hqa0555fwsecu455xqckv45))/page.aspx
http://example.com/index.html#part
http://example.com/UPPER/Case.HTML?Q=Mixed
http://192.0.2.1/
http://192.0.2.1:8000/a?b
http://[2001:db8::1]/
http://localhost/
http://a.b.c.d.example.co.uk/z
http://example.com./dot
http://xn--bcher-kva.example/
http://example.com/a%20b
http://example.com/a,b;c=d
http://example.com/'quote'
http://example.com/trail/
http://example.com/trail
http://example.com/x?y=http://other.example/z?1
https://example.com/secure
ftp://example.com/pub/file.txt
dns:example.com
urn:uuid:11111111-2222-3333-4444-555555555555
""".split()


def odd_urls(path):
    """A response (or resource) for each odd URL."""
    w = Writer(path)
    for number, url in enumerate(ODD_URLS):
        body = f"body {number} of {url}".encode()
        date = f"2025-08-01T00:{number // 60:02d}:{number % 60:02d}Z"
        if url.startswith("http"):
            w.response(url, date, head(media="text/plain", Content_Length=len(body)), body)
        else:
            w.add("resource", url, date, body, "text/plain", payload=body)
    w.close()
