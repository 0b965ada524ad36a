"""The way into the core: what the user asks for, and what the shell tells of the world.

The shell says what time it is whenever it calls, does the effects that it takes, and calls
`tick` when `next_due` has come.
"""

import itertools
from random import Random

from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.consumer import Consumer, Outcome
from wireproof_reference_impl.nsq.client.core.effects import Closed, Effect, Fetched
from wireproof_reference_impl.nsq.client.core.host import Host
from wireproof_reference_impl.nsq.client.core.producer import Producer
from wireproof_reference_impl.nsq.client.core.settings import Settings, Subscribing


class Client:
    """The example NSQ client without I/O: a producer for each topic, and any number of consumers.

    Calls bring bytes, answers and the time; `take_effects` says what the shell must do.
    """

    def __init__(self, settings: Settings, random: Random) -> None:
        self._settings = settings
        self._host = Host(random)
        self._producers: dict[str, Producer] = {}
        self._consumers: dict[int, Consumer] = {}
        self._tickets = itertools.count(1)
        self._numbers = itertools.count(1)
        self._ending = 0

    def publish(self, topic: str, message: Publish, now: float) -> int:
        """Publish a message; return the ticket by which a `Settle` effect reports the outcome."""
        self._host.now = now
        producer = self._producers.get(topic)
        if producer is None:
            producer = self._producers[topic] = Producer(self._host, self._settings, topic)
            producer.start()
        ticket = next(self._tickets)
        producer.publish(ticket, message)
        return ticket

    def consume(self, wants: Subscribing, now: float) -> int:
        """Begin to consume; return the number that `Hand` and `Report` effects will have."""
        self._host.now = now
        number = next(self._numbers)
        consumer = self._consumers[number] = Consumer(self._host, self._settings, wants, number)
        consumer.start()
        return number

    def settle(self, consumer: int, ticket: int, outcome: Outcome, now: float) -> None:
        """Process what a handler reports on the message that it was given with this ticket."""
        self._host.now = now
        self._consumers[consumer].settle(ticket, outcome)

    def touch(self, consumer: int, ticket: int, now: float) -> None:
        """Ask the node for more time for the message that a handler has under this ticket."""
        self._host.now = now
        self._consumers[consumer].touch(ticket)

    def close(self, now: float) -> None:
        """End the client: stop lookups and close connections; a `Closed` effect says when done."""
        self._host.now = now
        for producer in self._producers.values():
            producer.stop()
        self._ending = len(self._consumers) + 1
        for consumer in self._consumers.values():
            consumer.stop(self._end_one)
        self._end_one()

    def connected(self, connection: int, local: str, now: float) -> None:
        """Note that a connection is open; `local` is the client's own IP address."""
        self._host.now = now
        owner = self._host.owner_of(connection)
        if owner is not None:
            owner.connected(local)

    def received(self, connection: int, data: bytes, now: float) -> None:
        """Process bytes received on a connection."""
        self._host.now = now
        owner = self._host.owner_of(connection)
        if owner is not None:
            owner.received(data)

    def lost(self, connection: int, reason: str, now: float) -> None:
        """Note that a connection could not be opened, or was closed by the node."""
        self._host.now = now
        owner = self._host.forget(connection)
        if owner is not None:
            owner.lost(reason)

    def fetched(self, request: int, answer: Fetched | None, now: float) -> None:
        """Process the answer to the HTTP request of a Fetch effect; None if there is none."""
        self._host.now = now
        self._host.settle_fetch(request, answer)

    def tick(self, now: float) -> None:
        """Run what is due at this time, such as lookups and timeouts."""
        self._host.now = now
        self._host.run_alarms()

    def next_due(self) -> float | None:
        """Return the time of the next call to `tick`, or None if nothing will be due."""
        return self._host.next_due()

    def take_effects(self) -> list[Effect]:
        """Return what the shell must do, in order, such as open a connection; forget it here."""
        return self._host.take_effects()

    def _end_one(self) -> None:
        self._ending -= 1
        if not self._ending:
            self._host.do(Closed())
