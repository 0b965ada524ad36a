"""Bytes of generation apache with their meaning, on what real servers and clients have sent."""

import json
from pathlib import Path

import pytest
from apache_talk import TIME_US, stamped
from check_each import check_each
from decode_command import Decode
from msgspec.structs import replace

from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, JsonObject
from wireproof_kit.decoding.dump import dump_numbered
from wireproof_kit.decoding.json_text import json_line
from wireproof_kit.errors import UsageFault
from wireproof_kit.iggy.apache.batches import NAME, batch, message
from wireproof_kit.iggy.decoding.apache_parts import Side
from wireproof_kit.iggy.decoding.sources import DecodeOptions, decode_bytes, decode_path
from wireproof_spec.decoding import encode
from wireproof_spec.iggy import golden
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import BATCH, Batch, seal_batch
from wireproof_spec.iggy.apache.bodies.groups import CREATE_GROUP, GROUP, CreateGroup, Group
from wireproof_spec.iggy.apache.bodies.results import RESULT, Result
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.envelopes.v0_12 import V0_12
from wireproof_spec.iggy.apache.frames import (
    Eviction,
    encode_answer,
    encode_request,
    make_reply,
    make_request,
)
from wireproof_spec.iggy.apache.header import EvictionHeader, ReplyHeader, RequestHeader
from wireproof_spec.iggy.apache.polled import Polled, encode_polled
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.golden import TcpScenario
from wireproof_spec.iggy.segment import log_name

READ = operations.NON_REPLICATED
BROKEN = {
    *("ping-with-body", "login-version-0.12.0", "login-version-0.12.2", "login-no-prefix"),
    *("login-empty-body", "login-empty-sdk-name", "stream-names", "poll-bad-strategy"),
    *("poll-bad-consumer-kind", "poll-truncated", "poll-trailing", "offset-store-no-ack"),
    "offset-store-ack-2",
    *("read-truncated-last-frame", "read-truncated-batch-header", "create-count-without-entry"),
}
"""Recordings in which a body has not the shape of its command."""
WRONG_FRAMES = ("frame-size-", "frame-command-", "send-bad-", "send-partitioning-")
SENT = batch(message(b"one", NAME), message(b"two"), origin_us=TIME_US)
EACH = check_each((*golden.apache_tcp(), *golden.apache_clients()), lambda scenario: scenario.name)


def sides_of(scenario: TcpScenario) -> dict[tuple[str, Side], bytes]:
    sides: dict[tuple[str, Side], bytes] = {}
    for step in scenario.steps:
        if step.data:
            side: Side = "client" if step.direction == "c2s" else "server"
            key = step.connection, side
            sides[key] = sides.get(key, b"") + step.data
    return sides


def entries(data: bytes, side: Side | None = None) -> list[Entry]:
    return list(decode_bytes(data, DecodeOptions(side, "apache")))


def one(data: bytes, side: Side | None = None) -> Decoded:
    (entry,) = entries(data, side)
    assert isinstance(entry, Decoded)
    return entry


def labels(entry: Entry) -> list[str]:
    assert isinstance(entry, Decoded | Broken)
    return [part.label for part in entry.parts()]


def objects(entry: Entry) -> list[JsonObject]:
    assert isinstance(entry, Decoded)
    return [*entry.objects()]


def polled(*batches: Batch, envelope: object = OWN) -> bytes:
    assert envelope in (OWN, V0_12)
    chosen = OWN if envelope is OWN else V0_12
    head = chosen.make_poll_head(0, 1, sum(len(each.frames) for each in batches))
    return reply(encode_polled(chosen, Polled(head, batches)))


def reply(body: bytes, operation: int = READ, **fields: int) -> bytes:
    header = replace(ReplyHeader(operation=operation), **fields)
    return encode_answer(make_reply(header, body))


@EACH
def test_what_was_recorded_is_told_up_to_what_breaks_its_shape(scenario: TcpScenario) -> None:
    for (_, side), data in sides_of(scenario).items():
        found = entries(data, side)
        at = 0
        for entry in found:
            assert isinstance(entry, Decoded | Broken)
            parts = entry.parts()
            assert sum(part.length for part in parts) == len(entry.data)
            assert dump_numbered(entry.data, parts, base=entry.offset)
            for fields in entry.objects():
                assert json.loads(json_line(fields)) == fields
            assert entry.offset == at
            at += len(entry.data)
        is_broken = isinstance(found[-1], Broken)
        assert is_broken or at == len(data)
        assert not is_broken or (scenario.name in BROKEN or scenario.name.startswith(WRONG_FRAMES))


def test_frames_and_logs_are_recognised_without_an_option() -> None:
    request = encode_request(make_request(RequestHeader(operation=READ, client=1, code=1)))
    log = encode(BATCH, stamped(SENT))
    eviction = encode_answer(Eviction(EvictionHeader(reason=9)))
    sides = {request: "request", reply(b""): "reply", eviction: "eviction", log: "batch"}
    for data, kind in sides.items():
        (entry,) = decode_bytes(data, DecodeOptions())
        assert isinstance(entry, Decoded)
        assert entry.kind == kind
    with pytest.raises(UsageFault, match="--side"):
        entries(b"\x01" + request[1:])


def test_a_poll_tells_its_messages_and_which_checksums_are_right() -> None:
    spoilt = Batch(SENT.header, (replace(SENT.frames[0], checksum=1), SENT.frames[1]))
    entry = one(polled(stamped(SENT), seal_batch(spoilt)))
    assert entry.title == "non_replicated   0 ok   4 messages   1 wrong checksum"
    told = labels(entry)
    right = SENT.frames[0].checksum
    assert f"batches[0].frames[0].checksum = {right}, right" in told
    assert f"batches[1].frames[0].checksum = 1, WRONG: {right} is right" in told
    assert "batches[0].frames[0].user_headers[0].value.kind = 2 (string)" in told
    assert any(each.endswith("header.origin_timestamp = 0") for each in told) is False
    head, first, *_, last = objects(entry)
    assert head["body"] == [{"partition_id": 0, "current_offset": 1, "count": 4}]
    assert (first["checksum_right"], first["batch_checksum_right"]) == (True, True)
    assert (first["offset"], first["payload_hex"]) == (0, b"one".hex())
    assert last["headers"] == []


def test_user_headers_of_another_shape_are_bytes() -> None:
    frame = message(b"x", block=b"\0nothing")
    entry = one(polled(stamped(batch(frame, origin_us=TIME_US))))
    assert any("user_headers = " in each for each in labels(entry))
    assert objects(entry)[1]["headers"] == b"\0nothing".hex()


def test_a_poll_that_breaks_off_tells_what_stands_before() -> None:
    data = polled(stamped(SENT), stamped(SENT))
    cut = replace_size(data[:-1])
    (entry,) = entries(cut)
    assert isinstance(entry, Broken)
    assert entry.error.field == "header.batch_length"
    assert any(each.startswith("frames[1].payload") for each in labels(entry))


def replace_size(data: bytes) -> bytes:
    return data[:48] + len(data).to_bytes(4, "little") + data[52:]


def test_an_empty_poll_is_told_and_other_short_bodies_are_bytes() -> None:
    empty = one(polled())
    assert empty.title == "non_replicated   0 ok   no message"
    sync = (1).to_bytes(8, "little") + (1).to_bytes(4, "little") + bytes(4)
    assert one(reply(sync)).title == "non_replicated   0 ok   16 bytes of body"


def test_the_login_of_a_client_tells_its_protocol_number() -> None:
    login = V0_12.make_login(
        protocol_version=V0_12.version,
        sdk_name="s",
        sdk_version="1",
        username="u",
        password="p",
    )
    header = RequestHeader(operation=operations.REGISTER, client=1)
    entry = one(encode_request(make_request(header, encode(V0_12.login, login))))
    assert entry.title == "login_user"
    entered = V0_12.login_reply.value_type(0, 1, V0_12.version, "0.10.0")
    body = encode(RESULT, Result((), encode(V0_12.login_reply, entered)))
    data = reply(body, operations.REGISTER) + polled(stamped(SENT), envelope=V0_12)
    assert [each.title for each in entries(data) if isinstance(each, Decoded)] == [
        "register   0 ok",
        "non_replicated   0 ok   2 messages",
    ]


def test_groups_are_told_by_name() -> None:
    body = encode(CREATE_GROUP, CreateGroup(numeric(1), numeric(2), "g"))
    header = RequestHeader(operation=operations.CREATE_CONSUMER_GROUP, client=1, session=1)
    entry = one(encode_request(make_request(header, body)))
    assert objects(entry) == [
        {
            "kind": "request",
            "command": "create_consumer_group",
            "body": {"stream": 1, "topic": 2, "name": "g"},
        }
    ]
    made = encode(RESULT, Result((), encode(GROUP, Group(0, 1, 0, "g"))))
    told = objects(one(reply(made, operations.CREATE_CONSUMER_GROUP)))
    assert told[0]["body"] == [
        {"rejections": [], "payload": ""},
        {"id": 0, "partitions_count": 1, "members_count": 0, "name": "g"},
    ]


def test_a_log_is_told_batch_by_batch(tmp_path: Path) -> None:
    log = tmp_path / "streams/0/topics/0/partitions/0" / log_name(0)
    log.parent.mkdir(parents=True)
    log.write_bytes(encode(BATCH, stamped(SENT)) * 2 + b"cut")
    (log.parent / log_name(9)).write_bytes(b"")
    found = [each for each in decode_path(tmp_path, DecodeOptions()) if isinstance(each, Decoded)]
    assert [each.title for each in found] == ["partition 0, from offset 0   2 messages"] * 2
    last = [*decode_path(log, DecodeOptions())][-1]
    assert isinstance(last, Broken)
    assert last.error.expected == "the rest of it"


def test_a_command_of_replicas_is_told() -> None:
    header = RequestHeader(operation=READ, client=1, command=6)
    (entry,) = entries(encode_request(make_request(header)), "client")
    assert isinstance(entry, Broken)
    assert entry.error.clause == "iggy.apache.frame.command"


def test_the_command_line_decodes_generation_apache(capsys: pytest.CaptureFixture[str]) -> None:
    decode = Decode(capsys)
    data = reply(b"", operations.SEND_MESSAGES, status=20).hex()
    assert "20 resource_not_found" in decode("--protocol", "iggy", data)
    assert "send_messages" in decode("--protocol", "iggy", "--generation", "apache", data)
