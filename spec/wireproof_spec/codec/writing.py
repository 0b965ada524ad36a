"""The state of an encoder being generated: what is known of the value, and its bytes.

Consecutive integers are written with one `pack`; a size before them joins it, because what the
size measures is known by then. If a part is conditional, the rest is written twice, once for each
outcome, so that the fixed parts around the condition stay together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from struct import Struct

from wireproof_spec.codec.source import Source


@dataclass(frozen=True, slots=True)
class PackedPart:
    """A part of fixed size to encode: `struct` order and code, size, source of the values."""

    order: str
    code: str
    size: int
    values: tuple[str, ...]

    @property
    def is_bytes(self) -> bool:
        """Whether the value of the part consists of bytes."""
        return self.code.endswith("s")


@dataclass(frozen=True, slots=True)
class Constant:
    """A part of an encoded value that always has the same bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Octets:
    """A part of an encoded value: the variable of its bytes, and the source of their length."""

    variable: str
    size: str


Piece = PackedPart | Constant | Octets


@dataclass(frozen=True, slots=True)
class EncoderPath:
    """What an encoder writes for one combination of conditions: the pieces, and what they need.

    `tests`: conditions that reject the value and are not written yet. `prepared`: bytes of parts
    whose length was needed early. `answers`: the outcomes of conditions.
    """

    pieces: tuple[Piece, ...] = ()
    tests: tuple[str, ...] = ()
    prepared: Mapping[str, Octets] = field(default_factory=dict[str, Octets])
    answers: Mapping[str, bool] = field(default_factory=dict[str, bool])

    def and_piece(self, *pieces: Piece) -> "EncoderPath":
        """Return a copy with more pieces at the end."""
        return replace(self, pieces=(*self.pieces, *pieces))

    def and_prepared(self, value: str, octets: Octets) -> "EncoderPath":
        """Return a copy of this path in which the variable ``value`` holds encoded bytes."""
        return replace(self, prepared={**self.prepared, value: octets})

    def and_answer(self, condition: str, answer: bool) -> "EncoderPath":
        """Return a copy in which a condition has this outcome."""
        return replace(self, answers={**self.answers, condition: answer})

    def and_test(self, *tests: str) -> "EncoderPath":
        """Return a copy with more tests that reject the value."""
        return replace(self, tests=(*self.tests, *tests))


def write_tests(code: Source, written: EncoderPath) -> EncoderPath:
    """Write the collected tests of the value; return the path without them."""
    if written.tests:
        with code.block(f"if {' or '.join(dict.fromkeys(written.tests))}:"):
            code.line("raise unfit")
    return replace(written, tests=())


def size_of(pieces: Sequence[Piece]) -> str:
    """Return the source of the total size of the pieces in bytes."""
    known = 0
    sizes: list[str] = []
    for piece in pieces:
        match piece:
            case PackedPart(size=size):
                known += size
            case Constant(data=data):
                known += len(data)
            case Octets(size=size_text):
                sizes.append(size_text)
    return " + ".join([*sizes, *[str(known)] * (known > 0 or not sizes)])


def joined_bytes(code: Source, pieces: Sequence[Piece]) -> str:
    """Return the source of the bytes of all pieces together."""
    terms = list(_terms(code, pieces))
    if not terms:
        return "b''"
    return " + ".join(terms) if len(terms) < 4 else f"b''.join(({', '.join(terms)}))"


def _terms(code: Source, pieces: Sequence[Piece]) -> list[str]:
    terms: list[str] = []
    run: list[PackedPart | Constant] = []
    for piece in pieces:
        if isinstance(piece, Octets):
            terms += _pack_run(code, run)
            terms.append(piece.variable)
            run = []
            continue
        if isinstance(piece, PackedPart) and _order([*run, piece]) is None:
            terms += _pack_run(code, run)
            run = []
        run.append(piece)
    return [*terms, *_pack_run(code, run)]


def _order(run: Sequence[PackedPart | Constant]) -> str | None:
    """Return the byte order of a run; None if it has two different ones."""
    orders = {piece.order for piece in run if isinstance(piece, PackedPart) and piece.order}
    return None if len(orders) > 1 else next(iter(orders), ">")


def _pack_run(code: Source, run: Sequence[PackedPart | Constant]) -> list[str]:
    if not any(isinstance(piece, PackedPart) and not piece.is_bytes for piece in run):
        return _raw(run)
    codes, values = "", list[str]()
    for piece in run:
        if isinstance(piece, Constant):
            codes += f"{len(piece.data)}s"
            values.append(repr(piece.data))
        else:
            codes += piece.code
            values += piece.values
    pack = code.constant(Struct(f"{_order(run)}{codes}").pack, "pack")
    return [f"{pack}({', '.join(values)})"]


def _raw(run: Sequence[PackedPart | Constant]) -> list[str]:
    terms: list[str] = []
    data = b""
    for piece in run:
        if isinstance(piece, Constant):
            data += piece.data
        else:
            terms += [*[repr(data)] * bool(data), *piece.values]
            data = b""
    return [*terms, *[repr(data)] * bool(data)]
