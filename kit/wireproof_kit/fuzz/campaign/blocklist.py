"""What has been found to cost much, a restart or all patience, and is sent no more."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Generation
from wireproof_kit.fuzz.triage.finding import Finding

Trigger = tuple[str, str, str]
"""Frame, field and mutation of a case."""


@dataclass(slots=True)
class Avoided:
    """Fields of frames with what was made wrong in them, and whole frames that were right."""

    triggers: set[Trigger] = field(default_factory=set[Trigger])
    frames: set[bytes] = field(default_factory=set[bytes])

    def add(self, case: Case) -> None:
        """Avoid what is as wrong as a case."""
        self.triggers.add((case.frame_kind, case.field, case.mutation))

    def add_frame(self, right: Case) -> None:
        """Avoid a frame that costs much as it should be, and all that is made from it."""
        self.frames.update(step.data for step in right.steps)

    def holds(self, case: Case, generation: Generation | None) -> bool:
        """Tell whether a case is one of those."""
        if (case.frame_kind, case.field, case.mutation) in self.triggers:
            return True
        if not self.frames or generation is None:
            return False
        right = generation.right(case)
        steps = case.steps if right is None else (*case.steps, *right.steps)
        return any(step.data in self.frames for step in steps)


def is_like_another(known: Iterable[Finding], violated: str, case: Case) -> bool:
    """Tell whether that was found of a field of a frame, in another state or another way."""
    there = (violated, case.frame_kind, case.field)
    return any(
        there == (each.signature.violated, each.signature.frame_kind, each.signature.field)
        for each in known
        if each.is_confirmed
    )
