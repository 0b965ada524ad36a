"""A fast reader of the answers of generation apache, and fingerprints of stored messages."""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from wireproof_kit.fuzz.driver import Answer, Volume
from wireproof_kit.iggy.fuzz.answers import (
    BODY_LIMIT,
    OF_ITS_OWN,
    OK_KIND,
    REFUSED,
    TOLD_TIMES,
    WITH_BODY,
)
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.apache.header import (
    COMMAND_AT,
    EVICTION_COMMAND,
    HEADER_SIZE,
    REPLY_COMMAND,
    SIZE_AT,
)

EVICTED: Final = frozenset(f"evicted {reason}" for reason in range(1, 256))
ANYTHING: Final = frozenset({OK_KIND, *REFUSED, *EVICTED})

_NUMBER: Final = Struct("<I")
_STATUS_AT: Final = 216
_REASON_AT: Final = 255


class AnswerReader:
    """Splits received bytes into answers; one may hold all the bytes that ``volume`` counts."""

    def __init__(self, volume: Volume | None = None) -> None:
        self._volume = volume or Volume()
        self.fault = ""
        self.pending: bytes = b""

    def feed(self, data: bytes) -> Sequence[Answer]:
        """Add received bytes; return the answers that are complete now."""
        if self.fault or not data:
            return ()
        data = self.pending + data if self.pending else data
        found: list[Answer] = []
        at, end = 0, len(data)
        while end - at > COMMAND_AT:
            size: int = _NUMBER.unpack_from(data, at + SIZE_AT)[0]
            self.fault = self._fault(data[at + COMMAND_AT], size)
            behind = at + size
            if self.fault or behind > end:
                break
            found.append(Answer(_kind(data, at, size), data[at:behind]))
            at = behind
        self.pending = data[at:]
        return found

    def _fault(self, command: int, size: int) -> str:
        most = BODY_LIMIT + TOLD_TIMES * self._volume.sent
        if command == EVICTION_COMMAND and size != HEADER_SIZE:
            return f"an eviction of {size} bytes has a body"
        if command not in (REPLY_COMMAND, EVICTION_COMMAND):
            return f"command {command} is that of no answer"
        is_right = HEADER_SIZE <= size <= most
        return "" if is_right else f"a size of {size} bytes is that of no answer"


def _kind(data: bytes, at: int, size: int) -> str:
    if data[at + COMMAND_AT] == EVICTION_COMMAND:
        return f"evicted {data[at + _REASON_AT]}"
    status: int = _NUMBER.unpack_from(data, at + _STATUS_AT)[0]
    if status and size > HEADER_SIZE:
        return WITH_BODY
    return OF_ITS_OWN if 10_000 <= status < 100_000 else f"status {status}"


def body(answer: Answer) -> bytes:
    """Return the body of an answer."""
    return answer.data[HEADER_SIZE:]


def fingerprint(frame: MessageFrame) -> bytes:
    """Return the bytes that identify a stored message."""
    return f"({frame.id}, {frame.user_headers.hex()})".encode() + b"\0" + frame.payload
