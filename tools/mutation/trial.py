"""One mutant on trial: the cases that touch its function, until one shows the difference."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import case_runs
from spread import Brokers

from wireproof_kit.errors import KitError
from wireproof_kit.runner.claims import Probed
from wireproof_kit.runner.engine import Engine
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.run import Run
from wireproof_spec.record import CaseRecord

UNDECIDED_LEAST = 2
UNDECIDED_ENOUGH = 8
UNDECIDED_SECONDS = 10.0


@dataclass(frozen=True)
class Outcome:
    """How the trial of a mutant ended.

    ``how``: ``failed`` (a case fails, twice, under the readings the mutant itself shows),
    ``claim`` (a capability is no longer shown), ``refused`` (a case fails, twice, and the kit
    says, as it probes what the broker claims, that it cannot be used: a run ends with 2),
    ``died`` (the broker ended or never began),
    ``undecided`` (cases that decide on the clean broker decide nothing, also alone and with
    patience), ``survived``.
    """

    how: str
    case: str = ""
    why: str = ""
    run: int = 0
    seconds: float = 0.0

    def is_dead(self) -> bool:
        return self.how != "survived"


def try_mutant(
    brokers: Brokers,
    mutant: object,
    mode: str,
    items: Sequence[Instance],
    clean: Probed,
) -> dict[str, object]:
    """Run cases against a broker with a mutant; return the fields of the outcome."""
    started = time.monotonic()
    brokers.mutant = mutant
    with case_runs.fork_brokers(brokers, mode):
        outcome = _try(mode, items, clean)
    return {**asdict(outcome), "seconds": round(time.monotonic() - started, 3)}


def _try(mode: str, items: Sequence[Instance], clean: Probed) -> Outcome:
    try:
        run = _open_run(mode, clean)
    except KitError as error:
        return Outcome("died", why=f"not ready: {error}")
    trial = _Trial(run, case_runs.engine(run))
    for item, record in case_runs.ran(run, trial.machine, items):
        outcome = trial.look(item, record)
        if outcome is not None:
            return outcome
    return trial.end()


def _open_run(mode: str, clean: Probed) -> Run:
    """Open a run; a broker that was not ready in time gets a second chance, with patience."""
    try:
        return case_runs.open_run(mode, clean)
    except KitError:
        run = case_runs.open_run(mode, clean, seconds=case_runs.SURE_S)
        case_runs.patient(run, case_runs.PATIENCE_S)
        return run


class _Trial:
    def __init__(self, run: Run, machine: Engine) -> None:
        self.run = run
        self.machine = machine
        self.doubts: list[str] = []
        self.undecided: list[str] = []
        self.count = 0
        self._lost_seconds = 0.0

    def end(self) -> Outcome:
        """Return the outcome of the trial after its last case."""
        if len(self.undecided) >= UNDECIDED_LEAST:
            return self._conclude_undecided()
        why = "; ".join([*self.doubts, *(f"{name}: undecided" for name in self.undecided)])
        return Outcome("survived", why=why, run=self.count)

    def look(self, item: Instance, record: CaseRecord) -> Outcome | None:
        """Return the outcome if this record settles it."""
        self.count += 1
        if record.verdict in case_runs.CONFORMING:
            return None
        if self._is_gone():
            return Outcome("died", item.id, record.observation, self.count)
        started = time.monotonic()
        case_runs.patient(self.run, case_runs.SURE_S)
        settled = self._settle(item, record)
        case_runs.patient(self.run, case_runs.PATIENCE_S)
        self._lost_seconds += time.monotonic() - started
        if settled is None and self._is_hopeless():
            return self._conclude_undecided()
        return settled

    def _settle(self, item: Instance, record: CaseRecord) -> Outcome | None:
        again = self.machine.run(item)
        if self._is_gone():
            return Outcome("died", item.id, again.observation, self.count)
        if again.verdict == record.verdict == "fail":
            return self._fails(item, again)
        if again.verdict in case_runs.CONFORMING:
            told = f"{record.verdict} ({record.reason[:100]})"
            self.doubts.append(f"{item.id}: {told}, then {again.verdict}")
        else:
            self.undecided.append(f"{item.id} ({again.reason[:100]})")
        return None

    def _is_hopeless(self) -> bool:
        """Return whether too many cases were undecided to go on waiting for a failure."""
        count = len(self.undecided)
        lost = self._lost_seconds > UNDECIDED_SECONDS
        return count >= UNDECIDED_ENOUGH or (count >= UNDECIDED_LEAST and lost)

    def _conclude_undecided(self) -> Outcome:
        case, _, why = self.undecided[0].partition(" ")
        return Outcome("undecided", case, why, self.count)

    def _fails(self, item: Instance, record: CaseRecord) -> Outcome | None:
        try:
            own = case_runs.judged_under_own_readings(self.run, item, record)
        except KitError as error:
            return Outcome("refused", item.id, str(error), self.count)
        if own.verdict in case_runs.CONFORMING:
            self.doubts.append(f"{item.id}: conforms under {own.reading or 'another reading'}")
            return None
        how = "claim" if own.verdict == "unsupported" else "failed"
        return Outcome(how, item.id, own.reason, self.count)

    def _is_gone(self) -> bool:
        embedded = self.run.embedded
        return embedded is None or embedded.process.poll() is not None
