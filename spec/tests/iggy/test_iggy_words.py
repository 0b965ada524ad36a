"""The words of Iggy: names, states, statuses, checksums, files; and its readers' limits."""

import time
from typing import Any

import pytest

from wireproof_spec.decoding import Schema, decode
from wireproof_spec.iggy import frame
from wireproof_spec.iggy.bodies.consumer_groups import GROUP_MEMBER
from wireproof_spec.iggy.bodies.identifier import make_named, numeric
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES, POLLED_MESSAGES_TAGGED
from wireproof_spec.iggy.checksum import POLYNOMIAL, payload_checksum
from wireproof_spec.iggy.commands import COMMANDS
from wireproof_spec.iggy.frame import (
    NEED_MORE,
    REQUEST,
    RESPONSE,
    Request,
    RequestReader,
    Response,
    ResponseReader,
)
from wireproof_spec.iggy.headers import HEADERS
from wireproof_spec.iggy.message import MESSAGE
from wireproof_spec.iggy.names import is_valid_name, stored_name
from wireproof_spec.iggy.segment import (
    index_name,
    log_name,
    partition_path,
    read_log_name,
    time_index_name,
)
from wireproof_spec.iggy.states import STATES, state_code, state_name
from wireproof_spec.iggy.statuses import STATUSES, http_status
from wireproof_spec.wire_error import WireError


def bit_by_bit(payload: bytes) -> int:
    """Return the CRC-32 as its definition has it, one bit at a time."""
    register = 0xFFFFFFFF
    for byte in payload:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (POLYNOMIAL if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.mark.parametrize("payload", [b"", b"\x00", b"\xff" * 4, b"123456789", bytes(range(256))])
def test_the_checksum_is_the_one_of_its_polynomial(payload: bytes) -> None:
    assert payload_checksum(payload) == bit_by_bit(payload)


def test_the_published_checksums() -> None:
    assert payload_checksum(b"orders_data_2") == bit_by_bit(b"orders_data_2") == 2144931076
    assert payload_checksum(b"orders_data_3") == 148782482
    assert payload_checksum(b"123456789") == 0xCBF43926
    assert payload_checksum(b"") == 0


def test_states_have_codes_and_names() -> None:
    assert STATES == {
        1: "available",
        10: "unavailable",
        20: "poisoned",
        30: "marked_for_deletion",
    }
    for code, name in STATES.items():
        assert state_name(code) == name
        assert state_code(name) == code
    assert state_name(2) is None
    assert state_code("Available") is None


@pytest.mark.parametrize("name", ["s", "Orders Stream", "a.b-c_9", "é", "n" * 255])
def test_legal_names(name: str) -> None:
    assert is_valid_name(name)


@pytest.mark.parametrize("name", ["", "a/b", "a#", "n" * 256, "é" * 128, "a\x00"])
def test_illegal_names(name: str) -> None:
    assert not is_valid_name(name)


def test_names_are_kept_in_lower_case_with_dots_for_blanks() -> None:
    assert stored_name("Orders Stream") == "orders.stream"
    assert stored_name("  A \t b ") == "a.b"


def test_identifiers_tell_number_or_name() -> None:
    assert (numeric(7).number, numeric(7).name) == (7, None)
    assert (make_named("é").number, make_named("é").name) == (None, "é")


def test_errors_have_a_status_over_http() -> None:
    assert http_status(1009) == http_status(5002) == 404
    assert http_status(204) == 500
    assert http_status(1010) == http_status(4009) == 400
    assert len(set(STATUSES.values())) == len(STATUSES)
    assert len(set(COMMANDS.values())) == len(COMMANDS)


def test_files_are_named_by_their_first_offset() -> None:
    assert log_name(19) == "00000000000000000019.log"
    assert index_name(0) == "00000000000000000000.index"
    assert time_index_name(2**64 - 1) == "18446744073709551615.timeindex"
    assert read_log_name("00000000000000000019.log") == 19
    assert partition_path(1, 2, 3) == "streams/1/topics/2/partitions/3"


@pytest.mark.parametrize(
    "name", ["19.log", "00000000000000000019.index", "", "0000000000000000001\u0669.log"]
)
def test_other_files_are_no_log(name: str) -> None:
    assert read_log_name(name) is None


def test_a_request_over_the_limit_is_refused_where_it_stands() -> None:
    reader = RequestReader(8)
    reader.feed(frame.request(1) + (9).to_bytes(4, "little"))

    assert reader.next_request() == Request(1, b"")
    with pytest.raises(WireError) as caught:
        reader.next_request()
    assert (caught.value.field, caught.value.offset) == ("length", 8)
    assert (reader.offset, len(reader.pending)) == (8, 4)


def test_a_response_over_the_limit_is_refused_where_it_stands() -> None:
    reader = ResponseReader(8)
    reader.feed(frame.response(0, b"12345678") + bytes(4))
    assert reader.next_response() == Response(0, b"12345678")
    assert reader.next_response() is NEED_MORE
    reader.feed((9).to_bytes(4, "little"))

    with pytest.raises(WireError) as caught:
        reader.next_response()
    assert (caught.value.field, caught.value.offset) == ("length", 20)
    assert str(caught.value).startswith("iggy.frame.response: length at byte 20: expected at most")


HOSTILE = (2**32 - 1).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("schema", "data", "field"),
    [
        (POLLED_MESSAGES, HOSTILE + bytes(100), "count"),
        (POLLED_MESSAGES_TAGGED, bytes(12) + HOSTILE + bytes(100), "count"),
        (MESSAGE, bytes(37) + HOSTILE + bytes(100), "headers.length"),
        (MESSAGE, bytes(41) + HOSTILE + bytes(100), "length"),
        (HEADERS, HOSTILE + bytes(100), "[0].key_length"),
        (REQUEST, HOSTILE + bytes(100), "payload"),
        (RESPONSE, bytes(4) + HOSTILE + bytes(100), "length"),
        (GROUP_MEMBER, bytes(4) + HOSTILE + bytes(100), "partitions_count"),
    ],
)
def test_a_lying_number_is_refused_before_it_is_followed(
    schema: Schema[Any], data: bytes, field: str
) -> None:
    started = time.process_time()
    with pytest.raises(WireError) as caught:
        decode(schema, data)

    assert caught.value.field == field
    assert time.process_time() - started < 2
