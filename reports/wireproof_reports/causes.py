"""Root causes: groups failures that deviate from the law in the same way."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from wireproof_spec.clauses.catalogue import BROKER, CLIENT, is_way, level_rank, matches
from wireproof_spec.clauses.cause import cause_id, cause_key
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import CaseRecord, HeaderRecord, Verdict

BRIEF_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Cause:
    """A root cause: failing cases of one clause that have the same cause key.

    A fault that the observation names is one cause in all clauses. ``cases`` begins with the case
    that represents them all: of the strictest that count, and of the clause that most of them
    break, the plainest one that differs in the field in which most of these differ.
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
    def id(self) -> str:
        """The id by which a deviations file names the cause, the same in every run."""
        return cause_id(self.shown)

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


def fold(
    cases: Iterable[CaseRecord],
    header: HeaderRecord | None = None,
    *,
    verdict: Verdict = "fail",
) -> tuple[Cause, ...]:
    """Group failing cases by root cause; sort by level, then number of cases, then run order.

    Cases that count for the exit code of the ``header``'s run stand before others. With another
    ``verdict``, such as unstable, the cases are those that deviated once and did not fail.
    """
    folded: dict[tuple[str, str, str], list[CaseRecord]] = {}
    for case in cases:
        if case.verdict == verdict and (verdict == "fail" or _deviated_once(case)):
            folded.setdefault(cause_key(case), []).append(case)

    def strictness(case: CaseRecord) -> tuple[bool, int]:
        counts = header is None or header.counts(case.level, case.origin)
        return not counts, level_rank(case.level)

    def rank(members: list[CaseRecord]) -> list[CaseRecord]:
        often = Counter(case.clause for case in members)
        fields = Counter(
            (case.clause, case.difference.field) for case in members if case.difference
        )
        return sorted(
            members,
            key=lambda case: (
                strictness(case),
                -often[case.clause],
                -fields[case.clause, case.difference.field] if case.difference else 0,
                _oddity(case),
            ),
        )

    causes = [(key, rank(members)) for key, members in folded.items()]
    ordered = sorted(causes, key=lambda item: (strictness(item[1][0]), -len(item[1])))
    return tuple(
        Cause(number, field, value, tuple(members))
        for number, ((_, field, value), members) in enumerate(ordered, start=1)
    )


def find_named(causes: Iterable[Cause], name: str) -> Cause | None:
    """Return the cause that has this id, or this case or signature: then that case comes first."""
    for cause in causes:
        if cause.id == name:
            return cause
        named = [case for case in cause.cases if name in (case.case, case.signature)]
        if named:
            others = [case for case in cause.cases if case is not named[0]]
            return replace(cause, cases=(named[0], *others))
    return None


def find_deviation(cases: Iterable[CaseRecord], header: HeaderRecord, name: str) -> Cause | None:
    """Return the cause that `find_named` finds; without a failure, one that was seen once."""
    folded = (fold(cases, header, verdict=each) for each in ("fail", "unstable", "inconclusive"))
    return next((named for causes in folded if (named := find_named(causes, name))), None)


def count_sides(causes: Iterable[Cause], header: HeaderRecord) -> str:
    """Return how many causes each side has: ``client 2, broker 1``; "" unless both were judged."""
    sides = Counter(side for cause in causes if (side := cause.side(header)))
    return ", ".join(f"{side} {sides[side]}" for side in (CLIENT, BROKER) if sides[side])


def _deviated_once(case: CaseRecord) -> bool:
    """Return True if the recorded exchange of a case deviates, and its repeats did not confirm it.

    An unstable case may have been judged by another reading since: then another run of it did.
    """
    is_once = case.verdict == "unstable" or bool(case.repeats.unrepeated)
    return is_once and not matches(case.observation, case.accepted)


def _oddity(case: CaseRecord) -> tuple[bool, bool, int, int, int]:
    """Return a sort key of cases: a short exchange first, then one with few special conditions.

    Each capability that a case needs beside its clause's is such a condition, each part of its id
    beyond the subject, and each part joined by ``+``. A way, and what has no exchange, come last.
    """
    steps = case.transcript.steps
    is_long = sum(step.length for step in steps) > BRIEF_BYTES
    conditions = case.case.count("/") + case.case.count("+")
    return is_way(case.case) or not steps, is_long, len(steps), len(case.needs), conditions
