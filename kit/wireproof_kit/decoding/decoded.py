"""What decoding yields, one after the other: headings, values, notes, at last perhaps a fault."""

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
    """Where what follows comes from."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader should know that breaks nothing."""

    text: str


class Teller(Protocol):
    """What tells of values, of one or of all of a source; only when asked."""

    def title(self, entry: "Decoded") -> str:
        """Return what it is in a few words."""
        ...

    def parts(self, entry: "Decoded") -> Sequence[Part]:
        """Return the fields with their bytes."""
        ...

    def objects(self, entry: "Decoded") -> Sequence[JsonObject]:
        """Return it as JSON objects: a request may hold several messages."""
        ...


class Decoded(Struct, frozen=True, gc=False):
    """One frame, command or record; what is told of it is made when asked for.

    ``offset`` counts from the start of the file or stream, the parts' from that of ``data``.
    ``value`` is for the teller, which records of a file share.
    """

    kind: str
    offset: int
    data: bytes
    value: object
    teller: Teller

    @property
    def title(self) -> str:
        """What it is in a few words."""
        return self.teller.title(self)

    def parts(self) -> Sequence[Part]:
        """Return the fields with their bytes."""
        return self.teller.parts(self)

    def objects(self) -> Sequence[JsonObject]:
        """Return it as JSON objects."""
        return self.teller.objects(self)


@dataclass(frozen=True, slots=True)
class Told:
    """A title, and functions that make the rest."""

    words: str
    make_parts: Callable[[], Sequence[Part]]
    make_objects: Callable[[], Sequence[JsonObject]]

    def title(self, entry: Decoded) -> str:
        """Return what it is in a few words."""
        return self.words

    def parts(self, entry: Decoded) -> Sequence[Part]:
        """Return the fields with their bytes."""
        return self.make_parts()

    def objects(self, entry: Decoded) -> Sequence[JsonObject]:
        """Return it as JSON objects."""
        return self.make_objects()


@dataclass(frozen=True, slots=True)
class Broken:
    """Bytes that could not be decoded; nothing follows them. ``where`` names their source."""

    offset: int
    data: bytes
    error: WireError
    parts: Callable[[], Sequence[Part]]
    where: str = "the input"

    @property
    def sentence(self) -> str:
        """Field, offset, expected and found in one sentence."""
        error = self.error
        place = f"{self.where}: {error.field} at byte {error.offset}"
        return f"{place}: expected {error.expected}, found {error.found} ({error.clause})"


Entry: TypeAlias = Heading | Note | Decoded | Broken
