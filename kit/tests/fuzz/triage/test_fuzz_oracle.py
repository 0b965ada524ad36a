"""Judging answers by what was owed."""

from wireproof_kit.fuzz.driver import Answer, Expectation, Owed
from wireproof_kit.fuzz.oracle.rules import (
    CLOSED,
    NO_ANSWER,
    NONSENSE,
    WRONG_ANSWER,
    ConnectionResult,
    Judgement,
    judge,
    owed_count,
)

OK = Answer("ok", b"ok 7")
ERROR = Answer("error", b"no")
DONE = Owed(frozenset({"ok"}), stored=(b"kept",), success=frozenset({"ok"}))
REFUSED = Owed(frozenset({"error"}), "may")
PERHAPS = Owed(frozenset({"error"}), optional=True)


def violated(*owed: Owed, seen: ConnectionResult, certain: bool = True) -> str | None:
    found = judge(Expectation(owed, certain), seen).trouble
    return None if found is None else found.violated


def test_what_was_owed_and_came_is_right_and_is_to_be_delivered() -> None:
    assert judge(Expectation((DONE, PERHAPS)), ConnectionResult([OK])) == Judgement(
        stored=(b"kept",)
    )


def test_another_answer_than_was_owed_is_wrong() -> None:
    assert violated(DONE, seen=ConnectionResult([ERROR])) == WRONG_ANSWER


def test_five_statuses_are_named_and_more_are_errors() -> None:
    def words(count: int) -> str:
        kinds = frozenset(f"HTTP {200 + each}" for each in range(count))
        trouble = judge(Expectation((Owed(kinds),)), ConnectionResult([ERROR])).trouble
        return "" if trouble is None else trouble.words

    assert words(5).startswith("expected HTTP 200 or HTTP 201 or HTTP 202 or HTTP 203 or HTTP 204")
    assert words(6).startswith("expected an error")


def test_a_missing_answer_is_told_with_what_came_before_it() -> None:
    def words(owed: tuple[Owed, ...], seen: ConnectionResult) -> str:
        trouble = judge(Expectation(owed), seen).trouble
        return "" if trouble is None else trouble.words

    assert words((DONE,), ConnectionResult([])) == "expected ok, received nothing"
    assert words((DONE, DONE), ConnectionResult([OK])) == (
        "expected ok, received nothing behind the answer to what was sent before"
    )
    assert words((DONE,), ConnectionResult([], unfinished=3)) == (
        "expected ok, received 3 bytes of an answer that did not end"
    )


def test_an_answer_that_nobody_owed_is_wrong_only_where_all_is_certain() -> None:
    assert violated(DONE, seen=ConnectionResult([OK, OK])) == WRONG_ANSWER
    assert violated(DONE, seen=ConnectionResult([OK, OK]), certain=False) is None


def test_an_answer_that_is_not_echoed_is_wrong() -> None:
    echoed = Owed(frozenset({"ok"}), success=frozenset({"ok"}), echo=b"8")
    assert violated(echoed, seen=ConnectionResult([OK])) == WRONG_ANSWER


def test_an_end_stands_for_answers_only_where_the_target_may_end() -> None:
    assert violated(DONE, seen=ConnectionResult([], "end")) == CLOSED
    assert violated(REFUSED, seen=ConnectionResult([], "end")) is None
    assert violated(REFUSED, DONE, seen=ConnectionResult([ERROR], "reset")) is None


def test_no_answer_on_an_open_connection_is_one_too_few() -> None:
    assert violated(REFUSED, seen=ConnectionResult([])) == NO_ANSWER
    assert violated(PERHAPS, seen=ConnectionResult([])) is None


def test_nonsense_is_wrong_unless_the_stream_was_made_opaque() -> None:
    seen = ConnectionResult([OK], "", "no frame")
    assert violated(DONE, seen=seen) == NONSENSE
    assert judge(Expectation((DONE,), certain=False, opaque=True), seen).trouble is None


def test_what_must_come_is_counted_without_what_may() -> None:
    assert owed_count(Expectation((DONE, PERHAPS, REFUSED))) == 2


def test_an_answer_that_may_belong_to_either_of_two_belongs_where_nothing_is_wrong() -> None:
    assert violated(PERHAPS, REFUSED, DONE, seen=ConnectionResult([ERROR, OK])) is None
    assert violated(PERHAPS, REFUSED, DONE, seen=ConnectionResult([ERROR, ERROR, OK])) is None
    assert violated(PERHAPS, DONE, PERHAPS, seen=ConnectionResult([ERROR, OK])) is None
    assert violated(PERHAPS, REFUSED, DONE, seen=ConnectionResult([OK])) == WRONG_ANSWER
