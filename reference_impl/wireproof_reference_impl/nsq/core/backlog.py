"""A channel's undelivered messages: a window in memory, the rest in the log."""

from collections import deque
from collections.abc import Callable
from itertools import islice

from wireproof_reference_impl.nsq.core.log import Log
from wireproof_reference_impl.nsq.wire.message import Message

_WINDOW = 2000


class Backlog:
    """The undelivered messages of a channel in queue order; memory holds at most a window."""

    def __init__(
        self, log: Log, *, offset: int, number: int, read: Callable[[bytes, int, int], Message]
    ) -> None:
        self._log = log
        self._read = read
        self._window: deque[Message] = deque()
        self._next_offset = offset
        self._next_number = number

    @property
    def depth(self) -> int:
        """Return how many messages wait to be delivered."""
        return len(self._window) + self._log.count - self._next_number

    @property
    def offset(self) -> int:
        """The offset of the first waiting message, or of the next one to be appended."""
        return self._window[0].offset if self._window else self._next_offset

    @property
    def number(self) -> int:
        """Return how many messages of the log precede the first waiting one; all if none waits."""
        return self._window[0].number if self._window else self._next_number

    def add(self, message: Message) -> None:
        """Add a message that was just appended to the partition's log."""
        if message.offset == self._next_offset and len(self._window) < _WINDOW:
            self._window.append(message)
            self._next_offset += message.size
            self._next_number += 1

    def list_upcoming(self) -> deque[Message]:
        """Return the waiting messages that are in memory; empty only if no message waits."""
        if not self._window and self._next_offset < self._log.end:
            self._refill()
        return self._window

    def skip_to_end(self) -> None:
        """Drop all waiting messages."""
        self._window.clear()
        self._next_offset = self._log.end
        self._next_number = self._log.count

    def _refill(self) -> None:
        for offset, record in islice(self._log.read_from(self._next_offset), _WINDOW):
            self._window.append(self._read(record, offset, self._next_number))
            self._next_offset = offset + len(record)
            self._next_number += 1
