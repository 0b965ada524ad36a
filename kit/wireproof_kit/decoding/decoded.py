"""The results of decoding, in order: headings, decoded values, notes, and at most one fault."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from msgspec import Struct

from wireproof_kit.wire.transcript import Part
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

JsonObject: TypeAlias = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in decoded output that names the source of the values after it."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A remark in decoded output that is not an error."""

    text: str


class Formatter(Protocol):
    """Formats decoded values as titles, dump parts and JSON, each computed on request."""

    def title(self, entry: "Decoded") -> str:
        """Return a short title for a decoded value."""
        ...

    def parts(self, entry: "Decoded") -> Sequence[Part]:
        """Return the fields of a decoded value with their bytes."""
        ...

    def objects(self, entry: "Decoded") -> Sequence[JsonObject]:
        """Return a decoded value as JSON objects: one request may hold several messages."""
        ...


class Decoded(Struct, frozen=True, gc=False):
    """One decoded frame, command or record; its title, parts and JSON are computed on demand.

    ``offset`` counts from the start of the file or stream; offsets of parts count from the start
    of ``data``. ``value`` is the decoded object that ``formatter`` formats.
    """

    kind: str
    offset: int
    data: bytes
    value: object
    formatter: Formatter

    @property
    def title(self) -> str:
        """Return a short title for this value."""
        return self.formatter.title(self)

    def parts(self) -> Sequence[Part]:
        """Return the fields of this value with their bytes."""
        return self.formatter.parts(self)

    def objects(self) -> Sequence[JsonObject]:
        """Return this value as JSON objects."""
        return self.formatter.objects(self)


@dataclass(frozen=True, slots=True)
class TitledFormatter:
    """Formats one decoded value: ``words`` is its title, functions compute its parts and JSON."""

    words: str
    make_parts: Callable[[], Sequence[Part]]
    make_objects: Callable[[], Sequence[JsonObject]]

    def title(self, entry: Decoded) -> str:
        """Return the fixed title."""
        return self.words

    def parts(self, entry: Decoded) -> Sequence[Part]:
        """Return the parts that ``make_parts`` computes."""
        return self.make_parts()

    def objects(self, entry: Decoded) -> Sequence[JsonObject]:
        """Return the JSON objects that ``make_objects`` computes."""
        return self.make_objects()


@dataclass(frozen=True, slots=True)
class Broken:
    """Bytes that could not be decoded; decoding stops there.

    ``offset`` is where ``data`` begins in the source. ``error`` gives field, its own offset and
    reason, ``where`` names the source of the bytes,
    ``parts`` computes their labelled parts, and ``objects`` the JSON of the values before the
    error in the same frame.
    """

    offset: int
    data: bytes
    error: WireError
    parts: Callable[[], Sequence[Part]]
    where: str = "the input"
    objects: Callable[[], Sequence[JsonObject]] = tuple

    @property
    def sentence(self) -> str:
        """Return field, offset, expected and found value of the error in one sentence."""
        error = self.error
        place = f"{self.where}: {error.field} at byte {error.offset}"
        return f"{place}: expected {error.expected}, found {error.found} ({error.clause})"


Entry: TypeAlias = Heading | Note | Decoded | Broken
