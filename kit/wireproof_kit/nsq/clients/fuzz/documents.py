"""The answers of nsqlookupd as frames with field maps: head and JSON document."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import Field, Frame, Role
from wireproof_kit.nsq.clients.events import Requested
from wireproof_kit.nsq.clients.fuzz.json_fields import open_documents
from wireproof_kit.nsq.clients.lookup_server import LISTLOOKUP, LOOKUP, answer
from wireproof_kit.nsq.clients.script import LOOKUP_1, NODE_1, Respond, Script, Shape

PORTS: Mapping[str, bytes] = {LOOKUP_1: b"65511", NODE_1: b"65522"}
"""Placeholders in cases for the ports of servers; both have five digits, as ephemeral ports."""
_ADDRESSES = {name: f"127.0.0.1:{port.decode()}" for name, port in PORTS.items()}
_SHAPES: tuple[Shape, ...] = ("redesigned", "original")
_BLANK, _END = b" ", b"\r\n"
_LENGTH = b"content-length"
_Piece: TypeAlias = tuple[str, bytes, Role]


def kinds() -> Mapping[str, st.SearchStrategy[Frame]]:
    """Return a strategy for each kind of lookup response, in both shapes and both envelopes.

    In a kind ``document of …`` only values of the body are mutated; a whole response has as many
    fields in its head.
    """
    found: dict[str, st.SearchStrategy[Frame]] = {}
    for path in (LOOKUP, LISTLOOKUP):
        answers = tuple(_answers(path))
        found[f"answer to GET {path}"] = st.sampled_from(answers)
        documents = [_keep_document(each, path) for each in answers if b" 200 " in each.data]
        found[f"document of GET {path}"] = st.sampled_from(documents)
    return found


def place_ports(data: bytes, ports: Mapping[str, bytes]) -> bytes:
    """Replace the placeholders in the bytes of a case by the ports at which servers listen."""
    for name, port in PORTS.items():
        if port in data:
            data = data.replace(port, ports[name])
    return data


def _keep_document(answer: Frame, path: str) -> Frame:
    kept = ("body", f"headers.{_LENGTH.decode()}.value")
    fields = tuple(each for each in answer.fields if each.path.startswith(kept))
    return replace(answer, kind=f"document of GET {path}", fields=fields)


def _answers(path: str) -> Iterator[Frame]:
    request = Requested(0.0, "", "GET", path, {}, {})
    for shape, v1, status in itertools.product(_SHAPES, (False, True), (200, 404)):
        if path == LISTLOOKUP and shape == "original":
            continue
        script = Script("consumer", shape=shape, listed=(LOOKUP_1,))
        told = answer(
            request,
            Respond(status, v1=v1),
            script=script,
            leaders={0: NODE_1},
            addresses=_ADDRESSES,
        )
        yield open_documents(frame(f"answer to GET {path}", told))


def frame(kind: str, data: bytes) -> Frame:
    """Return an HTTP response as a frame with its fields."""
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
    length = f"headers.{_LENGTH.decode()}.value"
    for path, data, role in pieces:
        covers = (end - size, end) if role == "length" else None
        by = (length,) if path == "body" else ()
        yield Field(path, at, at + len(data), role, covers, measured_by=by)
        at += len(data)
