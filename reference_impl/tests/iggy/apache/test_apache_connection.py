"""Generation `apache` over TCP: logins, admission, polls, offsets, beyond what was recorded."""

from pathlib import Path

import pytest
from apache_bench import (
    ME,
    ZERO,
    Bench,
    Client,
    login_body,
    message,
    messages,
    polling,
    sending,
    sending_batch,
)
from msgspec.structs import replace

from wireproof_reference_impl.iggy.presets import overrides
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import evictions, operations, statuses
from wireproof_spec.iggy.apache.batch import (
    BATCH,
    Batch,
    BatchHeader,
    check_batch,
    make_batch,
    seal_batch,
)
from wireproof_spec.iggy.apache.bodies.messages import (
    CONSUMER_OFFSET,
    DELETE_CONSUMER_OFFSET,
    GET_CONSUMER_OFFSET,
    STORE_CONSUMER_OFFSET,
    ConsumerOffset,
    DeleteConsumerOffset,
    GetConsumerOffset,
    StoreConsumerOffset,
)
from wireproof_spec.iggy.apache.bodies.places import (
    STREAM_REQUEST,
    StreamRequest,
    one_partition,
)
from wireproof_spec.iggy.apache.bodies.resources import (
    CREATE_TOPIC,
    STREAM_DETAILS,
    TOPIC_DETAILS,
    CreateTopic,
)
from wireproof_spec.iggy.apache.bodies.results import RESULT, Rejection
from wireproof_spec.iggy.apache.envelope import TokenLoginBody
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import Eviction
from wireproof_spec.iggy.apache.user_headers import text_header
from wireproof_spec.iggy.bodies.identifier import make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import make_balanced, messages_key
from wireproof_spec.iggy.header_kinds import BOOL, STRING
from wireproof_spec.iggy.kinds import LAST, NEXT, OFFSET

PLACE = one_partition(0)
READ = operations.NON_REPLICATED


def stored(client: Client) -> bytes:
    return client.read(
        operations.GET_CONSUMER_OFFSET,
        encode(GET_CONSUMER_OFFSET, GetConsumerOffset(ME, ZERO, ZERO, PLACE)),
    )


def payloads(client: Client, **fields: int) -> list[bytes]:
    return [frame.payload for frame in client.poll(**fields).frames]


def evicted(client: Client, operation: int, body: bytes = b"", **fields: int) -> int:
    answer = client.ask(operation, body, **fields)
    assert isinstance(answer, Eviction)
    return answer.header.reason


def test_a_token_is_refused_by_its_own_reason() -> None:
    token = TokenLoginBody(OWN.version, "s", "1", "secret")
    body = encode(OWN.token_login, token)

    found = evicted(Bench().connect(), operations.REGISTER, body, session=0, request=0)
    assert found == evictions.INVALID_TOKEN


def test_bytes_behind_a_login_are_ignored() -> None:
    client = Bench().connect()

    reply = client.reply(operations.REGISTER, login_body() + b"more", session=0, request=0)
    assert reply.header.status == 0


def test_a_replicated_operation_before_login_is_evicted() -> None:
    client = Bench().connect()
    client.session = client.request = 1

    for operation in (operations.CREATE_STREAM, operations.SEND_MESSAGES, operations.LOGOUT):
        assert evicted(client, operation) == evictions.NO_SESSION
    assert client.status(READ, code=operations.GET_STREAMS) == statuses.UNAUTHENTICATED


def test_a_client_that_leaves_is_forgotten() -> None:
    bench = Bench()
    client = bench.login()
    assert client.number in bench.node.registered
    client.connection.end()
    assert bench.node.registered == {}


@pytest.mark.parametrize("header", [{"client": 0}, {"operation": 0}, {"session": 0}])
def test_a_bad_header_is_left_unanswered(header: dict[str, int]) -> None:
    client = Bench().with_topic()
    operation = header.pop("operation", operations.SEND_MESSAGES)

    assert client.ask(operation, sending(*messages(b"x")), **header) is None
    assert payloads(client) == []


def test_a_refused_batch_is_answered_and_nothing_of_it_is_stored() -> None:
    client = Bench().with_topic()
    batch = make_batch(BatchHeader(), messages(b"one", b"two"))
    wrong = replace(batch.frames[1], checksum=0)
    broken = {
        "frame": make_batch(BatchHeader(), (batch.frames[0], wrong)),
        "batch": Batch(replace(batch.header, batch_checksum=1), batch.frames),
        "reserved": seal_batch(
            Batch(replace(batch.header, reserved=bytes(203) + b"\1"), batch.frames)
        ),
        "deltas": make_batch(BatchHeader(), (message(b"one", 1), message(b"two", 0))),
        "none": make_batch(BatchHeader(), ()),
    }

    for name, each in broken.items():
        asked = client.status(operations.SEND_MESSAGES, sending_batch(each))
        assert asked == statuses.RESOURCE_NOT_FOUND, name
    assert client.poll().head.count == 0
    client.produce(*batch.frames)
    assert payloads(client) == [b"one", b"two"]


def test_the_silent_variant_leaves_a_refused_batch_unanswered() -> None:
    wrong = replace(message(b"x"), checksum=0)
    with apply_overrides(overrides((), ("silent-refusals",))):
        client = Bench().with_topic()
        assert client.ask(operations.SEND_MESSAGES, sending(wrong)) is None
        assert client.status(READ, code=operations.PING) == 0


def test_slices_have_right_checksums_and_the_frames_of_the_producer() -> None:
    client = Bench().with_topic()
    sent = messages(b"one", b"two", b"three")
    client.produce(*sent)
    client.produce(*messages(b"four"))

    polled = client.poll(strategy=OFFSET, value=1, count=3)
    for batch in polled.batches:
        check_batch(batch)
    assert polled.frames[:2] == sent[1:]
    assert polled.offsets == (1, 2, 3)
    assert (polled.head.count, polled.head.current_offset) == (3, 3)
    assert payloads(client, strategy=LAST, count=2) == [b"three", b"four"]


def test_base_timestamps_do_not_fall() -> None:
    bench = Bench()
    client = bench.with_topic()
    client.produce(*messages(b"now"))
    bench._times = iter([1] * 9)
    client.produce(*messages(b"before"))
    times = [batch.header.base_timestamp for batch in client.poll().batches]
    assert times == sorted(times)


def test_balanced_and_key_partitioning() -> None:
    client = Bench().with_topic(partitions=3)
    for how in (*[make_balanced()] * 3, messages_key(b"a"), messages_key(b"a")):
        body = sending(message(b"x"), partitioning=how)
        assert client.status(operations.SEND_MESSAGES, body) == 0

    counts = [client.poll(partition=number).head.count for number in range(3)]
    assert sorted(counts) == [1, 1, 3]


def test_auto_commit_never_moves_an_offset_back() -> None:
    client = Bench().with_topic()
    client.produce(*messages(b"one", b"two", b"three"))
    client.poll(strategy=OFFSET, value=2, commit=1)
    client.poll(strategy=OFFSET, value=0, count=1, commit=1)

    assert decode(CONSUMER_OFFSET, stored(client)) == ConsumerOffset(0, 2, 2)
    assert payloads(client, strategy=NEXT) == []


def test_offsets_are_stored_deleted_and_refused_beyond_the_newest() -> None:
    client = Bench().with_topic()
    client.produce(*messages(b"one", b"two"))
    assert stored(client) == b""
    store = StoreConsumerOffset(ME, ZERO, ZERO, PLACE, 1, 1)
    body = encode(STORE_CONSUMER_OFFSET, store)
    assert decode(RESULT, client.reply(operations.STORE_CONSUMER_OFFSET, body).body).payload == b""
    assert decode(CONSUMER_OFFSET, stored(client)).stored_offset == 1
    beyond = encode(STORE_CONSUMER_OFFSET, replace(store, offset=2))
    refused = client.status(operations.STORE_CONSUMER_OFFSET, beyond)
    assert refused == statuses.INVALID_OFFSET
    delete = encode(DELETE_CONSUMER_OFFSET, DeleteConsumerOffset(ME, ZERO, ZERO, PLACE, 0))
    assert client.status(operations.DELETE_CONSUMER_OFFSET, delete) == 0
    assert stored(client) == b""
    again = client.status(operations.DELETE_CONSUMER_OFFSET, delete)
    assert again == statuses.CONSUMER_OFFSET_NOT_FOUND


def test_a_deleted_stream_is_gone_and_its_id_is_used_again() -> None:
    client = Bench().with_topic()
    request = encode(STREAM_REQUEST, StreamRequest(make_named("s")))
    found = decode(STREAM_DETAILS, client.read(operations.GET_STREAM, request))
    assert [topic.name for topic in found.topics] == ["t"]
    client.change(operations.DELETE_STREAM, request)
    assert client.read(operations.GET_STREAM, request) == b""
    client.request += 1
    reply = client.reply(operations.DELETE_STREAM, request)
    expected = (Rejection(0, statuses.STREAM_ID_NOT_FOUND),)
    assert decode(RESULT, reply.body).rejections == expected


def test_options_of_a_topic_are_kept_and_unknown_ones_refused() -> None:
    client = Bench().with_topic()
    explicit = text_header("enforce_fsync", BOOL, b"\1")
    body = encode(CREATE_TOPIC, CreateTopic(numeric(0), 1, "u", (explicit,)))
    topic = decode(TOPIC_DETAILS, client.change(operations.CREATE_TOPIC, body)).topic
    assert topic.options == (explicit,)
    assert explicit in topic.effective
    unknown = (text_header("colour", STRING, b"red"),)
    body = encode(CREATE_TOPIC, CreateTopic(numeric(0), 1, "v", unknown))
    status = client.status(operations.CREATE_TOPIC, body, request=9)
    assert status == statuses.UNSUPPORTED_OPTION_KEY


def test_messages_and_offsets_outlive_the_server(tmp_path: Path) -> None:
    client = Bench(data=tmp_path).with_topic(partitions=2)
    client.produce(*messages(b"one", b"two"), partition=1)
    client.poll(count=1, partition=1, commit=1)
    before = client.read(operations.POLL_MESSAGES, polling(partition=1))
    log = tmp_path / "streams/0/topics/0/partitions/1" / f"{0:020}.log"
    assert log.read_bytes() == before[16:]

    client = Bench(data=tmp_path).login()
    assert client.read(operations.POLL_MESSAGES, polling(partition=1)) == before
    assert payloads(client, partition=1, strategy=NEXT) == [b"two"]
    assert client.produce(message(b"three"), partition=1).base_offset == 2


def test_a_damaged_batch_is_refused_and_others_are_delivered(tmp_path: Path) -> None:
    client = Bench(data=tmp_path).with_topic()
    client.produce(*messages(b"damaged"))
    client.produce(*messages(b"sound"))
    log = tmp_path / "streams/0/topics/0/partitions/0" / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[256 + 48] ^= 1
    log.write_bytes(data)

    client = Bench(data=tmp_path).login()
    refused = client.status(READ, polling(), code=operations.POLL_MESSAGES)
    assert refused == statuses.INVALID_MESSAGE_CHECKSUM
    assert payloads(client, strategy=OFFSET, value=1) == [b"sound"]


def test_a_foreign_command_is_dropped_and_an_unknown_one_ends_the_connection() -> None:
    client = Bench().login()
    assert client.ask(READ, code=operations.PING, command=6) is None
    assert not client.closed
    assert client.ask(READ, code=operations.PING, command=30) is None
    assert client.closed


def test_a_batch_of_the_bench_is_one_of_the_grammar() -> None:
    batch = make_batch(BatchHeader(), messages(b"x"))
    assert decode(BATCH, encode(BATCH, batch)) == batch
