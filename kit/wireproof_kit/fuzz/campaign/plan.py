"""The inputs of a campaign: the plan of a worker, and its target."""

from dataclasses import dataclass
from typing import Protocol

from wireproof_kit.fuzz.campaign.last_words import LastWords
from wireproof_kit.fuzz.driver import Choice, FuzzSession
from wireproof_spec.fuzz_record import FindingRecord


class FuzzTarget(Protocol):
    """The target of a campaign: opens sessions on it, and restarts it."""

    def open(self) -> FuzzSession:
        """Open a session on the target, which must be healthy."""
        ...

    def revive(self, *, stuck: bool = False) -> bool:
        """Restart the target if it ended or is stuck; return True if it runs."""
        ...

    def restart(self) -> bool:
        """Restart a working target with its data; return True if it runs again."""
        ...

    def leave_alive(self) -> None:
        """Restart the target if it is dead and can be restarted: the campaign has ended."""
        ...

    @property
    def can_restart(self) -> bool:
        """Whether a stuck target can be restarted."""
        ...

    @property
    def may_restart(self) -> bool:
        """Whether a campaign may restart a working target as one of its inputs."""
        ...

    @property
    def last_words(self) -> LastWords:
        """A function that returns log lines since its last call that say why the target died."""
        ...

    @property
    def pid(self) -> int | None:
        """The target's process, if it is on this machine and known."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """What one worker of a campaign does, and for how long.

    Its batches are `worker`, `worker` + `workers` and so on, from `first`. Unless `hazardous`, it
    leaves out cases that may affect data that was on the target before.
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
