"""The two archives, each on loopback ports that the system chose."""

import http.client
import json
import os
import socket
import subprocess
import threading
import time
import urllib.parse

from harness import VENV_BIN, Failure, peer

START_SECONDS_MAX = 60


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.body = status, body
        self.headers = {}
        for name, value in headers:
            known = self.headers.get(name.lower())
            self.headers[name.lower()] = f"{known}, {value}" if known else value

    def get(self, name):
        return self.headers.get(name.lower())

    def text(self):
        return self.body.decode()


class Server:
    """One that answers HTTP; a connection for each thread that asks is kept."""

    def __init__(self):
        self.local = threading.local()

    def ask(self, target, headers=(), method="GET", port=None):
        port = port or self.port
        target = urllib.parse.quote(target, safe="".join(map(chr, range(33, 127))))
        known = self.local.__dict__.setdefault("connections", {})
        for again in (True, False):
            connection = known.pop(port, None) or http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request(method, target, headers={"Accept-Encoding": "gzip, br, zstd", **dict(headers)})
                answer = connection.getresponse()
                body = answer.read()
                known[port] = connection
                return Answer(answer.status, answer.getheaders(), body)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if not again:
                    raise Failure(f"{self.name} does not answer {target}: {error!r}") from None

    def cdx(self, query):
        return self.ask(f"{self.cdx_path}?{query}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Pywb(Server):
    """pywb cannot say which port it took: one is asked for and released just before, and another tried if that was lost."""

    def __init__(self, root, collection, name="pywb"):
        super().__init__()
        self.root, self.collection, self.name = root, collection, name
        self.cdx_path = f"/{collection}/cdx"

    @classmethod
    def of_files(cls, root, files):
        root.mkdir()
        peer("wb-manager", "init", "coll", cwd=root)
        peer("wb-manager", "add", "coll", *files, cwd=root)
        return cls(root, "coll")

    def __enter__(self):
        for _ in range(3):
            with socket.socket() as asked:
                asked.bind(("127.0.0.1", 0))
                self.port = asked.getsockname()[1]
            self.log = open(self.root / "log", "ab")
            command = [str(VENV_BIN / "wayback"), "-b", "127.0.0.1", "-p", str(self.port)]
            self.process = subprocess.Popen(command, cwd=self.root, stdout=self.log, stderr=self.log)
            end = time.monotonic() + START_SECONDS_MAX
            while time.monotonic() < end and self.process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", self.port), 1).close()
                    return self
                except OSError:
                    time.sleep(0.05)
            self.stop()
        raise Failure(f"pywb does not start; its log is {self.root / 'log'}")

    def __exit__(self, *_):
        self.stop()

    def original(self, url, stamp):
        return self.ask(f"/{self.collection}/{stamp}id_/{url}")

    def memento(self, url, stamp):
        return self.ask(f"/{self.collection}/{stamp}mp_/{url}")

    def timegate(self, url, date):
        return self.ask(f"/{self.collection}/{url}", [("Accept-Datetime", date)])

    def timemap(self, form, url):
        return self.ask(f"/{self.collection}/timemap/{form}/{url}")


class Ours(Server):
    name, cdx_path = "ours", "/cdx"

    def __init__(self, data, log):
        super().__init__()
        self.data, self.log_path = data, log

    def __enter__(self):
        self.log = open(self.log_path, "ab")
        command = [os.environ["HERODOTUS"], "--data", str(self.data), "--json", "serve", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log)
        for line in self.process.stdout:
            told = json.loads(line)
            if told.get("event") == "listening":
                self.port = int(told["replay"].rpartition(":")[2])
                self.pages_port = int(told["pages"].rpartition(":")[2])
                return self
        raise Failure(f"`herodotus serve` does not start; its log is {self.log_path}")

    def __exit__(self, *_):
        self.stop()

    def original(self, url, stamp):
        return self.ask(f"/web/{stamp}id_/{url}")

    def memento(self, url, stamp):
        return self.ask(f"/web/{stamp}/{url}")

    def timegate(self, url, date):
        return self.ask(f"/web/timegate/{url}", [("Accept-Datetime", date)])

    def timemap(self, form, url):
        return self.ask(f"/web/timemap/{form}/{url}")
