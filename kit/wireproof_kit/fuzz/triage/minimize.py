"""Finds the cases that cause an anomaly, minimizes and confirms them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from wireproof_kit.fuzz.case import (
    WHOLE,
    ByteByByte,
    Case,
    Slow,
    SplitAt,
    Step,
    Together,
)
from wireproof_kit.fuzz.json_members import fewest_members, smaller_members
from wireproof_kit.fuzz.oracle.client_rules import STUCK
from wireproof_kit.fuzz.oracle.rules import (
    DEAD,
    HUNG,
    MEMORY,
    NO_ANSWER,
    NOT_CLOSED,
    REDELIVERY,
    ROUND_TRIP,
)
from wireproof_kit.fuzz.send.write_styles import PAUSE_S
from wireproof_kit.fuzz.triage.anomaly import Anomaly

TIMES = 5
"""How often a finding's cases are run on fresh connections to confirm it."""
FEWER_TIMES = 3
PATIENT = frozenset({HUNG, NO_ANSWER, NOT_CLOSED, REDELIVERY, STUCK})
"""Rules that are confirmed with fewer runs: a missing answer costs all patience each time."""
MOSTLY = frozenset({MEMORY, NOT_CLOSED})
"""Rules that most of the runs must show violated.

A right broker behind TLS, on two processors with a load of 17, closed too late in one of two runs.
"""
ALONE = 64
"""How many cases of a batch are tried one by one before the batch is halved.

Measured on a busy machine, all 256 took longer than the search may take.
"""
COSTLY = frozenset({DEAD, HUNG, ROUND_TRIP})
FEW = 16
"""The most cases blamed for memory, which many may keep together lawfully, or for a missing answer
without all repeats: a busy machine answers many late."""
MOST_PAUSES = 64
"""The most writes with pauses between them: they then take more than a second."""
_SIZE = 4
"""Bytes of the size before a frame; the size is corrected when the frame becomes smaller."""
LARGE = 4096
"""A longer step is one value repeated: pieces below an eighth of it tell nothing more."""
LEAST_PARTS, MOST_PARTS = 8, 64
MOST_PROBES = 300
"""The most runs to minimize one finding."""

Cases = Sequence[Case]


class Prober(Protocol):
    """Sends cases on fresh connections to a healthy target."""

    def probe(self, cases: Cases, violated: str) -> Anomaly | None:
        """Send cases; return the anomaly of the rule `violated` that they cause, or None."""
        ...

    def out_of_time(self) -> bool:
        """Return True if no time is left."""
        ...


@dataclass(slots=True)
class CulpritSearch:
    """Searches and minimizes the cases that cause an anomaly; `again` are its repetitions.

    `most_alone` cases are tried one by one before the batch is halved. `probes` were asked for;
    `sent` is how many of them there was time for.
    """

    prober: Prober
    violated: str
    most_alone: int = ALONE
    probes: int = 0
    sent: int = 0
    again: list[Anomaly] = field(default_factory=list[Anomaly])

    def culprits(self, anomaly: Anomaly, named: Cases = ()) -> tuple[Case, ...]:
        """Return the fewest cases that cause an anomaly again; none if it does not come again.

        `named` are those with a frame that the target's last words name: they are tried first.
        """
        alone = [anomaly.case] if anomaly.case is not None else []
        for likely in ([case for case in named if not case.exercise], alone):
            if likely and self.shows(likely):
                return self._fewest(likely)
        others = [case for case in anomaly.batch if not (case.is_held or case.exercise)]
        if self.violated in COSTLY:
            found = self._costly(others, [case for case in anomaly.batch if case.is_held])
            if found:
                return found
        if not others or not self.shows(others):
            return ()
        fewest = self._fewest(others)
        return () if self.violated == MEMORY and len(fewest) > FEW else fewest

    def _costly(self, others: list[Case], held: list[Case]) -> tuple[Case, ...]:
        """Return the cases that cause what costs a restart, if some of them do alone."""
        if held and self.shows(held):
            return self._fewest(held)  # all at once: each alone takes as long as all of them
        # Writes that must arrive apart rarely do on a busy machine.
        apart = [paused for case in others if (paused := _pause_steps(case)) != case]
        if apart and self.shows(apart):
            return self._fewest(apart)
        # Those that were under way come first.
        return next(((case,) for case in others[: self.most_alone] if self.shows((case,))), ())

    def smallest(self, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return cases with fewer steps and bytes that still cause the anomaly."""
        budget = self.probes + MOST_PROBES
        for number, at in [
            (n, at) for n, case in enumerate(cases) for at in range(len(case.steps))
        ]:
            cases = self._leave_out_members(cases, number, at)
        is_smaller = True
        while is_smaller and self.probes < budget and not self.prober.out_of_time():
            is_smaller = False
            for smaller in _smaller(cases):
                if self.probes >= budget or self.prober.out_of_time():
                    break
                if self.shows(smaller):
                    cases, is_smaller = smaller, True
                    break
        return cases

    def _leave_out_members(
        self, cases: tuple[Case, ...], number: int, at: int
    ) -> tuple[Case, ...]:
        """Return the cases with fewer members in the JSON document of one step."""

        def is_enough(data: bytes) -> bool:
            return self.shows(_with_data(cases, number, at, data))

        data = fewest_members(cases[number].steps[at].data, is_enough)
        return _with_data(cases, number, at, data)

    def at_leisure(self, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return the cases with pauses between their writes if they still cause the anomaly.

        Without pauses, it is chance whether writes arrive one by one.
        """
        paused = tuple(_pause_steps(case) for case in cases)
        return paused if paused != cases and self.shows(paused) else cases

    def _fewest(self, cases: list[Case]) -> tuple[Case, ...]:
        """Remove ever smaller parts of the cases while the rest still causes the anomaly."""
        parts = 2
        while len(cases) > 1 and not self.prober.out_of_time():
            rest = self._part_or_rest(cases, parts)
            if rest is not None:
                cases, parts = rest, 2
            elif parts >= len(cases) or self.violated == MEMORY:
                break  # what leaks needs no others for it, and weighing takes long
            else:
                parts = min(2 * parts, len(cases))
        return tuple(cases)

    def _part_or_rest(self, cases: list[Case], parts: int) -> list[Case] | None:
        size = -(-len(cases) // parts)
        pieces = [cases[at : at + size] for at in range(0, len(cases), size)]
        for piece in reversed(pieces):  # what came last is more telling
            if self.shows(piece):
                return piece
        for number in range(len(pieces)) if len(pieces) > 2 else ():
            rest = [case for n, piece in enumerate(pieces) if n != number for case in piece]
            if self.shows(rest):
                return rest
        return None

    def shows(self, cases: Cases) -> bool:
        """Return True if the cases cause the anomaly again and there was time to try."""
        self.probes += 1
        if self.prober.out_of_time():
            return False
        self.sent += 1
        found = self.prober.probe(cases, self.violated)
        if found is not None:
            self.again.append(found)
        return found is not None


def _with_data(cases: tuple[Case, ...], number: int, at: int, data: bytes) -> tuple[Case, ...]:
    """Return the cases with other bytes in one step of one of them."""
    steps = list(cases[number].steps)
    steps[at] = replace(steps[at], data=data)
    changed = replace(cases[number], steps=tuple(steps))
    return (*cases[:number], changed, *cases[number + 1 :])


def _smaller(cases: tuple[Case, ...]) -> Iterator[tuple[Case, ...]]:
    """Yield smaller versions of the cases, the greatest reductions first."""
    for number, case in enumerate(cases):
        for steps in _fewer_steps(case.steps):
            changed = replace(case, steps=steps)
            yield (*cases[:number], changed, *cases[number + 1 :])


def _fewer_steps(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    for at in range(len(steps)) if len(steps) > 1 else ():
        yield (*steps[:at], *steps[at + 1 :])
    for at, step in enumerate(steps):
        for data in smaller_members(step.data):
            yield (*steps[:at], replace(step, data=data), *steps[at + 1 :])
    for at, step in enumerate(steps):
        for smaller in _smaller_step(step):
            yield (*steps[:at], smaller, *steps[at + 1 :])


def _smaller_step(step: Step) -> Iterator[Step]:
    if step.style != WHOLE and not isinstance(step.style, Together):
        yield replace(step, style=WHOLE)
    data = step.data
    is_sized = data[:_SIZE] == _size_of(data)
    size = len(data) // 2
    while size >= max(1, len(data) // (LEAST_PARTS if len(data) > LARGE else MOST_PARTS)):
        for start in range(len(data) - size, -1, -size):
            smaller = data[:start] + data[start + size :]
            if is_sized and start >= _SIZE:
                yield replace(step, data=_size_of(smaller) + smaller[_SIZE:])
            yield replace(step, data=smaller)
        size //= 2


def _size_of(data: bytes) -> bytes:
    """Return the size in front of a frame that consists of these bytes."""
    return max(len(data) - _SIZE, 0).to_bytes(_SIZE, "big")


def _pause_steps(case: Case) -> Case:
    return replace(case, steps=tuple(_paused_step(step) for step in case.steps))


def _paused_step(step: Step) -> Step:
    cuts = _cuts(step)
    return replace(step, style=Slow(PAUSE_S, cuts)) if 0 < len(cuts) <= MOST_PAUSES else step


def _cuts(step: Step) -> tuple[int, ...]:
    if isinstance(step.style, SplitAt):
        return step.style.offsets
    return tuple(range(1, len(step.data))) if isinstance(step.style, ByteByByte) else ()


def confirm(
    prober: Prober, cases: Cases, violated: str, *, told: Callable[[Anomaly], None]
) -> tuple[int, int]:
    """Run cases several times; return how many runs showed the anomaly, and how many were made.

    `told` is called with each anomaly that shows. No runs are made when no time is left. Growing
    memory and a connection that stays open must show in most runs: memory of a process grows now
    and then anyway, and a busy machine closes late.
    """
    shown = runs = 0
    for _ in range(FEWER_TIMES if violated in PATIENT else TIMES):
        if prober.out_of_time():
            break
        anomaly = prober.probe(cases, violated)
        if anomaly is None and prober.out_of_time():
            break  # time was over before anything could be seen
        runs += 1
        if anomaly is not None:
            shown += 1
            told(anomaly)
    if violated in MOSTLY and shown * 2 <= runs:
        shown = 0
    return shown, runs
