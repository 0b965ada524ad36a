"""Sorts a batch: what goes many at a time over one connection, and what gets its own.

It says what each case is owed, which takes longer than sending it: it is done piece by piece,
while the target is busy with the batch before.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Generation, Oracle
from wireproof_kit.fuzz.send.fresh_names import NO_RENAMING, Renaming
from wireproof_kit.fuzz.send.pipeline import PipelinedCase, is_pipeable

Trigger = tuple[str, str, str, str]
"""State, frame, field and mutation of a case."""


def trigger(case: Case) -> Trigger:
    """Return what a case has in common with others that do the same to a target."""
    return case.state, case.frame_kind, case.field, case.mutation


@dataclass(slots=True)
class Sorter:
    """Knows which cases leave their connection as it was; `closers` were seen not to."""

    oracle: Oracle
    generation: Generation
    renaming: Renaming = NO_RENAMING
    closers: set[Trigger] = field(default_factory=set[Trigger])
    _entries: dict[str, bytes] = field(default_factory=dict[str, bytes])
    _are_lanes: dict[str, bool] = field(default_factory=dict[str, bool])

    def sort_cases(self, cases: Iterable[Case], *, watch: bool) -> "SortedBatch":
        """Return a batch of these cases."""
        batch = SortedBatch(self, watch, len(self.closers))
        for case in cases:
            batch.add(case)
        return batch

    def entry(self, state: str) -> bytes:
        """Return the bytes that bring a connection into a state."""
        found = self._entries.get(state)
        if found is None:
            steps = self.renaming.steps(self.generation.enter(state))
            found = b"".join(step.data for step in steps)
            self._entries[state] = found
        return found

    def is_pipeline(self, state: str) -> bool:
        """Tell whether what brings a connection into a state is answered in one way only."""
        found = self._are_lanes.get(state)
        if found is None:
            entry = self.entry(state)
            owed = self.oracle.expect(None, b"", entry).owed if entry else ()
            found = all(each.ends == "no" and not each.optional for each in owed)
            self._are_lanes[state] = found
        return found


@dataclass(slots=True)
class SortedBatch:
    """A batch ready to be sent, with what its cases are owed.

    `piped` cases go over the pipeline of their state, `single` ones over connections of their
    own. Cases `sent` in a watched batch bear watched names; `batch` are the cases as made.
    """

    sorter: Sorter
    is_watched: bool
    closers: int
    batch: list[Case] = field(default_factory=list[Case])
    sent: list[Case] = field(default_factory=list[Case])
    piped: dict[str, list[PipelinedCase]] = field(default_factory=dict[str, list[PipelinedCase]])
    single: list[Case] = field(default_factory=list[Case])
    _originals: dict[int, Case] = field(default_factory=dict[int, Case])

    def add(self, case: Case) -> None:
        """Take one more case."""
        self.batch.append(case)
        made, case = case, self.sorter.renaming.case(case)
        if self.is_watched:
            case = self.sorter.oracle.use_watched_names(case)
        if case is not made:
            self._originals[id(case)] = made
        self.sent.append(case)
        step = case.steps[0]
        if not case.delimited or len(case.steps) != 1 or self._is_closer(case):
            self.single.append(case)
            return
        sorter, state = self.sorter, case.state
        expected = sorter.oracle.expect(case, sorter.entry(state), step.data)
        if sorter.is_pipeline(state) and is_pipeable(case, expected):
            self.piped.setdefault(state, []).append(PipelinedCase(case, step.data, expected.owed))
        else:
            self.single.append(case)

    def original(self, case: Case) -> Case:
        """Return a case as it was made, given what was sent of it."""
        return self._originals.get(id(case), case)

    @property
    def is_up_to_date(self) -> bool:
        """Tell whether no case was found since then to end its connection."""
        return self.closers == len(self.sorter.closers)

    def _is_closer(self, case: Case) -> bool:
        closers = self.sorter.closers
        return bool(closers) and trigger(case) in closers
