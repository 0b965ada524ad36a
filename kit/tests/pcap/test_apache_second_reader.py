"""construct and scapy read generation apache alike: what was recorded, and what can be drawn."""

from typing import Any

import pytest
from example_count import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_values import built
from second_reader import agree, by_construct, by_scapy, changed, dissected

from wireproof_kit.iggy.pcap import apache, apache_bodies
from wireproof_kit.pcap.layer import Layer, LayerViolation, cut
from wireproof_spec.decoding import Schema
from wireproof_spec.iggy import golden
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import BATCH, MESSAGE_FRAME, read_batches
from wireproof_spec.iggy.apache.bodies import groups, messages, places, resources, results
from wireproof_spec.iggy.apache.bodies.request_shapes import request_schema
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import FrameReader, NeedMore
from wireproof_spec.iggy.apache.header import (
    EVICTION_HEADER,
    HEADER_SIZE,
    REPLY_HEADER,
    REQUEST_HEADER,
)
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS
from wireproof_spec.iggy.golden import TcpScenario
from wireproof_spec.wire_error import WireError

SAME = {
    "frame_command": "command",
    "payload_bytes": "payload",
    "label": "name",
    "label_length": "name_length",
}
INNER: list[tuple[Schema[Any], type[Layer]]] = [
    (OWN.login, apache_bodies.Login),
    (USER_HEADERS, apache_bodies.UserHeaders),
    (MESSAGE_FRAME, apache_bodies.Frame),
    (BATCH, apache_bodies.Batch),
    (messages.SEND_MESSAGES, apache_bodies.Send),
    (messages.POLL_MESSAGES, apache_bodies.Poll),
    (messages.GET_CONSUMER_OFFSET, apache_bodies.GetOffset),
    (messages.STORE_CONSUMER_OFFSET, apache_bodies.StoreOffset),
    (messages.DELETE_CONSUMER_OFFSET, apache_bodies.DeleteOffset),
    (messages.CONSUMER_OFFSET, apache_bodies.Offset),
    (resources.CREATE_STREAM, apache_bodies.CreateStream),
    (resources.CREATE_TOPIC, apache_bodies.CreateTopic),
    (places.STREAM_REQUEST, apache_bodies.OfStream),
    (places.TOPIC_REQUEST, apache_bodies.OfTopic),
    (groups.CREATE_GROUP, apache_bodies.CreateGroup),
    (groups.GROUP_REQUEST, apache_bodies.OfGroup),
    (results.RESULT, apache_bodies.Result),
    (results.CONFIRMATIONS, apache_bodies.Confirmations),
]
HEADERS: list[tuple[Schema[Any], type[Layer]]] = [
    (REQUEST_HEADER, apache.Request),
    (REPLY_HEADER, apache.Reply),
    (EVICTION_HEADER, apache.Eviction),
]
SCHEMAS = {kind: schema for schema, kind in INNER}
EACH_INNER = pytest.mark.parametrize(
    ("schema", "kind"), INNER, ids=lambda each: getattr(each, "name", "")
)


def frames_of(scenario: TcpScenario, connection: str, direction: str) -> list[bytes]:
    reader = FrameReader()
    for step in scenario.steps:
        if (step.connection, step.direction) == (connection, direction):
            reader.feed(step.data)
    found: list[bytes] = []
    try:
        while not isinstance(frame := reader.next_frame(), NeedMore):
            found.append(frame.head + frame.body)
    except WireError:
        with pytest.raises(LayerViolation):
            apache.read_request(reader.pending)
    return found


def read_alike(frame: bytes, code: int = 0, *, is_request: bool) -> str:
    """Hold both readings of a frame against each other; return the name of its body's layer."""
    schema, kind = next(
        each
        for each in HEADERS
        if each[1]().frame_command == frame[60] or each[0] is EVICTION_HEADER
    )
    head, _ = cut(kind, frame)
    head.remove_payload()
    agree(by_construct(schema, frame[:HEADER_SIZE]), list(dissected(head, SAME)))
    body = frame[HEADER_SIZE:]
    try:
        layer, behind = (
            apache.read_request(frame) if is_request else apache.read_reply(frame, code)
        )
    except LayerViolation:
        if is_request and (shape := shape_of(frame)):
            assert by_construct(shape, body) == "refused"
        return "refused"
    assert not behind
    found = type(layer.payload)
    if found is apache_bodies.Polled:
        batches = read_batches(body[OWN.poll_head_size :])
        assert len(batches) == len(layer.payload.batches)
    elif found in SCHEMAS:
        agree(by_construct(SCHEMAS[found], body), list(dissected(layer.payload, SAME)))
    return found.__name__


def shape_of(frame: bytes) -> Schema[Any] | None:
    operation, code = frame[176], int.from_bytes(frame[196:200], "little")
    if frame[60] != apache.Request().frame_command:
        return None
    try:
        return request_schema(OWN, operation, code)
    except LookupError:
        return None


def test_recorded_streams() -> None:
    seen: dict[str, int] = {}
    for scenario in (*golden.apache_tcp(), *golden.apache_clients()):
        for connection in dict.fromkeys(step.connection for step in scenario.steps):
            asked = frames_of(scenario, connection, "c2s")
            codes = {frame[168:176]: int.from_bytes(frame[196:200], "little") for frame in asked}
            names = [read_alike(each, is_request=True) for each in asked if each[60] == 5]
            for frame in frames_of(scenario, connection, "s2c"):
                is_read = frame[208] == operations.NON_REPLICATED
                code = codes.get(frame[200:208], 0) if is_read else 0
                names.append(read_alike(frame, code, is_request=False))
            for name in names:
                seen[name] = seen.get(name, 0) + 1
    assert seen["Send"] > 50
    assert seen["Polled"] > 90
    assert seen["Result"] > 150
    assert seen["Login"] > 90
    assert seen["Confirmations"] > 40
    assert seen["refused"] < 60


@EACH_INNER
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_drawn_and_damaged_bodies(
    schema: Schema[Any], kind: type[Layer], data: st.DataObject
) -> None:
    whole = data.draw(built(schema).map(lambda pair: pair[1]))
    agree(by_construct(schema, whole), by_scapy(kind, whole, SAME))

    other = data.draw(changed(st.just(whole)))
    agree(by_construct(schema, other), by_scapy(kind, other, SAME))
