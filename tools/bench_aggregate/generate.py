"""A synthetic history of so many results: deterministic, and skewed as real fleets are.

20 vendors of very different weight bring out 10 versions each over the days; each run is 1,500
cases of 500 clauses. Most cases pass everywhere; some break and heal between versions, some are
flaky, a few tell vendors apart; durations are log-normal by interface.
"""

import json
import shutil
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, write_deltalake

from wireproof_reports.pipeline.columns import ARROW
from wireproof_reports.pipeline.commit import SKIPPING
from wireproof_reports.pipeline.target import version_key
from wireproof_spec.history import FORMAT, KINDS, PARTITIONS, VERSION, VIEWS

SEED = 20_261_121
VENDORS, VERSIONS, CLAUSES, CASES, INTERFACES, GROUPS = 20, 10, 500, 1_500, 12, 25
ROWS_A_DAY = 100_000
MOST_DAYS = 365
FIRST_DAY = date(2025, 11, 1)
PROTOCOL = "nsq"
REVISION = 5
"""Of these histories; one that an older generator has left is written again."""

VERDICTS = np.array(
    ["pass", "reading", "fail", "known", "unsupported", "inconclusive", "unstable", "error"]
)
PASS, READING, FAIL, KNOWN, UNSUPPORTED, INCONCLUSIVE, UNSTABLE = range(7)
BASE = (0.885, 0.04, 0.045, 0.005, 0.02, 0.004, 0.001)
LEVELS = np.array(["must", "should", "may", "observed"])
READINGS = np.array(["", "order-command=deployed", "trace-empty=deployed", "header-value=any"])


@dataclass(frozen=True)
class World:
    """What all generated runs share: their cases, and the verdicts by vendor and version."""

    case: np.ndarray
    case_hash: np.ndarray
    clause_of: np.ndarray
    level_of: np.ndarray
    interface_of: np.ndarray
    verdict: np.ndarray
    flaky: np.ndarray
    weight: np.ndarray
    pace: np.ndarray


def world(rng: np.random.Generator) -> World:
    number = np.arange(CASES)
    interface = rng.integers(0, INTERFACES, CASES)
    case = np.array(
        [f"nsq/interface-{i}/case-{n:04d}" for i, n in zip(interface, number, strict=True)]
    )
    verdict = np.zeros((VENDORS, VERSIONS, CASES), np.int8)
    for vendor in range(VENDORS):
        now = rng.choice(len(BASE), CASES, p=BASE)
        for version in range(VERSIONS):
            changes = rng.random(CASES) < 0.02
            now = np.where(changes, rng.choice(len(BASE), CASES, p=BASE), now)
            verdict[vendor, version] = now
    weight = 1 / np.arange(1, VENDORS + 1)
    return World(
        case=case,
        case_hash=np.array([f"{n:012x}" for n in number]),
        clause_of=number % CLAUSES,
        level_of=rng.choice(4, CLAUSES, p=(0.6, 0.2, 0.05, 0.15)),
        interface_of=interface,
        verdict=verdict,
        flaky=np.where(rng.random((VENDORS, CASES)) < 0.01, rng.random((VENDORS, CASES)) / 2, 0),
        weight=weight / weight.sum(),
        pace=rng.normal(7.5, 1.0, INTERFACES),
    )


def generate(history: Path, rows: int) -> None:
    """Write a synthetic history of about `rows` results, unless the folder has it already.

    The last hundredth of the runs is a batch of its own, after all others.
    """
    done = history / "done"
    if done.exists() and done.read_text() == str(REVISION):
        return
    shutil.rmtree(history, ignore_errors=True)
    history.mkdir(parents=True)
    rng = np.random.default_rng(SEED)
    known = world(rng)
    days = max(1, min(MOST_DAYS, rows // ROWS_A_DAY))
    runs = max(days, rows // CASES)
    for day in range(days):
        count = runs * (day + 1) // days - runs * day // days
        last = max(1, runs // 100) if day == days - 1 else 0
        for batch, some in ((1, count - last), (2, last)):
            if some > 0:
                _write(history, _day(known, rng, day=day, days=days, count=some), day, some, batch)
    done.write_text(str(REVISION))


def _write(history: Path, of_day, day: int, runs: int, batch: int) -> None:
    """Write what came of a day's runs as one commit of their batch."""
    counts = {"results": runs * CASES, "runs": runs}
    parts = [
        _columns(view, columns, day, counts[view], batch)
        for view, columns in zip(counts, of_day, strict=True)
    ]
    note = {"wireproof": "added", "format": FORMAT, "columns": VERSION, "batch": batch}
    write_deltalake(
        history,
        pa.concat_tables(parts),
        partition_by=list(PARTITIONS),
        mode="append",
        configuration={"delta.dataSkippingStatsColumns": SKIPPING},
        commit_properties=CommitProperties(custom_metadata={"userMetadata": json.dumps(note)}),
    )


def _day(known, rng, *, day: int, days: int, count: int) -> tuple[dict, dict]:
    when = (FIRST_DAY + timedelta(days=day)).isoformat()
    vendor = rng.choice(VENDORS, count, p=known.weight)
    # A version a tenth of the time; some still test the one before.
    newest = np.minimum(day * VERSIONS // days, VERSIONS - 1)
    version = np.maximum(newest - (rng.random(count) < 0.3), 0)
    second = np.sort(rng.integers(0, 86_400, count))
    head = _head(rng, when, vendor, version, second)
    results = _results(known, rng, head, vendor, version)
    runs = {**head, "not_judged": pa.array([[] for _ in range(count)], pa.list_(pa.string()))}
    runs["cases"] = pa.array(np.full(count, CASES))
    return results, runs


def _head(rng, when: str, vendor, version, second) -> dict[str, pa.Array]:
    names = [f"1.{number}.0" for number in range(VERSIONS)]
    start = np.datetime64(when, "us") + second.astype("timedelta64[s]")
    hashes = rng.bytes(32 * len(vendor))
    bundles = [hashes[at : at + 32].hex() for at in range(0, len(hashes), 32)]
    return {
        "bundle": pa.array(bundles),
        "vendor": _dictionary(vendor, [f"vendor-{number:02d}" for number in range(VENDORS)]),
        "version": _dictionary(version, names),
        "version_key": _dictionary(version, [version_key(name) for name in names]),
        "started": pa.array(start, pa.timestamp("us", tz="UTC")),
    }


def _results(known, rng, head, vendor, version) -> dict[str, pa.Array]:
    count = len(vendor)
    row_of = np.repeat(np.arange(count), CASES)
    case = np.tile(np.arange(CASES), count)
    verdict = known.verdict[vendor, version].ravel()
    flips = rng.random(count * CASES) < known.flaky[vendor].ravel()
    verdict = np.where(flips, np.where(verdict == PASS, FAIL, PASS), verdict)
    fails = (verdict == FAIL) | (verdict == KNOWN)
    clause = known.clause_of[case]
    repeats = np.where(fails | (verdict == UNSTABLE), 5, 1)
    duration = rng.lognormal(known.pace[known.interface_of[case]], 0.6).astype(np.int64)
    nothing = np.zeros(len(case), np.int8)
    spread = {name: array.take(pa.array(row_of)) for name, array in _rows(head).items()}
    signature = ["", *(f"{number:012x}" for number in range(CLAUSES))]
    return {
        **spread,
        "case": _dictionary(case, known.case),
        "case_hash": _dictionary(case, known.case_hash),
        "interface": _dictionary(
            known.interface_of[case], [f"nsq/interface-{n}" for n in range(INTERFACES)]
        ),
        "clause": _dictionary(clause, [f"doc.{n % GROUPS}.clause-{n}" for n in range(CLAUSES)]),
        "group": _dictionary(clause % GROUPS, [f"doc.{n}" for n in range(GROUPS)]),
        "level": _dictionary(known.level_of[clause], LEVELS),
        "verdict": _dictionary(verdict, VERDICTS),
        "reading": _dictionary(np.where(verdict == READING, 1 + clause % 3, 0), READINGS),
        "observation": _dictionary(fails.astype(np.int8), ["ok,open", "error:E_BAD,closed"]),
        "accepted": _lists(len(case), "ok,open"),
        "reason": _dictionary(nothing, ["as the text says"]),
        "signature": _dictionary(np.where(fails, clause + 1, 0), signature),
        "cause_field": _dictionary(fails * (1 + clause % 3), ["", "size", "name", "trace_id"]),
        "cause_value": _dictionary(fails * (1 + clause % 2), ["", "ok", "error:E_BAD"]),
        "duration_us": pa.array(duration),
        "runs": pa.array(repeats.astype(np.int64)),
        "same": pa.array(np.where(verdict == UNSTABLE, 3, repeats).astype(np.int64)),
        "hazard": pa.array(nothing.astype(bool)),
        "deviation": _dictionary((verdict == KNOWN).astype(np.int8), ["", "nsq/interface-1"]),
        "deviation_expires": _dictionary((verdict == KNOWN).astype(np.int8), ["", "2026-12-31"]),
    }


def _rows(head: dict[str, pa.Array]) -> dict[str, pa.Array]:
    return {**head, "bundle": head["bundle"].dictionary_encode()}


def _dictionary(indices, values) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(list(values)))


def _lists(count: int, only: str) -> pa.ListArray:
    """Return so many lists with this one text in each."""
    return pa.ListArray.from_arrays(
        pa.array(np.arange(count + 1, dtype=np.int32)), _dictionary(np.zeros(count), [only])
    )


def _columns(view: str, columns, day: int, rows: int, batch: int) -> pa.Table:
    """Return rows of a view with all columns; those that the questions do not read are empty."""
    types = ARROW.append(pa.field("batch", pa.int64()))
    when = FIRST_DAY + timedelta(days=day)
    shared = {"kind": KINDS[view], "protocol": PROTOCOL, "day": when, "batch": batch}
    own = {column.name for column in VIEWS[view]}
    for name in types.names:
        if name in shared:
            columns[name] = pa.repeat(pa.scalar(shared[name], types.field(name).type), rows)
        elif name not in columns or name not in own:
            columns[name] = pa.nulls(rows, types.field(name).type)
    return pa.table({name: columns[name] for name in types.names}).cast(types)
