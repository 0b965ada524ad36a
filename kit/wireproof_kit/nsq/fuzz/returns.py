"""Rounds of redelivery: subscribers return all messages that they get, and await each again.

One subscriber returns messages (REQ), immediately or for a while. Another one asks for a short
time-out and answers none. They are two, since a time-out would also return what REQ returns.
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
from wireproof_spec.nsq import names

COUNT: Final = 1050
"""Messages of a round. All are in flight at once: a broker died of one more than a thousand."""
AGAIN: Final = 2
"""So often a message is returned; a time-out takes long, and returns it once."""
DELAY_MS: Final = 100
LOOK_S: Final = 0.1
BEHIND: Final = 10
"""A message is lost if this many times as long has passed as any other one took to come again."""
_REQ: Final = names.REQ + b" %b"
_BODY: Final = slice(34, None)


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

    @property
    def missing(self) -> int:
        """The number of messages that came and were returned, and have not come again."""
        return sum(0 < each.came <= self.times for each in self.messages.values())

    def take(self, body: bytes, frame: bytes, now: float, grace_s: float) -> bytes | None:
        """Return the command for a message that came; None for a message of another way."""
        message = self.messages.get(body)
        if message is None:
            return None
        if message.came:
            self.slowest_s = max(self.slowest_s, now - message.since)
        message.came, message.since = message.came + 1, now
        if message.came <= self.times:
            return self.command and self.command % message_id(frame)
        if body == next(reversed(self.messages)):
            self.due = now + max(grace_s, BEHIND * self.slowest_s)
        return names.FIN + b" " + message_id(frame) + b"\n"


def make_bodies(token: bytes) -> list[bytes]:
    """Return the bodies to publish, with a token that no earlier message has."""
    return [b"%b:%d" % (token, number) for number in range(COUNT)]


@dataclass(slots=True)
class RedeliveryRound:
    """Decides what becomes of the messages of one subscriber, and which ones are lost.

    It returns one half immediately and the other one later; or it answers none, so that their
    time-out returns them (`times_out`). A message is lost when the last one of its half came again
    and it did not follow soon. Where not even the last one came, it is lost after `patience_s`;
    but a broker may grant another time-out than was asked for.
    """

    client: CaseConnection
    bodies: Sequence[bytes]
    patience_s: float
    grace_s: float
    times_out: bool = False
    started: float = field(default_factory=time.monotonic)
    _ways: list[_Way] = field(init=False)

    def __post_init__(self) -> None:
        if self.times_out:
            self._ways = [self._way("not answered within their time-out", 0, 1, b"")]
            return
        now, later = _REQ + b" 0\n", _REQ + b" %d\n" % DELAY_MS
        self._ways = [
            self._way("returned immediately", 0, AGAIN, now, step=2),
            self._way(f"returned for {DELAY_MS} ms", 1, AGAIN, later, step=2),
        ]

    def _way(self, words: str, first: int, times: int, command: bytes, *, step: int = 1) -> _Way:
        return _Way(words, times, command, {b: _Message() for b in self.bodies[first::step]})

    def reply(self, frame: bytes, now: float) -> bytes:
        """Return the command for a delivered message, which may be none."""
        body = frame[_BODY]
        for way in self._ways:
            said = way.take(body, frame, now, self.grace_s)
            if said is not None:
                return said
        return names.FIN + b" " + message_id(frame) + b"\n"

    def attend(self, now: float) -> Trouble | None:
        """Reply to the messages that have come; return what is wrong."""
        client = self.client
        frames = [answer.data for answer in client.answers if answer.kind == MESSAGE]
        client.answers.clear()
        client.send(b"".join(self.reply(each, now) for each in frames))
        if client.ended:
            return Trouble(NEIGHBOUR, "a subscriber's connection was ended")
        return self.trouble(now)

    @property
    def came_again(self) -> bool:
        """Return True if any message came again."""
        return any(way.slowest_s for way in self._ways)

    def is_over(self, now: float) -> bool:
        """Return True if all messages have come again, or nothing more is awaited."""
        if now > self.started + self.patience_s:
            return True
        return all(not way.missing and way.due < math.inf for way in self._ways)

    def trouble(self, now: float) -> Trouble | None:
        """Return which messages are lost, if any are."""
        late = self.started + self.patience_s
        for way in self._ways:
            due = way.due if self.times_out else min(way.due, late)
            if way.missing and now > due:
                words = f"{way.missing} of {len(way.messages)} messages that were {way.words}"
                return Trouble(REDELIVERY, f"{words} did not come again")
        return None


def return_all(rounds: Sequence[RedeliveryRound], publisher: CaseConnection) -> Trouble | None:
    """Attend subscribers until all messages have come again or one is lost."""
    trouble, now = None, time.monotonic()
    while trouble is None and not all(each.is_over(now) for each in rounds):
        wait([*(each.client for each in rounds), publisher], now + LOOK_S)
        now = time.monotonic()
        troubles = [each.attend(now) for each in rounds]
        trouble = next((each for each in troubles if each is not None), None)
    return trouble
