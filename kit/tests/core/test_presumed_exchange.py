"""What a failure shows of a case that does not say on which answer it rests."""

import pytest
from small_law import record

from wireproof.view.exchange import FEW_ANSWERS, NO_EVIDENCE, key_exchange
from wireproof_spec.protocol import Group
from wireproof_spec.step_record import StepRecord, TranscriptRecord, pack_bytes


def exchange(count: int) -> TranscriptRecord:
    """Return a transcript of so many questions ``q1``, ``q2``, …, each with an answer."""
    steps = [
        StepRecord(0, "c", kind, length=2, **pack_bytes(f"{letter}{number}".encode()))
        for number in range(1, count + 1)
        for kind, letter in (("send", "q"), ("receive", "a"))
    ]
    return TranscriptRecord(steps=tuple(steps))


def shown(count: int, protocol: str = "nsq", **changes: object) -> str:
    return "\n".join(key_exchange(record("bad", transcript=exchange(count), **changes), protocol))


def package_of_another(group: Group, name: str) -> str:
    return "another"


def hexed(text: str) -> str:
    return text.encode().hex(" ")


def test_of_few_answers_all_are_shown() -> None:
    told = shown(FEW_ANSWERS)

    places = [told.index(hexed(f"{side}{n}")) for n in range(1, FEW_ANSWERS + 1) for side in "qa"]
    assert places == sorted(places)
    assert NO_EVIDENCE not in told


def test_of_many_answers_the_last_one_is_shown() -> None:
    told = shown(FEW_ANSWERS + 1)

    assert hexed(f"a{FEW_ANSWERS + 1}") in told
    assert hexed("a1") not in told


def test_what_a_case_rests_on_is_shown_alone() -> None:
    told = shown(FEW_ANSWERS, evidence=(1,))

    assert hexed("a1") in told
    assert hexed("a2") not in told


@pytest.mark.parametrize(("conn", "whose"), [("c", ""), ("d", "connection d ")])
def test_where_nothing_came_since_the_target_closed_that_is_shown(conn: str, whose: str) -> None:
    end = StepRecord(1, conn, "close", note="by the target (end)")
    asked, *_ = exchange(1).steps
    case = record("missing", transcript=TranscriptRecord((asked, end)), overdue=True)

    last = list(key_exchange(case, "nsq"))[-1]
    assert last == f"  received  nothing: {whose}closed by the target (end)"


def test_the_author_of_another_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wireproof.view.exchange.package_of", package_of_another)

    assert NO_EVIDENCE in shown(2)
    assert NO_EVIDENCE not in shown(2, evidence=(1,))
