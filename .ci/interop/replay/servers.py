"""The two archives, each on loopback ports that the system chose."""

import http.client
import json
import os
import subprocess
import threading
import urllib.parse

from harness import Failure, peer, start_pywb, stop


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

    def __exit__(self, *_):
        stop(self.process)


class Pywb(Server):
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
        self.process, self.port = start_pywb(self.root)
        return self

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
        command = [os.environ["HERODOTUS"], "--data", str(self.data), "--json", "serve", "--listen", "127.0.0.1:0"]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        for line in self.process.stdout:
            told = json.loads(line)
            if told.get("event") == "listening":
                self.port = int(told["replay"].rpartition(":")[2])
                self.pages_port = int(told["pages"].rpartition(":")[2])
                return self
        raise Failure(f"`herodotus serve` does not start; its log is {self.log_path}")

    def original(self, url, stamp):
        return self.ask(f"/web/{stamp}id_/{url}")

    def memento(self, url, stamp):
        return self.ask(f"/web/{stamp}/{url}")

    def timegate(self, url, date):
        return self.ask(f"/web/timegate/{url}", [("Accept-Datetime", date)])

    def timemap(self, form, url):
        return self.ask(f"/web/timemap/{form}/{url}")
