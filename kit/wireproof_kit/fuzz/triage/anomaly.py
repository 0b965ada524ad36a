"""An anomaly: a violated rule seen in a batch, not yet confirmed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Oracle, Trouble
from wireproof_kit.fuzz.oracle.bystanders import describe_refusal, is_alive
from wireproof_kit.fuzz.oracle.rules import DEAD
from wireproof_kit.fuzz.triage.consequences import ALIKE


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A rule that the target violated, before triage.

    `case` is the cause; if None, it is an unknown case of the `batch`. The first `likely` cases of
    the batch are more likely causes than the others; 0: all cases are equally likely. ``key``
    identifies the bug whatever its case is: the place in a client where it crashed. ``log`` is the
    end of a client's output. ``of_opening``: the rule is violated for a request before the case.
    """

    trouble: Trouble
    batch: tuple[Case, ...]
    case: Case | None = None
    answer: str = ""
    likely: int = 0
    key: str = ""
    log: str = ""
    of_opening: bool = False

    @property
    def suspects(self) -> tuple[Case, ...]:
        """The cases that are likely causes, the most likely one last."""
        likely = self.batch[: self.likely] or self.batch
        first = self.case or likely[0]
        return (*(case for case in likely if case is not first), first)


def tell_death(found: Sequence[Anomaly], oracle: Oracle) -> list[Anomaly]:
    """Return the anomalies of a batch after which no health check ran.

    If the target no longer accepts connections, return one anomaly, its death: otherwise each open
    connection would count as closed by the target.
    """
    for each in found:
        address = oracle.address(each.case or each.batch[0])
        if not is_alive(address):
            return [replace(each, trouble=Trouble(DEAD, describe_refusal(address)))]
    return list(found)


def find_alike(found: Sequence[Anomaly], violated: str) -> Anomaly | None:
    """Return the first anomaly of this rule, or of a rule that the same fault may violate."""
    alike = frozenset({violated}).union(*(kinds for kinds in ALIKE if violated in kinds))
    return next((each for each in found if each.trouble.violated in alike), None)
