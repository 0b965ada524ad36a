"""The sized bodies that follow a command line."""

from collections.abc import Callable, Generator

from wireproof_reference_impl.nsq.wire.refusal import EndOfStream, Refusal

Bytes = Generator[int, bytes, bytes]
Number = Generator[int, bytes, int]
Refuse = Callable[[], Refusal]
"""Makes a refusal; most are never needed."""


def exactly(count: int, *, otherwise: Refuse) -> Bytes:
    """Read `count` bytes from the connection; raise a refusal if the stream ends before."""
    try:
        return (yield count)
    except EndOfStream as end:
        raise otherwise() from end


def number(*, otherwise: Refuse) -> Number:
    """Read a signed 32-bit big-endian number from the connection, or raise a refusal."""
    try:
        data = yield 4
    except EndOfStream as end:
        raise otherwise() from end
    return int.from_bytes(data, signed=True)


def check_size(size: int, *, limit: int, invalid: Refuse, too_big: Refuse) -> None:
    """Refuse a declared size that is out of range, before waiting for more bytes.

    Clause: ext.parser.size
    """
    if size <= 0:
        raise invalid()
    if size > limit:
        raise too_big()
