"""Running cases against one forked broker, as a run does, without its repeats."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from unittest import mock

from spread import PROTOCOL, Brokers

from wireproof_kit.nsq import patience
from wireproof_kit.runner.claims import Probed
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.engine import Engine
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.request import RunOptions
from wireproof_kit.runner.run import REFERENCE, Run, RunPlan
from wireproof_kit.verdicts.judge import JudgeContext, claim_state, judge_record
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import BindingRecord, CaseRecord, ClaimRecord

MODES = {
    "published": ("published", False),
    "in memory": ("published", True),
    "deployed": ("deployed", False),
}
"""How the reference is run: its dialect, and whether it keeps messages in memory only."""
PATIENCE_S = 1.5
SURE_S = 4.0
READY_WITHIN_S = 10.0
WAITERS = 12
CASE_TIMEOUT_S = 40.0
SLOW_S = 6.0
CONFORMING = ("pass", "reading")


@contextmanager
def fork_brokers(brokers: Brokers, mode: str) -> Iterator[None]:
    """Let the kit start forked brokers as its local reference as long as the context lasts."""
    brokers.memory = MODES[mode][1]
    with (
        mock.patch("wireproof_kit.targets.embedded.start_child", brokers.start),
        mock.patch("wireproof_kit.targets.embedded.READY_WITHIN_S", READY_WITHIN_S),
    ):
        yield


def open_run(mode: str, clean: Probed | None, *, seconds: float = PATIENCE_S) -> Run:
    """Open a run against a forked broker; with a clean run's claims and readings, unprobed."""
    return Run.open(
        RunPlan(
            url=REFERENCE,
            protocol=PROTOCOL,
            seed=1,
            timeout=seconds,
            reference_options=("--dialect", MODES[mode][0]),
            probed=clean,
        )
    )


def engine(run: Run) -> Engine:
    """Return an engine that runs each case once, with long patience."""
    options = RunOptions(repeats=1, waiters=WAITERS, patient=True, case_timeout_s=CASE_TIMEOUT_S)
    return Engine(run.session, run.bench, options)


def cases() -> tuple[Instance, ...]:
    """Return every case of the suites; those that may kill a broker come last."""
    return tuple(sorted(collect(PROTOCOL), key=lambda item: item.mark.hazard))


def judged_under_own_readings(run: Run, item: Instance, record: CaseRecord) -> CaseRecord:
    """Judge a failure again under the readings and the claims that this broker shows itself.

    A mutant may only have moved from one legal reading to another, and said so consistently.
    """
    catalogue = load_catalogue(PROTOCOL)
    readings, claims = dict(run.bench.readings), dict(run.bench.claims)
    for name in item.law.reading:
        decision = catalogue.decision(name)
        if decision is not None:
            seen = run.session.probe_reading(decision.probe).observation.value
            readings[name] = BindingRecord(decision.find_shown(seen), seen)
    for name in item.needs:
        capability = catalogue.capability(name)
        if capability is not None:
            seen = run.session.probe_capability(capability.probe).observation.value
            state = claim_state(capability, seen, claimed=False)
            claims[name] = replace_claim(claims[name], state, seen)
    bench = JudgeContext(catalogue, claims, readings, run.bench.reading)
    return judge_record(record, bench)


def replace_claim(claim: ClaimRecord, state: str, seen: str) -> ClaimRecord:
    """Return a claim with the state and observation of another probe."""
    return ClaimRecord(state, seen, claim.claimed)  # type: ignore[arg-type]  # one of the states


def patient(run: Run, seconds: float) -> None:
    """Set how long the run waits for answers from now on."""
    run.session.patience = patience.make_fixed(seconds)


def ran(
    run: Run, machine: Engine, items: Sequence[Instance]
) -> Iterator[tuple[Instance, CaseRecord]]:
    """Run cases one by one; the cases that mostly wait run at once after the others.

    Cases that disturb others come last, as in every run: after a case that takes a node away, a
    shared topic has another leader, and a case that fails for this reason would kill a mutant
    wrongly.
    """
    alone = [item for item in items if item.mark.alone]
    quick = [item for item in items if not (item.mark.waiting or item.mark.alone)]
    waiting = [item for item in items if item.mark.waiting and not item.mark.alone]
    for item in quick:
        yield item, machine.run(item)
    machine.start(waiting)
    for item in (*waiting, *alone):
        yield item, machine.run(item)


def time_case(machine: Engine, item: Instance) -> tuple[CaseRecord, float]:
    """Run a case; return its record and its seconds."""
    started = time.monotonic()
    record = machine.run(item)
    return record, time.monotonic() - started


def by_id(items: Iterable[Instance]) -> dict[str, Instance]:
    """Return cases by id."""
    return {item.id: item for item in items}
