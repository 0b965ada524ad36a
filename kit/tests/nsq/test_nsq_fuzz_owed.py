"""What an NSQ broker owes for the bytes of a connection."""

from contextlib import closing
from typing import cast

import pytest

from wireproof_kit.fuzz.campaign.target import open_fuzz_session, start_alone
from wireproof_kit.fuzz.driver import FuzzSessionOptions, Owed
from wireproof_kit.nsq.fuzz.answers import (
    ERRORS,
    JSON,
    MESSAGE,
    OK_KIND,
    STRANGE,
    TRACE,
    FrameReader,
    fingerprint_stored,
    list_fingerprints,
)
from wireproof_kit.nsq.fuzz.fuzz_session import NsqOracle
from wireproof_kit.nsq.fuzz.owed import expect
from wireproof_kit.nsq.fuzz.publishes import HEADER_SURELY_TAKEN
from wireproof_kit.nsq.fuzz.request_tracker import TargetState
from wireproof_kit.nsq.wire import frames
from wireproof_kit.protocols import read_target
from wireproof_spec.nsq.frame import error_frame, response_frame
from wireproof_spec.nsq.names import MAGIC

EXT, PLAIN, WATCHED = b"wp_e", b"wp_p", b"wp_w"
GROUND = TargetState({EXT: True, PLAIN: False, WATCHED: True}, WATCHED, 1 << 20)


def sized(body: bytes) -> bytes:
    return len(body).to_bytes(4) + body


def pub_ext(header: bytes, body: bytes, *, length: int | None = None) -> bytes:
    size = len(header) if length is None else length
    return b"PUB_EXT wp_w 0\n" + sized(size.to_bytes(2) + header + body)


def owed(data: bytes, before: bytes = MAGIC) -> tuple[Owed, ...]:
    return expect(GROUND, before, data).owed


def test_a_right_publish_is_owed_ok_and_its_delivery() -> None:
    (one,) = owed(b"PUB wp_w 0\n" + sized(b"x"))
    assert one.kinds == {OK_KIND}
    assert one.ends == "no"
    assert one.stored == (fingerprint_stored(b"", b"x"),)


@pytest.mark.parametrize(("size", "is_sure"), [(HEADER_SURELY_TAKEN, True), (4096, False)])
def test_a_long_header_may_be_refused_alone_and_in_a_batch(size: int, is_sure: bool) -> None:
    header = b'{"k":"%b"}' % (b"v" * (size - 8))
    alone = pub_ext(header, b"x")
    message = alone.partition(b"\n")[2]
    batch = b"MPUB_EXT wp_w 0\n" + sized((1).to_bytes(4) + message)
    for data in (alone, batch):
        (one,) = owed(data)
        assert (one.kinds == {OK_KIND}, one.ends == "no") == (is_sure, is_sure)
        assert OK_KIND in one.kinds


def test_what_goes_where_nobody_reads_is_not_to_be_delivered() -> None:
    (one,) = owed(b"PUB wp_e 0\n" + sized(b"x"))
    assert one.stored == ()


def test_a_traced_publish_is_owed_its_trace_id() -> None:
    (one,) = owed(b"PUB_TRACE wp_w 0\n" + sized(b"\0" * 7 + b"\x09" + b"x"))
    assert one.kinds == {TRACE}
    assert one.echo == b"\0" * 7 + b"\x09"
    (one,) = owed(pub_ext(b'{"##trace_id":"9"}', b"x"))
    assert one.kinds == {TRACE}
    assert one.echo == b"\0" * 7 + b"\x09"


@pytest.mark.parametrize(
    "data",
    [
        b"PUB wp_e 0\n\xff\xff\xff\xff",
        b"PUB wp_e 0\n" + (1 << 21).to_bytes(4),
        b"PUB wp/e 0\n" + sized(b"x"),
        b"PUB wp_e x\n" + sized(b"x"),
        b"BUP wp_e 0\n",
        b"RDY\xff 1\n",
        pub_ext(b"{}", b"x", length=900),
        b"PUB_TRACE wp_e 0\n" + sized(b"1234"),
        b"MPUB wp_e 0\n" + sized((-1).to_bytes(4, signed=True)),
    ],
)
def test_what_is_malformed_is_owed_a_refusal(data: bytes) -> None:
    (one,) = owed(data)
    assert one.kinds == ERRORS
    assert one.ends == "may"
    assert not one.optional


@pytest.mark.parametrize("header", [b"[]", b'{"a":1}', b'{"a":"b","a":"c"}', b"{", b'{"a b":"c"}'])
def test_a_header_on_which_brokers_differ_may_be_taken_or_refused(header: bytes) -> None:
    (one,) = owed(pub_ext(header, b"x"))
    assert one.kinds == ERRORS | {OK_KIND, TRACE}
    assert one.stored == (fingerprint_stored(header, b"x"),)


def test_a_request_that_is_not_whole_is_owed_nothing() -> None:
    for data in (b"PUB wp_e", b"PUB wp_e 0\n\0\0", b"PUB wp_e 0\n" + sized(b"xyz")[:-1]):
        expectation = expect(GROUND, MAGIC, data)
        assert expectation.waits
        assert all(one.optional for one in expectation.owed)


def test_a_batch_that_agrees_with_itself_is_owed_ok() -> None:
    body = (2).to_bytes(4) + sized(b"a") + sized(b"b")
    (one,) = owed(b"MPUB wp_w 0\n" + sized(body))
    assert one.stored == (fingerprint_stored(b"", b"a"), fingerprint_stored(b"", b"b"))
    for data in (sized(body + b"more"), (len(body) + 9).to_bytes(4) + body):
        expectation = expect(GROUND, MAGIC, b"MPUB wp_w 0\n" + data)
        assert not expectation.certain
        assert all(one.optional for one in expectation.owed)


def test_subscribing_moves_the_connection() -> None:
    sub = b"SUB wp_p ch 0\n"
    expectation = expect(GROUND, MAGIC, sub)
    assert expectation.moves
    assert expectation.owed == (Owed(frozenset({OK_KIND})),)
    again = owed(sub, MAGIC + sub)
    assert again == (Owed(ERRORS, "may"),)
    assert owed(b"RDY 1\nNOP\n", MAGIC + sub) == ()
    assert owed(b"RDY 2501\n", MAGIC + sub) == (Owed(ERRORS, "may", optional=True),)


def test_identify_decides_what_may_be_subscribed() -> None:
    named = frames.identify(extend_support=True).data
    (one,) = owed(named)
    assert one.kinds == {OK_KIND, JSON}
    assert owed(b"SUB wp_e ch 0\n", MAGIC + named) == (Owed(frozenset({OK_KIND})),)
    (other,) = owed(b"SUB wp_p ch 0\n", MAGIC + named)
    assert other.kinds == ERRORS | {OK_KIND}


def test_behind_compression_nothing_can_be_read() -> None:
    compressing = frames.identify(deflate=True).data
    assert expect(GROUND, MAGIC, compressing).opaque
    unclear = b"PUB_TRACE wp_e\n"
    assert expect(GROUND, MAGIC, unclear + compressing).opaque
    assert not expect(GROUND, MAGIC, unclear + frames.identify(extend_support=True).data).opaque


def test_frames_are_read_whatever_pieces_they_come_in() -> None:
    data = response_frame(b"OK") + error_frame("E_INVALID", "x") + response_frame(b"_heartbeat_")
    whole = list(FrameReader().feed(data))
    singly = FrameReader()
    pieces = [answer for at in range(len(data)) for answer in singly.feed(data[at : at + 1])]
    assert pieces == whole
    assert [answer.kind for answer in whole] == [OK_KIND, "E_INVALID", "heartbeat"]


def test_unknown_codes_and_broken_frames_are_told_from_answers() -> None:
    (answer,) = FrameReader().feed(error_frame("E_NONE", ""))
    assert answer.kind == STRANGE
    reader = FrameReader()
    assert not reader.feed(b"\0\0\0\x02\0\0\0\0")
    assert reader.fault


def test_a_delivered_message_is_known_by_header_and_body() -> None:
    head = (0).to_bytes(8) + (1).to_bytes(2) + (5).to_bytes(8) + (0).to_bytes(8)

    def frame(rest: bytes) -> bytes:
        data = head + rest
        return (len(data) + 4).to_bytes(4) + b"\0\0\0\x02" + data

    with_header = frame(b"\x04\0\x02{}body")
    (answer,) = FrameReader().feed(with_header)
    assert answer.kind == MESSAGE
    assert fingerprint_stored(b"{}", b"body") in list_fingerprints(with_header, extend=True)
    assert fingerprint_stored(b"", b"body") in list_fingerprints(frame(b"\0body"), extend=True)
    assert fingerprint_stored(b"", b"body") in list_fingerprints(frame(b"\0\0\0body"), extend=True)
    assert list_fingerprints(frame(b"body"), extend=False) == (fingerprint_stored(b"", b"body"),)


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        MAGIC,
        MAGIC[:2],
        b"what",
        MAGIC + b"IDENTIFY\n" + sized(b'{"extend_support":true}'),
        MAGIC + b"IDENTIFY\n" + sized(b'{"snappy":true}') + b"NOP\n",
        MAGIC + b"PUB wp_w 0\n" + sized(b"x")[:3],
        MAGIC + b"SUB wp_p c 0\n",
    ],
)
def test_what_opens_a_connection_is_owed_the_same_when_it_is_known(entry: bytes) -> None:
    target_state = TargetState({EXT: True, PLAIN: False, WATCHED: True}, WATCHED, 1 << 20)
    before = expect(target_state, b"", entry)
    behind = expect(target_state, entry, b"NOP\n")
    assert entry in target_state.starts
    assert expect(target_state, b"", b"").waits

    assert expect(target_state, b"", entry) == before
    assert expect(target_state, entry, b"NOP\n") == behind


@pytest.mark.parametrize(
    "line", [b"PUB wp\0_w 0\n", b"PUB_EXT wp_w x\n", b"MPUB " + b"w" * 70 + b"\n"]
)
@pytest.mark.parametrize(
    ("behind", "optional"),
    [
        (b"", True),
        (b"T", True),
        (sized(b"body")[:-1], True),
        (sized(b"body"), False),
        (sized(b"body") + b"more", False),
        (sized(b""), False),
        (b"\xff\xff\xff\xff", False),
    ],
)
def test_names_that_are_none_are_refused_once_the_body_is_there_at_the_latest(
    line: bytes, behind: bytes, optional: bool
) -> None:
    assert owed(line + behind) == (Owed(ERRORS, "may", optional=optional),)


@pytest.mark.parametrize(
    "spelling",
    [
        b'{"b":"2","a":"1"}',
        b'{ "a": "1",\n "b": "\\u0032" }',
        b'{"a":"1","b":"2","##trace_id":"7"}',
    ],
)
def test_a_header_is_known_in_every_spelling_that_may_be_delivered(spelling: bytes) -> None:
    assert fingerprint_stored(spelling, b"x") == fingerprint_stored(b'{"a":"1","b":"2"}', b"x")


@pytest.mark.parametrize(
    "header", [b'{"a":"1","b":"3"}', b'{"A":"1","b":"2"}', b'{"a":"1","a":"1","b":"2"}', b"{"]
)
def test_a_header_of_another_content_is_another(header: bytes) -> None:
    assert fingerprint_stored(header, b"x") != fingerprint_stored(b'{"a":"1","b":"2"}', b"x")


@pytest.mark.parametrize("line", [b"PUB\twp_w 0\n", b"PUB  wp_w 0\n", b"NOP \n"])
def test_nothing_certain_is_owed_for_blanks_that_the_texts_leave_open(line: bytes) -> None:
    (one,) = owed(line + sized(b"x"))
    assert one.optional
    assert ERRORS | {OK_KIND} <= one.kinds


def test_who_insists_on_identify_owes_nothing_certain_before_it() -> None:
    strict = TargetState(GROUND.topics, WATCHED, 1 << 20, needs_identify=True)
    publish = b"PUB wp_w 0\n" + sized(b"x")
    (before,) = expect(strict, MAGIC, publish).owed
    assert before.optional
    (after,) = expect(strict, MAGIC + frames.identify().data, publish).owed
    assert after.kinds == {OK_KIND}


@pytest.mark.parametrize("name", [b"MPUB", b"PUB_TRACE", b"PUB_EXT", b"MPUB_EXT", b"MPUB_TRACE"])
def test_who_does_not_know_a_publish_owes_nothing_certain_for_it(name: bytes) -> None:
    base = TargetState(GROUND.topics, WATCHED, 1 << 20, unknown=frozenset({name}))
    batch = (1).to_bytes(4) + sized(b"x")
    (one,) = expect(base, MAGIC, name + b" wp_w 0\n" + sized(batch)).owed
    assert one.optional
    (known,) = expect(base, MAGIC, b"PUB wp_w 0\n" + sized(batch)).owed
    assert not known.optional


def test_who_has_no_partitions_may_ignore_what_stands_there() -> None:
    base = TargetState(GROUND.topics, WATCHED, 1 << 20, has_partitions=False)
    publish = b"PUB wp_w x\n" + sized(b"x")
    (one,) = expect(base, MAGIC, publish).owed
    assert {OK_KIND} | ERRORS <= one.kinds
    (other,) = expect(GROUND, MAGIC, publish).owed
    assert other.kinds == ERRORS


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "unknown"),
    [
        ((), set[bytes]()),
        (("--variant", "base-commands-unknown"), {b"MPUB", b"MPUB_EXT", b"MPUB_TRACE"}),
    ],
)
def test_a_target_shows_what_it_does_not_know(
    options: tuple[str, ...], unknown: set[bytes]
) -> None:
    with closing(start_alone("nsq", options)) as running:
        found = open_fuzz_session(read_target(running.url), FuzzSessionOptions("t", timeout_s=1.0))
        state = cast(NsqOracle, found.oracle).target_state
        found.close()
    assert state.has_partitions
    assert state.unknown == frozenset(unknown)
    assert state.topics[state.watched]


def test_minus_zero_in_a_header_is_zero() -> None:
    written = [fingerprint_stored(b'{"a": %b}' % zero, b"x") for zero in (b"-0", b"-0.0", b"0")]
    assert len(set(written)) == 1
