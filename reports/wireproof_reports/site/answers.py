"""Asks all questions of one history and writes the answers for a site."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import cast

import pyarrow as pa

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import AnswerColumn, Kind, Question

SCHEMA = 1
MOST_ROWS = 100_000
"""Rows of one answer that a page can still show; the others are counted."""

QUESTIONS = (
    "matrix",
    "evidence",
    "roles",
    "levels",
    "regressions",
    "flaky",
    "flips",
    "causes",
    "coverage_clauses",
    "coverage_grammar",
    "durations",
    "findings",
    "campaigns",
    "deviations",
    "separating",
)

Tell = Callable[[int, str], None]
"""Told before each question: how many were answered, and the next one's name."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question: its rows in display order."""

    name: str
    question: Question
    rows: list[list[object]]


def question(name: str) -> Question:
    """Return the question that the module of this name defines."""
    module = import_module(f"wireproof_reports.questions.{name}")
    question: Question = module.QUESTION
    return question


def answer(name: str, tables: Tables) -> Answer:
    """Ask the named question of a history, such as ``matrix``; return its columns and rows.

    No job is started where the views that it reads have no rows.
    """
    asked = question(name)
    if not any(tables.rows[view] for view in asked.views):
        return Answer(name, asked, [])
    table = asked.ask(tables).toArrow()
    columns = [_plain(table.column(column.name), column) for column in asked.columns]
    return Answer(name, asked, [list(row) for row in zip(*columns, strict=True)])


def all_answers(tables: Tables, names: Sequence[str], tell: Tell) -> Iterator[Answer]:
    """Yield the answers to questions, one after the other in one Spark session.

    Only the first one is slow.
    """
    for number, name in enumerate(names):
        tell(number, name)
        yield answer(name, tables)


def write_answer(told: Answer, data: Path) -> dict[str, object]:
    """Write an answer as a JSON file, and return its entry for the index of answers."""
    columns = [
        {"name": column.name, "kind": column.kind, "words": column.words}
        for column in told.question.columns
    ]
    head: dict[str, object] = {
        "schema": SCHEMA,
        "question": told.name,
        "title": told.question.title,
        "asks": told.question.asks,
        "total": len(told.rows),
    }
    file = data / f"{told.name}.json"
    _write(file, {**head, "columns": columns}, told.rows[:MOST_ROWS])
    return {**head, "file": file.name, "rows": min(len(told.rows), MOST_ROWS)}


def write_index(data: Path, head: Mapping[str, object], lines: Sequence[object]) -> None:
    """Write the index of the answers as JSON; ``head`` says which history they are about."""
    whole = {"schema": SCHEMA, **head, "questions": list(lines)}
    text = json.dumps(whole, ensure_ascii=False, indent=1)
    (data / "index.json").write_text(text + "\n", encoding="utf-8")


def _write(file: Path, head: Mapping[str, object], rows: Sequence[Sequence[object]]) -> None:
    """Write JSON with one row per line, so that people can read it and tools can compare it."""
    with file.open("w", encoding="utf-8") as out:
        out.write(json.dumps(head, ensure_ascii=False, indent=1)[:-2] + ',\n "rows": [')
        for number, row in enumerate(rows):
            out.write("," * (number > 0) + "\n" + json.dumps(row, ensure_ascii=False))
        out.write("\n]}\n")


def _plain(values: pa.ChunkedArray, column: AnswerColumn) -> list[object]:
    """Return the values of a column as JSON values."""
    if column.kind == "time":
        return [_time(text) for text in values.cast(pa.string()).to_pylist()]
    change = _CHANGES.get(column.kind)
    return [change(value) for value in values.to_pylist()] if change else values.to_pylist()


def _time(text: object) -> object:
    """Convert Arrow's text of a time to ISO 8601; this is much faster than using `datetime`."""
    return str(text).replace(" ", "T").replace(".000000Z", "Z") if text is not None else None


def _day(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


def _number(value: object) -> object:
    return round(value, 6) if isinstance(value, float) else value


def _counts(value: object) -> object:
    added: Counter[int] = Counter()
    for pair in cast("list[dict[str, int]]", value or []):
        number, count = pair.values()
        added[number] += count
    return [list(pair) for pair in sorted(added.items())]


_CHANGES: dict[Kind, Callable[[object], object]] = {
    "day": _day,
    "number": _number,
    "counts": _counts,
}
