"""The data of a small history, by hand: answers as `wireproof aggregate` writes them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

HOSTILE = '<img src=x onerror="document.title=1"><b>x</b></script>'
LARGE = str(2**128 - 1)

Columns = Sequence[tuple[str, str]]
Rows = Sequence[Sequence[object]]

_TARGET: Columns = (("protocol", "text"), ("vendor", "text"), ("version", "text"))
_VERDICTS = (
    "pass",
    "reading",
    "fail",
    "known",
    "unsupported",
    "inconclusive",
    "unstable",
    "error",
)
VENDORS = (("harbor", "1.2"), ("harbor", "1.10"), (HOSTILE, "2"))
CLAUSES = ("ext.publish.accept", "ext.publish.header-json", "ext.http.ext", "ext.no.such-clause")
STANDINGS = ("conforms", "fails", "reading", "unsupported", "open", "known", "unstable", "error")


def matrix() -> tuple[Columns, list[list[object]]]:
    columns = [
        *_TARGET,
        ("clause", "text"),
        ("level", "text"),
        *((name, "integer") for name in _VERDICTS),
        ("readings", "texts"),
        ("standing", "text"),
        ("last", "time"),
    ]
    rows: list[list[object]] = []
    for place, (vendor, version) in enumerate(VENDORS):
        for number, clause in enumerate(CLAUSES[: 4 - place]):
            standing = STANDINGS[(place * 3 + number) % len(STANDINGS)]
            counts = [
                number + 1 if name == "fail" and standing == "fails" else 0 for name in _VERDICTS
            ]
            counts[0] = 5
            facts: list[object] = ["nsq", vendor, version, clause, "must", *counts]
            rows.append([*facts, ["ext-layout=deployed"], standing, "2026-11-21T18:21:16Z"])
    return columns, rows


def evidence() -> tuple[Columns, list[list[object]]]:
    columns = [*_TARGET, ("clause", "text"), ("verdict", "text"), ("case", "text")]
    columns += [("accepted", "texts"), ("observation", "text"), ("reason", "text")]
    columns += [(f"difference_{name}", "text") for name in ("field", "expected", "found")]
    columns += [("same", "integer"), ("runs", "integer"), ("last", "time"), ("bundle", "text")]
    of_cell = ["nsq", "harbor", "1.2", "ext.publish.header-json", "fail"]
    seen = [f"nsq/publish/{HOSTILE}", ["error:E_BAD,open", HOSTILE], f"id:{LARGE}", "it differs"]
    differs = ["trace_id", LARGE, ""]
    return columns, [[*of_cell, *seen, *differs, 5, 5, "2026-11-21T18:21:16Z", "ab" * 32]]


def causes() -> tuple[Columns, list[list[object]]]:
    columns = [
        ("protocol", "text"),
        ("clause", "text"),
        ("field", "text"),
        ("value", "text"),
        ("vendors", "integer"),
        ("versions", "integer"),
        ("runs", "integer"),
        ("cases", "integer"),
        ("first", "time"),
        ("last", "time"),
        ("names", "texts"),
    ]
    when = "2026-11-21T18:21:16.5Z"
    rows = [
        [
            "nsq",
            "ext.publish.header-json",
            "trace_id",
            LARGE,
            2,
            3,
            9,
            1234,
            when,
            None,
            ["harbor"],
        ],
        ["nsq", "ext.publish.accept", "", HOSTILE, 1, 10, 2, 7, when, when, ["harbor", HOSTILE]],
        ["nsq", "ext.http.ext", "", "http:400", 1, 2, 2, 70, when, when, []],
    ]
    return columns, rows


def flaky() -> tuple[Columns, list[list[object]]]:
    columns = [
        *_TARGET,
        ("case", "text"),
        ("clause", "text"),
        ("level", "text"),
        ("runs", "integer"),
        ("failed", "integer"),
        ("unstable", "integer"),
        ("share", "number"),
        ("low", "number"),
        ("high", "number"),
    ]
    row = ["nsq", "harbor", "1.2", f"nsq/a/{HOSTILE}", "ext.publish.accept", "must", 8, 3, 0]
    return columns, [[*row, 0.375, 0.137, 0.694]]


def levels() -> tuple[Columns, list[list[object]]]:
    names = ("must", "should", "may", "observed")
    counts = [
        (f"{name}_{kind}", "integer") for name in names for kind in ("conforming", "asserted")
    ]
    columns = [
        *_TARGET,
        ("day", "day"),
        ("group", "text"),
        *counts,
        ("judged", "boolean"),
        ("reached", "text"),
    ]
    rows = [
        [
            "nsq",
            vendor,
            version,
            f"2026-11-{day:02}",
            "ext.publish",
            9 + day % 2,
            10,
            0,
            0,
            0,
            0,
            0,
            0,
            True,
            "none",
        ]
        for vendor, version in VENDORS
        for day in (20, 21)
    ]
    return columns, [list(row) for row in rows]


def regressions() -> tuple[Columns, list[list[object]]]:
    columns = [("protocol", "text"), ("vendor", "text"), ("before", "text"), ("after", "text")]
    columns += [("case", "text"), ("kind", "text"), ("was", "text"), ("now", "text")]
    kinds = (("a", "regressed"), ("b", "regressed"), ("c", "fixed"), ("d", "changed"))
    rows = [["nsq", "harbor", "1.2", "1.10", f"nsq/{name}", kind] for name, kind in kinds]
    return columns, [[*row, "pass", "fail"] for row in rows]


def durations() -> tuple[Columns, list[list[object]]]:
    columns = [
        *_TARGET,
        ("interface", "text"),
        ("cases", "integer"),
        ("p50_us", "integer"),
        ("p95_us", "integer"),
        ("p99_us", "integer"),
        ("drift", "number"),
        ("histogram", "counts"),
    ]
    rows = [
        [
            "nsq",
            "harbor",
            "1.2",
            "nsq/publish",
            12,
            1000,
            3000,
            5000,
            None,
            [[1000, 8], [3000, 4]],
        ],
        ["nsq", "harbor", "1.10", "nsq/publish", 12, 2000, 3000, 5000, 2.0, [[0, 1], [2000, 11]]],
    ]
    return columns, rows


def coverage_clauses() -> tuple[Columns, list[list[object]]]:
    columns = [("protocol", "text"), ("clause", "text"), ("level", "text"), ("vendors", "integer")]
    columns += [("asserted", "integer"), ("touched", "integer"), ("standing", "text")]
    return columns, [
        ["nsq", "ext.publish.accept", "must", 2, 30, 1, "asserted"],
        ["nsq", "ext.http.ext", "must", 0, 0, 1, "touched"],
        ["nsq", "smart.order.rules", "must", 0, 0, 0, "never met"],
    ]


def coverage_grammar() -> tuple[Columns, list[list[object]]]:
    columns = [("protocol", "text"), ("frame", "text"), ("field", "text"), ("way", "text")]
    columns += [
        ("sent", "integer"),
        ("values", "integer"),
        ("runs", "integer"),
        ("vendors", "integer"),
    ]
    return columns, [
        ["nsq", "PUB_EXT", "size", "whole", 300, 12, 3, 2],
        ["nsq", "PUB_EXT", HOSTILE, "wrong", 3, 1, 1, 1],
        ["nsq", "PUB_EXT", "size", "off-by-one", 17, 1, 1, 1],
    ]


def findings() -> tuple[Columns, list[list[object]]]:
    columns = [
        ("protocol", "text"),
        ("finding", "text"),
        ("violated", "text"),
        ("frame", "text"),
        ("vendors", "texts"),
        ("index", "text"),
    ]
    return columns, [["nsq", "9f31c2", "answer", "PUB_EXT", ["harbor"], LARGE]]


def campaigns() -> tuple[Columns, list[list[object]]]:
    columns = [
        *_TARGET,
        ("campaigns", "integer"),
        ("executed", "integer"),
        ("findings", "integer"),
    ]
    return columns, [["nsq", "harbor", "1.2", 2, 100_000, 1]]


def surprise() -> tuple[Columns, list[list[object]]]:
    """A question that no page was made for."""
    return [("name", "text"), ("number", "integer")], [["b", 2], ["a", 10], ["c", None]]


ANSWERS = {
    made.__name__: made
    for made in (
        matrix,
        evidence,
        causes,
        flaky,
        levels,
        regressions,
        durations,
        coverage_clauses,
        coverage_grammar,
        findings,
        campaigns,
        surprise,
    )
}


def write_data(site: Path, totals: Mapping[str, int] = {}) -> dict[str, Rows]:
    """Write ``data/`` and return the rows of each answer."""
    data = site / "data"
    data.mkdir(parents=True)
    lines: list[object] = []
    kept: dict[str, Rows] = {}
    for name, made in ANSWERS.items():
        columns, rows = made()
        total = totals.get(name, len(rows))
        head = {"schema": 1, "question": name, "title": name.title(), "asks": f"What of {name}?"}
        described = [{"name": n, "kind": kind, "words": f"words of {n}"} for n, kind in columns]
        document = {**head, "columns": described, "rows": rows, "total": total}
        (data / f"{name}.json").write_text(json.dumps(document), "utf-8")
        lines.append({**head, "file": f"{name}.json", "rows": len(rows), "total": total})
        kept[name] = rows
    history = {"bundles": 7, "results": 9848, "quarantined": 0, "first_day": None}
    index = {"schema": 1, "kit": "0.1.0", "made": "2026-11-21T20:20:30Z", "history": history}
    (data / "index.json").write_text(json.dumps({**index, "questions": lines}), "utf-8")
    return kept
