"""Five nodes crawl real sites together. What they archive is what one archive alone does: the same URLs, the same payloads, in files that other tools read."""

import collections
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "interop" / part) for part in ("crawl", ".")]

import docsite
import harness
from harness import Archive, Failure, peer
from warcio.archiveiterator import ArchiveIterator

# About 3,800 pages of five packages; three of those are large enough to be split over several machines while they are crawled.
PACKAGES = (r"sqlite3-doc", r"postgresql-doc-\d+", r"libeigen3-doc", r"debian-policy", r"debian-faq")
NODES, COPIES = 5, 3
DOMAIN = "docs.example"
NAME = "documentation"
JOIN_SECONDS_MAX, CRAWL_SECONDS_MAX = 60, 150
SHOWN_MAX = 10
TWICE_PERCENT_MAX = 0.5  # nothing happens to this ring


def check(checks):
    root = checks.folder / "root"
    starts = docsite.build(pathlib.Path(os.environ["HERODOTUS_CI_CACHE"]) / "crawl-site", root, PACKAGES)
    if not starts:
        checks.skip("no documentation package could be had; nothing was checked")
        return
    (root / "start").mkdir()
    docsite.write_index(root / "start", [f"http://{name}.{DOMAIN}/{start}" for name, start in starts.items()])
    with docsite.Nginx(checks.folder / "nginx", root, DOMAIN) as nginx:
        # Whatever a page links to is asked of this server; what is not here is not found.
        reach = ("--allow-private", "127.0.0.0/8", "--connect-to", f"*=127.0.0.1:{nginx.port}")
        began = time.monotonic()
        alone = Archive(checks.folder / "alone")
        alone("crawl", *definition(), *reach)
        took, asked_alone = time.monotonic() - began, nginx.asked_urls()
        checks.ok(f"alone: {len(asked_alone)} requests to {len({url.split('/')[2] for url in asked_alone})} hosts in {took:.1f} s")
        expected = payloads(checks, alone)
        with Ring(checks.folder, reach) as ring:
            took = ring.crawl()
            asked = nginx.asked_urls()
            checks.ok(f"together: {len(asked)} requests by {NODES} nodes, complete after {took:.1f} s, {len(asked) / took:.0f} a second")
            found = payloads(checks, ring.archives[-1])
    difference(checks, "were asked for by both", set(asked), set(asked_alone))
    difference(checks, "are archived by both, with the same payloads", as_set(found), as_set(expected))
    twice(checks, asked)


def definition():
    return f"http://start.{DOMAIN}/", "--name", NAME, "--scope", "domain", "--delay", 0, "--concurrency", 8, "--contact", "ci@example.org"


def payloads(checks, archive):
    """url -> status and payload digest of each capture, as exported. A node exports what its whole ring has."""
    began = time.monotonic()
    file = archive.give(archive.folder.with_suffix(".warc.gz"))
    took = time.monotonic() - began
    peer("warcio", "check", file)
    captures, count = collections.defaultdict(set), 0
    with open(file, "rb") as stream:
        for record in ArchiveIterator(stream):
            if record.rec_type in ("response", "revisit"):
                url, digest = (record.rec_headers.get_header(name) for name in ("WARC-Target-URI", "WARC-Payload-Digest"))
                captures[url].add((record.http_headers.get_statuscode(), digest))
                count += 1
    checks.ok(f"warcio check, {file.stat().st_size / 1e6:.0f} MB: {count} captures of {len(captures)} URLs, exported in {took:.1f} s")
    return captures


def as_set(captures):
    return {(url, *capture) for url, some in captures.items() for capture in some}


def difference(checks, what, together, alone):
    only = {"only the ring": sorted(together - alone), "only one alone": sorted(alone - together)}
    if any(only.values()):
        told = "\n".join(f"      {who}: {len(some)}: {some[:SHOWN_MAX]}" for who, some in only.items())
        raise Failure(f"not all {what}\n{told}")
    checks.ok(f"{len(together)} {what}; the difference is empty")


def twice(checks, asked):
    again = {url: times for url, times in collections.Counter(asked).items() if times > 1 and not url.endswith("/robots.txt")}
    share = 100 * sum(times - 1 for times in again.values()) / len(set(asked))
    if share >= TWICE_PERCENT_MAX:
        raise Failure(f"{share:.2f}% were fetched again, not under {TWICE_PERCENT_MAX}%: {list(again.items())[:SHOWN_MAX]}")
    checks.ok(f"{share:.2f}% were fetched again")


class Ring:
    """Nodes on loopback while it is entered."""

    def __init__(self, folder, reach):
        self.folder, self.reach = folder, reach
        self.archives = [Archive(folder / f"node-{number}") for number in range(NODES)]
        self.processes = []

    def __enter__(self):
        try:
            self.archives[0]("ring", "create", "--name", "docs", "--copies", COPIES)
            self._start(self.archives[0])
            for archive in self.archives[1:]:
                ticket = json.loads(self.archives[0]("--json", "ring", "invite"))["ticket"]
                self._start(archive, "--join", ticket)
            self._until("the ring has not come together", JOIN_SECONDS_MAX, self._is_whole)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            harness.stop(process)

    def _start(self, archive, *more):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        paces = ("--ring-pace", "300", "--copies-pace", "0.01")
        command = (archive.binary, "--data", archive.folder, "--json", "node", "--listen", "127.0.0.1:0", "--replay-listen", "127.0.0.1:0",
                   "--peers", f"127.0.0.1:{port}", *paces, *self.reach, *more)  # fmt: skip
        with open(f"{archive.folder}.log", "ab") as log:
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        self.processes.append(process)
        if not process.stdout.readline():
            raise Failure(f"a node did not start: see {archive.folder}.log")

    def _is_whole(self):
        for archive in self.archives:
            told = json.loads(archive("--json", "ring", "status"))["nodes"]
            if any(node["standing"] != "member" or len(node["successors"]) != NODES - 1 for node in told):
                return False
        return True

    def crawl(self):
        """Begun on one node, awaited on all. The seconds that it took."""
        began = time.monotonic()
        self.archives[2]("crawl", "--together", "--no-wait", *definition())
        self._until("the crawl does not end", CRAWL_SECONDS_MAX, lambda: all(self._state(archive) == "complete" for archive in self.archives))
        return time.monotonic() - began

    def _state(self, archive):
        told = [json.loads(line) for line in archive("--json", "ring", "crawls").splitlines()]
        self.last = next((crawl for crawl in told if crawl["name"] == NAME), {})
        return self.last.get("state")

    last = None

    def _until(self, what, seconds, look):
        end = time.monotonic() + seconds
        while not look():
            if time.monotonic() > end:
                raise Failure(f"{what} in {seconds} s: {self.last}")
            time.sleep(0.3)


if __name__ == "__main__":
    harness.main(check)
