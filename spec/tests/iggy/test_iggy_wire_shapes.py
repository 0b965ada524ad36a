"""Every wire shape of Iggy by one table of value and bytes, used in both directions."""

from typing import Any

import pytest
from iggy_shapes import SHAPES
from shape_rows import Row, check_both_ways, each_shape

from wireproof_spec.decoding import Schema, decode, encode, spans
from wireproof_spec.iggy.bodies.command_shapes import payload_schema
from wireproof_spec.iggy.bodies.consumer_groups import (
    CONSUMER_GROUP_DETAILS,
    CONSUMER_GROUPS,
)
from wireproof_spec.iggy.bodies.poll_messages import (
    POLL_MESSAGES,
    POLL_MESSAGES_TAGGED,
    POLLED_MESSAGES,
    POLLED_MESSAGES_TAGGED,
    poll_messages_schema,
    polled_messages_schema,
)
from wireproof_spec.iggy.bodies.send_messages import SEND_MESSAGES
from wireproof_spec.iggy.bodies.streams import (
    CREATE_STREAM,
    STREAM_DETAILS,
    STREAM_DETAILS_TAGGED,
    STREAMS,
    STREAMS_TAGGED,
)
from wireproof_spec.iggy.bodies.system import (
    CLIENTS,
    CLIENTS_TAGGED,
)
from wireproof_spec.iggy.bodies.topics import (
    CREATE_TOPIC,
    TOPIC_DETAILS,
    TOPIC_DETAILS_TAGGED,
    TOPICS,
    TOPICS_TAGGED,
)
from wireproof_spec.iggy.commands import COMMANDS
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.headers import HEADERS
from wireproof_spec.iggy.segment import (
    LOG,
    POSITION_INDEX,
    TIME_INDEX,
)
from wireproof_spec.wire_error import WireError

EACH = each_shape(SHAPES)
LAST_TAKES_ALL = {
    each.name
    for each in (
        *(HEADERS, SEND_MESSAGES, LOG, POSITION_INDEX, TIME_INDEX),
        *(CREATE_STREAM, STREAMS, STREAMS_TAGGED, STREAM_DETAILS, STREAM_DETAILS_TAGGED),
        *(CREATE_TOPIC, TOPICS, TOPICS_TAGGED, TOPIC_DETAILS, TOPIC_DETAILS_TAGGED),
        *(CLIENTS, CLIENTS_TAGGED, CONSUMER_GROUPS, CONSUMER_GROUP_DETAILS),
    )
}
"""What ends with as many of one shape, or letters, as there are."""


@EACH
def test_a_value_and_its_bytes_make_each_other(row: Row) -> None:
    check_both_ways(row)


@EACH
def test_a_cut_is_refused_where_the_bytes_run_out(row: Row) -> None:
    schema, data = row.schema, row.data
    for cut in range(len(data)):
        found = attempted(schema, data[:cut])
        if not isinstance(found, WireError):
            assert schema.name in LAST_TAKES_ALL
            assert encode(schema, found) == data[:cut]
            continue
        last = spans(schema, data[:cut])[-1]
        assert found.offset <= cut
        assert found.clause == schema.clause
        assert (last.field, last.offset) == (found.field, found.offset)
        assert last.offset + last.length == cut


@EACH
def test_trailing_bytes_are_refused(row: Row) -> None:
    schema, data = row.schema, row.data
    if schema.name in LAST_TAKES_ALL:
        assert attempted(schema, data + b"\x00") != row.value
        return
    with pytest.raises(WireError) as caught:
        decode(schema, data + b"\x00")
    assert (caught.value.field, caught.value.offset) == ("end", len(data))


def attempted(schema: Schema[Any], data: bytes) -> object:
    try:
        return decode(schema, data)
    except WireError as error:
        return error


@pytest.mark.parametrize("generation", ["published", "tagged"])
def test_commands_with_a_shape_are_known_by_name(generation: Generation) -> None:
    shapes = {code: shape_of(code, generation) for code in range(700)}
    known = {code: shape for code, shape in shapes.items() if shape is not None}

    assert set(known) <= set(COMMANDS)
    assert len(known) == {"published": 26, "tagged": 21}[generation]
    for shape in known.values():
        assert not shape.name.endswith(", tagged") or generation == "tagged"


def shape_of(code: int, generation: Generation) -> Schema[Any] | None:
    try:
        return payload_schema(code, generation)
    except LookupError:
        return None


def test_a_generation_has_its_poll() -> None:
    assert poll_messages_schema("published") is POLL_MESSAGES
    assert poll_messages_schema("tagged") is POLL_MESSAGES_TAGGED
    assert polled_messages_schema("published") is POLLED_MESSAGES
    assert polled_messages_schema("tagged") is POLLED_MESSAGES_TAGGED
