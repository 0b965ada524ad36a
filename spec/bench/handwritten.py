"""What the generated code is measured against: the ext message in `struct` code written by hand.

Each function does the whole work: it takes version 0 without a length, checks every end, and
refuses with a `WireError`. Encoders come twice, with and without asking for the types of what
they are given: generated ones ask.
"""

from struct import Struct
from struct import error as StructError
from typing import TypeAlias

from wireproof_spec.nsq.message import Extend, Message
from wireproof_spec.wire_error import WireError

MessageTuple: TypeAlias = tuple[int, int, int, int, tuple[int, bytes | None], None, None, bytes]

_CLAUSE = "ext.consume.layout"
_HEAD = Struct(">qHQQB")
_LENGTH = Struct(">H")
_HEAD_AND_LENGTH = Struct(">qHQQBH")
_unpack_head = _HEAD.unpack_from
_unpack_length = _LENGTH.unpack_from
_pack_head = _HEAD.pack
_pack_all = _HEAD_AND_LENGTH.pack


def decode_object(data: bytes) -> Message:
    """Decode through the constructors of the value types."""
    try:
        timestamp_ns, attempts, internal_id, trace_id, version = _unpack_head(data, 0)
    except StructError:
        raise _refuse("head", 0, "27 bytes", str(len(data))) from None
    if version:
        try:
            (length,) = _unpack_length(data, 27)
        except StructError:
            raise _refuse("extend.length", 27, "2 bytes", str(len(data) - 27)) from None
        end = 29 + length
        if end > len(data):
            raise _refuse("extend.length", 27, f"at most {len(data) - 29}", str(length))
        extend = Extend(version, data[29:end])
    else:
        end = 27
        extend = Extend(version, None)
    return Message(timestamp_ns, attempts, internal_id, trace_id, extend, None, None, data[end:])


def decode_tuple(data: bytes) -> MessageTuple:
    """Decode to plain tuples."""
    try:
        timestamp_ns, attempts, internal_id, trace_id, version = _unpack_head(data, 0)
    except StructError:
        raise _refuse("head", 0, "27 bytes", str(len(data))) from None
    if version:
        try:
            (length,) = _unpack_length(data, 27)
        except StructError:
            raise _refuse("extend.length", 27, "2 bytes", str(len(data) - 27)) from None
        end = 29 + length
        if end > len(data):
            raise _refuse("extend.length", 27, f"at most {len(data) - 29}", str(length))
        extend: tuple[int, bytes | None] = (version, data[29:end])
    else:
        end = 27
        extend = (version, None)
    return (timestamp_ns, attempts, internal_id, trace_id, extend, None, None, data[end:])


def encode_trusting(message: Message) -> bytes:
    """Encode without asking whether the parts are what their types say."""
    extend = message.extend
    if extend is None:
        raise _refuse("extend", 26, "Extend", "None")
    data = extend.data
    try:
        if data is None:
            head = _pack_head(
                message.timestamp_ns,
                message.attempts,
                message.internal_id,
                message.trace_id,
                extend.version,
            )
            return head + message.body
        head = _pack_all(
            message.timestamp_ns,
            message.attempts,
            message.internal_id,
            message.trace_id,
            extend.version,
            len(data),
        )
        return head + data + message.body
    except StructError as error:
        raise _refuse("message", 0, "numbers in their ranges", str(error)) from None


def encode_object(message: Message) -> bytes:  # noqa: C901  # as fast code by hand is
    """Encode and refuse what the grammar refuses: other types, offsets that are not written."""
    if type(message) is not Message:
        raise _refuse("value", 0, "Message", repr(message))
    if message.disk_queue_offset is not None or message.disk_queue_data_size is not None:
        raise _refuse("disk_queue_offset", 0, "nothing", "a number")
    extend = message.extend
    if type(extend) is not Extend:
        raise _refuse("extend", 26, "Extend", repr(extend))
    timestamp_ns, attempts = message.timestamp_ns, message.attempts
    internal_id, trace_id = message.internal_id, message.trace_id
    version, data, body = extend.version, extend.data, message.body
    if (
        type(timestamp_ns) is not int
        or type(attempts) is not int
        or type(internal_id) is not int
        or type(trace_id) is not int
        or type(version) is not int
        or not isinstance(body, bytes)
    ):
        raise _refuse("message", 0, "numbers and bytes", repr(message))
    try:
        if version:
            if not isinstance(data, bytes):
                raise _refuse("extend.data", 29, "bytes", repr(data))
            head = _pack_all(timestamp_ns, attempts, internal_id, trace_id, version, len(data))
            return head + data + body
        if data is not None:
            raise _refuse("extend.data", 27, "nothing", repr(data))
        return _pack_head(timestamp_ns, attempts, internal_id, trace_id, version) + body
    except StructError as error:
        raise _refuse("message", 0, "numbers in their ranges", str(error)) from None


def encode_tuple(message: MessageTuple) -> bytes:  # noqa: C901  # as fast code by hand is
    """Encode a message given as plain tuples; refuse what `encode` refuses."""
    if type(message) is not tuple or len(message) != 8:
        raise _refuse("value", 0, "8 parts", repr(message))
    timestamp_ns, attempts, internal_id, trace_id, extend, offset, size, body = message
    if offset is not None or size is not None:
        raise _refuse("disk_queue_offset", 0, "nothing", "a number")
    if type(extend) is not tuple or len(extend) != 2:
        raise _refuse("extend", 26, "2 parts", repr(extend))
    version, data = extend
    if (
        type(timestamp_ns) is not int
        or type(attempts) is not int
        or type(internal_id) is not int
        or type(trace_id) is not int
        or type(version) is not int
        or not isinstance(body, bytes)
    ):
        raise _refuse("message", 0, "numbers and bytes", repr(message))
    try:
        if version:
            if not isinstance(data, bytes):
                raise _refuse("extend.data", 29, "bytes", repr(data))
            head = _pack_all(timestamp_ns, attempts, internal_id, trace_id, version, len(data))
            return head + data + body
        if data is not None:
            raise _refuse("extend.data", 27, "nothing", repr(data))
        return _pack_head(timestamp_ns, attempts, internal_id, trace_id, version) + body
    except StructError as error:
        raise _refuse("message", 0, "numbers in their ranges", str(error)) from None


def _refuse(field: str, offset: int, expected: str, found: str) -> WireError:
    return WireError(clause=_CLAUSE, field=field, offset=offset, expected=expected, found=found)
