import itertools
from collections import Counter
from functools import cache

import pytest
from fuzz_grammars import GRAMMARS, NSQ, frames

from wireproof_kit.fuzz.case import Case, Frame
from wireproof_kit.fuzz.generate.conversations import (
    BROKEN,
    CONVERSATION,
    IN_ORDER,
    MOST_CONNECTIONS,
    MOST_STEPS,
    OUT_OF_ORDER,
    Script,
)
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.grammar import Kind
from wireproof_kit.fuzz.generate.mutations import Mutant
from wireproof_spec.nsq import names

PROTOCOLS = pytest.mark.parametrize("protocol", GRAMMARS)
BY_NAME = {kind.name: kind for kind in NSQ.kinds}


@cache
def clients(protocol: str) -> tuple[Case, ...]:
    made = Generator(GRAMMARS[protocol], 11, frames=[CONVERSATION])
    return tuple(itertools.islice(made.cases(), 600))


def right(name: str, holding: bytes = b"", without: bytes = b"\0none") -> tuple[Kind, Frame]:
    """Return a right frame of a kind, with some bytes in it and others not."""
    found = [
        frame
        for frame in frames(BY_NAME[name])
        if holding in frame.data and without not in frame.data
    ]
    return BY_NAME[name], found[0]


def begun(state: str, connections: int = 1) -> Script:
    return Script(NSQ, state, [state] * connections)


@pytest.mark.slow
@PROTOCOLS
def test_conversations_are_of_all_kinds(protocol: str) -> None:
    made = clients(protocol)

    assert {case.frame_kind for case in made} == {CONVERSATION}
    assert {case.mutation for case in made} >= {IN_ORDER, BROKEN}
    assert {case.field for case in made} == {"1 connection", "2 connections", "3 connections"}
    assert {case.state for case in made} == set(GRAMMARS[protocol].states["tcp"])
    counts = Counter(len(case.steps) for case in made)
    assert max(counts) == MOST_STEPS
    assert sum(count for steps, count in counts.items() if steps > 2) > len(made) / 2


@PROTOCOLS
def test_conversations_keep_to_their_connections(protocol: str) -> None:
    for case in clients(protocol):
        assert {step.connection for step in case.steps} <= set(range(MOST_CONNECTIONS))
        assert not case.delimited
        assert not any(b"HTTP/1.1" in step.data for step in case.steps)


def test_right_commands_lead_from_state_to_state() -> None:
    script = begun("fresh")
    for step in (
        right("magic"),
        right("NOP"),
        right("PUB"),
    ):
        script.say(0, *step)

    assert script.states == ["magic-sent"]
    assert script.case(5).mutation == IN_ORDER
    assert script.case(5).index == 5
    assert [step.label for step in script.steps] == ["0: magic", "0: NOP", "0: PUB"]


def test_what_is_out_of_order_ends_a_connection_but_not_the_others() -> None:
    script = begun("identified", 2)

    script.say(1, *right("RDY"))

    assert script.states == ["identified", None]
    assert script.going_on() == [0]
    assert not script.is_over
    assert script.case(0).mutation == OUT_OF_ORDER


@pytest.mark.parametrize(
    ("data", "goes_on"), [(b"PUB t\n\0\0\0\1x", True), (b"PUB t\n\0\0\0\2x", False)]
)
def test_a_connection_goes_on_where_the_next_beginning_is_known(
    data: bytes, *, goes_on: bool
) -> None:
    script = begun("identified")

    script.say_broken(0, BY_NAME["PUB"], Mutant(data), "body wrong")

    assert script.is_over != goes_on
    assert script.case(0).mutation == BROKEN
    assert script.steps[0].label == "0: PUB body wrong"


def test_a_conversation_is_as_hazardous_as_its_worst_frame() -> None:
    script = begun("identified")

    script.say_broken(
        0, BY_NAME["INTERNAL_CREATE_TOPIC"], Mutant(b"INTERNAL_CREATE_TOPIC .. 0\n"), "dots"
    )

    assert script.case(0).hazardous


@pytest.mark.parametrize(
    ("state", "frame", "led_to"),
    [
        ("identified", Frame("SUB", b"SUB wp_topic_ext c\n", ()), "subscribed"),
        ("identified", Frame("SUB", b"SUB wp_topic_plain c\n", ()), None),
        ("identified-plain", Frame("SUB", b"SUB wp_topic_plain c\n", ()), "subscribed-plain"),
        ("identified", Frame("SUB_ORDERED", b"SUB_ORDERED wp_topic_ext c\n", ()), "ordered"),
        ("identified", Frame("SUB_ORDER", b"SUB_ORDER wp_topic_ext c\n", ()), None),
        ("subscribed", Frame("CLS", b"CLS\n", ()), "closing"),
        ("closing", Frame("FIN", b"FIN " + b"\1" * 16 + b"\n", ()), "closing"),
        ("closing", Frame("FIN", b"FIN " + b"\xff" * 16 + b"\n", ()), None),
        (
            "magic-sent",
            Frame("IDENTIFY", b'IDENTIFY\n\0\0\0\x17{"extend_support":true}', ()),
            "identified",
        ),
        ("magic-sent", Frame("IDENTIFY", b"IDENTIFY\n\0\0\0\2{}", ()), "identified-plain"),
        (
            "magic-sent",
            Frame("IDENTIFY", b'IDENTIFY\n\0\0\0{{"a":"' + b"b" * 115 + b'"}', ()),
            "identified-plain",
        ),
        ("magic-sent", Frame("IDENTIFY", b'IDENTIFY\n\0\0\0\2{"snappy":true}', ()), None),
        ("fresh", Frame("magic", names.MAGIC, ()), "magic-sent"),
        ("fresh", Frame("PUB", b"PUB t\n\0\0\0\1x", ()), None),
        ("identified", Frame("RDY", b"RDY 1\n", ()), None),
        ("ordered", Frame("RDY", b"RDY 1\n", ()), "ordered"),
    ],
)
def test_the_model_of_an_nsq_connection(state: str, frame: Frame, led_to: str | None) -> None:
    assert NSQ.moves(state, frame) == led_to


@pytest.mark.parametrize(
    ("state", "kind", "led_to"),
    [
        ("fresh", "ping", "greeted"),
        ("fresh", "leave_consumer_group", "greeted"),
        ("fresh", "join_consumer_group", "joined"),
        ("joined", "leave_consumer_group", "greeted"),
        ("joined", "poll_messages", "joined"),
    ],
)
def test_the_model_of_an_iggy_connection(state: str, kind: str, led_to: str) -> None:
    assert GRAMMARS["iggy"].moves(state, Frame(kind, b"", ())) == led_to
