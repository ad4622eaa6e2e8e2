"""What the check of a crawl through faults asks, of the nodes and of the server's log. Called by `crawl`.

    serve ADDRESS PORT                     the web that is crawled, until killed; writes $WORK/requests
    complete WITHIN_S K…                   every node says that the crawl is complete
    asked DELAY_MS                         by the server's log: nothing missing, hardly anything twice, nothing forbidden, no host asked faster than it should be
    archived WITHIN_S BYTES_FROM K…        every node lists all of it; the first BYTES_FROM of them give it as it was
    rested                                 nothing was asked for since `asked`

$WORK/phases has a line for each fault: when it began, what it was.
"""

import bisect
import collections
import json
import sys
import time

import web
from lab import WORK, command, get, on_every, until

NAME = "faults"
LOG = WORK / "requests"
TWICE_PERCENT_MAX = 2
SHOWN_MAX = 10


def complete(within, nodes):
    def wrong():
        told = {}
        for node in nodes:
            said = command(node, "ring", "crawls")
            if said.returncode != 0:
                return f"{node}: ring crawls: {said.stderr.decode(errors='replace')[-300:]}"
            crawls = {crawl["name"]: crawl for crawl in map(json.loads, said.stdout.splitlines())}
            told[node] = crawls.get(NAME, {"state": "unknown"})
        if all(crawl["state"] == "complete" for crawl in told.values()):
            return None
        return f"after {len(web.requests(LOG))} requests " + "; ".join(
            f"{node}: {c['state']}, {c.get('waiting')} waiting, {c.get('in_flight')} in flight, {c.get('unsent')} unsent, {c.get('silent')} silent" for node, c in told.items()
        )

    until("complete", within, wrong)
    log, (stopped, _) = web.requests(LOG), faults_begun()[-1]
    print(f"ok  complete, as all {len(nodes)} say, {time.time() - stopped:.1f} s after the faults stopped; {log[-1].at - log[0].at:.0f} s from the first request to the last", flush=True)


def asked(delay_s):
    log = web.requests(LOG)
    (WORK / "asked").write_text(str(len(log)))
    pages = [request for request in log if request.path != "/robots.txt"]
    times = collections.defaultdict(list)
    for request in pages:
        times[f"http://{request.host}{request.path}"].append(request)
    faults = []
    expected = web.urls()
    missing = sorted(expected - set(times))
    if missing:
        faults.append(f"{len(missing)} of {len(expected)} were never asked for: {missing[:SHOWN_MAX]}")
    beyond = sorted(set(times) - expected)
    if beyond:
        faults.append(f"{len(beyond)} asked for that are forbidden or do not exist: {beyond[:SHOWN_MAX]}")
    again = [later for requests in times.values() for later in requests[1:]]
    print(f"    {len(expected)} URLs, {len(pages)} requests by {len({r.who for r in pages})} machines, {len(log) - len(pages)} for robots.txt of {len(web.HOSTS)} hosts; asked for again: {len(again)} ({len(again) / len(expected):.2%})")
    print(f"    again, by the fault before: {dict(phases_of(again))}")
    if len(again) * 100 >= TWICE_PERCENT_MAX * len(expected):
        faults.append(f"{len(again)} requests were for what had been asked for: {len(again) / len(expected):.2%}, not under {TWICE_PERCENT_MAX}%")
    (WORK / "again").write_text("".join(
        f"{url}\t" + "\t".join(f"{r.at - log[0].at:.2f} {r.who}" for r in requests) + "\n" for url, requests in sorted(times.items()) if len(requests) > 1
    ))
    faults += rates(log, delay_s)
    for fault in faults:
        print(f"      {fault}", flush=True)
    if faults:
        sys.exit(1)
    print("ok  every page was asked for, none that is forbidden, no host faster than its delay", flush=True)


def faults_begun():
    lines = (line.partition(" ") for line in (WORK / "phases").read_text().splitlines())
    return [(float(at), what) for at, _, what in lines]


def phases_of(requests):
    """How many of these came after which fault had begun."""
    begun = faults_begun()
    return collections.Counter(begun[max(0, bisect.bisect([at for at, _ in begun], r.at) - 1)][1] for r in requests)


def rates(log, delay_s):
    """Hosts that were asked faster than they should be, in the mean. Single gaps are told, and not held against anybody: who takes over from the dead cannot know when they asked."""
    faults, all_gaps, close = [], [], []
    for host in web.HOSTS:
        row = sorted((r for r in log if r.host == host), key=lambda r: r.at)
        gaps = [later.at - earlier.at for earlier, later in zip(row, row[1:])]
        all_gaps += gaps
        close += [later for gap, later in zip(gaps, row[1:]) if gap < 0.9 * delay_s]
        span = row[-1].at - row[0].at if row else 0
        if len(gaps) * delay_s > span + delay_s:
            faults.append(f"{host} was asked {len(row)} times in {span:.1f} s, which is every {1000 * span / len(gaps):.0f} ms")
    all_gaps.sort()
    print(f"    between two requests to a host: mean {1000 * sum(all_gaps) / len(all_gaps):.0f} ms, median {1000 * all_gaps[len(all_gaps) // 2]:.0f}, shortest {1000 * all_gaps[0]:.0f}; {len(close)} of {len(all_gaps)} shorter than nine tenths of {1000 * delay_s:.0f}: {dict(phases_of(close))}")
    return faults


def archived(within, bytes_from, nodes):
    expected = web.truth()

    def listed():
        """url -> the moments of its captures, as this node tells."""
        captures = collections.defaultdict(list)
        for host in expected:
            status, body = get(f"/cdx?url={host}&matchType=host&output=json")
            if status != 200:
                raise RuntimeError(f"/cdx of {host}: {status} {body[:200]!r}")
            for row in map(json.loads, body.splitlines()):
                if row.get("status") == "200" and not row["url"].endswith("/robots.txt"):
                    captures[row["url"]].append(row["timestamp"])
        return captures

    def wrong(node):
        captures = listed()
        missing = sorted(web.urls() - set(captures))
        if missing:
            return f"{node} does not list {len(missing)} of {len(web.urls())}: {missing[:SHOWN_MAX]}"
        if node not in nodes[:bytes_from]:
            return None
        for url, moments in captures.items():
            host, _, path = url.removeprefix("http://").partition("/")
            for moment in moments:
                status, record = get(f"/warc/{moment}/{url}")
                body = record.partition(b"\r\n\r\n")[2].partition(b"\r\n\r\n")[2]
                if status != 200:
                    return f"{node}: {url} of {moment}: {status} {record[:200]!r}"
                right = expected[host][f"/{path}"]
                if body[: len(right)] != right or body[len(right) :].strip():
                    print(f"      {node}: {url} of {moment} is not as it was served", flush=True)
                    sys.exit(1)
        counts[node] = sum(map(len, captures.values()))
        return None

    counts = {}
    took = until("archived", within, lambda: next(filter(None, on_every(nodes, wrong).values()), None))
    if len(set(counts.values())) > 1:
        print(f"    captures by node: {counts}", flush=True)
    print(f"ok  all {len(web.urls())} pages are listed by each of {len(nodes)}, and {max(counts.values())} captures of them are as they were served from {bytes_from}, after {took:.1f} s", flush=True)


def rested():
    began, now = int((WORK / "asked").read_text()), len(web.requests(LOG))
    if now != began:
        print(f"      {now - began} requests came after the crawl was complete: {web.requests(LOG)[began:][:SHOWN_MAX]}", flush=True)
        sys.exit(1)
    print("ok  nothing was asked for after that", flush=True)


def main():
    verb, *rest = sys.argv[1:]
    match verb:
        case "serve":
            web.Server((rest[0], int(rest[1])), LOG).serve_forever()
        case "complete":
            complete(float(rest[0]), list(map(int, rest[1:])))
        case "asked":
            asked(float(rest[0]) / 1000)
        case "archived":
            archived(float(rest[0]), int(rest[1]), list(map(int, rest[2:])))
        case "rested":
            rested()


main()
