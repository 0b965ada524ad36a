"""Bystanders of NSQ fuzz cases: a publisher, its subscriber, an idle client and a watcher."""

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from wireproof_kit.fuzz.driver import Health, Trouble
from wireproof_kit.fuzz.oracle.bystanders import (
    BEHIND_S,
    Missing,
    describe_ended,
    describe_undelivered,
    or_dead,
    wait,
)
from wireproof_kit.fuzz.oracle.rules import HUNG, NEIGHBOUR, ROUND_TRIP
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.nsq.fuzz.answers import (
    HEADER_LENGTH_SIZE,
    MESSAGE,
    OK_KIND,
    fingerprint_stored,
    list_fingerprints,
)
from wireproof_kit.nsq.fuzz.exercises.run import Exercises
from wireproof_kit.nsq.fuzz.opening import (
    BystanderSettings,
    ClientOpener,
    Disturbed,
    close_all,
)
from wireproof_kit.nsq.fuzz.redelivery import Redelivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.runner.patience import machine_load
from wireproof_kit.wire.address import Address
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import command_line

CHANNEL = "wp_fuzz"
ORDERED_CHANNEL = "wp_fuzz_ordered"
LOOK_S = 0.25
SHORTLY_S = 0.1
ANSWERED = "a new connection was answered with OK"
"""What was seen before: each check begins with a publish on a new connection."""
RETURNS_S = 0.5
"""Seconds that a check waits for a message that was requeued; later checks wait on."""


@dataclass(slots=True)
class Bystanders(Health):
    """The kit's publisher, subscriber and idle client, which no fuzz case may disturb."""

    places: BystanderSettings
    token: str
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _publisher: CaseConnection | None = None
    _subscriber: CaseConnection | None = None
    _idle: CaseConnection | None = None
    _watcher: CaseConnection | None = None
    _orderly: CaseConnection | None = None
    _returning: dict[str, Redelivery] = field(default_factory=dict[str, Redelivery])
    _awaiting: dict[bytes, float] = field(default_factory=dict[bytes, float])
    _clients: ClientOpener = field(init=False)
    _exercises: Exercises = field(init=False)

    def __post_init__(self) -> None:
        self._clients = ClientOpener(self.places)
        self._exercises = Exercises(self._clients)

    def check(self, *, patient: bool = True) -> Trouble | None:
        """Let the kit's own clients and a new connection each complete a round trip.

        Return what went wrong. Some brokers deliver to a quiet channel seconds late; unless
        `patient`, a later check waits for that.
        """
        trouble = self._open() or self._round_trip(patient=patient)
        if trouble is None:
            return None
        self.close()
        return or_dead(trouble, self._address)

    def begin_watch(self) -> Trouble | None:
        """Subscribe to the watched topic, to receive the messages that cases store there."""
        if self._watcher is None or self._watcher.ended:
            try:
                self._watcher = self._clients.subscribe(self.places.watched, channel=CHANNEL)
            except Disturbed as error:
                self._watcher = None
                return or_dead(Trouble(error.violated, str(error)), self._address)
        self._receive(self._watcher)
        return None

    def exercise(self, what: str, until: float) -> Trouble | None:
        """Run an exercise with new clients of the kit; return what went wrong."""
        try:
            token = f"{CHANNEL}_{next(self._numbers)}"
            trouble = self._exercises.do(what, token, until)
        except Disturbed as error:
            trouble = Trouble(error.violated, str(error))
        return or_dead(trouble, self._address) if trouble is not None else None

    def end_watch(self, stored: Sequence[bytes]) -> Trouble | None:
        """Wait until all stored messages arrive unchanged; return what went wrong, or None.

        A message is lost if it does not arrive soon after a message published later.
        """
        watcher = self._watcher
        if watcher is None or not stored:
            return None
        missing = Missing(stored)
        strange = self._await_missing(watcher, missing)
        if not missing:
            return None
        self._watcher = None
        watcher.close()
        if watcher.ended:
            return Trouble(NEIGHBOUR, describe_ended("the kit's watching subscriber", watcher))
        return describe_undelivered(
            missing, len(stored), strange=strange, before_content=HEADER_LENGTH_SIZE
        )

    def _await_missing(self, watcher: CaseConnection, missing: Missing) -> int:
        """Read expected messages until the time limit; count messages that were not expected.

        There is as much time again whenever something came that was waited for.
        """
        grace_s = self._clients.push_s
        deadline = time.monotonic() + grace_s
        strange, last = 0, None
        while missing and not watcher.ended and time.monotonic() < deadline:
            if last is None:
                last = self._last_message()
            wait([watcher], min(deadline, time.monotonic() + LOOK_S))
            left = len(missing)
            for frame in self._receive(watcher):
                fingerprints = list_fingerprints(frame, extend=self.places.watched.extend)
                if last in fingerprints:
                    grace_s = min(grace_s, BEHIND_S * machine_load())
                    deadline = min(deadline, time.monotonic() + grace_s)
                else:
                    strange += not missing.strike(fingerprints)
            if len(missing) < left:
                deadline = max(deadline, time.monotonic() + grace_s)
        return strange

    def _last_message(self) -> bytes:
        """Publish one more message to the watched topic and return its fingerprint."""
        body = self._body()
        fresh = self._clients.greet(self.places.watched.address)
        fresh.send(self._pub(body, self.places.watched))
        wait([fresh], time.monotonic() + self._clients.answer_s)
        fresh.close()
        return fingerprint_stored(b"", body)

    def close(self) -> None:
        """Close the connections of the kit's own clients, which fuzz cases must not disturb."""
        close_all(self._publisher, self._subscriber, self._idle, self._watcher, self._orderly)
        self._publisher = self._subscriber = self._idle = self._watcher = self._orderly = None
        self._awaiting.clear()
        self._returning.clear()

    @property
    def _address(self) -> Address:
        return self.places.neighbour.address

    def _open(self) -> Trouble | None:
        if self._publisher is not None:
            return None
        try:
            self._subscriber = self._clients.subscribe(self.places.neighbour, channel=CHANNEL)
            self._publisher = self._clients.connect()
            self._idle = self._clients.connect()
            self._orderly = self._clients.subscribe_in_order(ORDERED_CHANNEL)
        except Disturbed as error:
            return Trouble(error.violated, str(error))
        patience_s = self.places.redelivery_s * machine_load()
        self._returning = {
            CHANNEL: Redelivery(patience_s),
            ORDERED_CHANNEL: Redelivery(patience_s, ordered=True),
        }
        return None

    def _round_trip(self, *, patient: bool) -> Trouble | None:
        publisher, subscriber, idle = self._publisher, self._subscriber, self._idle
        if publisher is None or subscriber is None or idle is None:
            return Trouble(NEIGHBOUR, "the bystanders are gone")
        fresh = self._clients.greet(self._address)
        try:
            bodies, topic = [self._body(), self._body()], self.places.neighbour
            fresh.send(self._pub(bodies[0], topic))
            publisher.send(self._pub(bodies[1], topic))
            due = time.monotonic() + self._clients.push_s
            self._awaiting.update((fingerprint_stored(b"", body), due) for body in bodies)
            wait_s = self._clients.push_s if patient else SHORTLY_S
            return self._check_answer(fresh, publisher) or self._came(subscriber, idle, wait_s)
        finally:
            fresh.close()

    def _check_answer(self, fresh: CaseConnection, publisher: CaseConnection) -> Trouble | None:
        deadline = time.monotonic() + self._clients.answer_s
        clients = [fresh, publisher]
        while clients and time.monotonic() < deadline:
            wait(clients, deadline)
            clients = [each for each in clients if not (each.answers or each.ended or each.fault)]
        for client, violated, who in (
            (fresh, ROUND_TRIP, "a fresh connection's publish"),
            (publisher, NEIGHBOUR, "a neighbour's publish"),
        ):
            first = client.answers[0].kind if client.answers else ""
            said = first or client.ended or client.fault or "nothing"
            if said == "nothing" and client is fresh:
                return Trouble(HUNG, f"{who} is answered with {said}")
            if client.ended and client is publisher:
                words = describe_ended("the kit's publisher", client)
                return Trouble(violated, f"{words}; {ANSWERED}")
            if said != OK_KIND:
                return Trouble(violated, f"{who} is answered with {said}")
            if len(client.answers) > 1 or client.fault:
                return Trouble(violated, f"{who} is answered more than once")
            client.answers.clear()
        return None

    def _came(
        self, subscriber: CaseConnection, idle: CaseConnection, wait_s: float
    ) -> Trouble | None:
        deadline = time.monotonic() + wait_s
        while self._awaiting and not subscriber.ended and time.monotonic() < deadline:
            wait([subscriber], deadline)
            self._take(subscriber, CHANNEL)
        idle.read()
        if (trouble := self._check_returned(subscriber, wait_s)) is not None:
            return trouble
        for who, client in (("subscriber", subscriber), ("idle client", idle)):
            if client.ended:
                words = describe_ended(f"the kit's {who}", client)
                return Trouble(NEIGHBOUR, f"{words}; {ANSWERED}")
        if subscriber.fault or idle.fault or idle.answers:
            return Trouble(NEIGHBOUR, "a neighbour was sent what it never asked for")
        if any(due <= time.monotonic() for due in self._awaiting.values()):
            return Trouble(NEIGHBOUR, "a message of a neighbour was not delivered unchanged")
        return None

    def _check_returned(self, subscriber: CaseConnection, wait_s: float) -> Trouble | None:
        """Wait shortly for the messages that were returned; return what is wrong with them."""
        plain, ordered = self._returning[CHANNEL], self._returning[ORDERED_CHANNEL]
        clients = {CHANNEL: subscriber, ORDERED_CHANNEL: self._orderly}
        deadline = time.monotonic() + min(wait_s, RETURNS_S)
        while True:
            for channel, client in clients.items():
                if client is not None and not client.ended:
                    self._take(client, channel)
            left = deadline - time.monotonic()
            if left <= 0 or not (plain.is_waiting or ordered.is_waiting):
                break
            wait([each for each in clients.values() if each is not None], deadline)
        now = time.monotonic()
        return plain.trouble(now) or ordered.trouble(now)

    def _take(self, client: CaseConnection, channel: str) -> None:
        for frame in self._receive(client, self._returning[channel]):
            for known in list_fingerprints(frame, extend=False) if channel == CHANNEL else ():
                self._awaiting.pop(known, None)

    def _receive(self, client: CaseConnection, returning: Redelivery | None = None) -> list[bytes]:
        """Finish the messages that have arrived, or return some of them; list them all."""
        client.read()
        frames_in = [answer.data for answer in client.answers if answer.kind == MESSAGE]
        reply = returning or Redelivery(math.inf, every=0)
        if frames_in:
            now = time.monotonic()
            client.send(b"".join(reply.reply(frame, now) for frame in frames_in))
        # Finishing late what was delivered twice may be refused; that is no message.
        client.answers.clear()
        return frames_in

    def _body(self) -> bytes:
        return f"wp:{self.token}:{next(self._numbers)}".encode()

    def _pub(self, body: bytes, topic: Topic) -> bytes:
        line = command_line(names.PUB, topic.name, topic.partition or 0)
        return line + len(body).to_bytes(4) + body
