"""The search for the case that killed the target: those that were open then run alone.

A death is charged only if it shows again when a case runs alone on a restarted target. A case that
was open, and has shown nothing that conforms, runs again in company once the culprit is found.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from wireproof_kit.runner.deaths.deaths import Deaths
from wireproof_kit.runner.deaths.others import may_have_sent
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.troubles import Outcome
from wireproof_kit.verdicts.judge import TARGET_DIED, JudgedRun, JudgedRuns
from wireproof_spec.record import SeenRecord

_FIRST, _FAILED, _CONFORMED, _LAST = range(4)
"""The places of cases in the search; the case that noticed the death is tried first."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What a case showed in its runs, and whether that conforms."""

    outcome: Outcome
    runs: JudgedRuns
    conforms: bool


@dataclass(slots=True)
class Culprits:
    """Finds which of the cases that were open at a death of the target causes it; thread-safe.

    ``run_alone`` runs a case with its repeats, ``judge`` judges a run of one by what was seen.
    """

    deaths: Deaths
    run_alone: Callable[[Instance], Tried]
    judge: Callable[[Instance, SeenRecord], JudgedRun]
    _explained: set[int] = field(default_factory=set[int])

    def settle(
        self, instance: Instance, number: int, tried: Tried, *, is_last_chance: bool
    ) -> Tried | None:
        """Return what a case showed that was open at a death; None if it is to run again.

        ``tried`` is what it showed in company. ``is_last_chance``: it was open at an earlier death
        as well, and is not run in company a third time.

        Raises:
            RestartFailed: the target does not come back.
        """
        has_noticed = self.deaths.is_noticed_by(instance.id)
        place = _FIRST if has_noticed else _CONFORMED if tried.conforms else _FAILED
        # Who sent last before the death is the likeliest culprit.
        with self.deaths.gate.alone((place, -tried.outcome.transcript.sent_at_s)):
            self.deaths.bring_back()
            has_sent = may_have_sent(instance, tried.outcome.transcript)
            is_suspect = has_sent and number not in self._explained
            if not (is_suspect or is_last_chance):
                return tried if tried.conforms else None
            alone = self._run_alone(instance)
            if self.deaths.has_killed(instance.id):
                self._explained.add(number)
                return alone
        if not has_noticed:
            return tried if tried.conforms else alone
        return self._conclude(instance, number, alone)

    def _run_alone(self, instance: Instance) -> Tried:
        self.deaths.alone = instance.id
        try:
            return self.run_alone(instance)
        finally:
            self.deaths.alone = ""
            self.deaths.is_fresh = False
            self.deaths.bring_back()

    def _conclude(self, instance: Instance, number: int, alone: Tried) -> Tried:
        """Return what the first case showed that noticed a death, after all others were tried.

        Without this the run would conform though the target has died.
        """
        with self.deaths.gate.alone_once_more((_LAST, 0.0)):
            if number in self._explained or not alone.conforms:
                return alone
        note = "the target died while several cases ran, and each of them passes alone"
        run = self.judge(instance, SeenRecord(TARGET_DIED, note=note))
        return Tried(alone.outcome, JudgedRuns(run), conforms=False)
