"""A proxy in this process: the relay in a thread of its own, the observer in another."""

import asyncio
import queue
import socket
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from wireproof_kit.clients.events import Event
from wireproof_kit.nsq.proxy.part import make_part
from wireproof_kit.proxy.events import Listening
from wireproof_kit.proxy.observer import Observer
from wireproof_kit.proxy.part import ProxyPart, Service
from wireproof_kit.proxy.session import relay_until
from wireproof_kit.proxy.tally import Entry, Tally
from wireproof_kit.proxy.tap import MOST_BYTES, Tap
from wireproof_kit.runner.instance import Instance
from wireproof_kit.wire.transcript import Step
from wireproof_spec.clauses.loading import load_catalogue

PATIENCE_S = 300.0
"""How long a driver may take for an answer that it gives at once."""
Address = tuple[str, int]


@dataclass
class Seen:
    """Keeps what a proxy tells."""

    events: "queue.Queue[Event]" = field(default_factory=lambda: queue.Queue())
    kept: list[Event] = field(default_factory=list[Event])
    deviations: list[Entry] = field(default_factory=list[Entry])
    most: int = 1 << 30
    bytes: dict[tuple[str, str], bytearray] = field(
        default_factory=dict[tuple[str, str], bytearray]
    )
    """The first bytes by connection and kind of step."""
    counts: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """The number of bytes likewise."""
    keeps_events: bool = True

    def step(self, step: Step) -> None:
        key = step.connection, step.kind
        kept = self.bytes.setdefault(key, bytearray())
        kept += step.data[: max(self.most - len(kept), 0)]
        self.counts[key] += len(step.data)

    def event(self, event: Event) -> None:
        if self.keeps_events:
            self.events.put(event)

    def deviation(self, entry: Entry) -> None:
        self.deviations.append(entry)

    def until(self, kind: type[Event], count: int = 1) -> Event:
        """Wait until so many events of a kind have come; return the last one."""
        while True:
            event = self.events.get()
            self.kept.append(event)
            count -= isinstance(event, kind)
            if count == 0:
                return event


@dataclass
class Proxied:
    """A running proxy; ``observer`` is complete when the block is left."""

    address: Address
    tap: Tap
    observer: Observer
    seen: Seen

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address)

    def verdicts(self) -> dict[str, tuple[int, int]]:
        """Return by clause how often it conformed and deviated."""
        entries = self.observer.tally.entries()
        return {each.clause.id: (each.conforms, each.deviates) for each in entries}

    def deviating(self) -> dict[str, str]:
        """Return what deviates, by clause."""
        return {
            each.clause.id: each.what for each in self.observer.tally.entries() if each.deviates
        }


@contextmanager
def proxied(
    *services: Service,
    part: ProxyPart | None = None,
    most: int = MOST_BYTES,
    opening: Sequence[Instance] = (),
    protocol: str = "nsq",
) -> Generator[Proxied]:
    """Stand before services, the first of which is the main one."""
    part = part or make_part()
    tap, seen = Tap(most), Seen(most=min(most, MOST_BYTES))
    observer = Observer(
        tap, part.watch, Tally(protocol, load_catalogue(protocol), opening), [seen]
    )
    ends: list[Callable[[], object]] = []

    async def relay() -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        ends.append(lambda: loop.call_soon_threadsafe(ended.set))
        await relay_until(ended, part, services, [("127.0.0.1", 0)], tap)

    threads = [threading.Thread(target=lambda: asyncio.run(relay()))]
    threads.append(threading.Thread(target=observer.run))
    for thread in threads:
        thread.start()
    try:
        listening = seen.until(Listening)
        assert isinstance(listening, Listening)
        host, _, port = listening.address.rpartition(":")
        yield Proxied((host, int(port)), tap, observer, seen)
    finally:
        for end in ends:
            end()
        threads[0].join()
        tap.end()
        threads[1].join()
