"""The blocklist of a campaign: cases that cost a restart or a full timeout, sent no more."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Generation
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.triage.finding import Finding

DEADLY: Final = 4
"""How often a known death comes before its frame kind is no longer sent."""
Trigger = tuple[str, str, str]
"""The frame kind, field and mutation of a case."""


@dataclass(slots=True)
class Blocklist:
    """The mutations of fields, the valid frames and the frame kinds that are no longer sent."""

    triggers: set[Trigger] = field(default_factory=set[Trigger])
    kinds: set[str] = field(default_factory=set[str])
    frames: set[bytes] = field(default_factory=set[bytes])

    def add(self, case: Case) -> None:
        """Block all cases with the frame kind, field and mutation of the given case."""
        self.triggers.add((case.frame_kind, case.field, case.mutation))

    def add_deadly(self, finding: Finding) -> None:
        """Block the frame kind of a death that came often, whatever is mutated in it.

        Each death costs a restart of the target, and the batch in which it comes.
        """
        kind = finding.signature.frame_kind
        if finding.seen >= DEADLY and kind not in ("", NOTHING_SENT):
            self.kinds.add(kind)

    def add_frame(self, right: Case) -> None:
        """Block the valid frame that the case `right` sends, and all cases mutated from it."""
        self.frames.update(step.data for step in right.steps)

    def holds(self, case: Case, generation: Generation | None) -> bool:
        """Return True if a case is blocked."""
        if (case.frame_kind, case.field, case.mutation) in self.triggers:
            return True
        if case.frame_kind in self.kinds:
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
