"""The error that decoders and encoders raise, and the signal of generated code behind it."""

from collections.abc import Callable
from functools import partial
from typing import Self


class WireError(Exception):
    """Raised for bytes that do not fit a wire layout, or for a value that does not fit one.

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
        """Return the error with offsets for a stream in which the data begins at byte `start`."""
        return type(self)(
            clause=self.clause,
            field=self.field,
            offset=start + self.offset,
            expected=self.expected,
            found=self.found,
        )


class Unfit(Exception):
    """Raised by generated code that cannot encode a value; construct then says where and why."""
