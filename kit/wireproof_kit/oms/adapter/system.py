"""A system behind an adapter, as cases use it: destinations, consumers, the server's clock."""

import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.oms.adapter.exchange import Exchange, describe
from wireproof_kit.oms.adapter.messages import (
    NOTHING,
    Attributes,
    Delivery,
    Sent,
    make_document,
)
from wireproof_kit.runner.patience import PUSH, REDELIVERY, Patience
from wireproof_spec.driver.lines import Result, in_base64
from wireproof_spec.strict_json import JsonValue, fields_of, values_of

GROUP = "wp_group"
IDLE_S = 1.0
PAUSE_S = 0.01
MOST_AT_ONCE = 100
LONG_NAME = 60


@dataclass(frozen=True, slots=True)
class ServerClock:
    """The milliseconds that the server's clock is ahead of the kit's, and their uncertainty."""

    ahead_ms: float = 0.0
    uncertain_ms: float = 0.0

    def now_ms(self) -> float:
        """Return the server's present time in milliseconds since 1970."""
        return kit_ms() + self.ahead_ms


@dataclass(frozen=True, slots=True)
class Naming:
    """Makes a unique name for each destination of a run."""

    token: str
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def next(self) -> str:
        """Return a name that no destination of the run has."""
        return f"wp_{self.token}_{next(self.numbers)}"


class System:
    """The messaging system under test, as one run of a case uses it.

    ``plain`` is the extension header of a message that only has to arrive; None means without one.
    """

    def __init__(
        self,
        exchange: Exchange,
        patience: Patience,
        clock: ServerClock,
        naming: Naming,
        plain: Attributes | None = NOTHING,
    ) -> None:
        self.exchange = exchange
        self.plain = plain
        self.patience = patience
        self.clock = clock
        self.naming = naming
        self._idle: Consumer | None = None
        self._long = ""

    def claims(self, word: str) -> bool:
        """Return True if the adapter claims an attribute or capability by this name."""
        return word in self.exchange.link.hello.claims

    def new_destination(self, *, partitions: int | None = None) -> "Destination":
        """Create a queue or topic and return it.

        Raises:
            ArrangementFailed: it could not be created.
        """
        name = self.naming.next()
        fields: dict[str, JsonValue] = {"destination": name}
        if partitions is not None:
            fields["partitions"] = partitions
        self.exchange.demand("create_destination", fields)
        return Destination(self, name)

    def long_destination(self, end: str) -> "Destination | None":
        """Create a destination with a name of 60 letters; None if that is refused.

        The names of a run and a case differ in their ends alone.
        """
        self._long = self._long or self.naming.next().ljust(LONG_NAME - 1, "x")
        fields: dict[str, JsonValue] = {"destination": f"{self._long}{end}"}
        if self.claims("partitions"):
            fields["partitions"] = 1
        answer = self.exchange.ask("create_destination", fields)
        return Destination(self, f"{self._long}{end}") if isinstance(answer, Result) else None

    def warm_destination(self, *, partitions: int | None = None) -> "tuple[Destination, Consumer]":
        """Create a queue or topic, and a consumer that has received a first message from it.

        Raises:
            ArrangementFailed: the destination could not be created, or nothing arrived.
        """
        if partitions is None and self.claims("partitions"):
            partitions = 1  # messages of several partitions overtake each other
        destination = self.new_destination(partitions=partitions)
        consumer = destination.new_consumer(GROUP)
        first = destination.send()
        if not first.is_accepted:
            raise ArrangementFailed(f"the warm-up message was refused: {first.why}")
        if first.key not in consumer.take([first], within=self.patience.seconds(REDELIVERY)):
            raise ArrangementFailed("the warm-up message did not arrive")
        return destination, consumer

    def wait_until(self, server_ms: float) -> None:
        """Wait until the server's clock is past a time in milliseconds since 1970.

        While it waits, it receives as a consumer to which nothing is sent.

        Raises:
            ArrangementFailed: the consumer gets something, or an error.
        """
        if self._idle is None:
            self._idle = self.new_destination().new_consumer(GROUP)
        target = server_ms + self.clock.uncertain_ms
        while (left_ms := target - self.clock.now_ms()) > 0:
            self._idle.receive(within=min(left_ms / 1000, IDLE_S))

    def measure_round_trip(self) -> float:
        """Return the seconds of a request that does not wait for anything."""
        started = time.monotonic()
        self.exchange.ask("clock")
        return time.monotonic() - started

    def next_body(self) -> bytes:
        """Return a message body that no other message of the run has."""
        return self.naming.next().encode()


@dataclass(frozen=True, slots=True)
class Destination:
    """A queue or topic that a case has for itself."""

    system: System
    name: str

    def new_consumer(self, group: str) -> "Consumer":
        """Return a consumer in a group that receives all messages sent from now on.

        Raises:
            ArrangementFailed: the adapter does not support receiving.
        """
        consumer = Consumer(self.system, self.name, group)
        consumer.receive(within=0)
        return consumer

    def send(
        self,
        attributes: Attributes | None = NOTHING,
        *,
        header: Attributes = NOTHING,
        body: bytes | None = None,
        properties: Attributes = NOTHING,
        op: str = "send",
        hold_ms: int | None = None,
    ) -> Sent:
        """Send a message, by default with a unique body and the system's plain extension header.

        Raises:
            TargetUnreachable, TargetSilent: the adapter does not answer as it should.
        """
        data = self.system.next_body() if body is None else body
        chosen = self.system.plain if attributes is NOTHING else attributes
        fields: dict[str, JsonValue] = {
            "message": make_document(self.name, chosen, header, data, properties)
        }
        if hold_ms is not None:
            fields["hold_ms"] = hold_ms
        called, called_ms = time.monotonic(), kit_ms()
        held_s = (hold_ms or 0) / 1000
        answer = self.system.exchange.ask(op, fields, schema="oms/adapter-sent", waits=held_s)
        times = (called, time.monotonic(), called_ms, kit_ms())
        if not isinstance(answer, Result):
            return Sent(in_base64(data), "refused", *times, why=describe(answer))
        document = fields_of(answer.fields["message"])
        return Sent(in_base64(data), "accepted", *times, document)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer of one queue or topic, in one consumer group."""

    system: System
    destination: str
    group: str

    def receive(self, *, within: float, most: int = MOST_AT_ONCE) -> Sequence[Delivery]:
        """Return the messages that arrive within so many seconds, as soon as there is one.

        Raises:
            ArrangementFailed: the adapter does not support receiving.
            TargetUnreachable, TargetSilent: the adapter does not answer as it should.
        """
        fields: dict[str, JsonValue] = {
            "destination": self.destination,
            "group": self.group,
            "max": most,
            "timeout_ms": max(int(within * 1000), 0),
        }
        before = time.monotonic()
        received = self.system.exchange.demand(
            "receive", fields, schema="oms/adapter-received", waits=within
        )
        at, at_ms = time.monotonic(), kit_ms()
        messages = values_of(received["messages"])
        if not messages and at - before < min(within / 2, PAUSE_S):
            threading.Event().wait(PAUSE_S)  # an adapter that answers at once
        return [_delivery(fields_of(message), at, at_ms) for message in messages]

    def settle(self, delivery: Delivery) -> bool:
        """Acknowledge a message; return True if the adapter succeeded."""
        return self._about("ack", delivery)

    def reject(self, delivery: Delivery) -> bool:
        """Report that a message could not be consumed; return True if the adapter succeeded."""
        return self._about("nack", delivery)

    def take(
        self, sent: Collection[Sent], *, within: float | None = None, rest: float = 0.0
    ) -> dict[str, Delivery]:
        """Receive and acknowledge messages until each of `sent` has arrived, or time is over.

        Return the first delivery of each body that came. ``rest``: go on for so many seconds
        afterwards, to see messages that must not come.

        Raises:
            ArrangementFailed, TargetUnreachable, TargetSilent: as `receive`.
        """
        wanted = {each.key for each in sent}
        seconds = self.system.patience.seconds(PUSH) if within is None else within
        deliveries: dict[str, Delivery] = {}
        self._receive_until(lambda: wanted <= deliveries.keys(), seconds, deliveries)
        if rest and wanted <= deliveries.keys():
            self._receive_until(lambda: False, rest, deliveries)
        return deliveries

    def _receive_until(
        self, is_over: Callable[[], bool], seconds: float, found: dict[str, Delivery]
    ) -> None:
        deadline = time.monotonic() + seconds
        while not is_over() and (left := deadline - time.monotonic()) > 0:
            for delivery in self.receive(within=left):
                found.setdefault(delivery.key, delivery)
                self.settle(delivery)

    def _about(self, op: str, delivery: Delivery) -> bool:
        answer = self.system.exchange.ask(op, {"receipt": delivery.receipt})
        return isinstance(answer, Result)


def kit_ms() -> float:
    """Return the milliseconds since 1970 by the kit's own clock."""
    return time.time_ns() / 1_000_000


def _delivery(told: dict[str, JsonValue], at: float, at_ms: float) -> Delivery:
    partition = told.get("partition")
    return Delivery(
        receipt=str(told["receipt"]),
        document=fields_of(told["message"]),
        partition=int(partition) if isinstance(partition, int) else None,
        at=at,
        at_ms=at_ms,
    )
