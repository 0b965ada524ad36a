"""The part of a case's exchange in which the case failed.

An observation names the steps on which it rests, its evidence. What was sent for an answer stands
before it on its connection. What was sent for a delivered or polled message stands on another one:
it is the step that shares most bytes with what was received.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from wireproof_reports.exchange.annotation import read_bytes
from wireproof_reports.exchange.protocol import report_part
from wireproof_reports.exchange.repeating import SENT
from wireproof_spec.clauses.catalogue import matches
from wireproof_spec.record import CaseRecord, DifferenceRecord
from wireproof_spec.step_record import StepRecord

FROM_TARGET = ("receive", "response")
CHECKING = "one more "
"""How the note of a send begins that only looks whether a connection goes on."""
DIED = "died"
"""The observation of a case that has killed the target."""
MOST_PAIRS = 2
WINDOW = 8
"""Bytes in a row that a sent and a received step must share, to have to do with each other."""
COMPARED_BYTES = 8192
COMPARED_STEPS = 200


@dataclass(frozen=True, slots=True)
class Pair:
    """A step that was sent, and the step with the answer, the message, or the end after it."""

    asked: int | None
    answered: int | None


class NamedPart(Protocol):
    """A labelled range of bytes with its decoded value."""

    @property
    def offset(self) -> int:
        """Return where in its step the part begins."""
        ...

    @property
    def label(self) -> str:
        """Return the name of the part's field."""
        ...

    @property
    def value(self) -> str:
        """Return the decoded value as text."""
        ...


def failing_pairs(case: CaseRecord, protocol: str) -> tuple[Pair, ...]:
    """Return the steps on which a case's observation rests, each with what was sent for it.

    If not the answer but what the connection did after it is wrong, the check of the connection
    follows. A death rests on what was sent last. Empty if the case does not say what its
    observation rests on.
    """
    steps = case.transcript.steps
    if case.observation == DIED and not case.evidence:
        fatal = _find_fatal(steps)
        return () if fatal is None else (Pair(fatal, next(_after(steps, fatal), None)),)
    known = [index for index in case.evidence if index < len(steps)]
    pairs = [Pair(find_request(steps, index, protocol), index) for index in known[:MOST_PAIRS]]
    check = _find_check(steps) if pairs and _is_state_wrong(case) else None
    if check is not None:
        pairs.append(Pair(check, next(_after(steps, check), None)))
    return tuple(pairs)


def _find_fatal(steps: Sequence[StepRecord]) -> int | None:
    """Return the last step with a deliberate error, or the last that was sent at all."""
    sent = [at for at, step in enumerate(steps) if step.kind in SENT]
    usual = [at for at in sent if not steps[at].note.startswith(CHECKING)] or sent
    wrong = [at for at in sent if any(part[3] for part in steps[at].parts)]
    return next(iter([*wrong[-1:], *usual[-1:]]), None)


def find_request(steps: Sequence[StepRecord], index: int, protocol: str) -> int | None:
    """Return the step that was sent for a received one; None if nothing was sent before it.

    For a message that the target sent by itself and that shares no bytes with what was sent, it
    is the longest command.
    """
    before = [at for at in range(index) if steps[at].kind in SENT]
    usual = [at for at in before if not steps[at].note.startswith(CHECKING)] or before
    own = [at for at in usual if steps[at].conn == steps[index].conn]
    if steps[index].kind == "response" and own:
        return own[-1]
    shared = _shared_bytes(steps, usual[-COMPARED_STEPS:], index)
    if not shared and is_pushed(read_bytes(steps[index]), protocol):
        return max(usual, key=lambda at: (fullness(steps[at]), at), default=None)
    best = max(
        [*usual, *own[-1:]], key=lambda at: (shared.get(at, 0), at in own, at), default=None
    )
    return best if own or shared else None


def is_pushed(data: bytes, protocol: str) -> bool:
    """Return True if the target sent these bytes by itself, not as an answer."""
    pushed = report_part(protocol).pushed
    return pushed is not None and pushed(data)


def fullness(step: StepRecord) -> int:
    """Return how many named parts a sent step has; an HTTP request counts as more than any."""
    return 99 if step.kind == "request" else len(step.parts)


def find_differing(parts: Iterable[NamedPart], difference: DifferenceRecord) -> int | None:
    """Return the number of the part that has the differing value; None if no part has it."""
    candidates = [
        (part.value != difference.found, _distance(part, difference), number)
        for number, part in enumerate(parts)
        if leaf(part.label) == leaf(difference.field) and part.value != difference.expected
    ]
    return min(candidates)[2] if candidates else None


def leaf(field: str) -> str:
    """Return the last name of a field's path, as parts and differences both spell it."""
    return field.rpartition(".")[2].rpartition("/")[2].replace("-", "_")


def _distance(part: NamedPart, difference: DifferenceRecord) -> int:
    return 0 if difference.offset is None else abs(part.offset - difference.offset)


def _is_state_wrong(case: CaseRecord) -> bool:
    answer, comma, _ = case.observation.partition(",")
    answers = [pattern.partition(",")[0] for pattern in case.accepted]
    return bool(comma) and matches(answer, answers)


def _find_check(steps: Sequence[StepRecord]) -> int | None:
    checks = [at for at, step in enumerate(steps) if step.note.startswith(CHECKING)]
    return checks[-1] if checks else None


def _after(steps: Sequence[StepRecord], index: int) -> Iterator[int]:
    """Yield the steps after one on its connection."""
    for at in range(index + 1, len(steps)):
        if steps[at].conn == steps[index].conn:
            yield at


def _shared_bytes(steps: Sequence[StepRecord], sent: Sequence[int], index: int) -> dict[int, int]:
    """Return how many places of sent steps begin bytes that the received step has, too."""
    windows = set(_windows(steps[index]))
    shared = {at: sum(window in windows for window in _windows(steps[at])) for at in sent}
    return {at: count for at, count in shared.items() if count} if windows else {}


def _windows(step: StepRecord) -> list[bytes]:
    data = read_bytes(step)[:COMPARED_BYTES]
    return [data[at : at + WINDOW] for at in range(len(data) - WINDOW + 1)]
