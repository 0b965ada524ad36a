"""HTTP requests and answers as values, and the parts of an address."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar
from urllib.parse import unquote_to_bytes

from msgspec import Struct

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class Unfit(Exception):
    """Raised for a malformed HTTP request; the answer is plain text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text


class Answer(Struct, frozen=True):
    """An HTTP answer: status, body, content type and further headers."""

    status: int
    body: bytes = b""
    content_type: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class Exchange(Struct, Generic[S_co], frozen=True):
    """An HTTP request; `words` are the path segments that the route leaves open."""

    site: S_co
    words: tuple[str, ...]
    query: bytes
    content_type: str
    body: bytes
    now_us: int
    authorization: str = ""


HeaderFields = Sequence[tuple[str, str]]
"""Header fields of an answer, names as they are written."""

Framing = Callable[[bytes], tuple[HeaderFields, bytes]]
"""Gives the fields that tell where a body ends, and the body as it is sent."""

Reason = Callable[[int], str]
"""Gives the words behind the status of an answer."""

Handler = Callable[[Exchange[S]], Answer]
Routes = Mapping[str, Mapping[str, Handler[S]]]
"""By path, with `{}` for any word, then by method."""


def text(data: str, status: int = 200) -> Answer:
    """Return an answer of plain text."""
    return Answer(status, data.encode(errors="backslashreplace"), TEXT)


def in_plain_text(unfit: Unfit) -> Answer:
    """Return the plain-text HTTP answer to a malformed request."""
    return text(unfit.text, unfit.status)


def as_they_are(fields: HeaderFields) -> HeaderFields:
    """Return the header fields of an HTTP response unchanged."""
    return fields


def count_body(body: bytes) -> tuple[HeaderFields, bytes]:
    """Return the header field with the length of a response's body, and the body unchanged."""
    return [("Content-Length", str(len(body)))], body


def no_reason(status: int) -> str:
    """Return an empty reason phrase for any HTTP status."""
    return ""


def split_path(path: bytes) -> tuple[str, ...]:
    """Return the unescaped segments of an HTTP path.

    Raises:
        Unfit: an escape is malformed.
    """
    return tuple(_unescape(word) for word in path.strip(b"/").split(b"/"))


def split_query(query: bytes) -> dict[str, str]:
    """Return the parameters of an HTTP query by name, unescaped.

    Raises:
        Unfit: a parameter occurs twice, or an escape is malformed.
    """
    found: dict[str, str] = {}
    for pair in query.split(b"&"):
        name, _, value = pair.partition(b"=")
        key = _unescape(name.replace(b"+", b" "))
        if key in found:
            raise bad_query(f"duplicate field `{key}`")
        found[key] = _unescape(value.replace(b"+", b" "))
    return found


def bad_query(why: str) -> Unfit:
    """Return the refusal (status 400) of an HTTP request for its query string, with a reason."""
    return Unfit(400, f"Failed to deserialize query string: {why}")


def _unescape(word: bytes) -> str:
    if _BAD_ESCAPE.search(word):
        return word.decode("utf-8", "replace")
    try:
        return unquote_to_bytes(word).decode()
    except UnicodeDecodeError:
        raise Unfit(400, "Invalid UTF-8 in the address") from None
