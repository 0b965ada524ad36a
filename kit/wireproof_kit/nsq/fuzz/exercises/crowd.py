"""Many publishers at once: each must get the answers to its own messages.

A broker may answer from a buffer that another connection uses again. Measured with such an nsqd:
of 12,800 traced publishes 13 to 19 were answered wrongly over 64 connections, at most 6 over 32,
and none over 16.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.bystanders import wait
from wireproof_kit.fuzz.oracle.rules import NEIGHBOUR
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.nsq.fuzz.answers import ERRORS, OK_KIND
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import command_line

PUBLISHERS: Final = 64
AT_ONCE: Final = 64
"""How many messages a publisher sends in one write; more follow after their answers."""
SECONDS: Final = 3.0
BODY: Final = b"one of many".ljust(64)
"""At least as long as a response to a traced publish, so that its buffer can be reused."""
_ID_SIZE: Final = 8


@dataclass(slots=True)
class _Publisher:
    """One connection; the trace ids of its messages follow each other from `first`."""

    client: CaseConnection
    line: bytes
    first: int
    sent: int = 0
    answered: int = 0

    @property
    def is_waiting(self) -> bool:
        """Return True if answers are missing and can come."""
        return self.answered < self.sent and not (self.client.ended or self.client.fault)

    def publish(self) -> None:
        """Send the next messages, in two writes divided behind the first trace id.

        So the broker waits for a body while it reads what the other publishers send.
        """
        frames: list[bytes] = []
        for number in range(self.first + self.sent, self.first + self.sent + AT_ONCE):
            body = number.to_bytes(_ID_SIZE) + BODY
            frames.append(self.line + len(body).to_bytes(4) + body)
        self.sent += AT_ONCE
        data, cut = b"".join(frames), len(self.line) + 4 + _ID_SIZE
        self.client.send(data[:cut], data[cut:])

    def take_answers(self) -> Trouble | None:
        """Compare the answers that have come with the trace ids that were sent."""
        if self.client.fault:
            return Trouble(
                NEIGHBOUR, f"one of many publishers is sent nonsense: {self.client.fault}"
            )
        for answer in self.client.answers:
            own = (self.first + self.answered).to_bytes(_ID_SIZE)
            self.answered += 1
            if answer.kind not in ERRORS and answer.kind != OK_KIND and own not in answer.data:
                words = "one of many publishers is sent an answer that belongs to another one"
                return Trouble(NEIGHBOUR, words)
        self.client.answers.clear()
        return None


def publish_at_once(
    clients: Sequence[CaseConnection], topic: Topic, until: float, patience_s: float
) -> Trouble | None:
    """Publish traced messages on all connections for a time; return what went wrong."""
    line = command_line(names.PUB_TRACE, topic.name, topic.partition or 0)
    publishers = [
        _Publisher(client, line, (number + 1) << 40) for number, client in enumerate(clients)
    ]
    for publisher in publishers:
        publisher.publish()
    trouble = _go_on(publishers, until, patience_s)
    for client in clients:
        client.close()
    return trouble


def _go_on(publishers: Sequence[_Publisher], ends_at: float, patience_s: float) -> Trouble | None:
    """Publish behind the answers until the time is over, and await the last ones."""
    while waiting := [publisher for publisher in publishers if publisher.is_waiting]:
        if time.monotonic() > ends_at + patience_s:
            return None  # the next check tells what is hung or slow
        wait([each.client for each in waiting], ends_at + patience_s)
        for each in waiting:
            if (trouble := each.take_answers()) is not None:
                return trouble
            if each.answered >= each.sent and time.monotonic() < ends_at:
                each.publish()
    return None
