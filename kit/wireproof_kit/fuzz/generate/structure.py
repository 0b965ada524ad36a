"""Changes of a frame's structure: fields dropped, doubled, swapped, or cut off."""

import re
from collections.abc import Iterator

from wireproof_kit.fuzz.case import Field
from wireproof_kit.fuzz.generate.edits import Edits, FieldIndex, number_edit
from wireproof_kit.fuzz.generate.random_source import RandomSource

_BLANK = b" "
_ITEM = re.compile(r".*?\]")
_PARAMETER = re.compile(r"query\..*\.value")


def items(prepared: FieldIndex) -> Iterator[Field]:
    """Yield each repeated item of a frame, such as `messages[1]`, as one field."""
    found: dict[str, list[Field]] = {}
    for field in prepared.fields:
        end = 0
        while match := _ITEM.match(field.path, end):
            end = match.end()
            found.setdefault(field.path[:end], []).append(field)
    for path, inside in found.items():
        if [each.path for each in inside] == [path]:
            continue
        outer = tuple(by for by in inside[0].measured_by if not by.startswith(f"{path}."))
        yield Field(path, inside[0].start, inside[-1].end, "body", measured_by=outer)


def drop_field(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
    """Return the edits that remove a field from a frame."""
    return ((field.start, field.end, b""),) if field.end > field.start else None


def is_word(prepared: FieldIndex, field: Field) -> bool:
    """Return True if a field is a word of a line, with one blank in front of it."""
    return field.role != "line" and field.end > field.start and _blank(prepared, field) is not None


def drop_word(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
    """Return the edits that remove a word of a line with the blank in front of it."""
    blank = _blank(prepared, field)
    return None if blank is None else ((blank.start, field.end, b""),)


def _blank(prepared: FieldIndex, field: Field) -> Field | None:
    """Return the blank that separates a field from the one before it, or None."""
    return next(
        (
            each
            for each in prepared.fields
            if each.end == field.start
            and each.role == "line"
            and prepared.bytes_of(each) == _BLANK
        ),
        None,
    )


def drop_words(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
    """Return the edits that leave only the first word of a frame's first line."""
    lines = [each for each in prepared.fields if each.role == "line"]
    first = next((line for line in lines if prepared.bytes_of(line) == _BLANK), None)
    ends = (line for line in lines if prepared.bytes_of(line) in (b"\r", b"\n", b"\r\n"))
    end = next(ends, None)
    is_line = first is not None and end is not None and first.start < end.start
    return ((first.start, end.start, b""),) if first and end and is_line else None


def is_parameter(field: Field) -> bool:
    """Return True if a field is the value of a query parameter in an HTTP request."""
    return _PARAMETER.fullmatch(field.path) is not None


def drop_parameter(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
    """Return the edits that remove a query parameter: its value, its name and its mark."""
    mark = prepared.by_path.get(field.path.removesuffix("value") + "mark")
    if mark is None:
        return None
    removed = (mark.start, field.end, b"")
    following = next((each for each in prepared.fields if each.start == field.end), None)
    if prepared.bytes_of(mark) == b"?" and following and following.path.endswith(".mark"):
        return (removed, (following.start, following.end, b"?"))
    return (removed,)


def double_field(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
    """Return the edits that repeat a field of a frame."""
    data = prepared.bytes_of(field)
    return ((field.end, field.end, data),) if data else None


def swap_fields(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
    """Return the edits that swap a field of a frame with the next one."""
    following = (other for other in prepared.fields if other.start >= field.end > field.start)
    other = next((each for each in following if each.end > each.start), None)
    if other is None:
        return None
    first, second = prepared.bytes_of(field), prepared.bytes_of(other)
    return None if first == second else ((field.start, other.end, second + first),)


def cut_before(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
    """Return the edits that cut a frame off before a field and leave lengths unchanged."""
    return _cut(prepared, field.start)


def cut_inside(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
    """Return the edits that cut a frame off inside a field and leave lengths unchanged."""
    size = field.end - field.start
    return _cut(prepared, field.start + 1 + source.below(size - 1)) if size > 1 else None


def ends_before(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
    """Return the edits that cut a frame off before a field and correct the lengths."""
    return _cut_frame(prepared, field.start)


def ends_inside(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
    """Return the edits that cut a frame off inside a field and correct the lengths."""
    size = field.end - field.start
    return _cut_frame(prepared, field.start + 1 + source.below(size - 1)) if size > 1 else None


def _cut(prepared: FieldIndex, at: int) -> Edits | None:
    end = len(prepared.frame.data)
    return ((at, end, b""),) if 0 < at < end else None


def _cut_frame(prepared: FieldIndex, at: int) -> Edits | None:
    """Cut the frame off and correct its lengths; return None if no length measures that part."""
    if not 0 < at < len(prepared.frame.data):
        return None
    edits = [
        number_edit(field, max(at - field.covers[0], 0))
        for field in prepared.fields
        if field.role == "length" and field.covers and field.end <= at < field.covers[1]
    ]
    return (*edits, (at, len(prepared.frame.data), b"")) if edits else None
