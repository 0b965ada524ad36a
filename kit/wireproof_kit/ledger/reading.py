"""Reads the transcripts of a run's cases into entries and events, whatever the protocol."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from wireproof_kit.ledger.entries import C, Entry
from wireproof_kit.wire.transcript import Step

E = TypeVar("E")
"""What happens to deliveries besides publishes, as a protocol describes it."""


class CaseReader(Protocol[C, E]):
    """Reads the steps of one run of a case."""

    entries: list[Entry[C]]
    events: list[E]

    def see(self, step: Step) -> None:
        """Read a step."""
        ...

    def close(self) -> None:
        """Settle what has no answer: it is only possible."""
        ...


class RunReading(ABC, Generic[C, E]):
    """The entries and events of all cases of a run; ``orders`` counts the steps of all cases."""

    def __init__(self) -> None:
        self.entries: list[Entry[C]] = []
        self.events: list[E] = []
        self.orders = itertools.count(1)

    @abstractmethod
    def open_case(self, case: str) -> CaseReader[C, E]:
        """Return a reader for the transcript of one run of a case."""

    def read(self, case: str, steps: Iterable[Step]) -> None:
        """Read all steps of one run of a case."""
        reader = self.open_case(case)
        for step in steps:
            reader.see(step)
        reader.close()
        self.entries += reader.entries
        self.events += reader.events
