"""What servers reject in a payload beyond its shape: ids of 0, names, counts, keys, sums.

A server rejects all of this while it parses, in the same way as a malformed shape, so one function
checks both. What a server rejects later, with a status, is not checked here.
"""

from collections.abc import Sequence
from functools import singledispatch

from wireproof_spec.decoding import decode, spans
from wireproof_spec.iggy import limits
from wireproof_spec.iggy.bodies.command_shapes import Payload, payload_schema
from wireproof_spec.iggy.bodies.consumer_groups import GroupRequest
from wireproof_spec.iggy.bodies.send_messages import SendMessages
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_spec.iggy.bodies.system import ClientRequest
from wireproof_spec.iggy.bodies.topics import CreateTopic, PartitionsRequest
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.names import is_valid_name
from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import show_value

_NAME = "1 to 255 bytes of letters, digits, _, ., -, blanks"


class _Unfit(Exception):
    """A part that is never allowed; without a field if no single one is wrong."""

    def __init__(self, field: str, expected: str, found: object) -> None:
        super().__init__(field)
        self.field = field
        self.expected = expected
        self.found = found


def decode_payload(code: int, payload: bytes, generation: Generation = "published") -> Payload:
    """Decode the payload of a command and check its values.

    Raises:
        LookupError: the command is unknown.
        WireError: the payload does not fit its shape, or has a value that is never allowed.
    """
    schema = payload_schema(code, generation)
    value = decode(schema, payload)
    try:
        _refuse(value, generation)
    except _Unfit as unfit:
        places = {span.field: span.offset for span in spans(schema, payload)}
        raise WireError(
            clause=schema.clause,
            field=unfit.field,
            offset=places.get(unfit.field, len(payload)),
            expected=unfit.expected,
            found=show_value(unfit.found),
        ) from None
    return value


@singledispatch
def _refuse(value: object, generation: Generation) -> None:
    """Raise `_Unfit` if a request has a value that is never allowed; most requests cannot."""


@_refuse.register
def _(value: CreateStream, generation: Generation) -> None:
    if generation == "published":  # a tagged server chooses one itself
        _refuse_zero("stream_id", value.stream_id)
    _refuse_name(value.name)


@_refuse.register
def _(value: CreateTopic, generation: Generation) -> None:
    if generation == "published":
        _refuse_zero("topic_id", value.topic_id)
    _refuse_beyond("partitions_count", value.partitions_count, 0, limits.MAX_PARTITIONS)
    _refuse_name(value.name)


@_refuse.register
def _(value: PartitionsRequest, generation: Generation) -> None:
    _refuse_beyond("count", value.count, 1, limits.MAX_PARTITIONS)


@_refuse.register
def _(value: GroupRequest, generation: Generation) -> None:
    _refuse_zero("group_id", value.group_id)


@_refuse.register
def _(value: ClientRequest, generation: Generation) -> None:
    _refuse_zero("client_id", value.client_id)


@_refuse.register
def _(value: SendMessages, generation: Generation) -> None:
    for index, message in enumerate(value.messages):
        _refuse_repeated(f"messages[{index}].headers", message.headers)
    values = sum(len(header.value) for each in value.messages for header in each.headers)
    payloads = sum(len(message.payload) for message in value.messages)
    most_values = limits.max_header_values_size(generation)
    _refuse_beyond("messages", values, 0, most_values, "bytes of header values")
    most_payloads = limits.max_payloads_size(generation)
    _refuse_beyond("messages", payloads, 0, most_payloads, "bytes of payloads")


def _refuse_zero(field: str, found: int) -> None:
    if found == 0:
        raise _Unfit(field, "at least 1", found)


def _refuse_beyond(field: str, found: int, lowest: int, highest: int, of: str = "") -> None:
    if not lowest <= found <= highest:
        raise _Unfit(field, f"{lowest} to {highest} {of}".rstrip(), found)


def _refuse_name(name: str) -> None:
    if not is_valid_name(name):
        raise _Unfit("name", _NAME, name)


def _refuse_repeated(field: str, headers: Sequence[Header]) -> None:
    seen: set[str] = set()
    for index, header in enumerate(headers):
        if header.key in seen:
            raise _Unfit(f"{field}[{index}].key", "a key that has not come yet", header.key)
        seen.add(header.key)
