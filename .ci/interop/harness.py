"""What the interoperability checks share: counting, running programs, and reading WARC files strictly.

A check prints `ok  <what>` per fact it has seen, stops at its first failure with the reason, and ends
with one line `N passed, M failed`. The binary under test is named by $HERODOTUS.
"""

import collections
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import zlib

PROGRAM_SECONDS_MAX = 120  # no call of ours or a peer's takes longer on inputs this small
START_SECONDS_MAX = 60  # pywb loads much before it listens
STOP_SECONDS_MAX = 20  # what a server may take for its last answers
VENV_BIN = pathlib.Path(sys.executable).parent

DATE = {
    "WARC/1.0": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
    "WARC/1.1": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z"),
}

Record = collections.namedtuple("Record", "version headers block")


class Failure(Exception):
    """The thing under test is wrong. Its text is the message to the person who broke it."""


class Checks:
    """One check script under way."""

    def __init__(self):
        self.passed = 0
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="herodotus-interop-"))

    def ok(self, what):
        self.passed += 1
        print(f"ok  {what}", flush=True)

    def same(self, what, ours, theirs, names=("ours", "theirs")):
        """Passes when two values are equal; otherwise shows the first difference only."""
        if ours != theirs:
            raise Failure(f"{what}\n{_difference(ours, theirs, names)}")
        self.ok(what)

    def skip(self, why):
        print(f"skipped: {why}", flush=True)


def main(check):
    """Runs `check(checks)` and exits as the entry script expects."""
    checks = Checks()
    failed = 0
    try:
        check(checks)
    except Exception as error:
        failed = 1
        # A mistake in the check itself is told from a failure by its traceback.
        why = str(error) if isinstance(error, Failure) else traceback.format_exc()
        print(f"FAIL  {why}", flush=True)
        print(f"      files kept in {checks.folder}", flush=True)
    else:
        shutil.rmtree(checks.folder)
    print(f"{checks.passed} passed, {failed} failed", flush=True)
    sys.exit(failed)


# ---- programs ----


def run(*command, accept=(0,), cwd=None):
    """Runs a program and gives its standard output as bytes."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROGRAM_SECONDS_MAX, cwd=cwd)
    except subprocess.TimeoutExpired:
        raise Failure(f"no end after {PROGRAM_SECONDS_MAX} s: {' '.join(command)}") from None
    if done.returncode not in accept:
        said = (done.stderr + done.stdout).decode(errors="replace").strip()[-2000:]
        raise Failure(f"exit status {done.returncode} from: {' '.join(command)}\n{said}")
    return done.stdout


def peer(name, *arguments, **options):
    """Runs a tool of the field out of the checks' own virtual environment."""
    return run(VENV_BIN / name, *arguments, **options)


def start_pywb(root):
    """Starts pywb on the collections in `root`; gives its process and port.

    It cannot say which port it took: one is asked for and released just before, and another tried if that was lost.
    """
    for _ in range(3):
        with socket.socket() as asked:
            asked.bind(("127.0.0.1", 0))
            port = asked.getsockname()[1]
        command = [str(VENV_BIN / "wayback"), "-b", "127.0.0.1", "-p", str(port)]
        with open(root / "log", "ab") as log:
            process = subprocess.Popen(command, cwd=root, stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < end and process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return process, port
            except OSError:
                time.sleep(0.05)
        stop(process)
    raise Failure(f"pywb does not start; its log is {root / 'log'}")


def stop(process):
    """Asks a process to end, and ends it if it does not."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Archive:
    """A data directory of ours, driven through the command line."""

    def __init__(self, folder):
        self.folder = folder
        self.binary = os.environ["HERODOTUS"]

    def __call__(self, *arguments, **options):
        return run(self.binary, "--data", self.folder, *arguments, **options)

    def take(self, *files):
        self("import", *files)
        return self

    def imported(self, *arguments, **options):
        """What `import --json` says of each file."""
        lines = [json.loads(line) for line in self("import", "--json", *arguments, **options).splitlines()]
        return [line for line in lines if line["event"] == "imported"]

    def give(self, path, *options):
        self("export", "-o", path, *options)
        return path

    def stats(self):
        return json.loads(self("stats", "--json"))

    def list(self, *what):
        return [json.loads(line) for line in self("list", *what, "--json").splitlines()]

    def get(self, url, time=None, *options):
        return self("get", url, *(("--at", time) if time else ()), *options)


# ---- WARC files, read without any peer's leniency ----


def read_warc(path):
    """Records of a .warc, .warc.gz (one gzip member per record) or .warc.zst (one frame per record)."""
    data = pathlib.Path(path).read_bytes()
    if str(path).endswith(".gz"):
        return [_only_record(member, path) for member in _gzip_members(data, path)]
    if str(path).endswith(".zst"):
        return [_only_record(frame, path) for frame in _zstd_frames(data, path)]
    records = []
    while data:
        record, data = _split_record(data, path)
        records.append(record)
    return records


def header(record, name):
    """The value of a named field, or None."""
    return next((value for key, value in record.headers if key.lower() == name.lower()), None)


def instant(record):
    """WARC-Date cut to milliseconds, which is what an archive keeps."""
    text = header(record, "WARC-Date")
    whole, _, fraction = text.rstrip("Z").partition(".")
    datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{fraction[:3]:0<3}"


def target(record):
    """WARC-Target-URI without the angle brackets that WARC/1.0's grammar asks for and wget writes."""
    uri = header(record, "WARC-Target-URI")
    return uri[1:-1] if uri and uri.startswith("<") and uri.endswith(">") else uri


def identity(record):
    """What must come back for a record: id, type, target, time and block."""
    return (
        header(record, "WARC-Record-ID"),
        header(record, "WARC-Type"),
        target(record),
        instant(record),
        hashlib.sha256(record.block).hexdigest(),
    )


def http_head_length(block):
    """Bytes of the HTTP head at the start of a block, with its empty line."""
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := block.find(mark)) >= 0]
    return min(ends) if ends else len(block)


def _gzip_members(data, path):
    while data:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            member = unpacker.decompress(data)
        except zlib.error as error:
            raise Failure(f"{path}: broken gzip: {error}") from None
        if not unpacker.eof:
            raise Failure(f"{path}: the last gzip member is cut off")
        yield member
        data = unpacker.unused_data


def _zstd_frames(data, path):
    import zstandard

    options = {}
    if data[:4] == b"\x5d\x2a\x4d\x18":  # the skippable frame that carries the dictionary
        length = int.from_bytes(data[4:8], "little")
        dictionary, data = data[8 : 8 + length], data[8 + length :]
        if dictionary[:4] == b"\x28\xb5\x2f\xfd":
            dictionary = zstandard.ZstdDecompressor().decompressobj().decompress(dictionary)
        options["dict_data"] = zstandard.ZstdCompressionDict(dictionary)
    while data:
        unpacker = zstandard.ZstdDecompressor(**options).decompressobj()
        try:
            frame = unpacker.decompress(data)
        except zstandard.ZstdError as error:
            raise Failure(f"{path}: broken zstd: {error}") from None
        if not unpacker.eof:
            raise Failure(f"{path}: the last zstd frame is cut off")
        yield frame
        data = unpacker.unused_data


def _only_record(data, path):
    record, rest = _split_record(data, path)
    if rest:
        raise Failure(f"{path}: {len(rest)} bytes follow record {header(record, 'WARC-Record-ID')} in its own member")
    return record


def _split_record(data, path):
    head, mark, rest = data.partition(b"\r\n\r\n")
    lines = head.decode("utf-8", errors="surrogateescape").split("\r\n")
    if not mark or lines[0] not in ("WARC/1.0", "WARC/1.1"):
        raise Failure(f"{path}: not a WARC record: {data[:60]!r}")
    headers = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise Failure(f"{path}: not a named field: {line!r}")
        headers.append((name, value.strip()))
    record = Record(lines[0], headers, b"")
    for name in ("WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length"):
        if sum(key.lower() == name.lower() for key, _ in headers) != 1:
            raise Failure(f"{path}: {name} must be there exactly once: {headers}")
    if not DATE[lines[0]].fullmatch(header(record, "WARC-Date")):
        raise Failure(f"{path}: {header(record, 'WARC-Date')} is no date of {lines[0]}")
    length = int(header(record, "Content-Length"))
    if rest[length : length + 4] != b"\r\n\r\n":
        raise Failure(f"{path}: Content-Length of {header(record, 'WARC-Record-ID')} is wrong")
    return record._replace(block=rest[:length]), rest[length + 4 :]


def _difference(ours, theirs, names):
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)) and not isinstance(ours, str):
        for at, (one, other) in enumerate(zip(ours, theirs)):
            if one != other:
                return f"      at {at}, {names[0]}: {_short(one)}\n      at {at}, {names[1]}: {_short(other)}"
        longer, name = (ours, names[0]) if len(ours) > len(theirs) else (theirs, names[1])
        return f"      {len(ours)} and {len(theirs)}; only {name}: {_short(longer[min(len(ours), len(theirs))])}"
    return f"      {names[0]}: {_short(ours)}\n      {names[1]}: {_short(theirs)}"


def _short(value):
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:300]}… ({len(text)} characters)"
