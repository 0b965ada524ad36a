"""From a suspicion to a finding that is kept: hunted, made small, confirmed, recorded."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from wireproof_kit.fuzz.campaign.batches import Batches
from wireproof_kit.fuzz.campaign.blocklist import is_like_another
from wireproof_kit.fuzz.campaign.plan import Plan
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.oracle.rules import DEAD, HUNG, LINGERS
from wireproof_kit.fuzz.triage.anomaly import Suspicion
from wireproof_kit.fuzz.triage.consequences import (
    ANSWERED,
    LATE,
    NO_TIME,
    SILENT,
    STAYS_DEAD,
    STAYS_HUNG,
)
from wireproof_kit.fuzz.triage.finding import Finding, signature_of
from wireproof_kit.fuzz.triage.findings import Findings
from wireproof_kit.fuzz.triage.minimize import COSTLY, Hunt, confirm
from wireproof_kit.wire.transcript import Transcript

HUNT_S: Final = 30.0
"""Seconds at most between a suspicion and the cases that raise it."""
CONFIRM_S: Final = 10.0
"""Seconds that there are to confirm them, though finding them took all: what showed once may have
been a busy machine."""
SHRINK_S: Final = 15.0
"""Of these, so many at most to make it small; as much as that is left to confirm it."""


class Ground(Protocol):
    """Where a pursuit takes place: a campaign, whose target it may ask and bring back."""

    @property
    def plan(self) -> Plan:
        """What was asked for."""
        ...

    @property
    def batches(self) -> Batches:
        """The cases, and which of them are avoided."""
        ...

    @property
    def findings(self) -> Findings:
        """What is known, and where more is kept."""
        ...

    @property
    def died(self) -> bool:
        """Whether the target ended for good."""
        ...

    @property
    def elapsed_s(self) -> float:
        """Seconds since the campaign's start."""
        ...

    @property
    def left_s(self) -> float:
        """Seconds until the campaign's end."""
        ...

    def is_over(self) -> bool:
        """Tell whether the campaign shall end."""
        ...

    def probe(self, cases: Sequence[Case], violated: str) -> Suspicion | None:
        """Perform cases on fresh connections; return a suspicion of that kind if they raise it."""
        ...

    def heal(self, found: Sequence[Suspicion]) -> bool:
        """Bring the target back if it needs that; tell whether it is well."""
        ...

    def recorded(self, cases: Sequence[Case]) -> Transcript:
        """Return the exchange of cases sent once more."""
        ...


@dataclass(slots=True)
class Pursuit:
    """The pursuits of a campaign, one at a time; ``spent_s`` are the seconds of all."""

    ground: Ground
    spent_s: float = 0.0
    until: float = 0.0

    def follow_all(self, found: Sequence[Suspicion], enough: Callable[[], bool]) -> None:
        """Find out what raised the suspicions of one batch, until there is enough.

        When neither a silence nor the whole batch shows any silence again, the machine stood
        still: then nobody asks for each of the others what it was.
        """
        stood_still = False
        for suspicion in found:
            if enough():
                return
            is_silent = suspicion.trouble.violated in SILENT
            if is_silent and stood_still:
                self.ground.findings.not_again += 1
            elif not self.follow(suspicion):
                stood_still = stood_still or is_silent

    def follow(self, suspicion: Suspicion) -> bool:
        """Find out what raised a suspicion, unless that is known; tell whether it came again."""
        if self.ground.findings.is_known(suspicion):
            return True
        started = time.monotonic()
        self.until = started + HUNT_S
        came_again = True
        if not self.ground.heal([suspicion]):
            self._keep_last_words(suspicion)
        else:
            came_again = self._hunt(suspicion)
        self.spent_s += time.monotonic() - started
        return came_again

    def probe(self, cases: Sequence[Case], violated: str) -> Suspicion | None:
        """Ask the target, as the campaign does."""
        return self.ground.probe(cases, violated)

    def out_of_time(self) -> bool:
        """Tell whether no more time is left for what the pursuit is at."""
        return time.monotonic() > self.until or self.ground.is_over()

    def _hunt(self, suspicion: Suspicion) -> bool:
        hunt = Hunt(self, suspicion.trouble.violated)
        cases = hunt.culprits(suspicion)
        if cases:
            self._caught(hunt, suspicion, cases)
        else:
            self._keep_unconfirmed(suspicion)
        return bool(cases)

    def _caught(self, hunt: Hunt, suspicion: Suspicion, cases: tuple[Case, ...]) -> None:
        """Make cases that raised it again small, confirm them and record what they are."""
        ground = self.ground
        is_known = is_like_another(ground.findings.by_id.values(), hunt.violated, cases[-1])
        cases = self._in_right_form(hunt, cases)
        if suspicion.trouble.violated not in ANSWERED:
            ground.batches.avoided.add(cases[-1])
        if ground.findings.is_seen_again(signature_of(suspicion, cases[-1])):
            return
        if not (is_known and hunt.violated in (*COSTLY, LINGERS)):
            cases = hunt.at_leisure(cases)
            cases = self._shrunk(hunt, cases) if ground.plan.shrink else cases
        again = hunt.again
        self.until = max(self.until, time.monotonic() + CONFIRM_S)
        shown, runs = confirm(self, cases, suspicion.trouble.violated, told=again.append)
        if not runs:
            if suspicion.trouble.violated in SILENT:
                self._keep(suspicion, cases, shown=0, why=NO_TIME)
                return
            shown = runs = 1  # the one that told which cases they are
        if not shown:
            self._keep_unconfirmed(suspicion)
            return
        trouble = again[-1].trouble
        signature = signature_of(again[-1], cases[-1])
        if ground.findings.is_seen_again(signature):
            return
        ground.findings.add(
            Finding(
                signature,
                trouble,
                ground.plan.choice.seed,
                cases,
                shown,
                runs,
                ground.recorded(cases),
                round(ground.elapsed_s, 3),
            )
        )

    def _in_right_form(self, hunt: Hunt, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return the frame that a case was made from, where that costs as much as the case."""
        generation = self.ground.batches.generation
        if generation is None or hunt.violated not in COSTLY or len(cases) != 1:
            return cases
        right = generation.right(cases[0])
        if right is None or not hunt.shows((right,)):
            return cases
        self.ground.batches.avoided.add_frame(right)
        return (right,)

    def _shrunk(self, hunt: Hunt, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Make a finding smaller for as long as it can be confirmed afterwards."""
        now, until = time.monotonic(), self.until
        left_s = min(until - now, self.ground.left_s)
        self.until = now + min(SHRINK_S, left_s / 2)
        cases = hunt.smallest(cases)
        self.until = until
        return cases

    def _keep_unconfirmed(self, suspicion: Suspicion) -> None:
        """Keep what was seen once and never again, unless the machine may have been slow."""
        violated = suspicion.trouble.violated
        if violated == HUNG and self.ground.is_over():
            self._keep(suspicion, suspicion.suspects, shown=0, why=NO_TIME)
        elif violated in LATE or suspicion.case is None:
            self.ground.findings.not_again += 1
        else:
            self._keep(suspicion, (suspicion.case,), shown=0)

    def _keep_last_words(self, suspicion: Suspicion) -> None:
        """Keep those of which the target died or hangs, when it cannot be asked again."""
        is_dead, died = suspicion.trouble.violated == DEAD, self.ground.died
        why = NO_TIME if not died else STAYS_DEAD if is_dead else STAYS_HUNG
        self._keep(suspicion, suspicion.suspects, shown=int(is_dead or died), why=why)

    def _keep(
        self, suspicion: Suspicion, cases: tuple[Case, ...], *, shown: int, why: str = ""
    ) -> None:
        at_s = round(self.ground.elapsed_s, 3)
        self.ground.findings.add_once(suspicion, cases, shown=shown, at_s=at_s, why=why)
