import pytest

from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    NEED_MORE,
    FrameReader,
    ServerFrame,
    error_code,
    error_frame,
    message_frame,
    response_frame,
)
from wireproof_spec.nsq.names import OK
from wireproof_spec.wire_error import WireError


def read(data: bytes) -> list[ServerFrame]:
    reader = FrameReader(limit=1000)
    reader.feed(data)
    frames: list[ServerFrame] = []
    while (frame := reader.next_frame()) is not NEED_MORE:
        frames.append(frame)
    return frames


def test_frames_of_each_type() -> None:
    data = response_frame(OK) + error_frame("E_INVALID", "no") + message_frame(b"m")

    assert read(data) == [
        ServerFrame(FRAME_TYPE_RESPONSE, b"OK"),
        ServerFrame(FRAME_TYPE_ERROR, b"E_INVALID no"),
        ServerFrame(FRAME_TYPE_MESSAGE, b"m"),
    ]


def test_an_error_without_description_keeps_its_space() -> None:
    assert error_frame("E_TOPIC_NOT_EXIST").endswith(b"E_TOPIC_NOT_EXIST ")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"E_BAD_PROTOCOL", "E_BAD_PROTOCOL"),
        (b"E_TOPIC_NOT_EXIST ", "E_TOPIC_NOT_EXIST"),
        (b"INVALID_TRACE_ID invalid trace id", "INVALID_TRACE_ID"),
        (b"too much client connections", "too"),
        (b"", ""),
        (b"\xff\xfe x", "\ufffd\ufffd"),
    ],
)
def test_the_code_is_the_first_word(data: bytes, code: str) -> None:
    assert error_code(data) == code


@pytest.mark.parametrize(("size", "expected"), [(3, "at least 4"), (1001, "at most 1000")])
def test_a_size_out_of_range_is_refused_at_once(size: int, expected: str) -> None:
    reader = FrameReader(limit=1000)
    reader.feed(response_frame(OK) + size.to_bytes(4, "big"))
    reader.next_frame()

    with pytest.raises(WireError) as caught:
        reader.next_frame()
    assert (caught.value.offset, caught.value.expected) == (10, expected)


def test_garbage_is_refused_not_waited_for() -> None:
    reader = FrameReader(limit=1 << 20)
    reader.feed(b"HTTP/1.1 400 Bad Request\r\n")

    with pytest.raises(WireError) as caught:
        reader.next_frame()
    assert caught.value.found == str(int.from_bytes(b"HTTP", "big"))


def test_published_error_lists() -> None:
    assert len(error_codes.PUB_PUBLISHED) == 7
    assert len(error_codes.SUB_PUBLISHED) == 4
    codes = [name for name in vars(error_codes) if name.startswith(("E_", "INVALID_TRACE"))]
    assert all(getattr(error_codes, name) == name for name in codes)
