"""Text fields of records: with a length before them, or up to the end of the frame."""

from construct import this

from wireproof_spec.grammar.layout import Bytes, Field, Int8ub, Int32ul, Rest, field
from wireproof_spec.grammar.lengths import Declared
from wireproof_spec.grammar.texts import Utf8


def rest_of_frame(name: str) -> Field:
    """Return the layout of a text field that runs to the end of the frame."""
    return field(name, Utf8(Rest))


def short_text(name: str, *, bounds: tuple[int, int] | None = None) -> tuple[Field, Field]:
    """Return the layout of a text field: a 1-byte length, then the text.

    `bounds` are the least and greatest length in bytes.
    """
    length = Declared(Int8ub, of=name, bounds=bounds)
    return field(f"{name}_length", length), field(name, Utf8(Bytes(this[f"{name}_length"])))


def long_text(name: str) -> tuple[Field, Field]:
    """Return the layout of a text field: a 4-byte length, then the text."""
    length = Declared(Int32ul, of=name)
    return field(f"{name}_length", length), field(name, Utf8(Bytes(this[f"{name}_length"])))
