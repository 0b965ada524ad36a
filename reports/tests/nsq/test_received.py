import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_fixture import error, message, ok, trace_response

from wireproof_reports.nsq.received import received_parts

EXTENDED = [b'IDENTIFY\n\0\0\0\x18{"extend_support": true}', b"SUB t c\n"]


def names(data: bytes, sent: list[bytes]) -> list[str]:
    return [part.label for part in received_parts(data, sent)]


def test_response() -> None:
    assert names(ok(), []) == ["size", "frame_type", "data"]
    assert received_parts(ok(), [])[1].value == "0 (response)"


def test_trace_response() -> None:
    parts = received_parts(trace_response(1, 2, 3, 4), [])

    assert [(part.label, part.offset) for part in parts[2:]] == [
        ("ok", 8),
        ("internal_id", 10),
        ("trace_id", 18),
        ("disk_queue_offset", 26),
        ("disk_queue_data_size", 34),
    ]


def test_error_code_and_description() -> None:
    assert names(error("E_INVALID what"), []) == ["size", "frame_type", "code", "description"]
    assert names(error("E_BAD_PROTOCOL"), []) == ["size", "frame_type", "code"]


def test_message_is_laid_out_as_subscribed() -> None:
    frame = message(7, b'{"k":"v"}', b"body")

    assert "extend.json_header" in names(frame, EXTENDED)
    assert "extend.json_header" not in names(frame, [b"SUB t c\n"])
    ordered = names(message(7, None, bytes(12) + b"body"), [b"SUB_ORDERED t c 0\n"])
    assert ordered[-3:] == ["disk_queue_offset", "disk_queue_data_size", "body"]


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\x06\0\0", b"HTTP/1.1 400 Bad Request"])
def test_no_frame_at_all(data: bytes) -> None:
    assert sum(part.length for part in received_parts(data, [])) <= len(data)


@given(st.binary(max_size=120), st.booleans())
def test_parts_lie_within_the_bytes(data: bytes, extended: bool) -> None:
    for part in received_parts(data, EXTENDED if extended else []):
        assert part.offset >= 0
        assert part.length >= 0
        assert part.offset + part.length <= len(data)
