"""The coverage of a campaign: counts of cases by field, mutation and state.

It holds one number for each row that cases can have, so that it stays as small however long a
campaign is; tables of several workers add up.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

from wireproof_kit.fuzz.case import Case

Row: TypeAlias = tuple[str, str, str, str]
"""Frame kind, field, mutation and state of a case: a row of the coverage table."""
Told: TypeAlias = dict[str, dict[str, dict[str, dict[str, int]]]]
"""Numbers of cases by frame kind, field, mutation and state, as JSON."""


class Coverage:
    """Counts the sent cases by frame kind, field, mutation and state."""

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[Row, int] | None = None) -> None:
        self._counts: Counter[Row] = Counter(counts or {})

    def add(self, case: Case) -> None:
        """Count a case that was sent."""
        self._counts[case.frame_kind, case.field, case.mutation, case.state] += 1

    def merge(self, other: "Coverage") -> None:
        """Add the counts of another worker."""
        self._counts.update(other._counts)

    @property
    def cases(self) -> int:
        """How many cases were counted."""
        return self._counts.total()

    def __len__(self) -> int:
        """Return how many different rows were counted."""
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coverage) and self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]  # it changes

    def kinds(self) -> frozenset[str]:
        """Return the frame kinds of the cases."""
        return frozenset(row[0] for row in self._counts)

    def states(self) -> frozenset[str]:
        """Return the states in which cases were sent."""
        return frozenset(row[3] for row in self._counts)

    def fields(self) -> frozenset[tuple[str, str]]:
        """Return frame kind and path of each field that was mutated."""
        return frozenset((frame, field) for frame, field, _, _ in self._counts)

    def as_json(self) -> Told:
        """Return the counts as JSON objects, in order of the names."""
        told: Told = {}
        for (frame, field, mutation, state), count in sorted(self._counts.items()):
            mutations = told.setdefault(frame, {}).setdefault(field, {})
            mutations.setdefault(mutation, {})[state] = count
        return told

    @classmethod
    def of_json(cls, told: object) -> "Coverage":
        """Return the counts read from JSON objects."""
        return cls(
            {
                (frame, field, mutation, state): count
                for frame, fields in cast(Told, told).items()
                for field, mutations in fields.items()
                for mutation, states in mutations.items()
                for state, count in states.items()
            }
        )

    def lines(self) -> Iterator[str]:
        """Yield the table as text: a line for each field, one for each frame, one for all."""
        width = max((len(field) for _, field, _, _ in self._counts), default=0) + 2
        width = min(max(width, 24), 44)
        yield f"{'fields':<{width}}{'mutations':>10}{'states':>8}{'cases':>12}"
        for frame, rows in _group_rows(self._counts, by=0):
            yield _line(frame, width, rows)
            for field, of_field in _group_rows(rows, by=1):
                yield _line(f"  {field}", width, of_field)
        total = _line("all", width, self._counts)
        yield f"{total}   ({len(self._counts)} different)"


def _line(name: str, width: int, rows: Mapping[Row, int]) -> str:
    mutations = len({row[2] for row in rows})
    states = len({row[3] for row in rows})
    shown = name if len(name) <= width - 1 else f"{name[: width - 2]}…"
    return f"{shown:<{width}}{mutations:>10}{states:>8}{sum(rows.values()):>12}"


def _group_rows(rows: Mapping[Row, int], *, by: int) -> Iterator[tuple[str, Mapping[Row, int]]]:
    groups: dict[str, dict[Row, int]] = {}
    for row, count in sorted(rows.items()):
        groups.setdefault(row[by], {})[row] = count
    yield from groups.items()
