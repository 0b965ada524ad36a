"""Requests and answers of the HTTP API, as values."""

import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from wireproof_reference_impl.json_text import compact_json
from wireproof_spec.nsq.names import NSQ_CONTENT_TYPE, V1_ACCEPT, V1_CONTENT_TYPE

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")

TEXT = "text/plain; charset=utf-8"
JSON = "application/json; charset=utf-8"


class Request(Struct, frozen=True):
    """An HTTP request that was read completely; header names keep their spelling.

    `escaped`: the percent-encoding of the query is valid.
    """

    method: str
    path: str
    query: Mapping[str, bytes]
    headers: tuple[tuple[bytes, bytes], ...]
    now_ns: int
    body: bytes = b""
    escaped: bool = True

    @property
    def v1(self) -> bool:
        """Return True if the Accept header requests version 1.0 answers, in exact spelling."""
        accepted = [value for name, value in self.headers if name.lower() == b"accept"]
        return accepted == [V1_ACCEPT.encode()]

    def text(self, name: str) -> str:
        """Return a query parameter as text; empty if it is missing."""
        return self.query.get(name, b"").decode("utf-8", "replace")


class Answer(Struct, frozen=True):
    """An HTTP answer, sent at once or after a delay; a delay of None means never."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    delay_ns: int | None = 0


class HttpRefusal(Exception):
    """Raised to refuse an HTTP request with a status and an error code."""

    def __init__(self, status: int, code: str, *, allow: str = "") -> None:
        super().__init__(status, code)
        self.status = status
        self.code = code
        self.allow = allow


def read_query(query: bytes) -> dict[str, bytes]:
    """Return the parameters of a query by name, unescaped once; of repeated ones the first."""
    found: dict[str, bytes] = {}
    for pair in query.split(b"&"):
        name, _, value = pair.partition(b"=")
        found.setdefault(_unescape(name).decode("utf-8", "replace"), _unescape(value))
    return found


def is_escaped(query: bytes) -> bool:
    """Return True if the percent-encoding of a query is valid."""
    return _BAD_ESCAPE.search(query) is None


def plain(text: bytes, *, v1: bool) -> Answer:
    """Return a text as an HTTP answer with status 200."""
    return _answer(200, text, TEXT, v1=v1)


def data(value: object, *, v1: bool) -> Answer:
    """Return a JSON answer: bare in version 1.0, with an envelope in the older style."""
    if v1:
        return _answer(200, compact_json(value), JSON, v1=True)
    envelope = {"status_code": 200, "status_txt": "OK", "data": value}
    return _answer(200, compact_json(envelope), JSON, v1=False)


def error(status: int, code: str, *, v1: bool) -> Answer:
    """Return an error answer; the older style does not show the status and always has 500."""
    if v1:
        return _answer(status, compact_json({"message": code}), JSON, v1=True)
    envelope = {"status_code": 500, "status_txt": code, "data": None}
    return _answer(500, compact_json(envelope), JSON, v1=False)


def answer_nothing() -> Answer:
    """Return the empty success of the topic commands."""
    return Answer(200, b"", ((NSQ_CONTENT_TYPE, V1_CONTENT_TYPE),))


def _answer(status: int, body: bytes, content_type: str, *, v1: bool) -> Answer:
    style = ((NSQ_CONTENT_TYPE, V1_CONTENT_TYPE),) if v1 else ()
    return Answer(status, body, (("Content-Type", content_type), *style))


def _unescape(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" ")) if b"%" in text or b"+" in text else text
