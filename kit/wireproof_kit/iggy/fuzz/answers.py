"""A fast reader of Iggy responses, and fingerprints of stored messages."""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from wireproof_kit.fuzz.driver import Answer, Volume
from wireproof_spec.iggy.headers import Header

OK_KIND: Final = "status 0"
OF_ITS_OWN: Final = "status of its own"
"""The kind of a refusal with a number from 10,000 to 99,999; a greater one is no refusal."""
REFUSED: Final = frozenset({OF_ITS_OWN, *(f"status {number}" for number in range(1, 10_000))})
"""The kinds of refusals; real servers use more status numbers than any text lists."""
WITH_BODY: Final = "refusal with a body"
BODY_LIMIT: Final = 64 * 1024 * 1024
TOLD_TIMES: Final = 4
"""How many times longer a message of a few bytes may be in a response than as it was sent."""

_HEAD = Struct("<II")


class ResponseReader:
    """Splits received bytes into responses; one may hold all the bytes that ``volume`` counts."""

    def __init__(self, volume: Volume | None = None) -> None:
        self._volume = volume or Volume()
        self.fault = ""
        self.pending: bytes = b""

    def feed(self, data: bytes) -> Sequence[Answer]:
        """Add received bytes; return the responses that are complete now."""
        if self.fault or not data:
            return ()
        if self.pending:
            data = self.pending + data
        found: list[Answer] = []
        at, end = 0, len(data)
        while end - at >= _HEAD.size:
            status, length = _HEAD.unpack_from(data, at)
            if length > BODY_LIMIT and length > BODY_LIMIT + TOLD_TIMES * self._volume.sent:
                self.fault = f"status {status} with a body of {length} bytes is no answer"
                break
            behind = at + _HEAD.size + length
            if behind > end:
                break
            found.append(Answer(_kind(status, length), data[at:behind]))
            at = behind
        self.pending = data[at:]
        return found


def _kind(status: int, length: int) -> str:
    if status and length:
        return WITH_BODY
    return OF_ITS_OWN if 10_000 <= status < 100_000 else f"status {status}"


def body(answer: Answer) -> bytes:
    """Return the body of a response."""
    return answer.data[_HEAD.size :]


def fingerprint_stored(number: int, headers: Sequence[Header], payload: bytes) -> bytes:
    """Return the bytes that identify a stored message; id 0 is any id made by the server."""
    told = sorted((header.key, header.kind, header.value) for header in headers)
    return repr((number, told)).encode() + b"\0" + payload


def payload_of(message: bytes) -> bytes:
    """Return the payload in the bytes that identify a stored message."""
    return message.partition(b"\0")[2]


def number_of(message: bytes) -> int:
    """Return the message id in the bytes that identify a stored message."""
    return int(message[1 : message.index(b",")])
