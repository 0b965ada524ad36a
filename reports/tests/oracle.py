"""The same questions answered by plain loops over rows: what Spark's answers are held against."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import cast

from fleet import Fleet
from oracle_evidence import evidence

from wireproof_reports.history.rows import Row

GOOD, BAD = {"pass", "reading"}, {"fail", "known"}
TESTED = GOOD | BAD | {"unstable"}
VERDICTS = ("pass", "reading", "fail", "known", "unsupported", "inconclusive", "unstable", "error")
STANDINGS = (
    ("fail", "fails"),
    ("unstable", "unstable"),
    ("known", "known"),
    ("reading", "reading"),
    ("pass", "conforms"),
    ("inconclusive", "open"),
    ("unsupported", "unsupported"),
    ("error", "error"),
)
LEVELS = ("must", "should", "may", "observed")
WORSE = ("pass", "reading", "unstable", "known", "fail")
Z = 1.959963984540054

Told = list[list[object]]


def grouped(rows: Iterable[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(str(row[name]) for name in names)].append(row)
    return groups


def moment(row: Row) -> tuple[bool, float]:
    """Sort by start; a run that does not tell it comes first."""
    started = row["started"]
    return (False, 0.0) if started is None else (True, cast(datetime, started).timestamp())


def span(rows: Sequence[Row]) -> list[datetime]:
    return [cast(datetime, row["started"]) for row in rows if row["started"] is not None]


def last(rows: Sequence[Row]) -> str | None:
    told = span(rows)
    return iso(max(told)) if told else None


def first(rows: Sequence[Row]) -> str | None:
    told = span(rows)
    return iso(min(told)) if told else None


def iso(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def tested(fleet: Fleet) -> list[Row]:
    return [row for row in fleet.results if row["verdict"] in TESTED]


def number(row: Row, name: str) -> int:
    return cast(int, row[name])


def matrix(fleet: Fleet, _today: date) -> Told:
    told: list[tuple[tuple[str, ...], list[object]]] = []
    for key, rows in grouped(fleet.results, "protocol", "vendor", "version", "clause").items():
        counts = Counter(str(row["verdict"]) for row in rows)
        order = (key[0], key[1], str(rows[0]["version_key"]), key[2], key[3])
        line: list[object] = [
            *key,
            rows[0]["level"],
            *(counts[verdict] for verdict in VERDICTS),
            sorted({str(row["reading"]) for row in rows} - {""}),
            next(words for verdict, words in STANDINGS if counts[verdict]),
            last(rows),
        ]
        told.append((order, line))
    return [line for _, line in sorted(told, key=lambda each: each[0])]


def levels(fleet: Fleet, _today: date) -> Told:
    unjudged = {
        (run["protocol"], run["vendor"], run["version"], run["day"], group)
        for run in fleet.runs
        for group in cast("list[str]", run["not_judged"])
    }
    groups: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in fleet.results:
        names = ("protocol", "vendor", "version", "day", "group")
        groups[tuple(row[name] for name in names)].append(row)
    told: list[tuple[tuple[object, ...], list[object]]] = []
    for key, rows in groups.items():
        counts = {
            level: (
                sum(row["level"] == level and row["verdict"] in GOOD for row in rows),
                sum(row["level"] == level and row["verdict"] in GOOD | BAD for row in rows),
            )
            for level in LEVELS
        }
        judged = key not in unjudged
        reached = reached_level(counts) if judged else "not judged"
        place: tuple[object, ...] = (key[2], key[3] or "", key[4])
        order = (key[0], key[1], rows[0]["version_key"], *place)
        flat = [count for level in LEVELS for count in counts[level]]
        told.append((order, [*key, *flat, judged, reached]))
    return [line for _, line in sorted(told, key=lambda each: cast("tuple[str, ...]", each[0]))]


def reached_level(counts: dict[str, tuple[int, int]]) -> str:
    reached = "none"
    for level, (good, asserted) in counts.items():
        if good < asserted:
            break
        if asserted:
            reached = level
    return reached


def regressions(fleet: Fleet, _today: date) -> Told:
    told: list[tuple[tuple[str, ...], list[object]]] = []
    for (protocol, vendor, case), rows in grouped(
        tested(fleet), "protocol", "vendor", "case"
    ).items():
        states = []
        for some in grouped(rows, "version").values():
            latest = max(some, key=lambda r: (*state_order(r), r["case_hash"]))
            states.append(latest)
        states.sort(key=lambda row: (row["version_key"], row["version"]))
        for before, after in pairwise(states):
            kind = change(before, after)
            if kind:
                line = [protocol, vendor, before["version"], after["version"], case]
                order = (
                    protocol,
                    vendor,
                    str(after["version_key"]),
                    str(after["version"]),
                    kind,
                    case,
                )
                more = [after["clause"], after["level"], kind, before["verdict"], after["verdict"]]
                told.append((order, [*line, *more]))
    return [line for _, line in sorted(told, key=lambda each: each[0])]


def state_order(row: Row) -> tuple[float, int]:
    return moment(row)[1], WORSE.index(str(row["verdict"]))


def change(before: Row, after: Row) -> str:
    was, now = before["verdict"], after["verdict"]
    if before["case_hash"] != after["case_hash"]:
        return "changed"
    if was in GOOD and now in BAD:
        return "regressed"
    if was in BAD and now in GOOD:
        return "fixed"
    if was != "unstable" and now == "unstable":
        return "unstable"
    if was == "unstable" and now != "unstable":
        return "settled"
    return ""


def flaky(fleet: Fleet, _today: date) -> Told:
    told: list[tuple[tuple[object, ...], list[object]]] = []
    keys = ("protocol", "vendor", "version", "case", "case_hash", "clause", "level")
    for key, rows in grouped(tested(fleet), *keys).items():
        good = sum(row["verdict"] in GOOD for row in rows)
        failed = sum(row["verdict"] in BAD for row in rows)
        unstable = len(rows) - good - failed
        unlike = sum(number(row, "runs") - number(row, "same") for row in rows)
        if not (good and failed) and not unstable and not unlike:
            continue
        share = (len(rows) - good) / len(rows)
        low, high = wilson(len(rows) - good, len(rows))
        order = (abs(share - 0.5), key[0], key[1], rows[0]["version_key"], *key[2:5])
        repeats = sum(number(row, "runs") for row in rows)
        counts = [len(rows), failed, unstable, share, low, high, repeats, unlike, last(rows)]
        told.append((order, [*key[:4], *key[5:], *counts]))
    return [line for _, line in sorted(told, key=lambda each: cast("tuple[str, ...]", each[0]))]


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Solve (share - p)² = z² p (1 - p) / n for p: the interval's own definition."""
    share = hits / trials
    a = 1 + Z**2 / trials
    b = -(2 * share + Z**2 / trials)
    c = share**2
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    return max((-b - root) / (2 * a), 0.0), min((-b + root) / (2 * a), 1.0)


def flips(fleet: Fleet, _today: date) -> Told:
    told: list[tuple[tuple[object, ...], list[object]]] = []
    keys = ("protocol", "vendor", "version", "case", "case_hash")
    for key, rows in grouped(tested(fleet), *keys).items():
        in_time = sorted(rows, key=lambda row: (moment(row), row["bundle"]))
        flipped = [
            after
            for before, after in pairwise(in_time)
            if (before["verdict"] in GOOD) != (after["verdict"] in GOOD)
        ]
        if flipped:
            order = (-len(flipped), key[0], key[1], rows[0]["version_key"], *key[2:])
            told.append((order, [*key[:4], len(rows), len(flipped), last(flipped)]))
    return [line for _, line in sorted(told, key=lambda each: cast("tuple[str, ...]", each[0]))]


def causes(fleet: Fleet, _today: date) -> Told:
    told: Told = []
    failing = [row for row in fleet.results if row["verdict"] in BAD]
    for key, rows in grouped(failing, "protocol", "clause", "cause_field", "cause_value").items():
        vendors = sorted({str(row["vendor"]) for row in rows})
        versions = {(row["vendor"], row["version"]) for row in rows}
        runs = {row["bundle"] for row in rows}
        reach = [len(vendors), len(versions), len(runs), len(rows)]
        told.append([*key, *reach, first(rows), last(rows), vendors])

    def order(line: list[object]) -> tuple[object, ...]:
        return (*(-cast(int, count) for count in line[4:8]), *line[:4])

    return sorted(told, key=lambda line: cast("tuple[str, ...]", order(line)))


def coverage_clauses(fleet: Fleet, _today: date) -> Told:
    told: Told = []
    for (protocol, clause), rows in sorted(grouped(fleet.results, "protocol", "clause").items()):
        asserting = [row for row in rows if row["verdict"] in GOOD | BAD]
        told.append(
            [
                protocol,
                clause,
                rows[0]["level"],
                len({row["vendor"] for row in asserting}),
                len(asserting),
                len(rows) - len(asserting),
                "asserted" if asserting else "touched",
            ]
        )
    return told


def coverage_grammar(fleet: Fleet, _today: date) -> Told:
    told: Told = []
    groups = grouped(fleet.grammar, "protocol", "frame", "field", "way")
    for key, rows in sorted(groups.items()):
        sent = sum(number(row, "sent") for row in rows)
        values = max(number(row, "values") for row in rows)
        told.append([*key, sent, values, len(rows), len({row["vendor"] for row in rows})])
    return told


def durations(fleet: Fleet, _today: date) -> Told:
    told: Told = []
    for (protocol, vendor, interface), rows in sorted(
        grouped(fleet.results, "protocol", "vendor", "interface").items()
    ):
        before: int | None = None
        groups = grouped(rows, "version_key", "version")
        for (_, version), some in sorted(groups.items()):
            steps = sorted(rounded(number(row, "duration_us")) for row in some)
            p50, p95, p99 = (steps[math.ceil(len(steps) * p / 100) - 1] for p in (50, 95, 99))
            digits = Counter(leading(step) for step in steps)
            line = [protocol, vendor, version, interface, len(steps), p50, p95, p99]
            drift = p50 / before if before else None
            told.append([*line, drift, [list(pair) for pair in sorted(digits.items())]])
            before = p50
    return told


def rounded(value: int) -> int:
    if value < 100:
        return value
    unit = int("1" + "0" * (len(str(value)) - 3))
    digits = value // unit
    width = 2 if digits < 200 else 5 if digits < 500 else 10
    return digits // width * width * unit


def leading(value: int) -> int:
    return int(str(value)[0] + "0" * (len(str(value)) - 1))


def findings(fleet: Fleet, _today: date) -> Told:
    told: list[tuple[tuple[object, ...], list[object]]] = []
    for (protocol, finding), rows in grouped(fleet.findings, "protocol", "finding").items():
        newest = max(rows, key=lambda row: (moment(row), row["bundle"]))
        names = ("violated", "words", "state", "frame", "field", "answer", "mutation")
        vendors = sorted({str(row["vendor"]) for row in rows})
        versions = {(row["vendor"], row["version"]) for row in rows}
        runs = {row["bundle"] for row in rows}
        sums = [sum(number(row, name) for row in rows) for name in ("seen", "shown", "runs")]
        line = [protocol, finding, *(newest[name] for name in names), vendors, len(versions)]
        source = [newest[name] for name in ("seed", "index", "bundle")]
        order = (-len(vendors), -len(versions), -len(runs), protocol, finding)
        told.append((order, [*line, len(runs), *sums, first(rows), last(rows), *source]))
    return [line for _, line in sorted(told, key=lambda each: cast("tuple[str, ...]", each[0]))]


def campaigns(fleet: Fleet, _today: date) -> Told:
    told: list[tuple[tuple[str, ...], list[object]]] = []
    found = grouped(fleet.findings, "protocol", "vendor", "version")
    for key, rows in grouped(fleet.campaigns, "protocol", "vendor", "version").items():
        executed = sum(number(row, "executed") for row in rows)
        duration = sum(number(row, "duration_ms") for row in rows)
        rate = executed * 1000 / duration if duration else None
        different = {row["finding"] for row in found.get(key, [])}
        counts: list[object] = [len(rows), executed, duration, rate, len(different)]
        line: list[object] = [*key, *counts, last(rows)]
        told.append(((key[0], key[1], str(rows[0]["version_key"]), key[2]), line))
    return [line for _, line in sorted(told, key=lambda each: each[0])]


def deviations(fleet: Fleet, today: date) -> Told:
    told: list[tuple[tuple[object, ...], list[object]]] = []
    known = [row for row in fleet.results if row["deviation"]]
    keys = ("protocol", "vendor", "version", "deviation", "clause")
    for key, rows in grouped(known, *keys).items():
        newest = max(rows, key=lambda row: (moment(row), row["bundle"]))
        of_run = [row for row in rows if row["bundle"] == newest["bundle"]]
        expires = max(str(row["deviation_expires"]) for row in of_run)
        left = (date.fromisoformat(expires) - today).days
        if left <= 90:
            counts: list[object] = [expires, left, len(of_run), last(of_run)]
            line: list[object] = [*key, *counts, newest["bundle"]]
            order: tuple[object, ...] = (left, key[0], key[1], rows[0]["version_key"], *key[2:])
            told.append((order, line))
    return [line for _, line in sorted(told, key=lambda each: cast("tuple[str, ...]", each[0]))]


def separating(fleet: Fleet, _today: date) -> Told:
    told: list[tuple[tuple[object, ...], list[object]]] = []
    keys = ("protocol", "case", "case_hash", "clause", "level")
    for key, rows in grouped(tested(fleet), *keys).items():
        shares = [
            sum(row["verdict"] not in GOOD for row in some) / len(some)
            for some in grouped(rows, "vendor").values()
        ]
        mean = math.fsum(shares) / len(shares)
        gain = entropy(mean) - math.fsum(map(entropy, shares)) / len(shares)
        bits = max(round(gain, 9), 0.0)
        failed = sum(row["verdict"] not in GOOD for row in rows)
        order = (-round(bits, 6), -failed, *key[:3])
        line = [*key[:2], *key[3:], len(shares), len(rows), failed, bits, failed == 0]
        told.append((order, line))
    return [line for _, line in sorted(told, key=lambda each: cast("tuple[str, ...]", each[0]))]


def entropy(share: float) -> float:
    if share in (0.0, 1.0):
        return 0.0
    return -(share * math.log2(share) + (1 - share) * math.log2(1 - share))


ORACLES: dict[str, Callable[[Fleet, date], Told]] = {
    "matrix": matrix,
    "evidence": evidence,
    "levels": levels,
    "regressions": regressions,
    "flaky": flaky,
    "flips": flips,
    "causes": causes,
    "coverage_clauses": coverage_clauses,
    "coverage_grammar": coverage_grammar,
    "durations": durations,
    "findings": findings,
    "campaigns": campaigns,
    "deviations": deviations,
    "separating": separating,
}


def plain(rows: Told) -> Iterator[list[object]]:
    """Return rows as an answer has them: shares rounded, so that the last bit does not count."""
    for row in rows:
        yield [round(value, 6) if isinstance(value, float) else value for value in row]
