"""The ledger of a run: reads the transcripts of all cases, concludes what arrived."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from wireproof_kit.ledger.outcomes import Outcomes
from wireproof_kit.wire.transcript import Step


class Ledger(Protocol):
    """Judges what a target delivered in the cases of one run; not thread-safe."""

    def read(self, case: str, steps: Iterable[Step], started_ms: float | None = None) -> None:
        """Read the steps of one run of a case.

        ``started_ms`` is when its transcript began, in milliseconds since 1970 by the kit's clock;
        a bundle does not tell it.
        """
        ...

    def conclude(self) -> Outcomes:
        """Judge all deliveries read so far; call this once, after the last case."""
        ...


@runtime_checkable
class OpensLedger(Protocol):
    """A session with a target of which there are rules of content."""

    def open_ledger(self) -> Ledger:
        """Return what judges the messages of all cases of a run; call this after `bind`."""
        ...
