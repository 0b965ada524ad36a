"""The blocklist of a campaign: cases that cost a restart or a full timeout, sent no more."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Generation
from wireproof_kit.fuzz.triage.finding import Finding

Trigger = tuple[str, str, str]
"""The frame kind, field and mutation of a case."""


@dataclass(slots=True)
class Blocklist:
    """The mutations of fields, and the valid frames, that a campaign no longer sends."""

    triggers: set[Trigger] = field(default_factory=set[Trigger])
    frames: set[bytes] = field(default_factory=set[bytes])

    def add(self, case: Case) -> None:
        """Block all cases with the frame kind, field and mutation of the given case."""
        self.triggers.add((case.frame_kind, case.field, case.mutation))

    def add_frame(self, right: Case) -> None:
        """Block the valid frame that the case `right` sends, and all cases mutated from it."""
        self.frames.update(step.data for step in right.steps)

    def holds(self, case: Case, generation: Generation | None) -> bool:
        """Return True if a case is blocked."""
        if (case.frame_kind, case.field, case.mutation) in self.triggers:
            return True
        if not self.frames or generation is None:
            return False
        right = generation.right(case)
        steps = case.steps if right is None else (*case.steps, *right.steps)
        return any(step.data in self.frames for step in steps)


def is_like_another(known: Iterable[Finding], violated: str, case: Case) -> bool:
    """Return True if a confirmed finding names the same violated rule, frame kind and field."""
    there = (violated, case.frame_kind, case.field)
    return any(
        there == (each.signature.violated, each.signature.frame_kind, each.signature.field)
        for each in known
        if each.is_confirmed
    )
