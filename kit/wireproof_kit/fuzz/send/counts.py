"""What became of the cases that one worker of a campaign sent, in numbers."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from wireproof_kit.fuzz.case import Case

Unjudged: TypeAlias = tuple[str, str, str]
"""Why a case was not judged in full, its frame kind and its state."""


@dataclass(slots=True)
class Counts:
    """How many cases were sent, on shared connections (`piped`) or their own, and in what time.

    `calm` counts those of batches in which nothing was wrong, in `calm_s`. `exercised_s` are the
    seconds of exercises, `exercised` how often each was done. `unjudged` counts the cases not all
    of whose answers were judged.
    """

    piped: int = 0
    piped_s: float = 0.0
    single: int = 0
    single_s: float = 0.0
    answers: int = 0
    left: int = 0
    calm: int = 0
    calm_s: float = 0.0
    exercised_s: float = 0.0
    exercised: Counter[str] = field(default_factory=Counter[str])
    unjudged: dict[Unjudged, int] = field(default_factory=dict[Unjudged, int])

    @property
    def sending_s(self) -> float:
        """The seconds of sending cases and of awaiting their answers."""
        return self.piped_s + self.single_s

    def leave_unjudged(self, why: str, cases: Iterable[Case]) -> None:
        """Count cases not all of whose answers were judged, by why that was."""
        for case in cases:
            key = why, case.frame_kind, case.state
            self.unjudged[key] = self.unjudged.get(key, 0) + 1
