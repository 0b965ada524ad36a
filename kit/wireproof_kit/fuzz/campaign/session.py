"""A target opened for fuzzing: what is the same for every protocol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from wireproof_kit.fuzz.driver import Choice, Generation, Health, Referee
from wireproof_kit.runner.patience import Patience, machine_load


class Session(Protocol):
    """What a protocol's session knows of its target."""

    @property
    def patience(self) -> Patience:
        """How patient to be."""
        ...

    def fingerprint(self) -> Mapping[str, str]:
        """Return what the target says of itself."""
        ...


@dataclass(frozen=True, slots=True)
class OpenTarget:
    """An open target.

    `generate` makes cases for the names that are there; `end` ends the session, and deletes what
    was made unless told to leave it.
    """

    session: Session
    referee: Referee
    health: Health
    names: Mapping[str, str]
    generate: Callable[[Choice], Generation]
    end: Callable[[bool], None]

    @property
    def patience_s(self) -> float:
        """Seconds after which an answer is overdue; more while this machine is busy."""
        return self.session.patience.answer * machine_load()

    @property
    def patience(self) -> Patience:
        """What was measured of the target."""
        return self.session.patience

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """What the target says of itself."""
        return self.session.fingerprint()

    def generation(self, choice: Choice) -> Generation:
        """Return the cases wanted, for the names on this target."""
        return self.generate(choice)

    def close(self, *, leave: bool = False) -> None:
        """Delete what was made, unless told to leave it; end all connections."""
        self.health.close()
        self.end(leave)
