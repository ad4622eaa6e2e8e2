"""What the checks in network namespaces share: asking the nodes of a lab. $WORK is the check's folder with the nodes' archives (m0, m1, …); $LAB names the network namespaces."""

import concurrent.futures
import ctypes
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

HERODOTUS, WORK, LAB = os.environ["HERODOTUS"], pathlib.Path(os.environ["WORK"]), os.environ["LAB"]
NEW_NETWORK = 0x40000000  # CLONE_NEWNET
ASK_S = 60


def enter(node):
    """This thread lives on that host's network from now on: sockets that it makes are there."""
    handle = os.open(f"/run/netns/{LAB}{node}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(handle, NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), f"setns {LAB}{node}")
    os.close(handle)


def on_every(nodes, work):
    """Calls work(node) for each of them at once, each on its own network; gives what they return."""

    def there(node):
        enter(node)
        return work(node)

    results, threads = {}, []
    for node in nodes:
        future = results[node] = concurrent.futures.Future()

        def run(node=node, future=future):
            try:
                future.set_result(there(node))
            except BaseException as error:
                future.set_exception(error)

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()
    return {node: future.result() for node, future in results.items()}


def get(path):
    """From the node of the network that this thread lives on."""
    connection = http.client.HTTPConnection("127.0.0.1", 8480, timeout=ASK_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def asked(path):
    status, body = get(path)
    if status != 200:
        raise RuntimeError(f"{path}: {status} {body[:200].decode(errors='replace')}")
    return json.loads(body)


def command(node, *arguments, within=ASK_S):
    line = [HERODOTUS, "--data", str(WORK / f"m{node}"), "--json", *arguments]
    return subprocess.run(line, capture_output=True, timeout=within, check=False, stdin=subprocess.DEVNULL)


def is_up(node):
    """Whether a node has its archive open. Where none has, a command would open it itself, and hand nothing on."""
    with socket.socket(socket.AF_UNIX) as door:
        try:
            door.connect(str(WORK / f"m{node}" / "node.sock"))
        except OSError:
            return False
    return True


def until(what, within, look):
    """Looks until there is nothing wrong. Exits with what is wrong if that lasts too long."""
    began, why = time.monotonic(), "nothing was asked"
    while time.monotonic() - began < within:
        try:
            why = look()
        except (RuntimeError, OSError, http.client.HTTPException, ValueError, subprocess.TimeoutExpired) as error:
            why = f"{type(error).__name__}: {error}"
        if why is None:
            return time.monotonic() - began
        time.sleep(0.5)
    print(f"      {why}", flush=True)
    sys.exit(1)
