"""The engine: repeats, slowness, deaths, bugs of ours; nothing is ever repeated to green."""

import threading
from collections.abc import Callable, Iterator

import pytest
from fake_session import FakeSession, instance
from scripted_ledger import ScriptedLedger
from small_law import CLAUSE, bench

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.engine import DECIDING_RUNS, Engine
from wireproof_kit.runner.instance import Instance
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
