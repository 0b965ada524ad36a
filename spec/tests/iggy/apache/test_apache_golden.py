"""The grammar of generation `apache` against bytes recorded from a real server and its crate."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from check_each import check_each

from wireproof_spec.decoding import Schema, decode, encode, spans
from wireproof_spec.iggy import golden
from wireproof_spec.iggy.apache import evictions, operations, statuses
from wireproof_spec.iggy.apache.batch import (
    BATCH,
    BATCH_HEADER,
    MESSAGE_FRAME,
    Batch,
    batch_checksum,
    check_batch,
    frame_checksum,
    make_batch,
    seal_frame,
    split_batches,
)
from wireproof_spec.iggy.apache.bodies import messages, resources
from wireproof_spec.iggy.apache.bodies.messages import (
    POLL_MESSAGES,
    SEND_BYTES,
    SEND_MESSAGES,
    STORE_CONSUMER_OFFSET,
)
from wireproof_spec.iggy.apache.bodies.request_shapes import (
    OF_READS,
    OF_REPLIES,
    request_schema,
)
from wireproof_spec.iggy.apache.bodies.results import CONFIRMATIONS, RESULT, Result
from wireproof_spec.iggy.apache.checksum import partition_of_key, xxh3_64
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import (
    NEED_MORE,
    Answer,
    Eviction,
    FrameReader,
    Reply,
    Request,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)
from wireproof_spec.iggy.apache.header import EVICTION_HEADER, REPLY_HEADER, REQUEST_HEADER
from wireproof_spec.iggy.apache.polled import decode_polled, encode_polled
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS
from wireproof_spec.iggy.golden import CodecRow, TcpScenario, TcpStep
from wireproof_spec.wire_error import WireError

TCP = golden.apache_tcp()
EVERY = (*TCP, *golden.apache_clients())
CODEC = {row.name: row for row in golden.apache_codec()}
NO_FRAME = {"frame-size-small", "frame-size-huge", "frame-size-over-limit"}
"""Whose requests declare a size that no frame may have."""
REFUSED_SHAPES = {
    "ping-with-body": "end",
    "login-no-prefix": "sdk_name_length",
    "login-empty-body": "protocol_version",
    "login-empty-sdk-name": "sdk_name_length",
    "stream-names": "name_length",
    "poll-bad-strategy": "strategy",
    "poll-bad-consumer-kind": "consumer.kind",
    "poll-truncated": "count",
    "poll-trailing": "end",
    "offset-store-no-ack": "ack",
    "offset-store-ack-2": "ack",
    "send-partitioning-kind-0": "metadata.partitioning.kind",
    "send-partitioning-kind-4": "metadata.partitioning.kind",
    "send-partitioning-partition-width-2": "metadata.partitioning.length",
    "send-partitioning-key-empty": "metadata.partitioning.length",
    "send-bad-metadata-length": "metadata.metadata_length",
}
BROKEN_BATCHES = {
    "frame-checksum": "send.frame-checksum",
    "payload-bit": "send.frame-checksum",
    "batch-checksum": "send.batch-checksum",
    "batch-checksum-zero": "send.batch-checksum",
    "reserved": "send.reserved",
    "reserved-last": "send.reserved",
    "frame-reserved": "send.reserved-frame",
    "count-more": "send.tiling",
    "length-less": "send.tiling",
    "length-255": "send.tiling",
    "zero-messages": "send.tiling",
}


class Exchange(NamedTuple):
    """A request, and the answer to it, if one came."""

    request: Request
    answer: Answer | None


def exchanges(scenario: TcpScenario) -> Iterator[Exchange]:
    """Return each whole request with the next answer on its connection."""
    readers: dict[str, FrameReader] = {}
    for index, step in enumerate(scenario.steps):
        if step.direction != "c2s" or not step.data:
            continue
        reader = readers.setdefault(step.connection, FrameReader())
        reader.feed(step.data)
        while (frame := reader.next_frame()) is not NEED_MORE:
            yield Exchange(decode_request(frame), answer_after(scenario.steps[index + 1 :], step))


def answer_after(later: tuple[TcpStep, ...], step: TcpStep) -> Answer | None:
    following = next((each for each in later if each.connection == step.connection), None)
    if following is None or following.direction != "s2c":
        return None
    reader = FrameReader()
    reader.feed(following.data)
    frame = reader.next_frame()
    return None if frame is NEED_MORE else decode_answer(frame)


def whole(scenarios: tuple[TcpScenario, ...]) -> list[TcpScenario]:
    return [each for each in scenarios if each.name not in NO_FRAME]


@check_each(whole(EVERY), lambda scenario: scenario.name)
def test_every_frame_is_read_and_built_back(scenario: TcpScenario) -> None:
    for connection in {step.connection for step in scenario.steps}:
        for direction in ("c2s", "s2c"):
            data = b"".join(
                step.data
                for step in scenario.steps
                if (step.connection, step.direction) == (connection, direction)
            )
            reader, built = FrameReader(), b""
            for at in range(0, len(data), 100):
                reader.feed(data[at : at + 100])
                while (frame := reader.next_frame()) is not NEED_MORE:
                    built += (
                        encode_request(decode_request(frame))
                        if direction == "c2s"
                        else encode_answer(decode_answer(frame))
                    )
            assert built == data
            assert (reader.pending, reader.offset) == (b"", len(data))


@pytest.mark.parametrize("name", sorted(NO_FRAME))
def test_a_size_outside_its_limits_is_refused(name: str) -> None:
    scenario = next(each for each in TCP if each.name == name)
    reader = FrameReader()
    reader.feed(scenario.steps[0].data)

    with pytest.raises(WireError) as caught:
        reader.next_frame()

    assert (caught.value.field, caught.value.offset) == ("size", 48)


def test_every_request_body_is_read_and_built_back_or_refused_where_known() -> None:
    found: dict[str, str] = {}
    count = 0
    for scenario in whole(TCP):
        for request, _ in exchanges(scenario):
            header = request.header
            try:
                shape = request_schema(OWN, header.operation, header.code)
            except LookupError:
                continue
            if shape is SEND_MESSAGES and scenario.name.startswith("send-bad"):
                shape = SEND_BYTES
            try:
                assert encode(shape, decode(shape, request.body)) == request.body
                count += 1
            except WireError as error:
                found[scenario.name] = error.field

    assert found == REFUSED_SHAPES
    assert count > 480


def polls(answer: Answer | None, header: Any) -> bool:
    return (
        isinstance(answer, Reply)
        and header.operation == operations.NON_REPLICATED
        and header.code == operations.POLL_MESSAGES
        and answer.header.status == statuses.OK
    )


def body_schema(operation: int, code: int, result: Result | None) -> Schema[Any] | None:
    if operation == operations.NON_REPLICATED:
        return OF_READS.get(code)
    if operation == operations.REGISTER:
        return OWN.login_reply
    if operation == operations.SEND_MESSAGES:
        return CONFIRMATIONS
    return OF_REPLIES.get(operation) if result and not result.rejections else None


@check_each(whole(TCP), lambda scenario: scenario.name)
def test_every_answer_is_read_and_built_back(scenario: TcpScenario) -> None:
    for request, answer in exchanges(scenario):
        if isinstance(answer, Eviction):
            assert answer.header.reason in evictions.REASONS
            assert answer.header.size == 256
            continue
        if answer is None or not answer.body:
            continue
        assert answer.header.status == statuses.OK
        operation, code = request.header.operation, request.header.code
        if polls(answer, request.header):
            polled = decode_polled(OWN, answer.body)
            assert encode_polled(OWN, polled) == answer.body
            assert polled.head.count == len(polled.frames)
            for batch in polled.batches:
                check_batch(batch)
            continue
        body, result = answer.body, None
        if operation in operations.RESULT_FRAMED:
            result = decode(RESULT, body)
            assert encode(RESULT, result) == body
            body = result.payload
        shape = body_schema(operation, code, result)
        if shape is None:
            assert body == b""
        else:
            assert encode(shape, decode(shape, body)) == body
            assert sum(span.length for span in spans(shape, body)) == len(body)


def test_statuses_and_reasons_that_were_recorded_have_names() -> None:
    met = Counter(
        answer.header.status
        for scenario in whole(TCP)
        for _, answer in exchanges(scenario)
        if isinstance(answer, Reply)
    )

    assert set(met) <= set(statuses.STATUSES)
    assert len(met) >= 9


def sent(name: str) -> messages.SendBytes:
    scenario = next(each for each in TCP if each.name == name)
    bodies = [
        request.body
        for request, _ in exchanges(scenario)
        if request.header.operation == operations.SEND_MESSAGES
    ]
    return decode(SEND_BYTES, bodies[0])


@pytest.mark.parametrize(("name", "clause"), BROKEN_BATCHES.items())
def test_a_broken_batch_is_refused_by_its_clause(name: str, clause: str) -> None:
    with pytest.raises(WireError) as caught:
        check_batch(decode(BATCH, sent(f"send-bad-{name}").batch))

    assert caught.value.clause == f"iggy.apache.{clause}"


@pytest.mark.parametrize(
    "name", ["cut-1", "cut-in-frame-header", "cut-in-batch-header", "extra-byte", "no-batch"]
)
def test_a_batch_with_too_few_or_too_many_bytes_does_not_decode(name: str) -> None:
    with pytest.raises(WireError):
        decode(BATCH, sent(f"send-bad-{name}").batch)


@check_each(
    [row for row in CODEC.values() if row.name.startswith("decode-")], lambda row: row.name
)
def test_a_batch_is_judged_as_the_crate_judges_it(row: CodecRow) -> None:
    record = row.data[:358] if row.name == "decode-extra-byte" else row.data
    try:
        check_batch(decode(BATCH, record))
        verdict = "Ok(2)"
    except WireError as error:
        verdict = error.clause.removeprefix("iggy.apache.send.")

    if "message checksum" in row.verify:
        assert verdict == "frame-checksum"
    elif "batch checksum" in row.verify:
        assert verdict == "batch-checksum"
    else:
        assert (verdict == "Ok(2)") == (row.verify == "Ok(2)")


def test_bodies_of_the_crate_are_read_and_built_back() -> None:
    shapes: dict[str, Schema[Any]] = {
        "create-stream": resources.CREATE_STREAM,
        "create-topic": resources.CREATE_TOPIC,
        "user-headers": USER_HEADERS,
        "store-offset": STORE_CONSUMER_OFFSET,
    }
    for name, row in CODEC.items():
        if name.startswith("decode-"):
            continue
        shape = shapes.get(name) or (POLL_MESSAGES if name[:4] == "poll" else SEND_MESSAGES)
        value = decode(shape, row.data)
        assert encode(shape, value) == row.data
        if isinstance(value, messages.SendMessages):
            check_batch(value.batch)


def test_checksums_are_made_as_the_crate_makes_them() -> None:
    batch = decode(SEND_MESSAGES, CODEC["send-3-key"].data).batch

    assert [frame_checksum(frame) for frame in batch.frames] == [
        frame.checksum for frame in batch.frames
    ]
    assert batch_checksum(batch) == batch.header.batch_checksum
    assert make_batch(batch.header, [seal_frame(frame) for frame in batch.frames]) == batch
    assert xxh3_64(b"") == 0x2D06800538D394C2


def test_a_key_chooses_the_recorded_partition() -> None:
    keys = {b"a": 0, b"key-1": 1}  # as the SDKs choose, of 3 partitions

    assert {key: partition_of_key(key, 3) for key in keys} == keys


def test_records_that_follow_each_other_are_split() -> None:
    record = CODEC["decode-unchanged"].data

    assert split_batches(record * 2) == ((0, record), (358, record))
    with pytest.raises(WireError) as caught:
        split_batches(record * 2 + record[:300])
    assert (caught.value.field, caught.value.offset) == ("header.batch_length", 2 * 358 + 32)
    with pytest.raises(WireError):
        split_batches(record + b"x")


def test_the_headers_have_256_bytes_and_the_fields_at_their_places() -> None:
    places: dict[Schema[Any], dict[str, int]] = {
        REQUEST_HEADER: {"size": 48, "command": 60, "client": 128, "operation": 176, "code": 196},
        REPLY_HEADER: {"size": 48, "client": 160, "request": 200, "operation": 208, "status": 216},
        EVICTION_HEADER: {"client": 128, "server_protocol_version": 144, "reason": 255},
        BATCH_HEADER: {"batch_length": 32, "batch_checksum": 40, "message_count": 48},
    }
    for shape, fields in places.items():
        found = {span.field: span.offset for span in spans(shape, bytes(256))}
        assert {name: found[name] for name in fields} == fields
    frame = encode(MESSAGE_FRAME, decode(MESSAGE_FRAME, bytes(48)))
    assert len(frame) == 48
    assert isinstance(decode(BATCH, bytes(256)), Batch)
