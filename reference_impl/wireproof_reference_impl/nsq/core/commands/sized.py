"""The sized bodies that follow a command line."""

from collections.abc import Callable, Generator

from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.frame_reading import Size
from wireproof_reference_impl.nsq.core.refusal import EndOfStream, Refusal

Bytes = Generator[int, bytes, bytes]
Number = Generator[int, bytes, int]
Nothing = Generator[int, bytes, None]
Refuse = Callable[[], Refusal]
"""Makes a refusal; most are never needed."""

_ENDLESS = 1 << 62
"""More bytes than any client sends."""


def exactly(count: int, *, otherwise: Refuse) -> Bytes:
    """Read so many bytes; a stream that ends before is refused as given."""
    try:
        return (yield count)
    except EndOfStream as end:
        raise otherwise() from end


def number(*, otherwise: Refuse) -> Number:
    """Read a signed 32-bit number in network byte order."""
    try:
        data = yield 4
    except EndOfStream as end:
        raise otherwise() from end
    return int.from_bytes(data, signed=True)


def declared(connection: Connection, kind: str, size: int) -> int:
    """Return a size or count that a client has declared, as this broker reads it."""
    read = connection.node.behaviour.weakness.declared
    return size if read is None else read(connection, kind, size)


def check_size(
    connection: Connection, size: int, *, limit: int, invalid: Refuse, too_big: Refuse
) -> Nothing:
    """Refuse a declared size that is out of range, before anything is waited for."""
    verdict = connection.node.behaviour.parser.size(size, limit)
    if verdict is Size.NOT_POSITIVE:
        raise invalid()
    if verdict is Size.TOO_BIG:
        raise too_big()
    if verdict is Size.ENDLESS:
        yield _ENDLESS
