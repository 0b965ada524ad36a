"""Requests to send, with every byte range labelled by the field names of the grammar.

Every builder returns a right request. What a case makes wrong on purpose it changes afterwards:
``overwritten`` puts another number into a field, ``Outgoing.replace`` other bytes, ``resized``
makes the frame's length right again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from wireproof_kit.wire.outgoing import Outgoing, from_grammar, label
from wireproof_kit.wire.outgoing import overwritten as _overwritten
from wireproof_kit.wire.transcript import LateParts, Part
from wireproof_spec.decoding import encode, spans
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import NOTHING, Nothing, Payload, payload_schema
from wireproof_spec.iggy.commands import COMMANDS
from wireproof_spec.iggy.frame import REQUEST, Request
from wireproof_spec.iggy.generation import CreateForm, Generation

HEAD_SIZE = 8
LENGTH_SIZE = 4


def request(
    code: int,
    payload: Payload,
    generation: Generation = "published",
    create: CreateForm | None = None,
) -> Outgoing:
    """Return the bytes of a request: a command's code with a valid payload."""
    built = from_grammar(payload_schema(code, generation, create), payload)
    return frame_request(code, built, what=COMMANDS[code])


def ping() -> Outgoing:
    """Return a ping request, which is the same in every generation."""
    return frame_request(commands.PING, from_grammar(NOTHING, Nothing()), what="ping")


def frame_request(code: int, payload: Outgoing, *, what: str = "") -> Outgoing:
    """Return a request with any command code and any payload bytes; the length field is right."""
    data = encode(REQUEST, Request(code, payload.data))
    name = what or f"command {code}"

    def parts() -> Iterator[Part]:
        for span in spans(REQUEST, data[:HEAD_SIZE]):
            if span.offset < HEAD_SIZE and span.field in ("length", "code"):
                value = _code(code) if span.field == "code" else str(len(data) - LENGTH_SIZE)
                yield Part(span.offset, LENGTH_SIZE, label(span.field, value))
        yield from (replace(part, offset=part.offset + HEAD_SIZE) for part in payload.parts)

    return Outgoing(data, LateParts(parts), name, is_cut=payload.is_cut)


def raw(data: bytes, what: str) -> Outgoing:
    """Return any bytes as an unlabelled request."""
    return Outgoing(data, (), what)


def overwritten(built: Outgoing, field: str, number: int) -> Outgoing:
    """Return a request with one field overwritten by a number, modulo the field's width."""
    return _overwritten(built, field, number, "little")


def payload_of(built: Outgoing) -> Outgoing:
    """Return the payload of a request."""
    return built.split(HEAD_SIZE)[1]


def cut(built: Outgoing, at: int) -> Outgoing:
    """Return a request with only the first ``at`` bytes of payload, and the right length field."""
    code = int.from_bytes(built.data[LENGTH_SIZE:HEAD_SIZE], "little")
    shorter = payload_of(built).cut(at)
    what = f"{built.what}, {len(shorter.data)} of {len(built.data) - HEAD_SIZE} bytes of payload"
    return replace(frame_request(code, shorter, what=what), is_cut=False)


def resize(built: Outgoing) -> Outgoing:
    """Return a request with its length field corrected after its payload was changed."""
    code = int.from_bytes(built.data[LENGTH_SIZE:HEAD_SIZE], "little")
    return frame_request(code, payload_of(built), what=built.what)


def lengthen(built: Outgoing, more: bytes) -> Outgoing:
    """Return a request with bytes appended to its payload, and the right length field."""
    stray = Outgoing(more, (Part(0, len(more), f"{len(more)} bytes more", wrong=True),))
    code = int.from_bytes(built.data[LENGTH_SIZE:HEAD_SIZE], "little")
    what = f"{built.what}, {len(more)} bytes behind it"
    return frame_request(code, payload_of(built) + stray, what=what)


def fields_of(built: Outgoing) -> Sequence[Part]:
    """Return the labelled parts of a request's payload, with offsets from its first byte."""
    return payload_of(built).parts


def _code(code: int) -> str:
    name = COMMANDS.get(code)
    return f"{code} ({name})" if name else f"{code} (no command)"
