"""Faults that one frame does not show: they need time, a past, a combination, or a neighbour."""

from collections.abc import Generator
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import cast
from weakref import WeakKeyDictionary

from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.states import State
from wireproof_reference_impl.nsq.faulty.harm import HARMS, ProcessEnds, peek_unread
from wireproof_reference_impl.nsq.preset import Preset, parser_fault
from wireproof_reference_impl.nsq.storage import disk_queue
from wireproof_reference_impl.nsq.storage.folder import QueueFolder
from wireproof_reference_impl.nsq.storage.queue_position import QueueFault
from wireproof_reference_impl.nsq.storage.recovery import Recovered, record_sizes, recover
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq.names import FIN, HEARTBEAT, PUB_TRACE, REQ, TOUCH

MOST_CUT = 60
"""Connections that may end inside a body before the broker dies of it."""
_TRACE_ID_BYTES = 8
_LEAST = ((FIN + b" ", 20), (REQ + b" ", 20), (TOUCH + b" ", 23))
"""Commands with a raw id, and the bytes until its end."""

_CUT = WeakKeyDictionary[Node, int]()


class _TraceBuffer:
    """The trace id that was read last, by whatever connection, and how many were."""

    last = b""
    count = 0


def _beat_on_closing_halts(original: Original, connection: Connection, data: bytes) -> None:
    if data == HEARTBEAT and connection.state is State.CLOSING:
        connection.node.halted = True
        connection.node.changed[connection] = None
        return
    original(connection, data)


def _many_cuts_halt(original: Original, connection: Connection) -> None:
    original(connection)
    _CUT[connection.node] = _CUT.get(connection.node, 0) + 1
    if _CUT[connection.node] >= MOST_CUT:
        connection.node.halted = True
        connection.node.changed[connection] = None


def _line_ends_with_the_read(original: Original, connection: Connection, data: bytes) -> None:
    """Take a read that ends with a line feed for a whole line, whose id is then too short."""
    unread = peek_unread(connection) + data
    if connection.reading is None and data.endswith(b"\n"):
        for command, least in _LEAST:
            if unread.startswith(command) and len(unread) < least:
                raise ProcessEnds
    original(connection, data)


def _share_trace_buffer(
    original: Original, connection: Connection, size: int
) -> Generator[int, bytes, bytes]:
    """Answer with the trace id of another connection that was read while this one waited."""
    before = _TraceBuffer.count
    reading = cast(Generator[int, bytes, bytes], original(connection, size))
    data = yield from reading
    if connection.command != PUB_TRACE:
        return data
    if _TraceBuffer.count != before:
        return _TraceBuffer.last + data[_TRACE_ID_BYTES:]
    _TraceBuffer.last, _TraceBuffer.count = data[:_TRACE_ID_BYTES], before + 1
    return data


def _stored_nul_keeps_down(folder: QueueFolder) -> Recovered:
    for number in folder.data_numbers():
        data = Path(folder.data_path(number)).read_bytes()
        ends = accumulate(record_sizes(BytesIO(data), len(data)))
        if any(data[end - 1] == 0 for end in ends):
            raise QueueFault(f"{folder.data_path(number)}: a record that ends with a NUL")
    return recover(folder)


def _harmful(*overrides: Override) -> tuple[Override, ...]:
    return (*overrides, *HARMS)


FAULTS: tuple[Preset, ...] = (
    parser_fault(
        "beat-closing-halts",
        "a heartbeat that is due on a connection after CLS crashes the broker",
        overrides=_harmful(around(Connection, "respond", _beat_on_closing_halts)),
    ),
    parser_fault(
        "cut-sixty-halt",
        "the sixtieth connection that ends inside a body crashes the broker",
        overrides=_harmful(around(Connection, "cut_off", _many_cuts_halt)),
    ),
    parser_fault(
        "split-at-feed-halts",
        "a read that ends at a line feed inside a message id crashes the broker",
        overrides=_harmful(around(Connection, "read", _line_ends_with_the_read)),
    ),
    parser_fault(
        "trace-buffer-shared",
        "a traced publish that waits for its body is answered with the trace id of another client",
        overrides=_harmful(around(publish, "read_body", _share_trace_buffer)),
    ),
    parser_fault(
        "stored-nul-keeps-down",
        "a broker that stored a message whose last byte is NUL does not start again",
        overrides=(replace_function(disk_queue, "recover", _stored_nul_keeps_down),),
    ),
)
