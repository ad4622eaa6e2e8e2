"""Files written by others come in with nothing lost: warcio's, wget's, and the same in other containers."""

import gzip
import os
import shutil

import harness
import made
from compare import fields_kept, nothing_lost
from harness import Archive, header, peer, read_warc, run
from origin import Origin


def check(checks):
    folder = checks.folder
    made.zoo(folder / "zoo10.warc.gz", "1.0")
    made.zoo(folder / "zoo11.warc", "1.1")
    made.site(folder / "site.warc.gz")
    made.odd_urls(folder / "odd.warc.gz")
    written = [folder / name for name in ("zoo10.warc.gz", "zoo11.warc", "site.warc.gz", "odd.warc.gz")]
    for path in written:
        _comes_back(checks, path.name, [path])
    _comes_back(checks, "all of warcio's files together", written)
    _containers(checks, folder)
    _wget(checks, folder)


def _comes_back(checks, name, files, container=None):
    """`files` are what the records are read from, `container` the file imported in their place."""
    folder = checks.folder / f"tried-{name.replace(' ', '-')}"
    folder.mkdir()
    archive = Archive(folder / "data").take(*([container] if container else files))
    inputs = _once(record for path in files for record in read_warc(path))
    plain = read_warc(archive.give(folder / "plain.warc.gz"))
    full = read_warc(archive.give(folder / "full.warc.gz", "--full"))
    kinds = sorted({header(record, "WARC-Type") for record in inputs})
    nothing_lost(inputs, full, full=True)
    checks.ok(f"{name}: {len(inputs)} records come out of a full export ({', '.join(kinds)})")
    nothing_lost(inputs, plain, full=False)
    checks.ok(f"{name}: and of a plain one, {_turned(inputs, plain)} responses as revisits")
    fields_kept(inputs, full)
    fields_kept(inputs, plain)
    checks.ok(f"{name}: their named fields are kept")
    peer("warcio", "check", folder / "plain.warc.gz", folder / "full.warc.gz")
    checks.ok(f"{name}: warcio check passes on both")


def _once(records):
    return list({header(record, "WARC-Record-ID"): record for record in records}.values())


def _turned(inputs, outputs):
    kinds = {header(record, "WARC-Record-ID"): header(record, "WARC-Type") for record in outputs}
    went = [r for r in inputs if header(r, "WARC-Type") == "response"]
    return sum(kinds[header(record, "WARC-Record-ID")] == "revisit" for record in went)


def _containers(checks, folder):
    import zstandard

    source = folder / "zoo10.warc.gz"
    plain = gzip.decompress(source.read_bytes())
    members = list(harness._gzip_members(source.read_bytes(), source))

    one = folder / "one-member.warc.gz"
    one.write_bytes(gzip.compress(plain))
    _comes_back(checks, "gzipped as one", [source], one)

    frames = folder / "frames.warc.zst"
    packer = zstandard.ZstdCompressor()
    frames.write_bytes(b"".join(packer.compress(member) for member in members))
    _comes_back(checks, "zstd", [source], frames)

    dictionary = zstandard.train_dictionary(4096, members * 8)
    packer = zstandard.ZstdCompressor(dict_data=dictionary)
    for name, stored in (
        ("bare", dictionary.as_bytes()),
        ("packed", zstandard.ZstdCompressor().compress(dictionary.as_bytes())),
    ):
        shared = folder / f"dictionary-{name}.warc.zst"
        skippable = b"\x5d\x2a\x4d\x18" + len(stored).to_bytes(4, "little") + stored
        shared.write_bytes(skippable + b"".join(packer.compress(member) for member in members))
        _comes_back(checks, f"zstd with a {name} dictionary", [source], shared)

    wacz = folder / "by-py-wacz.wacz"
    peer("wacz", "create", "-o", wacz, source)
    _comes_back(checks, "WACZ by py-wacz", [source], wacz)


def _wget(checks, folder):
    if shutil.which("wget") is None:
        if os.geteuid() == 0 and shutil.which("apt-get"):
            run("apt-get", "install", "-y", "-qq", "wget", accept=range(256))
        if shutil.which("wget") is None:
            return checks.skip("wget is not installed, so its WARC files were not tried")
    # 8: the server answered one of the URLs with an error, as it is meant to.
    with Origin() as origin:
        common = [
            "wget",
            "-q",
            "-r",
            "-l",
            "5",
            "-nd",
            "--delete-after",
            "-e",
            "robots=off",
            "--warc-cdx",
            "-P",
            folder / "got",
        ]
        run(*common, "--warc-file=first", origin.url, accept=(0, 8), cwd=folder)
        run(*common, "--warc-file=again", "--warc-dedup=first.cdx", origin.url, accept=(0, 8), cwd=folder)
        run(
            *common,
            "--warc-file=bare",
            "--no-warc-compression",
            "--no-warc-digests",
            origin.url,
            accept=(0, 8),
            cwd=folder,
        )
        run(*common, "--warc-file=form", "--post-data=a=1&b=2", origin.url + "form", accept=(0, 8), cwd=folder)
    first, again = folder / "first.warc.gz", folder / "again.warc.gz"
    bare, form = folder / "bare.warc", folder / "form.warc.gz"
    revisits = sum(header(record, "WARC-Type") == "revisit" for record in read_warc(again))
    if revisits == 0:
        checks.skip("this wget wrote no revisit records with --warc-dedup")
    _comes_back(checks, "wget", [first])
    _comes_back(checks, "wget --warc-dedup", [first, again])
    _comes_back(checks, "wget --warc-dedup without the originals", [again])
    _comes_back(checks, "wget --no-warc-compression --no-warc-digests", [bare])
    _comes_back(checks, "wget --post-data", [form])


if __name__ == "__main__":
    harness.main(check)
