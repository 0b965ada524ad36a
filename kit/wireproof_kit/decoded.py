"""What decoding yields, one after the other: headings, values, notes, at last perhaps a fault."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from msgspec import Struct

from wireproof_kit.transcript import Part
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


class Decoded(Struct, frozen=True):
    """One frame, command or record; what is told of it is made when asked for.

    ``offset`` counts from the start of the file or stream, the parts' from that of ``data``.
    """

    kind: str
    offset: int
    data: bytes

    @property
    def title(self) -> str:
        """What it is in a few words."""
        raise NotImplementedError

    def parts(self) -> Sequence[Part]:
        """Return the fields with their bytes."""
        raise NotImplementedError

    def objects(self) -> Sequence[JsonObject]:
        """Return it as JSON objects: a request may hold several messages."""
        raise NotImplementedError


class Described(Decoded, frozen=True):
    """A value that comes with its title and the functions that tell of it."""

    named: str
    tell_parts: Callable[[], Sequence[Part]]
    tell_objects: Callable[[], Sequence[JsonObject]]

    @property
    def title(self) -> str:
        """What it is in a few words."""
        return self.named

    def parts(self) -> Sequence[Part]:
        """Return the fields with their bytes."""
        return self.tell_parts()

    def objects(self) -> Sequence[JsonObject]:
        """Return it as JSON objects."""
        return self.tell_objects()


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
