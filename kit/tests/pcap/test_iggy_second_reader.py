"""construct and scapy read Iggy alike: all that was recorded, and all that can be drawn."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
from example_count import examples
from fuzz_grammars import IGGY_NAMES
from fuzz_grammars import frames as frames_of
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_values import built
from second_reader import REFUSED, Row, agree, by_construct, by_scapy, changed, dissected, spanned

from wireproof_kit.fuzz.generate.grammar import Kind
from wireproof_kit.iggy.fuzz.frames import TCP
from wireproof_kit.iggy.fuzz.grammar import grammar as iggy_grammar
from wireproof_kit.iggy.pcap import messages, requests, responses
from wireproof_kit.pcap.layer import Layer, LayerViolation, Short, cut
from wireproof_spec.decoding import Schema, decode
from wireproof_spec.iggy import commands, golden, message, segment
from wireproof_spec.iggy.bodies import (
    command_shapes,
    consumer_groups,
    consumer_offsets,
    poll_messages,
    streams,
    system,
    topics,
)
from wireproof_spec.iggy.frame import (
    REQUEST,
    RESPONSE,
    Request,
    RequestReader,
    Response,
    ResponseReader,
    request,
)
from wireproof_spec.wire_error import WireError

LIMIT = 1 << 32
SAME = {
    "content": "payload",
    "headers_length": "length",
    "consumer_group_id": "group_id",
    "number": "partitions",
    **dict.fromkeys(["stream_name", "topic_name"], "name"),
    **dict.fromkeys(["stream_name_length", "topic_name_length"], "name_length"),
}
"""Field of a layer → field of the grammar, where the texts have no word for it."""

PAYLOADS: dict[int, tuple[Schema[Any], type[Layer]]] = {
    code: (command_shapes.payload_schema(code), kind)
    for code, (_, kind) in requests.COMMANDS.items()
}
_BODIES: dict[int, Schema[Any]] = {
    commands.GET_STATS: system.STATS,
    commands.GET_ME: system.CLIENT_DETAILS,
    commands.GET_CLIENT: system.CLIENT_DETAILS,
    commands.GET_CLIENTS: system.CLIENTS,
    commands.POLL_MESSAGES: poll_messages.POLLED_MESSAGES,
    commands.GET_CONSUMER_OFFSET: consumer_offsets.CONSUMER_OFFSET,
    commands.GET_STREAM: streams.STREAM_DETAILS,
    commands.GET_STREAMS: streams.STREAMS,
    commands.GET_TOPIC: topics.TOPIC_DETAILS,
    commands.GET_TOPICS: topics.TOPICS,
    commands.GET_CONSUMER_GROUP: consumer_groups.CONSUMER_GROUP_DETAILS,
    commands.GET_CONSUMER_GROUPS: consumer_groups.CONSUMER_GROUPS,
}
BODIES = {code: (schema, responses.BODIES[code]) for code, schema in _BODIES.items()}
OTHERS: list[tuple[Schema[Any], type[Layer]]] = [
    (message.MESSAGE, messages.Message),
    (message.OLD_MESSAGE, messages.OldMessage),
    (poll_messages.POLLED_MESSAGES_OLD, messages.OldPolled),
    (poll_messages.POLLED_MESSAGES_TAGGED, messages.PolledWithPlace),
]
INNER = [*PAYLOADS.values(), *BODIES.values(), *OTHERS]
EACH_INNER = pytest.mark.parametrize(
    ("schema", "kind"), dict.fromkeys(INNER), ids=lambda each: getattr(each, "name", "")
)


def payload_by_construct(schema: Schema[Any], data: bytes) -> list[Row] | str:
    """Read a payload; what stands behind a poll is ignored, as its schema says."""
    if schema is poll_messages.POLL_MESSAGES:
        try:
            decode(schema, data)
        except WireError as error:
            if error.field == "end":
                whole, behind = data[: error.offset], data[error.offset :]
                return [*spanned(schema, whole), ("ignored", behind, "")]
    return by_construct(schema, data)


def read_alike(schema: Schema[Any], kind: type[Layer], data: bytes) -> None:
    agree(payload_by_construct(schema, data), by_scapy(kind, data, SAME))


def request_by_construct(frame: bytes) -> list[Row] | str:
    code = decode(REQUEST, frame).code
    if code not in PAYLOADS:
        return REFUSED
    return with_inner(REQUEST, frame, payload_by_construct(PAYLOADS[code][0], frame[8:]))


def response_by_construct(frame: bytes, code: int) -> list[Row] | str:
    if decode(RESPONSE, frame).status == 0 and code in BODIES:
        return with_inner(RESPONSE, frame, by_construct(BODIES[code][0], frame[8:]))
    return head(RESPONSE, frame) if len(frame) == 8 else REFUSED


def with_inner(schema: Schema[Any], frame: bytes, inner: list[Row] | str) -> list[Row] | str:
    """Put the rows of what a frame encloses in the place of the one that is all of it."""
    return inner if isinstance(inner, str) else head(schema, frame) + inner


def head(schema: Schema[Any], frame: bytes) -> list[Row]:
    return [row for row in spanned(schema, frame) if row[0] not in ("payload", "body")]


def framed_by_scapy(read: Callable[[bytes], tuple[Layer, bytes]], data: bytes) -> list[Row] | str:
    try:
        layer, behind = read(data)
    except LayerViolation:
        return REFUSED
    assert not behind
    return list(dissected(layer, SAME))


def requests_alike(stream: bytes) -> list[int]:
    """Hold the readings of a client's stream against each other; return the codes of it."""
    reader = RequestReader(LIMIT)
    reader.feed(stream)
    codes: list[int] = []
    refused = False
    start = 0
    try:
        while isinstance(request := reader.next_request(), Request):
            frame = stream[start : reader.offset]
            agree(request_by_construct(frame), framed_by_scapy(requests.read_request, frame))
            codes.append(request.code)
            start = reader.offset
    except WireError:
        refused = True
    with pytest.raises(LayerViolation if refused else Short):
        requests.read_request(stream[start:])
    return codes


def responses_alike(stream: bytes, codes: Iterable[int]) -> int:
    """Hold the readings of a server's stream against each other; return how many there are."""
    reader = ResponseReader(LIMIT)
    reader.feed(stream)
    start = number = 0
    for code in codes:
        if not isinstance(reader.next_response(), Response):
            break
        number += 1
        frame = stream[start : reader.offset]
        read = partial(responses.read_response, code=code)
        agree(response_by_construct(frame, code), framed_by_scapy(read, frame))
        start = reader.offset
    with pytest.raises(Short):
        responses.read_response(stream[start:], code=commands.PING)
    return number


def test_recorded_streams() -> None:
    asked = answered = 0
    for scenario in golden.tcp():
        for connection in dict.fromkeys(step.connection for step in scenario.steps):
            codes = requests_alike(joined(scenario, connection, "c2s"))
            asked += len(codes)
            answered += responses_alike(joined(scenario, connection, "s2c"), codes)

    assert asked > 350
    assert answered > 300


def test_recorded_segment() -> None:
    log = golden.folder() / "iggy-disk" / segment.log_name(0)
    data = log.read_bytes()
    number = 0
    while data:
        layer, behind = cut(messages.Message, data)
        whole = data[: len(data) - len(behind)]
        agree(by_construct(message.MESSAGE, whole), list(dissected(layer, SAME)))
        data, number = behind, number + 1

    assert number == 19


def joined(scenario: golden.TcpScenario, connection: str, direction: str) -> bytes:
    return b"".join(
        step.data
        for step in scenario.steps
        if (step.connection, step.direction) == (connection, direction)
    )


@pytest.mark.slow
@EACH_INNER
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_drawn_and_damaged_payloads(
    schema: Schema[Any], kind: type[Layer], data: st.DataObject
) -> None:
    whole = data.draw(built(schema).map(lambda pair: pair[1]))
    assert payload_by_construct(schema, whole) != REFUSED
    read_alike(schema, kind, whole)

    read_alike(schema, kind, data.draw(changed(st.just(whole))))


REQUESTS = st.builds(
    lambda code, payload: request(code, payload),
    st.sampled_from([*PAYLOADS, commands.LOGIN_USER, 999]),
    st.sampled_from([schema for schema, _ in PAYLOADS.values()]).flatmap(
        lambda schema: built(schema).map(lambda pair: pair[1])
    ),
)


@settings(max_examples=examples(100), deadline=None)
@given(changed(st.lists(REQUESTS, max_size=3).map(b"".join)))
def test_damaged_streams(stream: bytes) -> None:
    requests_alike(stream)


FUZZED = [kind for kind in iggy_grammar(IGGY_NAMES, scapy=True).kinds if kind.interface == TCP]


@pytest.mark.parametrize("kind", FUZZED, ids=lambda kind: str(kind.name))
def test_frames_of_the_fuzzer(kind: Kind) -> None:
    for frame in frames_of(kind):
        assert len(requests_alike(frame.data)) == 1
