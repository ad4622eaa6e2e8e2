"""Importing twice adds nothing, and export → import → export gives the same records."""

import harness
import made
from harness import Archive, header, identity, read_warc

COUNTS = ("captures", "urls", "hosts")


def check(checks):
    folder = checks.folder
    made.site(folder / "site.warc.gz")
    made.zoo(folder / "zoo10.warc.gz", "1.0")
    made.zoo(folder / "zoo11.warc.gz", "1.1")
    files = [folder / f"{name}.warc.gz" for name in ("site", "zoo10", "zoo11")]
    known = {header(record, "WARC-Record-ID") for path in files for record in read_warc(path)}

    archive = Archive(folder / "data").take(*files)
    once, first = _counts(archive), _records(archive, folder / "first.warc.gz", known)
    full = _records(archive, folder / "full.warc.gz", known, "--full")
    archive.take(*files)
    checks.same("a second import of the same files adds no capture, URL or host", _counts(archive), once)
    archive.take(*reversed(files))
    checks.same("nor a third in another order", _counts(archive), once)
    checks.same("and what is exported stays the same", _records(archive, folder / "second.warc.gz", known), first)

    for suffix in (".warc.gz", ".warc.zst", ".warc", ".wacz"):
        for name, options, wanted in (("plain", (), first), ("full", ("--full",), full)):
            exported = archive.give(folder / f"{name}-out{suffix}", *options)
            copy = Archive(folder / f"copy-{name}{suffix}").take(exported)
            again = _records(copy, folder / f"{name}-again{suffix}.warc.gz", known, *options)
            checks.same(f"export → import → export through {suffix}, {name}: {len(wanted)} records", again, wanted)
            checks.same(f"and counts {_counts(copy)}", _counts(copy), once)

    archive("verify")
    checks.ok("verify finds nothing wrong")
    archive("compact")
    archive("verify")
    checks.same("compact changes no record", _records(archive, folder / "compacted.warc.gz", known), first)


def _counts(archive):
    stats = archive.stats()
    return {name: stats[name] for name in COUNTS}


def _records(archive, path, known, *options):
    """Identities of what was imported; the warcinfo that an export adds about itself is left out."""
    records = read_warc(archive.give(path, *options))
    return sorted(
        identity(r) for r in records if header(r, "WARC-Type") != "warcinfo" or header(r, "WARC-Record-ID") in known
    )


if __name__ == "__main__":
    harness.main(check)
