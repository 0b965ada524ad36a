"""A process that shares out trials among copies of itself, so that cases are collected once.

``python -m wireproof_kit.selftest.worker PROTOCOL SIZE`` reads the trials, a JSON list, from
the first line of stdin and writes what each showed, a line of JSON, as it comes. The end of stdin
ends everything.
"""

import gc
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from types import FrameType

import msgspec

from wireproof_kit.errors import KitError
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.rule_machine import LIGHT, PROFILE
from wireproof_kit.selftest.fork_server import Nursery
from wireproof_kit.selftest.plan import FAULT, Shown, Trial
from wireproof_kit.selftest.trial import rehearse
from wireproof_kit.targets.embedded import memory_folder
from wireproof_kit.targets.scratch import scratch

TRIAL_WITHIN_S = 300.0
END_WITHIN_S = 15.0
ENDED = f"the process that rehearsed it ended, or was ended after {TRIAL_WITHIN_S:g} s"
TERMINATED = 143
USUAL = "ci"
SELDOM = 50_000

Handler = Callable[[int, FrameType | None], None]


@dataclass(slots=True)
class _Worker:
    """A copy that rehearses, the foreman's end of its pipe, and what it is busy with."""

    process: ForkProcess
    pipe: Connection
    trial: Trial
    deadline: float


class Foreman:
    """Hands each worker its next trial; one that ends or hangs is replaced."""

    def __init__(self, protocol: str, trials: list[Trial]) -> None:
        self._protocol = protocol
        self._trials = deque(trials)
        self._instances = collect(protocol)
        self._workers: list[_Worker] = []
        self._folder = scratch(memory_folder())
        gc.freeze()  # what is there now stays, and pages that no collector touches are shared
        gc.set_threshold(SELDOM)

    def work(self, size: int, out: int, end: int) -> None:
        """Have so many rehearse until all trials are shown on ``out``, or ``end`` is readable."""
        for _ in range(min(size, len(self._trials))):
            self._hire()
        while self._workers:
            pipes = [worker.pipe for worker in self._workers]
            ready = wait([*pipes, end], timeout=self._time_left())
            if end in ready:
                return
            for worker in list(self._workers):
                if worker.pipe in ready or time.monotonic() > worker.deadline:
                    _say(out, self._collected(worker, is_ready=worker.pipe in ready))

    def dismiss(self) -> None:
        """End whoever still works, each with its reference."""
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(END_WITHIN_S)
            worker.process.kill()
            worker.process.join()
        self._folder.cleanup()

    def _time_left(self) -> float:
        return max(0.0, min(worker.deadline for worker in self._workers) - time.monotonic())

    def _collected(self, worker: _Worker, *, is_ready: bool) -> Shown:
        """Take what a worker shows and give it the next trial, or let it go."""
        try:
            if not is_ready:
                raise EOFError
            shown = msgspec.json.decode(worker.pipe.recv_bytes(), type=Shown)
        except (EOFError, OSError):
            shown = Shown(worker.trial, trouble=ENDED)
            worker.process.kill()
            self._leave(worker)
            if self._trials:
                self._hire()
            return shown
        if self._trials:
            self._give(worker)
        else:
            self._leave(worker)
        return shown

    def _give(self, worker: _Worker) -> None:
        worker.trial = self._trials.popleft()
        worker.deadline = time.monotonic() + TRIAL_WITHIN_S
        worker.pipe.send_bytes(msgspec.json.encode(worker.trial))

    def _hire(self) -> None:
        """Fork before any thread exists here: the copy may then start its own."""
        context = get_context("fork")
        here, there = context.Pipe()
        others = [worker.pipe for worker in self._workers]
        process = context.Process(target=self._rehearse, args=(there, [*others, here]))
        process.start()
        there.close()
        worker = _Worker(process, here, self._trials[0], 0.0)
        self._workers.append(worker)
        self._give(worker)

    def _leave(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.pipe.close()
        worker.process.join(END_WITHIN_S)

    def _rehearse(self, pipe: Connection, foreign: list[Connection]) -> None:
        """Rehearse what comes, in the copy; ends when the foreman's end of the pipe does."""
        for each in foreign:
            each.close()
        os.dup2(2, 1)  # what a case may print is no answer
        with Nursery(self._protocol, folder=self._folder.name) as nursery:
            signal.signal(signal.SIGTERM, _leaving_at_once(nursery))
            while True:
                try:
                    trial = msgspec.json.decode(pipe.recv_bytes(), type=Trial)
                except EOFError:
                    return
                shown = _rehearsed(trial, self._protocol, self._instances, nursery=nursery)
                try:
                    pipe.send_bytes(msgspec.json.encode(shown))
                except BrokenPipeError:
                    return  # nobody wants to know any more


def _rehearsed(
    trial: Trial, protocol: str, instances: tuple[Instance, ...], *, nursery: Nursery
) -> Shown:
    os.environ[PROFILE] = USUAL if trial.kind == FAULT else LIGHT
    started = time.monotonic()
    try:
        with nursery.reference(trial.options()) as url:
            shown = rehearse(trial, url, protocol, instances)
    except KitError as error:
        shown = Shown(trial, trouble=str(error))
    return msgspec.structs.replace(shown, seconds=round(time.monotonic() - started, 2))


def _say(out: int, shown: Shown) -> None:
    os.write(out, msgspec.json.encode(shown) + b"\n")


def _leaving_at_once(nursery: Nursery) -> Handler:
    """Return what ends a worker in the middle of a trial: nobody waits for its cases any more."""

    def leave(number: int, frame: FrameType | None) -> None:
        nursery.close()
        os._exit(TERMINATED)

    return leave


def _end(number: int, frame: FrameType | None) -> None:
    """End in order: whoever works is dismissed."""
    sys.exit(TERMINATED)


def main(protocol: str, size: int) -> None:
    """Share out what stdin names; whoever started this process decides when it is over."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    out = os.dup(1)
    os.dup2(2, 1)
    trials = msgspec.json.decode(sys.stdin.buffer.readline(), type=list[Trial])
    foreman = Foreman(protocol, trials)
    try:
        foreman.work(size, out, sys.stdin.fileno())
    except BrokenPipeError:
        pass  # nobody wants to know any more
    finally:
        foreman.dismiss()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
