"""The bystanders of Iggy cases: a neighbour on a connection, and who reads what was stored."""

import itertools
import select
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from wireproof_kit.fuzz.door import Answer, Trouble
from wireproof_kit.fuzz.oracle import DEAD, DELIVERY, HUNG, NEIGHBOUR, ROUND_TRIP
from wireproof_kit.fuzz.talk import Talk
from wireproof_kit.http import Address
from wireproof_kit.iggy import requests
from wireproof_kit.iggy.answers import Done
from wireproof_kit.iggy.fuzz.answers import OK_KIND, ResponseReader, body, stored
from wireproof_kit.iggy.polled import read_polled
from wireproof_kit.iggy.topics import FIRST_PARTITION, Topic
from wireproof_kit.patience import machine_load
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.consumer import Consumer
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.partitioning import partition_id
from wireproof_spec.iggy.poll_messages import LAST, OFFSET, PollMessages
from wireproof_spec.iggy.send_messages import SendMessages, SentMessage

CONSUMER = Consumer(1, 77)
AT_ONCE = 1000
PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class Places:
    """Topics of one partition: of the bystanders, and watched for cases; seconds to wait."""

    address: Address
    neighbour: Topic
    watched: Topic
    answer_s: float
    push_s: float


class _Attentive:
    """Nothing comes unasked."""

    def is_pushed(self, kind: str) -> bool:
        return False

    def unasked(self, answer: Answer) -> bytes:
        return b""


_ATTENTIVE = _Attentive()


@dataclass(slots=True)
class Bystanders:
    """Clients beside the cases; opened when first asked, and again after a disturbance."""

    places: Places
    token: str
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _neighbour: Talk | None = None
    _offset: int = 0

    def check(self, *, patient: bool = True) -> Trouble | None:
        """Let the neighbour and a fresh connection complete a round trip; say what went wrong."""
        trouble = self._round_trip()
        if trouble is None:
            return None
        self.close()
        refusing = f"{self.places.address[0]}:{self.places.address[1]} accepts no connection"
        return trouble if is_alive(self.places.address) else Trouble(DEAD, refusing)

    def begin_watch(self) -> Trouble | None:
        """Find the end of what is stored under the watched name."""
        fresh = self._connected()
        try:
            said = self._asked(fresh, self._poll(self.places.watched, LAST, 0, 1))
            found = _messages(said)
        finally:
            fresh.close()
        if found is None:
            alive = is_alive(self.places.address)
            words = f"a poll is answered with {said.kind if said else 'nothing'}"
            return Trouble(_unanswered(fresh, said) if alive else DEAD, words)
        self._offset = found[-1].offset + 1 if found else 0
        return None

    def end_watch(self, stored: Sequence[bytes]) -> Trouble | None:
        """Poll until all these were delivered unchanged; say which was not."""
        missing = Counter(stored)
        strange = 0
        deadline = time.monotonic() + self.places.push_s
        fresh = self._connected()
        try:
            while missing:
                request = self._poll(self.places.watched, OFFSET, self._offset, AT_ONCE)
                found = _messages(self._asked(fresh, request))
                for message in found or ():
                    strange += not _strike(missing, message)
                    self._offset = message.offset + 1
                if not found and time.monotonic() > deadline:
                    break
                if not found:
                    time.sleep(PAUSE_S)
        finally:
            fresh.close()
        if not missing:
            return None
        lost = next(iter(missing))
        words = f"{missing.total()} of {len(stored)} acknowledged messages were not delivered"
        return Trouble(
            DELIVERY, f"{words}; {strange} others were; the first is {lost[:50]!r}", lost
        )

    def close(self) -> None:
        """End the bystanders' connections."""
        if self._neighbour is not None:
            self._neighbour.close()
        self._neighbour = None

    def _round_trip(self) -> Trouble | None:
        if self._neighbour is None:
            self._neighbour = self._connected()
        payload = f"wp:{self.token}:{next(self._numbers)}".encode()
        fresh = self._connected()
        try:
            said = self._asked(fresh, self._send(payload))
        finally:
            fresh.close()
        if said is None or said.kind != OK_KIND or body(said):
            words = (
                f"a fresh connection's message is answered with {said.kind if said else 'nothing'}"
            )
            return Trouble(_unanswered(fresh, said), words)
        return self._seen(self._neighbour, payload)

    def _seen(self, neighbour: Talk, payload: bytes) -> Trouble | None:
        said = self._asked(neighbour, self._poll(self.places.neighbour, LAST, 0, 1))
        if said is None:
            how = neighbour.ended or neighbour.fault or "nothing"
            return Trouble(NEIGHBOUR, f"a neighbour's poll is answered with {how}")
        found = _messages(said)
        if found is None or neighbour.answers:
            return Trouble(NEIGHBOUR, f"a neighbour's poll is answered with {said.kind}")
        if not found or found[-1].payload != payload:
            return Trouble(NEIGHBOUR, "a message of a neighbour was not delivered unchanged")
        return None

    def _connected(self) -> Talk:
        return Talk(self.places.address, ResponseReader(), _ATTENTIVE)

    def _asked(self, talk: Talk, request: bytes) -> Answer | None:
        """Ask, and take the first answer; None when there is none."""
        talk.send(request)
        deadline = time.monotonic() + self.places.answer_s * machine_load()
        while not (talk.answers or talk.ended or talk.fault) and time.monotonic() < deadline:
            _wait(talk, deadline)
        return talk.answers.pop(0) if talk.answers else None

    def _poll(self, topic: Topic, strategy: int, value: int, count: int) -> bytes:
        poll = PollMessages(
            CONSUMER, topic.stream.id, topic.id, FIRST_PARTITION, strategy, value, count, 0
        )
        return requests.request(commands.POLL_MESSAGES, poll).data

    def _send(self, payload: bytes) -> bytes:
        topic = self.places.neighbour
        chosen = partition_id(FIRST_PARTITION)
        message = SentMessage(0, (), payload)
        sent = SendMessages(topic.stream.id, topic.id, chosen, (message,))
        return requests.request(commands.SEND_MESSAGES, sent).data


def _unanswered(talk: Talk, said: Answer | None) -> str:
    """Return what it violates that a request was not answered as it should be."""
    return HUNG if said is None and not (talk.ended or talk.fault) else ROUND_TRIP


def is_alive(address: Address) -> bool:
    """Tell whether connections are accepted."""
    talk = Talk(address, ResponseReader(), _ATTENTIVE)
    try:
        return not talk.ended
    finally:
        talk.close()


def _messages(said: Answer | None) -> tuple[Message, ...] | None:
    """Return the messages of a poll; None when the answer is none to a poll."""
    if said is None or said.kind != OK_KIND:
        return None
    polled = read_polled(Done(body(said)))
    return polled.messages if polled.is_readable else None


def _strike(missing: "Counter[bytes]", message: Message) -> bool:
    """Cross a message off, with its number or with any; tell whether it was there."""
    for number in (message.id, 0):
        key = stored(number, message.headers, message.payload)
        if key in missing:
            missing[key] -= 1
            if not missing[key]:
                del missing[key]
            return True
    return False


def _wait(talk: Talk, deadline: float) -> None:
    """Wait until something comes, and take it."""
    poll = select.poll()
    if talk.sock is not None and not talk.ended:
        poll.register(talk.sock, talk.events)
    poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
    talk.write()
    talk.read()
