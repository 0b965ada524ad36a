"""Decodes the bytes of a client on one connection: the magic, then commands and bodies."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, JsonObject, TitledFormatter
from wireproof_kit.decoding.printable import clip, printable
from wireproof_kit.nsq.decoding.annotation import fault_parts, parts_of, text_of
from wireproof_kit.nsq.decoding.byte_source import CHUNK, LIMIT, ByteSource
from wireproof_kit.nsq.decoding.commands import describe_command, list_published
from wireproof_kit.wire.transcript import Part
from wireproof_spec.decoding import decode, spans
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import COMMAND_LINE, CommandLine
from wireproof_spec.nsq.command_reader import BODIES, Command, CommandReader
from wireproof_spec.stream import NEED_MORE
from wireproof_spec.wire_error import WireError

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
"""The commands there are. After any other nobody can tell whether a body follows."""
TITLE = 60
"""Columns of a command line in a title."""


def client_commands(source: ByteSource) -> Iterator[Entry]:
    """Yield the magic, if present, and each command, up to the first fault."""
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
