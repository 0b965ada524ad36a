"""Splits the bytes of one connection into responses, with a limit on the bytes received.

A target returns what the case sent, in polls, and some small responses. So the limit grows with
the bytes sent, and a target that never stops sending costs little memory or time.
"""

from typing import Final

from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy.frame import NeedMore, Response, ResponseReader

MEGABYTE: Final = 1024 * 1024
BODY_LIMIT: Final = MEGABYTE
"""The greatest body that is owed to a case that sent nothing: lists of what there is."""
BYTES_LIMIT: Final = 4 * MEGABYTE
# The smallest message takes 25 bytes where it is sent, and 46 where it is polled.
GROWTH: Final = 2
POLLS: Final = 4
"""How often a case may poll all it sent, on one connection."""


class Answers:
    """Reads responses; the limit on received bytes grows with the bytes sent."""

    values = "answers"

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._reader = ResponseReader(BODY_LIMIT)
        self._bytes = 0
        self._most_unasked: int | None = None

    @property
    def bytes_limit(self) -> int:
        """Return the number of bytes that may have arrived by now."""
        if self._most_unasked is not None:
            return self._most_unasked
        return BYTES_LIMIT + POLLS * GROWTH * self._transcript.sent

    @property
    def pending(self) -> bytes:
        """Return the bytes of an incomplete response."""
        return self._reader.pending

    def expect_little(self) -> None:
        """Allow few bytes while a request is being sent, since no response is due yet."""
        self._most_unasked = self._bytes + BODY_LIMIT

    def expect_answers(self) -> None:
        """From now on, allow as many bytes as the requests sent so far can cause."""
        self._most_unasked = None

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._bytes += len(data)
        self._reader.feed(data)

    def next(self) -> Response | NeedMore:
        """Return the next response, or NEED_MORE.

        Raises:
            WireError: the body is longer than any that is owed.
        """
        self._reader.limit = BODY_LIMIT + GROWTH * self._transcript.sent
        return self._reader.next_response()
