"""The values inside a JSON document as fields, so that each can be another value or none."""

import re
from collections.abc import Iterator
from dataclasses import replace

from wireproof_kit.fuzz.case import Field, Frame, Role

_SCALAR = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\s,\]}]+')
_GAP = re.compile(rb"[\s,:]*")
_MOST = 60
"""The most values of a JSON document that become fields, the first ones of a large document."""


def open_documents(frame: Frame) -> Frame:
    """Return a frame whose fields include the values inside its JSON documents."""
    fields: list[Field] = []
    for field in frame.fields:
        fields.append(field)
        if field.role == "json":
            found = _values(frame.data[: field.end], field.start, field.path)
            inner = [replace(each, measured_by=field.measured_by) for each in found]
            fields += inner[1 : _MOST + 1]  # the first one is the whole document
    return replace(frame, fields=tuple(fields))


def _values(data: bytes, at: int, path: str) -> list[Field]:
    """Return a value that begins at an offset, and the values inside it; none if it is broken."""
    opening = data[at : at + 1]
    if opening in (b"{", b"["):
        inside = list(_inside(data, at + 1, path, named=opening == b"{"))
        end = _behind(data, max((each.end for each in inside), default=at + 1))
        return [Field(path, at, end + 1, "json"), *inside]
    scalar = _SCALAR.match(data, at)
    if scalar is None:
        return []
    role: Role = "number" if scalar[0].lstrip(b"-").isdigit() else "json"
    return [Field(path, at, scalar.end(), role)]


def _inside(data: bytes, at: int, path: str, *, named: bool) -> Iterator[Field]:
    number = 0
    while (at := _behind(data, at)) < len(data) and data[at : at + 1] not in (b"}", b"]"):
        inner = f"{path}[{number}]"
        if named:
            name = _SCALAR.match(data, at)
            if name is None:
                return
            text = name[0].decode(errors="replace").strip('"')
            inner = f"{path}.{text}"
            at = _behind(data, name.end())
        found = _values(data, at, inner)
        if not found:
            return
        yield from found
        at, number = found[0].end, number + 1


def _behind(data: bytes, at: int) -> int:
    """Return the offset behind blanks and separators."""
    gap = _GAP.match(data, at)
    return gap.end() if gap else at
