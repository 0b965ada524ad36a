"""The bytes that a broker writes, packed by hand because every message passes through here.

Each function writes one shape of `wireproof_spec.nsq`; a test checks that both agree. All integers
are big endian.
"""

from struct import Struct

_FRAME_HEAD = Struct(">II")
_MESSAGE_HEAD = Struct(">qHQQ")
_TRACE_RESPONSE = Struct(">2sQQQI")
_POSITION = Struct(">QI")
_EXTEND_HEAD = Struct(">BH")
_RECORD_HEAD = Struct(">IqHQQ")

RESPONSE = 0
ERROR = 1
MESSAGE = 2
MESSAGE_HEAD_BYTES = _MESSAGE_HEAD.size
EXTEND_INDICATOR = 0xA000
"""The high 4 bits of attempts in a record that has an ext part (whose choice: youzan nsqd)."""


def frame(frame_type: int, data: bytes) -> bytes:
    """Return the bytes of a server frame: size, frame type, data."""
    return _FRAME_HEAD.pack(len(data) + 4, frame_type) + data


def message_head(timestamp_ns: int, attempts: int, *, internal_id: int, trace_id: int) -> bytes:
    """Return the first bytes of a message: timestamp, attempts and the 16-byte message id."""
    return _MESSAGE_HEAD.pack(timestamp_ns, attempts, internal_id, trace_id)


def extend_part(version: int, header: bytes) -> bytes:
    """Return the ext part of a message: version, length of the header, header."""
    return _EXTEND_HEAD.pack(version, len(header)) + header


def position(disk_queue_offset: int, disk_queue_data_size: int) -> bytes:
    """Return offset and size in the queue as bytes, for ordered and advanced subscriptions."""
    return _POSITION.pack(disk_queue_offset, disk_queue_data_size)


def trace_response(internal_id: int, trace_id: int, *, offset: int, size: int) -> bytes:
    """Return the 30 bytes of the answer to a traced publish."""
    return _TRACE_RESPONSE.pack(b"OK", internal_id, trace_id, offset, size)


def record(
    timestamp_ns: int, attempts: int, *, internal_id: int, trace_id: int, rest: bytes
) -> bytes:
    """Return a record of the disk queue: 4-byte length, then the message."""
    length = MESSAGE_HEAD_BYTES + len(rest)
    return _RECORD_HEAD.pack(length, timestamp_ns, attempts, internal_id, trace_id) + rest


def record_size(data: bytes) -> int:
    """Return the size of the record that begins with these bytes, its length field included."""
    return 4 + int.from_bytes(data[:4])


def read_record(data: bytes) -> tuple[int, int, int, int, int]:
    """Return length, timestamp, attempts, internal id and trace id of a record."""
    length, timestamp_ns, attempts, internal_id, trace_id = _RECORD_HEAD.unpack_from(data)
    return length, timestamp_ns, attempts, internal_id, trace_id
