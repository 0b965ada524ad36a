"""The outcomes of a run: one for each clause and way, with its count and its evidence."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from wireproof_kit.ledger.entries import Place
from wireproof_kit.observation import Difference

_RUN = "#"


def name_run(case: str, number: int) -> str:
    """Return the name of a run of a case, counted from 1: connections and times are its own."""
    return case if number == 1 else f"{case}{_RUN}{number}"


PLAIN = "plain"
"""The way of what is neither of another path, partition, kind nor delivery than the usual one."""


@cache
def name_way(unusual: frozenset[str]) -> str:
    """Return the name of the way on which these things are unusual."""
    return "+".join(sorted(unusual)) or PLAIN


@dataclass(frozen=True, slots=True)
class Finding:
    """What something that arrived shows of a clause: kept, or in ``value`` how it is broken.

    ``value`` is the observation in the words of the cases of the clause.
    """

    clause: str
    value: str = ""
    note: str = ""
    difference: Difference | None = None

    @property
    def holds(self) -> bool:
        """True if the clause is kept."""
        return not self.value


@dataclass(slots=True)
class Outcome:
    """How often a clause was kept and broken on one way; evidence of its first breach."""

    clause: str
    way: str
    kept: int = 0
    broken: int = 0
    finding: Finding | None = None
    evidence: tuple[Place, ...] = ()
    cases: list[str] = field(default_factory=list[str])
    """The cases in which it was broken, the first few."""
    runs: set[str] = field(default_factory=set[str])
    """The runs of cases in which it was broken, the first few."""


def count_broken(findings: Iterable[Finding]) -> int:
    """Return how many of these findings show a breach."""
    return sum(not finding.holds for finding in findings)


class Outcomes:
    """Counts findings by clause and way."""

    def __init__(self, most_cases: int = 50) -> None:
        self._most_cases = most_cases
        self._outcomes: dict[tuple[str, str], Outcome] = {}

    def add(self, finding: Finding, way: Iterable[str], evidence: Iterable[Place]) -> None:
        """Count a finding."""
        key = finding.clause, name_way(frozenset(way))
        outcome = self._outcomes.setdefault(key, Outcome(*key))
        if finding.holds:
            outcome.kept += 1
            return
        outcome.broken += 1
        places = tuple(evidence)
        if outcome.finding is None:
            outcome.finding, outcome.evidence = finding, places
        if len(outcome.runs) < self._most_cases and places:
            outcome.runs.add(places[-1].case)
        if len(outcome.cases) < self._most_cases and places:
            case = places[-1].case.partition(_RUN)[0]
            if case not in outcome.cases:
                outcome.cases.append(case)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self._outcomes.values())
