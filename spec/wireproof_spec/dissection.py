"""Where each named part of some bytes lies, and which one was refused.

A `Dissection` is a stream that `wireproof_spec.layout` reads from (or writes to) instead of a
plain one when the places matter: for an annotated dump, and to say what went wrong after the
quick way has failed.
"""

import io
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import construct

from wireproof_spec.wording import count_bytes, show_value


class PartRefused(construct.ConstructError):
    """A part that breaks its shape; `field` and `offset` only when not the part being read."""

    def __init__(
        self, *, expected: str, found: str, field: str = "", offset: int | None = None
    ) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.expected = expected
        self.found = found
        self.field = field
        self.offset = offset


@dataclass(slots=True)
class OpenPart:
    """A named part being read: nested names joined with dots, its first byte, its value."""

    field: str
    offset: int
    value: object = None


@dataclass(frozen=True, slots=True)
class Span:
    """A leaf field of some bytes; `value` is text for people."""

    offset: int
    length: int
    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Violation:
    """Why and where some bytes (or a value) were refused."""

    field: str
    offset: int
    expected: str
    found: str


class Dissection(io.BytesIO):
    """A stream that notes the place of every named part, and the first fault."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(data)
        self.spans: list[Span] = []
        self.fault: Violation | None = None
        self._path = ""
        self._wanted = self._found = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read like any stream, and remember how much was asked for."""
        data = super().read(size)
        self._wanted, self._found = size or 0, len(data)
        return data

    @contextmanager
    def within(self, name: str) -> Generator[OpenPart, None, None]:
        """Hold the place of a named part while it is read; list it when it has no parts."""
        outer, first = self._path, len(self.spans)
        self._path = _join_path(outer, name)
        place = OpenPart(self._path, self.tell())
        try:
            yield place
        except construct.ConstructError as error:
            self._blame(error, place)
            raise
        finally:
            self._path = outer
        length = self.tell() - place.offset
        if len(self.spans) == first and (length or isinstance(place.value, bytes)):
            self.spans.append(Span(place.offset, length, place.field, show_value(place.value)))

    @contextmanager
    def blame(self) -> Generator[None, None, None]:
        """Keep the fault of what is read or written inside, and go on."""
        try:
            yield
        except construct.ConstructError as error:
            self._blame(error, OpenPart("", 0))

    def _blame(self, error: construct.ConstructError, place: OpenPart) -> None:
        if self.fault is not None:  # an inner part was blamed already
            return
        field, offset = place.field, place.offset
        if isinstance(error, PartRefused):
            field = _join_path(field, error.field) or "value"
            offset = offset if error.offset is None else error.offset
            self.fault = Violation(field, offset, error.expected, error.found)
        else:
            self.fault = Violation(field, offset, count_bytes(self._wanted), str(self._found))


def _join_path(outer: str, name: str) -> str:
    dot = "." if outer and name and not name.startswith("[") else ""
    return f"{outer}{dot}{name}"
