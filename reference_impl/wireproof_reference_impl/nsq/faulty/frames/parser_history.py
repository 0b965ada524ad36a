"""Faults that one frame does not show: they need time, a past, a combination, or a neighbour."""

from collections.abc import Generator
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from weakref import WeakKeyDictionary

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.states import State
from wireproof_reference_impl.nsq.faulty.harm import HARMS, ProcessEnds, peek_unread
from wireproof_reference_impl.nsq.faulty.ways import parser_fault
from wireproof_reference_impl.nsq.storage import disk_queue
from wireproof_reference_impl.nsq.storage.folder import QueueFolder
from wireproof_reference_impl.nsq.storage.queue_position import QueueFault
from wireproof_reference_impl.nsq.storage.recovery import Recovered, record_sizes, recover
from wireproof_reference_impl.overrides import Original, around, replace_function
from wireproof_spec.nsq.names import FIN, HEARTBEAT, PUB_TRACE, REQ, TOUCH

MOST_CUT = 60
"""Connections that may end inside a body before the broker dies of it."""
_TRACE_ID_BYTES = 8
_LEAST = ((FIN + b" ", 20), (REQ + b" ", 20), (TOUCH + b" ", 23))
"""Commands with a raw id, and the bytes until its end."""

_CUT = WeakKeyDictionary[Node, int]()


@parser_fault(around(Connection, "respond"), also=HARMS)
def beat_closing_halts(original: Original, connection: Connection, data: bytes) -> None:
    """A heartbeat that is due on a connection after CLS crashes the broker."""
    if data == HEARTBEAT and connection.state is State.CLOSING:
        connection.node.halted = True
        connection.node.changed[connection] = None
        return
    original(connection, data)


@parser_fault(around(Connection, "cut_off"), also=HARMS)
def cut_sixty_halt(original: Original, connection: Connection) -> None:
    """The sixtieth connection that ends inside a body crashes the broker."""
    original(connection)
    _CUT[connection.node] = _CUT.get(connection.node, 0) + 1
    if _CUT[connection.node] >= MOST_CUT:
        connection.node.halted = True
        connection.node.changed[connection] = None


@parser_fault(around(Connection, "read"), also=HARMS)
def split_at_feed_halts(original: Original, connection: Connection, data: bytes) -> None:
    """A read that ends at a line feed inside a message id crashes the broker."""
    unread = peek_unread(connection) + data
    if connection.reading is None and data.endswith(b"\n"):
        for command, least in _LEAST:
            if unread.startswith(command) and len(unread) < least:
                raise ProcessEnds
    original(connection, data)


class _TraceBuffer:
    """The trace id that was read last, by whatever connection, and how many were."""

    last = b""
    count = 0


@parser_fault(around(publish, "read_body"), also=HARMS)
def trace_buffer_shared(
    original: Original, connection: Connection, size: int
) -> Generator[int, bytes, bytes]:
    """A traced publish that waits for its body is answered with the trace id of another client."""
    before = _TraceBuffer.count
    reading: Generator[int, bytes, bytes] = original(connection, size)
    data = yield from reading
    if connection.command != PUB_TRACE:
        return data
    if _TraceBuffer.count != before:
        return _TraceBuffer.last + data[_TRACE_ID_BYTES:]
    _TraceBuffer.last, _TraceBuffer.count = data[:_TRACE_ID_BYTES], before + 1
    return data


@parser_fault(replace_function(disk_queue, "recover"))
def stored_nul_keeps_down(folder: QueueFolder) -> Recovered:
    """A broker that stored a message whose last byte is NUL does not start again."""
    for number in folder.data_numbers():
        data = Path(folder.data_path(number)).read_bytes()
        ends = accumulate(record_sizes(BytesIO(data), len(data)))
        if any(data[end - 1] == 0 for end in ends):
            raise QueueFault(f"{folder.data_path(number)}: a record that ends with a NUL")
    return recover(folder)


FAULTS = list_faults(__name__)
