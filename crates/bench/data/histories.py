#!/usr/bin/env python3
"""Makes WARC histories of real sites for the storage benchmark, out of the documentation that packages ship.

    histories.py [DIR] [--only SET…]        DIR defaults to /tmp/herodotus-bench

Each <set>.warc.gz is what a crawler without deduplication writes when it visits the site after every
release; <set>-first.warc.gz has the first version of each page only; first-mixed is a larger site seen
once, with its pictures and style sheets; npm-{gzip,br,zstd,gzip-nginx} are the npm set as servers that
compress send it. Packages and results stay in DIR; a set that is there already is not made again.
DIR/sets.json tells the benchmark what there is. Needs Python with venv and pip, npm, and apt on Debian.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True  # leave nothing beside the sources

NEEDS = ["warcio~=1.7", "brotli~=1.1", "zstandard~=0.23"]
VERSION = 1  # of what this script writes: raise it when the same set would come out different

# set: (registry, package, oldest release, newest release, how many, folders, endings)
HISTORIES = {
    "npm": ("npm", "npm", "7.20.0", "9.9.4", 32, ("docs/output/",), (".html",)),
    "codemirror": (
        "npm",
        "codemirror",
        "3.14.1",
        "5.7.0",
        32,
        ("doc/", "demo/", "mode/", "lib/", "addon/"),
        (".html", ".css", ".js"),
    ),
    "caniuse": ("npm", "caniuse-db", "1.0.30001600", "1.0.30001780", 32, ("features-json/",), (".json",)),
    "lxml": ("pypi", "lxml", "4.6.0", "6.1.0", 32, ("doc/html/",), (".html", ".css")),
    "sqlalchemy": ("pypi", "SQLAlchemy", "1.3.0", "1.3.24", 20, ("doc/",), (".html",)),
}
CODED = {"npm-gzip": "gzip", "npm-br": "br", "npm-zstd": "zstd", "npm-gzip-nginx": "gzip-nginx"}
MIXED = [
    ("python3.11-doc", "python3.13-doc", "python3-doc"),
    ("postgresql-doc-15", "postgresql-doc-17", "postgresql-doc"),
    ("git-doc",),
    ("debian-reference-en",),
    ("libgtk-3-doc",),
]
MIXED_ENDINGS = (".html", ".css", ".js", ".png", ".svg", ".gif", ".jpg", ".ico", ".txt")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("dir", nargs="?", type=pathlib.Path, default=pathlib.Path("/tmp/herodotus-bench"))
    arguments.add_argument("--only", nargs="+", metavar="SET", choices=[*HISTORIES, *CODED, "first-mixed"])
    chosen = arguments.parse_args()
    folder = chosen.dir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    _use_venv(folder / "venv")
    table = folder / "sets.json"
    rows = json.loads(table.read_text()) if table.exists() else {}

    def make(name, source, builder, *options):
        made_from = json.dumps([VERSION, source])
        wanted = chosen.only is None or name.removesuffix("-first") in chosen.only
        there = (folder / f"{name}.warc.gz").exists() and rows.get(name, {}).get("made_from") == made_from
        if wanted and not there:
            print(f"making {name}", file=sys.stderr, flush=True)
            rows[name] = builder(folder / f"{name}.warc.gz", *options) | {"made_from": made_from}
            table.write_text(json.dumps(rows, indent=1) + "\n")

    for name, source in HISTORIES.items():
        make(name, source, history, name)
        make(f"{name}-first", source, history, name, None, True)
    for name, coding in CODED.items():
        make(name, HISTORIES["npm"], history, "npm", coding)
    make("first-mixed", MIXED, mixed)

    print(f"{'set':<18}{'records':>9}{'pages':>7}{'versions':>10}{'unchanged':>11}{'raw MB':>9}{'warc.gz MB':>12}")
    for row in rows.values():
        print(
            f"{row['set']:<18}{row['records']:>9}{row['pages']:>7}{row['versions_median']:>10g}"
            f"{row['unchanged_share']:>11.0%}{row['raw_bytes'] / 1e6:>9.1f}{row['warc_gz_bytes'] / 1e6:>12.1f}"
        )


def history(path, name, coding=None, first_only=False):
    import packages
    from crawl import Crawl

    registry, package, oldest, newest, count, inside, endings = HISTORIES[name]
    releases = packages.npm_releases if registry == "npm" else packages.pypi_releases
    crawl = Crawl(path, f"docs.{name}.example", coding)
    for number, (_version, archive) in enumerate(releases(path.parent / "packages", package, oldest, newest, count)):
        files = packages.read_archive(archive, inside, endings)
        if first_only:
            files = {page: body for page, body in files.items() if page not in crawl.seen}
        crawl.visit(number, files)
    return crawl.close()


def mixed(path):
    import packages
    from crawl import Crawl

    tree = packages.debian_tree(path.parent / "packages", MIXED)
    crawl = Crawl(path, "docs.mixed.example")
    files = {}
    for found in sorted(tree.rglob("*")):
        if found.suffix in MIXED_ENDINGS and found.is_file() and not found.is_symlink():
            page = str(found.relative_to(tree)).removeprefix("usr/share/")
            files[page.replace("%", "%25").replace(" ", "%20")] = found.read_bytes()
    crawl.visit(0, files)
    return crawl.close()


def _use_venv(venv):
    """Goes on inside a virtual environment that has what this script needs."""
    if pathlib.Path(sys.prefix) == venv:
        return
    python = venv / "bin" / "python"
    if not (venv / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *NEEDS], check=True)
        (venv / "ready").touch()
    os.execv(python, [str(python), os.path.abspath(__file__), *sys.argv[1:]])


if __name__ == "__main__":
    main()
