"""A small web server on loopback for wget to visit: redirects, errors, pictures, chunked and gzipped bodies."""

import gzip
import http.server
import random
import threading

PICTURE = b"\x89PNG\r\n\x1a\n" + random.Random(5).randbytes(5000)
COPY = b"<p>the same text under two names</p>" * 30
LINKS = """
page1 page2 moved gone missing broken picture.png copy1 copy2 chunked gzip both empty old old2 find?b=2&a=1
""".split()


class Origin:
    """Serves while it is entered; `url` has the port that the system chose."""

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class _Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.lstrip("/")
        if path == "":
            links = "".join(f'<a href="/{link.replace("&", "&amp;")}">{link}</a><br>' for link in LINKS)
            self._send(200, f"<title>home</title>{links}<img src=/picture.png>".encode())
        elif path in ("copy1", "copy2"):
            self._send(200, COPY)
        elif path == "picture.png":
            self._send(200, PICTURE, media="image/png")
        elif path in ("moved", "old", "old2"):
            code = {"moved": 302, "old": 301, "old2": 307}[path]
            self._send(code, b"<p>elsewhere", [("Location", "/page1" if path == "moved" else "/page2")])
        elif path in ("gone", "missing", "broken"):
            self._send({"gone": 410, "missing": 404, "broken": 500}[path], f"<h1>{path}</h1>".encode())
        elif path == "chunked":
            self._send_chunked(b"<p>in pieces</p>" * 700, [])
        elif path == "both":
            self._send_chunked(
                gzip.compress(b"<p>packed, in pieces</p>" * 700, mtime=0), [("Content-Encoding", "gzip")]
            )
        elif path == "gzip":
            self._send(200, gzip.compress(b"<p>packed</p>" * 700, mtime=0), [("Content-Encoding", "gzip")])
        elif path == "empty":
            self._send(200, b"")
        else:
            self._send(200, f"<title>{path}</title><p>this is {path}".encode() * 20)

    def do_POST(self):
        form = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._send(200, b"<p>received " + form)

    def _send(self, code, body, fields=(), media="text/html; charset=utf-8"):
        self.send_response(code)
        for name, value in (("Content-Type", media), ("Content-Length", str(len(body))), *fields):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _send_chunked(self, body, fields):
        self.send_response(200)
        for name, value in (("Content-Type", "text/html"), ("Transfer-Encoding", "chunked"), *fields):
            self.send_header(name, value)
        self.end_headers()
        for start in range(0, len(body), 1000):
            piece = body[start : start + 1000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    with Origin() as origin:
        print(origin.url, flush=True)
        threading.Event().wait()
