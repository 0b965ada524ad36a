"""Field maps from schemas: which bytes of a frame belong to which field, and its role.

The schema tells where the fields lie (`spans`), its outline what each is for. No frame is
described a second time here.
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from wireproof_kit.fuzz.case import ByteOrder, Field, Frame, Role
from wireproof_spec import outline as known
from wireproof_spec.decoding import Schema, encode, spans
from wireproof_spec.outline import Outline

T = TypeVar("T")
Roles = Mapping[str, Role]
"""Roles by path pattern, for fields whose role the schema does not show (json, text)."""

NO_ROLES: Roles = MappingProxyType({})
_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One innermost field of a schema: its role, and what it measures.

    `of` is the path pattern of the part that a size, length or count measures, else None.
    """

    role: Role
    order: ByteOrder | None = None
    of: str | None = None


@functools.lru_cache(maxsize=8192)
def pattern(path: str) -> str:
    """Return a path without its indices: `messages[].size` for `messages[3].size`."""
    return _INDEX.sub("[]", path)


@functools.cache
def leaves(schema: Schema[Any]) -> Mapping[str, Leaf]:
    """Return the innermost fields of a schema, by path pattern."""
    return dict(_leaves(known.outline(schema), ""))


def frame(kind: str, schema: Schema[T], value: T, roles: Roles = NO_ROLES) -> Frame:
    """Encode a value and return it as a frame with its field map."""
    data = encode(schema, value)
    return Frame(kind, data, fields_of(schema, data, roles))


def fields_of(schema: Schema[Any], data: bytes, roles: Roles = NO_ROLES) -> tuple[Field, ...]:
    """Return the fields of bytes encoded by a schema, in wire order and without gaps."""
    told = leaves(schema)
    found = [
        (span.field, told.get(pattern(span.field), _SEPARATOR), span.offset, span.length)
        for span in spans(schema, data)
    ]
    measured: dict[int, tuple[str, ...]] = {}
    fields: list[Field] = []
    for index, (path, leaf, start, length) in enumerate(found):
        covers: tuple[int, int] | None = None
        if leaf.of is not None:
            end = start + length
            inside = [
                at for at in range(index + 1, len(found)) if _measures(path, leaf.of, found[at][0])
            ]
            measured |= {at: (*measured.get(at, ()), path) for at in inside}
            last = max((found[at][2] + found[at][3] for at in inside), default=end)
            covers = (end, last)
        role = roles.get(pattern(path), leaf.role)
        by = measured.get(index, ())
        fields.append(Field(path, start, start + length, role, covers, leaf.order, by))
    return tuple(fields)


def shift_fields(
    fields: Sequence[Field], by: int, measured_by: tuple[str, ...] = ()
) -> Iterator[Field]:
    """Yield fields with offsets moved by `by` bytes.

    `measured_by` are paths of lengths that measure the fields in addition.
    """
    for field in fields:
        covers = field.covers and (field.covers[0] + by, field.covers[1] + by)
        outer = (*measured_by, *field.measured_by)
        start, end = field.start + by, field.end + by
        yield replace(field, start=start, end=end, covers=covers, measured_by=outer)


def join_frames(kind: str, *frames: Frame) -> Frame:
    """Return several frames, one after the other, as one frame of another kind."""
    data = b"".join(each.data for each in frames)
    fields: list[Field] = []
    at = 0
    for each in frames:
        fields += shift_fields(each.fields, at)
        at += len(each.data)
    return Frame(kind, data, tuple(fields))


def nest_frame(kind: str, outer: Frame, path: str, inner: Frame) -> Frame:
    """Return the outer frame with its field `path` replaced by the fields of the inner frame.

    If the inner frame has no fields, the field stays.
    """
    if not inner.fields:
        return Frame(kind, outer.data, outer.fields)
    fields: list[Field] = []
    for field in outer.fields:
        holds = field.path == path
        fields += shift_fields(inner.fields, field.start, field.measured_by) if holds else [field]
    return Frame(kind, outer.data, tuple(fields))


_SEPARATOR = Leaf("line")
_BLANKS = frozenset(b" \r\n")


def _measures(path: str, of: str, name: str) -> bool:
    """Return True if a length measures a field: a sibling with that name, or any sibling."""
    parent = path[: path.rfind(".") + 1]
    if of:
        whole = parent + of
        return name == whole or name.startswith((f"{whole}.", f"{whole}["))
    return name.startswith((parent, f"{parent[:-1]}["))


def _leaves(outline: Outline, path: str) -> Iterator[tuple[str, Leaf]]:
    match outline:
        case known.Parts():
            yield from _parts(outline, path)
        case known.Mapped(origin=inner) | known.Perhaps(present=inner):
            yield from _leaves(inner, path)
        case known.Tuple():
            if outline.lead is not None:
                name, size = outline.lead
                yield f"{path}.{name}", Leaf("length", size.order, "")
            yield from _leaves(outline.each, f"{path}[]")
        case _:
            yield path, _leaf(outline)


def _parts(outline: known.Parts, path: str) -> Iterator[tuple[str, Leaf]]:
    shapes = dict(outline.parts)
    for name, shape in outline.parts:
        inner = f"{path}.{name}" if path else name
        if isinstance(shape, known.Derived):
            counted = isinstance(shapes.get(shape.of), known.Tuple)
            yield inner, Leaf("count" if counted else "length", shape.order, shape.of)
        else:
            yield from _leaves(shape, inner)


def _leaf(outline: Outline) -> Leaf:
    match outline:
        case known.Whole(width=None):
            return Leaf("number")
        case known.Whole(lowest, highest, width, order):
            narrow = highest - lowest + 1 < 1 << 8 * (width or 0)
            return Leaf("enumerator" if narrow else "number", order)
        case known.Choice():
            return Leaf("enumerator", outline.order)
        case known.Real():
            return Leaf("number", "little")
        case known.Letters() | known.Word():
            return Leaf("text")
        case known.Fixed(data):
            return Leaf("line" if _BLANKS.issuperset(data) else "fixed")
        case known.Flag():
            return _SEPARATOR
        case _:
            return Leaf("body")
