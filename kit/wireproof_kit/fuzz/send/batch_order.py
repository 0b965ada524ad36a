"""Sorts the cases of a batch into pipelined ones and ones with connections of their own.

Sorting also determines what each case is owed. That takes longer than sending, so it is done in
pieces while the target is busy with the batch before.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Generation, Oracle
from wireproof_kit.fuzz.send.fresh_names import NO_RENAMING, Renaming
from wireproof_kit.fuzz.send.pipeline import PipelinedCase, is_pipeable

Trigger = tuple[str, str, str, str]
"""State, frame kind, field and mutation of a case."""


def trigger(case: Case) -> Trigger:
    """Return state, frame kind, field and mutation, which decide a case's effect on a target."""
    return case.state, case.frame_kind, case.field, case.mutation


@dataclass(slots=True)
class Sorter:
    """Decides which cases leave their connection usable, so that many can share one.

    `closers` are the kinds of cases that were seen to close their connection.
    """

    oracle: Oracle
    generation: Generation
    renaming: Renaming = NO_RENAMING
    closers: set[Trigger] = field(default_factory=set[Trigger])
    _entries: dict[str, bytes] = field(default_factory=dict[str, bytes])
    _are_lanes: dict[str, bool] = field(default_factory=dict[str, bool])

    def sort_cases(self, cases: Iterable[Case], *, watch: bool) -> "SortedBatch":
        """Return a batch with these cases, sorted by how they can be sent."""
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
        """Return True if the bytes that enter a state require each answer and no close."""
        found = self._are_lanes.get(state)
        if found is None:
            entry = self.entry(state)
            owed = self.oracle.expect(None, b"", entry).owed if entry else ()
            found = all(each.ends == "no" and not each.optional for each in owed)
            self._are_lanes[state] = found
        return found


@dataclass(slots=True)
class SortedBatch:
    """A batch that is ready to be sent, with the valid responses to each case.

    Cases in `piped` share one connection for each state; cases in `single` get connections of
    their own. `batch` has the cases as generated, `sent` the same cases with the names that are
    sent.
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
        """Add one case to the batch."""
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
        """Return the generated case from which a sent case was made by renaming."""
        return self._originals.get(id(case), case)

    def find_sender(self, lost: bytes) -> Case | None:
        """Return the generated case that sent a lost message; None if no single case did."""
        for case in self.sent:
            data = b"".join(step.data for step in case.steps if not step.connection)
            owed = self.sorter.oracle.expect(case, self.sorter.entry(case.state), data).owed
            if any(lost in answer.stored for answer in owed):
                return self.original(case)
        return None

    @property
    def is_up_to_date(self) -> bool:
        """Return True if no kind of case was seen to close connections since this batch began."""
        return self.closers == len(self.sorter.closers)

    def _is_closer(self, case: Case) -> bool:
        closers = self.sorter.closers
        return bool(closers) and trigger(case) in closers
