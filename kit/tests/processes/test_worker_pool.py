"""The worker pool: a process that dies or hangs costs its job and nothing else."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing

import pytest
from waits import until

from wireproof_kit.processes.worker_pool import JobLost, WorkerPool

pytestmark = pytest.mark.process

PARENT = """
import os, time
from wireproof_kit.processes.worker_pool import WorkerPool

def work(job, send):
    send(os.getpid())
    time.sleep(10_000)  # only a signal ends this job

for _, pid in WorkerPool(work, 1).run(["sleep"]):
    print(pid, flush=True)
"""


INTERRUPTED_TWICE = (
    PARENT.replace(
        "for _, pid",
        """
class Interrupted(WorkerPool):
    def _dismiss(self, worker):
        raise KeyboardInterrupt

for _, pid""",
    ).replace("WorkerPool(work, 1).run", "Interrupted(work, 1).run")
    + "    raise KeyboardInterrupt\n"
)


def work(job: str, send: Callable[[int], None]) -> None:
    if job == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if job == "hangs":
        signal.pause()
    if job == "raises":
        raise LookupError("no such job")
    send(os.getpid())


def results(size: int, *jobs: str, each: float = 99) -> dict[str, int | JobLost]:
    pool = WorkerPool(work, size, job_within_s=0.5, jobs_each=each)
    found = list(pool.run(jobs))
    assert len(found) == len(jobs)
    return dict(found)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        ("dies", "its worker ended"),
        ("hangs", "its worker was ended after 0.5 s"),
        ("raises", "LookupError: no such job"),
    ],
)
def test_a_lost_job_is_reported_and_the_others_are_done(
    size: int, trouble: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    found = results(size, "first", trouble, "second", "third")
    assert found.pop(trouble) == JobLost(why)
    assert all(isinstance(each, int) for each in found.values())
    assert ("Traceback" in capfd.readouterr().err) == (trouble == "raises")


def test_a_worker_does_several_jobs() -> None:
    assert len(set(results(1, "first", "second", "third").values())) == 1


def test_a_worker_is_replaced_after_its_last_job() -> None:
    assert len(set(results(2, "first", "second", "third", each=1).values())) == 3


def test_no_more_workers_are_started_than_there_are_jobs() -> None:
    assert len(set(results(8, "first", "second", each=1).values())) == 2


def test_a_job_may_have_several_results() -> None:
    def count(job: int, send: Callable[[int], None]) -> None:
        for number in range(job):
            send(number)

    assert sorted(WorkerPool(count, 2).run([3, 1])) == [(1, 0), (3, 0), (3, 1), (3, 2)]


def test_leaving_early_ends_the_workers() -> None:
    def sleep(job: str, send: Callable[[int], None]) -> None:
        send(os.getpid())
        time.sleep(10_000)  # only a signal ends this job before the watchdog ends the test

    with closing(WorkerPool(sleep, 1).run(["first"])) as found:
        _, pid = next(found)
    assert isinstance(pid, int)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_workers_end_with_the_process_that_started_them() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    until(lambda: not is_running(pid), "end of the worker")


def test_a_process_whose_second_interrupt_broke_off_the_end_of_its_workers_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_TWICE], stdout=subprocess.PIPE, check=False
    )
    assert done.returncode == -signal.SIGINT
    assert not is_running(int(done.stdout))


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
