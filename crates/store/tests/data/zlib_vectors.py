#!/usr/bin/env python3
"""Writes zlib_vectors.tsv: what stock zlib makes of inputs that src/coding/zlib/tests.rs makes in the same way.

    python3 zlib_vectors.py > zlib_vectors.tsv

Python must be linked with stock zlib (1.2.3, 1.2.5, 1.2.8, 1.2.11, 1.2.13, 1.3.1 and 1.3.2 gave the same); not zlib-ng (`zlib.ZLIB_RUNTIME_VERSION` tells).
"""
import hashlib
import zlib

SHAPES = [(15, 8), (15, 9), (15, 1), (14, 7), (13, 6), (12, 8), (9, 1), (10, 3)]
WORDS = (
    "the of and archive page version web <p> </p> <div> </div> <a href=\"/ \"> </a> <li class=\"item\"> </li> history "
    "crawl store &amp; 2026 Herodotus inquiry so that what was done by men may not be forgotten in time \n"
).split(" ")


class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def noise(r, n):
    return bytes(r.below(256) for _ in range(n))


def html(r, n):
    out = bytearray()
    while len(out) < n:
        # Rarely used words have a number, so that there is always something new.
        out += WORDS[r.below(len(WORDS))].encode()
        out += str(r.below(10000)).encode() if r.below(8) == 0 else b""
        out += b" "
    return bytes(out[:n])


def runs(r, n):
    out = bytearray()
    while len(out) < n:
        out += bytes([r.below(4)]) * (1 + r.below(1 << (1 + r.below(13))))
    return bytes(out[:n])


def mixture(r, n):
    out = bytearray()
    while len(out) < n:
        kind, length = r.below(4), 1 + r.below(1 << (3 + r.below(12)))
        if kind == 0:
            out += noise(r, length)
        elif kind == 1:
            out += html(r, length)
        elif kind == 2:
            out += runs(r, length)
        else:
            # A copy from further back than any window, or nearer, with an overlap.
            distance = 1 + r.below(min(len(out), 70000)) if out else 0
            for _ in range(length if out else 0):
                out.append(out[-distance])
    return bytes(out[:n])


def period(r, lengths):
    return b"".join(noise(r, length) * 5 for length in lengths)


def skewed(r, n):
    """Symbols of very unequal frequency, whose codes get too long and are mended."""
    out = bytearray()
    for _ in range(n):
        symbol = 0
        while symbol < 40 and r.below(100) < 62:
            symbol += 1
        out.append((symbol * 37) % 256)
    return bytes(out)


def inputs():
    yield "empty", b""
    yield "one", b"x"
    yield "two", b"xx"
    yield "short", b"Herodotus of Halicarnassus here displays his inquiry, his inquiry, his inquiry."
    yield "nearly_lookahead", html(Random(1), 261)
    yield "html_100k", html(Random(2), 100_000)
    yield "html_300k", html(Random(3), 300_000)
    yield "noise_70k", noise(Random(4), 70_000)
    yield "runs_200k", runs(Random(5), 200_000)
    yield "mixture_400k", mixture(Random(6), 400_000)
    yield "window_exactly", html(Random(7), 65_536)
    # The largest distance of each window, one less and one more.
    yield "periods", period(Random(8), [249, 250, 251, 762, 763, 3834, 7930, 16122, 32505, 32506, 32507])
    yield "skewed_150k", skewed(Random(9), 150_000)
    yield "mixture_2m", mixture(Random(10), 2_000_000)


for name, data in inputs():
    # The input's own hash tells a mistake in making it from one in compressing it.
    print(name, "input", hashlib.sha256(data).hexdigest(), sep="\t")
    for wbits, mem in SHAPES:
        for level in range(1, 10):
            z = zlib.compressobj(level, zlib.DEFLATED, -wbits, mem)
            made = z.compress(data) + z.flush()
            print(name, f"{level},{wbits},{mem}", hashlib.sha256(made).hexdigest(), sep="\t")
