"""What the engine records of a target that dies during a run."""

import os
import threading
from collections.abc import Callable

from fake_session import FakeSession
from test_engine import case, engine, scripted

from wireproof_kit.observation import Observation, observed
from wireproof_kit.targets.process import TargetProcess, find_process


def test_a_death_is_charged_to_its_case_and_the_rest_says_so() -> None:
    session = FakeSession()

    def deadly() -> Observation:
        session.alive = False
        return observed("closed")

    kit = engine(session)
    first = kit.run(case(deadly, case_id="p/i/case/deadly", hazard=True))
    later = kit.run(case(scripted("ok,open")))
    assert (first.verdict, first.observation) == ("fail", "died")
    assert later.verdict == "inconclusive"
    assert "p/i/case/deadly" in later.reason


def test_the_end_of_the_named_process_is_a_death_though_another_answers() -> None:
    ended = TargetProcess(os.getpid(), born=-1)
    kit = engine(repeats=1, process=ended)
    first = kit.run(case(scripted("bad"), case_id="p/i/case/deadly"))
    later = kit.run(case(scripted("ok,open")))

    assert (first.verdict, first.observation) == ("fail", "died")
    assert (
        first.note
        == f"process {os.getpid()} of the target has ended (what the case observed: bad)"
    )
    assert later.verdict == "pass"


def test_while_the_named_process_lives_a_failure_is_one() -> None:
    kit = engine(repeats=1, process=find_process(os.getpid()))
    assert kit.run(case(scripted("bad"))).observation == "bad"


def test_all_cases_that_run_while_the_target_dies_make_one_death() -> None:
    """Whichever notices first is charged; what the others saw says nothing of them."""
    session = FakeSession()
    running = threading.Barrier(5)
    dead = threading.Event()

    def meets_its_end(value: str) -> Callable[[], Observation]:
        def see() -> Observation:
            running.wait()
            if session.alive:
                session.alive = False
                dead.set()
            dead.wait()
            return observed(value, overdue=value == "missing")

        return see

    values = ("closed", "missing", "error:E_X,closed", "inconclusive:arrangement", "stuck")
    items = [
        case(meets_its_end(value), case_id=f"p/i/case/{number}", waiting=True)
        for number, value in enumerate(values)
    ]
    kit = engine(session, repeats=2)
    kit.start(items)
    records = [kit.run(item) for item in items]
    kit.close()

    failed = [record for record in records if record.verdict == "fail"]
    others = [record for record in records if record.verdict == "inconclusive"]
    assert [record.observation for record in failed] == ["died"]
    assert len(others) == 4
    assert {record.observation for record in others} == {"inconclusive:target-died"}
    assert all(failed[0].case in record.reason for record in others)


def test_what_passed_while_another_case_killed_the_target_has_passed() -> None:
    session = FakeSession()
    kit = engine(session)

    def meanwhile() -> Observation:
        session.alive = False
        kit.run(case(scripted("closed"), case_id="p/i/case/deadly"))
        return observed("ok,open")

    assert kit.run(case(meanwhile)).verdict == "pass"


def test_a_target_that_is_brought_back_is_judged_on() -> None:
    session = FakeSession()

    def deadly() -> Observation:
        session.alive = False
        return observed("closed")

    def restart() -> bool:
        session.alive = True
        return True

    kit = engine(session, restart=restart, repeats=2)
    first = kit.run(case(deadly, hazard=True))
    later = kit.run(case(scripted("ok,open")))
    assert (first.observation, first.repeats.runs) == ("died", 2)
    assert later.verdict == "pass"


def test_a_connection_that_a_package_is_refused_is_no_error_of_the_case() -> None:
    """A package may connect sockets by itself; a target that refuses them is dead or not ready."""

    class Refused(FakeSession):
        def is_alive(self) -> bool:
            raise ConnectionRefusedError

    def unreachable() -> Observation:
        raise ConnectionRefusedError

    alive = engine().run(case(unreachable))
    dead = engine(Refused()).run(case(scripted("bad")))

    assert (alive.verdict, alive.observation) == ("inconclusive", "inconclusive:arrangement")
    assert (dead.verdict, dead.observation) == ("fail", "died")
