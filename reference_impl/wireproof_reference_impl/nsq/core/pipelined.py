"""Pipelined commands that repeat one line, as a connection sees them."""

from typing import Protocol, TypeVar

C = TypeVar("C", contravariant=True)


class CommandBatch(Protocol[C]):
    """Consecutive commands with the same line, which may be run together."""

    @property
    def line(self) -> bytes:
        """The line that each command begins with."""
        ...

    def take(self, connection: C, buffer: bytearray, place: int) -> int:
        """Run the commands in the buffer at `place`; return the position after them."""
        ...
