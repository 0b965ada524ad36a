"""Finds where each named part of some bytes lies, and which one was rejected.

A `Dissection` is a stream that `wireproof_spec.grammar.layout` reads from, or writes to, when
positions matter: for an annotated dump, and to describe an error after fast decoding has failed.
"""

import io
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import construct

from wireproof_spec.wording import count_bytes, show_value


class PartRefused(construct.ConstructError):
    """Raised if a part does not fit its shape; `field` and `offset` if another is to blame."""

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
    """A named part that is being read or written: its dotted path, its offset, and its value."""

    field: str
    offset: int
    value: object = None


@dataclass(frozen=True, slots=True)
class Span:
    """The position of a field that has no parts of its own, with its value as text for people."""

    offset: int
    length: int
    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Violation:
    """The field and the byte offset at which bytes, or a value, were rejected, and why."""

    field: str
    offset: int
    expected: str
    found: str


class Dissection(io.BytesIO):
    """A byte stream that records the position of each named part, and the first violation."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(data)
        self.spans: list[Span] = []
        self.fault: Violation | None = None
        self._path = ""
        self._wanted = self._found = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read from the stream, and remember how many bytes were requested."""
        data = super().read(size)
        self._wanted, self._found = size or 0, len(data)
        return data

    @contextmanager
    def within(self, name: str) -> Generator[OpenPart, None, None]:
        """Let a named part be read inside; record its span if it has no named parts of its own."""
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
        """Record a construct error raised inside as the violation, and suppress the error."""
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
