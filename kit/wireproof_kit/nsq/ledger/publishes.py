"""The messages in a publish, by TCP or HTTP, as the rules of content need them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from wireproof_kit.clients.http_requests import HttpRequest
from wireproof_kit.ledger.entries import Digest
from wireproof_kit.nsq.wire.frames import is_as_published
from wireproof_spec import strict_json
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command_reader import Body, Command
from wireproof_spec.nsq.publish import (
    MpubBody,
    MpubExtBody,
    MpubTraceBody,
    PubBody,
    PubExtBody,
    PubTraceBody,
)
from wireproof_spec.nsq.trace_response import TraceResponse
from wireproof_spec.wire_error import WireError

HTTP, BATCH, OTHER_PARTITION, TRACED = "http", "batch", "other-partition", "traced"
"""What the way of a message can have besides the usual: TCP, alone, partition 0, no trace id."""
MOST_TRACE_ID: Final = (1 << 64) - 1
_SHORT: Final = 1024


class HeaderLaw(Enum):
    """What the texts say of the header of a message."""

    NONE = "none"
    """No header was sent."""
    KEPT = "kept"
    """A well-formed header by TCP: names and values are delivered."""
    STORED = "stored"
    """A header by HTTP, in the parameter ext: names and string values are delivered."""
    MERGED = "merged"
    """The parameter ext with the members of request headers, all of them strings."""
    FREE = "free"
    """Malformed, or of a form of which no text says what becomes of it."""


@dataclass(slots=True)
class Content:
    """A published message; ``trace_id`` is None if the texts do not say which one it has.

    ``partition`` is None where no text lets the publish name one: the broker chooses.
    """

    topic: str
    partition: int | None
    body: Digest
    header: bytes | None = None
    header_law: HeaderLaw = HeaderLaw.NONE
    trace_id: int | None = None
    is_traced: bool = False
    is_alone: bool = True
    """False for a message of a batch, whose answer tells nothing of it alone."""
    is_said: bool = True
    """False if no text names the command or request, so that any other reading of it is right."""
    answer: TraceResponse | None = None
    conn: str = ""
    number: int = 0
    """The number of the message among those of its connection ``conn``."""

    @property
    def tag(self) -> str | None:
        """The dispatch tag in the header; empty without one, None if that is uncertain."""
        if self.header_law is HeaderLaw.NONE:
            return ""
        value = read_members(self.header or b"")
        if value is None or self.header_law is HeaderLaw.FREE:
            return None
        tag = value.get(names.CLIENT_DISPATCH_TAG, "")
        return tag if isinstance(tag, str) else None


def read_publish(command: Command) -> Iterator[Content]:
    """Yield the messages in a publish command; nothing for other commands."""
    line, body = command.line.value, command.body
    words = [word.decode("latin-1") for word in getattr(line, "parameters", ())]
    if body is None or not words or len(words) > 2:
        return
    partition = _read_partition(words)
    if len(words) > 1 and partition is None:
        return
    if isinstance(body.value, MpubBody):
        partition = None
    is_said = not isinstance(body.value, MpubTraceBody | MpubExtBody)
    for message, is_alone in _messages(body.value):
        digest = Digest.of(message.body)
        content = Content(words[0], partition, digest, is_alone=is_alone, is_said=is_said)
        if isinstance(message, PubTraceBody):
            content.trace_id, content.is_traced = message.trace_id, True
        elif isinstance(message, PubExtBody):
            _add_header(content, message.json_header, HeaderLaw.KEPT)
        yield content


def _messages(body: Body) -> Iterator[tuple[PubBody | PubTraceBody | PubExtBody, bool]]:
    if isinstance(body, MpubBody | MpubTraceBody | MpubExtBody):
        for message in body.messages:
            yield message, False
    elif isinstance(body, PubBody | PubTraceBody | PubExtBody):
        yield body, True


def _read_partition(words: list[str]) -> int | None:
    return read_number(words[1]) if len(words) > 1 else None


def read_number(word: str) -> int | None:
    """Return a number of at most nine decimal digits; None of anything else."""
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 10 else None


def _add_header(content: Content, header: bytes, law: HeaderLaw) -> None:
    content.header = header
    members = read_members(header)
    content.header_law = HeaderLaw.FREE if members is None else law
    if members is None:
        return
    trace = members.get(names.TRACE_ID)
    if trace is None:
        return
    if isinstance(trace, str) and trace.isascii() and trace.isdecimal():
        number = int(trace[:21])
        if number <= MOST_TRACE_ID and len(trace) <= 20:
            content.trace_id, content.is_traced = number, True


def read_members(header: bytes) -> Mapping[str, strict_json.JsonValue] | None:
    """Return the members of a well-formed JSON object; None of anything else."""
    return _read_short(header) if len(header) <= _SHORT else _read_members(header)


@lru_cache(maxsize=1024)
def _read_short(header: bytes) -> Mapping[str, strict_json.JsonValue] | None:
    """Read a header once: those of IDENTIFY, and most of messages, are the same in many cases."""
    return _read_members(header)


def _read_members(header: bytes) -> Mapping[str, strict_json.JsonValue] | None:
    try:
        read = strict_json.read(header)
    except WireError:
        return None
    return read.value if not read.faults and isinstance(read.value, dict) else None


def read_post(request: HttpRequest) -> Iterator[Content]:
    """Yield the messages in a publish over HTTP; nothing for other requests.

    A request with a parameter twice or with parameters that no text has yields nothing.
    """
    known = {"/pub": (), "/pub_ext": ("ext",), "/pubtrace": ("trace_id",), "/mpub": ("binary",)}
    query = {name: values[0] for name, values in request.query.items()}
    if request.method != "POST" or request.path not in known or not request.body:
        return
    is_twice = any(len(values) > 1 for values in request.query.values())
    if is_twice or not query.keys() <= {"topic", "partition", *known[request.path]}:
        return
    words = [query.get("topic", ""), *([query["partition"]] if "partition" in query else [])]
    partition = _read_partition(words)
    if not words[0] or (len(words) > 1 and partition is None):
        return
    if request.path == "/mpub":
        yield from _lines(request, words[0])
        return
    content = Content(words[0], None, Digest.of(request.body))
    if request.path == "/pubtrace":
        trace = query.get("trace_id", "")
        is_number = trace.isascii() and trace.isdecimal() and int(trace[:21]) <= MOST_TRACE_ID
        content.trace_id, content.is_traced = (int(trace), True) if is_number else (None, False)
        content.is_said = False
    elif request.path == "/pub_ext":
        content.partition = partition
        _add_http_header(content, request, query.get("ext"))
    yield content


def _lines(request: HttpRequest, topic: str) -> Iterator[Content]:
    if "binary" in request.query or b"\r" in request.body:
        return
    for line in request.body.split(b"\n"):
        if line:
            yield Content(topic, None, Digest.of(line), is_alone=False)


def _add_http_header(content: Content, request: HttpRequest, ext: str | None) -> None:
    """Add the header of a message by /pub_ext; its values must be strings to be compared."""
    prefix = names.X_NSQEXT.lower()
    added = {
        name.removeprefix(prefix): value
        for name, value in request.headers.items()
        if name.startswith(prefix)
    }
    if ext is None:
        content.header_law = HeaderLaw.FREE
        return
    try:
        header = ext.encode()
    except UnicodeEncodeError:
        header = b""
    law = HeaderLaw.STORED if is_as_published(header) else HeaderLaw.FREE
    if added and law is HeaderLaw.STORED:
        members = read_members(header) or {}
        is_said = not has_escapes(header) and not members.keys() & added.keys()
        law = HeaderLaw.MERGED if is_said and _are_plain(added.values()) else HeaderLaw.FREE
        header = json.dumps({**members, **added}).encode()
    _add_header(content, header, law)


def has_escapes(header: bytes) -> bool:
    """Return True if a header is another one when it is decoded a second time as a query."""
    return b"+" in header or b"%" in header


def _are_plain(values: Iterable[str]) -> bool:
    return all(value.isascii() and value.isprintable() for value in values)


def json_trace(body: bytes) -> TraceResponse | None:
    """Return the ids and the position in an answer over HTTP; None without them."""
    members = read_members(body) or {}
    data = members.get("data")
    told = data if isinstance(data, dict) else members
    found = [_whole(told.get(name)) for name in ("id", "trace_id", "queue_offset", "rawsize")]
    numbers = [number for number in found if number is not None]
    return TraceResponse(*numbers) if len(numbers) == len(found) else None


def _whole(value: strict_json.JsonValue) -> int | None:
    """Return a number, given as a number or as a text of at most twenty digits."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
