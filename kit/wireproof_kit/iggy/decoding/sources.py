"""Decodes Iggy bytes of any source: one side of a connection, or a log on disk."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Protocol, TypeVar

from wireproof_kit.decoding.decoded import (
    Broken,
    Decoded,
    Entry,
    Heading,
    JsonObject,
    TitledFormatter,
)
from wireproof_kit.errors import UsageFault
from wireproof_kit.iggy.decoding.annotation import STATUS_NAMES, fault_parts, parts_of
from wireproof_kit.iggy.decoding.apache import decode_apache
from wireproof_kit.iggy.decoding.apache_parts import Side, recognise_apache
from wireproof_kit.iggy.decoding.polls import (
    LIMIT,
    begins_message,
    messages_before_error,
    read_polled,
)
from wireproof_kit.iggy.decoding.values import (
    message_object,
    message_title,
    plain,
    wrong_checksums,
)
from wireproof_kit.wire.transcript import Part
from wireproof_spec.decoding import Schema, decode, encode, spans
from wireproof_spec.iggy.bodies.command_shapes import Payload, payload_schema
from wireproof_spec.iggy.bodies.poll_messages import PolledMessages, polled_messages_schema
from wireproof_spec.iggy.bodies.send_messages import SendMessages
from wireproof_spec.iggy.commands import COMMANDS, KILL
from wireproof_spec.iggy.frame import (
    REQUEST,
    RESPONSE,
    NeedMore,
    Request,
    RequestReader,
    Response,
    ResponseReader,
)
from wireproof_spec.iggy.generation import Generation, ServedGeneration, framed
from wireproof_spec.iggy.message import MESSAGE, OLD_MESSAGE, Message, MessageReader
from wireproof_spec.iggy.segment import read_log_name
from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import count_bytes

T = TypeVar("T")

CHUNK = 1 << 16
HEAD = 64
FRAME_HEAD = 8
"""Bytes of a request's length and code, or of a response's status and length."""
LEAST_LENGTH = 4
"""The length of a request without a payload."""


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """Decoding options that the bytes may not reveal; None means: detect it.

    Generations published and tagged look alike, so that one of them has to be named.

    ``old_layout``: the messages of a log have neither state nor checksum.
    """

    side: Side | None = None
    generation: ServedGeneration | None = None
    old_layout: bool = False


class _Reader(Protocol):
    @property
    def pending(self) -> bytes: ...

    @property
    def offset(self) -> int: ...

    def feed(self, data: bytes) -> None: ...


def decode_path(path: Path, wanted: DecodeOptions) -> Iterator[Entry]:
    """Decode a file, or all log files in a directory.

    Raises:
        UsageFault: the path is empty, or its format cannot be recognized.
        OSError: the path cannot be read.
    """
    if path.is_dir():
        yield from _directory(path, wanted)
        return
    side = wanted.side or ("log" if read_log_name(path.name) is not None else None)
    with path.open("rb") as opened:
        yield from _decode(opened, replace(wanted, side=side), str(path))


def decode_bytes(data: bytes, wanted: DecodeOptions) -> Iterator[Entry]:
    """Decode bytes held in memory.

    Raises:
        UsageFault: there are no bytes, or their format cannot be recognized.
    """
    yield from _decode(io.BytesIO(data), wanted, "the input")


def decode_pipe(pipe: BinaryIO, wanted: DecodeOptions) -> Iterator[Entry]:
    """Decode bytes from a pipe as they arrive, until it ends.

    Raises:
        UsageFault: there are no bytes, or their format cannot be recognized.
    """
    yield from _decode(pipe, wanted, "the input")


def recognise_side(head: bytes) -> Side | None:
    """Return which side's traffic begins with these bytes; None when it cannot be detected."""
    first = int.from_bytes(head[:4], "little")
    second = int.from_bytes(head[4:8], "little")
    if begins_message(head):
        return "log"
    if len(head) < FRAME_HEAD:
        return None
    # An error without a body looks like a kill with a payload, which it never has.
    is_error = second == KILL and first != LEAST_LENGTH
    if LEAST_LENGTH <= first < LIMIT and second in COMMANDS and not is_error:
        return "client"
    return "server" if first in STATUS_NAMES and second < LIMIT else None


def _directory(path: Path, wanted: DecodeOptions) -> Iterator[Entry]:
    logs = sorted(each for each in path.rglob("*.log") if read_log_name(each.name) is not None)
    if not logs:
        raise UsageFault(f"{path}: no log of a segment in it (20 digits and .log)")
    for log in logs:
        name = log.relative_to(path).as_posix()
        yield Heading(name)
        with log.open("rb") as opened:
            if not log.stat().st_size:
                continue
            for entry in _decode(opened, replace(wanted, side="log"), name):
                yield replace(entry, where=name) if isinstance(entry, Broken) else entry
                if isinstance(entry, Broken):
                    return


def _decode(source: BinaryIO, wanted: DecodeOptions, name: str) -> Iterator[Entry]:
    head = source.read(HEAD)
    if not head:
        raise UsageFault(f"{name} is empty: there is nothing to decode")
    apache_side = recognise_apache(head)
    is_apache = wanted.generation == "apache" or (
        wanted.generation is None
        and apache_side is not None
        and not (wanted.old_layout or begins_message(head))
    )
    side = wanted.side or (apache_side if is_apache else recognise_side(head))
    if side is None:
        raise UsageFault(
            f"cannot tell what {name} is by its first bytes ({head[:8].hex(' ')}); "
            "say it with --side client, server or log"
        )
    return decode_apache(source, side, head) if is_apache else _SIDES[side](source, wanted, head)


def _requests(source: BinaryIO, wanted: DecodeOptions, head: bytes = b"") -> Iterator[Entry]:
    reader = RequestReader(LIMIT)
    reader.feed(head)
    tell = partial(_request, generation=framed(wanted.generation or "published"))
    return _values(source, reader, reader.next_request, REQUEST, tell)


def _responses(source: BinaryIO, wanted: DecodeOptions, head: bytes = b"") -> Iterator[Entry]:
    reader = ResponseReader(LIMIT)
    reader.feed(head)
    tell = partial(_response, generation=framed(wanted.generation or "published"))
    return _values(source, reader, reader.next_response, RESPONSE, tell)


def _messages(source: BinaryIO, wanted: DecodeOptions, head: bytes = b"") -> Iterator[Entry]:
    schema = OLD_MESSAGE if wanted.old_layout else MESSAGE
    reader = MessageReader(LIMIT, schema=schema)
    reader.feed(head)
    return _values(source, reader, reader.next_message, schema, partial(_message, schema))


_SIDES: dict[Side, Callable[[BinaryIO, DecodeOptions, bytes], Iterator[Entry]]] = {
    "client": _requests,
    "server": _responses,
    "log": _messages,
}


def _values(
    source: BinaryIO,
    reader: _Reader,
    take: Callable[[], T | NeedMore],
    schema: Schema[T],
    tell: Callable[[int, T], Entry],
) -> Iterator[Entry]:
    """Yield each value of a stream, up to and including the first broken one."""
    while True:
        start = reader.offset
        try:
            value = take()
        except WireError as error:
            yield _make_broken(schema, reader.pending, start, error.at(-start))
            return
        if not isinstance(value, NeedMore):
            entry = tell(start, value)
            yield entry
            if isinstance(entry, Broken):
                return
        elif piece := source.read(CHUNK):
            reader.feed(piece)
        else:
            break
    if reader.pending:
        try:
            decode(schema, reader.pending)
        except WireError as error:
            yield _make_broken(schema, reader.pending, start, error)


def _make_broken(schema: Schema[T], data: bytes, start: int, error: WireError) -> Broken:
    """Return a Broken for bytes that violate a schema; ``error`` counts from the first byte."""
    data = data[:CHUNK]
    return Broken(start, data, error.at(start), lambda: fault_parts(spans(schema, data), error))


def _request(start: int, request: Request, *, generation: Generation) -> Entry:
    data = encode(REQUEST, request)
    try:
        schema = payload_schema(request.code, generation)
    except LookupError:
        expected, found = f"a command of the {generation} generation", str(request.code)
        error = WireError(
            clause="iggy.frame.command", field="code", offset=4, expected=expected, found=found
        )
        return _make_broken(REQUEST, data, start, error)
    try:
        value = decode(schema, request.payload)
    except WireError as error:
        return _broken_payload(schema, data, start, error)
    command = COMMANDS[request.code]
    title = f"{command}   {_count(value)}".rstrip()
    parts = partial(_framed_parts, _head(REQUEST, data), schema, request.payload)
    return Decoded(
        "request",
        start,
        data,
        None,
        TitledFormatter(title, parts, partial(_describe_request, command, value)),
    )


def _broken_payload(schema: Schema[Payload], data: bytes, start: int, error: WireError) -> Broken:
    def parts() -> list[Part]:
        refused = fault_parts(spans(schema, data[FRAME_HEAD:]), error, shift=FRAME_HEAD)
        return [*_head(REQUEST, data), *refused]

    return Broken(start, data, error.at(start + FRAME_HEAD), parts)


def _count(value: Payload | PolledMessages) -> str:
    if not isinstance(value, SendMessages | PolledMessages):
        return ""
    return _count_noun(len(value.messages), "message")


def _count_noun(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _describe_request(command: str, value: Payload) -> Sequence[JsonObject]:
    told = plain(value)
    fields = told if isinstance(told, dict) else {}
    return [{"kind": "request", "command": command, **fields}]


def _response(start: int, response: Response, *, generation: Generation) -> Entry:
    data = encode(RESPONSE, response)
    try:
        polled = read_polled(generation, response)
    except WireError as error:
        return _broken_poll(generation, data, start, error)
    name = STATUS_NAMES.get(response.status, "unknown status")
    if polled is None:
        said = f"{count_bytes(len(response.body))} of body" if response.body else "no body"
        title = f"{response.status} {name}   {said}"
        parts = partial(_parts, RESPONSE, data)
        objects = partial(_describe_response, response, name)
    else:
        wrong = wrong_checksums(polled.messages, "messages[{}].checksum")
        title = f"0 ok   {_count(polled)}"
        title += f"   {_count_noun(len(wrong), 'wrong checksum')}" if wrong else ""
        schema = polled_messages_schema(generation)
        parts = partial(_framed_parts, _head(RESPONSE, data), schema, response.body, wrong)
        objects = partial(_describe_delivered, polled)
    return Decoded("response", start, data, None, TitledFormatter(title, parts, objects))


def _broken_poll(generation: Generation, data: bytes, start: int, error: WireError) -> Broken:
    """Return a poll response of which a message cannot be decoded, with the messages before."""
    schema, body = polled_messages_schema(generation), data[FRAME_HEAD:]

    def parts() -> list[Part]:
        before = list(messages_before_error(generation, body))
        due = wrong_checksums(before, "messages[{}].checksum")
        refused = fault_parts(spans(schema, body), error, shift=FRAME_HEAD, due=due)
        return [*_head(RESPONSE, data), *refused]

    def objects() -> list[JsonObject]:
        return [message_object(each) for each in messages_before_error(generation, body)]

    return Broken(start, data, error.at(start + FRAME_HEAD), parts, objects=objects)


def _describe_response(response: Response, name: str) -> Sequence[JsonObject]:
    return [
        {
            "kind": "response",
            "status": response.status,
            "name": name,
            "body_hex": response.body.hex(),
        }
    ]


def _describe_delivered(polled: PolledMessages) -> Sequence[JsonObject]:
    return [message_object(message) for message in polled.messages]


def _message(schema: Schema[Message], start: int, message: Message) -> Entry:
    data = encode(schema, message)

    def objects() -> Sequence[JsonObject]:
        return [{"position": start, "size": len(data), **message_object(message)}]

    parts = partial(_parts, schema, data, wrong_checksums([message], "checksum"))
    return Decoded(
        "message", start, data, None, TitledFormatter(message_title(message), parts, objects)
    )


def _parts(
    schema: Schema[T], data: bytes, due: Mapping[str, int] = MappingProxyType({})
) -> list[Part]:
    return parts_of(spans(schema, data), due=due)


def _framed_parts(
    head: Sequence[Part],
    schema: Schema[T],
    inner: bytes,
    due: Mapping[str, int] = MappingProxyType({}),
) -> list[Part]:
    """Return the parts of a frame: those of its header, then those of its body."""
    return [*head, *parts_of(spans(schema, inner), shift=FRAME_HEAD, due=due)]


def _head(schema: Schema[T], data: bytes) -> list[Part]:
    return parts_of(span for span in spans(schema, data) if span.offset < FRAME_HEAD)
