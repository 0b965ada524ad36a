"""Replaying Iggy: streams under other numbers, tokens and times that live now."""

from pathlib import Path

import pytest
from cli_process import wireproof

from wireproof.iggy import replay
from wireproof_kit.iggy.wire import requests
from wireproof_reports.exchange.annotation import read_bytes
from wireproof_spec.decoding import encode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_spec.iggy.bodies.topics import TopicRequest
from wireproof_spec.iggy.frame import response
from wireproof_spec.iggy.header_kinds import RAW
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import MESSAGE, Message
from wireproof_spec.iggy.states import AVAILABLE
from wireproof_spec.step_record import StepRecord

CASES = (
    "iggy/message/timestamp",
    "iggy/poll/by-name",
    "iggy/poll/timestamp",
    "iggy/poll/timestamp-after",
    "iggy/frame/split",
    "iggy/frame/length-huge/half",
    "iggy/status/taken-stream",
    "iggy/status/invalid-stream/number-0",
    "iggy/json/same-as-binary",
    "iggy/json/state-set",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("iggy-replay")
    done = wireproof("run", "--reference", *CASES, "--bundle", "out/b.jsonl", cwd=place)
    assert done.code == 0, done.out + done.err
    return place


@pytest.mark.process
@pytest.mark.parametrize(
    "case",
    [
        "iggy/message/timestamp",
        "iggy/poll/by-name",
        "iggy/poll/by-name/sent-by-name",
        "iggy/poll/timestamp/middle",
        "iggy/poll/timestamp-after/just-after",
        "iggy/frame/split",
        "iggy/frame/length-huge/half",
        "iggy/status/taken-stream/name-in-upper-case",
        "iggy/status/invalid-stream/number-0",
        "iggy/json/state-set/poisoned",
    ],
)
def test_the_same_target_gives_the_same(folder: Path, case: str) -> None:
    done = wireproof("replay", case, "--to", "reference", "--times", "2", cwd=folder)

    assert done.code == 0, done.out + done.err
    assert done.out.splitlines()[-1] == "2 of 2 rounds as recorded"


@pytest.mark.process
def test_another_answer_is_seen(folder: Path) -> None:
    done = wireproof(
        "replay", "iggy/message/timestamp", "--to", "reference", "--as-recorded", cwd=folder
    )

    # The stream of the run is not there any more.
    assert done.code == 1
    assert done.out.splitlines()[-1] == "0 of 1 rounds as recorded"


def sent(data: bytes, kind: str = "send", conn: str = "A") -> StepRecord:
    return StepRecord(0, conn, kind, hex=data.hex(), length=len(data))


def test_numbers_and_names_are_told_from_what_was_sent() -> None:
    made = CreateStream(2_000_000, "wp_0a1b_2")
    steps = (
        sent(requests.request(commands.CREATE_STREAM, made).data),
        sent(b"GET /streams/2000000/topics/7 HTTP/1.1\r\n\r\n", "request", "B"),
        sent(b"wp_0a1b_1"),
    )

    found = replay.streams_of(steps, "published")

    assert (found.used, found.made) == (frozenset(), frozenset({2_000_000}))
    assert (found.names, found.tokens) == ((b"wp_0a1b_1",), (b"0a1b",))


def test_all_that_was_sent_is_renamed_and_keeps_its_length() -> None:
    whole = requests.request(commands.GET_TOPIC, TopicRequest(numeric(2_000_000), numeric(7))).data
    steps = (
        sent(whole[:11]),
        sent(whole[11:]),
        sent(b"GET /streams/2000000 HTTP/1.1\r\n\r\n", "request", "B"),
        sent(b"wp_0a1b_1 WP_0A1B_1"),
    )

    renewed = replay.renewed_steps(steps, {2_000_000: 3_000_000}, {b"0a1b": b"ffff"})

    found = [read_bytes(step) for step in renewed]
    again = requests.request(commands.GET_TOPIC, TopicRequest(numeric(3_000_000), numeric(7))).data
    assert found[0] + found[1] == again
    assert found[2] == b"GET /streams/3000000 HTTP/1.1\r\n\r\n"
    assert found[3] == b"wp_ffff_1 WP_FFFF_1"
    assert [len(each) for each in found] == [step.length for step in steps]


@pytest.mark.parametrize("number", [1 << 20, 9_999_999, 10_000_000, (1 << 30) - 1])
def test_a_new_number_has_as_many_digits(number: int) -> None:
    assert len(str(replay.fresh_number(number))) == len(str(number))


def test_headers_of_polled_messages_may_stand_in_any_order() -> None:
    headers = (Header("a", RAW, b"1"), Header("b", RAW, b"2"))
    messages = [
        Message(0, AVAILABLE, 1, 2, 3, order, b"payload") for order in (headers, headers[::-1])
    ]
    one, other = (
        response(0, (1).to_bytes(4, "little") + encode(MESSAGE, each)) for each in messages
    )
    poll = [b"\0" * 4 + replay.POLLS]

    assert one != other
    assert replay.sort_polled_headers(one, poll) == replay.sort_polled_headers(other, poll) == one
    assert replay.sort_polled_headers(other, [b"\0" * 8]) == other
