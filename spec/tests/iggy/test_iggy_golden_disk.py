"""The segment grammar of Iggy against the files of a real server, as their manifest has them."""

import json
from typing import Any

import pytest
from check_each import check_each

from wireproof_spec.decoding import decode, encode, spans
from wireproof_spec.iggy import golden
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.frame import RESPONSE
from wireproof_spec.iggy.header_kinds import HEADER_KINDS, KIND_WIDTHS
from wireproof_spec.iggy.headers import HEADERS, Header
from wireproof_spec.iggy.message import (
    MESSAGE,
    MESSAGE_OF_KNOWN_STATE,
    OLD_MESSAGE,
    Message,
    MessageReader,
)
from wireproof_spec.iggy.segment import (
    LOG,
    POSITION_INDEX,
    TIME_INDEX,
    PositionIndex,
    TimeIndex,
    index_name,
    log_name,
    read_log_name,
    time_index_name,
)
from wireproof_spec.iggy.states import STATES, state_name
from wireproof_spec.stream import NEED_MORE
from wireproof_spec.wire_error import WireError

DISK = golden.folder() / "iggy-disk"
MANIFEST: dict[str, Any] = json.loads((DISK / "manifest.json").read_bytes())
RECORDED: list[dict[str, Any]] = MANIFEST["messages"]
LOG_BYTES = (DISK / log_name(0)).read_bytes()
EACH_MESSAGE = pytest.mark.parametrize("row", RECORDED, ids=lambda row: str(row["offset"]))
LIMIT = 1 << 20


def as_recorded(row: dict[str, Any]) -> Message:
    headers = tuple(
        Header(entry["key"], entry["kind_code"], bytes.fromhex(entry["value_hex"]))
        for entry in row["headers"] or ()
    )
    payload = bytes.fromhex(row["payload_hex"])
    state, checksum = row["state_code"], row["checksum"]
    return Message(
        row["offset"], state, row["timestamp"], int(row["id"]), checksum, headers, payload
    )


def piece(row: dict[str, Any]) -> bytes:
    return LOG_BYTES[row["position"] : row["position"] + row["size"]]


def test_the_log_is_read_to_its_manifest() -> None:
    assert list(decode(LOG, LOG_BYTES).messages) == list(map(as_recorded, RECORDED))


def test_the_log_is_built_back() -> None:
    assert encode(LOG, decode(LOG, LOG_BYTES)) == LOG_BYTES


@EACH_MESSAGE
def test_each_message_lies_where_the_manifest_says(row: dict[str, Any]) -> None:
    message = decode(MESSAGE, piece(row))

    assert message == as_recorded(row)
    assert encode(MESSAGE, message) == piece(row)
    assert decode(MESSAGE_OF_KNOWN_STATE, piece(row)) == message
    assert state_name(row["state_code"]) == row["state"]
    assert payload_checksum(message.payload) == message.checksum
    assert len(encode(HEADERS, message.headers)) == row["headers_length"]
    assert len(message.payload) == row["length"]


@pytest.mark.parametrize("step", [len(LOG_BYTES), 1, 7])
def test_the_log_is_read_in_pieces(step: int) -> None:
    reader = MessageReader(LIMIT)
    found: list[Message] = []
    places: list[int] = []
    for start in range(0, len(LOG_BYTES), step):
        reader.feed(LOG_BYTES[start : start + step])
        places.append(reader.offset)
        while (message := reader.next_message()) is not NEED_MORE:
            found.append(message)
            places.append(reader.offset)
    reader.finish()

    assert found == list(decode(LOG, LOG_BYTES).messages)
    assert {row["position"] for row in RECORDED} <= set(places)
    assert (reader.offset, reader.pending) == (len(LOG_BYTES), b"")


def test_the_indexes_tell_of_every_message() -> None:
    positions = (DISK / index_name(0)).read_bytes()
    times = (DISK / time_index_name(0)).read_bytes()

    assert decode(POSITION_INDEX, positions) == PositionIndex(
        tuple(row["position"] for row in RECORDED)
    )
    assert decode(TIME_INDEX, times) == TimeIndex(tuple(row["timestamp"] for row in RECORDED))
    assert encode(POSITION_INDEX, decode(POSITION_INDEX, positions)) == positions
    assert encode(TIME_INDEX, decode(TIME_INDEX, times)) == times


def test_every_file_bears_a_known_name() -> None:
    names = {log_name(0), index_name(0), time_index_name(0)}

    assert {entry.name for entry in DISK.iterdir()} == names | {"manifest.json"}
    assert {name for name in names if read_log_name(name) == 0} == {log_name(0)}


def test_the_segment_holds_every_kind_of_header_in_its_width() -> None:
    headers = [header for message in decode(LOG, LOG_BYTES).messages for header in message.headers]

    assert {header.kind for header in headers} == set(HEADER_KINDS)
    for header in headers:
        assert len(header.value) == KIND_WIDTHS.get(header.kind, len(header.value))


@pytest.mark.parametrize("cut", [1, 8, 9, 17, 33, 37, 41, 45, 57])
def test_a_log_cut_within_a_message_is_refused_in_that_message(cut: int) -> None:
    data = LOG_BYTES[: RECORDED[1]["position"] + cut]
    reader = MessageReader(LIMIT)
    reader.feed(data)
    assert reader.next_message() == as_recorded(RECORDED[0])
    assert reader.next_message() is NEED_MORE

    with pytest.raises(WireError) as whole:
        decode(LOG, data)
    with pytest.raises(WireError) as streamed:
        reader.finish()
    assert whole.value.field == f"messages[1].{streamed.value.field}"
    assert whole.value.offset == streamed.value.offset <= len(data)
    assert spans(LOG, data)[-1].field == whole.value.field


def test_a_length_over_the_limit_is_refused_where_it_stands() -> None:
    headers, payload = MessageReader(1000), MessageReader(1000)
    headers.feed(LOG_BYTES[:37] + (1001).to_bytes(4, "little"))
    payload.feed(LOG_BYTES[:41] + (1001).to_bytes(4, "little"))

    with pytest.raises(WireError, match=r"headers\.length at byte 37: expected at most 1000"):
        headers.next_message()
    with pytest.raises(WireError, match=r" length at byte 41: expected at most 1000, found 1001"):
        payload.next_message()


@check_each(range(256))
def test_a_changed_state_is_read_and_known_or_refused(state: int) -> None:
    data = LOG_BYTES[:8] + bytes([state]) + LOG_BYTES[9:58]

    assert decode(MESSAGE, data).state == state
    if state in STATES:
        assert decode(MESSAGE_OF_KNOWN_STATE, data).state == state
        return
    with pytest.raises(WireError) as caught:
        decode(MESSAGE_OF_KNOWN_STATE, data)
    assert (caught.value.field, caught.value.offset) == ("state", 8)
    assert caught.value.expected == "one of 1, 10, 20, 30"


def test_a_message_does_not_read_as_one_of_the_old_layout() -> None:
    for row in RECORDED:
        with pytest.raises(WireError):
            decode(OLD_MESSAGE, piece(row))


def test_the_segment_is_what_its_scenarios_poll() -> None:
    compared = 0
    for scenario in golden.tcp():
        fixture = scenario.fixture
        if fixture is None:
            continue
        log = bytearray(LOG_BYTES)
        for place, patch in fixture.patches:
            log[place : place + len(patch)] = patch
        kept = {message.offset: message for message in decode(LOG, bytes(log)).messages}
        for step in scenario.steps:
            if step.direction != "s2c":
                continue
            body = decode(RESPONSE, step.data).body
            for message in decode(POLLED_MESSAGES, body).messages:
                assert message == kept[message.offset]
                compared += 1
    assert compared >= 6
