"""The words of fuzzing: frames with their fields, ways of sending, cases."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Role: TypeAlias = Literal[
    "length", "count", "number", "enumerator", "text", "json", "body", "fixed", "line"
]
"""What a field is for.

A `length` or `count` measures what it covers; a `number`'s bytes are its value, an `enumerator`'s
only some values; `text` is UTF-8 or a word of a line, digits among them; `json` a document; `body`
bytes of any kind; `fixed` always the same; `line` separators and ends of lines.
"""

ROLES: tuple[Role, ...] = (
    "length",
    "count",
    "number",
    "enumerator",
    "text",
    "json",
    "body",
    "fixed",
    "line",
)
ByteOrder: TypeAlias = Literal["big", "little"]

GRAMMAR = "grammar"
"""The mutation of a case that is a frame as it should be."""


@dataclass(frozen=True, slots=True)
class Field:
    """A leaf field of a frame: bytes `start` to `end`; dots and indices in `path`.

    `covers` is the span that a length or count measures; a number on the wire has an `order`, one
    in decimal digits has none. `measured_by` are the paths of the lengths that measure this one.
    """

    path: str
    start: int
    end: int
    role: Role
    covers: tuple[int, int] | None = None
    order: ByteOrder | None = None
    measured_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """One well-formed request and its field map, in the order of the bytes, without gaps.

    `kind` is a command (`PUB_EXT`), or for HTTP a method and a path (`POST /pub_ext`).
    """

    kind: str
    data: bytes
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """All bytes in one write, nothing behind them until they are answered or patience ends."""


@dataclass(frozen=True, slots=True)
class SplitAt:
    """Several writes, cut at these offsets."""

    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ByteByByte:
    """One write a byte."""


@dataclass(frozen=True, slots=True)
class Together:
    """In one write with the next step of the same connection."""


@dataclass(frozen=True, slots=True)
class HalfClose:
    """All bytes in one write, then the end of this side's stream; reading goes on."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Several writes, cut at these offsets, with so many seconds before each but the first."""

    seconds: float
    offsets: tuple[int, ...]


WriteStyle: TypeAlias = Whole | SplitAt | ByteByByte | Together | HalfClose | Slow
"""How bytes meet the wire."""

WHOLE = Whole()
BYTE_BY_BYTE = ByteByByte()
TOGETHER = Together()
HALF_CLOSE = HalfClose()


@dataclass(frozen=True, slots=True)
class Step:
    """Some bytes for one of a case's connections; `label` says what they are."""

    data: bytes
    style: WriteStyle = WHOLE
    connection: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """What is sent once a connection has been brought into a state.

    `field` and `mutation` say what was made wrong, and where (both also name a row of the
    coverage table); the mutation `GRAMMAR` made nothing wrong. `delimited`: the broker can tell
    where the next frame begins, by the grammar; how it answers is another matter. `hazardous`: it
    may touch what is not the kit's own on the target, such as delete by a name it did not make.
    """

    index: int
    state: str
    frame_kind: str
    field: str
    mutation: str
    steps: tuple[Step, ...]
    delimited: bool
    hazardous: bool = False
