"""The same WARC in pywb and in ours: the same originals, index lines, TimeMaps and Memento headers; and pywb in front of ours.

What differs on purpose is in docs/REPLAY-DIFFERENCES.md, and is left out here by name.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import harness
from corpus import Corpus
from harness import Archive, Failure
from servers import Ours, Pywb

CAPTURES_MIN = 500
ASKING_AT_ONCE = 4


def check(checks):
    parts = sys.argv[1:] or list(PARTS)
    corpus = Corpus(checks.folder, pathlib.Path(os.environ["HERODOTUS_CI_CACHE"]))
    if len(corpus.versions) < CAPTURES_MIN:
        raise Failure(f"only {len(corpus.versions)} captures were made")
    if not corpus.documents:
        checks.skip("no documentation was unpacked by the crawl check: the WARC goes without it")
    archive = Archive(checks.folder / "data").take(*corpus.files)
    print(
        f"{len(corpus.versions)} captures of {len(corpus.urls())} URLs, {corpus.revisits} of them revisits, "
        f"{corpus.documents} real pages",
        flush=True,
    )
    with Pywb.of_files(checks.folder / "pywb", corpus.files) as pywb, Ours(archive.folder, checks.folder / "log") as ours:
        for part in parts:
            PARTS[part](checks, corpus, pywb, ours)


def each(items, compare, what):
    """Runs `compare` on all; gives up with the first few differences."""
    with concurrent.futures.ThreadPoolExecutor(ASKING_AT_ONCE) as pool:
        differing = [difference for difference in pool.map(compare, items) if difference]
    if differing:
        more = f"\n      and {len(differing) - 5} more" if len(differing) > 5 else ""
        raise Failure(f"{what}:\n      " + "\n      ".join(differing[:5]) + more)


# ---- originals ----


def originals(checks, corpus, pywb, ours):
    def compare(version):
        theirs, mine = (server.original(version.url, version.timestamp) for server in (pywb, ours))
        if mine.status != version.status or mine.body != version.entity:
            return f"{version.url} {version.timestamp}: ours gives {mine.status}, {len(mine.body)} bytes; {len(version.entity)} were captured"
        if theirs.status == 500 and not _is_latin(version.url):
            return None  # pywb cannot name it in a header
        if (theirs_to := theirs.get("Location")) and version.status // 100 == 3:
            # Ours leads to the target as it was, within the archive.
            to = re.fullmatch(r"/web/\d{14}id_/(.*)", mine.get("Location") or "")
            if not to or to.group(1) != urllib.parse.urljoin(version.url, theirs_to):
                return f"{version.url} {version.timestamp}: Location is {mine.get('Location')}; pywb: {theirs_to}"
        for name in ("Memento-Datetime", "Content-Type", "Content-Encoding"):
            if mine.get(name) != theirs.get(name):
                return f"{version.url} {version.timestamp}: {name} is {mine.get(name)}; pywb: {theirs.get(name)}"
        if (mine.status, mine.body) != (theirs.status, theirs.body):
            return f"{version.url} {version.timestamp}: {mine.status}, {len(mine.body)} bytes; pywb: {theirs.status}, {len(theirs.body)}"

    each(corpus.versions, compare, "originals differ")
    named = sum(_is_latin(version.url) for version in corpus.versions)
    checks.ok(f"{len(corpus.versions)} originals (id_) are byte for byte what was captured; {named} also what pywb gives")


def _is_latin(url):
    return all(ord(character) < 256 for character in url)


# ---- index ----

FIELDS = "urlkey,timestamp,url,mime,status,digest"


def cdx(checks, corpus, pywb, ours):
    everything = pywb.cdx(f"url=example&matchType=domain&output=text&fl={FIELDS}").text()
    if len(everything.splitlines()) < CAPTURES_MIN:
        raise Failure(f"pywb lists only {len(everything.splitlines())} captures")
    # A fuzzy answer, which pywb gives where it found none, forgets the filters.
    queries = [f"{query}&allowFuzzy=false" for query in _queries(corpus)]

    def compare(query):
        theirs, mine = pywb.cdx(query), ours.cdx(query)
        if (mine.status, mine.body) != (theirs.status, theirs.body):
            return f"{query}: {_first_difference(mine, theirs)}"
        if mine.get("Content-Type").partition(";")[0] != theirs.get("Content-Type").partition(";")[0]:
            return f"{query}: Content-Type is {mine.get('Content-Type')}; pywb: {theirs.get('Content-Type')}"

    each(queries, compare, "index lines differ")
    checks.ok(f"{len(queries)} CDX queries are answered with the same lines")
    refused = ["", "url=", "url=a.example&matchType=sideways", "url=a.example&output=xml", "limit=1"]
    for query in refused:
        theirs, mine = pywb.cdx(query), ours.cdx(query)
        told = [(answer.status, json.loads(answer.body)["message"]) for answer in (mine, theirs)]
        if told[0] != told[1]:
            raise Failure(f"refused differently: {query}: {told[0]}; pywb: {told[1]}")
    checks.ok(f"{len(refused)} queries that make no sense are refused in the same words")


def _queries(corpus):
    quoted = lambda url: urllib.parse.quote(url, safe="")
    # Every URL, with all fields that both have.
    for url in corpus.urls():
        yield f"url={quoted(url)}&fl={FIELDS}&output=json"
    many, again = "url=http://many.example/news", "url=http://again.example/page/5"
    everything = "url=example&matchType=domain"
    for select in (
        many,
        again,
        everything,
        "url=site.example/*",
        "url=site.example/part1*",
        "url=site.example/part1/&matchType=prefix",
        "url=https://site.example/anything&matchType=host",
        "url=*.example",
        "url=words.example&matchType=host",
        "url=b%C3%BCcher3.example",
        "url=unknown.example",
        "url=example.com/*",
    ):
        for change in (
            "",
            "&limit=7",
            "&sort=reverse",
            "&reverse=true&limit=3",
            "&from=2025",
            "&to=2024",
            "&from=201306&to=20240301",
            "&from=20250401000003&to=20250401000003",
            "&filter==status:200",
            "&filter=!status:200",
            "&filter=mime:html&filter=!~status:4",
            "&filter=~url:.*[3-5]$",
            "&filter=mime:warc/revisit",
            "&filter=!mime:warc/revisit&limit=5",
            "&filter=digest:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            "&filter=urlkey:page&limit=20",
            "&filter==nothing:x",
            "&collapseTime=4",
            "&collapseTime=6&sort=reverse",
            "&closest=20240315&limit=4",
            "&closest=20150101000000&sort=closest&limit=10",
            "&closest=20990101000000&limit=2&filter==status:200",
        ):
            for output in ("text", "json", "cdxj"):
                if not change or output == "text":
                    yield f"{select}{change}&output={output}&fl={FIELDS}"
    for form in ("fl=timestamp,url&output=text", "fields=mime,digest", "fl=url,nothing&output=json", "fl=nothing,url&output=text"):
        yield f"{many}&{form}"
    yield f"{again}&resolveRevisits=true&fl=timestamp,mime,digest&output=text"


def _first_difference(mine, theirs):
    if mine.status != theirs.status:
        return f"{mine.status}; pywb: {theirs.status}"
    ours, pywbs = mine.text().splitlines(), theirs.text().splitlines()
    for at, (one, other) in enumerate(zip(ours, pywbs)):
        if one != other:
            return f"line {at}:\n        ours {one}\n        pywb {other}"
    return f"{len(ours)} lines; pywb: {len(pywbs)}"


# ---- TimeMaps ----

LINK = re.compile(r'<([^>]*)>((?:\s*;\s*[a-z]+="[^"]*")*)\s*(?:,|$)')
ATTRIBUTE = re.compile(r';\s*([a-z]+)="([^"]*)"')


def links(text):
    """Every link as (target, attributes)."""
    found = [(target, dict(ATTRIBUTE.findall(rest))) for target, rest in LINK.findall(text.strip())]
    if LINK.sub("", text.strip()).strip():
        raise Failure(f"not a list of links: {LINK.sub('', text.strip())[:200]!r}")
    return found


def mementos(text):
    """(stamp, URL, date) of every memento of a TimeMap."""
    listed = [(target, told) for target, told in links(text) if "memento" in told["rel"].split()]
    return [(*re.search(r"/(\d{14})(?:mp_)?/(.*)$", target).groups(), told["datetime"]) for target, told in listed]


def timemaps(checks, corpus, pywb, ours):
    def compare(url):
        theirs, mine = (server.timemap("link", url) for server in (pywb, ours))
        if mine.status != theirs.status or mine.get("Content-Type") != theirs.get("Content-Type"):
            return f"{url}: {mine.status} {mine.get('Content-Type')}; pywb: {theirs.status} {theirs.get('Content-Type')}"
        one, other = mementos(mine.text()), mementos(theirs.text())
        if one != other:
            return f"{url}: {one[:3]}…; pywb: {other[:3]}…"
        if len(one) != sum(version.url == url for version in corpus.versions):
            return f"{url}: {len(one)} mementos are listed"
        names = {told["rel"]: target for target, told in links(mine.text())}
        if not {"original", "timegate", "self"} <= set(names):
            return f"{url}: the TimeMap lacks a link: {sorted(names)}"
        for form in ("json", "cdxj"):
            mine, theirs = (_lines(server.timemap(form, url).text(), form) for server in (ours, pywb))
            if mine != theirs:
                return f"{url} as {form}: {mine[:1]}; pywb: {theirs[:1]}"

    each(corpus.urls(), compare, "TimeMaps differ")
    checks.ok(f"TimeMaps of {len(corpus.urls())} URLs list the same mementos, as links, JSON and CDXJ")
    for form in ("link", "json", "cdxj"):
        told = [server.timemap(form, "http://unknown.example/").status for server in (ours, pywb)]
        if told != [404, 404]:
            raise Failure(f"the {form} TimeMap of an unknown URL: {told}")
    checks.ok("the TimeMap of a URL that is not here is 404")


def _lines(text, form):
    told = [json.loads(line.split(" ", 2)[2] if form == "cdxj" else line) for line in text.splitlines()]
    return [{name: line.get(name) for name in FIELDS.split(",")} for line in told]


# ---- Memento headers ----


def mementos_of_replay(checks, corpus, pywb, ours):
    pages = [version for version in corpus.versions if version.status == 200 and _is_latin(version.url)]

    def compare(version):
        theirs, mine = (server.memento(version.url, version.timestamp) for server in (pywb, ours))
        where = f"{version.url} {version.timestamp}"
        if mine.get("Memento-Datetime") != theirs.get("Memento-Datetime") or mine.get("Memento-Datetime") is None:
            return f"{where}: Memento-Datetime is {mine.get('Memento-Datetime')}; pywb: {theirs.get('Memento-Datetime')}"
        one, other = _related(mine.get("Link")), _related(theirs.get("Link"))
        if one["original"] != other["original"]:
            return f"{where}: the original is {one['original']}; pywb: {other['original']}"
        if not {"timegate", "timemap"} <= set(one):
            return f"{where}: links are missing: {mine.get('Link')}"
        if theirs_is := other.get("memento"):
            if theirs_is not in [pair for pair in one["mementos"]]:
                return f"{where}: the memento of {theirs_is} is not linked: {one['mementos']}"

    each(pages, compare, "Memento headers differ")
    checks.ok(f"Memento headers of {len(pages)} pages agree")
    _gates(checks, corpus, pywb, ours)


def _related(header):
    told = {"mementos": []}
    for target, attributes in links(header or ""):
        rels = attributes["rel"].split()
        if "memento" in rels:
            stamp = re.search(r"/(\d{14})(?:mp_)?/", target).group(1)
            told["mementos"].append((stamp, attributes["datetime"]))
            told["memento"] = (stamp, attributes["datetime"])
        else:
            told[attributes["rel"]] = target
    return told


def _gates(checks, corpus, pywb, ours):
    """At the very time of a capture there is no doubt which one is meant."""
    some = [version for version in corpus.versions if version.status == 200 and _is_latin(version.url)][::5]

    def compare(version):
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.strptime(version.timestamp, "%Y%m%d%H%M%S"))
        theirs, mine = (server.timegate(version.url, date) for server in (pywb, ours))
        if mine.status != 302 or f"/web/{version.timestamp}/" not in mine.get("Location"):
            return f"{version.url} at {date}: {mine.status} {mine.get('Location')}"
        for name, answer in (("ours", mine), ("pywb", theirs)):
            if "accept-datetime" not in (answer.get("Vary") or "").lower():
                return f"{version.url} at {date}: {name} says Vary: {answer.get('Vary')}"
        if _related(theirs.get("Link"))["memento"] not in _related(mine.get("Link"))["mementos"]:
            return f"{version.url} at {date}: {mine.get('Link')}; pywb: {theirs.get('Link')}"

    each(some, compare, "TimeGates differ")
    checks.ok(f"TimeGates lead to the same memento for {len(some)} dates")


# ---- pywb in front ----


def front(checks, corpus, pywb, ours):
    """pywb reads our index and our WARC records, and shows what a pywb of its own files shows."""
    root = checks.folder / "front"
    root.mkdir()
    at = f"http://127.0.0.1:{ours.port}"
    (root / "config.yaml").write_text(
        f"""collections:
  ours:
    index:
      type: cdx
      api_url: '{at}/cdx?url={{url}}&closest={{closest}}'
      replay_url: '{at}/web/{{timestamp}}id_/{{url}}'
    archive_paths: '{at}/warc/'
"""
    )
    with Pywb(root, "ours", "pywb in front") as front:

        def compare(version):
            for ask in ("original", "memento"):
                theirs, mine = (getattr(server, ask)(version.url, version.timestamp) for server in (pywb, front))
                if theirs.status == 500 and not _is_latin(version.url):
                    continue
                shown = [_without_places(answer.body, server) for answer, server in ((mine, front), (theirs, pywb))]
                if mine.status != theirs.status or shown[0] != shown[1]:
                    return f"{ask} {version.url} {version.timestamp}: {mine.status}, {len(mine.body)} bytes; pywb alone: {theirs.status}, {len(theirs.body)}"
                if mine.get("Memento-Datetime") != theirs.get("Memento-Datetime"):
                    return f"{ask} {version.url} {version.timestamp}: {mine.get('Memento-Datetime')}; pywb alone: {theirs.get('Memento-Datetime')}"

        each(corpus.versions, compare, "pywb in front of ours shows something else")
        named = sum(_is_latin(version.url) for version in corpus.versions)
        checks.ok(f"pywb in front of ours shows {named} captures as pywb alone does, rewritten and original")


def _without_places(body, server):
    """pywb writes its own address, the name of its collection, and the time of asking into pages."""
    body = body.replace(f"127.0.0.1:{server.port}".encode(), b"HOST").replace(f"/{server.collection}/".encode(), b"/COLL/")
    body = body.replace(f'"{server.collection}"'.encode(), b'"COLL"')
    return re.sub(rb'wbinfo\.(request_ts|proxy_magic|enable_auto_fetch) = [^;]*;', b"", body)


PARTS = {"originals": originals, "cdx": cdx, "timemaps": timemaps, "mementos": mementos_of_replay, "front": front}

if __name__ == "__main__":
    harness.main(check)
