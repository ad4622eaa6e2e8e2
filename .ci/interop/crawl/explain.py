"""Why two crawlers disagree on a URL: found out from the pages themselves, by how they name it.

A difference that has no reason here is one that nobody understands yet, and fails the check.
"""

import collections
import html.parser
import re
import urllib.parse

import docsite

HOST = "http://site.test"
# Places that wget 1.21 follows no links from (src/html-url.c), and browsers and we do.
NOT_FOLLOWED_BY_WGET = {
    "form@action", "source@srcset", "video@poster", "track@src", "image@href", "image@xlink:href", "use@href", "use@xlink:href",
    "link@imagesrcset",
}  # fmt: skip
# Places that mean nothing to browsers, and wget follows.
NOT_FOLLOWED_BY_US = {"link without rel@href"}


STRAY = re.compile("%(?![0-9A-Fa-f]{2})")


def written_the_same(path):
    """A path with its escapes as RFC 3986 normalises them, and without an empty query."""
    place, mark, query = path.partition("?")
    parts = (urllib.parse.unquote_to_bytes(part) for part in STRAY.split(place))
    return "%".join(urllib.parse.quote(part, safe="/:@!$&'()*+,;=~-._") for part in parts) + (mark + query if query else "")


class Reasons:
    """Reads every page of the site once, with Python's own parser: a third opinion."""

    def __init__(self, root, paths):
        self.places = collections.defaultdict(set)
        for path in paths:
            file = docsite.file_of(root, path)
            if file and file.suffix in (".html", ".htm"):
                reader = _Links(HOST + path)
                reader.feed(file.read_text(encoding="utf-8", errors="replace"))
                for place, url in reader.found:
                    if url.startswith(HOST):
                        self.places[written_the_same(url[len(HOST) :] or "/")].add(place)

    def named(self, path):
        """How pages name a path: the elements and attributes, or nothing."""
        return ", ".join(sorted(self.places.get(path, ()))) or "named by no element"

    def of(self, who, path):
        """The class of a difference, or None."""
        places = self.places.get(path, set())
        if who == "only ours" and path == "/robots.txt":
            return "we ask for robots.txt, and wget was told not to"
        if who == "only ours" and places and places <= NOT_FOLLOWED_BY_WGET:
            return f"wget follows no {', '.join(sorted(places))}"
        if who == "only wget" and places and places <= NOT_FOLLOWED_BY_US:
            return f"we follow no {', '.join(sorted(places))}: it says nothing about what the link is"
        if who == "only wget" and places and "%5C" in path:
            return "a backslash is a slash to browsers and us; wget makes it %5C"
        stray = path if who == "only ours" else path.replace("%25", "%")
        if STRAY.search(stray) and stray in self.places:
            return "a % that begins no escape goes out as browsers send it; wget makes it %25"
        return None


class _Links(html.parser.HTMLParser):
    ATTRIBUTES = {
        "action", "archive", "background", "cite", "code", "codebase", "data", "formaction", "href", "longdesc", "lowsrc", "poster",
        "profile", "src", "usemap", "xlink:href",
    }  # fmt: skip

    def __init__(self, url):
        super().__init__()
        self.base, self.found = url, []

    def handle_starttag(self, tag, attributes):
        given = {name: value for name, value in attributes if value}
        element = "link without rel" if tag == "link" and "rel" not in given else tag
        if tag == "base" and "href" in given:
            self.base = urllib.parse.urljoin(self.base, given["href"].strip())
        for name, value in given.items():
            if name in ("srcset", "imagesrcset"):
                for part in value.split(","):
                    self._add(f"{element}@{name}", part.strip().split(" ")[0])
            elif name in self.ATTRIBUTES:
                self._add(f"{element}@{name}", value)
            elif name == "style":
                for found in re.findall(r"url\(\s*['\"]?([^'\")]+)", value):
                    self._add(f"{element}@style", found)
        if tag == "meta" and (given.get("http-equiv") or "").lower() == "refresh":
            if found := re.search(r"url\s*=\s*['\"]?([^'\"]+)", given.get("content", ""), re.IGNORECASE):
                self._add("meta@refresh", found[1])

    def _add(self, place, link):
        try:
            self.found.append((place, urllib.parse.urldefrag(urllib.parse.urljoin(self.base, link.strip()))[0]))
        except ValueError:
            pass  # not a URL for Python; whoever fetched it has to be looked at by hand
