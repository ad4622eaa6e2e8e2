"""Whether every record that went in came out again.

The rule: same WARC-Record-ID, type, target, time and block. One change is allowed: a response whose body
is stored already may come out as a revisit with the same id, or with --full a revisit as the response it
stands for; then the HTTP head must be the same and the body must be found by what the revisit says.
"""

import base64
import hashlib
import re

from harness import Failure, header, http_head_length, identity, instant, target

# What follows from the block, and with it changes when a record comes out as another type.
OF_THE_BLOCK = {"warc-type", "content-length", "warc-block-digest"}
OF_A_REVISIT = {"warc-profile", "warc-refers-to", "warc-refers-to-date", "warc-refers-to-target-uri", "warc-truncated"}


def nothing_lost(inputs, outputs, full):
    """Raises a Failure that names the first record which did not come back as it went in."""
    by_id = {header(record, "WARC-Record-ID"): record for record in outputs}
    if len(by_id) != len(outputs):
        raise Failure("the same WARC-Record-ID is written twice")
    for record in inputs:
        name = describe(record)
        out = by_id.get(header(record, "WARC-Record-ID"))
        if out is None:
            raise Failure(f"lost: {name}")
        if identity(out) == identity(record):
            continue
        if (target(out), instant(out)) != (target(record), instant(record)):
            raise Failure(f"{name} came out for {target(out)} at {instant(out)}")
        kinds = header(record, "WARC-Type"), header(out, "WARC-Type")
        if kinds == ("response", "revisit") and not full:
            _stands_for(record, out, outputs, name)
        elif kinds == ("revisit", "response") and full:
            _completes(record, out, outputs, name)
        elif kinds[0] != kinds[1]:
            raise Failure(f"{name} came out as a {kinds[1]}{' in a full export' if full else ''}")
        else:
            raise Failure(f"{name}: the block went in with {len(record.block)} bytes, came out {_how(record, out)}")
    known = {header(record, "WARC-Record-ID") for record in inputs}
    added = [r for r in outputs if header(r, "WARC-Record-ID") not in known]
    if any(header(r, "WARC-Type") != "warcinfo" for r in added) or len(added) > 1:
        raise Failure(f"came from nowhere: {', '.join(describe(r) for r in added[:3])}")


def fields_kept(inputs, outputs):
    """Raises a Failure for the first named field that was lost or changed."""
    by_id = {header(record, "WARC-Record-ID"): record for record in outputs}
    for record in inputs:
        out = by_id[header(record, "WARC-Record-ID")]
        leave = set()
        if header(out, "WARC-Type") != header(record, "WARC-Type"):
            leave = OF_THE_BLOCK | (OF_A_REVISIT if header(record, "WARC-Type") == "revisit" else set())
        for field in dict.fromkeys(name for name, _ in record.headers):
            went, came = _values(record, field), _values(out, field)
            broken = field.endswith("-Digest") and not _digest(record, field)
            if went != came and not broken and field.lower() not in leave:
                raise Failure(f"{describe(record)}: {field} went in as {went}, came out as {came}")


def describe(record):
    return f"{header(record, 'WARC-Type')} {header(record, 'WARC-Record-ID')} of {target(record)} at {instant(record)}"


def _stands_for(record, out, outputs, name):
    cut = http_head_length(record.block)
    if out.block != record.block[:cut]:
        raise Failure(f"{name} came out as a revisit with another HTTP head: {out.block[:200]!r}")
    if not (header(out, "WARC-Profile") or "").endswith("/revisit/identical-payload-digest"):
        raise Failure(f"{name} came out as a revisit with the profile {header(out, 'WARC-Profile')}")
    if record.block[cut:] != _body_referred_to(out, outputs, name):
        raise Failure(f"{name} came out as a revisit of something else")
    digest = _digest(record) or _sha1(record.block[cut:])
    if header(out, "WARC-Payload-Digest") != digest:
        raise Failure(f"{name} came out as a revisit with the digest {header(out, 'WARC-Payload-Digest')}")


def _completes(record, out, outputs, name):
    digest = _digest(record)
    body = out.block[http_head_length(out.block) :]
    if record.block.startswith(b"HTTP/1.1 304"):
        raise Failure(f"{name} came out full, with a body that a 304 does not have")
    if record.block and out.block[: len(record.block)] != record.block:
        raise Failure(f"{name} came out full with another HTTP head")
    if digest and digest.startswith("sha1:") and _sha1(body) != digest:
        raise Failure(f"{name} came out full with another body")


def _body_referred_to(revisit, outputs, name):
    """Looked up the way pywb does: by WARC-Refers-To-Target-URI and -Date."""
    wanted = header(revisit, "WARC-Refers-To-Target-URI"), header(revisit, "WARC-Refers-To-Date")
    for record in outputs:
        if header(record, "WARC-Type") == "response" and (target(record), header(record, "WARC-Date")) == wanted:
            return record.block[http_head_length(record.block) :]
    raise Failure(f"{name} came out as a revisit of {wanted[0]} at {wanted[1]}, which is not in the file")


def _digest(record, field="WARC-Payload-Digest"):
    """The digest, if it is one: wget --no-warc-digests writes an empty one of the payload, and bytes it
    happened to find in memory as that of the block."""
    value = header(record, field)
    return value if value and re.fullmatch(r"[A-Za-z0-9-]+:[A-Za-z0-9+/=_-]+", value) else None


def _values(record, field):
    return sorted(value for key, value in record.headers if key.lower() == field.lower())


def _how(record, out):
    if len(record.block) != len(out.block):
        return f"with {len(out.block)}"
    at = next(i for i, (one, other) in enumerate(zip(record.block, out.block)) if one != other)
    return f"different from byte {at}"


def _sha1(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()
