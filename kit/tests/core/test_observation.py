"""What an observation rests on, and comparisons whose other half did not come."""

from dataclasses import dataclass

import pytest

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.observe.polled import read_polled
from wireproof_kit.nsq.observe.observations import observe, observe_http
from wireproof_kit.nsq.wire.answers import ErrorFrame, Response, Silent
from wireproof_kit.nsq.wire.http import HttpAnswer, make_failed
from wireproof_kit.observation import (
    Observation,
    compared,
    first_unlike,
    observed,
    uncompared,
    with_evidence,
)
from wireproof_suites.iggy.steps.elapsed_time import poll_content, repeat_while
from wireproof_suites.nsq.http import test_trace
from wireproof_suites.nsq.steps.lookup_answers import compare_leaders


@dataclass(frozen=True)
class Recorded:
    step: int | None


@with_evidence
def look(answer: Recorded | None, value: str, *, other: Recorded | None = None) -> Observation:
    seen = observed(value)
    return seen if other is None else seen.on(answer, other)


def test_an_observation_rests_on_the_recorded_answers() -> None:
    assert observed("ok").evidence == ()
    assert observed("ok").on(Recorded(3), None, Recorded(None), Recorded(1)).evidence == (3, 1)


def test_a_function_rests_on_its_first_argument_unless_it_says_otherwise() -> None:
    assert look(Recorded(5), "ok").evidence == (5,)
    assert look(Recorded(5), "ok", other=Recorded(7)).evidence == (5, 7)
    assert look(None, "missing").evidence == ()


def test_answers_hand_on_the_step_that_recorded_them() -> None:
    assert observe(Response(b"OK", 4), then="open").evidence == (4,)
    assert observe(ErrorFrame("E_BAD_BODY", b"E_BAD_BODY", 2)).evidence == (2,)
    assert observe_http(HttpAnswer(200, (), b"OK", step=6)).evidence == (6,)


def test_a_comparison_without_its_other_half_decides_nothing() -> None:
    late = observe(Silent(1.0, step=8))
    missing = uncompared(late, "the answer to PUB")

    assert missing is not None
    assert missing.value == "inconclusive:comparison"
    assert missing.note.startswith("the answer to PUB, with which the case compares,")
    assert missing.evidence == (8,)
    assert uncompared(observed("ok"), "the answer to PUB") is None


def test_a_comparison_rests_on_both_halves() -> None:
    one, other = observe(Response(b"OK", 4)), observe(ErrorFrame("E_X", b"E_X why", 9))

    assert compared("differ:ok/error:E_X", other, one).evidence == (9, 4)
    assert compared("differ:ok/error:E_X", other, one).note == "why"


OK = HttpAnswer(200, (), b"OK", step=3)


@pytest.mark.parametrize(
    ("answers", "value", "overdue"),
    [
        ((OK, OK), "as-without", False),
        ((make_failed("silence"), OK), "inconclusive:comparison", False),
        ((OK, make_failed("silence")), "http:silence", True),
        ((OK, HttpAnswer(400, (), b"", step=7)), "http:400,empty", False),
    ],
)
def test_the_silence_of_a_request_is_not_the_fault_of_another(
    answers: tuple[HttpAnswer, HttpAnswer],
    value: str,
    overdue: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broker:
        def unique_body(self) -> bytes:
            return b"body"

    came = iter(answers)
    monkeypatch.setattr(test_trace, "post", lambda *_args, **_options: next(came))
    seen = test_trace.test_empty_trace_id(Broker(), None, v1=False)  # type: ignore[arg-type] # a stand-in for the broker

    assert (seen.value, seen.overdue) == (value, overdue)
    if value == "http:400,empty":
        assert seen.evidence == (7, 3)


def test_lookups_are_not_compared_while_one_is_silent() -> None:
    assert compare_leaders([OK, make_failed("silence")]).value == "inconclusive:comparison"
    assert compare_leaders([OK, OK]).value == "differ"


def test_a_later_poll_without_an_answer_is_not_another_content() -> None:
    late = read_polled(Silent(1.0))

    with pytest.raises(ArrangementFailed, match="not answered in time"):
        poll_content(late)
    seen = repeat_while(lambda: poll_content(late) == ())
    assert (seen.value, seen.overdue) == ("silence", True)


def test_the_first_odd_one_of_several_says_which_it_is() -> None:
    odd = [Observation("ok"), Observation("lost"), Observation("late", note="3 s")]

    assert first_unlike(odd[:1], "ok") == Observation("ok")
    assert first_unlike(odd, "ok").note == "seen in comparison 2 of this case"
    assert first_unlike(odd[::-1], "ok").note == "seen in comparison 1 of this case; 3 s"
    assert Observation("closed").describe() == "the connection closed without an answer"
