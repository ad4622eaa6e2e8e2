"""What the fault test asks the nodes: who has how many copies, what they show, what lies on their disks. Called by `copies`.

    lies_on WHAT WITHIN_S COPIES OBJECTS K…   every node says that every object lies on so many machines
    reads WHAT WITHIN_S K… -- NAME…           every capture of these collections comes from every node as it was
    disks WHAT WITHIN_S COPIES OBJECTS K…     the same found by listing every disk, and every disk reads through without damage
    distrusted WHAT WITHIN_S LIAR K…          some node has found out by audit that this one lacks what it should have, or it lacks nothing any more
    visit SECONDS SEED COUNT K…               bring so many of the later collections in and read all the while, until the file `calm` is there and all are in

$WORK is the check's folder with the nodes' archives (m0, m1, …) and the collections; $LAB names the network namespaces.
"""

import collections
import hashlib
import http.client
import json
import random
import subprocess
import sys
import threading
import time

from lab import WORK, asked, command, get, is_up, on_every, until

IMPORT_S = 90  # then it counts as not acknowledged, and is tried elsewhere


def lies_on(what, within, copies, objects, nodes):
    def wrong(node):
        health = asked("/api/v1/ring/health")
        levels = {level["copies"]: level["objects"] for level in health["objects"]}
        is_whole = levels == {copies: objects} and health["machines_silent"] == 0 and health["machines_asked"] == len(nodes)
        return None if is_whole else f"{node}: objects by copies {levels}, {health['machines_silent']} of {health['machines_asked']} silent"

    took = until(what, within, lambda: next(filter(None, on_every(nodes, wrong).values()), None))
    print(f"ok  {what}: {objects} objects on {copies} machines each, as all {len(nodes)} say, after {took:.1f} s", flush=True)


def truth_of(names):
    return [row for name in names for row in json.loads((WORK / "collection" / f"{name}.json").read_text())]


def look_at(row):
    """right, wrong, or why there is nothing."""
    try:
        status, body = get(f"/warc/{row['stamp']}/{row['url']}")
    except (OSError, http.client.HTTPException):
        return "nobody there", b""
    if status != 200:
        return {404: "not found", 503: "try again", 302: "another moment"}.get(status, f"status {status}"), body
    _, _, block = body.partition(b"\r\n\r\n")
    return ("right" if hashlib.sha256(block[: row["bytes"]]).hexdigest() == row["sha256"] else "wrong"), body


def reads(what, within, nodes, names):
    truth = truth_of(names)

    def read_all(node):
        began, left = time.monotonic(), list(truth)
        random.Random(node).shuffle(left)
        while left:
            again = []
            for row in left:
                told, body = look_at(row)
                if told == "wrong" or told != "right" and time.monotonic() - began > within:
                    return f"{node}: {row['url']} of {row['stamp']} is {told}: {body[:300].decode(errors='replace')}"
                if told != "right":
                    again.append(row)
            left = again
            if left:
                time.sleep(0.5)
        return None

    began = time.monotonic()
    for why in filter(None, on_every(nodes, read_all).values()):
        print(f"      {why}", flush=True)
        sys.exit(1)
    size = sum(row["bytes"] for row in truth)
    print(f"ok  {what}: {len(truth)} captures byte for byte from each of {len(nodes)}, {len(nodes) * size / 1e6:.0f} MB in {time.monotonic() - began:.1f} s", flush=True)


def disks(what, within, copies, objects, nodes):
    def wrong():
        machines = collections.Counter()
        for node in nodes:
            listed = command(node, "list", "--all")
            if listed.returncode != 0:
                return f"{node}: list: {listed.stderr.decode(errors='replace')[-300:]}"
            for capture in map(json.loads, listed.stdout.splitlines()):
                del capture["shared"]  # Whether a machine has the body from another capture is its own affair.
                machines[json.dumps(capture, sort_keys=True)] += 1
        spread = collections.Counter(machines.values())
        if spread != {copies: objects}:
            return f"captures by the number of disks they lie on: {dict(spread)}, not {objects} on {copies}"
        for node in nodes:
            verified = command(node, "verify", within=within)
            if verified.returncode != 0:
                return f"{node}: verify: {(verified.stdout + verified.stderr).decode(errors='replace')[-300:]}"
        return None

    took = until(what, within, wrong)
    print(f"ok  {what}: {objects} captures on {copies} disks each by listing them, every disk read through without damage, after {took:.1f} s", flush=True)


def distrusted(what, within, liar, nodes):
    machine = on_every([liar], lambda _: asked("/api/v1/ring")["machine"])[liar]

    def failed(_):
        try:
            told = {m["machine"]: m.get("audit") for m in asked("/api/v1/ring/health")["machines"]}
        except (OSError, RuntimeError, http.client.HTTPException):
            return False  # killed, or only just back
        return bool(told.get(machine)) and not told[machine]["is_passed"]

    how = []

    def wrong():
        if any(on_every([n for n in nodes if n != liar], failed).values()):
            how.append("found out by audit")
        # Where minutes are long, those who read may come upon all of it before an audit does, and what they come upon is mended.
        elif command(liar, "verify", within=within).returncode == 0:
            how.append("no longer one: what readers came upon was mended")
        return None if how else "nobody has found it out"

    took = until(what, within, wrong)
    print(f"ok  {what}: {how[0]} after {took:.1f} s", flush=True)


class Visitors:
    """Those who bring collections in and read while things break. What an import said was done is acknowledged, and nothing else is."""

    def __init__(self, seconds, seed, count, nodes):
        self.nodes, self.random = nodes, random.Random(seed)
        self.waiting = collections.deque(f"later-{n}" for n in range(1, count + 1))
        self.pause = seconds / count
        self.acknowledged = ["first"]
        self.refused, self.seconds = 0, []
        self.told = collections.Counter()
        self.wrong = []
        self.done = threading.Event()

    def bring(self):
        while self.waiting:
            is_calm = (WORK / "calm").exists()
            name, node = self.waiting.popleft(), self.random.choice([n for n in self.nodes if is_up(n)] or self.nodes)
            began = time.monotonic()
            try:
                done = command(node, "import", str(WORK / "collection" / f"{name}.warc"), within=IMPORT_S)
                is_in, why = done.returncode == 0 and b'"handed on"' in done.stdout, done.stderr.decode(errors="replace")
            except subprocess.TimeoutExpired:
                is_in, why = False, "no answer"
            took = time.monotonic() - began
            with open(WORK / "imports", "a") as log:
                log.write(f"{time.strftime('%H:%M:%S')} {name} through {node} {'acknowledged' if is_in else 'NOT'} {took:.1f} s {why.strip()[-200:]}\n")
            if is_in:
                self.acknowledged.append(name)
                self.seconds.append(took)
            else:
                self.refused += 1
                self.waiting.append(name)
            if not is_calm:
                time.sleep(max(0, self.pause - took))
        self.done.set()

    def read(self, node):
        chance, known, truth = random.Random(node), 0, []
        while not (self.done.is_set() and (WORK / "calm").exists()):
            names = list(self.acknowledged)
            truth += truth_of(names[known:])
            known = len(names)
            row = chance.choice(truth)
            told, body = look_at(row)
            self.told[told] += 1
            if told not in ("right", "nobody there"):
                with open(WORK / "unread", "a") as log:
                    log.write(f"{time.strftime('%H:%M:%S')} {node} {told} {row['stamp']} {row['url']} {body[:200]!r}\n")
            if told == "wrong":
                self.wrong.append(f"{node}: {row['url']} of {row['stamp']}: {body[:300]!r}")
            time.sleep(0.05 if told == "right" else 0.3)

    def run(self):
        bringer = threading.Thread(target=self.bring, daemon=True)
        bringer.start()
        on_every(self.nodes, self.read)
        bringer.join()
        for why in self.wrong[:5]:
            print(f"      {why}", flush=True)
        told = ", ".join(f"{count} {what}" for what, count in self.told.most_common())
        took = sorted(self.seconds)
        imports = f"{len(took)} imports acknowledged (median {took[len(took) // 2]:.1f} s, longest {took[-1]:.1f}), {self.refused} tries were not"
        print(f"{'FAIL' if self.wrong else 'ok'}  meanwhile {imports}; reads: {told}", flush=True)
        return 1 if self.wrong else 0


def main():
    verb, *rest = sys.argv[1:]
    match verb:
        case "lies_on" | "disks":
            what, within, copies, objects, *nodes = rest
            {"lies_on": lies_on, "disks": disks}[verb](what, float(within), int(copies), int(objects), list(map(int, nodes)))
        case "reads":
            cut = rest.index("--")
            reads(rest[0], float(rest[1]), list(map(int, rest[2:cut])), rest[cut + 1 :])
        case "distrusted":
            distrusted(rest[0], float(rest[1]), int(rest[2]), list(map(int, rest[3:])))
        case "visit":
            sys.exit(Visitors(float(rest[0]), int(rest[1]), int(rest[2]), list(map(int, rest[3:]))).run())


main()
