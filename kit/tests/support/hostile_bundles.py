"""Bundles that somebody sends to do harm: the corpus, each file made when it is asked for.

``corpus()`` maps a name to a function that returns the file's bytes. The seal of each is right, so
that only what is hostile can be refused.
"""

import base64
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import cli_bundle as made
import msgspec

from wireproof_kit.verdicts.outcome import RunFactors, conclude
from wireproof_spec.fuzz_record import CampaignRecord, FindingRecord, FuzzCaseRecord, SentRecord

Json = dict[str, Any]
Make = Callable[[], bytes]

MIB = 1 << 20
IS_WHOLE = "WIREPROOF_HOSTILE" in os.environ
"""True for what is many to be as many as the limits let pass: minutes instead of seconds."""
SCREEN = "\x1b]0;owned\x07\x1b[2J\x1b[1;31m\x9b31m\r\b\x00\u202e\u2066\u2028‮​"
MARKUP = (
    "`|<script>alert(1)</script>|`\n# heading\n[x](javascript:alert(1))<!-- ]]> --><img src=x>"
)
PLACE = "../../../../../../tmp/wp-hostile/x"
LONG_PLACE = PLACE + "x" * 300


def many(count: int) -> int:
    """Return a count below a limit: all of it if the corpus is whole, else a tenth."""
    return count if IS_WHOLE else count // 10


def beyond(sample: int, whole: int) -> int:
    """Return a size beyond a limit: just beyond it, or far beyond it if the corpus is whole."""
    return whole if IS_WHOLE else sample


def lines() -> list[Json]:
    """Return a whole bundle of two failures and a conforming rest as JSON objects, unsealed."""
    head = made.header()
    records = made.failing(2)
    footer = conclude(head, records, made.catalogue(), RunFactors())
    judged = [
        msgspec.structs.replace(r, verdict="fail", signature="0123456789ab") for r in records
    ]
    return [msgspec.to_builtins(record) for record in (head, *judged, footer)]


def whole() -> list[Json]:
    """Return a bundle with every kind of record as JSON objects, unsealed."""
    objects = lines()
    campaign = CampaignRecord(1, 1.0, 1, 1, 1.0, 0, 0.0)
    more = [msgspec.to_builtins(record) for record in (_finding(), campaign)]
    return [*objects[:3], *more, objects[-1]]


def sealed(objects: list[Json]) -> bytes:
    """Return the objects as a bundle, the hash in its footer made right."""
    body = b"".join(_line(each) for each in objects[:-1])
    return body + _line({**objects[-1], "sha256": hashlib.sha256(body).hexdigest()})


def _line(record: Json) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def step(data: bytes = b"", **fields: object) -> Json:
    """Return a step of a transcript."""
    base = {"at_us": 1, "conn": "A", "kind": "receive", "hex": data.hex(), "length": len(data)}
    return {**base, **fields}


def with_head(**fields: object) -> bytes:
    """Return a bundle whose header has other fields."""
    objects = lines()
    objects[0].update(fields)
    return sealed(objects)


def with_case(**fields: object) -> bytes:
    """Return a bundle whose first case has other fields."""
    objects = lines()
    objects[1].update(fields)
    return sealed(objects)


def with_steps(steps: list[Json]) -> bytes:
    """Return a bundle whose first case, which fails, has this exchange."""
    return with_case(transcript={"steps": steps})


def with_footer(**fields: object) -> bytes:
    """Return a bundle whose footer has other fields."""
    objects = lines()
    objects[-1].update(fields)
    return sealed(objects)


def with_texts(text: str) -> bytes:
    """Return a bundle in which every text that is free to be anything is that text."""
    objects = [_spoilt(each, text) for each in lines()]
    objects[0]["target"]["fingerprint"][text] = text
    objects[0]["not_selected"] = {text: text}
    objects[1]["transcript"] = {"steps": [step(text.encode("utf-8", "replace"), note=text)]}
    finding = msgspec.to_builtins(_finding())
    return sealed([*objects[:-1], _spoilt(finding, text), objects[-1]])


KEPT = {"kind", "protocol", "level", "verdict", "control", "hex", "profile", "reading", "state"}


def _spoilt(value: Any, text: str, key: str = "") -> Any:
    if key in KEPT or key in ("case", "clause"):
        return value
    if isinstance(value, dict):
        return {name: _spoilt(each, text, name) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_spoilt(each, text, key) for each in value]
    return text if isinstance(value, str) else value


def _finding(data: bytes = b"PUB x\n", **fields: object) -> FindingRecord:
    sent = SentRecord(hex=data.hex(), length=len(data), label="PUB")
    case = FuzzCaseRecord(0, "fresh", "PUB", "topic", "empty", (sent,))
    facts: Json = {
        "id": "0123456789ab",
        "violated": "dead",
        "words": "w",
        "state": "fresh",
        "frame": "PUB",
        "field": "topic",
        "answer": "none",
        "seed": 1,
        "shown": 5,
        "runs": 5,
        "seen": 1,
        "at_s": 1.0,
        "cases": (case,),
    }
    return FindingRecord(**{**facts, **fields})


def with_finding(**fields: object) -> bytes:
    """Return a bundle of a campaign whose one finding has other fields."""
    objects = lines()
    finding = {**msgspec.to_builtins(_finding()), **fields}
    campaign = CampaignRecord(1, 1.0, 1, 1, 1.0, 0, 0.0)
    return sealed([*objects[:-1], finding, msgspec.to_builtins(campaign), objects[-1]])


def with_numbers(number: float) -> bytes:
    """Return a bundle in which every number is that number, but for the format."""
    objects = lines()
    finding = {**msgspec.to_builtins(_finding()), "kind": "finding"}
    campaign = msgspec.to_builtins(CampaignRecord(1, 1.0, 1, 1, 1.0, 0, 0.0))
    whole = [*objects[:-1], finding, campaign, objects[-1]]
    changed = [_numbered(each, number) for each in whole]
    changed[0]["format"] = 1
    return sealed(changed)


def _numbered(value: Any, number: float) -> Any:
    if isinstance(value, dict):
        return {name: _numbered(each, number) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_numbered(each, number) for each in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return float(number) if isinstance(value, float) else int(number)


def many_cases(count: int, *, distinct: bool = True) -> bytes:
    """Return a bundle of that many small cases."""
    objects = lines()
    small = {**objects[1], "transcript": {"steps": []}, "accepted": []}
    cases = [{**small, "case": f"{small['case']}/{n * distinct}"} for n in range(count)]
    return sealed([objects[0], *cases, objects[-1]])


def _unknown_field(deep: str) -> bytes:
    whole = sealed(lines())
    head, rest = whole.split(b"\n", 1)
    return head[:-1] + b',"x":' + deep.encode() + b"}\n" + rest


def _deflated(length: int) -> Json:
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(MIB)) for _ in range(length // MIB)) + packer.flush()
    return step(hex="", deflate=base64.b64encode(data).decode(), length=length)


def _gzip_of(pieces: Iterator[bytes]) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(piece) for piece in pieces) + packer.flush()


def _one_long_line(size: int) -> bytes:
    head = _line(lines()[0])
    return _gzip_of(iter([head, *(b" " * MIB for _ in range(size // MIB))]))


def _many_lines(size: int) -> bytes:
    objects = lines()
    case = _line({**objects[1], "transcript": {"steps": []}})
    piece = case * (MIB // len(case))
    return _gzip_of(iter([_line(objects[0]), *(piece for _ in range(size // MIB))]))


def corpus() -> dict[str, Make]:
    """Return the hostile bundles by name."""
    deep = "[" * 100_000 + "]" * 100_000
    objects = '{"a":' * 50_000 + "0" + "}" * 50_000
    frame = (8 + 30).to_bytes(4, "big") + (2).to_bytes(4, "big") + bytes(30)
    document = deep.encode()
    identify = b"  V2IDENTIFY\n" + len(document).to_bytes(4, "big") + document
    return {
        "nested-lists": lambda: _unknown_field(deep),
        "nested-objects": lambda: _unknown_field(objects),
        "nested-in-received": lambda: with_steps(
            [
                step(identify, kind="send"),
                step(
                    (4 + len(document)).to_bytes(4, "big") + bytes(4) + document,
                ),
            ]
        ),
        "nested-observation": lambda: with_case(observation=deep),
        "level-unknown": lambda: with_case(level="utmost"),
        "profile-unknown": lambda: with_head(profile="utmost"),
        "reading-unknown": lambda: with_head(reading="utmost"),
        "clause-unknown": lambda: with_case(clause="ext.none.such", case="nsq/none/such"),
        "claims-unknown": lambda: with_case(needs=["no-such"] * 10_000),
        "decision-unknown": lambda: with_case(reading="no-such=x"),
        "levels-of-groups-unknown": lambda: with_footer(
            groups=[
                {
                    "group": "g",
                    "title": "t",
                    "judged": True,
                    "whole": True,
                    "counts": {"utmost": [2**62, 0]},
                }
            ]
        ),
        "gzip-one-line": lambda: _one_long_line(beyond(40 * MIB, 400 * MIB)),
        "gzip-many-lines": lambda: _many_lines(beyond(80 * MIB, 400 * MIB)),
        "gzip-in-gzip": lambda: gzip.compress(gzip.compress(sealed(lines()))),
        "long-line": lambda: with_case(title="x" * beyond(40 * MIB, 300 * MIB)),
        "repeats": lambda: with_case(repeats={"runs": 10**9, "same": 10**9, "others": []}),
        "repeats-negative": lambda: with_case(repeats={"runs": -1, "same": -(10**9)}),
        "repeats-others": lambda: with_case(
            repeats={"runs": 2, "same": 1, "others": [{"value": f"v{n}"} for n in range(200_000)]}
        ),
        "steps-many": lambda: with_steps([step(frame) for _ in range(many(30_000))]),
        "steps-many-connections": lambda: with_steps(
            [step(frame, conn=f"C{n}") for n in range(many(10_000))]
        ),
        "steps-empty": lambda: with_steps(
            [{"at_us": 0, "conn": "", "kind": ""} for _ in range(many(60_000))]
        ),
        "steps-bytewise": lambda: with_steps([step(b"\0") for _ in range(many(30_000))]),
        "parts-many": lambda: with_steps([step(frame, parts=[[0, 1, "p", True]] * many(40_000))]),
        "parts-outside": lambda: with_steps([step(frame, parts=[[-(2**60), 2**62, "p", True]])]),
        "step-inflates": lambda: with_steps([_deflated(beyond(80 * MIB, 400 * MIB))]),
        "steps-inflate": lambda: with_steps([_deflated(16 * MIB)] * 64),
        "step-length-negative": lambda: with_steps([step(b"", deflate="eJwDAAAAAAE=", length=-5)]),
        "step-long": lambda: with_steps([step(bytes(8 * MIB))]),
        "step-many-frames": lambda: with_steps([step(frame * many(100_000))]),
        "step-hex-damaged": lambda: with_steps([step(hex="zz", length=1)]),
        "step-size-lies": lambda: with_steps([step(b"\x7f\xff\xff\xff\0\0\0\2" + bytes(9))]),
        "step-kind-unknown": lambda: with_steps([step(b"x", kind="request"), step(kind="?")]),
        "accepted-many": lambda: with_case(accepted=[f"a{n}*" for n in range(1000)]),
        "accepted-stars": lambda: with_case(accepted=["*a" * 2000 + "b"], observation="a" * 5000),
        "observation-long": lambda: with_case(observation="a," * (4 * MIB)),
        "texts-screen": lambda: with_texts(SCREEN),
        "texts-markup": lambda: with_texts(MARKUP),
        "texts-place": lambda: with_texts(PLACE),
        "texts-surrogate": lambda: with_texts("\ud800x"),
        "texts-empty": lambda: with_texts(""),
        "texts-number": lambda: with_texts("9" * 4000),
        "case-is-a-place": lambda: with_case(case=PLACE),
        "case-is-a-long-place": lambda: with_case(case=LONG_PLACE),
        "hash-is-a-place": lambda: with_case(case_hash="/../../x"),
        "case-is-the-screen": lambda: with_case(case=SCREEN, clause=SCREEN),
        "cases-many": lambda: many_cases(many(45_000)),
        "cases-too-many": lambda: many_cases(100_000),
        "cases-same": lambda: many_cases(many(20_000), distinct=False),
        "protocol-is-a-place": lambda: with_head(
            target={"url": "../x", "protocol": "../../x", "fingerprint": {}, "given": []}
        ),
        "url-odd": lambda: with_head(
            target={"url": "nsq://[::1", "protocol": "nsq", "fingerprint": {}, "given": []}
        ),
        "started-odd": lambda: with_head(started="9999-99-99T99:99:99+99:99"),
        "numbers-large": lambda: with_numbers(2**63),
        "numbers-huge": lambda: with_numbers(10**300),
        "numbers-float": lambda: with_numbers(1e308),
        "numbers-negative": lambda: with_numbers(-(2**63)),
        "finding-id-is-a-place": lambda: with_finding(id=PLACE),
        "finding-without-cases": lambda: with_finding(cases=[]),
        "findings-fields-deep": lambda: with_finding(field="a." * 100_000),
    }
