"""Faults in the words and the JSON of a well-formed command."""

from collections.abc import Iterator

from wireproof_spec import json_schema, strict_json
from wireproof_spec.decoding import Span, spans
from wireproof_spec.nsq.command import CommandLine
from wireproof_spec.nsq.command_reader import Command
from wireproof_spec.nsq.parameters import parameter_faults
from wireproof_spec.wire_error import WireError

_JSON_SCHEMAS = {"json": "nsq/identify-request", "json_header": "nsq/ext-header"}


def command_faults(command: Command) -> tuple[WireError, ...]:
    """Return what is invalid in a client's command; offsets count from its first byte.

    The field of a JSON fault is the part's name with the JSON pointer (`json_header/##trace_id`).
    Its offset is where the JSON starts or, if it is malformed, where it breaks.
    """
    line, body = command.line, command.body
    faults: list[WireError] = []
    if isinstance(line.value, CommandLine):
        faults += parameter_faults(line.value)
    if body is not None:
        found = (
            _json_faults(span, body.data, body.schema.clause)
            for span in spans(body.schema, body.data)
        )
        faults += (fault.at(len(line.data)) for each in found for fault in each)
    return tuple(faults)


def _json_faults(span: Span, data: bytes, clause: str) -> Iterator[WireError]:
    batch, _, leaf = span.field.rpartition(".")
    if leaf not in _JSON_SCHEMAS or (batch and not span.length):
        return  # in a batch, a message may come without a header: length 0

    def fault(offset: int, pointer: str, expected: str, found: str) -> WireError:
        return WireError(
            clause=clause,
            field=span.field + pointer,
            offset=span.offset + offset,
            expected=expected,
            found=found,
        )

    try:
        json = strict_json.read(data[span.offset : span.offset + span.length])
    except WireError as error:
        yield fault(error.offset, "", error.expected, error.found)
        return
    for liberty in json.faults:
        yield fault(0, liberty.pointer, f"no {liberty.kind}", liberty.text)
    for breach in json_schema.check(_JSON_SCHEMAS[leaf], json.value):
        yield fault(0, breach.pointer, breach.expected, breach.found)
