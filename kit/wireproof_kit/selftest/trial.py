"""Rehearsals: the suites run against the reference with a fault or legal variants switched on.

They prove the judge: each fault must turn a case of each of its clauses red, and nothing else;
no variant, nor any mix of them, may turn anything red or leave it unjudged.
"""

import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from zlib import crc32

from wireproof_kit.runner.engine import Engine, RunOptions
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.run import Run, RunPlan
from wireproof_kit.selftest.plan import FAULT, MIX, VARIANT, Seen, Shown, Trial
from wireproof_spec.record import CaseRecord

PATIENCE_S = {FAULT: 4.0}
LEGAL_PATIENCE_S = 6.0
WAITERS = 12
SEEDS = 1_000_000
SHARE = {FAULT: 3, VARIANT: 3, MIX: 4}


def about(trial: Trial, instances: Sequence[Instance]) -> list[Instance]:
    """Return the cases a trial is run against, those that must tell first.

    A fault: all cases of its clauses, and all others of their interfaces. Variants: all there
    are. Of what only must not turn red, the trial meets every case or one of each function, of
    a third of the functions or, a mix, of a quarter: other ones in each trial, and at least one
    of each clause.
    """
    drawn = list(instances) if trial.every else _one_of_each(trial, instances)
    if trial.kind != FAULT:
        return drawn
    own = [item for item in instances if item.clause.id in trial.breaks]
    held = {interface(item.id) for item in own}
    others = [item for item in drawn if item.clause.id not in trial.breaks]
    near = own + [item for item in others if interface(item.id) in held]
    by_clause: dict[str, list[Instance]] = {}
    for item in near:
        by_clause.setdefault(item.clause.id, []).append(item)
    told = [by_clause.pop(clause, []) for clause in trial.breaks]
    rounds = zip_longest(*told)
    first = [item for each in rounds for item in each if item is not None]
    return first + [item for items in by_clause.values() for item in items]


def _one_of_each(trial: Trial, instances: Sequence[Instance]) -> list[Instance]:
    chance = random.Random(trial.name)
    alike: dict[object, list[Instance]] = {}
    for item in instances:
        alike.setdefault((item.function, item.clause.id), []).append(item)
    drawn = [chance.choice(items) for items in alike.values()]
    return _thinned(drawn, SHARE.get(trial.kind, 1), chance)


def _thinned(drawn: list[Instance], share: int, chance: random.Random) -> list[Instance]:
    """Return one of so many, and one of each clause, in the order they had."""
    mixed = chance.sample(drawn, len(drawn))
    first = {item.clause.id: item.id for item in reversed(mixed)}
    kept = {*first.values(), *(item.id for item in mixed[: len(drawn) // share])}
    return [item for item in drawn if item.id in kept]


def interface(case_id: str) -> str:
    """Return protocol and interface of a case id: ``nsq/publish``."""
    return "/".join(case_id.split("/")[:2])


def rehearse(trial: Trial, url: str, protocol: str, instances: Sequence[Instance]) -> Shown:
    """Run a trial's cases against a reference at a URL, waits overlapped.

    A case whose clause the fault breaks or may break is spared once the clause is red: it
    decides nothing any more, and what never comes would have to be waited for each time.
    """
    patience = PATIENCE_S.get(trial.kind, LEGAL_PATIENCE_S)
    seed = crc32(trial.name.encode()) % SEEDS  # other histories in each, the same each time
    plan = RunPlan(url=url, protocol=protocol, seed=seed, timeout=patience, passing=True)
    run = Run.open(plan)
    try:
        chosen = run.choose(about(trial, instances)).run
        run.prepare(chosen)
        options = RunOptions(repeats=1, waiters=WAITERS, transcripts=False)
        engine = Engine(run.session, run.bench, options)
        performance = _Performance(trial, engine)
        try:
            performance.play(chosen)
        finally:
            engine.close()
        return performance.shown()
    finally:
        run.close()


class _Performance:
    """The cases of one trial as they come to an end; used from several threads."""

    def __init__(self, trial: Trial, engine: Engine) -> None:
        self._trial = trial
        self._engine = engine
        self._allowed = {*trial.breaks, *trial.may_break}
        self._lock = threading.Lock()
        self._records: list[CaseRecord] = []
        self._red: dict[str, str] = {}
        self._spared = 0

    def play(self, chosen: Sequence[Instance]) -> None:
        """Run calm cases side by side, then one at a time those that disturb or may kill."""
        calm = [item for item in chosen if not (item.mark.hazard or item.mark.alone)]
        with ThreadPoolExecutor(WAITERS, thread_name_prefix="rehearsed-case") as pool:
            for _ in pool.map(self._run, calm):
                pass
        for item in self._lonely(chosen):
            self._run(item)
        self._decide({item.id: item for item in chosen})

    def shown(self) -> Shown:
        """Return what the trial showed."""
        trial = self._trial
        fatal = [record for record in self._records if is_wrong(trial, record)]
        return Shown(
            trial=trial,
            red=dict(sorted(self._red.items())),
            survived=tuple(clause for clause in trial.breaks if clause not in self._red),
            unexpected=tuple(_seen(record) for record in fatal),
            cases=len(self._records),
            spared=self._spared,
        )

    @staticmethod
    def _lonely(chosen: Sequence[Instance]) -> Iterator[Instance]:
        yield from (item for item in chosen if item.mark.alone and not item.mark.hazard)
        yield from (item for item in chosen if item.mark.hazard)

    def _run(self, instance: Instance) -> None:
        clause = instance.clause.id
        with self._lock:
            if clause in self._red and clause in self._allowed:
                self._spared += 1
                return
        self._keep(self._engine.run(instance))

    def _keep(self, record: CaseRecord) -> None:
        with self._lock:
            self._records.append(record)
            if record.verdict == "fail":
                self._red.setdefault(record.clause, record.case)

    def _decide(self, chosen: dict[str, Instance]) -> None:
        """Run cases that decided nothing among the others once more, alone, where it matters."""
        undecided = [record for record in self._records if record.verdict == "inconclusive"]
        for record in undecided:
            if self._trial.kind != FAULT or record.clause in self._trial.breaks:
                self._records.remove(record)
                self._run(chosen[record.case])


def is_wrong(trial: Trial, record: CaseRecord) -> bool:
    """Tell whether a case should not have come to this under a fault or what is legal.

    What is legal leaves no case without a judgement: `unsupported` would hide what it breaks.
    """
    if trial.kind != FAULT:
        return record.verdict not in ("pass", "reading")
    if record.verdict == "error":
        return True
    allowed = {*trial.breaks, *trial.may_break}
    return record.verdict in ("fail", "unstable") and record.clause not in allowed


def _seen(record: CaseRecord) -> Seen:
    return Seen(record.case, record.clause, record.verdict, record.observation, record.reason)
