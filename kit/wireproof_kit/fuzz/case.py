"""The data of fuzzing: frames with their fields, write styles, steps and cases."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Role: TypeAlias = Literal[
    "length", "count", "number", "enumerator", "text", "json", "body", "fixed", "line"
]
"""What a field of a frame contains, which decides how it is mutated.

A `length` or `count` measures other fields. Each bit pattern of a `number` is a legal value; of an
`enumerator` only some are. `text` is UTF-8 or one word of a line, decimal digits among them.
`json` is a document, `body` arbitrary bytes, `fixed` a constant. `line` is a separator or the end
of a line.
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
"""The mutation of a case whose frame is valid and sent unchanged."""


@dataclass(frozen=True, slots=True)
class Field:
    """One innermost field of a frame: bytes `start` to `end`; `path` has dots and indices.

    `covers` is the span of bytes that a length or count measures. A binary number has a byte
    `order`; a number in decimal digits has none. `measured_by` are the paths of the lengths that
    measure this field.
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
    """One well-formed request and its field map: all fields in wire order, without gaps.

    `kind` is a command (`PUB_EXT`), or for HTTP a method and a path (`POST /pub_ext`).
    """

    kind: str
    data: bytes
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """Write style: one write of all bytes; the next step waits for answers or a time-out."""


@dataclass(frozen=True, slots=True)
class SplitAt:
    """Write style: several writes, cut at these byte offsets."""

    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ByteByByte:
    """Write style: one write for each byte."""


@dataclass(frozen=True, slots=True)
class Together:
    """Write style: one write that also contains the next step of the same connection."""


@dataclass(frozen=True, slots=True)
class HalfClose:
    """Write style: all bytes in one write, then shut down sending and go on receiving."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Write style: writes cut at byte offsets, with a pause of `seconds` between them."""

    seconds: float
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Hold:
    """Write style: all bytes in one write, then keep the connection open and send nothing.

    It stays open for `seconds`. Some brokers crash on what they do to a connection later, such as
    a heartbeat or a time-out.
    """

    seconds: float


RETURNED: Final = "returned messages"
CROWD: Final = "many publishers"
GRANTED: Final = "granted values"
EXERCISES: Final = (RETURNED, CROWD, GRANTED)
"""Fields of cases that send nothing: the bystanders do something by themselves instead."""
RESTART: Final = "restart of the target"
"""The field of a case that sends nothing: the target is restarted, and keeps its data."""

WriteStyle: TypeAlias = Whole | SplitAt | ByteByByte | Together | HalfClose | Slow | Hold
"""How the bytes of a step are divided into writes."""

WHOLE = Whole()
BYTE_BY_BYTE = ByteByByte()
TOGETHER = Together()
HALF_CLOSE = HalfClose()


@dataclass(frozen=True, slots=True)
class Step:
    """Bytes to send on one connection of a case; `label` describes them for people."""

    data: bytes
    style: WriteStyle = WHOLE
    connection: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One fuzz case: the bytes to send on connections that have been brought into a state.

    `field` and `mutation` name what was changed, and so a row of the coverage table; the mutation
    `GRAMMAR` means that nothing was changed. `delimited`: by the grammar, the broker can tell
    where the next frame begins, whatever it answers. `hazardous`: the case may affect objects on
    the target that the kit did not create, for instance by a delete request for another name.
    """

    index: int
    state: str
    frame_kind: str
    field: str
    mutation: str
    steps: tuple[Step, ...]
    delimited: bool
    hazardous: bool = False

    @property
    def exercise(self) -> str:
        """What other clients of the kit do during the case, one of `EXERCISES`, or empty."""
        return self.field if self.field in EXERCISES else ""

    @property
    def is_restart(self) -> bool:
        """Whether the case restarts the target instead of sending bytes."""
        return self.field == RESTART

    @property
    def is_slow(self) -> bool:
        """Whether the case pauses or waits for a fixed time, however fast the target answers."""
        return any(isinstance(step.style, Slow | Hold) for step in self.steps)

    @property
    def is_held(self) -> bool:
        """Whether a connection of the case stays open, unused, for some seconds."""
        return any(isinstance(step.style, Hold) for step in self.steps)
