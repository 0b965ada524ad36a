"""A line that resets connections by itself: what was cut off then decides nothing."""

import itertools
from collections.abc import Iterator

import pytest
from fake_session import FakeSession, instance
from small_law import CLAUSE, bench

from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.engine import Engine
from wireproof_kit.runner.line import Line, has_reset
from wireproof_kit.runner.request import RunOptions
from wireproof_kit.targets.session import Control
from wireproof_kit.wire.transcript import Transcript


class LossySession(FakeSession):
    """Loses every tenth control round trip."""

    def __init__(self) -> None:
        super().__init__()
        self._trips: Iterator[int] = itertools.count()

    def control(self) -> Control:
        is_lost = next(self._trips) % 10 == 9
        return Control("dead" if is_lost else "prompt", 0.01)


def cut_off(broker: Transcript) -> Observation:
    broker.add("close", "A", note="by the target (reset)")
    return observed("bad")


def test_a_reset_on_a_bad_line_decides_nothing() -> None:
    kit = Engine(LossySession(), bench(), RunOptions(repeats=2))
    record = kit.run(instance(cut_off, CLAUSE, arguments=("broker",)))
    assert record.verdict == "inconclusive"
    assert "resets connections by itself" in record.reason


def test_a_reset_on_a_good_line_is_the_targets() -> None:
    kit = Engine(FakeSession(), bench(), RunOptions(repeats=2))
    record = kit.run(instance(cut_off, CLAUSE, arguments=("broker",)))
    assert record.verdict == "fail"


@pytest.mark.parametrize("state", ["prompt", "dead"])
def test_a_target_that_answers_all_or_none_is_no_bad_line(state: str) -> None:
    session = FakeSession(control=state)  # type: ignore[arg-type] # one of the states
    assert not Line(session).is_bad()


def test_a_line_is_not_checked_for_ever() -> None:
    session = FakeSession()
    line = Line(session)
    for _ in range(20):
        line.is_bad()
    checked = session.controls
    line.is_bad()
    assert session.controls == checked


@pytest.mark.parametrize(
    ("kind", "note", "is_reset"),
    [
        ("close", "by the target (reset)", True),
        ("close", "by the target (end)", False),
        ("close", "by the kit", False),
        ("response", "closed", True),
        ("response", "200", False),
    ],
)
def test_only_what_was_cut_off_counts(kind: str, note: str, *, is_reset: bool) -> None:
    transcript = Transcript()
    transcript.add(kind, "A", note=note)
    assert has_reset(transcript) is is_reset
