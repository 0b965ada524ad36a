"""Pipelined commands that repeat one line, as a connection sees them."""

from typing import Protocol, TypeVar

C = TypeVar("C", contravariant=True)


class CommandBatch(Protocol[C]):
    """Commands that were all alike so far; more of them may be taken together."""

    @property
    def line(self) -> bytes:
        """Return the line that each begins with."""
        ...

    def take(self, connection: C, buffer: bytearray, place: int) -> int:
        """Do those that stand in the buffer from a place on; return the place behind them."""
        ...
