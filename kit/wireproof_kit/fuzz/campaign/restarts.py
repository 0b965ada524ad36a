"""Restarts of the target as inputs: some brokers die of what they stored, as they start."""

from collections.abc import Iterator, Sequence
from typing import Final

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import DEAD
from wireproof_kit.fuzz.triage.anomaly import Anomaly

NOT_STARTED: Final = "does not start again with the data that it has"


def split_at_restarts(cases: Sequence[Case]) -> Iterator[tuple[Sequence[Case], Case | None]]:
    """Yield the cases before each restart, with that restart; at the end those after the last."""
    first = 0
    for at, case in enumerate(cases):
        if case.is_restart:
            yield cases[first:at], case
            first = at + 1
    if first < len(cases):
        yield cases[first:], None


def not_started(restart: Case) -> Anomaly:
    """Return the anomaly of a target that does not start again after a restart."""
    return Anomaly(Trouble(DEAD, NOT_STARTED), (restart,), restart, DEAD)
