"""The more general forms of a case: one bug has one finding, named after what it needs."""

from collections.abc import Iterator
from dataclasses import replace

from wireproof_kit.fuzz.case import GRAMMAR, WHOLE, Case, Hold, Step, WriteStyle
from wireproof_kit.fuzz.driver import Generation
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT, nothing_in
from wireproof_kit.fuzz.generate.mutations import FRAME


def general_forms(case: Case, generation: Generation) -> Iterator[Case]:
    """Yield simpler cases that show the bug of a case if it does not need the mutation.

    First a connection on which nothing is sent, then the state alone, then the valid frame that
    the case was made from. A bug that shows there would be found once more for every frame and
    field. A case that is held open is held in these forms, too.
    """
    style = case.steps[-1].style
    held: WriteStyle = style if isinstance(style, Hold) else WHOLE
    start = generation.start(case.state)
    if start is not None:
        yield nothing_in(case, start, NOTHING_SENT, held)
    if generation.enter(case.state):
        yield nothing_in(case, case.state, case.state, held)
    right = generation.right(case)
    if right is not None and case.mutation != GRAMMAR:
        *before, last = right.steps
        yield replace(right, steps=(*before, replace(last, style=held)))


def from_the_start(case: Case, generation: Generation) -> Case | None:
    """Return the case with the bytes that enter its state as steps, so that each can be left out.

    None if its connections are in no state.
    """
    entered = generation.enter(case.state)
    start = generation.start(case.state)
    if not entered or start is None:
        return None
    used = sorted({step.connection for step in case.steps})
    before = tuple(replace(step, connection=each) for each in used for step in entered)
    return replace(case, state=start, steps=(*before, *case.steps))


def named_by_what_is_left(case: Case) -> Case:
    """Return a minimized case, named by its last frame if that which it was named after is gone.

    The mutated frame may have been left out, as what brings a connection into a state shows the
    anomaly alone; and of a conversation one connection may be left.
    """
    kinds = [kind_in(step) for step in case.steps]
    is_there = case.frame_kind in kinds or len({step.connection for step in case.steps}) > 1
    if is_there or not kinds[-1] or NOTHING_SENT in (case.frame_kind, case.field):
        return case
    return replace(case, frame_kind=kinds[-1], field=FRAME, mutation=GRAMMAR)


def kind_in(step: Step) -> str:
    """Return the kind of frame that the label of a step names; labels may begin with a number."""
    first, _, rest = step.label.partition(": ")
    return rest.partition(": ")[0] if first.isdigit() else first
