"""The example client of generation `apache`, without I/O, at the reference's own server."""

import itertools
import json

import pytest
from apache_bench import FIRST_US, Bench
from msgspec.structs import replace

from wireproof_reference_impl.iggy.apache.connection import Connection
from wireproof_reference_impl.iggy.client.core import messages as shared
from wireproof_reference_impl.iggy.client.core import operations
from wireproof_reference_impl.iggy.client.core.apache import messages
from wireproof_reference_impl.iggy.client.core.apache.messages import Received
from wireproof_reference_impl.iggy.client.core.apache.tcp import ApacheTransport, evicted
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Call,
    CallFailed,
    Created,
    CreateStream,
    Damaged,
    Evicted,
    Lost,
    Poll,
    Refused,
    Send,
    StoreOffset,
    Unreadable,
)
from wireproof_reference_impl.iggy.client.core.http import apache_object
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.batch import BATCH, BatchHeader, make_batch
from wireproof_spec.iggy.apache.envelope import PollHead, pack_version
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import Eviction, encode_answer
from wireproof_spec.iggy.apache.header import EvictionHeader
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import STRING, UINT64
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import LAST, NEXT

HEADERS = (Header("key 1", STRING, b"value1"), Header("key_3", UINT64, b"\1" * 8))
SENT = (SentMessage(7, HEADERS, b"orders_data_3"), SentMessage(0, (), bytes(range(256))))
SETTINGS = Settings(
    ("127.0.0.1", 1),
    False,
    stream=numeric(0),
    topic=numeric(0),
    partition=0,
    generation="apache",
    new_id=itertools.count(1 << 90).__next__,
    now_us=lambda: FIRST_US,
)


class Wire:
    """A client and the reference's server, whose bytes go from one to the other in pieces."""

    def __init__(self, bench: Bench, settings: Settings = SETTINGS, piece: int = 100) -> None:
        self.transport = ApacheTransport(settings)
        self._bench, self._piece = bench, piece
        self._connection = Connection(bench.node, now_us=bench.tick())
        for call in self.transport.begin():
            self.call(call)

    def call(self, call: Call) -> Answer:
        self._connection.receive(self.transport.ask(call), self._bench.tick())
        data = self._connection.take_output()
        for at in range(0, len(data), self._piece):
            answer = self.transport.receive(data[at : at + self._piece])
            if answer is not None:
                return answer
        raise AssertionError("the answer is not whole")


def bench() -> Bench:
    made = Bench()
    made.with_topic()
    return made


def received(answer: Answer) -> list[Received]:
    assert isinstance(answer, tuple)
    return [each for each in answer if isinstance(each, Received)]


def polled_body(*batches: bytes, count: int) -> bytes:
    return encode(OWN.poll_head, PollHead(0, 9, count)) + b"".join(batches)


@pytest.mark.parametrize("piece", [1, 100, 10_000])
def test_what_was_sent_is_polled(piece: int) -> None:
    wire = Wire(bench(), piece=piece)
    assert wire.call(Send(SENT, partition_id(0))) == ()
    found = received(wire.call(Poll(count=10)))
    assert [(each.offset, each.payload, each.headers) for each in found] == [
        (0, SENT[0].payload, HEADERS),
        (1, SENT[1].payload, ()),
    ]
    assert found[0].id == 7
    assert found[1].id > 1 << 90
    assert all(each.is_sound and each.origin_timestamp == FIRST_US for each in found)
    assert wire.call(StoreOffset(0)) == ()
    assert [each.offset for each in received(wire.call(Poll(NEXT)))] == [1]
    assert [each.offset for each in received(wire.call(Poll(LAST, count=1)))] == [1]


def test_a_stream_is_created_and_a_name_is_taken_once() -> None:
    wire = Wire(bench())
    created = wire.call(CreateStream("new"))
    assert isinstance(created, Created)
    assert created.name == "new"
    with pytest.raises(Refused, match="1012") as refused:
        wire.call(CreateStream("new"))
    assert refused.value.code == 1012


def test_a_refusal_ends_no_session() -> None:
    wire = Wire(bench(), replace(SETTINGS, topic=numeric(9)))
    for _ in range(2):
        with pytest.raises(Refused, match="topic_id_not_found"):
            wire.call(Poll())


def test_a_wrong_password_ends_the_session_with_its_reason() -> None:
    with pytest.raises(Evicted, match="invalid_credentials") as ended:
        Wire(bench(), replace(SETTINGS, password="wrong"))
    assert ended.value.code == 9


def test_an_eviction_tells_the_versions_that_are_accepted() -> None:
    window = pack_version(0, 12, 2), pack_version(0, 12, 0)
    header = EvictionHeader(
        server_protocol_version=window[0], server_protocol_version_min=window[1], reason=14
    )
    text = str(evicted(Eviction(header)))
    assert text.endswith("accepts protocol 0.12.0 to 0.12.2")


def test_an_eviction_at_any_time_is_told() -> None:
    transport = ApacheTransport(SETTINGS)
    transport.ask(Poll())
    with pytest.raises(Evicted, match="reason 99: an unknown reason"):
        transport.receive(encode_answer(Eviction(EvictionHeader(reason=99))))


@pytest.mark.parametrize("data", [b"", bytes(256), b"\xff" * 256])
def test_what_is_no_reply_ends_the_connection(data: bytes) -> None:
    transport = ApacheTransport(SETTINGS)
    transport.ask(Poll())
    with pytest.raises(Lost):
        transport.receive(data)


def test_a_damaged_message_is_polled_again_and_then_refused() -> None:
    batch = messages.make_batch(SENT[:1], SETTINGS)
    frame = replace(batch.frames[0], payload=b"other")
    damaged = encode(BATCH, make_batch(batch.header, [frame]))
    (found,) = messages.read_polled(OWN, polled_body(damaged, count=1))
    assert not operations.matches(found)
    operation = operations.poll(Poll())
    next(operation)
    for _ in range(operations.MOST_ATTEMPTS - 1):
        operation.send((found,))
    with pytest.raises(Damaged):
        operation.send((found,))


@pytest.mark.parametrize(
    ("count", "change"),
    [
        (2, {}),
        (1, {"message_count": 2}),
        (1, {"batch_length": 300}),
        (1, {"reserved": b"\1" + bytes(203)}),
    ],
)
def test_counts_and_reserved_bytes_are_checked(count: int, change: dict[str, object]) -> None:
    batch = messages.make_batch(SENT[:1], SETTINGS)
    data = encode(BATCH, replace(batch, header=replace(batch.header, **change)))
    with pytest.raises(Unreadable):
        messages.read_polled(OWN, polled_body(data, count=count))


def test_unfit_user_headers_cost_no_message() -> None:
    frame = messages.make_frame(SENT[0], SETTINGS)
    frame = messages.place(replace(frame, user_headers=b"\2\1\0\0\0k"), 0)
    data = encode(BATCH, messages.seal(BatchHeader(), [frame]))
    (found,) = messages.read_polled(OWN, polled_body(data, count=1))
    assert isinstance(found, Received)
    assert found.payload == SENT[0].payload
    assert "cannot be read" in found.warning


def test_json_is_read_and_written() -> None:
    written = apache_object(SentMessage(1 << 100, HEADERS, b"body"))
    assert written["id"] == str(1 << 100)
    header = {"checksum": 1, "id": 2, "offset": 3, "timestamp": 4, "origin_timestamp": 5}
    members = {name: written[name] for name in ("payload", "user_headers")}
    message = {"header": header, **members}
    body = json.dumps({"messages": [message]}).encode()
    (found,) = shared.read_json(body, "apache")
    assert isinstance(found, Received)
    assert (found.id, found.offset, found.headers, found.payload) == (2, 3, HEADERS, b"body")
    broken = json.dumps({"messages": [{**message, "header": None}]}).encode()
    with pytest.raises(CallFailed):
        shared.read_json(broken, "apache")
