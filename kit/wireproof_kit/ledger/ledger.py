"""The ledger of a run: reads the transcripts of all cases, concludes what arrived."""

from collections.abc import Iterable
from typing import Protocol

from wireproof_kit.ledger.outcomes import Outcomes
from wireproof_kit.wire.transcript import Step


class Ledger(Protocol):
    """Judges what a target delivered in the cases of one run; not thread-safe."""

    def read(self, case: str, steps: Iterable[Step]) -> None:
        """Read the steps of one run of a case."""
        ...

    def conclude(self) -> Outcomes:
        """Judge all deliveries read so far; call this once, after the last case."""
        ...
