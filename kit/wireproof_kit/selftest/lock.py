"""The lock file of the reference's faults: what each turns red besides the clauses it breaks.

A selftest takes every other red case for a wrong verdict of the kit. What a recording saw is added
to what stood in the file: a clause that turns red only in some runs stays there. To start afresh,
delete the entries of the faults before they are recorded.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from wireproof_kit.errors import UsageFault
from wireproof_kit.selftest.dimensions import AT
from wireproof_kit.selftest.plan import FAULT, Trial, TrialResult

HEAD = """\
# What each fault turns red besides the clauses that it breaks.
# Made by `wireproof selftest --record`; not edited by hand.
"""


class FaultLock:
    """The entries of a lock file, and those that a recording adds."""

    def __init__(self, path: Path, faults: Sequence[Trial]) -> None:
        self.path = path
        self._entries = {fault.name: {*fault.may_break} for fault in faults}
        self.added = 0

    def record(self, result: TrialResult) -> TrialResult:
        """Write the clauses that a trial turned red to the lock file; return it with none of them.

        What a fault that is limited to a corner turned red is written for the whole fault.

        Raises:
            UsageFault: the file cannot be written.
        """
        trial = result.trial
        if trial.kind != FAULT:
            return result
        entry = self._entries[trial.switches[0].partition(AT)[0]]
        seen = result.red.keys() - {*trial.breaks, *trial.may_break} - entry
        if seen:
            self.added += len(seen)
            entry |= seen
            self.write()
        unexpected = tuple(each for each in result.unexpected if each.verdict == "error")
        return msgspec.structs.replace(result, unexpected=unexpected)

    def write(self) -> None:
        """Write all entries, sorted by fault and clause.

        Raises:
            UsageFault: the file cannot be written.
        """
        try:
            self.path.write_text("\n".join(lock_lines(self._entries)) + "\n", encoding="utf-8")
        except OSError as error:
            raise UsageFault(f"{self.path} cannot be written: {error.strerror}") from error


def lock_lines(entries: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the lines of a lock file; a fault that turns nothing else red has no entry."""
    yield HEAD.rstrip()
    for name in sorted(entries):
        if entries[name]:
            yield from ("", f"{name} = [")
            yield from (f'    "{clause}",' for clause in sorted(entries[name]))
            yield "]"
