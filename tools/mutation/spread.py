"""Tasks in a worker pool, a fresh worker each, with brokers of one fork server."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from wireproof_kit.processes.forked_broker import BrokerClient, BrokerForkServer, ForkedBroker
from wireproof_kit.processes.worker_pool import JobLost, WorkerPool
from wireproof_kit.targets.embedded import memory_folder
from wireproof_kit.targets.scratch import scratch

HERE = Path(__file__).resolve().parent
PROTOCOL = "nsq"

T = TypeVar("T")


@dataclass
class Brokers:
    """Starts forked brokers; ``memory``, ``mutant`` and ``trace`` apply to those started later."""

    client: BrokerClient
    tree: Path
    mutant: object = None
    trace: Path | None = None
    memory: bool = False

    def start(self, _protocol: str, options: Iterable[str], **_: object) -> ForkedBroker:
        """Start a forked broker, where the kit would start a process."""
        setup = {
            "tree": str(self.tree),
            "memory": self.memory,
            "mutant": self.mutant,
            "trace": str(self.trace) if self.trace else None,
        }
        return self.client.start(list(options), mute=True, setup=setup)


Work = Callable[[Brokers, T], dict[str, object]]


def spread(
    tasks: Iterable[T], work: "Work[T]", *, tree: Path, slots: int, within_s: float
) -> Iterator[tuple[T, dict[str, object]]]:
    """Do each task in a worker process; yield the task and its result, or ``{"lost": reason}``.

    A worker that takes longer than ``within_s`` seconds is ended, together with its broker.
    """
    environment = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{HERE}"}
    setup = "broker_setup:set_up"
    with BrokerForkServer(PROTOCOL, setup=setup, environment=environment) as server:

        def do(task: T, send: Callable[[dict[str, object]], None]) -> None:
            with scratch(memory_folder()) as folder, server.connect() as client:
                tempfile.tempdir = folder
                send(work(Brokers(client, tree), task))

        # What a task leaves behind, patches and threads, must not meet the next one.
        pool = WorkerPool(do, slots, job_within_s=within_s, jobs_each=1)
        for task, result in pool.run(tasks):
            yield task, {"lost": result.why} if isinstance(result, JobLost) else result
