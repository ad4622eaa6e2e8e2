"""pywb serves what we export: every body as the origin sent it, and as `get` gives it."""

import hashlib
import http.client
import json
import time

import harness
import made
from harness import Archive, Failure, peer, start_pywb, stop

URLS_MIN = 50


def check(checks):
    versions = made.site(checks.folder / "site.warc.gz")
    archive = Archive(checks.folder / "data").take(checks.folder / "site.warc.gz")
    _listed(checks, archive, versions)
    _got(checks, archive, versions)
    for name, file, options, arguments in (
        ("plain", "plain.warc.gz", (), ()),
        ("full", "full.warc.gz", ("--full",), ()),
        ("wacz", "site.wacz", (), ("--unpack-wacz",)),
    ):
        exported = archive.give(checks.folder / file, *options)
        root = checks.folder / f"pywb-{name}"
        root.mkdir()
        peer("wb-manager", "init", "coll", cwd=root)
        peer("wb-manager", "add", *arguments, "coll", exported, cwd=root)
        with Pywb(root) as pywb:
            _replayed(checks, pywb, versions, f"pywb on {file}")


def _listed(checks, archive, versions):
    """`list --json` tells of every version what is true of it."""
    for url in dict.fromkeys(version.url for version in versions):
        wanted = [(v.timestamp, v.status, len(v.wire), made.sha1(v.wire)) for v in versions if v.url == url]
        told = [(line["timestamp"], line["status"], line["length"], line["sha1"]) for line in archive.list(url)]
        if told != sorted(wanted):
            raise Failure(f"list {url}\n      told:   {told}\n      wanted: {sorted(wanted)}")
    checks.ok(f"list tells time, status, length and SHA-1 of {len(versions)} versions")


def _got(checks, archive, versions):
    """`get --at` gives the bytes after the HTTP head of each version (of some: each call opens the archive)."""
    some = versions[:: max(1, len(versions) // 60)]
    for version in some:
        if archive.get(version.url, version.timestamp) != version.wire:
            raise Failure(f"get {version.url} --at {version.timestamp} differs from what was imported")
    checks.ok(f"get gives back {len(some)} versions byte for byte")
    told = [json.loads(archive.get(v.url, v.timestamp, "--json"))["sha256"] for v in some[:5]]
    wanted = [hashlib.sha256(v.wire).hexdigest() for v in some[:5]]
    checks.same("get --json tells their SHA-256", told, wanted)
    url = versions[0].url
    last = max((v for v in versions if v.url == url), key=lambda v: v.timestamp)
    checks.same("get without --at gives the newest version", archive.get(url), last.wire)


def _replayed(checks, pywb, versions, name):
    """pywb undoes the chunked framing, as any HTTP server must, and leaves Content-Encoding alone."""
    differing = []
    for version in versions:
        status, served_at, body = pywb.get(version)
        if (status, body) != (version.status, version.entity):
            differing.append(f"{version.url} {version.timestamp}: {status}, {len(body)} bytes")
        elif served_at != version.timestamp:
            differing.append(f"{version.url} {version.timestamp}: served the version of {served_at}")
    if differing:
        more = f"\n      and {len(differing) - 5} more" if len(differing) > 5 else ""
        raise Failure(f"{name} serves other bytes:\n      " + "\n      ".join(differing[:5]) + more)
    urls = len({version.url for version in versions})
    if urls < URLS_MIN:
        raise Failure(f"only {urls} URLs were compared")
    checks.ok(f"{name} returns identical bodies for {len(versions)} versions of {urls} URLs")


class Pywb:
    def __init__(self, root):
        self.root = root

    def __enter__(self):
        self.process, self.port = start_pywb(self.root)
        return self

    def __exit__(self, *_):
        stop(self.process)

    def get(self, version):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(
                "GET", f"/coll/{version.timestamp}id_/{version.url}", headers={"Accept-Encoding": "gzip, br, zstd"}
            )
            answer = connection.getresponse()
            body = answer.read()
            return answer.status, _stamp(answer.getheader("Memento-Datetime")), body
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error), b""
        finally:
            connection.close()


def _stamp(memento):
    if memento is None:
        return "nothing"
    return time.strftime("%Y%m%d%H%M%S", time.strptime(memento, "%a, %d %b %Y %H:%M:%S GMT"))


if __name__ == "__main__":
    harness.main(check)
