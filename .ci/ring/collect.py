"""collect.py FOLDER LATER: WARC collections of what lies on this machine, fetched by wget from a web server of ours.

Writes FOLDER/first.warc, LATER smaller ones (later-1.warc, …), and beside each a .json: for every response its moment, its URL
and the SHA-256 of its block, HTTP head and body as they came. A later one has pages of its own and new versions of some of the first's.
Every directory of documentation is a host, so that the collection lies all over the circle. No two bodies are the same: a body that is known
comes back as a revisit, and it is bytes that are to be compared.
"""

import hashlib
import http.server
import itertools
import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import threading
import time

# The standard library is on every machine with a python3; documentation may have been left out of an image.
ROOTS = ["/usr/share/doc", sysconfig.get_path("stdlib")]
PAGES_FIRST, PAGES_LATER, AGAIN = 300, 16, 8
PAGES_IN_TURN = 4
PAGE_BYTES_MAX = 200_000
# Bodies of more than 4 MiB are files of their own in a store, and travel by another way.
LARGE_BYTES = [2_000_000, 5_000_000]
LARGE_FIRST = 3  # of each size; a later collection has one


def pages(count):
    """Files that are worth a page: (host, path, file), from many directories, each body once."""
    folders = [f for root in map(pathlib.Path, ROOTS) if root.is_dir() for f in sorted(root.iterdir()) if f.is_dir() and not f.is_symlink()]
    rows = [(f, iter(sorted(p for p in f.rglob("*") if p.is_file() and not p.is_symlink() and p.suffix != ".pyc"))) for f in folders]
    found, known = [], set()
    # In turns, some files of each directory, so that no host has them all.
    while rows and len(found) < count:
        for folder, row in list(rows):
            some = list(itertools.islice(row, PAGES_IN_TURN))
            if not some:
                rows.remove((folder, row))
            for path in some:
                digest = hashlib.sha256(path.read_bytes()).digest() if 200 < path.stat().st_size <= PAGE_BYTES_MAX else None
                if digest and digest not in known and len(found) < count:
                    known.add(digest)
                    host = "".join(c if c.isalnum() else "-" for c in folder.name.lower()).strip("-")
                    found.append((f"{host}.example", f"/{path.relative_to(folder)}", path))
    return found


class Origin(http.server.BaseHTTPRequestHandler):
    """A proxy that has every host itself. Each of `files` gives a body; from the first `version` on it is changed a little."""

    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = 1 << 16, True  # else each answer waits for a delayed acknowledgement
    files, version = {}, 0

    def do_GET(self):
        give = self.files.get(self.path)
        body = give() if give else b""
        if give and self.version:
            body += f"\n<!-- visit {self.version} -->\n".encode()
        self.send_response(200 if give else 404)
        kind = "text/html" if self.path.endswith(".html") else "application/octet-stream"
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def fetch(folder, name, urls, port):
    """One visit of wget."""
    (folder / f"{name}.urls").write_text("".join(f"{url}\n" for url in urls))
    proxy = ["-e", "use_proxy=yes", "-e", f"http_proxy=http://127.0.0.1:{port}"]
    warc = [f"--warc-file={folder / name}", "--no-warc-keep-log", "--no-warc-compression", f"--warc-tempdir={folder}"]
    command = ["wget", "--no-config", "-q", "-O", "/dev/null", *proxy, *warc, "-i", str(folder / f"{name}.urls")]
    subprocess.run(command, check=True, timeout=300, stdin=subprocess.DEVNULL)
    truth = list(responses(folder / f"{name}.warc"))
    if sorted(row["url"] for row in truth) != sorted(urls):
        raise SystemExit(f"wget did not bring all of {name}: {len(truth)} of {len(urls)}")
    (folder / f"{name}.json").write_text(json.dumps(truth))
    return truth


def responses(path):
    with open(path, "rb") as file:
        while line := file.readline():
            if not line.startswith(b"WARC/"):
                continue
            fields = {}
            while (line := file.readline().strip()):
                field, _, value = line.decode().partition(":")
                fields[field.lower()] = value.strip()
            block = file.read(int(fields["content-length"]))
            if fields["warc-type"] == "response":
                stamp = "".join(c for c in fields["warc-date"] if c.isdigit())
                url = fields["warc-target-uri"].strip("<>")
                yield {"stamp": stamp, "url": url, "sha256": hashlib.sha256(block).hexdigest(), "bytes": len(block)}


def main():
    folder, later = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    found = pages(PAGES_FIRST + later * PAGES_LATER)
    urls = []
    for host, path, file in found:
        # Names of files are not always names of URLs.
        url = f"http://{host}" + "".join(c if c.isalnum() or c in "/._-" else "-" for c in path if c.isascii())
        if url not in Origin.files:
            Origin.files[url] = file.read_bytes
            urls.append(url)
    program = open(os.environ["HERODOTUS"], "rb")

    def large(host, number, size):
        def give():
            return os.pread(program.fileno(), size, number * 7_000_000)

        url = f"http://{host}.example/large/{number}.bin"
        Origin.files[url] = give
        return url

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port, number = server.server_address[1], 0
    first = urls[:PAGES_FIRST]
    for size in LARGE_BYTES:
        for _ in range(LARGE_FIRST):
            number += 1
            first.append(large(f"large-{number}", number, size))
    told = fetch(folder, "first", first, port)
    rest = urls[PAGES_FIRST:]
    for turn in range(1, later + 1):
        Origin.version = turn
        own = rest[(turn - 1) * PAGES_LATER : turn * PAGES_LATER]
        again = urls[(turn - 1) * AGAIN % PAGES_FIRST :][:AGAIN]
        number += 1
        # A WARC file knows whole seconds only: two versions of a page must not be of the same.
        if turn == 1:
            time.sleep(1.1)
        told += fetch(folder, f"later-{turn}", own + again + [large(f"later-{turn}", number, LARGE_BYTES[turn % len(LARGE_BYTES)])], port)
    size = sum(row["bytes"] for row in told)
    hosts = len({row["url"].split("/")[2] for row in told})
    print(f"ok  collected by wget: {len(told)} captures of {hosts} hosts, {size / 1e6:.0f} MB, {1 + later} WARC files", flush=True)


main()
