"""When a run stops waiting long: a target that owes everything would keep it for hours.

Where a core case of a group has waited in vain, or the group's cases have done so for ten seconds,
its other cases run with the shortest patience; so do all cases when that has happened in
several groups, or forty times. What they show is judged as ever. What does not come so soon
decides nothing: it was not waited for. But one case of each core clause is then run again with
full patience, and of each must clause, unless nothing at all arrived while patience was measured:
a broker that delivers nothing, or delays in seconds what was asked for in milliseconds, was
otherwise said to be undecided in what it owes.
"""

import threading
from dataclasses import dataclass, field

from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.patience import Patience
from wireproof_spec.record import CaseRecord

GROUPS = 3
"""A target that withholds answers in this many clause groups withholds them everywhere."""
GROUP_S = 10.0
"""Seconds that the failing cases of one clause group may wait in vain, all together."""
GROUP_WAITS = 4
"""The same limit as a number of waits for a push, for targets that look for messages in rounds."""
_VAIN = frozenset({"silence", "missing", "nonsense", "withheld"})


@dataclass(slots=True)
class Hurry:
    """Decides which cases of a run get only the shortest waits (are hurried); thread-safe.

    All cases are hurried after ``after`` overdue failures, or after one if ``is_withheld``:
    nothing arrived while patience was measured. If ``never``, no case is.
    """

    after: int
    group_s: float = GROUP_S
    is_withheld: bool = False
    never: bool = False
    is_general: bool = False
    _groups: set[str] = field(default_factory=set[str])
    _waited_for: set[str] = field(default_factory=set[str])
    _waited_s: dict[str, float] = field(default_factory=dict[str, float])
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def applies(self, instance: Instance) -> bool:
        """Return True if a case is to run with the shortest waits."""
        return self.is_general or instance.clause.group in self._groups

    def spend(self, instance: Instance, waited_s: float) -> None:
        """Count the seconds that a failing case waited in vain; enough shorten later waits."""
        if self.never or not waited_s:
            return
        group = instance.clause.group
        with self._lock:
            self._waited_s[group] = self._waited_s.get(group, 0.0) + waited_s
            if self._waited_s[group] >= self.group_s:
                self._groups.add(group)
            self.is_general |= len(self._groups) >= GROUPS

    def learn(self, instance: Instance, record: CaseRecord) -> None:
        """Count a failing case, after all its repetitions; enough shorten later waits."""
        if self.never or not _has_waited_in_vain(record):
            return
        with self._lock:
            self._waited_for.add(instance.clause.id)
            self._count += record.overdue
            if instance.clause.core:
                self._groups.add(instance.clause.group)
            is_enough = self._count >= (1 if self.is_withheld else self.after)
            self.is_general |= is_enough or len(self._groups) >= GROUPS

    def may_wait_after_all(self, instance: Instance) -> bool:
        """Return True for the first case of a core or must clause that asks, to run unhurried."""
        clause = instance.clause
        counts = clause.core or (clause.level == "must" and not self.is_withheld)
        with self._lock:
            is_first = counts and clause.id not in self._waited_for
            self._waited_for.add(instance.clause.id)
        return is_first

    def repeats(self, instance: Instance) -> bool:
        """Return True if a failing case is to be run again more than once."""
        return not (self.is_withheld or self.applies(instance))


def hurry_with(patience: Patience, *, after: int, never: bool) -> Hurry:
    """Return the `Hurry` of a run against a target with this patience.

    Where waits are fixed, no case is hurried: it would wait as long, and then decide nothing.
    """
    rounds_s = GROUP_WAITS * patience.push if patience.in_rounds else 0.0
    return Hurry(after, max(GROUP_S, rounds_s), patience.is_withheld, never or patience.is_fixed)


def _has_waited_in_vain(record: CaseRecord) -> bool:
    words = {part.partition(":")[0] for part in record.observation.split(",")}
    is_failed = record.verdict == "fail" or bool(record.repeats.unrepeated)
    return is_failed and (record.overdue or bool(words & _VAIN))
