"""Cases whose connections stay open, in states with the shortest intervals a broker grants."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from wireproof_kit.fuzz.case import GRAMMAR, Case, Hold, Step, WriteStyle
from wireproof_kit.fuzz.generate.random_source import RandomSource

HOLD_S: Final = 2.5
"""Two of the shortest heartbeat intervals, and half of one more."""
NOTHING_SENT: Final = "-"
"""The frame kind of a case that only enters a state, and its field if the state needs no steps."""
RETURNED_EVERY: Final = 2048
"""One in this many cases asks a bystander to return many messages: a second or two each time."""
RETURNED_AT: Final = 256
"""The first case that asks for it, in the second batch of a campaign."""
HELD: Final = ", held open"
"""Behind the mutation of a case that is held."""


class HeldCases:
    """Makes held cases out of others; `beating` has for states the one with short intervals."""

    def __init__(
        self, beating: Mapping[str, str], frames: Sequence[str], states: Sequence[str]
    ) -> None:
        """Choose states by name; if frames are chosen, each case sends one. Empty means all."""
        self._beating = beating
        there = [twin for plain, twin in beating.items() if not states or plain in states]
        self._idle = () if frames else tuple(there)

    def hold(self, case: Case, source: RandomSource) -> Case:
        """Return the case held open after its only step; unchanged if its state has no twin.

        Every other case sends nothing: then the state alone, and time, are what is tried.
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
    """Return a case that only enters a state."""
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
