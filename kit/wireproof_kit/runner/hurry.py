"""When a run stops waiting long: a target that owes everything would keep it for hours.

Where a core case of a group has waited in vain, or the group's cases have done so for ten seconds,
its other cases run once, with the shortest patience; so do all cases when that has happened in
several groups, or forty times. What they show is judged as ever. What does not come so soon
decides nothing: it was not waited for.
"""

import threading
from dataclasses import dataclass, field

from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.patience import Patience
from wireproof_spec.record import CaseRecord

GROUPS = 3
"""A target that withholds what is owed in so many groups withholds it everywhere."""
GROUP_S = 10.0
"""How long the kit waits in vain for what one group owes, in cases that do not pass."""
GROUP_WAITS = 4
"""How many waits for a push that is, if each takes longer because the target looks in rounds."""
_VAIN = frozenset({"silence", "missing", "nonsense", "withheld"})


@dataclass(slots=True)
class Hurry:
    """Which cases are no longer waited for; thread-safe.

    After ``after`` failures that are overdue all cases are hurried; the first is enough when
    ``is_withheld`` says that nothing came while patience was measured. A run that is ``never``
    hurried waits for everything.
    """

    after: int
    group_s: float = GROUP_S
    is_withheld: bool = False
    never: bool = False
    is_general: bool = False
    _groups: set[str] = field(default_factory=set[str])
    _waited_s: dict[str, float] = field(default_factory=dict[str, float])
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def applies(self, instance: Instance) -> bool:
        """Return True if a case is to run once, with the shortest patience."""
        return self.is_general or instance.clause.group in self._groups

    def spend(self, instance: Instance, waited_s: float) -> None:
        """Count the seconds that a run of a case which does not pass has waited in vain."""
        if self.never or not waited_s:
            return
        group = instance.clause.group
        with self._lock:
            self._waited_s[group] = self._waited_s.get(group, 0.0) + waited_s
            if self._waited_s[group] >= self.group_s:
                self._groups.add(group)
            self.is_general |= len(self._groups) >= GROUPS

    def learn(self, instance: Instance, record: CaseRecord) -> None:
        """Take what a case came to at last: a failure, after all its repeats."""
        if self.never or not _has_waited_in_vain(record):
            return
        with self._lock:
            self._count += record.overdue
            if instance.clause.core:
                self._groups.add(instance.clause.group)
            is_enough = self._count >= (1 if self.is_withheld else self.after)
            self.is_general |= is_enough or len(self._groups) >= GROUPS

    def repeats(self, instance: Instance) -> bool:
        """Return True if a failure of the case is to be run again."""
        return not (self.is_withheld or self.applies(instance))


def hurry_with(patience: Patience, *, after: int, never: bool) -> Hurry:
    """Return when to hurry with a target of this patience."""
    rounds_s = GROUP_WAITS * patience.push if patience.in_rounds else 0.0
    return Hurry(after, max(GROUP_S, rounds_s), patience.is_withheld, never)


def _has_waited_in_vain(record: CaseRecord) -> bool:
    words = {part.partition(":")[0] for part in record.observation.split(",")}
    return record.verdict == "fail" and (record.overdue or bool(words & _VAIN))
