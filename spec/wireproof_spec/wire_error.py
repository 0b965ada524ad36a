"""The error that decoders and encoders raise, and the signal of generated code behind it."""

from collections.abc import Callable
from functools import partial
from typing import Self


class WireError(Exception):
    """Bytes that do not fit a wire shape, or a value that does not fit one.

    `offset` counts bytes from the start of the given data (for a reader: from the start of the
    stream). The parts stay available as attributes; `str()` only formats them.
    """

    def __init__(self, *, clause: str, field: str, offset: int, expected: str, found: str) -> None:
        super().__init__()
        self.clause = clause
        self.field = field
        self.offset = offset
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        place = f"{self.clause}: {self.field} at byte {self.offset}"
        return f"{place}: expected {self.expected}, found {self.found}"

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        return partial(type(self), **self.__dict__), ()

    def at(self, start: int) -> Self:
        """Return the same error for data that begins at byte `start`."""
        return type(self)(
            clause=self.clause,
            field=self.field,
            offset=start + self.offset,
            expected=self.expected,
            found=self.found,
        )


class Unfit(Exception):
    """Generated code cannot encode a value; interpreted construct says where and why."""
