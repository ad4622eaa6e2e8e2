"""The site: documentation packages from Debian, unpacked and served by an nginx of our own on loopback.

Nothing of a package is run. A package that cannot be had is left out with a line that says so.
"""

import html
import os
import re
import socket
import subprocess
import time
import urllib.parse

# Made by four different tools, and partly by hand: about 7,000 pages from 25 MB of packages.
PACKAGES = (r"sqlite3-doc", r"postgresql-doc-\d+", r"libeigen3-doc", r"libboost1\.\d+-doc")
DOWNLOAD_SECONDS_MAX = 90
START_SECONDS_MAX = 20


def build(cache, root, packages=PACKAGES):
    """Makes `root` show the documentation of every package that can be had, each in a folder of its name; gives their names and where each begins."""
    cache.mkdir(parents=True, exist_ok=True)
    root.mkdir()
    starts_of = {}
    for pattern in packages:
        tree = _unpacked(cache, pattern)
        starts = sorted(tree.glob("usr/share/doc/**/index.html"), key=lambda p: (len(p.parts), p)) if tree else []
        if not starts:
            print(f"skipped: no Debian package {pattern} could be had; the site goes without", flush=True)
            continue
        folder = tree / "usr/share/doc" / starts[0].relative_to(tree / "usr/share/doc").parts[0]
        (root / tree.name).symlink_to(folder)
        starts_of[tree.name] = urllib.parse.quote(str(starts[0].relative_to(folder)))
    write_index(root, [f"{urllib.parse.quote(name)}/{start}" for name, start in starts_of.items()])
    return starts_of


def write_index(folder, links):
    """A page that leads to everything else."""
    items = "".join(f'<li><a href="{html.escape(link)}">{html.escape(link)}</a>\n' for link in links)
    (folder / "index.html").write_text(f"<!DOCTYPE html><title>Documentation</title>\n<ul>\n{items}</ul>\n")


def file_of(root, path):
    """The file that nginx answers a path with, or None."""
    path = urllib.parse.unquote(path.partition("?")[0])
    file = root / path.lstrip("/")
    if path.endswith("/"):
        file = file / "index.html"
    return file if file.is_file() else None


class Nginx:
    """Serves a folder while it is entered, and writes down what it is asked. With a `domain`, each folder in it is a host there (name.domain), and no other host has anything."""

    def __init__(self, folder, root, domain=None):
        self.folder, self.root, self.domain = folder, root, domain

    def __enter__(self):
        self.folder.mkdir()
        with socket.socket() as probe:  # nginx cannot tell which port the system gave it
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.log = self.folder / "access.log"
        user = "user root;" if os.geteuid() == 0 else ""
        listen = f"listen 127.0.0.1:{self.port}"
        servers = f'server {{ {listen}; root "{self.root}"; }}'
        if self.domain:
            servers = f"server {{ {listen} default_server; return 404; }}\n"
            for place in sorted(p for p in self.root.iterdir() if p.is_dir()):
                servers += f'    server {{ {listen}; server_name {place.name}.{self.domain}; root "{place}"; }}\n'
        (self.folder / "nginx.conf").write_text(CONFIGURATION.format(user=user, servers=servers))
        self.process = subprocess.Popen(self._command(), stderr=subprocess.DEVNULL)
        until = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"nginx did not start: {(self.folder / 'error.log').read_text()}") from None
                time.sleep(0.02)

    def __exit__(self, *_):
        subprocess.run([*self._command(), "-s", "stop"], stderr=subprocess.DEVNULL)
        self.process.wait(START_SECONDS_MAX)

    def _command(self):
        return ["nginx", "-p", str(self.folder), "-e", "error.log", "-c", "nginx.conf"]

    def asked(self):
        """(status, path, whether the request was conditional) of every request since this was called last."""
        return [(int(status), request.split(" ")[1], sent != "--") for status, request, sent, *_ in self._lines()]

    def asked_urls(self):
        """The URL of every request since this was called last."""
        return [f"http://{host}{request.split(' ')[1]}" for _, request, _, host, _ in self._lines()]

    def _lines(self):
        lines = self.log.read_text().splitlines()
        os.truncate(self.log, 0)
        with open(self.folder / "asked.log", "a") as kept:  # for whoever looks for what went wrong
            kept.writelines(f"{line}\n" for line in lines)
        return [line.split("\t") for line in lines]


CONFIGURATION = """{user}
daemon off; worker_processes 1; pid nginx.pid; error_log error.log error;
events {{ worker_connections 1024; }}
http {{
    include /etc/nginx/mime.types; default_type application/octet-stream;
    client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
    sendfile on; etag on; gzip off; keepalive_requests 1000000;
    log_format asked '$status\\t$request\\t$http_if_none_match-$http_if_modified_since-\\t$http_host\\t$msec';
    access_log access.log asked; server_names_hash_bucket_size 128;
    {servers}
}}
"""


def _unpacked(cache, pattern):
    """The tree of the newest package whose name matches, fetched if it is not in the cache."""
    have = [p for p in cache.iterdir() if p.is_dir() and re.fullmatch(pattern, p.name)]
    if have:
        return max(have)
    listed = subprocess.run(["apt-cache", "pkgnames"], capture_output=True, text=True).stdout.split()
    for name in sorted((n for n in listed if re.fullmatch(pattern, n)), reverse=True):
        part = cache / f"{name}.part"
        part.mkdir(exist_ok=True)
        try:
            options = {"check": True, "capture_output": True, "timeout": DOWNLOAD_SECONDS_MAX}
            subprocess.run(["apt-get", "download", "-qq", name], cwd=part, **options)
            subprocess.run(["dpkg", "-x", next(part.glob("*.deb")), part / "tree"], **options)
        except (OSError, subprocess.SubprocessError, StopIteration):
            continue
        if not any((part / "tree").glob("usr/share/doc/**/index.html")):
            continue  # a placeholder that only depends on another package
        (part / "tree").rename(cache / name)
        return cache / name
    return None
