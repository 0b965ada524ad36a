"""What has come on one connection: bytes in, answers out, never much more than a case is owed.

A target owes a case what the case sent, told in polls, and small answers beside it. So the bounds
grow with what was sent, and a target that never stops costs little of either memory or time.
"""

from typing import Final

from wireproof_kit.transcript import Transcript
from wireproof_spec.iggy.frame import Response, ResponseReader
from wireproof_spec.wire_error import WireError

MEGABYTE: Final = 1024 * 1024
BODY_LIMIT: Final = MEGABYTE
"""The greatest body that is owed to a case that sent nothing: lists of what there is."""
BYTES_LIMIT: Final = 4 * MEGABYTE
# The smallest message takes 25 bytes where it is sent, and 46 where it is polled.
GROWTH: Final = 2
POLLS: Final = 4
"""How often a case may poll all it sent, on one connection."""
# Ten times what the longest case asks for: a transcript keeps them all.
ANSWERS_LIMIT: Final = 2_000


class Incoming:
    """The receiving half of a connection, bounded against a target that never stops."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._reader = ResponseReader(BODY_LIMIT)
        self._bytes = 0
        self._answers = 0
        self._most_unasked: int | None = None
        self.fault: WireError | None = None

    @property
    def pending(self) -> bytes:
        """Return the bytes of an answer that is not whole yet."""
        return self._reader.pending

    def expect_little(self) -> None:
        """Bound what comes while a request is on its way, for which nothing is owed yet."""
        self._most_unasked = self._bytes + BODY_LIMIT

    def expect_answers(self) -> None:
        """Bound what comes by what was sent, from now on."""
        self._most_unasked = None

    def feed(self, data: bytes) -> None:
        """Take bytes; beyond the bound they are a fault, after a fault they are let go."""
        if self.fault is not None:
            return
        self._bytes += len(data)
        limit = self._limit()
        if self._bytes > limit:
            self._overrun("bytes", limit)
            return
        self._reader.feed(data)

    def next(self) -> Response | None:
        """Return the next whole answer, or None while there is none (or there is a fault)."""
        if self.fault is not None:
            return None
        self._reader.limit = BODY_LIMIT + GROWTH * self._transcript.sent
        try:
            response = self._reader.next_response()
        except WireError as error:
            self.fault = error
            return None
        if not isinstance(response, Response):
            return None
        self._answers += 1
        if self._answers > ANSWERS_LIMIT:
            self._overrun("answers", ANSWERS_LIMIT)
            return None
        return response

    def _limit(self) -> int:
        if self._most_unasked is not None:
            return self._most_unasked
        return BYTES_LIMIT + POLLS * GROWTH * self._transcript.sent

    def _overrun(self, what: str, limit: int) -> None:
        self.fault = WireError(
            clause="kit",
            field=what,
            offset=self._bytes,
            expected=f"at most {limit} on one connection",
            found="more",
        )
