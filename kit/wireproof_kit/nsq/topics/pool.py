"""The topics of a run, created in parallel at the start."""

import itertools
import threading
import time
from collections import Counter, defaultdict, deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.topics.sources import KINDS
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.processes.limits import fit_files

# Clusters let all topics asked for at about the same time appear at once, however late, so that
# none may be asked for only when another one has appeared.
WORKERS = 512
# Of hundreds of threads, each would take 8 MiB of address space.
STACK_BYTES = 1 << 20
# A measured cluster took 50 to 80 s to make 400 topics at once, and 2 to 90 s for a single
# one; on a busy machine it takes longer.
PREPARE_SECONDS = 350.0
TAKE_SECONDS = 100.0
DELETE_SECONDS = 10.0
# A topic that is made in less is made when a case asks for it.
QUICK_SECONDS = 2.0


class Maker(Protocol):
    """Creates and deletes topics on a target."""

    def name(self, number: int) -> str:
        """Return the name of a run's topic, by its number."""
        ...

    def make(self, argument: str, name: str) -> Topic:
        """Create or find a topic of the kind that the name of a case's argument means."""
        ...

    def delete(self, topic: Topic) -> bool:
        """Delete a topic of this run; return True if the target has it no longer."""
        ...


class TopicPool:
    """Gives topics to cases by the name of their argument; thread-safe."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        self._spares: Counter[str] = Counter()
        self._wanted: Counter[str] = Counter()
        self._quickest: dict[str, float] = {}
        workers = max(fit_files(WORKERS, 1), 1)
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="topic")
        self._shared: dict[str, Future[Topic]] = {}
        self._fresh: dict[str, deque[Future[Topic]]] = defaultdict(deque)
        self._made: list[Topic] = []
        self.left: list[str] = []
        """The topics that the target keeps, once the pool is closed."""
        self._by_name: dict[str, Topic] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def prepare(self, kinds: Counter[str], *, spares: int = 0) -> None:
        """Start to create missing topics, without waiting for them.

        ``kinds`` counts, by argument name, how often cases take each kind of topic. Topics of
        kinds that take long are created ahead: ``spares`` more than wanted, for repeated cases.
        """
        with self._lock:
            for argument, wanted in kinds.items():
                if argument not in KINDS:
                    continue
                if KINDS[argument].shared:
                    self._shared_topic(argument)
                    continue
                fresh = self._fresh[argument]
                self._wanted[argument] = max(wanted, self._wanted[argument])
                self._spares[argument] = max(spares, self._spares[argument])
                fresh.extend(self._begin(argument) for _ in range(wanted - len(fresh)))

    def settle(self) -> None:
        """Wait until each requested topic exists or has failed, then start creating spares."""
        with self._lock:
            fresh = [
                itertools.islice(coming, self._wanted[argument])
                for argument, coming in self._fresh.items()
            ]
            wanted = [*self._shared.values(), *itertools.chain(*fresh)]
        wait(wanted, timeout=PREPARE_SECONDS)
        with self._lock:
            for argument, coming in self._fresh.items():
                spares = self._count_spare(argument)
                missing = self._wanted[argument] + spares - len(coming) if spares else 0
                coming.extend(self._begin(argument) for _ in range(missing))

    def take(self, argument: str) -> Topic:
        """Return a topic for a case's argument: the shared one, or a new one for this case only.

        Raises:
            ArrangementFailed: no method creates such a topic.
        """
        with self._lock:
            if KINDS[argument].shared:
                coming = self._shared_topic(argument)
            else:
                fresh = self._fresh[argument]
                coming = fresh.popleft() if fresh else self._begin(argument)
                if len(fresh) < self._count_spare(argument):
                    fresh.append(self._begin(argument))
        try:
            return coming.result(TAKE_SECONDS)
        except TimeoutError as error:
            seconds = f"{TAKE_SECONDS:g} s"
            raise ArrangementFailed(f"{argument} did not appear in {seconds}") from error

    def forget(self) -> None:
        """Have each topic made again when a case asks for it: a restarted target may lack it."""
        with self._lock:
            self._shared.clear()
            self._fresh.clear()

    def find(self, name: str) -> Topic | None:
        """Return a topic by its name; None if it is none that was made or found for cases."""
        with self._lock:
            return self._by_name.get(name)

    def next_name(self) -> str:
        """Return an unused topic name of this run."""
        return self._maker.name(next(self._numbers))

    def adopt(self, topic: Topic) -> None:
        """Register a topic created by a case, so that `close` deletes it."""
        with self._lock:
            self._made.append(topic)

    def close(self, *, leave: bool = False) -> None:
        """Delete the created topics, unless ``leave``.

        One whose deletion is not confirmed in ``DELETE_SECONDS`` is among those that are ``left``.
        A spare that is just being created is waited for: it stayed behind, and nobody said so.
        """
        with self._lock:
            coming = [*self._shared.values(), *itertools.chain(*self._fresh.values())]
        wait([each for each in coming if not each.cancel()], timeout=DELETE_SECONDS)
        with self._lock:
            made = [topic for topic in self._made if topic.way != "given" and not leave]
        deletions = {topic.name: self._workers.submit(self._maker.delete, topic) for topic in made}
        wait(deletions.values(), timeout=DELETE_SECONDS)
        self._workers.shutdown(wait=False, cancel_futures=True)
        self.left = [name for name, done in deletions.items() if not _is_confirmed(done)]

    def _count_spare(self, argument: str) -> int:
        """Return the number of spare topics; 0 for kinds that are created immediately."""
        quick = self._quickest.get(argument, 0.0) < QUICK_SECONDS
        return 0 if quick else self._spares[argument]

    def _shared_topic(self, argument: str) -> Future[Topic]:
        if argument not in self._shared:
            self._shared[argument] = self._begin(argument)
        return self._shared[argument]

    def _begin(self, argument: str) -> Future[Topic]:
        usual = threading.stack_size(STACK_BYTES)
        try:
            return self._workers.submit(self._make, argument, self.next_name())
        finally:
            threading.stack_size(usual)

    def _make(self, argument: str, name: str) -> Topic:
        began = time.monotonic()
        topic = self._maker.make(argument, name)
        took = time.monotonic() - began
        self.adopt(topic)
        with self._lock:
            self._by_name[topic.name] = topic
            self._quickest[argument] = min(took, self._quickest.get(argument, took))
        return topic


def _is_confirmed(deletion: Future[bool]) -> bool:
    is_done = deletion.done() and not deletion.cancelled() and deletion.exception() is None
    return is_done and deletion.result()
