"""Rehearsals: the suites run against the reference with a fault or a legal variant switched on.

They prove the judge: each fault must turn a case of each of its clauses red, and nothing else;
no variant may turn anything red.
"""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wireproof_kit.collecting import collect
from wireproof_kit.engine import Engine, RunOptions
from wireproof_kit.errors import KitError
from wireproof_kit.instance import Instance
from wireproof_kit.run import REFERENCE, Run, RunPlan
from wireproof_spec.record import CaseRecord

LIST_WITHIN_S = 30.0
WAITERS = 12


@dataclass(frozen=True, slots=True)
class Switch:
    """A fault or variant that the reference offers, as its list says."""

    name: str
    kind: str
    breaks: tuple[str, ...]
    may_break: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What one run under a switch showed."""

    switch: Switch
    records: tuple[CaseRecord, ...]

    def failed(self) -> set[str]:
        """Return the clauses of which a case failed."""
        return {record.clause for record in self.records if record.verdict == "fail"}

    def survived(self) -> set[str]:
        """Return the clauses that the fault must break and that no case found broken."""
        return set(self.switch.breaks) - self.failed()

    def unexpected(self) -> list[CaseRecord]:
        """Return the records that are red though nothing allows it, or that are our error."""
        allowed = {*self.switch.breaks, *self.switch.may_break}
        return [
            record
            for record in self.records
            if record.verdict == "error"
            or (record.verdict in ("fail", "unstable") and record.clause not in allowed)
        ]


def switches(protocol: str, listing: str) -> tuple[Switch, ...]:
    """Ask the reference for its ``--list-faults`` or ``--list-variants``.

    Raises:
        KitError: the reference does not list them.
    """
    command = [sys.executable, "-m", "wireproof", "serve", protocol, listing]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIST_WITHIN_S, check=False
    )
    if done.returncode:
        raise KitError(f"`wireproof serve {protocol} {listing}` failed: {done.stderr.strip()}")
    return tuple(_switch(line) for line in done.stdout.splitlines())


def rehearse(
    protocol: str,
    switch: Switch,
    *,
    option: str,
    wanted: Callable[[Instance], bool],
    timeout: float | None = None,
) -> Rehearsal:
    """Run the wanted cases against a reference with one switch on, waits overlapped."""
    options = (option, switch.name)
    return Rehearsal(switch, run_cases(protocol, options, wanted=wanted, timeout=timeout))


def run_cases(
    protocol: str,
    options: Sequence[str],
    *,
    wanted: Callable[[Instance], bool],
    timeout: float | None = None,
) -> tuple[CaseRecord, ...]:
    """Run cases against a reference started with these options, waits overlapped."""
    plan = RunPlan(
        url=REFERENCE,
        protocol=protocol,
        seed=1,
        timeout=timeout,
        reference_options=tuple(options),
    )
    instances = [item for item in collect(protocol) if wanted(item)]
    run = Run.open(plan)
    try:
        chosen = run.choose(instances).run
        run.prepare(chosen)
        engine = Engine(run.session, run.bench, RunOptions(repeats=1, waiters=WAITERS))
        calm = [item for item in chosen if not (item.mark.hazard or item.mark.alone)]
        engine.start(calm)
        records = [engine.run(item) for item in calm]
        records += [engine.run(item) for item in chosen if item.mark.alone]
        records += [engine.run(item) for item in chosen if item.mark.hazard]
        engine.close()
        alone = {item.id: item for item in chosen}
        return tuple(_decided(engine, record, alone[record.case]) for record in records)
    finally:
        run.close()


def _decided(engine: Engine, record: CaseRecord, instance: Instance) -> CaseRecord:
    """Run a case that decided nothing among the others once more, alone."""
    return engine.run(instance) if record.verdict == "inconclusive" else record


def _switch(line: str) -> Switch:
    name, kind, clauses, text, *_ = line.split("\t")
    names = [word for word in clauses.split(",") if word]
    breaks = tuple(word for word in names if not word.endswith("?"))
    may_break = tuple(word.removesuffix("?") for word in names if word.endswith("?"))
    return Switch(name, kind, breaks, may_break, text)
