"""What a campaign needs to begin: what one worker is to do, and where its target is."""

from dataclasses import dataclass
from typing import Protocol

from wireproof_kit.fuzz.driver import Choice, Grounds
from wireproof_spec.record import FindingRecord


class Arena(Protocol):
    """Where a target is, and how it comes back to life."""

    def open(self) -> Grounds:
        """Open the target, which is well."""
        ...

    def revive(self, *, stuck: bool = False) -> bool:
        """Bring a dead target back, or one that is stuck; tell whether it lives."""
        ...

    @property
    def can_restart(self) -> bool:
        """Tell whether one that is stuck can be replaced."""
        ...

    @property
    def pid(self) -> int | None:
        """The target's process, if it is on this machine and known."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What one worker is to do: batches `worker`, `worker` + `workers` and so on, from `first`.

    Unless `hazardous`, cases are left out that may touch what was on the target before.
    """

    choice: Choice
    time_s: float | None = None
    cases: int | None = None
    worker: int = 0
    workers: int = 1
    first: int = 0
    hazardous: bool = True
    stop_at_first: bool = False
    shrink: bool = True
    corpus: tuple[FindingRecord, ...] = ()
