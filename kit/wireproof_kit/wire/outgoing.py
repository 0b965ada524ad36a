"""Bytes to send, with a label for each range."""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias, TypeVar

from wireproof_kit.wire.transcript import LateParts, Part
from wireproof_spec.decoding import Schema, encode, spans

T = TypeVar("T")
ByteOrder: TypeAlias = Literal["big", "little"]

LABEL_LIMIT = 60
LENGTH_KEPT = 256
"""Bytes of a frame up to which its parts are kept: two in three such frames are sent again."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Bytes to send, with labelled parts; the label of a part begins with its field name.

    ``what`` describes the bytes in a few words. ``is_cut``: the last frame is incomplete, so
    nothing but its rest may be sent next.
    """

    data: bytes
    parts: Sequence[Part] = ()
    what: str = ""
    is_cut: bool = False

    def __add__(self, other: "Outgoing") -> "Outgoing":
        shift = len(self.data)

        def parts() -> Iterator[Part]:
            yield from self.parts
            for part in other.parts:
                yield Part(part.offset + shift, part.length, part.label, part.wrong)

        what = (
            f"{self.what}, {other.what}" if self.what and other.what else self.what or other.what
        )
        return Outgoing(self.data + other.data, LateParts(parts), what, is_cut=other.is_cut)

    def part(self, field: str) -> Part:
        """Return the first part labelled with a field name.

        Raises:
            KeyError: no part has this name.
        """
        for part in self.parts:
            if part.label == field or part.label.startswith(f"{field} "):
                return part
        raise KeyError(f"{field}: no such field; there are {[part.label for part in self.parts]}")

    def cut(self, at: int) -> "Outgoing":
        """Return the first ``at`` bytes; a negative ``at`` counts from the end."""
        end = at if at >= 0 else max(0, len(self.data) + at)
        return self._between(0, end, cut=True)

    def split(self, *at: int) -> list["Outgoing"]:
        """Return the pieces between the given offsets, in order."""
        edges = [0, *at, len(self.data)]
        return [self._between(start, end, cut=False) for start, end in itertools.pairwise(edges)]

    def replace(self, field: str, data: bytes) -> "Outgoing":
        """Return these bytes with one field's bytes replaced by others of any length."""
        old = self.part(field)
        end = old.offset + old.length
        growth = len(data) - old.length
        wrong = Part(old.offset, len(data), label(field, data.hex(" ")), wrong=True)
        parts = tuple(
            wrong if part is old else _shift_part(part, end, growth) for part in self.parts
        )
        whole = self.data[: old.offset] + data + self.data[end:]
        return replace(self, data=whole, parts=parts)

    def rename(self, what: str) -> "Outgoing":
        """Return these bytes with another description ``what``."""
        return replace(self, what=what)

    def _between(self, start: int, end: int, *, cut: bool) -> "Outgoing":
        parts: list[Part] = []
        for part in self.parts:
            first = max(part.offset, start)
            length = min(part.offset + part.length, end) - first
            if length <= 0:
                continue
            whole = length == part.length
            text = part.label if whole else f"{part.label} (cut)"
            wrong = part.wrong or (cut and not whole)
            parts.append(Part(first - start, length, text, wrong=wrong))
        piece = self.data[start:end]
        size = f"{len(piece)} of {len(self.data)} bytes"
        is_cut = self.is_cut or end < len(self.data)
        return Outgoing(piece, tuple(parts), f"{self.what} ({size})", is_cut=is_cut)


def label(field: str, value: str) -> str:
    """Return the label of a part, ``field = value``; a long label is cut off at its end."""
    text = f"{field} = {value}" if value else field
    return text if len(text) <= LABEL_LIMIT else f"{text[: LABEL_LIMIT - 1]}…"


def from_grammar(
    schema: Schema[T],
    value: T,
    *,
    what: str = "",
    overrides: Mapping[str, int | None] = MappingProxyType({}),
    byte_order: ByteOrder = "big",
) -> Outgoing:
    """Build the bytes of a value, then overwrite the named fields with other numbers.

    A number is written modulo the width of its field, so -1 is all ones.
    """
    data = encode(schema, value)

    find = _find_parts if len(data) <= LENGTH_KEPT else _find_parts.__wrapped__
    built = Outgoing(data, LateParts(lambda: find(schema, data)), what)
    for field, number in overrides.items():
        if number is not None:
            built = overwritten(built, field, number, byte_order)
    return built


@functools.lru_cache(512)
def _find_parts(schema: Schema[T], data: bytes) -> tuple[Part, ...]:
    return tuple(
        Part(span.offset, span.length, label(span.field, span.value))
        for span in spans(schema, data)
    )


def join_pieces(pieces: Sequence[Outgoing], what: str) -> Outgoing:
    """Return several pieces joined into one."""
    whole = Outgoing(b"")
    for piece in pieces:
        whole = whole + piece
    return whole.rename(what)


def overwritten(
    built: Outgoing, field: str, number: int, byte_order: ByteOrder = "big"
) -> Outgoing:
    """Return the bytes with a field overwritten by a number, modulo the field's width.

    Raises:
        KeyError: the frame has no such field.
    """
    part = built.part(field)
    written = (number % (1 << 8 * part.length)).to_bytes(part.length, byte_order)
    if built.data[part.offset : part.offset + part.length] == written:
        return built
    changed = built.replace(field, written)
    named = replace(changed.part(field), label=label(field, str(number)))
    parts = tuple(named if p.offset == part.offset else p for p in changed.parts)
    return replace(changed, parts=parts)


def _shift_part(part: Part, end: int, growth: int) -> Part:
    return replace(part, offset=part.offset + growth) if part.offset >= end else part
