"""Cases whose connections stay open, in states with the shortest intervals a broker grants."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from wireproof_kit.fuzz.case import GRAMMAR, Case, Hold, Step, WriteStyle
from wireproof_kit.fuzz.generate.random_source import RandomSource

HOLD_S: Final = 2.5
"""Seconds that a connection is held open: 2.5 of the shortest heartbeat intervals."""
NOTHING_SENT: Final = "-"
"""The frame kind of a case that only enters a state, and its field if the state needs no steps."""
EXERCISE_EVERY: Final = 2048
"""The number of cases between two with the same exercise, which takes some seconds."""
EXERCISE_AT: Final = 256
"""The index of the first case with an exercise, in the second batch of a campaign.

Each following exercise is in the next batch.
"""
HELD: Final = ", held open"
"""Appended to the name of the mutation of a case whose connection is held open."""


class HeldCases:
    """Changes cases so that their connection stays open for some seconds after the bytes.

    `beating` maps a state to the one that also asks the broker for its shortest intervals.
    """

    def __init__(
        self, beating: Mapping[str, str], frames: Sequence[str], states: Sequence[str]
    ) -> None:
        """Choose states by name; if frames are chosen, each case sends one. Empty means all."""
        self._beating = beating
        there = [twin for plain, twin in beating.items() if not states or plain in states]
        self._idle = () if frames else tuple(there)

    def hold(self, case: Case, source: RandomSource) -> Case:
        """Return the case with its connection held open after its only step.

        The case is unchanged if `beating` has no state for it. Every other case sends nothing: it
        tries only the state, and time.
        """
        state = self._beating.get(case.state)
        if state is None or len(case.steps) != 1:
            return case
        if self._idle and source.below(2):
            state = source.one_of(self._idle)
            return nothing_in(case, state, state, Hold(HOLD_S))
        return replace(
            case,
            state=state,
            mutation=case.mutation + HELD,
            steps=(replace(case.steps[0], style=Hold(HOLD_S)),),
        )


def nothing_in(case: Case, state: str, field: str, style: WriteStyle) -> Case:
    """Return a case that brings a connection into a state and sends nothing else."""
    return replace(
        case,
        state=state,
        frame_kind=NOTHING_SENT,
        field=field,
        mutation=GRAMMAR,
        steps=(Step(b"", style, label="nothing"),),
        delimited=False,
        hazardous=False,
    )
