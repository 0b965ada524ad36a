"""Where requests of each protocol end, and which may touch what is not the kit's own."""

import pytest
from fuzz_grammars import GRAMMARS, IGGY, NSQ, frames

PROTOCOLS = pytest.mark.parametrize("protocol", GRAMMARS)


@pytest.mark.parametrize(
    ("data", "delimited"),
    [
        (b"NOP\n", True),
        (b"NOP", False),
        (b"NOP\nNOP\n", False),
        (b"PUB t\n\0\0\0\1x", True),
        (b"PUB t\n\0\0\0\2x", False),
        (b"PUB t\n\0\0\0\1xy", False),
        (b"PUB t\n\xff\xff\xff\xff", False),
        (b"PUB t\r\n\0\0\0\1x", True),
        (b"\n", True),
        (b"MPUB t\n\0\0\0\x09\0\0\0\1\0\0\0\1x", True),
        (b"MPUB t\n\0\0\0\x09\0\0\0\2\0\0\0\1x", False),
        (b"MPUB_EXT t\n\0\0\0\x0d\0\0\0\1\0\0\0\5\0\2{}x", True),
        (b"MPUB_EXT t\n\0\0\0\x0d\0\0\0\1\0\0\0\5\0\2{!x", False),
        (b'IDENTIFY\n\0\0\0\7{"a":1}', True),
        (b'IDENTIFY\n\0\0\0\x10{"deflate":true}', False),
        (b"FIN 0123\n0123456789a\n", True),
        (b"FIN 0123456789\n", False),
        (b"N" * 4095 + b"\n", True),
        (b"N" * 4096 + b"\n", False),
    ],
)
def test_where_an_nsq_command_ends(data: bytes, *, delimited: bool) -> None:
    assert NSQ.is_delimited("PUB", data) == delimited


@pytest.mark.parametrize(
    ("data", "delimited"),
    [
        ("04000000 01000000", True),
        ("05000000 01000000", False),
        ("05000000 01000000 00", True),
        ("03000000 010000", False),
        ("040000", False),
        ("ffffffff 01000000", False),
    ],
)
def test_where_an_iggy_request_ends(data: str, *, delimited: bool) -> None:
    assert IGGY.is_delimited("ping", bytes.fromhex(data)) == delimited


@PROTOCOLS
def test_right_frames_are_delimited_and_harmless(protocol: str) -> None:
    for kind in GRAMMARS[protocol].kinds:
        for frame in frames(kind):
            assert not GRAMMARS[protocol].is_hazardous(kind.name, frame.data), frame
            if kind.interface == "tcp" and kind.name != "IDENTIFY":
                assert GRAMMARS[protocol].is_delimited(kind.name, frame.data), frame


@pytest.mark.parametrize(
    ("data", "hazardous"),
    [
        (b"INTERNAL_CREATE_TOPIC wp_x 0\n", False),
        (b"INTERNAL_CREATE_TOPIC .. 0\n", True),
        (b"INTERNAL_CREATE_TOPIC wp_../x 0\n", True),
        (b"INTERNAL_CREATE_TOPIC other 0\n", True),
        (b"NOP\nINTERNAL_CREATE_TOPIC . 0\n", True),
        (b"SUB .. ch\n", False),
    ],
)
def test_topics_of_others_are_hazardous(data: bytes, *, hazardous: bool) -> None:
    assert NSQ.is_hazardous("INTERNAL_CREATE_TOPIC", data) == hazardous


@pytest.mark.parametrize(
    ("line", "hazardous"),
    [
        ("POST /topic/delete?topic=wp_fuzz_scratch HTTP/1.1", False),
        ("POST /topic/delete HTTP/1.1", False),
        ("POST /topic/delete?topic=orders HTTP/1.1", True),
        ("POST /topic/delete?topic=wp_fuzz_scratch&topic=orders HTTP/1.1", True),
        ("POST /topic/delete?topic%3Dorders HTTP/1.1", True),
        ("POST /topic/delete?topic= HTTP/1.1", True),
    ],
)
def test_requests_that_change_other_topics_are_hazardous(line: str, hazardous: bool) -> None:
    assert NSQ.is_hazardous("POST /topic/{action}", line.encode()) == hazardous
    assert not NSQ.is_hazardous("POST /pub", line.encode())


@pytest.mark.parametrize(
    ("code", "payload", "hazardous"),
    [
        (0, "", True),
        (203, "0104 09000000", False),
        (203, "0104 01000000", True),
        (203, "0204 09000000", True),
        (203, "0104 0900", False),
        (203, "0104 01000000 ff", True),
        (303, "0104 09000000 0104 01000000", False),
        (303, "0104 01000000 0104 01000000", True),
        (403, "0104 01000000 0104 01000000 01000000", True),
        (402, "0104 09000000 0104 01000000 01000000", False),
        (402, "0104 09000000 0104 01000000 ffff0000", True),
        (202, "09000000" + b"wp_a".hex(), False),
        (202, "05000000" + b"other".hex(), True),
        (200, "0104 01000000", False),
    ],
)
def test_streams_of_others_are_hazardous(code: int, payload: str, *, hazardous: bool) -> None:
    data = bytes.fromhex(payload)
    head = (4 + len(data)).to_bytes(4, "little") + code.to_bytes(4, "little")

    assert IGGY.is_hazardous("any", head + data) == hazardous


@pytest.mark.parametrize(
    ("data", "hazardous"),
    [
        (b"DELETE /streams/9/topics/1 HTTP/1.1", False),
        (b"DELETE /streams/wp_scratch/topics/1 HTTP/1.1", False),
        (b"DELETE /streams/1/topics/1 HTTP/1.1", True),
        (b"DELETE /streams/9 HTTP/1.1", True),
        (b'POST /streams/9/topics HTTP/1.1\r\n\r\n{"partitions_count":3}', False),
        (b'POST /streams/9/topics HTTP/1.1\r\n\r\n{"partitions_count": 65536}', True),
    ],
)
def test_http_requests_to_delete_are_hazardous(data: bytes, *, hazardous: bool) -> None:
    assert IGGY.is_hazardous("POST /streams", data) == hazardous
