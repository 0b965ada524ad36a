"""The blocklist of a campaign: cases that cost a restart or a full timeout, sent no more."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Generation
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.json_members import (
    Members,
    find_members,
    has_members_like,
    leave_out,
)
from wireproof_kit.fuzz.triage.finding import Finding

DEADLY: Final = 4
"""How often a known death comes before the field that causes it is no longer made wrong."""
MOST_DEADLY: Final = 3 * DEADLY
"""How often it comes before its frame kind is no longer sent at all."""
Trigger = tuple[str, str, str]
"""The frame kind, field and mutation of a case."""


@dataclass(slots=True)
class Blocklist:
    """Mutations of fields, whole fields, valid frames and frame kinds that are no longer sent."""

    triggers: set[Trigger] = field(default_factory=set[Trigger])
    fields: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    kinds: set[str] = field(default_factory=set[str])
    frames: set[bytes] = field(default_factory=set[bytes])
    documents: list[Members] = field(default_factory=list[Members])
    """The members of JSON documents that kill the target, and no others of theirs."""

    def add(self, case: Case) -> None:
        """Block all cases with the frame kind, field and mutation of the given case."""
        self.triggers.add((case.frame_kind, case.field, case.mutation))

    def add_deadly(self, finding: Finding) -> None:
        """Block the field of a death that came often, or its frame kind if it comes all the same.

        Each death costs a restart of the target, and the batch in which it comes. A frame kind is
        given up last: other faults may be in it.
        """
        kind, inside = finding.signature.frame_kind, finding.signature.field
        if kind in ("", NOTHING_SENT):
            return
        if finding.seen >= DEADLY:
            self.fields.add((kind, inside))
        if finding.seen >= MOST_DEADLY:
            self.kinds.add(kind)

    def add_document(self, finding: Finding) -> None:
        """Block JSON documents with members like those that are left in a case made smaller.

        A document that is a small part of what is sent says nothing of its cause.
        """
        for step in finding.case.steps:
            members = find_members(step.data)
            if members and 2 * len(json.dumps(members)) > len(step.data):
                self.documents.append(members)
                self.frames -= {each for each in self.frames if has_members_like(each, members)}

    def spare(self, case: Case) -> Case:
        """Return the case without the members of each document that kills the target.

        Most cases have such members by chance, and try another one; what the mutation names stays.
        """
        for known in self.documents:
            names = known.keys() - set(case.mutation.split())
            if names and any(has_members_like(step.data, known) for step in case.steps):
                steps = (replace(step, data=leave_out(step.data, names)) for step in case.steps)
                case = replace(case, steps=tuple(steps))
        return case

    def add_frame(self, right: Case) -> None:
        """Block the valid frame that the case `right` sends, and all cases mutated from it."""
        self.frames.update(step.data for step in right.steps)

    def holds(self, case: Case, generation: Generation | None) -> bool:
        """Return True if a case is blocked."""
        if (case.frame_kind, case.field, case.mutation) in self.triggers:
            return True
        if case.frame_kind in self.kinds or (case.frame_kind, case.field) in self.fields:
            return True
        if any(has_members_like(s.data, known) for known in self.documents for s in case.steps):
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
