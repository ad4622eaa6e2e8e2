"""Writes releases of a site into a .warc.gz as a crawler without deduplication does.

Per page and release: one response and one request record, also when the page did not change. Dates,
record ids and heads depend only on the input, so two runs write the same bytes.
"""

import datetime
import hashlib
import io
import mimetypes
import statistics
import uuid
import zlib
from email.utils import format_datetime

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

FIRST_VISIT = datetime.datetime(2024, 1, 8, 3, 0, 0, tzinfo=datetime.timezone.utc)
DAYS_BETWEEN_VISITS = 7
AGENT = "Mozilla/5.0 (compatible; examplebot/1.0; +https://bot.example/)"


def gzip_body(body):
    """gzip at level 6 with zlib's defaults: Apache, most application servers, files gzipped ahead."""
    return _gzip(body, 15, 8)


def gzip_body_nginx(body):
    """gzip as nginx does on the fly: it narrows window and hash table to the length of the file
    (ngx_http_gzip_filter_memory), so the deflate parameters differ from page to page."""
    window, memory = 15, 9
    while len(body) < (1 << (window - 1)) - 262 and window > 9:
        window, memory = window - 1, memory - 1
    return _gzip(body, window, max(memory, 1))


def _gzip(body, window, memory):
    packer = zlib.compressobj(6, zlib.DEFLATED, -window, memory)
    raw = packer.compress(body) + packer.flush()
    tail = zlib.crc32(body).to_bytes(4, "little") + (len(body) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + raw + tail


def br_body(body):
    import brotli

    return brotli.compress(body, quality=6, lgwin=19)  # the nginx module's defaults


def zstd_body(body):
    import zstandard

    return zstandard.ZstdCompressor(level=3, write_content_size=False).compress(body)


CODINGS = {"gzip": gzip_body, "br": br_body, "zstd": zstd_body, "gzip-nginx": gzip_body_nginx}


class Crawl:
    """One .warc.gz under way. `coding` is a key of CODINGS, or None for bodies as they are."""

    def __init__(self, path, host, coding=None):
        self.host, self.coding = host, coding
        self.path, self.part = path, path.with_name(path.name + ".part")
        self.file = open(self.part, "wb")
        self.writer = WARCWriter(self.file, gzip=True)
        self.seen, self.changed = {}, {}
        self.records = self.raw_bytes = self.unchanged = 0
        info = {"software": "examplebot/1.0", "format": "WARC File Format 1.0", "robots": "obey"}
        record = self.writer.create_warcinfo_record(path.name, info)
        record.rec_headers.replace_header("WARC-Date", _utc(FIRST_VISIT))
        record.rec_headers.replace_header("WARC-Record-ID", self._id("warcinfo"))
        self.writer.write_record(record)
        self.records += 1

    def visit(self, release, files):
        """Writes every page of the release with this number (0, 1, …)."""
        start = FIRST_VISIT + datetime.timedelta(days=DAYS_BETWEEN_VISITS * release)
        for order, (page, body) in enumerate(sorted(files.items())):
            self._exchange(page, body, start + datetime.timedelta(seconds=order // 4), f"{release}/{page}")

    def _exchange(self, page, body, now, name):
        url = f"https://{self.host}/{page}"
        if self.changed.get(page, (None,))[0] != (digest := hashlib.sha1(body).digest()):
            self.changed[page] = (digest, now - datetime.timedelta(hours=5, minutes=len(body) % 60))
        else:
            self.unchanged += 1
        self.seen[page] = self.seen.get(page, 0) + 1
        modified = self.changed[page][1]
        tag = f'"{int(modified.timestamp()):x}-{len(body):x}"'
        media = mimetypes.guess_type(page)[0] or "application/octet-stream"
        text = media.startswith("text/") or media in ("application/json", "application/javascript", "image/svg+xml")
        heads = [
            ("Server", "nginx/1.24.0"),
            ("Date", _http_date(now)),
            ("Content-Type", f"{media}; charset=utf-8" if media.startswith("text/") else media),
        ]
        wire = body
        if self.coding and text:
            wire = CODINGS[self.coding](body)
            if self.coding == "gzip-nginx":
                heads.append(("Transfer-Encoding", "chunked"))
                wire = _chunked(wire)
            else:
                heads.append(("Content-Length", str(len(wire))))
            heads += [("Vary", "Accept-Encoding"), ("Content-Encoding", self.coding.partition("-")[0])]
            tag = "W/" + tag
        else:
            heads.append(("Content-Length", str(len(wire))))
        heads += [
            ("Connection", "keep-alive"),
            ("Last-Modified", _http_date(modified)),
            ("ETag", tag),
            ("Cache-Control", "public, max-age=600"),
        ]
        if not (self.coding and text):
            heads.append(("Accept-Ranges", "bytes"))
        asked = [
            ("Host", self.host),
            ("User-Agent", AGENT),
            ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
            ("Accept-Encoding", self.coding.partition("-")[0] if self.coding else "identity"),
            ("Connection", "keep-alive"),
        ]
        answer_id = self._id("response/" + name)
        common = {"WARC-Date": _utc(now), "WARC-IP-Address": "192.0.2.10"}
        answer = self.writer.create_warc_record(
            url,
            "response",
            payload=io.BytesIO(wire),
            http_headers=StatusAndHeaders("200 OK", heads, protocol="HTTP/1.1"),
            warc_headers_dict=common | {"WARC-Record-ID": answer_id},
        )
        request = self.writer.create_warc_record(
            url,
            "request",
            http_headers=StatusAndHeaders(f"GET /{page} HTTP/1.1", asked, is_http_request=True),
            warc_headers_dict=common | {"WARC-Record-ID": self._id("request/" + name), "WARC-Concurrent-To": answer_id},
        )
        for record in (answer, request):
            self.writer.write_record(record)
            self.raw_bytes += int(record.rec_headers.get_header("Content-Length"))
            self.records += 1

    def close(self):
        """Puts the finished file in its place and gives its row of the table."""
        self.file.close()
        self.part.rename(self.path)
        return {
            "set": self.path.name.removesuffix(".warc.gz"),
            "records": self.records,
            "captures": sum(self.seen.values()),
            "pages": len(self.seen),
            "versions_median": statistics.median(self.seen.values()),
            "unchanged_share": round(self.unchanged / sum(self.seen.values()), 3),
            "raw_bytes": self.raw_bytes,
            "warc_gz_bytes": self.path.stat().st_size,
        }

    def _id(self, name):
        return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{self.path.name}/{name}')}>"


def _chunked(wire, size=8192):
    parts = [wire[i : i + size] for i in range(0, len(wire), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"


def _utc(time):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _http_date(time):
    return format_datetime(time, usegmt=True)
