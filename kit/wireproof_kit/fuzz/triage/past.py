"""Finds the cases that kill a target only together with those before them.

A broker may die of the sixtieth connection, not of one frame. The recent past of the campaign is
sent to a fresh target for each probe. Leaving cases out, as for other anomalies, would find
nothing: where sixty alike are needed, neither half has them. So a half of the cases is sent again
and again, until as many were sent as before. Of what was sent before and after a restart, halves
are left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Final, Protocol

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.triage.anomaly import Anomaly

MOST_CULPRITS: Final = 256
"""The most cases that explain a death; among more, nobody can tell which ones do."""
LEAST_SENT: Final = 512
"""The fewest cases that are sent, even if few kinds of them remain."""


class FreshProber(Protocol):
    """Sends cases to a target that was just started."""

    def probe_fresh(self, cases: Sequence[Case], wait_s: float) -> Anomaly | None:
        """Send cases to a newly started target; return its death if it dies within `wait_s`."""
        ...

    def out_of_time(self) -> bool:
        """Return True if no time is left."""
        ...


@dataclass(slots=True)
class PastSearch:
    """Searches the cases that killed the target among all that were sent before its death.

    `wait_s` is how long a target may take to die after the last case. `last` is the latest death
    that a probe caused.
    """

    prober: FreshProber
    wait_s: float = 0.0
    last: Anomaly | None = None

    def culprits(self, past: Sequence[Case]) -> tuple[Case, ...]:
        """Return few cases that kill a newly started target, in order of sending, or none.

        `past` are the cases sent before the death.
        """
        restarts = [at for at, case in enumerate(past) if case.is_restart]
        if not restarts:
            return self._few_alike(past)
        after = past[restarts[-1] + 1 :]
        # A restart may have ended a past that is long enough only without it.
        plain = [case for case in past if not case.is_restart]
        return (
            self._few_alike(after)
            or self._few_alike(plain)
            or self._across(past[: restarts[-1]], past[restarts[-1] :])
        )

    def _across(self, before: Sequence[Case], after: Sequence[Case]) -> tuple[Case, ...]:
        """Return few cases before and after a restart, which `after` begins with, that kill."""
        if not self.kills((*before, *after)):
            return ()
        before = self._fewest(before, lambda part: (*part, *after))
        few = self._fewest(after[1:], lambda part: (*before, after[0], *part))
        found = (*before, after[0], *few)
        return found if len(found) <= MOST_CULPRITS else ()

    def _fewest(
        self, cases: Sequence[Case], within: Callable[[Sequence[Case]], Sequence[Case]]
    ) -> Sequence[Case]:
        """Return a part of the cases that kills a target within others, by halves."""
        while cases:
            middle = len(cases) // 2
            halves = (cases[middle:], cases[:middle]) if middle else ((),)
            shown = next((half for half in halves if self.kills(within(half))), None)
            if shown is None:
                break
            cases = shown
        return cases

    def _few_alike(self, past: Sequence[Case]) -> tuple[Case, ...]:
        """Return few cases that kill a target when they are sent often enough."""
        if not past:
            return ()
        if not self.kills(past):
            # Searches between the batches are no part of the past, but the target may count them.
            past = [*past, *past]
            if not self._kills_at_once(past):
                return ()
        few = self._latest(list(past))
        total = max(len(few), LEAST_SENT)
        kinds = self._halve(few, total)
        again = self._fill(kinds, total) if len(kinds) < len(few) else few
        shortest = self._shortest(again)
        return tuple(shortest) if len(shortest) <= MOST_CULPRITS else ()

    def _latest(self, past: list[Case]) -> list[Case]:
        """Return the latest cases that still kill a target, at most twice as many as it takes."""
        while len(past) > LEAST_SENT:
            half = past[len(past) // 2 :]
            if not self.kills(half):
                break
            past = half
        return past

    def _halve(self, cases: list[Case], total: int) -> list[Case]:
        """Return fewer cases that kill a target when they are repeated `total` times in all."""
        while len(cases) > 1:
            middle = len(cases) // 2
            halves = (cases[middle:], cases[:middle])
            shown = next((half for half in halves if self.kills(self._fill(half, total))), None)
            if shown is None:
                break
            cases = shown
        return cases

    def _shortest(self, cases: list[Case]) -> list[Case]:
        """Return the shortest beginning of the cases that still kills a target."""
        low, high = 0, len(cases)
        while high - low > 1:
            middle = (low + high) // 2
            if self.kills(cases[:middle]):
                high = middle
            elif self.prober.out_of_time():
                break
            else:
                low = middle
        return cases[:high]

    def _fill(self, cases: Sequence[Case], total: int) -> list[Case]:
        return list(islice(cycle(cases), total))

    def _kills_at_once(self, cases: Sequence[Case]) -> bool:
        """Return True if a fresh target dies of the cases before they are all sent."""
        waited, self.wait_s = self.wait_s, 0.0
        if self.kills(cases):
            return True
        self.wait_s = waited
        return False

    def kills(self, cases: Sequence[Case]) -> bool:
        """Return True if a newly started target dies of the cases, and there was time to try."""
        if self.prober.out_of_time():
            return False
        found = self.prober.probe_fresh(cases, self.wait_s)
        if found is None:
            return False
        if found.batch:
            self.wait_s = 0.0  # it dies of what is sent, not of the time that passes
        self.last = found
        return True
