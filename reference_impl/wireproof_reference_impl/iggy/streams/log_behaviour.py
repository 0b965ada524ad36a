"""Choices of a partition: how messages are stored in its log, and which can be read."""

from collections.abc import Callable

from msgspec import Struct

from wireproof_reference_impl.iggy import defaults
from wireproof_reference_impl.iggy.wire import message
from wireproof_reference_impl.iggy.wire.header import Headers
from wireproof_reference_impl.iggy.wire.message import Message


class LogBehaviour(Struct, frozen=True):
    """Choices for how messages are stored and written to the log.

    `new_id` makes the id of a message from a random one. A message is stored even if its id
    `repeats` that of another one in the partition, or not. A message that is not `is_known`
    cannot be read. `segment_size` changes the size in bytes after which a segment is full.
    """

    timestamp: Callable[[int], int] = defaults.same_number
    new_id: Callable[[int], int] = defaults.same_number
    repeats: bool = True
    headers: Callable[[Headers | None], Headers | None] = defaults.same_headers
    record: Callable[[Message], bytes] = message.record
    segment_size: Callable[[int], int] = defaults.same_number
    is_known: Callable[[Message], bool] = defaults.has_state
