"""Root causes: groups failures that deviate from the law in the same way."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from wireproof_reports.exchange.last_words import crash_line
from wireproof_spec.clauses.catalogue import BROKER, CLIENT, level_rank, matches
from wireproof_spec.clauses.loading import load_catalogue, named_fault
from wireproof_spec.record import CaseRecord, HeaderRecord

BRIEF_BYTES = 4096
UNREAD = frozenset({"undecodable", "nonsense"})
"""Words for bytes that have not the layout that is due, nor one that is known."""
ENDED = "ended:"
"""How the observation begins that a client's process ended."""

UNSPECIFIC = frozenset({"wrong", "undecodable", "other-layout"})


@dataclass(frozen=True, slots=True)
class Cause:
    """A root cause: failing cases of one clause that have the same cause key.

    A fault that the observation names is one cause in all clauses. ``cases`` begins with the case
    that represents them all: of the strictest that count, the plainest.
    """

    number: int
    field: str
    value: str
    cases: tuple[CaseRecord, ...]

    @property
    def clause(self) -> str:
        """The clause of the case that represents the cause."""
        return self.shown.clause

    @property
    def level(self) -> str:
        """The level of that clause when it was judged."""
        return self.shown.level

    @property
    def origin(self) -> str:
        """The origin of that clause when it was judged; empty in bundles before that."""
        return self.shown.origin

    @property
    def anchor(self) -> str:
        """The HTML id of the cause's block in a page."""
        return f"cause-{self.number}"

    @property
    def shown(self) -> CaseRecord:
        """The case that represents all cases of the cause in a report."""
        return self.cases[0]

    def count_cases(self, header: HeaderRecord) -> int:
        """Return how many cases of the cause count for the exit code of a run."""
        return len(self.list_counted(header))

    def list_counted(self, header: HeaderRecord) -> list[CaseRecord]:
        """Return the cases of the cause that count for the exit code of a run."""
        return [case for case in self.cases if header.counts(case.level, case.origin)]

    def side(self, header: HeaderRecord) -> str:
        """Return which side failed, ``client`` or ``broker``, where both were judged; else ""."""
        clause = load_catalogue(header.target.protocol).clause(self.clause)
        return clause.side if clause is not None and header.target.is_traffic() else ""


def fold(cases: Iterable[CaseRecord], header: HeaderRecord | None = None) -> tuple[Cause, ...]:
    """Group failing cases by root cause; sort by level, then number of cases, then run order.

    Cases that count for the exit code of the ``header``'s run stand before others.
    """
    folded: dict[tuple[str, str, str], list[CaseRecord]] = {}
    for case in cases:
        if case.verdict == "fail":
            folded.setdefault(cause_key(case), []).append(case)

    def strictness(case: CaseRecord) -> tuple[bool, int]:
        counts = header is None or header.counts(case.level, case.origin)
        return not counts, level_rank(case.level)

    causes = [
        (key, sorted(members, key=lambda case: (strictness(case), _oddity(case))))
        for key, members in folded.items()
    ]
    ordered = sorted(causes, key=lambda item: (strictness(item[1][0]), -len(item[1])))
    return tuple(
        Cause(number, field, value, tuple(members))
        for number, ((_, field, value), members) in enumerate(ordered, start=1)
    )


def count_sides(causes: Iterable[Cause], header: HeaderRecord) -> str:
    """Return how many causes each side has: ``client 2, broker 1``; "" unless both were judged."""
    sides = Counter(side for cause in causes if (side := cause.side(header)))
    return ", ".join(f"{side} {sides[side]}" for side in (CLIENT, BROKER) if sides[side])


def value_class(observation: str, accepted: Iterable[str]) -> str:
    """Return the part of an observation that deviates from what is accepted.

    The state of the connection counts only if the answer itself is accepted. The text of an
    unexpected response never counts.
    """
    answer = observation.partition(",")[0]
    answers = [pattern.partition(",")[0] for pattern in accepted]
    if matches(answer, answers):
        return observation
    kind, colon, _ = answer.partition(":")
    return "response:*" if colon and kind == "response" else answer


def cause_key(case: CaseRecord) -> tuple[str, str, str]:
    """Return the clause, the first differing field and the class of the observed value.

    Clause and field are empty if the observation itself names the flaw, as
    ``trace:little-endian`` does: which clause and field show that flaw first depends on chance.
    They are empty, too, if bytes could not be read: in which field the reading fails depends on
    what each case sends. Of a client whose process ended, the field is the line of its stderr
    that says why.
    """
    if case.observation.startswith(ENDED):
        return "", crash_line(case.transcript), case.observation
    if unread := _unread_part(case.observation):
        return "", "", unread
    if fault := named_fault(case.case, case.observation):
        return "", "", fault
    value = value_class(case.observation, case.accepted)
    _, named, flaw = value.partition(":")
    is_named = bool(named) and flaw not in UNSPECIFIC
    field = case.difference.field if case.difference and not is_named else ""
    return case.clause, field, value


def _unread_part(observation: str) -> str:
    """Return the part of an observation that says that bytes could not be read, or ""."""
    parts = observation.split(",")
    return next((part for part in parts if part.rpartition(":")[2] in UNREAD), "")


def _oddity(case: CaseRecord) -> tuple[bool, int]:
    """Return a sort key of cases: a short exchange first, then one with few special conditions.

    Each part of an id beyond the subject, and each part joined by ``+``, is such a condition.
    """
    is_long = sum(step.length for step in case.transcript.steps) > BRIEF_BYTES
    return is_long, case.case.count("/") + case.case.count("+")
