"""Bystanders of Iggy fuzz cases: clients that poll and check what the server stored."""

import itertools
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from wireproof_kit.fuzz.driver import Answer, End, Health, Trouble
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
from wireproof_kit.iggy.fuzz.answers import (
    OK_KIND,
    ResponseReader,
    body,
    fingerprint_stored,
    number_of,
)
from wireproof_kit.iggy.observe.polled import read_polled
from wireproof_kit.iggy.topics import FIRST_PARTITION, Topic
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.runner.patience import machine_load
from wireproof_kit.wire.address import Address
from wireproof_spec.decoding import decode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import Nothing
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.bodies.system import CLIENTS
from wireproof_spec.iggy.kinds import LAST, OFFSET
from wireproof_spec.iggy.message import Message
from wireproof_spec.wire_error import WireError

CONSUMER = Consumer(1, 77)
AT_ONCE = 1000
AT_ONCE_BEFORE = 50
"""How many earlier messages to poll at once: few, since large ones from cases are among them."""
PAUSE_S = 0.05
# A server that has just closed a connection may list its client for a moment longer.
FORGETS_S = 0.1
REPEATED = int.from_bytes(b"wireproof")


@dataclass(frozen=True, slots=True)
class BystanderSettings:
    """Address and topics of the kit's own clients during fuzz cases, time limits in seconds.

    ``neighbour`` is a topic of their own; from ``watched`` the kit consumes stored messages.
    """

    address: Address
    neighbour: Topic
    watched: Topic
    answer_s: float
    push_s: float


class _UnrequestedHandler:
    """Handles unrequested responses: an Iggy server sends none."""

    def is_pushed(self, kind: str) -> bool:
        return False

    def reply_to_unrequested(self, answer: Answer) -> bytes:
        return b""


ATTENTIVE = _UnrequestedHandler()


@dataclass(slots=True)
class _Due:
    """The messages still expected by a watch, and counts of those that arrived.

    `last` is what the message behind all of it is known by.
    """

    missing: Missing
    last: bytes | None = None
    last_came: bool = False
    strange: int = 0
    came: set[int] = field(default_factory=set[int])

    def strike(self, messages: Sequence[Message]) -> bool:
        """Mark messages as received; return True if any of them was expected."""
        left = len(self.missing)
        for message in messages:
            self.came.add(message.id)
            found = _readings(message)
            if self.last in found:
                self.last_came = True
            elif not self.missing.strike(found):
                self.strange += 1
        return len(self.missing) < left


@dataclass(frozen=True, slots=True)
class Asked:
    """The response to a request, or None; `violated` is the rule if it is missing or wrong."""

    answer: Answer | None
    violated: str


@dataclass(slots=True)
class Bystanders(Health):
    """The kit's own clients during fuzz cases, which no case may disturb.

    They connect on first use and after each disturbance.
    """

    places: BystanderSettings
    token: str
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _neighbour: CaseConnection | None = None
    _offset: int = 0
    _known: set[int] = field(default_factory=set[int])
    _drops: bool | None = None
    _has_first: bool = False

    def check(self, *, patient: bool = True) -> Trouble | None:
        """Let the kit's own clients and a new one make a round trip; return what went wrong."""
        trouble = self._round_trip()
        if trouble is None:
            return None
        self.close()
        return or_dead(trouble, self.places.address)

    def find_lingering(self, ends: Collection[End]) -> Collection[End]:
        """Return the kit's closed connections that get_clients lists, unless listed before.

        A server may need a moment to remove one.
        """
        deadline = time.monotonic() + FORGETS_S * machine_load()
        told = self._list_own_ports()
        here = self.places.address
        found = {port for address, port in ends if address == here} & told - self._known
        while found and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
            told = self._list_own_ports()
            found &= told
        self._known |= told
        return [(here, port) for port in found]

    def _list_own_ports(self) -> set[int]:
        """Return the local ports of our connections that get_clients lists."""
        fresh = self._connect()
        try:
            said = self._request(fresh, requests.request(commands.GET_CLIENTS, Nothing()).data)
            clients = decode(CLIENTS, body(said)).clients if said is not None else ()
        except WireError:
            clients = ()
        finally:
            fresh.close()
        ports = (client.address.rpartition(":")[2] for client in clients)
        return {int(port) for port in ports if port.isdigit()}

    def begin_watch(self) -> Trouble | None:
        """Store the offset of the last message in the watched topic, from which to consume."""
        topic = self.places.watched
        if not self._has_first:
            self._request_anew(self._send(topic, self._payload()))
            self._has_first = True
        asked = self._poll_last(topic, lambda found: found is not None)
        found = _messages(asked.answer)
        if found is None:
            words = f"a poll is answered with {asked.answer.kind if asked.answer else 'nothing'}"
            return or_dead(Trouble(asked.violated, words), self.places.address)
        self._offset = found[-1].offset + 1 if found else 0
        return None

    def _poll_last(
        self, topic: Topic, is_due: Callable[[tuple[Message, ...] | None], bool]
    ) -> Asked:
        """Poll the last message of a topic until it is the one due, or patience ends.

        A server may show a message a moment after its request was answered, refuse to poll a
        partition that has none to show, and close the connection then.
        """
        deadline = time.monotonic() + self._push_s
        while True:
            asked = self._request_anew(self._poll(topic, LAST, 0, 1))
            is_over = time.monotonic() >= deadline
            if asked.answer is None or is_due(_messages(asked.answer)) or is_over:
                return asked
            time.sleep(PAUSE_S)

    def end_watch(self, stored: Sequence[bytes]) -> Trouble | None:
        """Poll until all expected messages arrived unchanged; return the first that did not.

        A message is lost if it does not arrive soon after a message sent later. A server that
        keeps only the first message of an id need not deliver others with that id.
        """
        due = _Due(Missing(stored))
        fresh = self._connect()
        try:
            self._await(fresh, due)
        finally:
            fresh.close()
        if not due.missing:
            return None
        return describe_undelivered(due.missing, len(stored), strange=due.strange)

    def _await(self, client: CaseConnection, due: "_Due") -> None:
        """Poll for expected messages until they arrived or the time limit passed.

        There is as much time again whenever something came that was waited for.
        """
        begin = self._offset
        before: set[int] | None = None
        grace_s = self._push_s
        deadline = time.monotonic() + grace_s
        while due.missing and not client.ended and time.monotonic() < deadline:
            if due.strike(self._poll_watched(client)):
                deadline = max(deadline, time.monotonic() + grace_s)
                continue
            if before is None:
                before = self._before(client, begin) if self._drops_repeats() else set()
            if self._drops:
                _forgive(due.missing, due.came | before)
            if due.last is None:
                due.last = self._last_message(client)
            elif due.missing:
                if due.last_came:
                    grace_s = min(grace_s, BEHIND_S * machine_load())
                    deadline = min(deadline, time.monotonic() + grace_s)
                time.sleep(PAUSE_S)

    def _last_message(self, client: CaseConnection) -> bytes:
        """Send one more message to the watched topic and return its fingerprint."""
        payload = self._payload()
        self._request(client, self._send(self.places.watched, payload))
        return fingerprint_stored(0, (), payload)

    def _drops_repeats(self) -> bool:
        """Return True if the server drops a message that repeats a number; tested once."""
        if self._drops is None:
            fresh = self._connect()
            try:
                for payload in (b"first", b"second"):
                    self._request(fresh, self._send(self.places.neighbour, payload, REPEATED))
                last = _messages(
                    self._request(fresh, self._poll(self.places.neighbour, LAST, 0, 2))
                )
            finally:
                fresh.close()
            self._drops = last is not None and [each.id for each in last] != [REPEATED] * 2
        return self._drops

    def _before(self, client: CaseConnection, end: int) -> set[int]:
        """Return the numbers of the watched messages stored before an offset."""
        found = set[int]()
        offset = 0
        while offset < end:
            request = self._poll(self.places.watched, OFFSET, offset, AT_ONCE_BEFORE)
            messages = _messages(self._request(client, request)) or ()
            if not messages or messages[-1].offset < offset:
                break
            found |= {message.id for message in messages if message.offset < end}
            offset = messages[-1].offset + 1
        return found

    def close(self) -> None:
        """Close the connections of the kit's own clients, which fuzz cases must not disturb."""
        if self._neighbour is not None:
            self._neighbour.close()
        self._neighbour = None

    def _round_trip(self) -> Trouble | None:
        if self._neighbour is None:
            self._neighbour = self._connect()
        payload = self._payload()
        asked = self._request_anew(self._send(self.places.neighbour, payload))
        said = asked.answer
        if said is None or said.kind != OK_KIND or body(said):
            words = (
                f"a fresh connection's message is answered with {said.kind if said else 'nothing'}"
            )
            return Trouble(asked.violated, words)
        return self._check_seen(self._neighbour, payload)

    def _check_seen(self, neighbour: CaseConnection, payload: bytes) -> Trouble | None:
        shown = partial(_ends_with, payload)
        self._poll_last(self.places.neighbour, shown)
        said = self._request(neighbour, self._poll(self.places.neighbour, LAST, 0, 1))
        if said is None:
            if neighbour.ended:
                words = describe_ended("the kit's idle client", neighbour)
                return Trouble(NEIGHBOUR, f"{words}; new connections are answered")
            how = neighbour.fault or "nothing"
            return Trouble(NEIGHBOUR, f"a neighbour's poll is answered with {how}")
        found = _messages(said)
        if found is None or neighbour.answers:
            return Trouble(NEIGHBOUR, f"a neighbour's poll is answered with {said.kind}")
        if not shown(found):
            return Trouble(NEIGHBOUR, "a message of a neighbour was not delivered unchanged")
        return None

    @property
    def _push_s(self) -> float:
        return self.places.push_s * machine_load()

    def _connect(self) -> CaseConnection:
        return CaseConnection(self.places.address, ResponseReader(), ATTENTIVE)

    def _request(self, client: CaseConnection, request: bytes) -> Answer | None:
        """Send a request and return the first response; None when none arrives."""
        client.send(request)
        deadline = time.monotonic() + self.places.answer_s * machine_load()
        while not (client.answers or client.ended or client.fault) and time.monotonic() < deadline:
            wait([client], deadline)
        return client.answers.pop(0) if client.answers else None

    def _request_anew(self, request: bytes) -> Asked:
        """Send a request on a new connection, and close that."""
        fresh = self._connect()
        try:
            said = self._request(fresh, request)
        finally:
            fresh.close()
        return Asked(said, ROUND_TRIP if said or fresh.ended or fresh.fault else HUNG)

    def _poll_watched(self, client: CaseConnection) -> tuple[Message, ...]:
        """Poll the watched topic for new messages; return none when the response is invalid."""
        request = self._poll(self.places.watched, OFFSET, self._offset, AT_ONCE)
        messages = _messages(self._request(client, request)) or ()
        if messages:
            self._offset = messages[-1].offset + 1
        return messages

    def _poll(self, topic: Topic, strategy: int, value: int, count: int) -> bytes:
        poll = PollMessages(
            CONSUMER, topic.stream.id, topic.id, FIRST_PARTITION, strategy, value, count, 0
        )
        return requests.request(commands.POLL_MESSAGES, poll).data

    def _payload(self) -> bytes:
        return f"wp:{self.token}:{next(self._numbers)}".encode()

    def _send(self, topic: Topic, payload: bytes, number: int = 0) -> bytes:
        chosen = partition_id(FIRST_PARTITION)
        message = SentMessage(number, (), payload)
        sent = SendMessages(topic.stream.id, topic.id, chosen, (message,))
        return requests.request(commands.SEND_MESSAGES, sent).data


def _forgive(missing: Missing, numbers: Collection[int]) -> None:
    """Stop expecting messages with these numbers, except those numbered by the server."""
    for kind in missing.kinds:
        number = number_of(kind)
        if number and number in numbers:
            missing.forgive(kind)


def _messages(said: Answer | None) -> tuple[Message, ...] | None:
    """Return the messages of a poll response; None when it is not a valid one."""
    if said is None or said.kind != OK_KIND:
        return None
    polled = read_polled(Done(body(said)))
    return polled.messages if polled.is_readable else None


def _ends_with(payload: bytes, messages: tuple[Message, ...] | None) -> bool:
    return messages is not None and [message.payload for message in messages[-1:]] == [payload]


def _readings(message: Message) -> tuple[bytes, bytes]:
    """Return both fingerprints of a message: with its number, and with number 0."""
    headers, payload = message.headers, message.payload
    return fingerprint_stored(message.id, headers, payload), fingerprint_stored(
        0, headers, payload
    )
