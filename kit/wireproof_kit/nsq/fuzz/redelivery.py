"""What a bystander that returns messages (REQ) must get: each again, unchanged, and in order."""

from dataclasses import dataclass
from typing import Final

from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import NEIGHBOUR
from wireproof_kit.nsq.fuzz.answers import message_id
from wireproof_spec.nsq import names

EVERY: Final = 4
"""One in this many messages is requeued, beginning with the first."""
_ATTEMPTS = slice(16, 18)
_CONTENT = slice(34, None)
_INTERNAL_ID = slice(0, 8)


@dataclass(frozen=True, slots=True)
class Returned:
    """A requeued message: its frame, and by when it must be delivered again."""

    frame: bytes
    due: float


@dataclass(slots=True)
class Redelivery:
    """Requeues some messages of a subscriber, and checks that they are delivered again.

    One message at a time is requeued, when it comes for the first time: brokers may deliver a
    message twice, and the second copy may be finished already. On an `ordered` channel no later
    message may come before it.
    """

    patience_s: float
    ordered: bool = False
    every: int = EVERY
    _count: int = 0
    _latest: bytes = b""
    _returned: Returned | None = None
    _wrong: str = ""

    def reply(self, frame: bytes, now: float) -> bytes:
        """Return the command for a delivered message: REQ for some, FIN for the others."""
        identity = message_id(frame)
        if self._returned is not None:
            self._compare(self._returned.frame, frame)
        else:
            if self._is_next(identity[_INTERNAL_ID]):
                self._returned = Returned(frame, now + self.patience_s)
                return names.REQ + b" " + identity + b" 0\n"
        return names.FIN + b" " + identity + b"\n"

    def _is_next(self, internal_id: bytes) -> bool:
        """Return True if a message is to be returned; count the messages that are new."""
        if not self.every or internal_id <= self._latest:
            return False
        self._latest = internal_id
        self._count += 1
        return self._count % self.every == 1

    @property
    def is_waiting(self) -> bool:
        """Return True if a requeued message has not been delivered again yet."""
        return self._returned is not None and not self._wrong

    def trouble(self, now: float) -> Trouble | None:
        """Return which requeued message was delivered wrongly or too late, or None."""
        if self._returned is not None and now > self._returned.due and not self._wrong:
            self._wrong = "a message that a neighbour returned did not come again"
        return Trouble(NEIGHBOUR, self._wrong) if self._wrong else None

    def _compare(self, before: bytes, frame: bytes) -> None:
        old, new = message_id(before), message_id(frame)
        if old != new:
            if self.ordered and new[_INTERNAL_ID] > old[_INTERNAL_ID]:
                self._wrong = "on an ordered channel a later message overtook a returned one"
            return
        self._returned = None
        if before[_CONTENT] != frame[_CONTENT]:
            self._wrong = "a message that a neighbour returned came again with other content"
        elif before[_ATTEMPTS] > frame[_ATTEMPTS]:
            self._wrong = "a message that a neighbour returned came again with fewer attempts"
