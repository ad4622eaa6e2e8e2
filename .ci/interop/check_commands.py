"""What people do with an archive: take a part out, bring old and broken files in, compare, remove, verify."""

import gzip
import hashlib
import json
import random
import re
import zlib

import harness
import made
from compare import fields_kept, nothing_lost
from harness import Archive, Failure, header, instant, peer, read_warc, run, target


def check(checks):
    folder = checks.folder
    versions = made.site(folder / "site.warc.gz")
    made.odd_urls(folder / "odd.warc.gz")
    archive = Archive(folder / "data").take(folder / "site.warc.gz", folder / "odd.warc.gz")
    _filters(checks, archive, versions)
    _filtered_revisits(checks)
    _digests(checks)
    _arc(checks)
    _diff(checks)
    _truncated(checks, versions)
    _strict(checks, versions)
    told = json.loads(archive("verify", "--json"))
    checks.same("verify finds nothing wrong after all that", told["damaged"], [])
    _remove(checks)


# ---- part of an archive ----


def _filters(checks, archive, versions):
    """Each filter gives exactly the captures that a plain comparison of the URLs and times gives."""

    def exported(*options):
        records = read_warc(archive.give(checks.folder / "part.warc.gz", *options))
        checkable = [r for r in records if header(r, "WARC-Type") in ("response", "revisit", "resource")]
        stray = [r for r in records if header(r, "WARC-Type") == "request" and not _with_answer(r, checkable)]
        if stray:
            raise Failure(f"export {' '.join(options)}: a request without its answer: {target(stray[0])}")
        return sorted((target(r), re.sub(r"\D", "", instant(r))[:14]) for r in checkable)

    site = sorted((v.url, v.timestamp) for v in versions)
    odd = [(url, f"2025080100{n // 60:02d}{n % 60:02d}") for n, url in enumerate(made.ODD_URLS)]

    for prefix in ("https://site.example/part1/", "site.example/part1/", "http://site.example/part1"):
        wanted = [v for v in site if v[0].startswith("https://site.example/part1")]
        checks.same(f"export --prefix {prefix}: {len(wanted)} captures", exported("--prefix", prefix), wanted)
    got = exported("--prefix", "https://site.example/find?page=1")
    checks.same(
        "export --prefix with a query follows the order of keys, where page comes before q",
        got,
        [v for v in site if v[0].endswith("page=1")],
    )
    checks.same("export --host of one site", exported("--host", "site.example"), site)
    wanted = sorted(
        v for v in odd if re.match(r"(?i)(https?|ftp)://(user:pass@)?(www2?\.)?example\.com\.?(:80|:443)?(/|$)", v[0])
    )
    wanted = [v for v in wanted if v[0] != "https://example.com:80/x"]  # not https's own port, so another key
    checks.same("export --host knows www, user names, closing dots and ports", exported("--host", "example.com"), wanted)
    checks.same(
        "export --host with a port",
        exported("--host", "example.com:8080"),
        [v for v in odd if v[0] == "http://example.com:8080/x"],
    )
    checks.same("export --host of nothing is empty", exported("--host", "nowhere.example"), [])

    for option in (("--from", "2025-05"), ("--to", "2025-04"), ("--from", "20250404", "--to", "2025-05-03T12:02:07Z")):
        limits = dict(zip(option[::2], option[1::2]))
        first = re.sub(r"\D", "", limits.get("--from", "0")).ljust(14, "0")
        last = re.sub(r"\D", "", limits.get("--to", "9")).ljust(14, "9")
        wanted = sorted(v for v in site + odd if first <= v[1] <= last)
        checks.same(f"export {' '.join(option)}: {len(wanted)} captures", exported(*option), wanted)
    both = exported("--prefix", "https://site.example/part2/", "--from", "2025-05")
    wanted = [v for v in site if "/part2/" in v[0] and v[1] >= "20250501000000"]
    checks.same("export with a prefix and a time", both, wanted)

    index = archive.give(checks.folder / "part.cdxj", "--prefix", "https://site.example/part2/", "--from", "2025-05")
    lines = [line.split(" ", 2) for line in index.read_text().splitlines()]
    told = sorted((json.loads(rest)["url"], stamp) for _, stamp, rest in lines)
    checks.same("and so does a .cdxj", told, wanted)
    listed = archive.list("--prefix", "https://site.example/part2/", "--from", "2025-05")
    checks.same("and so does list", sorted((v["url"], v["timestamp"]) for v in listed), wanted)


def _with_answer(request, answers):
    ids = {header(r, "WARC-Record-ID") for r in answers}
    return header(request, "WARC-Concurrent-To") in ids


def _filtered_revisits(checks):
    """A part of an archive must be readable without the rest: what is a revisit of something left out comes out full,
    and what repeats that, as a revisit within the file."""
    source, body = checks.folder / "revisits.warc.gz", b"<p>the same all year</p>" * 20
    w = made.Writer(source, "1.1")
    url, http = "http://revisits.example/", "application/http; msgtype=response"
    first = w.response(url, "2025-01-01T00:00:00.250Z", made.head(Content_Length=len(body)), body)
    later = []
    for month in (5, 6):
        again = made.head(Content_Length=len(body), X_Month=month)
        fields = {"Refers_To": first, "Refers_To_Target_URI": url, "Refers_To_Date": "2025-01-01T00:00:00.250Z"}
        profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
        digest = made.sha1(body)
        date = f"2025-{month:02d}-01T00:00:00Z"
        later.append(again)
        w.add("revisit", url, date, again, http, Profile=profile, Payload_Digest=digest, **fields)
    w.close()
    archive = Archive(checks.folder / "revisits").take(source)
    records = read_warc(archive.give(checks.folder / "later.warc.gz", "--from", "2025-05"))
    records = [r for r in records if header(r, "WARC-Type") != "warcinfo"]
    blocks = [(header(r, "WARC-Type"), r.block) for r in records]
    wanted = [("response", later[0] + body), ("revisit", later[1])]
    checks.same("a revisit whose original is filtered out comes out full, once", blocks, wanted)
    copy = Archive(checks.folder / "revisits-copy").take(checks.folder / "later.warc.gz")
    checks.same("and what is exported can be read on its own", [copy.get(url, t) for t in ("202505", "202506")], [body] * 2)
    peer("warcio", "check", checks.folder / "later.warc.gz")
    checks.ok("and warcio check passes on it")


def _digests(checks):
    """Payload digests are kept as they are spelled, also where that keeps a capture from becoming a revisit."""
    source = checks.folder / "digests.warc.gz"
    w = made.Writer(source, "1.1")
    body, url = b"<p>one body, several digests</p>" * 30, "http://digests.example/"
    sha256 = "sha256:" + hashlib.sha256(body).hexdigest()
    sha1_hex = "sha1:" + hashlib.sha1(body).hexdigest()
    heads = made.head(Content_Length=len(body))
    first = w.response(url, "2025-01-01T00:00:00Z", heads, body, Payload_Digest=sha256)
    w.response(url, "2025-02-01T00:00:00Z", heads, body, Payload_Digest=made.sha1(body))
    w.response(url, "2025-03-01T00:00:00Z", heads, body, Payload_Digest=sha1_hex)
    w.response(url, "2025-04-01T00:00:00Z", heads, body, Payload_Digest=sha256)
    w.response(url, "2025-05-01T00:00:00Z", heads, body, Payload_Digest=sha256, Truncated="length")
    w.response(url, "2025-06-01T00:00:00Z", heads, b"another body", Payload_Digest="md5:not-known-here")
    profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    http = "application/http;msgtype=response"
    w.add("revisit", url, "2025-07-01T00:00:00Z", heads, http, Profile=profile, Payload_Digest=sha256, Refers_To=first)
    not_modified = made.head("304 Not Modified", None, ETag='"1"')
    profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    w.add("revisit", url, "2025-08-01T00:00:00Z", not_modified, http, Profile=profile)
    w.close()
    archive = Archive(checks.folder / "digests").take(source)
    checks.same("a revisit is found by SHA-256 too", archive.get(url, "2025-07"), body)
    checks.same("a 304 stands for the version before", archive.get(url, "2025-08"), b"another body")
    inputs = read_warc(source)
    for name, options in (("plain", ()), ("full", ("--full",))):
        out = archive.give(checks.folder / f"digests-{name}.warc.gz", *options)
        nothing_lost(inputs, read_warc(out), full=bool(options))
        fields_kept(inputs, read_warc(out))
        again = Archive(checks.folder / f"digests-{name}").take(out).give(checks.folder / "digests-again.warc.gz", "--full")
        nothing_lost(inputs, read_warc(again), full=True)
        fields_kept(inputs, read_warc(again))
    checks.ok("digests of every spelling, truncation and 304s survive export → import → export")


# ---- old and broken files ----


def _arc(checks):
    """ARC 1.0, as Heritrix 1 and the Internet Archive wrote it until 2009: one gzip member per record."""
    body, packed = b"<p>an old page</p>" * 40, gzip.compress(b"packed long ago" * 9, mtime=0)
    blocks = {
        "http://old.example/": (b"HTTP/1.0 200 OK\r\nServer: Apache/1.3\r\nContent-Type: text/html\r\n\r\n", body),
        "http://old.example/a b": (b"HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Type: text/plain\n\n", packed),
        "http://old.example/copy": (b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n", body),
        "http://old.example/gone": (b"HTTP/1.1 404 Not Found\r\n\r\n", b""),
        "dns:old.example": (b"", b"20010203040506\nold.example. 300 IN A 192.0.2.1\n"),
    }
    media = ["text/html", "text/plain", "text/html", "no-type", "text/dns"]
    version = b"1 0 Someone\nURL IP-address Archive-date Content-type Archive-length\n"
    lines = [(b"filedesc://old.arc 0.0.0.0 20010203000000 text/plain", version)]
    for n, ((url, (head, payload)), kind) in enumerate(zip(blocks.items(), media)):
        lines.append((f"{url} 192.0.2.{n + 1} 200102030405{n:02d} {kind}".encode(), head + payload))
    records = [b"%s %d\n%s" % (line, len(block), block) for line, block in lines]
    packed_arc, plain_arc = checks.folder / "old.arc.gz", checks.folder / "old.arc"
    packed_arc.write_bytes(b"".join(gzip.compress(record + b"\n", mtime=0) for record in records))
    plain_arc.write_bytes(b"".join(record + b"\n" for record in records))

    for path in (packed_arc, plain_arc):
        archive = Archive(checks.folder / f"arc-{path.suffix}")
        told = archive.imported("--strict", path)[0]
        counts = {name: told[name] for name in ("records", "stored", "skipped")}
        wanted = {"records": {"response": len(blocks), "warcinfo": 1}, "stored": len(lines), "skipped": 0}
        checks.same(f"{path.name}: every record is imported", counts, wanted)
        got = [archive.get(url) for url in blocks]
        checks.same(f"{path.name}: every payload comes back", got, [payload for _, payload in blocks.values()])

        out = archive.give(checks.folder / f"{path.name}.warc.gz")
        peer("warcio", "check", out)
        full = {target(r): r for r in read_warc(archive.give(checks.folder / f"{path.name}-full.warc.gz", "--full"))}
        same = [full[url].block for url in blocks]
        checks.same(f"{path.name}: exported as WARC, blocks are the same", same, [a + b for a, b in blocks.values()])
        types = [header(full[url], "Content-Type") for url in blocks]
        wanted = ["application/http; msgtype=response"] * 4 + ["text/dns"]
        checks.same(f"{path.name}: blocks are called what they are", types, wanted)
        known = [header(full[url], "WARC-IP-Address") for url in blocks]
        checks.same(f"{path.name}: addresses are kept", known, [f"192.0.2.{n + 1}" for n in range(len(blocks))])
        infos = [header(r, "WARC-Filename") for r in read_warc(out) if header(r, "WARC-Type") == "warcinfo"]
        checks.same(f"{path.name}: and so is the file's own name", [name for name in infos if name], ["old.arc"])

        theirs = {line.split(" ")[0]: json.loads(line.split(" ", 2)[2])["digest"] for line in _indexed(path)}
        ours = {line.split(" ")[0]: json.loads(line.split(" ", 2)[2])["digest"] for line in _indexed(out)}
        checks.same(f"{path.name}: cdxj-indexer finds the same in the ARC and in the WARC", ours, theirs)
        archive("verify")
        again = Archive(checks.folder / f"arc-again-{path.suffix}").take(out)
        told = again.imported("--again", path)[0]
        checks.same(f"{path.name}: the WARC brings the same captures as the ARC", told["stored"], 0)


def _indexed(path):
    return peer("cdxj-indexer", "-s", path).decode().splitlines()


def _truncated(checks, versions):
    """The beginning of a file is worth having: what is whole comes in, what is cut is counted."""
    source = checks.folder / "site.warc.gz"
    data = source.read_bytes()
    members = list(_members(data))
    keep = len(members) * 2 // 3
    whole = sum(members[:keep])
    for name, cut in (("in the middle of a record", whole + members[keep] // 2), ("between two records", whole)):
        path = checks.folder / f"cut-{cut}.warc.gz"
        path.write_bytes(data[:cut])
        archive = Archive(checks.folder / f"cut-{cut}")
        told = archive.imported(path)[0]
        records = sum(told["records"].values())
        wanted = (keep, 1 if cut > whole else 0)
        checks.same(f"a file cut {name}: {keep} records in, the rest counted", (records, told["skipped"]), wanted)
        if told["skipped"] and (told["skips"][0]["offset"] != whole or not told["skips"][0]["reason"]):
            raise Failure(f"the skip of a cut record says {told['skips'][0]}, wanted offset {whole}")
        first = versions[0]
        checks.same("and what came before the cut is readable", archive.get(first.url, first.timestamp), first.wire)
        archive("verify")
        told = archive.imported(source)[0]
        checks.same("the whole file then brings the rest", told["skipped"], 0)
        checks.same("and all of it is there", archive.stats()["captures"], len(versions))
    said = archive("import", checks.folder / f"cut-{whole + members[keep] // 2}.warc.gz").decode()
    if "1 record skipped" not in said or f"byte {whole}" not in said:
        raise Failure(f"import does not tell people what was skipped:\n{said}")
    checks.ok("people are told what was skipped, and where")


def _members(data):
    while data:
        unpacker = zlib.decompressobj(wbits=31)
        unpacker.decompress(data)
        yield len(data) - len(unpacker.unused_data)
        data = unpacker.unused_data


def _strict(checks, versions):
    """Garbage between records: skipped with its place; with --strict, the end of it. Nothing earlier is lost."""
    data = (checks.folder / "site.warc.gz").read_bytes()
    members = list(_members(data))
    middle = sum(members[:100])
    broken = checks.folder / "garbage.warc.gz"
    broken.write_bytes(data[:middle] + b"\x00garbage between records\xff" * 20 + data[middle:])
    strict = Archive(checks.folder / "strict")
    strict.take(checks.folder / "odd.warc.gz")
    before = strict.stats()["captures"]
    strict("import", "--strict", broken, accept=(1,))
    checks.ok("import --strict fails at garbage between records")
    if strict.stats()["captures"] < before:
        raise Failure("a failed import --strict took earlier captures away")
    checks.ok("and takes nothing away that was there")
    told = strict.imported(broken)[0]
    checks.same("without --strict it is one skip", told["skipped"], 1)
    checks.same("at its offset", told["skips"][0]["offset"], middle)
    checks.same("and everything around it is in", strict.stats()["captures"], before + len(versions))
    strict("verify")
    whole = Archive(checks.folder / "strict-whole")
    whole("import", "--strict", checks.folder / "site.warc.gz")
    checks.same("import --strict takes a sound file", whole.stats()["captures"], len(versions))
    run(whole.binary, "--data", whole.folder, "import", checks.folder / "no-such-file.warc", accept=(1,))
    checks.ok("a file that is not there is an error")


# ---- compare, remove ----


def _diff(checks):
    url, source = "http://diff.example/", checks.folder / "diff.warc.gz"
    w = made.Writer(source)
    page = "<html><head><title>{}</title><style>p {{}}</style></head><body><h1>News</h1><p>{}</p><p>Always here.</p></body>"
    texts = [("Monday", "The river is low."), ("Tuesday", "The river is high & wide."), ("Tuesday", None)]
    for day, (title, text) in enumerate(texts):
        html = page.format(title, text or "The river is high &amp; wide.").encode()
        if day == 1:
            html = gzip.compress(html.replace(b"high &", b"high &amp;"), mtime=0)
            heads = made.head(Content_Encoding="gzip", Content_Length=len(html))
        else:
            html = html if day == 0 else html.replace(b"<style>p {}</style>", b"<style>p { color: red }</style>")
            heads = made.head(Content_Length=len(html))
        w.response(url, f"2025-09-0{day + 1}T00:00:00Z", heads, html)
    w.close()
    archive = Archive(checks.folder / "diff").take(source)
    said = archive("diff", url, "--from", "20250901", "--to", "20250902", accept=(1,)).decode().splitlines()
    changed = [line for line in said[3:] if line[:2] in ("- ", "+ ")]
    wanted = ["- title: Monday", "+ title: Tuesday", "- The river is low.", "+ The river is high & wide."]
    checks.same("diff shows what a reader would see, gzip or not, and exits 1", sorted(changed), sorted(wanted))
    if "Always here." not in "\n".join(said):
        raise Failure(f"diff shows no context:\n{said}")
    archive("diff", url, "--from", "20250902", "--to", "20250903", accept=(0,))
    checks.ok("diff exits 0 where only the markup changed")
    told = json.loads(archive("diff", url, "--from", "20250901", "--to", "20250903", "--json", accept=(1,)))
    lines = sorted((c["change"], c["line"]) for c in told["changes"])
    names = {"-": "removed", "+": "added"}
    checks.same("diff --json says the same", lines, sorted((names[line[0]], line[2:]) for line in wanted))
    archive("diff", "http://diff.example/nowhere", accept=(2,))
    checks.ok("diff exits 2 where there is nothing to compare")


def _remove(checks):
    """What is removed is gone for readers at once, for the disk after compacting, and does not come back."""
    dice = random.Random(11)
    source = checks.folder / "secret.warc.gz"
    secret, kept = dice.randbytes(6000), dice.randbytes(6000)
    words = " ".join(f"{dice.getrandbits(64):x}" for _ in range(400)).encode()
    w = made.Writer(source)
    bodies = {
        "http://secret.example/a.png": ("image/png", secret),
        "http://secret.example/a.txt": ("text/plain", words),
        "http://kept.example/b.png": ("image/png", kept),
        "http://kept.example/b.txt": ("text/plain", words[::-1]),
        "http://shared.example/one.png": ("image/png", secret[::-1]),
        "http://shared.example/two.png": ("image/png", secret[::-1]),
    }
    for url, (media, body) in bodies.items():
        heads = made.head(media=media, Content_Length=len(body))
        w.response(url, "2025-10-01T00:00:00Z", heads, body)
        w.response(url, "2025-10-02T00:00:00Z", heads, body[:-9] + b"2nd visit")
    w.close()
    archive = Archive(checks.folder / "secret").take(source)
    places = {"secret": secret, "kept": kept, "secret words": words[:2000], "kept words": words[::-1][:2000]}
    found = {name: _on_disk(archive.folder, part) for name, part in places.items()}
    checks.same("the check finds bytes in the packs", found, {name: True for name in places})

    said = archive("remove", "--prefix", "http://secret.example/").decode()
    checks.same("remove only tells without --yes", (archive.stats()["captures"], "--yes" in said), (12, True))
    archive("remove", "--prefix", "http://secret.example/", "--yes")
    archive("remove", "http://shared.example/one.png", "--yes")
    checks.same("removed captures are not listed", archive.list("--host", "secret.example"), [])
    archive("get", "http://secret.example/a.png", accept=(1,))
    checks.ok("nor given out")
    left = {target(r) for r in read_warc(archive.give(checks.folder / "left.warc.gz")) if target(r)}
    checks.same("nor exported", left, {u for u in bodies if "secret" not in u and "one" not in u})
    archive("verify")

    archive("compact")
    found = {name: _on_disk(archive.folder, part) for name, part in places.items()}
    wanted = {"secret": False, "kept": True, "secret words": False, "kept words": True}
    checks.same("after compact their bytes are gone from the disk, the others' are not", found, wanted)
    for url in left:
        _, body = bodies[url]
        if archive.get(url, "20251001") != body or archive.get(url) != body[:-9] + b"2nd visit":
            raise Failure(f"{url} is not what it was, after others were removed")
    checks.ok("and what is left reads as before, also what shared its bytes with something removed")
    archive("verify")
    checks.ok("verify finds nothing wrong")

    told = archive.imported("--again", source)[0]
    checks.same("importing again brings nothing back", (told["stored"], told["removed"]), (0, 6))
    checks.same("and counts stay", archive.stats()["captures"], 6)
    archive("compact", "--all")
    archive("verify")
    checks.same("compact --all changes no count", archive.stats()["captures"], 6)


def _on_disk(folder, part):
    """Whether bytes lie in any file of the data directory: as they are, or in a zstd frame that needs no other."""
    import zstandard

    for path in (path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if part in data:
            return True
        at = data.find(b"\x28\xb5\x2f\xfd")
        while at >= 0:
            try:
                if part in zstandard.ZstdDecompressor().decompressobj().decompress(data[at:]):
                    return True
            except zstandard.ZstdError:
                pass  # a difference to another version, or four bytes that only look like a frame
            at = data.find(b"\x28\xb5\x2f\xfd", at + 1)
    return False


if __name__ == "__main__":
    harness.main(check)
