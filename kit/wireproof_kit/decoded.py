"""What decoding yields, one after the other: headings, values, notes, at last perhaps a fault."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

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


@dataclass(slots=True)
class Decoded:
    """One frame, command or record; its parts and JSON objects are made when asked for.

    ``offset`` counts from the start of the file or stream, the parts' from that of ``data``. Not
    frozen: files hold millions, and the constructor of a frozen value takes twice as long.
    """

    kind: str
    named: str | Callable[[], str]
    offset: int
    data: bytes
    parts: Callable[[], Sequence[Part]]
    objects: Callable[[], Sequence[JsonObject]]

    @property
    def title(self) -> str:
        """What it is in a few words; made when asked for, where it is given as a function."""
        return self.named if isinstance(self.named, str) else self.named()


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
