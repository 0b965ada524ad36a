"""How a request identifies a stream or a topic: by number or by name."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import (
    Bytes,
    Field,
    Int8ub,
    Int32ul,
    Literal,
    Ranged,
    Record,
    field,
)
from wireproof_spec.grammar.lengths import BoundsBy, Declared

NUMERIC = 1
STRING = 2
_NUMERIC_HEAD = bytes([NUMERIC, 4])

_BOUNDS = BoundsBy("kind", {NUMERIC: (4, 4), STRING: (1, 255)})


class Identifier(Struct, frozen=True, gc=False):
    """A stream or topic in a request: a kind (number or name) and bytes, perhaps not UTF-8."""

    kind: int
    value: bytes

    @property
    def number(self) -> int | None:
        """The number of a numeric identifier (0 is possible, but no stream has it), else None."""
        return int.from_bytes(self.value, "little") if self.kind == NUMERIC else None

    @property
    def name(self) -> str | None:
        """The name of a named identifier as text, read as servers read it; otherwise None."""
        return self.value.decode("utf-8", "replace") if self.kind == STRING else None


def numeric(number: int) -> Identifier:
    """Return the identifier of a stream or topic by its number, 0 to 4294967295."""
    return Identifier(NUMERIC, number.to_bytes(4, "little"))


def make_named(name: str) -> Identifier:
    """Return the identifier of a stream or topic by its name."""
    return Identifier(STRING, name.encode())


IDENTIFIER = Schema(
    "identifier",
    "iggy.frame.identifier",
    Identifier,
    Record(
        Identifier,
        field("kind", Ranged(Int8ub, NUMERIC, STRING)),
        field("length", Declared(Int8ub, of="value", bounds=_BOUNDS)),
        field("value", Bytes(this.length)),
    ),
)
"""1-byte `kind` (1 numeric, 2 string), 1-byte `length` (4, or 1 to 255), `value`."""


def number_as_identifier(name: str) -> tuple[Field, Field]:
    """Return the layout of a number that stands in an identifier: 1-byte kind and length first."""
    return field(f"{name}_kind", Literal(_NUMERIC_HEAD)), field(name, Int32ul)
