"""The more general forms of a case: one bug has one finding, named after what it needs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from wireproof_kit.fuzz.case import GRAMMAR, Case, Step
from wireproof_kit.fuzz.driver import Generation

NOTHING_SENT: Final = "-"
"""The frame kind and field of a case that only enters a state."""


def general_forms(case: Case, generation: Generation) -> Iterator[Case]:
    """Yield the cases that show a bug which does not depend on what was mutated.

    First the state alone, with nothing sent in it; then the valid frame that the case was made
    from. A bug that shows there would be found once more for every frame and field.
    """
    yield replace(
        case,
        frame_kind=NOTHING_SENT,
        field=NOTHING_SENT,
        mutation=GRAMMAR,
        steps=(Step(b"", label="nothing"),),
        delimited=True,
        hazardous=False,
    )
    right = generation.right(case)
    if right is not None and case.mutation != GRAMMAR:
        yield right


def from_the_start(case: Case, generation: Generation) -> Case | None:
    """Return the case as steps from the start of its connections, so that all can be left out.

    None if its connections are in no state.
    """
    entered = generation.enter(case.state)
    start = generation.start(case.state)
    if not entered or start is None:
        return None
    used = sorted({step.connection for step in case.steps})
    before = tuple(replace(step, connection=each) for each in used for step in entered)
    return replace(case, state=start, steps=(*before, *case.steps))
