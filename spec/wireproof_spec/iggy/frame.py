"""The frames of a connection: requests of the client, and one response to each, in order."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema, encode
from wireproof_spec.grammar.layout import Bytes, Int32ul, Record, Rest, field
from wireproof_spec.grammar.lengths import Declared, Sized
from wireproof_spec.iggy.statuses import OK
from wireproof_spec.stream import NEED_MORE as NEED_MORE
from wireproof_spec.stream import NeedMore as NeedMore
from wireproof_spec.stream import SizedReader, StreamBuffer
from wireproof_spec.wire_error import WireError


class Request(Struct, frozen=True, gc=False):
    """A request frame: the code of a command, and its payload; any 32-bit code decodes."""

    code: int
    payload: bytes


class Response(Struct, frozen=True, gc=False):
    """A response frame: status 0 and a body, or another status, from real servers without body."""

    status: int
    body: bytes


REQUEST = Schema(
    "request",
    "iggy.frame.request",
    Request,
    Sized(
        Int32ul,
        Record(Request, field("code", Int32ul), field("payload", Rest)),
        name="length",
    ),
)
"""4-byte `length` (4 + payload), 4-byte `code`, `payload`."""

RESPONSE = Schema(
    "response",
    "iggy.frame.response",
    Response,
    Record(
        Response,
        field("status", Int32ul),
        field("length", Declared(Int32ul, of="body")),
        field("body", Bytes(this.length)),
    ),
)
"""4-byte `status`, 4-byte `length` of the body alone, `body`."""

STATUS_SIZE = 4
"""What the length of a success counts besides the body, in the form of the Iggy schema."""

RESPONSE_HEAD_SIZE = 8
_LENGTH_AT = 4
_LENGTH_SIZE = RESPONSE_HEAD_SIZE - _LENGTH_AT


def request(code: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a request frame."""
    return encode(REQUEST, Request(code, payload))


def response(status: int, body: bytes = b"", *, counts_status: bool = False) -> bytes:
    """Return the bytes of a response frame; the length of an error counts no status."""
    frame = encode(RESPONSE, Response(status, body))
    if not counts_status or status != OK:
        return frame
    length = (len(body) + STATUS_SIZE).to_bytes(_LENGTH_SIZE, "little")
    return frame[:_LENGTH_AT] + length + frame[RESPONSE_HEAD_SIZE:]


class RequestReader(SizedReader[Request]):
    """Decodes request frames from a stream that may arrive in pieces of any size."""

    def __init__(self, limit: int) -> None:
        """Create a reader; `limit` is the largest length in bytes that a frame may declare."""
        super().__init__(REQUEST, limit)

    def next_request(self) -> Request | NeedMore:
        """Return the next complete request, or NEED_MORE.

        Raises:
            WireError: the length is below 4 or over the limit; the offset counts from the
                start of the stream.
        """
        return self.next()


class ResponseReader(StreamBuffer):
    """Decodes response frames from a stream that may arrive in pieces of any size."""

    def __init__(self, limit: int, *, counts_status: bool = False) -> None:
        """Create a reader; `limit`, which may change, is the greatest body length accepted.

        `counts_status`: the length of a success also counts the bytes of its status.
        """
        super().__init__()
        self.limit = limit
        self._counts_status = counts_status

    def next_response(self) -> Response | NeedMore:
        """Return the next complete response, or NEED_MORE.

        Raises:
            WireError: the length is over the limit, or too small for what it counts; the offset
                counts from the start of the stream, and the reader stays where it is.
        """
        if len(self._buffer) < RESPONSE_HEAD_SIZE:
            return NEED_MORE
        status = int.from_bytes(self._buffer[:_LENGTH_AT], "little")
        end = RESPONSE_HEAD_SIZE + self._body_length(status)
        if len(self._buffer) < end:
            return NEED_MORE
        body = bytes(self._buffer[RESPONSE_HEAD_SIZE:end])
        self._drop(end)
        return Response(status, body)

    def _body_length(self, status: int) -> int:
        declared = int.from_bytes(self._buffer[_LENGTH_AT:RESPONSE_HEAD_SIZE], "little")
        length = declared - STATUS_SIZE * (self._counts_status and status == OK)
        if 0 <= length <= self.limit:
            return length
        bound = f"at least {STATUS_SIZE} bytes, those of the status"
        raise WireError(
            clause=RESPONSE.clause,
            field="length",
            offset=self.offset + _LENGTH_AT,
            expected=bound if length < 0 else f"at most {self.limit} bytes",
            found=str(declared),
        )
