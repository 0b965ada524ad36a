"""A trial: the suites run against the reference with a fault or legal variants switched on.

Trials test the judge: each fault must make a case of each of its clauses fail, and no other;
no variant, nor any mix of variants, may make a case fail or leave it without a verdict.
"""

import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import zip_longest
from zlib import crc32

from wireproof_kit.protocols import read_target
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.records import record_unsupported
from wireproof_kit.runner.request import RunOptions, RunRequest
from wireproof_kit.runner.run import RunPlan
from wireproof_kit.runner.run_cases import OpenRun
from wireproof_kit.selftest.plan import (
    ALTERNATIVE,
    CONDITION,
    FAULT,
    MIX,
    VARIANT,
    RedCase,
    Trial,
    TrialResult,
)
from wireproof_kit.selftest.shown import accepted_patterns, pattern_shown, reading_shown
from wireproof_kit.verdicts.judge import missing_capability
from wireproof_spec.clauses.catalogue import Law, matches
from wireproof_spec.record import CaseRecord

# Late twins of faults act after 3 s; a case must still be waiting then.
PATIENCE_S = {FAULT: 4.0}
LEGAL_PATIENCE_S = 6.0
WAITERS = 12
CLIENT_WAITERS = 4
"""The most cases for clients that run at once: each plays four servers and starts a process."""
SEEDS = 1_000_000
SHARE = {FAULT: 3, VARIANT: 3, ALTERNATIVE: 3, MIX: 4}
WAYS = "ways"
"""The interface of the cases that combine circumstances."""
_RED = ("fail", "unstable")
SLOW = "unsupported:slow-redelivery"
"""What a case sees that needs thousands of deliveries, while many trials run at a time."""


def cases_of(trial: Trial, instances: Sequence[Instance]) -> list[Instance]:
    """Return the cases to run in a trial of the selftest, first those that must fail.

    For a fault, these are all cases of the clauses that it breaks and the other cases of their
    interfaces. A fault that is wrong in some circumstances only also meets the cases of combined
    ways, until its clauses are red. For a fault in one corner, they are the cases of its clauses
    and those of combined ways, which run only until the clause is red: the ledger may show there
    what no case of the clause meets. For a permitted variant or a mix of variants, they are cases
    of all interfaces.
    Cases that must not fail are all taken if ``trial.every``; otherwise one case of each function,
    of a third of the functions or, for a mix, of a quarter: other functions in each trial, and at
    least one case of each clause.
    """
    if trial.kind != FAULT:
        return _draw_cases(trial, instances)
    own = [item for item in instances if item.clause.id in trial.breaks]
    if trial.candidates:
        return own + [item for item in instances if _is_of_ways(item) and item not in own]
    interfaces = {interface(item) for item in own}
    others = [item for item in instances if item.clause.id not in trial.breaks]
    near = [item for item in others if interface(item) in interfaces]
    by_clause: dict[str, list[Instance]] = {}
    for item in own + _draw_cases(trial, near):
        by_clause.setdefault(item.clause.id, []).append(item)
    must_fail = [by_clause.pop(clause, []) for clause in trial.breaks]
    rounds = zip_longest(*must_fail)
    first = [item for each in rounds for item in each if item is not None]
    first += [item for items in by_clause.values() for item in items]
    return first + [item for item in instances if _may_show(item, trial) and item not in first]


def _may_show(item: Instance, trial: Trial) -> bool:
    """Return True for a case of combined ways if a fault is wrong in some circumstances only."""
    return trial.way == CONDITION and _is_of_ways(item) and item.clause.id not in trial.breaks


def _is_of_ways(item: Instance) -> bool:
    return interface(item).endswith(f"/{WAYS}")


def _draw_cases(trial: Trial, instances: Sequence[Instance]) -> list[Instance]:
    """Return the cases that must not fail: all, or a random part of them."""
    if trial.every:
        return list(instances)
    source = random.Random(trial.name)
    alike: dict[object, list[Instance]] = {}
    for item in instances:
        alike.setdefault((item.mark.id, item.clause.id), []).append(item)
    drawn = [source.choice(items) for items in alike.values()]
    return _thin_out(drawn, SHARE.get(trial.kind, 1), source)


def _thin_out(drawn: list[Instance], share: int, source: random.Random) -> list[Instance]:
    """Return one case in ``share`` and one of each clause, in the order they had."""
    mixed = source.sample(drawn, len(drawn))
    first = {item.clause.id: item.id for item in reversed(mixed)}
    kept = {*first.values(), *(item.id for item in mixed[: len(drawn) // share])}
    return [item for item in drawn if item.id in kept]


def interface(item: Instance) -> str:
    """Return protocol and interface of a case: ``nsq/publish``, ``iggy/apache/poll``."""
    words = item.clause.group.count(".") + 1
    return "/".join(item.id.split("/")[:words])


def run_trial(trial: Trial, url: str, protocol: str, instances: Sequence[Instance]) -> TrialResult:
    """Run the cases of a trial against its reference, several at a time, and return the result.

    Once a clause has failed under a fault, its other cases are not run: they decide nothing, and
    each may wait its full time for a message that never comes.
    """
    patience: float | None = PATIENCE_S.get(trial.kind, LEGAL_PATIENCE_S)
    waiters = WAITERS
    if read_target(url).is_client():
        patience, waiters = None, CLIENT_WAITERS  # a case for clients has its own limits
    seed = crc32(trial.name.encode()) % SEEDS  # other histories in each, the same each time
    plan = RunPlan(url=url, protocol=protocol, seed=seed, timeout=patience, passing=True)
    options = RunOptions(repeats=1, waiters=waiters, transcripts=False, patient=True)
    request = RunRequest(plan, options)
    chosen = cases_of(trial, instances)
    with closing(OpenRun.open(request, chosen)) as opened:
        cases = _TrialRun(trial, opened, waiters)
        cases.run(opened.supported)
        return cases.result()


def find_lacking(url: str, protocol: str, instances: Sequence[Instance]) -> dict[str, RedCase]:
    """Return the capabilities that a reference lacks, each with the first case that needs it."""
    plan = RunPlan(url=url, protocol=protocol, timeout=LEGAL_PATIENCE_S)
    with closing(OpenRun.open(RunRequest(plan, RunOptions()), instances)) as opened:
        return _lacking(opened)


def _lacking(opened: OpenRun) -> dict[str, RedCase]:
    supported = {item.id for item in opened.supported}
    found: dict[str, RedCase] = {}
    for item in opened.cases:
        need = missing_capability(item.needs, opened.run.bench)
        if need is not None and item.id not in supported:
            found.setdefault(need, _red_case(record_unsupported(item, opened.run.bench)))
    return found


class _TrialRun:
    """The cases of one trial and their records; used from several threads."""

    def __init__(self, trial: Trial, opened: OpenRun, waiters: int) -> None:
        self._trial = trial
        self._waiters = waiters
        self._opened = opened
        self._lock = threading.Lock()
        self._records: list[CaseRecord] = []
        self._red: dict[str, str] = {}
        self._spared = 0
        self._shown: set[str] = {
            reading_shown(name, binding.reading)
            for name, binding in opened.run.bench.readings.items()
            if binding.reading is not None
        }

    def run(self, chosen: Sequence[Instance]) -> None:
        """Run harmless cases in parallel, then one at a time those that disturb or may kill."""
        harmless = [item for item in chosen if not (item.mark.hazard or item.mark.alone)]
        with ThreadPoolExecutor(self._waiters, thread_name_prefix="trial-case") as pool:
            for _ in pool.map(self._run, harmless):
                pass
        for item in self._sequential(chosen):
            self._run(item)
        self._decide({item.id: item for item in chosen})

    def result(self) -> TrialResult:
        """Return the result of the cases run so far."""
        trial = self._trial
        unexpected = [record for record in self._records if is_unexpected(trial, record)]
        ways = (way.result for way in self._opened.ways(repeats=False))
        for record in [way for way in ways if way.verdict in _RED]:
            if trial.kind != FAULT:
                unexpected += [record] if is_unexpected(trial, record) else []
            elif record.clause in trial.breaks:
                self._red.setdefault(record.clause, record.case)
        return TrialResult(
            trial=trial,
            red=dict(sorted(self._red.items())),
            survived=tuple(clause for clause in trial.breaks if clause not in self._red),
            unexpected=tuple(_red_case(record) for record in unexpected),
            cases=len(self._records),
            spared=self._spared,
            shown=() if trial.kind == FAULT else tuple(sorted(self._shown)),
            lacking={} if trial.kind == FAULT else _lacking(self._opened),
        )

    @staticmethod
    def _sequential(chosen: Sequence[Instance]) -> Iterator[Instance]:
        yield from (item for item in chosen if item.mark.alone and not item.mark.hazard)
        yield from (item for item in chosen if item.mark.hazard)

    def _run(self, instance: Instance) -> None:
        clause, trial = instance.clause.id, self._trial
        with self._lock:
            is_spared = clause in self._red or self._needs_no_more(instance)
            if trial.kind == FAULT and is_spared:
                self._spared += 1
                return
        self._keep(self._opened.run_case(instance), instance.law)

    def _needs_no_more(self, instance: Instance) -> bool:
        """Return True if a fault in one corner, or one that combined ways may show, was seen."""
        is_last = bool(self._trial.candidates) or _may_show(instance, self._trial)
        return is_last and self._red.keys() >= {*self._trial.breaks}

    def _keep(self, record: CaseRecord, law: Law) -> None:
        with self._lock:
            self._records.append(record)
            self._shown.update(patterns_shown(record, law))
            if record.verdict == "fail":
                self._red.setdefault(record.clause, record.case)

    def _decide(self, chosen: dict[str, Instance]) -> None:
        """Run inconclusive cases once more, alone, where their verdict matters."""
        undecided = [record for record in self._records if record.verdict == "inconclusive"]
        for record in [each for each in undecided if is_decisive(self._trial, each)]:
            self._records.remove(record)
            self._run(chosen[record.case])


def is_decisive(trial: Trial, record: CaseRecord) -> bool:
    """Return True if the verdict of a case may change the result of a trial."""
    if trial.kind == FAULT:
        return record.clause in trial.breaks
    return trial.kind != ALTERNATIVE or record.level == "must"


def patterns_shown(record: CaseRecord, law: Law) -> Iterator[str]:
    """Yield each accepted pattern of a must case that its observation matches."""
    if record.level != "must":
        return
    for pattern in accepted_patterns(law):
        if matches(record.observation, (pattern,)):
            yield pattern_shown(record.clause, law.id, pattern)


def is_unexpected(trial: Trial, record: CaseRecord) -> bool:
    """Return True if the kit judged a case wrongly, given the fault or variants of the trial.

    Variants must leave no case without a verdict: `unsupported` would hide what they break. An
    alternative may lack what a case needs, but no must case may fail.
    """
    if trial.kind == ALTERNATIVE:
        return record.verdict == "error" or (record.level == "must" and record.verdict in _RED)
    if trial.kind != FAULT and record.observation != SLOW:
        return record.verdict not in ("pass", "reading")
    if record.verdict == "error":
        return True
    allowed = {*trial.breaks, *trial.may_break}
    return record.verdict in _RED and record.clause not in allowed


def _red_case(record: CaseRecord) -> RedCase:
    return RedCase(record.case, record.clause, record.verdict, record.observation, record.reason)
