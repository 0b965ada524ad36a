"""A failure counts when it was repeated: the budget, the reserve, what confirms a failure."""

from collections.abc import Callable

import msgspec
import pytest
from fake_session import FakeSession, instance
from small_law import CLAUSE, bench
from test_engine import case, engine, scripted
from test_engine_hurry import waiting_for_a_push

from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import PUSH, SHORTEST_S, Patience
from wireproof_kit.targets.session import Control
from wireproof_kit.verdicts.judge import judge_record
from wireproof_kit.wire.transcript import Transcript

SHOULD = msgspec.structs.replace(CLAUSE, id="t.i.other", level="should")


def test_a_failure_that_no_repeat_was_left_for_is_undecided() -> None:
    record = engine(most_repeats=0).run(instance(scripted("bad"), SHOULD))

    assert (record.verdict, record.repeats.runs, record.signature) == ("inconclusive", 1, None)
    assert (
        record.repeats.unrepeated == "the repeats of the run, 0 in all, were spent on other cases"
    )
    assert record.reason.startswith(f"seen once, and not repeated ({record.repeats.unrepeated}): ")
    assert judge_record(record, bench()).verdict == "inconclusive"


def test_each_failing_must_clause_has_a_repeat_of_its_own() -> None:
    kit = engine(most_repeats=1)
    spends = kit.run(instance(scripted("bad", "bad"), SHOULD))
    first = kit.run(case(scripted("worse", "worse")))
    second = kit.run(case(scripted("worst")))

    assert (spends.verdict, spends.repeats.runs) == ("fail", 2)
    assert (first.verdict, first.repeats.runs) == ("fail", 2)
    assert (second.verdict, second.repeats.runs) == ("inconclusive", 1)


def test_a_cause_that_came_in_all_runs_confirms_the_same_failure_elsewhere() -> None:
    kit = engine(repeats=3)
    kit.run(case(scripted("bad", "bad", "bad"), case_id="p/i/case/first"))
    second = kit.run(case(scripted("bad"), case_id="p/i/case/second"))
    third = kit.run(case(scripted("worse", "worse", "worse"), case_id="p/i/case/third"))

    assert (second.verdict, second.repeats.runs) == ("fail", 1)
    assert second.repeats.confirmed_by == "p/i/case/first"
    assert (third.repeats.runs, third.repeats.confirmed_by) == (3, "")


def test_a_cause_that_came_in_some_runs_confirms_nothing() -> None:
    kit = engine(repeats=3)
    kit.run(case(scripted("bad", "bad", "ok,open")))
    record = kit.run(case(scripted("bad", "ok,open", "ok,open")))
    assert (record.verdict, record.repeats.runs) == ("unstable", 3)


def test_a_breach_that_is_not_seen_again_is_unstable_and_keeps_its_exchange() -> None:
    values = iter(("bad", "ok,open"))

    def speaks(broker: Transcript) -> Observation:
        value = next(values)
        broker.add("receive", "A", data=value.encode())
        return observed(value)

    record = engine(repeats=2).run(case(speaks, arguments=("broker",)))
    assert record.verdict == "unstable"
    assert [step.data() for step in record.transcript.steps] == [b"bad"]


def test_one_run_asked_for_counts_what_was_seen_once() -> None:
    record = engine(repeats=1, most_repeats=0).run(case(scripted("bad")))
    assert (record.verdict, record.repeats.unrepeated) == ("fail", "")


def test_the_death_of_the_target_counts_once() -> None:
    session = FakeSession()

    def deadly() -> Observation:
        session.alive = False
        return observed("closed")

    record = engine(session).run(case(deadly, hazard=True))
    assert (record.verdict, record.repeats.runs) == ("fail", 1)


def test_a_repeat_that_decides_nothing_is_none() -> None:
    """What cannot be arranged the second time neither confirms the failure nor clears it."""
    once = engine(repeats=2).run(case(scripted("bad", "inconclusive:arrangement")))
    twice = engine(repeats=3).run(case(scripted("bad", "inconclusive:arrangement", "bad")))

    assert (once.verdict, once.repeats.runs) == ("inconclusive", 1)
    assert once.repeats.unrepeated == "inconclusive:arrangement"
    assert (twice.verdict, twice.repeats.runs, twice.repeats.same) == ("fail", 2, 2)


class SlowAtFirst(FakeSession):
    """A session whose first control round trips are slow."""

    def __init__(self, slow: int) -> None:
        super().__init__()
        self._slow = slow

    def control(self) -> Control:
        self.controls += 1
        return Control("slow" if self.controls <= self._slow else "prompt", 0.01)


@pytest.mark.parametrize(
    ("values", "slow", "verdict", "runs"),
    [
        (["late", "ok,open"], 1, "pass", 1),
        (["late", "late", "late"], 1, "fail", 2),
        (["late"] * 5, 5, "inconclusive", 1),
    ],
)
def test_what_came_late_on_a_slow_machine_is_tried_again(
    values: list[str], slow: int, verdict: str, runs: int
) -> None:
    told = iter(values)

    def see() -> Observation:
        value = next(told)
        return observed(value, overdue=value == "late")

    record = engine(SlowAtFirst(slow), repeats=3).run(case(see))
    assert (record.verdict, record.repeats.runs) == (verdict, runs)


def owing(session: FakeSession, waits: list[float]) -> Callable[[Transcript], Observation]:
    def wait(broker: Transcript) -> Observation:
        waits.append(session.patience.seconds(PUSH))
        broker.add_wait(waits[-1])
        return observed("missing", overdue=True)

    return wait


def test_a_slow_failing_case_is_repeated_with_the_same_patience() -> None:
    """One wait of 38 s uses up what its group may wait in vain."""
    session, waits = FakeSession(), list[float]()
    session.patience = Patience(answer=38.0, push=38.0, redelivery=38.0)
    kit = engine(session)

    slow = kit.run(case(owing(session, waits), arguments=("broker",)))
    other = kit.run(case(owing(session, waits), arguments=("broker",), case_id="p/i/case/other"))

    assert waits == [38.0, 38.0, SHORTEST_S]
    assert (slow.verdict, slow.repeats.runs) == ("fail", 2)
    assert (other.verdict, other.observation) == ("inconclusive", "inconclusive:hurried")


def test_a_should_that_the_kit_has_no_patience_to_repeat_is_undecided() -> None:
    session, waits = FakeSession(), list[float]()
    session.patience = Patience(answer=38.0, push=38.0, redelivery=38.0)
    record = engine(session).run(instance(owing(session, waits), SHOULD, arguments=("broker",)))

    assert (record.verdict, len(waits)) == ("inconclusive", 1)
    assert "the kit no longer waits long" in record.reason


def test_one_case_of_a_core_clause_is_waited_for_in_a_hurried_run() -> None:
    """A broker that delivers nothing fails at what it owes, not only at what it answers."""
    session = FakeSession()
    session.patience = Patience(answer=5.0, push=5.0, redelivery=5.0)
    core = msgspec.structs.replace(CLAUSE, id="u.j.core", core=True)
    kit, waits = engine(session, repeats=2, hurry_after=1), list[float]()
    kit.run(case(scripted("missing", "missing", overdue=True)))
    items = [
        instance(waiting_for_a_push(session, waits), core, case_id=f"p/i/case/{number}")
        for number in range(2)
    ]
    records = [kit.run(each) for each in items]

    assert waits == [SHORTEST_S, 5.0, 5.0, SHORTEST_S]
    assert [record.verdict for record in records] == ["fail", "inconclusive"]
