import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nsq_decoded import delivery, entries, objects, told

from wireproof_kit.decoding.decoded import Broken, Decoded
from wireproof_kit.decoding.dump import dump_numbered
from wireproof_kit.decoding.json_text import json_line
from wireproof_kit.errors import UsageFault
from wireproof_kit.nsq.decoding.sources import DecodeOptions, Side, decode_pipe, recognise_side
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.frame import error_frame, response_frame
from wireproof_spec.nsq.names import MAGIC

COMPRESSED = {"identify/deflate_level_7", "identify/snappy"}

Case = tuple[str, bytes]


def streams(direction: str) -> list[Case]:
    return [
        (scenario.name, b"".join(pieces))
        for scenario in golden.nsqd_tcp()
        for connection in scenario.connections
        if (
            pieces := scenario.list_sent(connection)
            if direction == "send"
            else scenario.list_received(connection)
        )
    ]


def test_every_recorded_answer_decodes_frame_by_frame() -> None:
    for scenario in golden.nsqd_tcp():
        if scenario.name in COMPRESSED:
            continue
        for connection in scenario.connections:
            data = b"".join(scenario.list_received(connection))
            due = [
                step.frame_type
                for step in scenario.steps
                if (step.direction, step.connection) == ("recv", connection) and step.data
            ]
            if not data:
                continue
            found = entries(data)
            kinds = {"response": 0, "trace response": 0, "error": 1, "message": 2}
            types = [kinds[each.kind] for each in found if isinstance(each, Decoded)]
            assert len(types) == len(found), scenario.name
            assert None in due or types == due, scenario.name


def test_compressed_answers_are_a_fault_behind_the_clear_frame() -> None:
    compressed = {name: data for name, data in streams("recv") if name in COMPRESSED}

    assert compressed.keys() == COMPRESSED
    for data in compressed.values():
        clear, broken = entries(data)
        assert isinstance(clear, Decoded)
        assert isinstance(broken, Broken)
        assert broken.error.field == "size"


@pytest.mark.slow
@pytest.mark.parametrize("side", [None, "client", "server", "disk"])
@pytest.mark.parametrize("direction", ["send", "recv"])
def test_nothing_recorded_breaks_the_decoder(direction: str, side: Side | None) -> None:
    for _, data in streams(direction):
        try:
            found = entries(data, DecodeOptions(side))
        except UsageFault:
            assert side is None
            continue
        for entry in found:
            assert isinstance(entry, Decoded | Broken)
            assert all(line.isprintable() for line in dump_numbered(entry.data, entry.parts()))
        for fields in objects(data, DecodeOptions(side)):
            assert json.loads(json_line(fields))["kind"] == fields["kind"]


def test_parts_cover_every_byte_of_what_decoded() -> None:
    for _, data in [*streams("send"), *streams("recv")]:
        for entry in entries(data, DecodeOptions()) if recognise_side(data) else []:
            if isinstance(entry, Decoded) and not entry.title.startswith(("FIN", "REQ", "TOUCH")):
                covered = sum(part.length for part in entry.parts())
                assert covered == len(entry.data), entry.title


@pytest.mark.parametrize(
    ("head", "side"),
    [
        (MAGIC, "client"),
        (b"PUB_EXT t 0\n", "client"),
        (b"NOP\n", "client"),
        (b"FIN " + bytes(16) + b"\n", "client"),
        (response_frame(b"OK"), "server"),
        (error_frame("E_INVALID"), "server"),
        (delivery(), "server"),
        (b"\0\0", "server"),
        (bytes.fromhex("0000001a 0de0b6b3a7640001 0000") + bytes(16), "disk"),
        (b"GET / HTTP/1.1\r\n", None),
        (b"PUBLISH t\n", None),
        (bytes.fromhex("00000006 00000003 4f4b"), None),
        (b"  V1", None),
    ],
)
def test_the_side_is_told_by_the_first_bytes(head: bytes, side: Side | None) -> None:
    assert recognise_side(head) == side


class Trickle(io.RawIOBase):
    """A pipe that gives one byte at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._data.read(min(size, 1))


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_pipe_gives_the_same_however_slow_it_is(cut: int) -> None:
    data = delivery(b"{}") + response_frame(b"OK") + error_frame("E_INVALID", "x")
    data = data[: len(data) - cut]
    pipe = Trickle(data)

    slow = list(decode_pipe(pipe, DecodeOptions(topic_kind="ext")))  # type: ignore[arg-type]

    fast = entries(data, DecodeOptions(topic_kind="ext"))
    assert told(slow) == told(fast)
    assert isinstance(slow[-1], Broken) == isinstance(fast[-1], Broken)


@given(
    data=st.binary(min_size=1, max_size=200), side=st.sampled_from(("client", "server", "disk"))
)
def test_any_bytes_decode_or_are_a_fault_at_a_place_within(data: bytes, side: Side) -> None:
    found = entries(data, DecodeOptions(side))

    for entry in found:
        assert isinstance(entry, Decoded | Broken)
        dump_numbered(entry.data, entry.parts())
    if isinstance(found[-1], Broken):
        assert 0 <= found[-1].error.offset <= len(data)


@given(data=st.data())
def test_damaged_recordings_decode_up_to_the_damage(data: st.DataObject) -> None:
    direction = data.draw(st.sampled_from(("send", "recv")))
    _, whole = data.draw(st.sampled_from(streams(direction)))
    at = data.draw(st.integers(0, min(len(whole), 2000) - 1))
    damaged = whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + 1 :]
    side: Side = "client" if direction == "send" else "server"

    due = [
        each.offset for each in entries(whole, DecodeOptions(side)) if isinstance(each, Decoded)
    ]
    found = entries(damaged, DecodeOptions(side)) if damaged else []

    before = [each for each in due[1:] if each <= at]
    offsets = [each.offset for each in found if isinstance(each, Decoded)]
    assert [each for each in offsets[1:] if each <= at][: len(before) - 1] == before[:-1]
