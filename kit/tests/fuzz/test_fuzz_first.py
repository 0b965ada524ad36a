"""What a campaign tries first: dropped words, boundaries, special values of JSON members."""

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator

import pytest
from fuzz_grammars import GRAMMARS, NSQ, frames

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.generate.edits import FieldIndex
from wireproof_kit.fuzz.generate.first_mutations import (
    DROPPED,
    RANDOM,
    WORD_DROPPED,
    WORDS_DROPPED,
)
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.mutations import FRAME
from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.traps.json_members import (
    ABSENT,
    make_member_trap,
    special_members,
)
from wireproof_kit.nsq.fuzz.grammar import MEMBERS

pytestmark = pytest.mark.long

SOON = 2000
SEEDS = pytest.mark.parametrize("seed", range(1, 11))
BY = {"nsq": 12_000, "iggy": 26_000}
"""The number of cases by which all special values and boundaries have been sent."""
_PUBLISH = {"topic_name", "topic_partition"}
_SUBSCRIBE = {*_PUBLISH, "channel_name"}
WORDS: dict[str, set[str]] = {
    **dict.fromkeys(("PUB", "PUB_EXT", "PUB_TRACE", "MPUB", "MPUB_EXT", "MPUB_TRACE"), _PUBLISH),
    **dict.fromkeys(("SUB", "SUB_ORDER", "SUB_ORDERED"), _SUBSCRIBE),
    "SUB_ADVANCED": {*_SUBSCRIBE, "consume_offset"},
    "INTERNAL_CREATE_TOPIC": {*_PUBLISH, "extend"},
    "FIN": {"message_id"},
    "TOUCH": {"message_id"},
    "REQ": {"message_id", "timeout_ms"},
    "RDY": {"count"},
}
"""The words behind each command; one at most may be left out of all frames of a campaign."""
NOTHING = RandomSource(0, 0)


def sent(case: Case) -> bytes:
    return case.steps[0].data


@SEEDS
def test_each_word_of_each_command_is_dropped_soon(seed: int) -> None:
    """A command without its parameters is a common mistake, and has killed brokers."""
    dropped: defaultdict[str, set[str]] = defaultdict(set)
    alone: dict[str, bytes] = {}
    there: defaultdict[str, set[str]] = defaultdict(set)
    for case in itertools.islice(Generator(NSQ, seed).cases(), SOON):
        there[case.frame_kind].add(case.field)
        if case.mutation == WORD_DROPPED.name:
            dropped[case.frame_kind].add(case.field)
        elif case.mutation == WORDS_DROPPED.name:
            alone.setdefault(case.frame_kind, sent(case))

    for kind, words in WORDS.items():
        # A word that no frame of the campaign has is left out in each of its cases.
        assert dropped[kind] == words & there[kind], kind
        assert len(dropped[kind]) >= len(words) - 1, kind
        assert alone[kind].partition(b"\n")[0].removesuffix(b"\r") == kind.encode()


@SEEDS
@pytest.mark.parametrize("protocol", GRAMMARS)
def test_boundaries_and_special_values_come_before_what_is_drawn_at_random(
    protocol: str, seed: int
) -> None:
    made = Generator(GRAMMARS[protocol], seed)
    left = set(made.first_rows())
    drawn: dict[tuple[str, str], int] = {}
    for case in itertools.islice(made.cases(), BY[protocol]):
        place = case.frame_kind, case.field
        row = (*place, case.mutation)
        if row in left:
            left.remove(row)
            assert place not in drawn, f"{row} came behind a random value ({drawn[place]})"
        elif case.mutation in RANDOM:
            drawn.setdefault(place, case.index)
        if not left:
            break

    assert not left


def test_each_member_of_identify_has_its_special_values() -> None:
    rows = {row for row in Generator(NSQ, 1).first_rows() if row[0] == "IDENTIFY"}
    there = {mutation for _, _, mutation in rows}

    for value in ("0", "-1", "999", "1000", "60000", "60001", "null", '"1"', "true", "0.5"):
        assert f"JSON: heartbeat_interval is {value}" in there
    for value in ("0", "99", "100", "-1"):
        assert f"JSON: sample_rate is {value}" in there
    for value in ("64", "63", "65536", "65537", "9223372036854775807"):
        assert f"JSON: output_buffer_size is {value}" in there
    for value in ("true", "false", "null", "0"):
        assert f"JSON: feature_negotiation is {value}" in there
    assert {"JSON: desired_tag is 102 bytes", "JSON: desired_tag is 103 bytes"} <= there
    assert {f"JSON: ext_filter.type is {value}" for value in (-1, 0, 4, 5)} <= there


def test_a_member_is_sometimes_absent_and_sometimes_alone() -> None:
    members = special_members("nsq/identify-request")
    text = b'{"client_id":"c","ext_filter":{"type":1}}'

    assert all(values[0] == ABSENT for values in members.values())
    assert json.loads(make_member_trap("client_id", ABSENT)(text, NOTHING)) == {
        "ext_filter": {"type": 1}
    }
    assert json.loads(make_member_trap("ext_filter.type", b"5")(text, NOTHING)) == {
        "client_id": "c",
        "ext_filter": {"type": 5},
    }
    assert json.loads(make_member_trap("ext_filter.type", b"5")(b"{}", NOTHING)) == {
        "ext_filter": {"type": 5}
    }
    assert make_member_trap("msg_timeout", ABSENT)(text, NOTHING) == text
    assert make_member_trap("msg_timeout", b"0")(b"no json", NOTHING) == b"no json"


def test_members_of_the_first_item_of_an_array_are_set() -> None:
    members = special_members("iggy/send-messages")
    trap = make_member_trap("messages.[].id", b"-1")

    assert b"-1" in members["messages.[].id"]
    assert json.loads(trap(b'{"messages":[{"payload":""},{}]}', NOTHING)) == {
        "messages": [{"payload": "", "id": -1}, {}]
    }


def test_a_query_parameter_is_dropped_with_its_name() -> None:
    cases = itertools.islice(Generator(NSQ, 1, frames=["POST /pubtrace"]).cases(), 600)
    lines = {sent(case).partition(b"\r\n")[0] for case in cases if case.mutation in DROPPED}

    assert any(line.startswith(b"POST /pubtrace?") and b"topic" not in line for line in lines)
    assert any(b"trace_id" not in line and b"topic" in line for line in lines)
    assert not any(b"?&" in line for line in lines)


def fields_of(kind: str) -> Iterator[str]:
    (found,) = (each for each in NSQ.kinds if each.name == kind)
    for frame in frames(found):
        yield from (each.path for each in FieldIndex(frame).fields if each.role == "json")


def test_all_members_are_of_frames_that_have_json() -> None:
    for kind in MEMBERS:
        assert any(fields_of(kind)), kind
    assert FRAME not in MEMBERS
