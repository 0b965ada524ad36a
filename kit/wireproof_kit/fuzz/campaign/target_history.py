"""What a campaign has sent to its target since that was started, and how the target died."""

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from wireproof_kit.fuzz.campaign.last_words import LastWords
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.oracle.rules import DEAD
from wireproof_kit.fuzz.triage.anomaly import Anomaly

MOST_BATCHES: Final = 64
"""How many batches are remembered, and sent again to find what killed the target."""

Traffic: TypeAlias = frozenset[tuple[str, str]]
"""State and frame kind of each case whose connections were open."""


@dataclass(slots=True)
class Death:
    """One death of the target, with what was sent before.

    `at_s` counts seconds from the campaign's start; `up_s` and `cases` count from the target's
    start. `suspects` are the likely causes, `words` the last lines of its log. It is `attributed`
    once a finding names the cases that cause it.
    """

    at_s: float
    up_s: float
    cases: int
    suspects: tuple[Case, ...]
    words: str = ""
    attributed: bool = False

    @property
    def traffic(self) -> Traffic:
        """The states and frame kinds of the suspects."""
        return frozenset((case.state, case.frame_kind) for case in self.suspects)


@dataclass(slots=True)
class TargetHistory:
    """The batches sent since the target was started, and all its deaths in a campaign.

    `past` are the numbers of the batches before the latest death; `up_s` is how long they took.
    `repeated` counts the deaths of cases that were repeated, which `deaths` does not have.
    """

    started: float = field(default_factory=time.monotonic)
    deaths: list[Death] = field(default_factory=list[Death])
    repeated: int = 0
    past: tuple[int, ...] = ()
    up_s: float = 0.0
    _batches: deque[int] = field(default_factory=lambda: deque[int](maxlen=MOST_BATCHES))
    _cases: int = 0

    def begin(self, *, has_data: bool) -> None:
        """Record a start of the target; forget earlier batches unless it still has their data."""
        self.started = time.monotonic()
        self._cases = 0
        if not has_data:
            self._batches.clear()

    def add(self, batch: int, cases: int) -> None:
        """Record that a batch was sent, with its number of cases."""
        self._batches.append(batch)
        self._cases += cases

    def note_death(self, found: Iterable[Anomaly], at_s: float, last_words: LastWords) -> None:
        """Add a death if the anomalies of the latest batch contain one."""
        dead = next((each for each in found if each.trouble.violated == DEAD), None)
        if dead is None:
            return
        self.up_s = time.monotonic() - self.started
        self.past = tuple(self._batches)
        suspects = dead.batch[: dead.likely] or ((dead.case,) if dead.case else dead.batch)
        death = Death(round(at_s, 3), self.up_s, self._cases, suspects, last_words())
        self.deaths.append(death)

    def attribute(self) -> None:
        """Mark the latest death as explained by a finding."""
        if self.deaths:
            self.deaths[-1].attributed = True

    @property
    def last_words(self) -> str:
        """The lines that the target logged before its latest death, as to why it died."""
        return self.deaths[-1].words if self.deaths else ""

    @property
    def unattributed(self) -> tuple[Death, ...]:
        """The deaths that no finding explains."""
        return tuple(death for death in self.deaths if not death.attributed)
