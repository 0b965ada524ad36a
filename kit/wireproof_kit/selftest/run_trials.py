"""Running trials in several worker processes, each against brokers of one fork server."""

import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing

import msgspec

from wireproof_kit.errors import KitError
from wireproof_kit.processes.client_forks import ClientForkServer
from wireproof_kit.processes.forked_broker import BrokerForkServer
from wireproof_kit.processes.worker_pool import JobLost, WorkerPool
from wireproof_kit.protocols import read_target
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.rule_machine import LIGHT, PROFILE
from wireproof_kit.selftest.plan import FAULT, Trial, TrialResult
from wireproof_kit.selftest.trial import find_lacking, run_trial
from wireproof_kit.targets.embedded import memory_folder
from wireproof_kit.targets.scratch import scratch

# Every case with all alternatives at once takes three minutes on an idle machine.
TRIAL_WITHIN_S = 900.0
# The cases of a trial without a fault hardly ever wait, and an alternative of NSQ has 612 of them:
# 24 such trials at a time were a load of 70 on two processors.
LEGAL_PER_PROCESSOR = 2
USUAL = "ci"
MOST_AGAIN = 30
"""How many trials that end wrongly are repeated; more are no matter of a busy machine."""
ENTERED = "corner-entered"
"""The file that a reference creates in its data directory when a limited fault takes effect."""


def run_trials(
    protocol: str, trials: Sequence[Trial], *, workers: int, of_client: bool = False
) -> Generator[TrialResult, None, None]:
    """Run the trials in worker processes; yield each result as it comes.

    Cases are collected once, before the workers are forked. Leaving early ends all processes. If a
    trial's worker ends or takes too long, the result says so in ``trouble``. ``of_client``: the
    example client is tried, not the broker. Trials without a fault come first, at most two at a
    time for each processor: they keep it busy, while those of faults mostly wait. What ends
    wrongly is repeated alone at the end, and the second result is yielded: beside other trials, a
    broker may need longer than a trial waits.
    """
    instances = [item for item in collect(protocol) if item.is_for_clients is of_client]
    with scratch(memory_folder()) as folder, ExitStack() as stack:
        server: BrokerForkServer | ClientForkServer
        server = ClientForkServer(protocol, folder) if of_client else BrokerForkServer(protocol)
        stack.callback(server.close)

        def work(trial: Trial, send: Callable[[TrialResult], None]) -> None:
            send(_result(trial, protocol, instances, server=server, folder=folder))

        def run(batch: Sequence[Trial], size: int) -> Generator[TrialResult, None, None]:
            pool = WorkerPool(work, size, job_within_s=TRIAL_WITHIN_S)
            with closing(pool.run(batch)) as results:
                for trial, result in results:
                    if isinstance(result, JobLost):
                        result = TrialResult(trial, trouble=result.why)
                    yield result

        def run_all() -> Generator[TrialResult, None, None]:
            for batch, size in _batches(trials, instances, workers):
                yield from run(batch, size)

        yield from _repeat_wrong(run_all(), lambda trial: run([trial], 1))


def _repeat_wrong(
    results: Generator[TrialResult, None, None],
    again: Callable[[Trial], Generator[TrialResult, None, None]],
) -> Generator[TrialResult, None, None]:
    """Yield results; the trials that ended wrongly come last, with their second results."""
    wrong: list[TrialResult] = []
    with closing(results):
        for result in results:
            if result.is_wrong and len(wrong) < MOST_AGAIN:
                wrong.append(result)
            else:
                yield result
    for before in wrong:
        with closing(again(before.trial)) as repeated:
            for result in repeated:
                yield msgspec.structs.replace(result, first=before.describe())


def _batches(
    trials: Sequence[Trial], instances: Sequence[Instance], workers: int
) -> Iterator[tuple[list[Trial], int]]:
    """Yield trials to run in one pool, each time with the number of its workers.

    Faults whose own cases mostly wait come first: one of NSQ takes 250 s, and was left alone.
    """
    waits = Counter(item.clause.id for item in instances if item.mark.waiting)
    faults = [trial for trial in trials if trial.kind == FAULT]
    faults.sort(key=lambda fault: -sum(waits[clause] for clause in fault.breaks))
    busy = LEGAL_PER_PROCESSOR * len(os.sched_getaffinity(0))
    yield [trial for trial in trials if trial.kind != FAULT], min(workers, busy)
    yield faults, workers


def _result(
    trial: Trial,
    protocol: str,
    instances: Sequence[Instance],
    *,
    server: BrokerForkServer | ClientForkServer,
    folder: str,
) -> TrialResult:
    os.environ[PROFILE] = USUAL if trial.kind == FAULT else LIGHT
    started = time.monotonic()
    result, was_idle = TrialResult(trial), bool(trial.candidates)
    for name in trial.candidates or trial.switches[:1]:
        asked = msgspec.structs.replace(trial, switches=(name,)) if trial.candidates else trial
        try:
            with server.reference(asked.options(), parent=folder) as url:
                result = run_trial(asked, url, protocol, instances)
                entered = not trial.candidates or was_entered(url)
        except KitError as error:
            result = TrialResult(asked, trouble=str(error))
            break
        was_idle = was_idle and not entered
        result = _with_gaps(result, protocol, instances, server=server, folder=folder)
        if result.red:
            break
        result = msgspec.structs.replace(result, idle=was_idle)
    return msgspec.structs.replace(result, seconds=round(time.monotonic() - started, 2))


def _with_gaps(
    result: TrialResult,
    protocol: str,
    instances: Sequence[Instance],
    *,
    server: BrokerForkServer | ClientForkServer,
    folder: str,
) -> TrialResult:
    """Count as an alarm what a legal variant lacks, unless it says so or the reference lacks it.

    The cases that need it would meet the variant in no trial, and nobody would know.
    """
    gaps = result.lacking.keys() - set(result.trial.lacks)
    if not gaps:
        return result
    with server.reference((), parent=folder) as url:
        gaps -= find_lacking(url, protocol, instances).keys()
    unexpected = (*result.unexpected, *(result.lacking[gap] for gap in sorted(gaps)))
    return msgspec.structs.replace(result, unexpected=unexpected)


def was_entered(url: str) -> bool:
    """Return True if a fault limited to certain circumstances took effect, or nobody can tell."""
    data = read_target(url).data  # of a cluster the folder of one node
    return data is None or any((each / ENTERED).exists() for each in (data, data.parent))
