"""The engine: repeats, slowness, deaths, bugs of ours; nothing is ever repeated to green."""

import threading
from collections.abc import Callable, Iterator

import msgspec
import pytest
from fake_session import FakeSession, instance
from scripted_ledger import ScriptedLedger
from small_law import CLAUSE, bench

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.engine import DECIDING_RUNS, Engine
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.patience import PUSH, SHORTEST_S, Patience
from wireproof_kit.runner.records import record_unsupported
from wireproof_kit.runner.request import RunOptions
from wireproof_kit.runner.ways import Ways
from wireproof_kit.targets.session import Control
from wireproof_kit.verdicts.judge import JudgeContext, JudgedRun, judge_run
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.catalogue import Law
from wireproof_spec.record import ClaimRecord, SeenRecord


def scripted(*values: str, overdue: bool = False) -> Callable[[], Observation]:
    remaining: Iterator[str] = iter(values)
    return lambda: observed(next(remaining), overdue=overdue)


def engine(session: FakeSession | None = None, **options: object) -> Engine:
    return Engine(session or FakeSession(), bench(), RunOptions(**options))  # type: ignore[arg-type] # the names are the options' own


def case(function: Callable[..., Observation], **changes: object) -> Instance:
    return instance(function, CLAUSE, **changes)  # type: ignore[arg-type] # the names are the instance's own


def test_a_conforming_case_runs_once() -> None:
    record = engine().run(case(scripted("ok,open")))
    assert (record.verdict, record.repeats.runs) == ("pass", 1)


@pytest.mark.parametrize(("values", "runs"), [(["ok,open"], 1), (["bad", "bad", "ok,open"], 3)])
def test_each_run_of_a_case_is_judged_once(
    values: list[str], runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []

    def judge_and_count(seen: SeenRecord, law: Law, context: JudgeContext) -> JudgedRun:
        judged.append(seen.value)
        return judge_run(seen, law, context)

    monkeypatch.setattr("wireproof_kit.runner.engine.judge_run", judge_and_count)
    record = engine(repeats=3).run(case(scripted(*values)))
    assert (record.repeats.runs, judged) == (runs, values)


def test_a_failing_case_is_run_again_and_stays_failed() -> None:
    record = engine(repeats=3).run(case(scripted("bad", "bad", "bad")))
    assert (record.verdict, record.repeats.runs, record.repeats.same) == ("fail", 3, 3)


def test_a_failure_that_does_not_come_again_is_unstable_not_green() -> None:
    record = engine(repeats=3).run(case(scripted("bad", "ok,open", "ok,open")))
    assert (record.verdict, record.repeats.same) == ("unstable", 1)


class DyingSession(FakeSession):
    """A session whose target still accepts connections at the first look after its end."""

    def control(self) -> Control:
        self.alive = False
        return super().control()


def test_a_listener_that_outlives_its_connections_hides_no_death() -> None:
    record = engine(DyingSession(control="dead")).run(case(scripted("missing", overdue=True)))
    assert (record.observation, record.verdict) == ("died", "fail")
    assert (
        record.note == "the target no longer accepts connections (what the case observed: missing)"
    )


@pytest.mark.parametrize(
    ("control", "verdict"),
    [("prompt", "fail"), ("slow", "inconclusive"), ("dead", "inconclusive")],
)
def test_a_late_answer_is_settled_by_a_control_round_trip(control: str, verdict: str) -> None:
    session = FakeSession(control=control)  # type: ignore[arg-type] # one of the three
    late = scripted(*["late"] * DECIDING_RUNS, overdue=True)
    record = engine(session, repeats=1).run(case(late))
    controls = DECIDING_RUNS if control == "slow" else 1
    assert (record.verdict, session.controls) == (verdict, controls)


def test_no_control_round_trip_is_made_when_nothing_was_late() -> None:
    session = FakeSession()
    engine(session, repeats=1).run(case(scripted("bad")))
    assert session.controls == 0


def test_a_failed_arrangement_decides_nothing() -> None:
    def arrange() -> Observation:
        raise ArrangementFailed("IDENTIFY was answered with E_INVALID")

    record = engine().run(case(arrange))
    assert record.verdict == "inconclusive"
    assert "IDENTIFY" in record.reason


def test_a_bug_of_ours_is_an_error_with_its_place() -> None:
    def broken() -> Observation:
        raise KeyError("no such word")

    record = engine().run(case(broken))
    assert record.verdict == "error"
    assert "no such word" in record.reason
    assert "broken" in record.reason


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_a_case_that_ends_its_thread_is_an_error_at_once(error: type[BaseException]) -> None:
    def leaves() -> Observation:
        raise error(3)

    record = engine().run(case(leaves))

    assert record.verdict == "error"
    assert error.__name__ in record.reason
    assert "leaves, line" in record.reason


def test_the_exchange_of_a_case_that_still_runs_is_read_once() -> None:
    """An interrupted run has deliveries of messages whose publish it would not know."""
    gate, begun, ledger = threading.Event(), threading.Event(), ScriptedLedger()

    def waits(broker: Transcript) -> Observation:
        broker.add("send", "A", data=b"PUB")
        begun.set()
        gate.wait()
        return observed("ok,open")

    kit = engine()
    kit.ways = Ways("p", bench(), ledger)
    item = case(waits, waiting=True, arguments=("broker",))
    kit.start([item])
    begun.wait()

    kit.read_unfinished()

    assert ledger.cases == ["p/i/case/x"]
    gate.set()
    kit.run(item)
    assert ledger.cases == ["p/i/case/x"]
    kit.close()


def test_a_case_that_does_not_end_is_given_up() -> None:
    gate = threading.Event()

    def stuck() -> Observation:
        gate.wait()
        return observed("ok,open")

    record = engine(case_timeout_s=0.05).run(case(stuck))
    gate.set()
    assert record.verdict == "error"
    assert "did not end" in record.reason


def test_a_target_that_withholds_is_no_error_of_ours() -> None:
    gate = threading.Event()

    def kept_waiting(broker: Transcript) -> Observation:
        broker.add_wait(30)
        gate.wait()
        return observed("ok,open")

    kit = engine(case_timeout_s=0.05, repeats=1)
    record = kit.run(case(kept_waiting, arguments=("broker",)))
    gate.set()
    assert (record.verdict, record.observation) == ("fail", "withheld")
    assert "waited in vain" in record.note


def test_a_target_that_sends_slowly_is_no_error_of_ours() -> None:
    gate = threading.Event()

    def kept_waiting(broker: Transcript) -> Observation:
        broker.waited_s = 30
        gate.wait()
        return observed("ok,open")

    kit = engine(case_timeout_s=0.05, repeats=1)
    record = kit.run(case(kept_waiting, arguments=("broker",)))
    gate.set()
    assert (record.verdict, record.observation) == ("inconclusive", "inconclusive:timeout")
    assert "for 30 s it waited for what the target sent, slowly" in record.note + record.reason


def test_a_slow_target_that_withholds_is_undecided() -> None:
    gate = threading.Event()

    def kept_waiting(broker: Transcript) -> Observation:
        broker.add_wait(30)
        gate.wait()
        return observed("ok,open")

    kit = engine(FakeSession(control="slow"), case_timeout_s=0.05)
    record = kit.run(case(kept_waiting, arguments=("broker",)))
    gate.set()
    assert record.verdict == "inconclusive"


def test_waiting_cases_are_started_early_and_collected_in_turn() -> None:
    started = threading.Event()

    def waits() -> Observation:
        started.set()
        return observed("ok,open")

    item = case(waits, waiting=True)
    kit = engine()
    kit.start([item])
    started.wait()
    assert kit.run(item).verdict == "pass"
    kit.close()


def test_what_still_waits_is_given_up_with_the_run() -> None:
    """A process whose threads wait for a target would outlast an interrupt by their patience."""
    gate, started = threading.Event(), threading.Event()

    def waits() -> Observation:
        started.set()
        gate.wait()
        return observed("ok,open")

    item = case(waits, waiting=True)
    kit = engine()
    kit.start([item])
    started.wait()
    kit.close()
    record = kit.run(item)
    gate.set()
    assert (record.verdict, record.observation) == ("inconclusive", "inconclusive:given-up")


def test_a_case_gets_fresh_objects_for_each_run_and_they_are_released() -> None:
    session = FakeSession()
    seen: list[Transcript] = []

    def keeps(broker: Transcript) -> Observation:
        seen.append(broker)
        return observed("bad")

    engine(session, repeats=2).run(case(keeps, arguments=("broker",)))
    assert len({id(transcript) for transcript in seen}) == 2
    assert len(session.released) == 2


def test_the_record_keeps_every_byte_and_the_first_difference() -> None:
    def speaks(broker: Transcript) -> Observation:
        broker.add("send", "A", data=b"\x00" * 5000, note="n")
        return observed("bad", difference=Difference("attempts", 8, "1", "40961"))

    record = engine(repeats=1).run(case(speaks, arguments=("broker",)))
    (step,) = record.transcript.steps
    assert step.data() == b"\x00" * 5000
    assert step.length == 5000
    assert record.difference is not None
    assert record.difference.field == "attempts"
    assert record.signature


def test_an_unsupported_case_shows_the_probe() -> None:
    absent = JudgeContext(
        bench().catalogue, {"ext": ClaimRecord(state="absent", observation="error:E")}, {}
    )
    record = record_unsupported(case(scripted()), absent)
    assert record.verdict == "unsupported"
    assert "error:E" in record.reason


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
