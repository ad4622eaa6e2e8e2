"""Times pywb's and warcio's own code at what the store is timed at; prints one line of JSON.

    peer_reads.py lookups QUERIES INDEX.cdxj       newest capture not after a time, by pywb's binary search
    peer_reads.py reads QUERIES FILE.warc.gz…      a whole record at its offset, by warcio, which pywb reads with

QUERIES has one question per line: `key timestamp14`, or `number-of-file offset length`. Files stay open and
lie in the page cache, so what is timed is the code and not the disk; no HTTP is spoken.
"""

import json
import sys
import time


def lookups(queries, index):
    from pywb.utils.binsearch import iter_exact

    found = 0
    with open(index, "rb") as reader:

        def one(line):
            nonlocal found
            key, stamp = line.split(b" ")
            newest = None
            for entry in iter_exact(reader, key):
                if entry.split(b" ", 2)[1] > stamp:
                    break
                newest = entry
            found += newest is not None

        result = timed(one, queries)
    return result | {"found": found}


def reads(queries, *files):
    from warcio.archiveiterator import ArchiveIterator

    readers = [open(file, "rb") for file in files]
    for reader in readers:
        while reader.read(1 << 20):
            pass

    def one(line):
        number, offset, _length = line.split(b" ")
        reader = readers[int(number)]
        reader.seek(int(offset))
        record = next(iter(ArchiveIterator(reader)))
        if len(record.raw_stream.read()) == 0:
            raise SystemExit("an empty record")

    return timed(one, queries)


def timed(one, queries):
    lines = open(queries, "rb").read().splitlines()
    for line in lines[: len(lines) // 10]:
        one(line)
    wall, cpu = [], []
    start = time.perf_counter()
    for line in lines:
        before, cpu_before = time.perf_counter(), time.thread_time()
        one(line)
        cpu.append(time.thread_time() - cpu_before)
        wall.append(time.perf_counter() - before)
    seconds = time.perf_counter() - start
    result = {"operations": len(wall), "seconds": seconds, "max_us": max(wall) * 1e6}
    for name, spent in (("", sorted(wall)), ("cpu_", sorted(cpu))):
        for percent in (50, 99):
            result[f"{name}p{percent}_us"] = spent[len(spent) * percent // 100] * 1e6
    return result


if __name__ == "__main__":
    what = {"lookups": lookups, "reads": reads}[sys.argv[1]]
    print(json.dumps(what(*sys.argv[2:])))
