"""A target opened for fuzzing: the part that all protocols share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from wireproof_kit.fuzz.driver import Choice, Generation, Health, Oracle
from wireproof_kit.runner.patience import Patience, machine_load


class TargetSession(Protocol):
    """The part of a protocol's session that the fuzzer uses."""

    @property
    def patience(self) -> Patience:
        """The waiting times measured for this target."""
        ...

    def fingerprint(self) -> Mapping[str, str]:
        """Return the properties that the target reports."""
        ...


@dataclass(frozen=True, slots=True)
class OpenTarget:
    """An open fuzz target, assembled from the parts that a protocol provides.

    `generate` makes cases for the names that exist; `end` ends the session, and deletes what it
    created unless its argument is True. ``not_tried`` says what is left out, and why.
    """

    session: TargetSession
    oracle: Oracle
    health: Health
    names: Mapping[str, str]
    generate: Callable[[Choice], Generation]
    end: Callable[[bool], None]
    not_tried: str = ""

    @property
    def patience_s(self) -> float:
        """The seconds after which an answer is overdue; more while this machine is busy."""
        return self.session.patience.answer * machine_load()

    @property
    def patience(self) -> Patience:
        """The waiting times measured for the target."""
        return self.session.patience

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The properties that the target reports, and what of it is not tried."""
        told = self.session.fingerprint()
        return {**told, "not_tried": self.not_tried} if self.not_tried else told

    def generation(self, choice: Choice) -> Generation:
        """Return the chosen cases, with the names that exist on this target."""
        return self.generate(choice)

    def close(self, *, leave: bool = False) -> None:
        """Delete what the session created unless ``leave``; end all connections."""
        self.health.close()
        self.end(leave)
