"""HTTP answers as frames with field maps: head and body."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import h11

from wireproof_kit.fuzz.case import Field, Frame, Role

_BLANK, _END = b" ", b"\r\n"
_LENGTH = b"content-length"
LENGTH = f"headers.{_LENGTH.decode()}.value"
_Piece: TypeAlias = tuple[str, bytes, Role]


_LEAST_ERROR = 400


def is_refusal(data: bytes) -> bool:
    """Return True if bytes begin with the head of an HTTP response that reports an error."""
    reader = h11.Connection(h11.CLIENT)
    reader.send(h11.Request(method="GET", target="/", headers=[("Host", "")]))
    try:
        reader.receive_data(data)
        head = reader.next_event()
    except h11.RemoteProtocolError:
        return False
    return isinstance(head, h11.Response) and head.status_code >= _LEAST_ERROR


def keep_document(answer: Frame, kind: str) -> Frame:
    """Return an answer of which nothing but the values of its document is made wrong."""
    fields = tuple(field for field in answer.fields if field.path.startswith(("body", LENGTH)))
    return replace(answer, kind=kind, fields=fields)


def response_frame(kind: str, data: bytes) -> Frame:
    """Return a response with its field map."""
    head, _, body = data.partition(_END + _END)
    status, *headers = head.split(_END)
    version, code, reason = status.split(_BLANK, 2)
    pieces: list[_Piece] = [
        ("version", version, "fixed"),
        ("blank", _BLANK, "line"),
        ("status", code, "number"),
        ("blank", _BLANK, "line"),
        ("reason", reason, "text"),
        ("end_of_line", _END, "line"),
        *(piece for header in headers for piece in _header(header)),
        ("end_of_head", _END, "line"),
        ("body", body, "json"),
    ]
    return Frame(kind, data, tuple(_place(pieces, len(body))))


def _header(header: bytes) -> Iterator[_Piece]:
    name, _, value = header.partition(b": ")
    item = f"headers.{name.decode().lower()}"
    yield f"{item}.name", name, "text"
    yield f"{item}.colon", b": ", "line"
    yield f"{item}.value", value, "length" if name.lower() == _LENGTH else "text"
    yield f"{item}.end", _END, "line"


def _place(pieces: list[_Piece], size: int) -> Iterator[Field]:
    at, end = 0, sum(len(data) for _, data, _ in pieces)
    is_measured = any(path == LENGTH for path, _, _ in pieces)
    for path, data, role in pieces:
        covers = (end - size, end) if role == "length" else None
        by = (LENGTH,) if path == "body" and is_measured else ()
        yield Field(path, at, at + len(data), role, covers, measured_by=by)
        at += len(data)
