"""The server of generation apache that a client meets: what it answers, and by which script."""

from collections.abc import Iterable, Sequence

import pytest
from apache_requests import decoded, login, poll, read, send, write

from wireproof_kit.clients.effects import Effect, HangUp, Later, Send
from wireproof_kit.iggy.apache.requests import Polling
from wireproof_kit.iggy.clients.apache import log
from wireproof_kit.iggy.clients.apache.changes import BROKEN, DAMAGED
from wireproof_kit.iggy.clients.peers import IggyPeers
from wireproof_kit.iggy.clients.script import (
    Batches,
    Body,
    Evict,
    Late,
    Odd,
    Raw,
    Refuse,
    Reject,
    Reply,
    Script,
    Silence,
)
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import operations, statuses
from wireproof_spec.iggy.apache.batch import check_batch
from wireproof_spec.iggy.apache.bodies.cluster import CLUSTER
from wireproof_spec.iggy.apache.bodies.resources import CREATE_STREAM, STREAM, CreateStream
from wireproof_spec.iggy.apache.bodies.results import CONFIRMATIONS, RESULT
from wireproof_spec.iggy.apache.envelope import pack_version
from wireproof_spec.iggy.apache.envelopes import ENVELOPES, OWN
from wireproof_spec.iggy.apache.frames import Eviction, Frame, decode_answer
from wireproof_spec.iggy.apache.frames import Reply as WireReply
from wireproof_spec.iggy.apache.polled import Polled, decode_polled
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, OFFSET, TIMESTAMP
from wireproof_spec.wire_error import WireError

LAST_OFFSET = 29


def play(script: Script, *data: bytes) -> list[Effect]:
    """Return what the server does about the requests of one connection."""
    peers = IggyPeers(script)
    for _ in peers.begin({"tcp": "[::1]:8090", "http": "[::1]:3000"}, {}):
        raise AssertionError("there is an effect before the client starts")
    return [effect for event in decoded(*data) for effect in peers.react(event)]


def answered(effects: Iterable[Effect]) -> list[WireReply | Eviction]:
    """Return the answers among effects."""
    sent = [each.data for each in effects if isinstance(each, Send)]
    return [decode_answer(Frame(data[:256], data[256:])) for data in sent]


def serve(*data: bytes, polls: Sequence[Reply] = ()) -> WireReply | Eviction:
    """Return the answer to the last of some requests behind a login."""
    return answered(play(Script("consumer", polls=tuple(polls)), login(), *data))[-1]


def polled(answer: WireReply | Eviction) -> Polled:
    """Return the body of the reply to a poll."""
    assert isinstance(answer, WireReply)
    return decode_polled(OWN, answer.body)


def test_a_login_is_answered_with_a_session_behind_a_result_section() -> None:
    (answer,) = answered(play(Script("consumer", sessions=(1 << 63,)), login()))
    assert isinstance(answer, WireReply)
    entered = decode(OWN.login_reply, decode(RESULT, answer.body).payload)
    assert entered.session == 1 << 63
    assert answer.header.client == 7


def test_before_the_login_a_ping_is_served_and_nothing_else() -> None:
    script = Script("consumer")
    ping, refused, evicted, legacy = answered(
        play(script, read(operations.PING), poll(), send(), read(38))
    )
    assert isinstance(ping, WireReply)
    assert ping.header.status == statuses.OK
    assert isinstance(refused, WireReply)
    assert refused.header.status == statuses.UNAUTHENTICATED
    assert isinstance(evicted, Eviction)
    assert evicted.header.reason == 1
    assert isinstance(legacy, Eviction)
    assert legacy.header.reason == 15


def test_an_unknown_version_is_evicted_with_the_window() -> None:
    (answer,) = answered(play(Script("consumer"), login(pack_version(0, 99, 0))))
    assert isinstance(answer, Eviction)
    assert answer.header.reason == 14
    assert answer.header.server_protocol_version == OWN.version


def test_a_client_of_another_number_is_answered_in_its_shapes() -> None:
    number = ENVELOPES["0.12"]
    entered = login(number.version, number=number)
    *_, answer = answered(play(Script("consumer"), entered, poll(2)))
    assert isinstance(answer, WireReply)
    found = decode_polled(number, answer.body)
    assert found.offsets == (0, 1)


@pytest.mark.parametrize(
    ("polling", "offsets"),
    [
        (Polling(OFFSET, 3, 4), (3, 4, 5, 6)),
        (Polling(FIRST, 9, 2), (0, 1)),
        (Polling(LAST, 0, 2), (28, 29)),
        (Polling(NEXT, 0, 2), (0, 1)),
        (Polling(TIMESTAMP, log.BATCHES[2].header.base_timestamp, 2), (10, 11)),
        (Polling(OFFSET, 30, 4), ()),
        (Polling(OFFSET, 0, 0), ()),
    ],
)
def test_polls_find_what_their_strategy_says(polling: Polling, offsets: tuple[int, ...]) -> None:
    found = polled(serve(poll(polling=polling)))
    assert (found.offsets, found.head.count) == (offsets, len(offsets))
    assert found.head.current_offset == LAST_OFFSET
    for batch in found.batches:
        check_batch(batch)


def test_auto_commit_stores_the_last_offset() -> None:
    committed = poll(polling=Polling(OFFSET, 3, 4, auto_commit=1))
    found = polled(serve(committed, poll(polling=Polling(NEXT, 0, 1))))
    assert found.offsets == (7,)


def test_messages_are_confirmed_behind_one_another() -> None:
    *_, first, second = answered(play(Script("producer"), login(), send(), send()))
    offsets: list[int] = []
    for each in (first, second):
        assert isinstance(each, WireReply)
        (place,) = decode(CONFIRMATIONS, each.body).confirmations
        offsets.append(place.base_offset)
    assert offsets == [30, 32]


@pytest.mark.parametrize("name", ["new", "wireproof"])
def test_a_stream_is_created_or_rejected(name: str) -> None:
    body = encode(CREATE_STREAM, CreateStream(name))
    answer = serve(write(operations.CREATE_STREAM, body))
    assert isinstance(answer, WireReply)
    result = decode(RESULT, answer.body)
    if name == "new":
        assert decode(STREAM, result.payload).name == name
    else:
        assert [each.result for each in result.rejections] == [1012]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (operations.GET_ME, statuses.FEATURE_UNAVAILABLE),
        (operations.GET_CLUSTER_METADATA, statuses.OK),
        (9999, statuses.INVALID_COMMAND),
        (operations.GET_TOPIC, statuses.OK),
        (operations.GET_CONSUMER_OFFSET, statuses.OK),
    ],
)
def test_other_reads_are_answered_as_by_a_real_server(code: int, status: int) -> None:
    body = b"\1\4" + b"\1\0\0\0"
    places = {
        operations.GET_TOPIC: body * 2,
        operations.GET_CONSUMER_OFFSET: b"\1" + body * 3 + bytes(5),
    }
    answer = serve(read(code, places.get(code, b"")))
    assert isinstance(answer, WireReply)
    assert answer.header.status == status


def test_a_client_is_told_that_the_server_is_a_cluster_alone() -> None:
    answer = serve(read(operations.GET_CLUSTER_METADATA))
    assert isinstance(answer, WireReply)
    (node,) = decode(CLUSTER, answer.body).nodes
    assert (node.ip, node.tcp_port, node.http_port) == ("::1", 8090, 3000)


@pytest.mark.parametrize(
    ("reply", "status", "body"),
    [
        (Refuse(77), 77, b""),
        (Reject(5), 0, b"\1\0\0\0\0\0\0\0\5\0\0\0"),
        (Body(b"abc", status=9), 9, b"abc"),
        (Batches((), count=5), 0, None),
    ],
)
def test_a_script_says_what_a_poll_is_answered(
    reply: Reply, status: int, body: bytes | None
) -> None:
    answer = serve(poll(), polls=[reply])
    assert isinstance(answer, WireReply)
    assert answer.header.status == status
    if body is None:
        assert polled(answer).head.count == 5
    else:
        assert answer.body == body


def test_fields_of_a_header_are_replaced() -> None:
    answer = serve(poll(2), polls=[Odd({"request": 99})])
    assert polled(answer).offsets == (0, 1)
    assert isinstance(answer, WireReply)
    assert answer.header.request == 99


def test_an_eviction_takes_the_session() -> None:
    script = Script("consumer", polls=(Evict(13),))
    _, evicted, later = answered(play(script, login(), poll(), poll()))
    assert isinstance(evicted, Eviction)
    assert evicted.header.reason == 13
    assert isinstance(later, WireReply)
    assert later.header.status == statuses.UNAUTHENTICATED


def test_a_late_answer_keeps_the_order_of_a_connection() -> None:
    peers = IggyPeers(Script("consumer", polls=(Late(2.0, Batches(log.BATCHES[:1])),)))
    events = list(decoded(login(), poll(), poll(3), read(operations.PING)))
    entered, *asked = events
    assert len(answered(peers.react(entered))) == 1
    (later,) = [effect for event in asked for effect in peers.react(event)]
    assert isinstance(later, Later)
    assert later.seconds == 2.0
    first, second, third = answered(peers.react_to_timer(later.token))
    assert polled(first).offsets == (0, 1, 2, 3, 4)
    assert polled(second).offsets == (0, 1, 2)
    assert isinstance(third, WireReply)
    assert third.body == b""


def test_silence_and_a_closed_connection_answer_nothing() -> None:
    silent = play(
        Script("consumer", polls=(Silence(), Raw(b"", reset=True))), login(), poll(), poll()
    )
    assert len(answered(silent)) == 1
    assert silent[-1] == HangUp("tcp.1", reset=True)


@pytest.mark.parametrize("name", [*DAMAGED, *BROKEN])
def test_a_change_of_batches_is_one_that_a_careful_reader_notices(name: str) -> None:
    answer = serve(poll(), polls=[Batches(log.BATCHES[:1], name)])
    try:
        found = polled(answer)
        for batch in found.batches:
            check_batch(batch)
    except WireError:
        return
    is_counted = found.head.count == len(found.frames)
    assert not is_counted or name.startswith("header-")
