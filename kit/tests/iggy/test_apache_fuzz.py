"""Fuzzing servers of generation apache: what is sent, what is owed, and who watches."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import cast

import pytest
from msgspec.structs import replace as change

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.fuzz.campaign.target import open_fuzz_session, start_alone
from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.driver import Choice, Expectation, FuzzSession, FuzzSessionOptions
from wireproof_kit.fuzz.generate.case_sources import make_generation
from wireproof_kit.fuzz.generate.values import Drawer
from wireproof_kit.fuzz.oracle.rules import DEAD, HUNG, NO_ANSWER, ROUND_TRIP
from wireproof_kit.fuzz.send.perform import RuleViolated, open_target
from wireproof_kit.iggy.apache import batches, requests
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.fuzz.answers import OK_KIND, WITH_BODY
from wireproof_kit.iggy.fuzz.apache import owed
from wireproof_kit.iggy.fuzz.apache.answers import AnswerReader, fingerprint
from wireproof_kit.iggy.fuzz.apache.frames import ENTERED, FRESH
from wireproof_kit.iggy.fuzz.apache.fuzz_session import ApacheOracle
from wireproof_kit.iggy.fuzz.apache.grammar import PING, grammar
from wireproof_kit.iggy.fuzz.apache.health import Bystanders
from wireproof_kit.iggy.fuzz.apache.sealing import seal_sends
from wireproof_kit.iggy.fuzz.names import Names
from wireproof_kit.protocols import read_target
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import Batch, check_batch
from wireproof_spec.iggy.apache.bodies.messages import SEND_MESSAGES
from wireproof_spec.iggy.apache.frames import Answer, Eviction, encode_answer, make_reply
from wireproof_spec.iggy.apache.header import EvictionHeader, ReplyHeader, RequestHeader
from wireproof_spec.iggy.bodies.identifier import make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id

OWN = Topic(4, "wp_own", 0, "wp_fuzz")
THERE = Names(OWN.stream_id, OWN.stream_name, OWN.id, OWN.name, 0, 6, "wp_scratch")
HOMES: owed.Homes = {
    (stream, topic): True
    for stream in (OWN.by_number[0], OWN.by_name[0])
    for topic in (OWN.by_number[1], OWN.by_name[1])
}
FRAME = batches.message(b"payload", batches.NAME)
SENT = batches.batch(FRAME)


def framed(operation: int, body: bytes = b"", **fields: int | bytes) -> bytes:
    header = RequestHeader(client=1, session=1, request=7, operation=operation)
    return requests.frame(change(header, **fields), body).data


def sending(batch: Batch = SENT) -> bytes:
    return requests.send_body(OWN.by_number, partition_id(0), batch).data


def due(*frames: bytes, before: bytes = PING) -> Expectation:
    return owed.expect(HOMES, before, b"".join(frames))


def case_of(data: bytes, state: str = ENTERED) -> Case:
    return Case(0, state, "send_messages", "field", "mutation", (Step(data),), True)


def test_every_right_frame_is_read_and_some_must_be_answered() -> None:
    answered: set[str] = set()
    for kind in grammar(THERE).kinds:
        drawer = Drawer(kind.strategy)
        for number in range(8):
            (each,) = due(drawer.draw(number).data).owed
            assert kind.name == "login" or not each.flaw, each.flaw
            answered |= set() if each.optional else {kind.name}
    assert answered == {
        *("ping", "send_messages", "poll_messages", "get_consumer_offset"),
        *("store_consumer_offset", "delete_consumer_offset"),
    }


def test_a_frame_that_ends_early_is_waited_for() -> None:
    expected = due(PING, framed(operations.NON_REPLICATED, code=1)[:-1])
    assert expected.waits
    assert [each.optional for each in expected.owed] == [False, True]
    assert owed.find_flaws(HOMES, PING[:20]) == ("the end inside a frame",)


def test_the_fields_of_frames_have_no_gap_and_their_size_measures_all() -> None:
    for kind in grammar(THERE).kinds:
        frame = Drawer(kind.strategy).draw(1)
        ends = [0, *(field.end for field in frame.fields)]
        assert [field.start for field in frame.fields] == ends[:-1]
        assert ends[-1] == len(frame.data)
        inner = [each for each in frame.fields if not each.path.startswith("header.")]
        assert all("header.size" in field.measured_by for field in inner)


def test_a_send_is_owed_its_number_and_its_messages() -> None:
    (each,) = due(framed(operations.SEND_MESSAGES, sending())).owed
    assert (each.kinds, each.stored) == (frozenset({OK_KIND}), (fingerprint(FRAME),))
    assert each.echo == (7).to_bytes(8, "little")
    assert not each.optional


@pytest.mark.parametrize(
    ("frame", "flaw"),
    [
        (framed(operations.SEND_MESSAGES, sending()[:-1]), "command 160"),
        (framed(operations.SEND_MESSAGES, sending(), view=1), owed.ODD_HEADER),
        (framed(operations.SEND_MESSAGES, sending(), command=6), owed.NO_REQUEST),
        (framed(operations.DELETE_STREAM), "command 130"),
        (framed(200), "command 200"),
        (framed(operations.SEND_MESSAGES, request_checksum=1), owed.ODD_HEADER),
        (framed(3).replace(b"\0\1\0\0", bytes(4), 1), owed.SIZE_BELOW),
    ],
)
def test_what_is_wrong_may_be_answered_and_may_end_the_session(frame: bytes, flaw: str) -> None:
    expected = due(frame, framed(operations.SEND_MESSAGES, sending()))
    assert expected.owed[0].optional
    assert expected.owed[0].flaw.startswith(flaw)
    assert all(each.optional for each in expected.owed)
    assert owed.find_flaws(HOMES, frame)[0].startswith(flaw)


def test_before_the_login_a_ping_alone_is_owed_an_answer() -> None:
    sent = framed(operations.SEND_MESSAGES, sending())
    assert [each.optional for each in due(PING, sent, before=b"").owed] == [False, True]


def test_answers_are_told_apart_wherever_they_are_cut() -> None:
    refused = make_reply(ReplyHeader(status=20))
    answers: list[Answer] = [
        make_reply(ReplyHeader(), b"body"),
        refused,
        Eviction(EvictionHeader(reason=9)),
    ]
    data = b"".join(map(encode_answer, answers))
    for cut in (0, 1, 60, 61, 256, 300, len(data)):
        reader = AnswerReader()
        found = [*reader.feed(data[:cut]), *reader.feed(data[cut:])]
        assert [each.kind for each in found] == [OK_KIND, "status 20", "evicted 9"]
        assert (reader.fault, reader.pending) == ("", b"")
    spoken = encode_answer(make_reply(ReplyHeader(status=20), b"more"))
    assert [each.kind for each in AnswerReader().feed(spoken)] == [WITH_BODY]


@pytest.mark.parametrize("wrong", [(60, 5), (48, 255), (60, 13)])
def test_what_is_no_answer_is_a_fault(wrong: tuple[int, int]) -> None:
    data = bytearray(encode_answer(make_reply(ReplyHeader(), b"x")))
    data[wrong[0] : wrong[0] + 4] = wrong[1].to_bytes(4, "little")
    reader = AnswerReader()
    assert reader.feed(bytes(data)) == []
    assert reader.fault


def test_sends_get_right_checksums_and_other_bytes_stay() -> None:
    spoilt = Batch(SENT.header, (change(FRAME, payload=b"PAYLOAD"),))
    data = PING + framed(operations.SEND_MESSAGES, sending(spoilt)) + b"rest"
    sealed = seal_sends(data)
    assert len(sealed) == len(data)
    assert sealed.startswith(PING)
    assert sealed.endswith(b"rest")
    body = sealed[len(PING) + 256 : -4]
    check_batch(decode(SEND_MESSAGES, body).batch)
    cut = framed(operations.SEND_MESSAGES, b"\0")
    assert seal_sends(cut) == cut


def test_what_may_change_anything_else_is_hazardous() -> None:
    is_hazardous = grammar(THERE).is_hazardous
    scratch, other = numeric(THERE.scratch_id), make_named("wp_own")
    delete = operations.DELETE_STREAM
    for operation, body, expected in (
        (delete, requests.stream_body(scratch).data, False),
        (delete, requests.stream_body(other).data, True),
        (delete, requests.stream_body(scratch).data + b"!", True),
        (delete, b"", False),
        (operations.CREATE_STREAM, requests.create_stream_body("other").data, True),
        (operations.CREATE_STREAM, requests.create_stream_body("wp_z").data, False),
        (operations.CREATE_TOPIC, requests.create_topic_body(scratch, "t", 1001).data, True),
        (operations.INTERNAL[0], b"", True),
        (operations.USERS[0], b"x", True),
        (131, b"x", True),
        (operations.NON_REPLICATED, b"", False),
    ):
        assert is_hazardous("kind", framed(operation, body)) is expected, (operation, body)


@contextmanager
def opened(*options: str) -> Iterator[FuzzSession]:
    running = start_alone("iggy", ("--generation", "apache", *options))
    try:
        fuzz_session = open_fuzz_session(
            read_target(running.url), FuzzSessionOptions("t", timeout_s=1.0)
        )
        yield fuzz_session
        fuzz_session.close()
    finally:
        running.close()


@pytest.mark.process
def test_a_right_server_does_what_it_owes() -> None:
    running = start_alone("iggy", ("--generation", "apache"))
    try:
        with open_target(running.url) as target:
            made = make_generation(target.grammar, Choice(seed=5))
            for case in islice(made.cases(), 60):
                target.perform(case)
    finally:
        running.close()


@pytest.mark.process
@pytest.mark.parametrize(
    ("fault", "frame", "rules"),
    [
        ("frame-size-below-header-halts", framed(2).replace(b"\0\1\0\0", bytes(4), 1), DEAD),
        ("apache-code-far-sticks", framed(2, code=1 << 31), f"{HUNG}|{NO_ANSWER}|{ROUND_TRIP}"),
        ("stream-request-cut-halts", framed(operations.DELETE_STREAM, b"\1"), DEAD),
    ],
)
def test_a_weak_server_is_told_apart(fault: str, frame: bytes, rules: str) -> None:
    running = start_alone("iggy", ("--fault", f"parser-{fault}"))
    try:
        with open_target(running.url) as target, pytest.raises(RuleViolated, match=rules):
            target.perform(case_of(frame))
    finally:
        running.close()


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "payload", "is_lost"),
    [
        ((), b"a\0b", False),
        (("--fault", "parser-payload-with-nul-cut"), b"a", False),
        (("--fault", "parser-payload-with-nul-cut"), b"a\0b", True),
    ],
)
def test_what_was_stored_is_watched(
    options: tuple[str, ...], payload: bytes, is_lost: bool
) -> None:
    with opened(*options) as session:
        health = cast(Bystanders, session.health)
        assert health.check() is None
        assert health.begin_watch() is None
        frame = batches.message(payload)
        oracle = cast(ApacheOracle, session.oracle)
        names = session.names
        where = numeric(int(names["stream_id"])), numeric(int(names["topic_id"]))
        body = requests.send_body(where, partition_id(0), batches.batch(frame))
        case = oracle.use_watched_names(case_of(framed(operations.SEND_MESSAGES, body.data)))
        data = case.steps[0].data
        assert oracle.expect(case, PING, data).owed[0].stored == (fingerprint(frame),)
        client = health._connect()
        said = health._request(client, data)
        client.close()
        assert said is not None
        assert said.kind == OK_KIND
        trouble = health.end_watch([fingerprint(frame)])
        assert (trouble is not None) is is_lost


@pytest.mark.process
def test_a_login_that_is_refused_lets_nobody_in() -> None:
    with opened() as session:
        health = cast(Bystanders, session.health)
        access = health.login.access
        access.credentials = type(access.credentials)("iggy", "another password")
        with (
            socket.create_connection(access.address) as sock,
            pytest.raises(ArrangementFailed, match="evicted:9"),
        ):
            health.login(sock, access.address, b"x")
        assert health.check() is not None


def test_states_and_their_opening() -> None:
    made = grammar(THERE)
    assert made.start(ENTERED) == FRESH
    assert [step.data for step in made.entry[ENTERED]] == [PING]
