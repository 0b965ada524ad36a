"""Fleets of invented runs: rows of a history, drawn by Hypothesis and filled by a seed."""

import hashlib
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import strategies as st

from wireproof_reports.history.manifest import Manifest, Part, write_manifest
from wireproof_reports.history.parquet import TableWriter
from wireproof_reports.history.rows import Row
from wireproof_reports.history.target import version_key
from wireproof_spec.history import NO_DAY

START = datetime(2026, 1, 1, tzinfo=UTC)
MOST_ROWS = 10_000
VERSIONS = ("", "1.0.0", "1.0.0-rc1", "1.2", "1.10", "1.9.3", "0.3.7-HA.1.5.7", "v2", "ü-1", "2.0")
LEVELS = ("must", "should", "may", "observed")
VERDICTS = ("pass", "reading", "fail", "known", "unsupported", "inconclusive", "unstable", "error")
EDGES = (0, 1, 9, 10, 99, 100, 101, 199, 200, 201, 499, 500, 999, 1000, 1999, 2000, 123_456_789)
_ACCEPTED = 13
READINGS = ("order-command=deployed", "trace-empty=deployed", "header-value=any")


@dataclass(frozen=True)
class Shape:
    """How large a fleet is, how its cases come out, and the seed of all the rest."""

    seed: int
    vendors: int
    versions: int
    cases: int
    bundles: int
    weights: tuple[int, ...]
    spread_s: int

    @property
    def rows(self) -> int:
        return self.cases * self.bundles


SHAPES = st.builds(
    Shape,
    seed=st.integers(0, 2**32 - 1),
    vendors=st.integers(1, 5),
    versions=st.integers(1, 6),
    cases=st.integers(1, 60),
    bundles=st.integers(0, 60),
    weights=st.lists(st.integers(0, 9), min_size=8, max_size=8).filter(any).map(tuple),
    spread_s=st.sampled_from((1, 60, 86_400, 40_000_000)),
)

FLEETS = st.lists(SHAPES, min_size=1, max_size=8).filter(
    lambda shapes: sum(shape.rows for shape in shapes) <= MOST_ROWS
)


@dataclass
class Fleet:
    """Rows by table, each with its ``protocol`` and ``day``."""

    results: list[Row]
    runs: list[Row]
    grammar: list[Row]
    findings: list[Row]
    campaigns: list[Row]


def fleet(shapes: list[Shape]) -> Fleet:
    """Return the rows of several fleets, each a protocol of its own."""
    whole = Fleet([], [], [], [], [])
    for number, shape in enumerate(shapes):
        _fill(whole, f"p{number}", shape)
    return whole


def write_history(folder: Path, rows: Fleet) -> None:
    """Write rows as a history, a file a partition."""
    folder.mkdir()
    parts: list[Part] = []
    for table in ("results", "runs", "grammar", "findings", "campaigns"):
        of_table: list[Row] = getattr(rows, table)
        partitions: dict[tuple[str, str], list[Row]] = {}
        for row in of_table:
            key = str(row["protocol"]), str(row["day"] or NO_DAY)
            partitions.setdefault(key, []).append(row)
        for (protocol, day), some in partitions.items():
            part = Part(table, protocol, day, "part-00000001.parquet", len(some), 0)
            with TableWriter(folder / part.place, table) as writer:
                writer.add([_bare(row) for row in some])
                writer.close()
            parts.append(part)
    write_manifest(folder, Manifest(sequence=1, parts=tuple(parts)))


def _bare(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in ("protocol", "day")}


def _fill(whole: Fleet, protocol: str, shape: Shape) -> None:
    chance = random.Random(shape.seed)
    cases = [_case(chance, protocol, number) for number in range(shape.cases)]
    for number in range(shape.bundles):
        bundle = hashlib.sha256(f"{protocol} {shape.seed} {number}".encode()).hexdigest()
        head = _head(chance, shape, protocol, bundle)
        groups = sorted({str(case["group"]) for case in cases})
        unjudged: list[str] = [group for group in groups if chance.random() < 0.1]
        whole.runs.append({**head, "not_judged": unjudged})
        for case in cases:
            if chance.random() < 0.9:
                whole.results.append({**head, **case, **_outcome(chance, shape, case)})
        if chance.random() < 0.3:
            whole.campaigns.append({**head, **_campaign(chance)})
            found = chance.sample(range(9), chance.randrange(5))
            whole.findings.extend({**head, **_finding(chance, each)} for each in found)
        for field in range(chance.randrange(4)):
            whole.grammar.append({**head, **_field(chance, field)})


def _head(chance: random.Random, shape: Shape, protocol: str, bundle: str) -> Row:
    seconds = chance.randrange(shape.spread_s)
    started = START + timedelta(seconds=seconds, microseconds=chance.choice((0, 0, 7)))
    version = VERSIONS[chance.randrange(shape.versions)]
    is_told = chance.random() < 0.95
    return {
        "protocol": protocol,
        "day": started.date().isoformat() if is_told else None,
        "bundle": bundle,
        "vendor": f"vendor {chance.randrange(shape.vendors)}",
        "version": version,
        "version_key": version_key(version),
        "started": started if is_told else None,
    }


def _case(chance: random.Random, protocol: str, number: int) -> Row:
    document, subject = chance.choice("ab"), chance.choice("xyz")
    return {
        "case": f"{protocol}/{subject}/case-{number}",
        "interface": f"{protocol}/{subject}",
        "case_hash": f"{number:04x}",
        "clause": f"{document}.{subject}.clause-{number % 7}",
        "group": f"{document}.{subject}",
        "level": LEVELS[number % 7 % 4],
    }


def _outcome(chance: random.Random, shape: Shape, case: Row) -> Row:
    (verdict,) = chance.choices(VERDICTS, shape.weights)
    runs = chance.choice((1, 1, 5))
    fails = verdict in ("fail", "known")
    return {
        "verdict": verdict,
        "reading": chance.choice(READINGS) if verdict == "reading" else "",
        **_exchange(chance, fails=fails),
        "case_hash": str(case["case_hash"]) + ("-2" if chance.random() < 0.05 else ""),
        "cause_field": chance.choice(("", "trace_id")) if fails else "",
        "cause_value": chance.choice(("ok", f"id:{2**64 - 1}")) if fails else "",
        "duration_us": chance.choice((chance.choice(EDGES), int(chance.lognormvariate(8, 2)))),
        "runs": runs,
        "same": chance.randint(1, runs) if chance.random() < 0.1 else runs,
        "deviation": str(case["interface"]) if verdict == "known" else "",
        "deviation_expires": f"2026-{chance.randint(1, 12):02d}-15" if verdict == "known" else "",
    }


def _exchange(chance: random.Random, *, fails: bool) -> Row:
    large = str(2 ** chance.choice((64, 128)) - 1)
    return {
        "observation": chance.choice(("ok,open", f"id:{large}", "ü" * 200, "\U0001f4a5" * 201)),
        "accepted": [f"ok-{number}" * chance.choice((1, 60)) for number in range(_ACCEPTED)]
        if fails and chance.random() < 0.1
        else ["ok,open", "ok,closed"][: chance.randrange(3)],
        "reason": "no outcome of the accept set",
        "difference_field": "trace_id" if fails else "",
        "difference_expected": large if fails else "",
        "difference_found": chance.choice((large, "")) if fails else "",
    }


def _campaign(chance: random.Random) -> Row:
    return {
        "seed": str(chance.getrandbits(128)),
        "executed": chance.randrange(10**6),
        "duration_ms": chance.choice((0, chance.randrange(10**6))),
    }


def _finding(chance: random.Random, number: int) -> Row:
    return {
        "finding": f"{number:012x}",
        "violated": f"rule-{number % 3}",
        "words": "An answer was owed.",
        "state": chance.choice(("fresh", "subscribed")),
        "frame": "PUB_EXT",
        "field": f"field-{number}",
        "answer": "silence",
        "mutation": chance.choice(("cut", "longer")),
        "seed": str(chance.choice((2**64 - 1, 2**128 - 1, 7))),
        "index": str(chance.getrandbits(64)),
        "shown": chance.randrange(6),
        "runs": 5,
        "seen": chance.randrange(1, 100),
    }


def _field(chance: random.Random, number: int) -> Row:
    return {
        "frame": chance.choice(("PUB_EXT", "")),
        "field": f"field_{number}",
        "way": chance.choice(("whole", "cut", "wrong")),
        "sent": chance.randrange(1, 1000),
        "values": chance.randrange(1, 50),
    }
