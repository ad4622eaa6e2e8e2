"""A real site crawled by us and by wget: the same URLs, every body as it is on disk, and a second round that fetches nothing."""

import collections
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import docsite
import explain
import harness
from harness import Archive, Failure, peer, run
from warcio.archiveiterator import ArchiveIterator

NAME = "documentation"
SHOWN_MAX = 10  # differences of one class that are printed one by one
# wget ends with 8 when a link leads to an error, which links in real documentation do, and with 4 when a host cannot be reached.
WGET_ACCEPTED = (0, 4, 8)


def check(checks):
    cache = pathlib.Path(os.environ["HERODOTUS_CI_CACHE"]) / "crawl-site"
    root = checks.folder / "root"
    packages = docsite.build(cache, root)
    if not packages:
        checks.skip("no documentation package could be had; nothing was checked")
        return
    archive = Archive(checks.folder / "data")
    with docsite.Nginx(checks.folder / "nginx", root) as nginx:
        ours = first_round(checks, archive, nginx)
        archived = formats(checks, archive, nginx, root)
        checks.same(
            f"the {len(ours)} URLs that were asked for are in the archive, with their status",
            sorted(archived.items()),
            sorted(ours.items()),
            ("archived", "asked for"),
        )
        against_wget(checks, nginx, root, ours)
        second_round(checks, archive, nginx, ours)


def first_round(checks, archive, nginx):
    """Crawls the site; gives the status of every path that was asked for."""
    crawl(archive, nginx, nginx.url, "--scope", "host")
    asked = nginx.asked()
    twice = [path for path, times in collections.Counter(path for _, path, _ in asked).items() if times > 1]
    if twice:
        raise Failure(f"{len(twice)} URLs were asked for more than once: {twice[:SHOWN_MAX]}")
    statuses = {path: status for status, path, _ in asked}
    counts = collections.Counter(statuses.values())
    checks.ok(f"crawled {len(asked)} URLs, each once: {', '.join(f'{n} × {s}' for s, n in sorted(counts.items()))}")
    return statuses


def crawl(archive, nginx, *what):
    archive("crawl", *what, "--name", NAME, "--delay", 0, "--concurrency", 8, "--allow-private", "127.0.0.0/8",
            "--contact", "ci@example.org")  # fmt: skip


def formats(checks, archive, nginx, root):
    """Exports, has the field's tools check it, and compares every body with its file. Gives path -> status."""
    plain = archive.give(checks.folder / "out.warc.gz")
    peer("warcio", "check", plain)
    checks.ok(f"warcio check, {plain.stat().st_size / 1e6:.0f} MB")
    wacz = archive.give(checks.folder / "out.wacz")
    peer("wacz", "validate", "-f", wacz)
    checks.ok("wacz validate")
    full = archive.give(checks.folder / "full.warc.gz", "--full")
    archived, bodies, total = {}, 0, 0
    with open(full, "rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type != "response":
                continue
            url = record.rec_headers.get_header("WARC-Target-URI")
            if not url.startswith(nginx.url):
                continue  # a page's picture may lie elsewhere; it is not ours to serve
            path, status = url[len(nginx.url) - 1 :], int(record.http_headers.get_statuscode())
            archived[path] = status
            if status == 200:
                expected = docsite.file_of(root, path)
                if expected is None or record.content_stream().read() != expected.read_bytes():
                    raise Failure(f"{url} is not archived as it is on disk in {expected}")
                bodies, total = bodies + 1, total + expected.stat().st_size
    checks.ok(f"{bodies} bodies are archived byte for byte, {total / 1e6:.0f} MB")
    return archived


def against_wget(checks, nginx, root, ours):
    """Every URL that only one of the two asked for has a reason."""
    run("wget", "--no-config", "--no-verbose", "-o", checks.folder / "wget.log", "-e", "robots=off", "--mirror",
        "--page-requisites", "--no-host-directories", "-P", checks.folder / "mirror", nginx.url, accept=WGET_ACCEPTED)  # fmt: skip
    # wget asks conditionally for a folder whose index.html it has already.
    theirs = {path: 200 if status == 304 else status for status, path, _ in nginx.asked()}
    ours, theirs = ({explain.written_the_same(p): s for p, s in asked.items()} for asked in (ours, theirs))
    checks.same(
        "both got the same answers where both asked",
        [(path, status) for path, status in sorted(ours.items()) if path in theirs],
        [(path, status) for path, status in sorted(theirs.items()) if path in ours],
        ("ours", "wget"),
    )
    reasons = explain.Reasons(root, [path for path, status in {**theirs, **ours}.items() if status == 200])
    unexplained = 0
    for who, paths in (("only ours", set(ours) - set(theirs)), ("only wget", set(theirs) - set(ours))):
        classes = collections.defaultdict(list)
        for path in sorted(paths):
            classes[reasons.of(who, path)].append(path)
        for reason, members in sorted(classes.items(), key=lambda item: str(item[0])):
            print(f"    {who}: {len(members)} URLs: {reason or 'WITHOUT AN EXPLANATION'}")
            for path in members[:SHOWN_MAX]:
                print(f"        {ours.get(path) or theirs.get(path)} {path}  {reasons.named(path)}")
            unexplained += 0 if reason else len(members)
    if unexplained:
        raise Failure(f"{unexplained} URLs were asked for by only one of us and wget, and nobody knows why")
    both = len(set(ours) & set(theirs))
    checks.ok(f"wget found the same {both} URLs; it alone {len(theirs) - both}, we alone {len(ours) - both}, all explained")


def second_round(checks, archive, nginx, ours):
    before = archive.stats()
    crawl(archive, nginx)
    asked = nginx.asked()
    known = {path for path, status in ours.items() if status == 200}
    statuses = collections.Counter(status for status, path, _ in asked if path in known)
    unconditional = [path for _, path, conditional in asked if path in known and not conditional]
    if unconditional:
        raise Failure(f"{len(unconditional)} URLs were asked for unconditionally again: {unconditional[:SHOWN_MAX]}")
    checks.same("the second round asks for every page conditionally, and all are 304", dict(statuses), {304: len(known)})
    after = archive.stats()
    kept = ("captures", "urls")
    checks.same("the second round adds no version", [after[k] for k in kept], [before[k] for k in kept])


if __name__ == "__main__":
    harness.main(check)
