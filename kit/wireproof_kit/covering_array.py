"""Covering arrays: rows of circumstances in which every two values of different dimensions meet.

A target may break a rule only where two circumstances meet, such as a batch and a second consumer
group. All combinations would be thousands of cases; a covering array of strength 2 meets every
pair in a few dozen. `ways.toml` of a folder has the dimensions, `rows.txt` the rows that
tools/covering_arrays.py made of them. The rows are kept so that case ids do not depend on the
version of a library.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path

import msgspec

DIMENSIONS = "ways.toml"
ROWS = "rows.txt"
USUAL = "usual"
"""The id of the row that has the first value of each dimension."""

Row = Mapping[str, str]
"""A value of each dimension."""
Meeting = frozenset[tuple[str, str]]
"""Two or three dimensions, each with a value."""


class Dimension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something in which the cases of a table differ; its first value is the usual one."""

    title: str
    values: tuple[str, ...]


class Exclusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Values of some dimensions that cannot be combined, and why."""

    reason: str
    values: dict[str, tuple[str, ...]]

    def covers(self, row: Row) -> bool:
        """Return True if a row has one of the values in each of the dimensions."""
        return all(row.get(name) in values for name, values in self.values.items())


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dimensions, and values that cannot be combined; ``seed`` chooses one of many arrays.

    ``triples`` are dimensions of which every three values meet; every two values of any
    dimensions meet with each value of ``beside``.
    """

    seed: str
    dimension: dict[str, Dimension]
    excluded: tuple[Exclusion, ...] = ()
    triples: tuple[str, ...] = ()
    beside: str = ""

    def row_id(self, row: Row) -> str:
        """Return the unusual values of a row joined by plus signs, or ``usual``."""
        unusual = [
            row[name] for name, each in self.dimension.items() if row[name] != each.values[0]
        ]
        return "+".join(unusual) or USUAL

    def is_excluded(self, row: Row) -> bool:
        """Return True if some values of a row, which may be incomplete, cannot be combined."""
        return any(each.covers(row) for each in self.excluded)

    def meetings(self) -> set[Meeting]:
        """Return every two values of different dimensions that can be combined, and triples."""
        values = [(name, value) for name, each in self.dimension.items() for value in each.values]
        return {
            frozenset(meeting)
            for meeting in self._meetings_of(values)
            if len(dict(meeting)) == len(meeting) and not self.is_excluded(dict(meeting))
        }

    def meetings_of(self, rows: Iterable[Row]) -> set[Meeting]:
        """Return every two values that meet in some row, and the triples."""
        return {frozenset(meeting) for row in rows for meeting in self._meetings_of(row.items())}

    def _meetings_of(
        self, values: Iterable[tuple[str, str]]
    ) -> Iterator[tuple[tuple[str, str], ...]]:
        yield from combinations(values, 2)
        for meeting in combinations(values, 3):
            if self.is_triple(name for name, _ in meeting):
                yield meeting

    def is_triple(self, names: Iterable[str]) -> bool:
        """Return True if every three values of these three dimensions meet."""
        names = frozenset(names)
        return self.beside in names or names <= {*self.triples}


def read_table(folder: Path) -> Table:
    """Return the dimensions of a folder's table."""
    text = (folder / DIMENSIONS).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Table)


def read_rows(folder: Path) -> dict[str, Row]:
    """Return the rows of a folder's covering array, by id."""
    table = read_table(folder)
    names, *lines = (folder / ROWS).read_text(encoding="utf-8").splitlines()
    rows = (dict(zip(names.split(), line.split(), strict=True)) for line in lines)
    return {table.row_id(row): row for row in rows}
