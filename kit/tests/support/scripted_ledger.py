"""A ledger without rules, for tests of what reads exchanges into one."""

from collections.abc import Iterable

from wireproof_kit.ledger.entries import Place
from wireproof_kit.ledger.outcomes import Finding, Outcomes
from wireproof_kit.wire.transcript import Step


class ScriptedLedger:
    """A ledger that concludes the same of every case it reads."""

    def __init__(self, *findings: Finding) -> None:
        self._findings = findings
        self.cases: list[str] = []

    def read(self, case: str, steps: Iterable[Step], started_ms: float | None = None) -> None:
        self.cases.append(case)

    def conclude(self) -> Outcomes:
        outcomes = Outcomes()
        for case in self.cases:
            for finding in self._findings:
                outcomes.add(finding, ("again",), [Place(case, Step(0, "A", "receive"))])
        return outcomes
