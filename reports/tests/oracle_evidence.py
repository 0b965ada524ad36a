"""The examples of the matrix picked by plain loops over rows, as the oracle's questions are."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import cast

from fleet import Fleet

from wireproof_reports.history.rows import Row

WORSE = ("error", "unsupported", "inconclusive", "known", "unstable", "fail")


def evidence(fleet: Fleet, _today: date) -> list[list[object]]:
    cells: dict[tuple[str, ...], Row] = {}
    for row in fleet.results:
        if row["verdict"] in WORSE:
            names = ("protocol", "vendor", "version_key", "version", "clause")
            key = tuple(str(row[name]) for name in names)
            cells[key] = max(cells.get(key, row), row, key=place)
    return [told(row) for _, row in sorted(cells.items(), key=lambda cell: cell[0])]


def place(row: Row) -> tuple[object, ...]:
    started = row["started"]
    moment = cast(datetime, started).timestamp() if started else -1.0
    return WORSE.index(str(row["verdict"])), moment, row["bundle"], row["case"]


def told(row: Row) -> list[object]:
    accepted = [shown(text) for text in cast("list[str]", row["accepted"])]
    started = cast("datetime | None", row["started"])
    return [
        *values(row, "protocol", "vendor", "version", "clause", "verdict", "case"),
        accepted if len(accepted) <= 12 else [*accepted[:12], "…"],
        *map(shown, values(row, "observation", "reason")),
        *map(shown, values(row, *(f"difference_{x}" for x in ("field", "expected", "found")))),
        *values(row, "same", "runs"),
        started.isoformat().replace("+00:00", "Z") if started else None,
        row["bundle"],
    ]


def values(row: Row, *names: str) -> Iterable[object]:
    return [row[name] for name in names]


def shown(text: object) -> str:
    return str(text) if len(str(text)) <= 200 else str(text)[:200] + "…"
