"""The worker pool: forked copies of this process that pull jobs and send results.

What the work needs, its closure, is there in each worker as it was when that was forked; only
jobs and results are pickled. Fork before any thread is started here: workers may start theirs.
"""

import atexit
import gc
import math
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Generic, NoReturn, TypeVar

# As in the fork server: collections find next to nothing and unshare memory.
COLLECT_EVERY = 50_000
POLL_S = 0.2

J = TypeVar("J")
R = TypeVar("R")

Work = Callable[[J, Callable[[R], None]], None]
"""Performs a job, and calls the given function with each of its results."""


@dataclass(frozen=True, slots=True)
class JobLost:
    """Stands for the result of a job that was not completed, with the reason."""

    why: str


@dataclass(slots=True)
class _Worker(Generic[J]):
    process: ForkProcess
    pipe: Connection
    job: J
    deadline: float
    jobs: int = 1


class WorkerPool(Generic[J, R]):
    """Runs jobs in several processes; replaces a worker that exits or takes too long.

    ``job_within_s`` is the time limit of a job; ``jobs_each`` is how many jobs a process runs
    before it is replaced; ``ends_within_s`` is the time limit for the processes to end.
    """

    def __init__(
        self,
        work: Work[J, R],
        size: int,
        *,
        job_within_s: float = math.inf,
        jobs_each: float = math.inf,
        ends_within_s: float = 0.0,
        attend: Callable[[], None] = lambda: None,
    ) -> None:
        self._work = work
        self._size = size
        self._job_within_s = job_within_s
        self._jobs_each = jobs_each
        self._ends_within_s = ends_within_s
        self._attend = attend
        self._workers: list[_Worker[J]] = []

    def run(self, jobs: Iterable[J]) -> Generator[tuple[J, R | JobLost], None, None]:
        """Yield each job with each of its results; closing the generator ends the workers."""
        waiting = iter(jobs)
        # Workers notice at its end that this process has ended, however it did.
        life, held = os.pipe()
        # At exit, multiprocessing waits for processes that still run. After a second interrupt,
        # which broke off their end, it waited for ever: an idle worker expects its next job.
        atexit.register(self._kill)
        try:
            self._fill(waiting, life, held)
            while self._workers:
                for worker in self._ready():
                    yield from self._take(worker, waiting)
                self._fill(waiting, life, held)
                self._attend()
        finally:
            self._end()
            os.close(life)
            os.close(held)
            atexit.unregister(self._kill)

    def _fill(self, waiting: Iterator[J], life: int, held: int) -> None:
        while len(self._workers) < self._size:
            for job in waiting:
                self._hire(job, life, held)
                break
            else:
                return

    def _hire(self, job: J, life: int, held: int) -> None:
        context = get_context("fork")
        here, there = context.Pipe()
        foreign = [*(worker.pipe for worker in self._workers), here]

        def serve() -> None:
            os.close(held)
            for pipe in foreign:
                pipe.close()
            _serve(self._work, there, life)

        process = context.Process(target=serve)
        process.start()
        there.close()
        worker = _Worker(process, here, job, self._deadline())
        self._workers.append(worker)
        here.send(job)

    def _deadline(self) -> float:
        return time.monotonic() + self._job_within_s

    def _ready(self) -> list[_Worker[J]]:
        """Return the workers that sent a message or exceeded their time limit."""
        left = min(worker.deadline for worker in self._workers) - time.monotonic()
        ready = wait([worker.pipe for worker in self._workers], max(0.0, min(left, POLL_S)))
        now = time.monotonic()
        return [
            worker for worker in self._workers if worker.pipe in ready or now > worker.deadline
        ]

    def _take(
        self, worker: _Worker[J], waiting: Iterator[J]
    ) -> Generator[tuple[J, R | JobLost], None, None]:
        if not worker.pipe.poll():
            yield self._lose(worker, f"its worker was ended after {self._job_within_s:g} s")
            return
        try:
            is_result, value = worker.pipe.recv()
        except (EOFError, OSError):
            yield self._lose(worker, "its worker ended")
            return
        if is_result:
            yield worker.job, value
        elif value:
            yield self._lose(worker, value)
        else:
            self._give(worker, waiting)

    def _give(self, worker: _Worker[J], waiting: Iterator[J]) -> None:
        """Send a worker its next job, or end the worker when no job is left."""
        if worker.jobs < self._jobs_each:
            for job in waiting:
                worker.job, worker.deadline = job, self._deadline()
                worker.jobs += 1
                worker.pipe.send(job)
                return
        self._dismiss(worker)

    def _lose(self, worker: _Worker[J], why: str) -> tuple[J, R | JobLost]:
        self._dismiss(worker)
        return worker.job, JobLost(why)

    def _dismiss(self, worker: _Worker[J]) -> None:
        worker.process.kill()
        worker.process.join()
        self._workers.remove(worker)
        worker.pipe.close()

    def _kill(self) -> None:
        for worker in self._workers:
            worker.process.kill()

    def _end(self) -> None:
        until = time.monotonic() + self._ends_within_s
        while self._workers and time.monotonic() < until:
            for worker in self._ready():
                for _ in self._take(worker, iter(())):
                    pass  # nobody wants it
        for worker in list(self._workers):
            self._dismiss(worker)


def _serve(work: Work[J, R], pipe: Connection, life: int) -> NoReturn:
    """Run jobs in a worker until one fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    os.dup2(2, 1)  # what a job may print is no result of the command
    gc.freeze()  # memory that the collector never touches stays shared
    gc.set_threshold(COLLECT_EVERY)
    why = ""
    while not why:
        try:
            job: J = pipe.recv()
        except EOFError:
            break
        try:
            work(job, lambda result: _send(pipe, (True, result)))
        except Exception as error:  # the outermost loop of a worker
            traceback.print_exc()
            why = f"{type(error).__name__}: {error}"
        _send(pipe, (False, why))
    os._exit(0)  # threads that a job has left behind are not waited for


def _send(pipe: Connection, message: tuple[bool, object]) -> None:
    """Send a message; exit the process when the receiver is gone."""
    try:
        pipe.send(message)
    except OSError:
        os._exit(1)


def _end_with(life: int) -> None:
    """Exit this process when its parent has exited."""
    os.read(life, 1)
    os._exit(1)
