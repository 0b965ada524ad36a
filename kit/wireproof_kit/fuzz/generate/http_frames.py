"""HTTP requests with their field maps: method, path, query, headers, length, body."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from wireproof_kit.fuzz.case import Field, Frame, Role
from wireproof_kit.fuzz.generate.field_map import shift_fields

HOST = "wireproof"
END_OF_HEAD = "end_of_head"
METHOD = "method"
VERSION = "version"
_LENGTH = "headers.content-length[0].value"
_USUAL = frozenset(
    ("host", "connection", "content-type", "content-length", "transfer-encoding", "accept")
)
"""Headers that have a path of their own in coverage; all others share one."""
_CHUNK = 9
"""Bytes of a chunk: a size of one digit has the same value in base 10 and base 16."""
_NO_ROLES: Mapping[str, Role] = {}


@dataclass(frozen=True, slots=True)
class Body:
    """A request body and its fields; without fields, it is one field with the role `role`."""

    data: bytes
    role: Role = "body"
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """The content of an HTTP request before it is encoded.

    Parts of `path` are literal text, or pairs of a name and a value. The values of `query` are
    percent-encoded when written. `headers` are additional ones.
    """

    method: str
    path: tuple[str | tuple[str, str], ...]
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: Body | None = None
    chunked: bool = False
    closes: bool = True


_Piece = tuple[str, bytes, Role]


def http_frame(kind: str, request: Request, roles: Mapping[str, Role] = _NO_ROLES) -> Frame:
    """Encode a request and return it as a frame; `roles` are the roles of query values by name."""
    end: _Piece = (END_OF_HEAD, b"\r\n", "line")
    head = [*_request_line(request, roles), *_headers(request), end]
    fields = list(_place_fields(head))
    at = fields[-1].end
    data = b"".join(written for _, written, _ in head)
    if request.body is None:
        return Frame(kind, data, tuple(fields))
    if request.chunked:
        chunks = list(_chunks(request.body.data))
        fields += shift_fields(tuple(_measured_chunks(chunks)), at)
        written = b"".join(piece for _, piece, _ in chunks)
        return Frame(kind, data + written, tuple(fields))
    body = request.body
    inner = body.fields or (Field("body", 0, len(body.data), body.role),)
    fields = [_make_covering(field, at, len(body.data)) for field in fields]
    fields += shift_fields(inner, at, (_LENGTH,))
    return Frame(kind, data + body.data, tuple(fields))


def _request_line(request: Request, roles: Mapping[str, Role]) -> Iterator[_Piece]:
    yield METHOD, request.method.encode(), "fixed"
    yield "blank", b" ", "line"
    for part in request.path:
        name, text = ("path", part) if isinstance(part, str) else (f"path.{part[0]}", part[1])
        yield name, (text if name == "path" else quote(text, safe="")).encode(), "text"
    for index, (name, value) in enumerate(request.query):
        item = f"query.{name}[0]"
        yield f"{item}.mark", b"&" if index else b"?", "line"
        yield f"{item}.name", quote(name).encode(), "text"
        yield f"{item}.equals", b"=", "line"
        yield f"{item}.value", quote(value, safe="").encode(), roles.get(name, "text")
    yield "blank", b" ", "line"
    yield VERSION, b"HTTP/1.1", "fixed"
    yield "end_of_line", b"\r\n", "line"


def _headers(request: Request) -> Iterator[_Piece]:
    framing: list[tuple[str, str]] = []
    if request.body is not None:
        size = str(len(request.body.data))
        chunked = ("Transfer-Encoding", "chunked")
        framing = [chunked if request.chunked else ("Content-Length", size)]
    closing = [("Connection", "close")] if request.closes else []
    for index, (name, value) in enumerate((("Host", HOST), *closing, *request.headers, *framing)):
        usual = name.lower() in _USUAL
        item = f"headers.{name.lower()}[0]" if usual else f"headers.other[{index}]"
        yield f"{item}.name", name.encode(), "text"
        yield f"{item}.colon", b": ", "line"
        role: Role = "length" if name == "Content-Length" else "text"
        yield f"{item}.value", value.encode(), role
        yield f"{item}.end", b"\r\n", "line"


def _chunks(data: bytes) -> Iterator[_Piece]:
    pieces = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
    for index, piece in enumerate((*pieces, b"")):
        item = f"chunks[{index}]"
        yield f"{item}.size", b"%x" % len(piece), "length"
        yield f"{item}.end_of_size", b"\r\n", "line"
        yield f"{item}.data", piece, "body"
        yield f"{item}.end", b"\r\n", "line"


def _place_fields(pieces: Iterable[_Piece]) -> Iterator[Field]:
    at = 0
    for path, data, role in pieces:
        yield Field(path, at, at + len(data), role)
        at += len(data)


def _measured_chunks(chunks: Sequence[_Piece]) -> Iterator[Field]:
    placed = list(_place_fields(chunks))
    for index, field in enumerate(placed):
        name = field.path.rpartition(".")[2]
        if name == "size":
            data = placed[index + 2]
            yield Field(field.path, field.start, field.end, "length", (data.start, data.end))
        elif name == "data":
            size = placed[index - 2].path
            yield Field(field.path, field.start, field.end, "body", measured_by=(size,))
        else:
            yield field


def _make_covering(field: Field, at: int, size: int) -> Field:
    if field.path != _LENGTH:
        return field
    return Field(field.path, field.start, field.end, field.role, (at, at + size))
