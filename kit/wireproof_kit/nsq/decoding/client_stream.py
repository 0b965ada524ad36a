"""Decodes the bytes of a client on one connection: the magic, then commands and bodies."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, JsonObject, TitledFormatter
from wireproof_kit.decoding.printable import clip, printable
from wireproof_kit.nsq.decoding.annotation import fault_parts, parts_of, text_of
from wireproof_kit.nsq.decoding.byte_source import CHUNK, LIMIT, ByteSource
from wireproof_kit.nsq.decoding.message_fields import header_fields
from wireproof_kit.wire.transcript import Part
from wireproof_spec.decoding import decode, spans
from wireproof_spec.nsq import names
from wireproof_spec.nsq.acknowledge import Finish, Requeue, Touch
from wireproof_spec.nsq.command import COMMAND_LINE, CommandLine
from wireproof_spec.nsq.command_reader import BODIES, Body, Command, CommandReader
from wireproof_spec.nsq.identify import AuthBody, IdentifyBody
from wireproof_spec.nsq.names import FIN, REQ, TOUCH
from wireproof_spec.nsq.publish import (
    MpubBody,
    MpubExtBody,
    MpubTraceBody,
    PubBody,
    PubExtBody,
    PubTraceBody,
)
from wireproof_spec.stream import NEED_MORE
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

Message = PubBody | PubTraceBody | PubExtBody
ID = 8
"""Bytes of an internal id or trace id."""


def list_published(command: Command) -> Sequence[JsonObject]:
    """Return the messages that a command publishes as JSON; none for any other command."""
    line = command.line.value
    if command.body is None or not isinstance(line, CommandLine):
        return []
    words = [_text(word) for word in line.parameters]
    head: dict[str, JsonValue] = {
        "kind": "message",
        "command": _text(line.name),
        "topic": words[0] if words else None,
        "partition": _number(words[1]) if len(words) == 2 else None,
    }
    return [
        {**head, "index": index, **_message(message)}
        for index, message in enumerate(_messages(command.body.value))
    ]


def describe_command(command: Command) -> JsonObject:
    """Return the JSON object of a command that publishes nothing."""
    line = command.line.value
    fields: dict[str, JsonValue] = {"kind": "command"}
    if isinstance(line, CommandLine):
        fields["command"] = _text(line.name)
        fields["parameters"] = [_text(word) for word in line.parameters]
    else:
        fields["command"] = _text(_ACKNOWLEDGEMENTS[type(line)])
        fields["internal_id"] = str(int.from_bytes(line.message_id[:ID], "big"))
        fields["trace_id"] = str(int.from_bytes(line.message_id[ID:], "big"))
    if isinstance(line, Requeue):
        fields["timeout_ms"] = line.timeout_ms
    if command.body is not None:
        fields |= _body(command.body.value)
    return fields


_ACKNOWLEDGEMENTS = {Finish: FIN, Requeue: REQ, Touch: TOUCH}


def _messages(body: Body) -> Sequence[Message]:
    if isinstance(body, MpubBody | MpubTraceBody | MpubExtBody):
        return body.messages
    return [body] if isinstance(body, Message) else []


def _message(message: Message) -> dict[str, JsonValue]:
    header = message.json_header if isinstance(message, PubExtBody) else None
    trace_id = str(message.trace_id) if isinstance(message, PubTraceBody) else None
    unknown: dict[str, JsonValue] = {"timestamp_ns": None, "attempts": None, "internal_id": None}
    return {
        **unknown,
        "trace_id": trace_id,
        **header_fields(header),
        "body_hex": message.body.hex(),
    }


def _body(body: Body) -> dict[str, JsonValue]:
    if isinstance(body, IdentifyBody):
        return header_fields(body.json, name="json")
    return {"secret_hex": body.secret.hex()} if isinstance(body, AuthBody) else {}


def _text(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")


def _number(word: str) -> JsonValue:
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else word


ACKNOWLEDGEMENTS: Final = (names.FIN, names.REQ, names.TOUCH)
WORDS: Final = frozenset(
    {
        *BODIES,
        *ACKNOWLEDGEMENTS,
        names.SUB,
        names.SUB_ORDER,
        names.SUB_ORDERED,
        names.SUB_ADVANCED,
        names.RDY,
        names.CLS,
        names.NOP,
        names.INTERNAL_CREATE_TOPIC,
    }
)
"""The names of all commands; after another name, it is unknown whether a body follows."""
TITLE = 60
"""The most characters of a command line in a title."""


def client_commands(source: ByteSource) -> Iterator[Entry]:
    """Yield the magic, if present, and each decoded command, up to the first error."""
    if source.peek(len(names.MAGIC)) == names.MAGIC:
        source.take(len(names.MAGIC))
        yield _magic()
    start = source.offset
    reader = CommandReader(message_limit=LIMIT, body_limit=LIMIT)
    while True:
        at = start + reader.offset
        try:
            command = reader.next_command()
        except WireError as error:
            yield _make_broken(reader.pending, at, error.at(start - at))
            return
        if command is not NEED_MORE:
            entry = _command(at, command)
            yield entry
            if isinstance(entry, Broken):
                return
        elif piece := source.take(CHUNK):
            reader.feed(piece)
        else:
            break
    if reader.pending:
        yield _make_broken(reader.pending, at, _cut(reader.pending))


def _magic() -> Decoded:
    parts = [Part(0, len(names.MAGIC), "magic")]
    fields: JsonObject = {"kind": "magic", "offset": 0, "length": len(names.MAGIC)}
    return Decoded(
        "magic",
        0,
        names.MAGIC,
        None,
        TitledFormatter("version 2", lambda: parts, lambda: [fields]),
    )


def _command(start: int, command: Command) -> Entry:
    line = command.line
    data = line.data + (command.body.data if command.body else b"")
    if isinstance(line.value, CommandLine) and line.value.name not in WORDS:
        error = WireError(
            clause=COMMAND_LINE.clause,
            field="name",
            offset=0,
            expected="a command",
            found=text_of(line.value.name),
        )
        return _make_broken(data, start, error)
    title = clip(printable(line.data.decode("utf-8", "replace").rstrip("\r\n")), TITLE)
    kind = (
        "message" if isinstance(line.value, CommandLine) and list_published(command) else "command"
    )
    parts = partial(_parts, command)
    return Decoded(
        kind,
        start,
        data,
        None,
        TitledFormatter(title, parts, partial(_objects, start, len(data), command)),
    )


def _objects(start: int, length: int, command: Command) -> Sequence[JsonObject]:
    place = {"offset": start, "length": length}
    return [
        {**fields, **place} for fields in list_published(command) or [describe_command(command)]
    ]


def _parts(command: Command) -> list[Part]:
    line, body = command.line, command.body
    if not isinstance(line.value, CommandLine):
        return parts_of(spans(line.schema, line.data), line.data)
    size = len(line.data)
    of_line = Part(0, size, "command line")
    if body is None:
        return [of_line]
    return [of_line, *parts_of(spans(body.schema, body.data), body.data, shift=size)]


def _make_broken(data: bytes, start: int, error: WireError) -> Broken:
    def parts() -> list[Part]:
        size = _line_size(data)
        schema = BODIES.get(_name(data))
        if not size or schema is None or error.offset < size:
            reason = f"{error.field}: expected {error.expected}, found {error.found}"
            return [Part(0, size or len(data), reason)]
        body = data[size:]
        of_body = fault_parts(spans(schema, body), body, error, shift=size)
        return [Part(0, size, "command line"), *of_body]

    return Broken(start, data[:CHUNK], error.at(start), parts)


def _cut(data: bytes) -> WireError:
    """Return the fault of an incomplete command at the end of the bytes."""
    size = _line_size(data)
    schema = BODIES.get(_name(data))
    if size and schema is not None:
        try:
            decode(schema, data[size:])
        except WireError as error:
            return error.at(size)
    return WireError(
        clause=COMMAND_LINE.clause,
        field="line",
        offset=0,
        expected="a line feed at its end",
        found=f"{len(data)} bytes and the end",
    )


def _line_size(data: bytes) -> int:
    """Return the size of the command line at the beginning; 0 when it is incomplete."""
    return 0 if _name(data) in ACKNOWLEDGEMENTS else data.find(b"\n") + 1


def _name(data: bytes) -> bytes:
    return data.partition(b"\n")[0].rstrip(b"\r").partition(b" ")[0]
