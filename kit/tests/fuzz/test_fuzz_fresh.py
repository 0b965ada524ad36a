"""What spares a target that came back: other names, and nothing that is known to kill it."""

from dataclasses import replace

import pytest
from fuzz_grammars import GRAMMARS, NSQ

from wireproof_kit.fuzz.campaign.blocklist import Blocklist, is_like_another
from wireproof_kit.fuzz.case import GRAMMAR, HALF_CLOSE, Case, Step
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.generate.conversations import CONVERSATION
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.oracle.http_owed import expect_http
from wireproof_kit.fuzz.send.fresh_names import NO_RENAMING, Renaming, are_as_long
from wireproof_kit.fuzz.triage.finding import Finding, Signature
from wireproof_kit.iggy.fuzz import health
from wireproof_kit.iggy.topics import Stream, Topic
from wireproof_kit.wire.transcript import Transcript

DEAD = "dead"


def case(data: bytes = b"PUB wp_f1_000_1 0\n") -> Case:
    return Case(1, "identified", "PUB", "size", "zero", (Step(data), Step(b"NOP\n")), True)


def test_cases_are_sent_under_the_names_that_are_there_now() -> None:
    now = Renaming({b"wp_f1_000": b"wp_f1_001"})
    assert [step.data for step in now.case(case()).steps] == [b"PUB wp_f1_001_1 0\n", b"NOP\n"]
    unchanged = case()
    assert NO_RENAMING.case(unchanged) is unchanged


def test_only_names_as_long_stand_for_others() -> None:
    assert are_as_long({"topic": "wp_a"}, {"topic": "wp_b"})
    assert not are_as_long({"topic": "wp_a"}, {"topic": "wp_aa"})
    assert not are_as_long({"topic": "wp_a"}, {"channel": "wp_a"})


@pytest.mark.parametrize("protocol", GRAMMARS)
def test_every_case_but_a_conversation_is_made_from_a_right_frame(protocol: str) -> None:
    made = Generator(GRAMMARS[protocol], 7)
    untouched = 0
    for index in range(1000):
        found = made.case(index)
        right = made.right(found)
        if found.frame_kind in (CONVERSATION, NOTHING_SENT):
            assert right is None
            continue
        assert right is not None
        assert (right.frame_kind, right.state) == (found.frame_kind, found.state)
        assert right.mutation == GRAMMAR
        if found.mutation == GRAMMAR:
            untouched += 1
            assert right.steps[0].data == found.steps[0].data
    assert untouched > 10


def test_what_is_as_wrong_is_avoided() -> None:
    blocklist = Blocklist()
    blocklist.add(case())
    assert blocklist.holds(replace(case(b"PUB other 0\n"), state="fresh"), None)
    assert not blocklist.holds(replace(case(), mutation="one"), None)


def test_all_that_is_made_from_a_fatal_frame_is_avoided_and_nothing_else() -> None:
    made = Generator(NSQ, 7, frames=["IDENTIFY", "NOP"])
    blocklist = Blocklist()
    first = next(each for each in made.cases() if each.frame_kind == "IDENTIFY")
    fatal = made.right(first)
    assert fatal is not None
    blocklist.add_frame(fatal)
    held = [made.case(index) for index in range(500) if blocklist.holds(made.case(index), made)]
    assert len({each.mutation for each in held}) > 10
    for each in held:
        right = made.right(each)
        mates = [step.data for step in each.steps]
        assert fatal.steps[0].data in mates or right is None or right.steps == fatal.steps
    assert len(held) < 400


def test_the_same_field_found_in_another_state_is_like_another() -> None:
    signature = Signature(DEAD, "PUB", "size", DEAD)
    known = Finding(signature, Trouble(DEAD, ""), 1, (case(),), 5, 5, Transcript(), 1.0)
    assert is_like_another([known], DEAD, case())
    assert not is_like_another([replace(known, shown=0)], DEAD, case())
    assert not is_like_another([known], DEAD, replace(case(), field="count"))


def test_a_request_whose_side_has_ended_may_be_given_up() -> None:
    data = b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"
    whole = replace(case(), steps=(Step(data),))
    closed = replace(case(), steps=(Step(data, HALF_CLOSE),))
    assert [owed.ends for owed in expect_http(data, whole).owed] == ["no"]
    assert [owed.ends for owed in expect_http(data, closed).owed] == ["may"]


def test_only_those_who_stay_among_the_clients_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([{5, 6, 7, 8}, {6, 7}, {6, 7, 9}, {6, 9}])
    monkeypatch.setattr(health, "FORGETS_S", 0.08)
    monkeypatch.setattr(health, "machine_load", lambda: 1.0)

    def asked(_: health.Bystanders) -> set[int]:
        return next(told, {6, 9})

    monkeypatch.setattr(health.Bystanders, "_list_own_ports", asked)
    here, elsewhere = ("127.0.0.1", 1), ("127.0.0.1", 2)
    topic = Topic(Stream(1, "s"), 1, "t", 1)
    found = health.Bystanders(health.BystanderSettings(here, topic, topic, 1.0, 1.0), "t")
    ends = [(here, 5), (here, 6), (here, 7), (elsewhere, 8)]
    lingering = list(found.find_lingering(ends))
    assert (here, 6) in lingering
    assert (here, 5) not in lingering
    assert (elsewhere, 8) not in lingering
    assert not found.find_lingering([(here, 6)])
