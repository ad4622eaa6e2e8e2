"""check.py WHAT WITHIN_SECONDS DATA…: the nodes of these archives become one ring in time, and each finds the owner of every host."""

import json
import os
import subprocess
import sys
import time

HERODOTUS = os.environ["HERODOTUS"]
HOSTS = 6


def ask(data, *arguments):
    command = [HERODOTUS, "--data", data, "--json", "ring", *arguments]
    answer = subprocess.run(command, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    if answer.returncode != 0:
        raise RuntimeError(answer.stderr.decode(errors="replace").strip())
    return json.loads(answer.stdout)


def wrong(views):
    """What keeps these from being one ring, or nothing."""
    nodes = {node["contact"]["id"]: node for view in views for node in view["nodes"]}
    order, depth = sorted(nodes), views[0]["depth"]
    for at, place in enumerate(order):
        node = nodes[place]
        if node["standing"] != "member":
            return f"{place[:8]} is {node['standing']}"
        after = [order[(at + step) % len(order)] for step in range(1, min(depth, len(order) - 1) + 1)]
        told = [contact["id"] for contact in node["successors"]]
        if told != after:
            return f"after {place[:8]} come {[t[:8] for t in told]}, not {[a[:8] for a in after]}"
        before = (node["predecessor"] or {}).get("id")
        if len(order) > 1 and before != order[at - 1]:
            return f"before {place[:8]} comes {before}, not {order[at - 1][:8]}"
    return None


def look_up(data, order):
    for host in range(HOSTS):
        found = ask(data, "lookup", f"http://host-{host}.example/")
        owner = next((place for place in order if place >= found["key"]), order[0])
        if found["owner"]["id"] != owner:
            return f"{data}: host-{host} belongs to {owner[:8]}, and {found['owner']['id'][:8]} was found"
    return None


def main():
    what, within, *archives = sys.argv[1:]
    began, why = time.monotonic(), "nothing was asked"
    while time.monotonic() - began < float(within):
        try:
            views = [ask(data, "status") for data in archives]
            why = wrong(views)
            if why is None:
                took = time.monotonic() - began
                order = sorted(node["contact"]["id"] for view in views for node in view["nodes"])
                why = next(filter(None, (look_up(data, order) for data in archives)), None)
                if why is None:
                    print(f"ok  {what}: one ring of {len(order)} after {took:.1f} s, {HOSTS * len(archives)} lookups right", flush=True)
                    return 0
        except (RuntimeError, subprocess.TimeoutExpired, json.JSONDecodeError) as error:
            why = str(error)
        time.sleep(0.3)
    print(f"      {why}", flush=True)
    return 1


sys.exit(main())
