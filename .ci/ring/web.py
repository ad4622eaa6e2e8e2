"""A web whose every page is known beforehand: what is to be found there, what each page is, and a server that writes down who asked for what.

Every page but the front pages is linked from one other page only, every fourth of them from one on the next host: a link that is lost is a page, and all behind it, that nobody finds.
"""

import collections
import functools
import http.server
import random
import socketserver
import threading
import time

# One request a second to each: the smallest is done in a minute, if nothing happens.
PAGES = [72, 70, 68, 66, 64, 62, 60, 58, 56, 54, 52, 50]
HOSTS = [f"host-{n}.example" for n in range(len(PAGES))]
SEED = f"http://{HOSTS[0]}/"
FORBIDDEN = "/private/"
ROBOTS = f"User-agent: *\nDisallow: {FORBIDDEN}\n".encode()

Request = collections.namedtuple("Request", "at who host path")


def path_of(page):
    return f"/page-{page}.html" if page else "/"


@functools.cache
def children():
    """(host, page) -> the pages that are linked from there and nowhere else."""
    linked = collections.defaultdict(list)
    for host, pages in enumerate(PAGES):
        for page in range(1, pages):
            above = (page - 1) // 2
            elsewhere = (host + 1) % len(HOSTS)
            is_from_elsewhere = page % 4 == 3 and above < PAGES[elsewhere]
            linked[elsewhere if is_from_elsewhere else host, above].append((host, page))
    return linked


def body_of(host, page):
    chance = random.Random(f"{host} {page}")
    own = [(h, path_of(p)) for h, p in children().get((host, page), ())]
    # Everybody links to some front pages, and to what nobody may visit.
    own += [(chance.randrange(len(HOSTS)), "/") for _ in range(2)] + [(host, f"{FORBIDDEN}{page}.html")]
    links = "".join(f'<li><a href="http://{HOSTS[h]}{path}">{HOSTS[h]}{path}</a>\n' for h, path in own)
    words = " ".join(f"{chance.getrandbits(40):x}" for _ in range(chance.randrange(50, 1500)))
    return f"<!DOCTYPE html><title>Page {page} of {HOSTS[host]}</title>\n<ul>\n{links}</ul>\n<p>{words}\n".encode()


@functools.cache
def truth():
    """Path by path, what each host answers."""
    return {host: {path_of(page): body_of(n, page) for page in range(PAGES[n])} for n, host in enumerate(HOSTS)}


def urls():
    return {f"http://{host}{path}" for host, pages in truth().items() for path in pages}


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Logs a line for every request the moment it has come: seconds, who asked, host, path."""

    daemon_threads, request_queue_size = True, 128

    def __init__(self, address, log):
        truth()
        self.lock, self.log = threading.Lock(), open(log, "a", buffering=1)
        super().__init__(address, Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = 1 << 16, True

    def do_GET(self):
        host = self.headers.get("Host", "").partition(":")[0]
        with self.server.lock:
            self.server.log.write(f"{time.time():.4f}\t{self.client_address[0]}\t{host}\t{self.path}\n")
        body = ROBOTS if self.path == "/robots.txt" else truth().get(host, {}).get(self.path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


def requests(log):
    with open(log) as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [Request(float(at), who, host, path) for at, who, host, path in rows]
