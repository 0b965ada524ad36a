"""The adapter on standard input and output."""

import os
import select
from typing import Final

from wireproof_reference_impl.oms.adapter.adapter import Adapter
from wireproof_reference_impl.oms.adapter.lines import LineConnection
from wireproof_reference_impl.shell import Clock

_CHUNK: Final = 1 << 16
_SECOND_NS: Final = 1_000_000_000
_STDIN, _STDOUT = 0, 1


def serve_lines(adapter: Adapter, clock: Clock) -> str:
    """Answer requests on standard input to its end; return what went wrong, or an empty text."""
    connection = LineConnection(adapter)
    _write(connection.take_output())
    while not connection.closed:
        if _wait_for_input(adapter.next_due_ns, clock):
            connection.receive(os.read(_STDIN, _CHUNK), clock.now_ns())
        adapter.look(clock.now_ns())
        _write(connection.take_output())
    return connection.trouble


def _wait_for_input(due_ns: int | None, clock: Clock) -> bool:
    """Wait until there is input, or something is due; return True if there is input."""
    wait_s = None if due_ns is None else max(due_ns - clock.now_ns(), 0) / _SECOND_NS
    return bool(select.select([_STDIN], [], [], wait_s)[0])


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(_STDOUT, data) :]
