"""Rounds of redelivery: subscribers return all messages that they get, and await each again.

One subscriber returns messages (REQ), immediately or for a while. Another one asks for a short
time-out and answers none. They are two, since a time-out would also return what REQ returns. Some
commands arrive in two pieces, divided behind a line feed in the id of the message.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.bystanders import wait
from wireproof_kit.fuzz.oracle.rules import NEIGHBOUR, REDELIVERY
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.nsq.fuzz.answers import MESSAGE, message_id
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import command_line

COUNT: Final = 1051
"""Messages of a round, all in flight at once: a broker crashed on one more than a thousand."""
AGAIN: Final = 2
"""How often a message is requeued; a time-out takes long, and returns it once."""
DELAY_MS: Final = 100
LOOK_S: Final = 0.1
BEHIND: Final = 10
"""A message is lost after this many times as long as any other needed to come again."""
QUIET: Final = 3
LEAST_QUIET_S: Final = 15.0
"""Nothing more comes again after this many times as long as all time-outs needed, and at least so
long: a broker scans what is due now and then, and was seen to be 1 to 5 s late for both, and now
and then more than 10 s on a busy machine."""
_FEEDS: Final = b"\n" * 8
_REQ: Final = names.REQ + b" %b"
_BODY: Final = slice(34, None)


def quiet_s(slowest_s: float) -> float:
    """Return for how long nothing may come again where time-outs needed so long at most."""
    return max(LEAST_QUIET_S, QUIET * slowest_s)


@dataclass(slots=True)
class _Message:
    """What became of a message: how often it came, and since when it has been awaited."""

    came: int = 0
    since: float = 0.0


@dataclass(slots=True)
class _Way:
    """The messages that are returned in one way; the last one tells when the others are due."""

    words: str
    times: int
    command: bytes
    messages: dict[bytes, _Message]
    due: float = math.inf
    slowest_s: float = 0.0
    latest: float = math.inf

    @property
    def missing(self) -> int:
        """The number of messages that came and were returned, and have not come again."""
        return sum(0 < message.came <= self.times for message in self.messages.values())

    def take(self, body: bytes, frame: bytes, now: float, grace_s: float) -> bytes | None:
        """Return the command for a message that came; None for a message of another way."""
        message = self.messages.get(body)
        if message is None:
            return None
        if message.came:
            self.slowest_s = max(self.slowest_s, now - message.since)
        message.came, message.since, self.latest = message.came + 1, now, now
        if message.came <= self.times:
            return self.command and self.command % message_id(frame)
        if body == next(reversed(self.messages)):
            self.due = now + max(grace_s, BEHIND * self.slowest_s)
        return names.FIN + b" " + message_id(frame) + b"\n"


def make_bodies(token: bytes) -> list[bytes]:
    """Return the bodies to publish, with a token that no earlier message has."""
    return [b"%b:%d" % (token, number) for number in range(COUNT)]


def publish_all(bodies: Sequence[bytes], topic: Topic, *, traced: bool) -> bytes:
    """Return commands that publish the bodies; ids of traced ones contain line feeds."""
    line = command_line(names.PUB_TRACE if traced else names.PUB, topic.name, topic.partition or 0)
    whole = [_FEEDS + body if traced else body for body in bodies]
    return b"".join(line + len(body).to_bytes(4) + body for body in whole)


def _divide(replies: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the replies for two writes, divided behind the first line feed inside an id."""
    data = b"".join(replies)
    end = len(replies[0]) - 1 if replies and replies[0] else 0
    cut = data.find(b"\n", 0, end) + 1
    return data[:cut], data[cut:]


@dataclass(slots=True)
class RedeliveryRound:
    """Requeues the messages of one subscriber, and finds out which ones are lost.

    It keeps the first message, and requeues one half of the others immediately and one half later;
    or it answers none, so that their time-out returns them (`times_out`). The message that is kept
    matters: a broker looked only at the first deadline, and did not sort the later ones anew.

    A message is lost if the last message of its half came again and it did not follow soon. If not
    even the last one came, it is lost after `patience_s`, or if no other comes for longer than all
    needed that `timed` out; but a broker may grant another time-out than was asked for.
    """

    client: CaseConnection
    bodies: Sequence[bytes]
    patience_s: float
    grace_s: float
    times_out: bool = False
    started: float = field(default_factory=time.monotonic)
    timed: "RedeliveryRound | None" = None
    _ways: list[_Way] = field(init=False)

    def __post_init__(self) -> None:
        if self.times_out:
            self._ways = [self._way("not answered within their time-out", 0, 1, b"")]
            return
        now, later = _REQ + b" 0\n", _REQ + b" %d\n" % DELAY_MS
        self._ways = [
            self._way("returned immediately", 1, AGAIN, now, step=2),
            self._way(f"returned for {DELAY_MS} ms", 2, AGAIN, later, step=2),
        ]

    def _way(self, words: str, first: int, times: int, command: bytes, *, step: int = 1) -> _Way:
        return _Way(words, times, command, {b: _Message() for b in self.bodies[first::step]})

    def reply(self, frame: bytes, now: float) -> bytes:
        """Return the command for a delivered message: REQ, FIN, or nothing."""
        body = frame[_BODY]
        for way in self._ways:
            said = way.take(body, frame, now, self.grace_s)
            if said is not None:
                return said
        if body == self.bodies[0]:
            return b""
        return names.FIN + b" " + message_id(frame) + b"\n"

    def attend(self, now: float) -> Trouble | None:
        """Answer the messages that have been delivered; return what is wrong, or None."""
        client = self.client
        frames = [answer.data for answer in client.answers if answer.kind == MESSAGE]
        client.answers.clear()
        client.send(*_divide([self.reply(frame, now) for frame in frames]))
        if client.ended:
            return Trouble(NEIGHBOUR, "a subscriber's connection was ended")
        return self.trouble(now)

    @property
    def came_again(self) -> bool:
        """Return True if any message was delivered again."""
        return any(way.slowest_s for way in self._ways)

    def is_over(self, now: float) -> bool:
        """Return True if all messages were delivered again, or none can come any more."""
        if now > self.started + self.patience_s:
            return True
        return all(not way.missing and way.due < math.inf for way in self._ways)

    def trouble(self, now: float) -> Trouble | None:
        """Return which messages are lost, if any are."""
        late, may_be_quiet_s = self.started + self.patience_s, self._may_be_quiet_s()
        for way in self._ways:
            due = way.due if self.times_out else min(way.due, late, way.latest + may_be_quiet_s)
            if way.missing and now > due:
                words = f"{way.missing} of {len(way.messages)} messages that were {way.words}"
                return Trouble(REDELIVERY, f"{words} did not come again")
        return None

    def _may_be_quiet_s(self) -> float:
        """Return for how long nothing may come again; no limit until all have timed out."""
        timed = self.timed
        if timed is None or not (timed.came_again and all(not w.missing for w in timed._ways)):
            return math.inf
        return quiet_s(max(way.slowest_s for way in timed._ways))


@dataclass(slots=True)
class OrderedRound:
    """Finishes the messages of an ordered subscriber, and checks their order."""

    client: CaseConnection
    bodies: Sequence[bytes]
    patience_s: float
    came: set[bytes] = field(default_factory=set[bytes])
    since: float = field(default_factory=time.monotonic)

    def attend(self, now: float) -> Trouble | None:
        """Finish the messages that have been delivered; return what is wrong, or None."""
        client = self.client
        for answer in client.answers:
            if answer.kind == MESSAGE:
                self.came.add(answer.data[_BODY])
                self.since = now
                client.send(names.FIN + b" " + message_id(answer.data) + b"\n")
        client.answers.clear()
        if self.is_over(now) or now <= self.since + self.patience_s:
            return None
        words = f"{len(self.came)} of {len(self.bodies)} messages, and then no more"
        return Trouble(REDELIVERY, f"an ordered subscriber that finished all was sent {words}")

    def is_over(self, now: float) -> bool:
        """Return True if all messages have come, or none can come."""
        return len(self.came) >= len(self.bodies) or bool(self.client.ended)


def return_all(
    rounds: Sequence[RedeliveryRound | OrderedRound], publisher: CaseConnection, until: float
) -> Trouble | None:
    """Answer messages until all came again, one is lost or time is over; return what is wrong."""
    trouble, now = None, time.monotonic()
    while trouble is None and now < until and not all(each.is_over(now) for each in rounds):
        wait([*(each.client for each in rounds), publisher], now + LOOK_S)
        now = time.monotonic()
        troubles = [each.attend(now) for each in rounds]
        trouble = next((each for each in troubles if each is not None), None)
    return trouble
