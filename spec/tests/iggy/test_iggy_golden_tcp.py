"""The grammar of Iggy against bytes recorded from a real server: values, bytes, refusals."""

import struct
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from check_each import check_each

from wireproof_spec.decoding import Schema, decode, encode, spans
from wireproof_spec.iggy import commands, golden, statuses
from wireproof_spec.iggy.bodies import command_shapes
from wireproof_spec.iggy.bodies.consumer_offsets import CONSUMER_OFFSET, ConsumerOffset
from wireproof_spec.iggy.bodies.identifier import make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.payloads import decode_payload
from wireproof_spec.iggy.bodies.poll_messages import (
    POLLED_MESSAGES,
    POLLED_MESSAGES_OLD,
    POLLED_MESSAGES_TAGGED,
    PolledMessages,
)
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.bodies.streams import STREAM_DETAILS, STREAMS, Stream, StreamDetails
from wireproof_spec.iggy.bodies.system import CLIENT_DETAILS, CLIENTS, STATS
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.frame import (
    NEED_MORE,
    REQUEST,
    RESPONSE,
    Request,
    RequestReader,
    Response,
    ResponseReader,
)
from wireproof_spec.iggy.golden import TcpScenario, TcpStep
from wireproof_spec.iggy.header_kinds import HEADER_KINDS, header_bytes, header_value
from wireproof_spec.iggy.headers import HEADERS, Header
from wireproof_spec.iggy.message import Message
from wireproof_spec.wire_error import WireError

SCENARIOS = {scenario.name: scenario for scenario in golden.tcp()}
ROWS: list[dict[str, Any]] = tomllib.loads(
    (golden.folder() / "refused.toml").read_text(encoding="utf-8")
)["refused"]
LIMIT = 1 << 30
HEAD = 8

ANSWERS: dict[int, Schema[Any]] = {
    commands.GET_STATS: STATS,
    commands.GET_ME: CLIENT_DETAILS,
    commands.GET_CLIENTS: CLIENTS,
    commands.POLL_MESSAGES: POLLED_MESSAGES,
    commands.GET_CONSUMER_OFFSET: CONSUMER_OFFSET,
    commands.GET_STREAM: STREAM_DETAILS,
    commands.GET_STREAMS: STREAMS,
}


@dataclass(frozen=True)
class Exchange:
    """A request as the grammar has it, and what came of it."""

    connection: str
    request: Request | None
    refusal: WireError | None
    outcome: TcpStep | None

    @property
    def answer(self) -> Response:
        assert self.outcome
        return decode(RESPONSE, self.outcome.data)


def exchanges(scenario: TcpScenario) -> Iterator[Exchange]:
    """Read the client's bytes frame by frame, each with what the server did next."""
    readers: dict[str, RequestReader] = defaultdict(lambda: RequestReader(LIMIT))
    for index, step in enumerate(scenario.steps):
        if step.direction != "c2s":
            continue
        later = scenario.steps[index + 1 :]
        outcome = next((s for s in later if s.connection == step.connection), None)
        reader = readers[step.connection]
        reader.feed(step.data)
        try:
            request = reader.next_request()
        except WireError as error:
            yield Exchange(step.connection, None, error, outcome)
            continue
        if request is not NEED_MORE:
            yield Exchange(step.connection, request, refusal(request), outcome)


def refusal(request: Request) -> WireError | None:
    """Return why the grammar refuses a request; places count from the start of its frame."""
    try:
        decode_payload(request.code, request.payload)
    except LookupError:
        return WireError(clause="", field="code", offset=4, expected="", found="")
    except WireError as error:
        return error.at(HEAD)
    return None


def polled(name: str, *, which: int = 0) -> PolledMessages:
    bodies = [
        exchange.answer.body
        for exchange in exchanges(SCENARIOS[name])
        if exchange.request and exchange.request.code == commands.POLL_MESSAGES
    ]
    return decode(POLLED_MESSAGES, bodies[which])


@check_each(SCENARIOS.values(), lambda scenario: scenario.name)
def test_every_request_is_read_and_built_back(scenario: TcpScenario) -> None:
    for exchange in exchanges(scenario):
        request = exchange.request
        if request is None or exchange.refusal is not None:
            continue
        shape = command_shapes.payload_schema(request.code)
        assert encode(shape, decode_payload(request.code, request.payload)) == request.payload


@check_each(SCENARIOS.values(), lambda scenario: scenario.name)
def test_every_frame_is_read_and_built_back(scenario: TcpScenario) -> None:
    for exchange in exchanges(scenario):
        if exchange.request is not None:
            encoded = encode(REQUEST, exchange.request)
            sent = b"".join(s.data for s in scenario.steps if s.connection == exchange.connection)
            assert encoded in sent
    for step in scenario.steps:
        if step.direction == "s2c":
            assert encode(RESPONSE, decode(RESPONSE, step.data)) == step.data


@check_each(SCENARIOS.values(), lambda scenario: scenario.name)
def test_every_answer_is_read_and_built_back(scenario: TcpScenario) -> None:
    for exchange in exchanges(scenario):
        if exchange.request is None or not (exchange.outcome and exchange.outcome.data):
            continue
        answer = exchange.answer
        if answer.status != statuses.OK:
            assert answer.body == b""
            assert answer.status in statuses.STATUSES
        elif exchange.request.code in ANSWERS:
            shape = ANSWERS[exchange.request.code]
            assert encode(shape, decode(shape, answer.body)) == answer.body
            assert sum(span.length for span in spans(shape, answer.body)) == len(answer.body)
        else:
            assert answer.body == b"", exchange.request


def test_each_refusal_is_in_the_table_at_its_place() -> None:
    found = {
        (scenario.name, exchange.connection, number, error.field, error.offset)
        for scenario in SCENARIOS.values()
        for (number, exchange) in numbered(scenario)
        if (error := exchange.refusal) is not None
    }
    listed = {
        (
            row["scenario"],
            row.get("connection", "A"),
            row.get("request", 0),
            row["field"],
            row["offset"],
        )
        for row in ROWS
    }
    assert found == listed


def numbered(scenario: TcpScenario) -> Iterator[tuple[int, Exchange]]:
    counts: Counter[str] = Counter()
    for exchange in exchanges(scenario):
        yield counts[exchange.connection], exchange
        counts[exchange.connection] += 1


def test_the_server_closes_at_what_is_refused_and_at_nothing_else() -> None:
    accepted = {row["scenario"] for row in ROWS if row.get("peer") == "accepts"}
    compared = 0
    for scenario in SCENARIOS.values():
        for exchange in exchanges(scenario):
            assert exchange.outcome is not None
            closed = exchange.outcome.direction == "close"
            refused = exchange.refusal is not None and scenario.name not in accepted
            assert closed == refused, scenario.name
            compared += closed
    assert compared == 39
    assert accepted == {"poll-trailing-bytes"}


def test_what_is_refused_by_content_has_a_right_shape() -> None:
    for row in ROWS:
        for number, exchange in numbered(SCENARIOS[row["scenario"]]):
            place = (exchange.connection, number)
            if place != (row.get("connection", "A"), row.get("request", 0)):
                continue
            assert (exchange.request is None) == (row["by"] == "frame")
            if exchange.request is not None and row["by"] in ("shape", "content"):
                payload = exchange.request.payload
                shape = command_shapes.payload_schema(exchange.request.code)
                if row["by"] == "content":
                    decode(shape, payload)
                else:
                    with pytest.raises(WireError):
                        decode(shape, payload)


def test_trailing_bytes_of_a_poll_end_where_the_error_says() -> None:
    (exchange,) = (e for e in exchanges(SCENARIOS["poll-trailing-bytes"]) if e.refusal)
    assert exchange.request
    assert exchange.refusal
    whole = exchange.request.payload[: exchange.refusal.offset - HEAD]

    assert exchange.refusal.field == "end"
    assert decode_payload(commands.POLL_MESSAGES, whole)


def test_the_published_payloads_have_the_published_checksums() -> None:
    first, second = polled("published-note-vectors").messages

    assert (first.payload, first.checksum) == (b"orders_data_2", 2144931076)
    assert (second.payload, second.checksum) == (b"orders_data_3", 148782482)
    assert (first.state, first.offset, second.offset) == (1, 0, 1)


def test_every_recorded_checksum_is_that_of_the_payload_unless_it_was_changed() -> None:
    changed = {"checksum-from-disk-wrong", "payload-from-disk-changed"}
    seen = 0
    for scenario in SCENARIOS.values():
        for exchange in exchanges(scenario):
            for message in messages_of(exchange):
                right = message.checksum == payload_checksum(message.payload)
                assert right == (scenario.name not in changed), scenario.name
                seen += 1
    assert seen > 60


def messages_of(exchange: Exchange) -> tuple[Message, ...]:
    request, outcome = exchange.request, exchange.outcome
    if request is None or request.code != commands.POLL_MESSAGES or outcome is None:
        return ()
    answered = outcome.direction == "s2c" and exchange.answer.status == statuses.OK
    return decode(POLLED_MESSAGES, exchange.answer.body).messages if answered else ()


def test_a_state_byte_patched_on_disk_is_polled() -> None:
    assert polled("state-from-disk-available").messages[0].state == 1
    assert polled("state-from-disk-poisoned").messages[0].state == 20


def test_the_id_is_little_endian() -> None:
    (message,) = polled("send-id-endianness").messages

    assert message.id == 0x0102030405060708090A0B0C0D0E0F10
    assert polled("send-id-max").messages[0].id == 2**128 - 1


def test_all_kinds_of_headers_are_read() -> None:
    (message,) = polled("header-all-kinds-one-message").messages

    assert {header.kind for header in message.headers} == set(HEADER_KINDS)
    for header in message.headers:
        assert header_bytes(header.kind, header_value(header.kind, header.value)) == header.value


def test_the_headers_of_the_published_example() -> None:
    (message,) = polled("header-note-example").messages

    assert set(message.headers) == {
        Header("key_3", 12, (123456).to_bytes(8, "little")),
        Header("key 1", 2, b"value1"),
        Header("key-2", 3, b"\x01"),
    }
    assert decode(HEADERS, encode(HEADERS, message.headers)) == message.headers


def test_a_width_that_does_not_fit_its_kind_is_read_but_spells_nothing() -> None:
    headers = [m.headers for m in polled("header-width-not-checked").messages]
    assert [len(each) for each in headers] == [1, 1]
    for (header,) in headers:
        with pytest.raises(WireError):
            header_value(header.kind, header.value)


def test_an_empty_poll_is_four_bytes() -> None:
    bodies = [e.answer.body for e in exchanges(SCENARIOS["poll-empty-partition"])]

    assert bytes(4) in bodies
    assert polled("poll-empty-partition") == PolledMessages(None, None, ())


def test_what_was_sent() -> None:
    (sent,) = (
        decode_payload(e.request.code, e.request.payload)
        for e in exchanges(SCENARIOS["send-one-poll-one"])
        if e.request and e.request.code == commands.SEND_MESSAGES
    )
    assert sent == SendMessages(
        numeric(112), numeric(1), partition_id(1), (SentMessage(77, (), b"hello"),)
    )


def test_streams_as_told() -> None:
    told = [
        decode(STREAM_DETAILS, e.answer.body)
        for e in exchanges(SCENARIOS["stream-create-get-list-delete"])
        if e.request and e.request.code == commands.GET_STREAM and e.answer.body
    ]
    assert told == [StreamDetails(Stream(101, None, 0, 0, 0, "orders.stream"), ())] * 2
    assert make_named("orders.stream").name == "orders.stream"


def test_offsets_as_told() -> None:
    told = [
        decode(CONSUMER_OFFSET, e.answer.body)
        for e in exchanges(SCENARIOS["offset-store-get"])
        if e.request and e.request.code == commands.GET_CONSUMER_OFFSET and e.answer.body
    ]
    assert told == [ConsumerOffset(1, 0), ConsumerOffset(1, 1), ConsumerOffset(1, 1)]


def by_hand(body: bytes) -> Iterator[Message]:
    """Read polled messages as the published line and the headers' lengths have them."""
    (count,) = struct.unpack_from("<I", body)
    at = 4
    for _ in range(count):
        offset, state, timestamp, low, high, checksum, size = struct.unpack_from(
            "<QBQQQII", body, at
        )
        at += 41
        headers = tuple(headers_by_hand(body[at : at + size]))
        (length,) = struct.unpack_from("<I", body, at + size)
        at += size + 4
        payload = body[at : at + length]
        yield Message(offset, state, timestamp, high << 64 | low, checksum, headers, payload)
        at += length
    assert at == len(body)


def headers_by_hand(block: bytes) -> Iterator[Header]:
    at = 0
    while at < len(block):
        (key_length,) = struct.unpack_from("<I", block, at)
        key = block[at + 4 : at + 4 + key_length].decode()
        at += 4 + key_length
        kind, value_length = struct.unpack_from("<BI", block, at)
        at += 5
        yield Header(key, kind, block[at : at + value_length])
        at += value_length


def test_a_second_reader_reads_the_same_of_every_recorded_poll() -> None:
    compared = 0
    for scenario in SCENARIOS.values():
        for exchange in exchanges(scenario):
            found = messages_of(exchange)
            if found:
                assert tuple(by_hand(exchange.answer.body)) == found, scenario.name
                compared += len(found)
    assert compared > 60


@pytest.mark.parametrize("shape", [POLLED_MESSAGES_TAGGED, POLLED_MESSAGES_OLD])
def test_no_recorded_poll_reads_as_one_of_another_layout(shape: Schema[PolledMessages]) -> None:
    compared = 0
    for scenario in SCENARIOS.values():
        for exchange in exchanges(scenario):
            if messages_of(exchange):
                with pytest.raises(WireError):
                    decode(shape, exchange.answer.body)
                compared += 1
    assert compared > 40


@check_each(SCENARIOS.values(), lambda scenario: scenario.name)
def test_answers_are_read_byte_by_byte(scenario: TcpScenario) -> None:
    data = b"".join(step.data for step in scenario.steps if step.direction == "s2c")
    reader = ResponseReader(LIMIT)
    found: list[Response] = []
    for at in range(len(data)):
        reader.feed(data[at : at + 1])
        response = reader.next_response()
        if response is not NEED_MORE:
            found.append(response)

    assert b"".join(encode(RESPONSE, response) for response in found) == data
    assert (reader.pending, reader.offset) == (b"", len(data))
