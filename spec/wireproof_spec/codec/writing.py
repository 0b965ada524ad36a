"""The state of an encoder being written: what is known of the value, and the bytes it gives.

Neighbouring integers are one `pack`; a size in front of them joins it, for what it measures is
known by then. Where a part is there on a condition, the rest is written twice, once for each
answer, so that the fixed parts before and behind the condition stay together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from struct import Struct

from wireproof_spec.codec.source import Source


@dataclass(frozen=True, slots=True)
class PackedPart:
    """A part of fixed size: its byte order and struct code, its size, the source of its values."""

    order: str
    code: str
    size: int
    values: tuple[str, ...]

    @property
    def is_bytes(self) -> bool:
        """Whether its value is the bytes themselves."""
        return self.code.endswith("s")


@dataclass(frozen=True, slots=True)
class Constant:
    """Bytes that are always the same."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Octets:
    """Bytes of a variable, and the source of their number."""

    variable: str
    size: str


Piece = PackedPart | Constant | Octets


@dataclass(frozen=True, slots=True)
class EncoderPath:
    """What an encoder has gathered on one way through a shape.

    `tests`: what refuses the value, not written down yet; `prepared`: the bytes of parts that
    were measured before their turn; `answers`: what is known of conditions.
    """

    pieces: tuple[Piece, ...] = ()
    tests: tuple[str, ...] = ()
    prepared: Mapping[str, Octets] = field(default_factory=dict[str, Octets])
    answers: Mapping[str, bool] = field(default_factory=dict[str, bool])

    def and_piece(self, *pieces: Piece) -> "EncoderPath":
        """Return the same with more bytes."""
        return replace(self, pieces=(*self.pieces, *pieces))

    def and_prepared(self, value: str, octets: Octets) -> "EncoderPath":
        """Return the same with the bytes of a value made ready."""
        return replace(self, prepared={**self.prepared, value: octets})

    def and_answer(self, condition: str, answer: bool) -> "EncoderPath":
        """Return the same with a condition decided."""
        return replace(self, answers={**self.answers, condition: answer})

    def and_test(self, *tests: str) -> "EncoderPath":
        """Return the same with more that refuses the value."""
        return replace(self, tests=(*self.tests, *tests))


def write_tests(code: Source, written: EncoderPath) -> EncoderPath:
    """Write down the tests: what follows needs them passed."""
    if written.tests:
        with code.block(f"if {' or '.join(dict.fromkeys(written.tests))}:"):
            code.line("raise unfit")
    return replace(written, tests=())


def size_of(pieces: Sequence[Piece]) -> str:
    """Return the source of the number of bytes of some pieces."""
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
    """Return the source of the bytes of some pieces."""
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
    """Return the byte order of a run; None where it has two."""
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
