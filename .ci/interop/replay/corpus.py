"""The WARC that both archives show: what the other checks are made of, and what replay in particular gets wrong.

Everything is made from fixed seeds, but for pages of real documentation, which are taken where another check has left them.
"""

import pathlib
import random

import made
from made import Version, Writer, chunked, head

DOCUMENTS_MAX = 150
REVISIT = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"


class Corpus:
    def __init__(self, folder, cache):
        self.folder = folder
        self.versions = []  # of every capture, in the order written; a revisit's body is its original's
        self.revisits = 0
        self.files = [folder / "site.warc.gz", folder / "more.warc.gz"]
        self.versions += made.site(self.files[0])
        self.writer = Writer(self.files[1])
        self._odd_urls()
        self._redirects()
        self._revisits()
        self._beyond_ascii()
        self._many_versions()
        self._codings()
        self.documents = self._documents(cache / "crawl-site")
        self.writer.close()

    def urls(self):
        return list(dict.fromkeys(version.url for version in self.versions))

    def _put(self, url, stamp, status, media, body, wire=None, **fields):
        wire = body if wire is None else wire
        if "Transfer_Encoding" not in fields:
            fields["Content_Length"] = len(wire)
        record = self.writer.response(url, _date(stamp), head(status, media, **fields), wire)
        self.versions.append(Version(url, stamp, int(status[:3]), media, wire, body))
        return record

    def _odd_urls(self):
        # One spelling of each key: two captures of one key are told apart by their time alone.
        import surt

        seen = set()
        for number, url in enumerate(made.ODD_URLS):
            has_path = "/" in url.partition("://")[2]  # pywb would send to the URL with its slash
            if url.startswith("http") and has_path and "#" not in url and surt.surt(url) not in seen:
                seen.add(surt.surt(url))
                stamp = f"202508010{number // 60:01d}{number % 60:02d}07"
                self._put(url, stamp, "200 OK", "text/plain", f"body {number} of {url}".encode())

    def _redirects(self):
        codes = ("301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect")
        for number in range(40):
            target = ("/landed/%d", "landed/%d", "http://redirects.example/landed/%d", "https://elsewhere.example/%d?a=b")
            where = target[number % 4] % number
            body = f"<p>moved to {where}".encode()
            self._put(f"http://redirects.example/from/{number}", f"202502{number % 28 + 1:02d}1010{number:02d}", codes[number % 5], "text/html", body, Location=where)
            self._put(f"http://redirects.example/landed/{number}", f"202502{number % 28 + 1:02d}1011{number:02d}", "200 OK", "text/html", f"<p>landed {number}".encode())

    def _revisits(self):
        dice = random.Random(7)
        for number in range(40):
            url, first = f"http://again.example/page/{number}", f"20240115{number % 24:02d}{number:02d}00"
            body = dice.randbytes(300) if number % 4 == 0 else f"<title>{number}</title>".encode() * (number + 1)
            media = "image/png" if number % 4 == 0 else "text/html"
            self._put(url, first, "200 OK", media, body)
            for month in (3, 5, 9):
                stamp = f"2024{month:02d}{first[6:]}"
                block = head("200 OK", media, Content_Length=len(body), X_Visit=month)
                self.writer.add(
                    "revisit",
                    url,
                    _date(stamp),
                    block,
                    "application/http; msgtype=response",
                    Profile=REVISIT,
                    Payload_Digest=made.sha1(body),
                    Refers_To_Target_URI=url,
                    Refers_To_Date=_date(first),
                )
                self.versions.append(Version(url, stamp, 200, media, body, body))
                self.revisits += 1

    def _beyond_ascii(self):
        words = "straße/größe καλημέρα/κόσμε 你好/世界 привет/мир שלום/עולם naïve/café 日本語/ページ emoji/🙂".split()
        for number, word in enumerate(words):
            self._put(f"http://words.example/{word}", f"2025030112{number:02d}00", "200 OK", "text/plain; charset=utf-8", word.encode())
            self._put(f"http://bücher{number}.example/", f"2025030113{number:02d}00", "200 OK", "text/plain; charset=utf-8", word.encode())

    def _many_versions(self):
        for number in range(100):
            stamp = f"20{10 + number // 10:02d}{number % 10 + 1:02d}05060708"
            status = "404 Not Found" if number % 9 == 4 else "200 OK"
            self._put("http://many.example/news", stamp, status, "text/html", f"<p>edition {number}".encode())

    def _codings(self):
        import gzip

        import brotli

        text = b"<p>words that repeat, words that repeat</p>\n" * 200
        packed, dense = gzip.compress(text, 6, mtime=0), brotli.compress(text)
        for number, (body, wire, fields) in enumerate(
            (
                (text, chunked(text), {"Transfer_Encoding": "chunked"}),
                (packed, packed, {"Content_Encoding": "gzip"}),
                (packed, chunked(packed), {"Content_Encoding": "gzip", "Transfer_Encoding": "chunked"}),
                (dense, dense, {"Content_Encoding": "br"}),
                (dense, chunked(dense, (5, 70)), {"Content_Encoding": "br", "Transfer_Encoding": "chunked"}),
                (b"", b"", {}),
                (b"", b"0\r\n\r\n", {"Transfer_Encoding": "chunked"}),
            )
        ):
            self._put(f"http://coded.example/{number}", f"202504010000{number:02d}", "200 OK", "text/html", body, wire, **fields)

    def _documents(self, root):
        """Pages of real documentation, if the crawl check has unpacked some."""
        files = sorted(file for file in pathlib.Path(root).glob("*/usr/share/doc/**/*.html") if file.is_file() and not file.is_symlink())
        for number, file in enumerate(files[:: max(1, len(files) // DOCUMENTS_MAX)][:DOCUMENTS_MAX]):
            stamp = f"20250601{number // 3600 % 24:02d}{number // 60 % 60:02d}{number % 60:02d}"
            path = file.relative_to(root).as_posix()
            self._put(f"http://docs.example/{path}", stamp, "200 OK", "text/html", file.read_bytes())
        return min(len(files), DOCUMENTS_MAX)


def _date(stamp):
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[8:10]}:{stamp[10:12]}:{stamp[12:]}Z"
