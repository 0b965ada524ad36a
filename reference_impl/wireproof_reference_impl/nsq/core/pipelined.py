"""Pipelined commands that repeat one line, as a connection sees them."""

from typing import Protocol, TypeVar

C = TypeVar("C", contravariant=True)


class CommandBatch(Protocol[C]):
    """The interface that runs consecutive commands with the same line together."""

    @property
    def line(self) -> bytes:
        """The line with which each of the commands begins."""
        ...

    def take(self, connection: C, buffer: bytearray, place: int) -> int:
        """Run the commands in the buffer at `place`; return the position after them."""
        ...
