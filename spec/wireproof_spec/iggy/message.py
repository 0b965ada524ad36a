"""A message as polled and as stored in a log, in the present and in the old layout."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema, decode
from wireproof_spec.grammar.layout import (
    Bytes,
    Field,
    Int8ub,
    Int32ul,
    Int64ul,
    Int128ul,
    OneOf,
    Record,
    Shape,
    field,
)
from wireproof_spec.grammar.lengths import Declared
from wireproof_spec.iggy.headers import Header, headers_field
from wireproof_spec.iggy.states import STATES
from wireproof_spec.stream import NEED_MORE, NeedMore, StreamBuffer
from wireproof_spec.wire_error import WireError


class Message(Struct, frozen=True, gc=False):
    """A message as it is stored and polled; `timestamp` is in microseconds since 1970.

    `state` and `checksum` are None in the old layout, which has neither. `state` may be any byte
    (`states` has the defined ones).
    """

    offset: int
    state: int | None
    timestamp: int
    id: int
    checksum: int | None
    headers: tuple[Header, ...]
    payload: bytes


def _layout(state: Shape | None) -> Record:
    new = state is not None
    parts: list[Field] = [field("offset", Int64ul)]
    parts += [field("state", state)] if state is not None else []
    parts += [field("timestamp", Int64ul), field("id", Int128ul)]
    parts += [field("checksum", Int32ul)] * new
    parts += [
        headers_field(),
        field("length", Declared(Int32ul, of="payload")),
        field("payload", Bytes(this.length)),
    ]
    return Record(Message, *parts)


MESSAGE = Schema("message", "iggy.message.layout", Message, _layout(Int8ub))
"""8-byte `offset`, 1-byte `state`, 8-byte `timestamp`, 16-byte `id`, 4-byte `checksum`, headers
led by their 4-byte length, 4-byte `length`, `payload`: 45 bytes and what varies.

Any state decodes: whether it is known is judged apart (`iggy.state.unknown`).
"""

MESSAGE_OF_KNOWN_STATE = Schema(
    "message of known state", "iggy.state.codes", Message, _layout(OneOf(Int8ub, STATES))
)
"""The same, refused where no state has that code."""

OLD_MESSAGE = Schema("old message", "iggy.message.old-layout", Message, _layout(None))
"""As before commit b07f23d: neither `state` nor `checksum`; 40 bytes and what varies."""

MESSAGE_FIXED_SIZE = 45
OLD_MESSAGE_FIXED_SIZE = 40
_LENGTH_SIZE = 4


class MessageReader(StreamBuffer):
    """Reads messages from the bytes of a log file; holds one message and the last bytes fed."""

    def __init__(self, limit: int, *, schema: Schema[Message] = MESSAGE) -> None:
        """Create a reader; `limit` is the largest length accepted for headers or a payload."""
        super().__init__()
        self._schema = schema
        old = schema is OLD_MESSAGE
        self._fixed = OLD_MESSAGE_FIXED_SIZE if old else MESSAGE_FIXED_SIZE
        self._limit = limit

    def next_message(self) -> Message | NeedMore:
        """Return the next complete message, or NEED_MORE.

        Raises:
            WireError: the bytes do not fit the shape; the offset counts from the first byte fed,
                and the reader does not move.
        """
        try:
            end = self._end()
            if end is None or len(self._buffer) < end:
                return NEED_MORE
            value = decode(self._schema, bytes(self._buffer[:end]))
        except WireError as error:
            raise error.at(self.offset) from None
        self._drop(end)
        return value

    def finish(self) -> None:
        """Check that the log file ends after a complete message.

        Raises:
            WireError: the log ends inside a message.
        """
        if self._buffer:
            try:
                decode(self._schema, self.pending)
            except WireError as error:
                raise error.at(self.offset) from None

    def _end(self) -> int | None:
        """Return where the message ends, or None if its lengths have not been fed yet."""
        headers_at = self._fixed - 2 * _LENGTH_SIZE
        headers = self._length(headers_at, "headers.length")
        if headers is None:
            return None
        payload = self._length(headers_at + _LENGTH_SIZE + headers, "length")
        return None if payload is None else self._fixed + headers + payload

    def _length(self, at: int, name: str) -> int | None:
        data = self._buffer[at : at + _LENGTH_SIZE]
        if len(data) < _LENGTH_SIZE:
            return None
        length = int.from_bytes(data, "little")
        if length > self._limit:
            raise WireError(
                clause=self._schema.clause,
                field=name,
                offset=at,
                expected=f"at most {self._limit}",
                found=str(length),
            )
        return length
