"""Root causes: failures of one clause that differ from the law in the same way, as one."""

from collections.abc import Iterable
from dataclasses import dataclass

from wireproof_spec.catalogue import level_rank, matches
from wireproof_spec.record import CaseRecord

BRIEF_BYTES = 4096

UNSPECIFIC = frozenset({"wrong", "undecodable", "other-layout"})


@dataclass(frozen=True, slots=True)
class Cause:
    """Cases of one clause with the same first differing field and kind of observation.

    ``shown`` stands for all of them: the first whose exchange is of ordinary length, if any.
    """

    number: int
    clause: str
    level: str
    field: str
    value: str
    cases: tuple[CaseRecord, ...]

    @property
    def origin(self) -> str:
        """The origin of its clause when the case was judged; empty in bundles before that."""
        return self.cases[0].origin

    @property
    def anchor(self) -> str:
        """The id of its block in a page."""
        return f"cause-{self.number}"

    @property
    def shown(self) -> CaseRecord:
        """The case that stands for all of them."""
        return next((case for case in self.cases if _is_brief(case)), self.cases[0])


def fold(cases: Iterable[CaseRecord]) -> tuple[Cause, ...]:
    """Fold failing cases by root cause: highest level first, then the larger, then as run."""
    folded: dict[tuple[str, str, str], list[CaseRecord]] = {}
    for case in cases:
        if case.verdict == "fail":
            folded.setdefault(cause_key(case), []).append(case)
    ordered = sorted(
        folded.items(), key=lambda item: (level_rank(item[1][0].level), -len(item[1]))
    )
    return tuple(
        Cause(number, clause, members[0].level, field, value, tuple(members))
        for number, ((clause, field, value), members) in enumerate(ordered, start=1)
    )


def value_class(observation: str, accepted: Iterable[str]) -> str:
    """Return the part of an observation in which it deviates.

    What became of the connection counts only when the answer itself would have been accepted;
    the text of an unexpected response never counts.
    """
    answer = observation.partition(",")[0]
    answers = [pattern.partition(",")[0] for pattern in accepted]
    if matches(answer, answers):
        return observation
    kind, colon, _ = answer.partition(":")
    return "response:*" if colon and kind == "response" else answer


def cause_key(case: CaseRecord) -> tuple[str, str, str]:
    """Return clause, first differing field, class of the value.

    Where the observation itself names what is wrong, as in ``trace:little-endian``, the field
    in which it first shows is chance.
    """
    value = value_class(case.observation, case.accepted)
    _, named, flaw = value.partition(":")
    is_named = bool(named) and flaw not in UNSPECIFIC
    field = case.difference.field if case.difference and not is_named else ""
    return case.clause, field, value


def _is_brief(case: CaseRecord) -> bool:
    return sum(step.length for step in case.transcript.steps) <= BRIEF_BYTES
