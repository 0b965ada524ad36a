"""The records in a queue's files."""

from wireproof_reference_impl.nsq.wire import packed
from wireproof_spec.wire_error import WireError

LENGTH_SIZE = 4


def measure_record(head: bytes, left: int, at: int) -> int:
    """Return the size of the record that begins with `head`, its length field included.

    `left` is the number of bytes that remain, those of the head included.

    Raises:
        WireError: there is no complete record; its offset is `at`.
    """
    taken = packed.record_size(head)
    if len(head) < LENGTH_SIZE:
        raise _cut(LENGTH_SIZE, left, at)
    if taken < LENGTH_SIZE + packed.MESSAGE_HEAD_BYTES:
        raise WireError(
            clause="ext.disk.layout",
            field="length",
            offset=at,
            expected=f"at least {packed.MESSAGE_HEAD_BYTES}",
            found=str(taken - LENGTH_SIZE),
        )
    if taken > left:
        raise _cut(taken, left, at)
    return taken


def _cut(due: int, left: int, at: int) -> WireError:
    return WireError(
        clause="ext.disk.layout",
        field="length",
        offset=at,
        expected=f"{due} bytes",
        found=str(left),
    )
