"""A run that no longer waits long: what is hurried, what keeps its patience, what is decided."""

import threading
from collections.abc import Callable

import msgspec
import pytest
from fake_session import FakeSession, instance
from small_law import CLAUSE
from test_engine import case, engine, scripted

from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import PUSH, SHORTEST_S, Patience
from wireproof_kit.targets.session import Control
from wireproof_kit.wire.transcript import Transcript


def test_a_target_that_owes_everything_does_not_keep_the_kit_waiting() -> None:
    session = FakeSession()
    kit = engine(session, repeats=1, hurry_after=2)
    verdicts = [kit.run(case(scripted("missing", overdue=True))).verdict for _ in range(4)]
    assert verdicts == ["fail", "fail", "inconclusive", "inconclusive"]


def waiting_for_a_push(session: FakeSession, waits: list[float]) -> Callable[[], Observation]:
    def wait() -> Observation:
        waits.append(session.patience.seconds(PUSH))
        return observed("missing", overdue=True)

    return wait


def test_a_core_case_that_waits_in_vain_hurries_the_rest_of_its_group() -> None:
    session = FakeSession()
    session.patience = Patience(answer=5.0, push=5.0, redelivery=5.0)
    core = msgspec.structs.replace(CLAUSE, core=True)
    kit, waits = engine(session, repeats=2), list[float]()
    first = kit.run(instance(waiting_for_a_push(session, waits), core))
    second = kit.run(instance(waiting_for_a_push(session, waits), CLAUSE))
    third = kit.run(instance(scripted("bad", "bad"), CLAUSE))

    assert waits == [5.0, 5.0, SHORTEST_S]
    assert (first.verdict, first.repeats.runs) == ("fail", 2)
    assert (second.verdict, second.observation) == ("inconclusive", "inconclusive:hurried")
    assert (third.verdict, third.repeats.runs) == ("fail", 2)


@pytest.mark.parametrize(("is_withheld", "verdict"), [(False, "fail"), (True, "inconclusive")])
def test_a_must_is_waited_for_once_in_a_hurried_run(verdict: str, *, is_withheld: bool) -> None:
    session = FakeSession()
    session.patience = Patience(5.0, 5.0, 5.0, is_withheld=is_withheld)
    kit, waits = engine(session, repeats=1, hurry_after=1), list[float]()
    should = msgspec.structs.replace(CLAUSE, id="store.should", level="should")
    must = msgspec.structs.replace(CLAUSE, id="store.must", level="must")
    kit.run(instance(waiting_for_a_push(session, waits), CLAUSE))
    seen = [kit.run(instance(waiting_for_a_push(session, waits), c)) for c in (should, must, must)]

    assert [each.verdict for each in seen] == ["inconclusive", verdict, "inconclusive"]


@pytest.mark.parametrize(("in_rounds", "runs"), [(False, 2), (True, 5)])
def test_a_group_is_waited_for_in_vain_a_few_times_at_most(runs: int, *, in_rounds: bool) -> None:
    """A target that looks in rounds is late, not mute: its waits are as many, and longer."""
    session = FakeSession()
    session.patience = Patience(answer=1.0, push=15.0, redelivery=15.0, in_rounds=in_rounds)

    def waits(broker: Transcript) -> Observation:
        broker.add_wait(8.0)
        return observed("bad")

    record = engine(session, repeats=5).run(case(waits, arguments=("broker",)))
    assert (record.verdict, record.repeats.runs) == ("fail", runs)


def test_a_core_answered_wrongly_hurries_nobody() -> None:
    session = FakeSession()
    core = msgspec.structs.replace(CLAUSE, core=True)
    kit = engine(session, repeats=2)
    kit.run(instance(scripted("bad", "bad"), core))
    record = kit.run(instance(scripted("missing", "missing", overdue=True), CLAUSE))
    assert (record.verdict, record.repeats.runs) == ("fail", 2)


def test_a_target_that_delivered_nothing_when_measured_is_waited_for_twice() -> None:
    session = FakeSession()
    session.patience = Patience(answer=5.0, push=5.0, redelivery=5.0, is_withheld=True)
    other = msgspec.structs.replace(CLAUSE, id="u.j.clause")
    kit, waits = engine(session, repeats=5), list[float]()
    kit.run(instance(waiting_for_a_push(session, waits), CLAUSE))
    kit.run(instance(waiting_for_a_push(session, waits), other))
    assert waits == [5.0, 5.0, SHORTEST_S]


def test_the_rest_of_a_hurried_run_waits_side_by_side() -> None:
    session = FakeSession()
    kit = engine(session, repeats=1, hurry_after=1)
    together = threading.Barrier(3)

    def waits() -> Observation:
        together.wait()
        return observed("ok,open")

    vain = case(scripted("missing", overdue=True), case_id="p/i/case/vain")
    others = [case(waits, case_id=f"p/i/case/{number}") for number in range(3)]
    kit.start([vain, *others])
    assert kit.run(vain).verdict == "fail"
    assert [kit.run(item).verdict for item in others] == ["pass"] * 3
    kit.close()


def test_cases_for_a_target_far_away_run_side_by_side() -> None:
    class FarSession(FakeSession):
        def control(self) -> Control:
            return Control("prompt", 0.6)

    together = threading.Barrier(3)

    def waits() -> Observation:
        together.wait()
        return observed("ok,open")

    items = [case(waits, case_id=f"p/i/case/{number}") for number in range(3)]
    kit = engine(FarSession())
    kit.start(items)
    assert [kit.run(item).verdict for item in items] == ["pass"] * 3
    kit.close()


def test_a_patient_run_waits_for_everything() -> None:
    kit = engine(repeats=1, hurry_after=1, patient=True)
    verdicts = [kit.run(case(scripted("missing", overdue=True))).verdict for _ in range(3)]
    assert verdicts == ["fail"] * 3


def test_a_target_whose_waits_are_fixed_hurries_nobody() -> None:
    """A client is waited for as its script says: a hurried case would wait as long for nothing."""
    session = FakeSession()
    session.patience = Patience(answer=1.0, push=0.0, redelivery=0.0, is_fixed=True)
    core = msgspec.structs.replace(CLAUSE, core=True)
    kit = engine(session, repeats=2, hurry_after=1)

    first = kit.run(instance(scripted("missing", "missing", overdue=True), core))
    later = kit.run(instance(scripted("silence", "silence", overdue=True), CLAUSE))

    assert [(each.verdict, each.repeats.runs) for each in (first, later)] == [("fail", 2)] * 2
