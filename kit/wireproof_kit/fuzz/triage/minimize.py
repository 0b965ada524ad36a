"""From a suspicion to the fewest bytes that show it: replay, bisect, shrink, confirm."""

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
from wireproof_kit.fuzz.oracle.rules import DEAD, HUNG, MEMORY, NO_ANSWER, NOT_CLOSED, ROUND_TRIP
from wireproof_kit.fuzz.send.write_styles import PAUSE_S
from wireproof_kit.fuzz.triage.anomaly import Suspicion

TIMES = 5
"""Runs on fresh connections that confirm a finding."""
FEWER_TIMES = 3
PATIENT = frozenset({HUNG, NO_ANSWER, NOT_CLOSED})
"""An answer that does not come costs all patience each time: fewer runs confirm these."""
ALONE = 256
"""Cases of a batch that are tried one by one before it is halved."""
COSTLY = frozenset({DEAD, HUNG, ROUND_TRIP})
FEW = 16
"""Cases at most that are blamed for memory: what many leave together may be kept lawfully."""
MOST_PAUSES = 64
"""Writes with a pause between them, at most: they take more than a second then."""
MOST_PROBES = 300
"""Tries to make one finding smaller."""

Cases = Sequence[Case]


class Prober(Protocol):
    """Performs cases on fresh connections of a target that is well."""

    def probe(self, cases: Cases, violated: str) -> Suspicion | None:
        """Return the suspicion of that kind which these cases raise; None when none is."""
        ...

    def out_of_time(self) -> bool:
        """Tell whether no more time is left for this."""
        ...


@dataclass(slots=True)
class Hunt:
    """The search for what raised one suspicion; `again` is what was seen of it since."""

    prober: Prober
    violated: str
    probes: int = 0
    again: list[Suspicion] = field(default_factory=list[Suspicion])

    def culprits(self, suspicion: Suspicion) -> tuple[Case, ...]:
        """Return the fewest cases that raise it again; none when it does not come again."""
        if suspicion.case is not None and self.shows((suspicion.case,)):
            return (suspicion.case,)
        if self.violated in COSTLY:
            # To see that a case does no harm takes no time; to see that one does takes a restart.
            # Those that were under way come first.
            for case in suspicion.batch[:ALONE]:
                if self.shows((case,)):
                    return (case,)
        if not self.shows(suspicion.batch):
            return ()
        fewest = self._fewest(list(suspicion.batch))
        return () if self.violated == MEMORY and len(fewest) > FEW else fewest

    def smallest(self, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return cases with fewer steps and bytes that still raise it."""
        budget = self.probes + MOST_PROBES
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

    def at_leisure(self, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return cases with pauses between their writes, if they raise it so as well.

        Whether writes arrive one by one is chance; after a pause they do.
        """
        paused = tuple(_paused(case) for case in cases)
        return paused if paused != cases and self.shows(paused) else cases

    def _fewest(self, cases: list[Case]) -> tuple[Case, ...]:
        """Leave out ever smaller parts of the cases, as long as the rest still shows it."""
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
        """Tell whether cases raise it again; no more when time is out."""
        self.probes += 1
        if self.prober.out_of_time():
            return False
        found = self.prober.probe(cases, self.violated)
        if found is not None:
            self.again.append(found)
        return found is not None


def _smaller(cases: tuple[Case, ...]) -> Iterator[tuple[Case, ...]]:
    """Return ways to make cases smaller, the boldest first."""
    for number, case in enumerate(cases):
        for steps in _fewer_steps(case.steps):
            changed = replace(case, steps=steps)
            yield (*cases[:number], changed, *cases[number + 1 :])


def _fewer_steps(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    for at in range(len(steps)) if len(steps) > 1 else ():
        yield (*steps[:at], *steps[at + 1 :])
    for at, step in enumerate(steps):
        for smaller in _smaller_step(step):
            yield (*steps[:at], smaller, *steps[at + 1 :])


def _smaller_step(step: Step) -> Iterator[Step]:
    if step.manner != WHOLE and not isinstance(step.manner, Together):
        yield replace(step, manner=WHOLE)
    data = step.data
    size = len(data) // 2
    while size >= max(1, len(data) // 64):
        for start in range(len(data) - size, -1, -size):
            yield replace(step, data=data[:start] + data[start + size :])
        size //= 2


def _paused(case: Case) -> Case:
    return replace(case, steps=tuple(_paused_step(step) for step in case.steps))


def _paused_step(step: Step) -> Step:
    cuts = _cuts(step)
    return replace(step, manner=Slow(PAUSE_S, cuts)) if 0 < len(cuts) <= MOST_PAUSES else step


def _cuts(step: Step) -> tuple[int, ...]:
    if isinstance(step.manner, SplitAt):
        return step.manner.offsets
    return tuple(range(1, len(step.data))) if isinstance(step.manner, ByteByByte) else ()


def confirm(
    prober: Prober, cases: Cases, violated: str, *, told: Callable[[Suspicion], None]
) -> tuple[int, int]:
    """Run cases several times on fresh connections; return how often they showed it, of how many.

    `told` hears of every time that they did. Where no time is left there are no runs. Memory that
    climbs now and then is what a process does: unless it does most times, it never did.
    """
    shown = runs = 0
    for _ in range(FEWER_TIMES if violated in PATIENT else TIMES):
        if prober.out_of_time():
            break
        suspicion = prober.probe(cases, violated)
        if suspicion is None and prober.out_of_time():
            break  # time was over before anything could be seen
        runs += 1
        if suspicion is not None:
            shown += 1
            told(suspicion)
    if violated == MEMORY and shown * 2 <= runs:
        shown = 0
    return shown, runs
