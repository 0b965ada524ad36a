"""Faults of MPUB: batches that are wrongly accepted or refused."""

from collections.abc import Callable

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.nsq.core.commands import publish_many
from wireproof_reference_impl.nsq.core.commands.publish_many import Messages
from wireproof_reference_impl.nsq.faulty.errors import answered_with_a_response
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, wrong_value
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq.error_codes import E_BAD_MESSAGE
from wireproof_spec.nsq.names import MPUB

_SIZE_BYTES = 4
_NONE = bytes(_SIZE_BYTES)
Read = Callable[[Messages, bytes], list[bytes]]


def _read_as(read: Callable[[Read, Messages, bytes], list[bytes]]) -> tuple[Override, ...]:
    """Return overrides with another reader of the body of a batch."""

    def within(original: Original, messages: Messages, data: bytes) -> list[bytes]:
        return read(original, messages, data)

    return (around(publish_many, "_within", within),)


def _read_good(data: bytes) -> list[bytes]:
    """Return the messages of a batch that come before the first bad one."""
    good: list[bytes] = []
    place = 2 * _SIZE_BYTES
    while place <= len(data):
        size = int.from_bytes(data[place - _SIZE_BYTES : place], signed=True)
        if not 0 < size <= len(data) - place:
            break
        good.append(data[place : place + size])
        place += size + _SIZE_BYTES
    return good


@wrong_value("smart.connection.batch-refused", answered_with_a_response)
def batch_without_a_code(command: bytes, code: str) -> bool:
    """A batch is refused in a response frame instead of an error frame."""
    return command == MPUB


@condition("smart.connection.batch-refused", _read_as)
def batch_without_the_bad(read: Read, messages: Messages, data: bytes) -> list[bytes]:
    """A batch with a bad message after good ones is accepted without it."""
    try:
        return read(messages, data)
    except Refusal:
        good = _read_good(data)
        if not good or data.startswith(_NONE):
            raise
        return good


@boundary("smart.connection.batch-refused", _read_as)
def batch_with_a_count_of_zero(read: Read, messages: Messages, data: bytes) -> list[bytes]:
    """A batch with messages and a message count of 0 is accepted."""
    return (data.startswith(_NONE) and _read_good(data)) or read(messages, data)


@boundary("smart.connection.batch-taken", _read_as)
def batch_needs_two_bytes(read: Read, messages: Messages, data: bytes) -> list[bytes]:
    """A batch with a message of one byte is refused."""
    found = read(messages, data)
    if any(len(each) == 1 for each in found):
        raise Refusal(E_BAD_MESSAGE, "MPUB invalid message body size 1")
    return found


FAULTS = list_faults(__name__)
