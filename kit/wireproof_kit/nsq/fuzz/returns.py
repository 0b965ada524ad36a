"""A round of redelivery: a subscriber returns all messages that it gets, and awaits each again.

Some messages are returned at once (REQ), some after a while, and some are not answered, so that
their time-out returns them. Many are in flight at once: brokers have died of that, too.
"""

import math
import time
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.bystanders import wait
from wireproof_kit.fuzz.oracle.rules import NEIGHBOUR, REDELIVERY
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.nsq.fuzz.answers import MESSAGE, message_id
from wireproof_spec.nsq import names

COUNT: Final = 350
"""Messages returned in each way; all of them are in flight at once."""
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


@dataclass(slots=True)
class RedeliveryRound:
    """Decides what becomes of each message, and which ones are lost.

    A message is lost when the last one of its way came again and it did not follow soon. Where
    not even the last one came, it is lost after `patience_s`; but a broker may grant another
    time-out than was asked for. Without `times_out` all messages are answered.
    """

    token: bytes
    patience_s: float
    grace_s: float
    times_out: bool = True
    started: float = field(default_factory=time.monotonic)
    _ways: list[_Way] = field(init=False)

    def __post_init__(self) -> None:
        now, later = _REQ + b" 0\n", _REQ + b" %d\n" % DELAY_MS
        self._ways = [
            self._way(b"n", "returned at once", AGAIN, now),
            self._way(b"l", f"returned after {DELAY_MS} ms", AGAIN, later),
        ]
        if self.times_out:
            self._ways.append(self._way(b"t", "not answered within their time-out", 1, b""))

    def _way(self, letter: bytes, words: str, times: int, command: bytes) -> _Way:
        bodies = (b"%b:%b%d" % (self.token, letter, number) for number in range(COUNT))
        return _Way(words, times, command, {body: _Message() for body in bodies})

    @property
    def bodies(self) -> list[bytes]:
        """The bodies to publish, those that tell when the others are due last."""
        columns = zip(*(way.messages for way in self._ways), strict=True)
        return [body for row in columns for body in row]

    def reply(self, frame: bytes, now: float) -> bytes:
        """Return the command for a delivered message, which may be none."""
        body = frame[_BODY]
        for way in self._ways:
            said = way.take(body, frame, now, self.grace_s)
            if said is not None:
                return said
        return names.FIN + b" " + message_id(frame) + b"\n"

    def run(self, client: CaseConnection, publisher: CaseConnection) -> Trouble | None:
        """Return what comes to a subscriber until all has come again or something is lost."""
        trouble, now = None, self.started
        while trouble is None and not client.ended and not self.is_over(now):
            wait([client, publisher], now + LOOK_S)
            frames = [answer.data for answer in client.answers if answer.kind == MESSAGE]
            client.answers.clear()
            now = time.monotonic()
            client.send(b"".join(self.reply(each, now) for each in frames))
            trouble = self.trouble(now)
        if client.ended:
            return Trouble(NEIGHBOUR, "a subscriber's connection was ended")
        return trouble

    @property
    def has_timed_out(self) -> bool:
        """Return True if a time-out returned a message."""
        return any(not way.command and way.slowest_s for way in self._ways)

    def is_over(self, now: float) -> bool:
        """Return True if all messages have come again, or nothing more is awaited."""
        if now > self.started + self.patience_s:
            return True
        return all(not way.missing and way.due < math.inf for way in self._ways)

    def trouble(self, now: float) -> Trouble | None:
        """Return which messages are lost, if any are."""
        late = self.started + self.patience_s
        for way in self._ways:
            due = min(way.due, late) if way.command else way.due
            if way.missing and now > due:
                words = f"{way.missing} of {COUNT} messages that were {way.words}"
                return Trouble(REDELIVERY, f"{words} did not come again")
        return None
