"""The field's own tools read what we export: warcio, py-wacz and cdxj-indexer."""

import gzip
import json
import zipfile

import harness
import made
from harness import Archive, Failure, header, identity, peer, read_warc

CDXJ_POSITIONS = ("length", "offset", "filename")


def check(checks):
    folder = checks.folder
    made.site(folder / "site.warc.gz")
    made.zoo(folder / "zoo10.warc.gz", "1.0")
    made.zoo(folder / "zoo11.warc.gz", "1.1")
    made.odd_urls(folder / "odd.warc.gz")
    archive = Archive(folder / "data").take(*(folder / f"{n}.warc.gz" for n in ("site", "zoo10", "zoo11", "odd")))

    plain = archive.give(folder / "out.warc.gz")
    full = archive.give(folder / "full.warc.gz", "--full")
    bare = archive.give(folder / "bare.warc")
    for path in (plain, full, bare):
        _warcio(checks, path)
    wanted = _ours(read_warc(plain))
    checks.same("the .warc has the records of the .warc.gz", _ours(read_warc(bare)), wanted)
    zstd = archive.give(folder / "out.warc.zst")
    checks.same("the .warc.zst has the records of the .warc.gz, a frame each", _ours(read_warc(zstd)), wanted)

    _cdxj(checks, archive, plain)
    _cdxj(checks, archive, full, "--full")

    wacz = archive.give(folder / "out.wacz")
    peer("wacz", "validate", "-f", wacz)
    checks.ok("wacz validate")
    _wacz(checks, wacz, wanted)


def _ours(records):
    """Identities in file order, without warcinfo: every export has one of its own."""
    return sorted(identity(r) for r in records if header(r, "WARC-Type") != "warcinfo")


def _warcio(checks, path):
    """`warcio check` is content with a record that has no digest, or whose digest it never reached, so
    what it says with -v is counted. It skips revisits and has nothing to read in empty blocks."""
    records = read_warc(path)
    checkable = sum(header(r, "WARC-Type") != "revisit" and len(r.block) > 0 for r in records)
    said = peer("warcio", "check", "-v", path).decode()
    passed = said.count("digest pass")
    if passed < checkable:
        raise Failure(f"warcio check verified {passed} of {checkable} records of {path.name}:\n{_unverified(said)}")
    checks.ok(f"warcio check verifies {passed} records of {path.name}")
    lines = peer("warcio", "index", "-f", "offset,warc-type,warc-record-id", path).splitlines()
    seen = [json.loads(line)["warc-record-id"] for line in lines]
    checks.same(f"warcio index counts {len(seen)} records", seen, [header(r, "WARC-Record-ID") for r in records])


def _unverified(said):
    lines = said.splitlines()
    wrong = [
        lines[i - 1] + lines[i]
        for i in range(1, len(lines))
        if lines[i].strip() in ("no digest to check", "digest present but not checked")
    ]
    return "\n".join(wrong[:3])


def _cdxj(checks, archive, warc, *options):
    """Our .cdxj is, byte for byte, what cdxj-indexer makes of the WARC exported with the same options; but for
    the positions, which have no file to point into."""
    path = archive.give(warc.with_suffix(".cdxj"), *options)
    lines = path.read_bytes().decode().splitlines()
    checks.same(f"{path.name} is sorted by bytes", lines, sorted(lines, key=str.encode))
    theirs = [_without_positions(line) for line in peer("cdxj-indexer", "-s", warc).decode().splitlines()]
    checks.same(f"{path.name} has the {len(theirs)} lines of cdxj-indexer", lines, sorted(theirs, key=str.encode))


def _without_positions(line):
    key, stamp, rest = line.split(" ", 2)
    values = {name: value for name, value in json.loads(rest).items() if name not in CDXJ_POSITIONS}
    return f"{key} {stamp} {json.dumps(values)}"


def _wacz(checks, path, wanted):
    folder = path.with_suffix("")
    with zipfile.ZipFile(path) as opened:
        warcs = [entry for entry in opened.infolist() if entry.filename.startswith("archive/")]
        packed = [
            entry.filename
            for entry in opened.infolist()
            if entry.filename.endswith(".gz") and entry.compress_type != zipfile.ZIP_STORED
        ]
        checks.same("the .wacz stores .gz files as they are, so that they can be read by range", packed, [])
        opened.extractall(folder)
    records = []
    for entry in warcs:
        _warcio(checks, folder / entry.filename)
        records += read_warc(folder / entry.filename)
    checks.same("the .wacz has the records of the .warc.gz", _ours(records), wanted)

    index = next((f for f in (folder / "indexes").iterdir() if f.suffix != ".idx"), None)
    if index is None:
        raise Failure("the .wacz has no index in indexes/")
    data = index.read_bytes()
    lines = (gzip.decompress(data) if index.suffix == ".gz" else data).decode().splitlines()
    inputs = [folder / entry.filename for entry in warcs]
    theirs = peer("cdxj-indexer", "-s", *inputs).decode().splitlines()
    checks.same(f"the index in the .wacz has the {len(theirs)} lines of cdxj-indexer, with positions", lines, theirs)

    summary = folder / "indexes" / "index.idx"
    if index.suffix == ".gz" and summary.exists():
        for line in summary.read_text().splitlines():
            start, _, rest = line.partition("{")
            block = json.loads("{" + rest)
            if start.startswith("!meta"):
                continue
            part = gzip.decompress(data[block["offset"] : block["offset"] + block["length"]]).decode()
            if not part.startswith(start.strip() + " "):
                raise Failure(f"index.idx: the block at {block['offset']} does not start with {start.strip()}")
        checks.ok("index.idx points at the blocks of the index")


if __name__ == "__main__":
    harness.main(check)
