"""Waits that pauses of the kit's own machine put off, and what such a pause explains."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from test_engine import case, engine

from wireproof_kit.observation import Observation, observed
from wireproof_kit.wire import waiting
from wireproof_kit.wire.waiting import Deadline, Pauses, note_pauses, until


@dataclass
class Machine:
    """A clock, and for how long the kit was kept from running so far."""

    now: float = 100.0
    paused: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def seconds(self) -> float:
        return self.paused


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(waiting, "time", made)
    monkeypatch.setattr(waiting, "PauseClock", lambda: made)
    return made


def test_a_deadline_without_a_pause_is_over_in_time(machine: Machine) -> None:
    deadline = Deadline(1.0)
    assert deadline.left() == pytest.approx(waiting.UNMEASURED_S)
    machine.now += waiting.UNMEASURED_S
    assert deadline.left() == pytest.approx(1.0 - waiting.UNMEASURED_S)
    machine.now += 1.0 - waiting.UNMEASURED_S
    assert deadline.left() == 0.0


def test_a_pause_puts_the_deadline_off_by_its_own_length(machine: Machine) -> None:
    deadline = Deadline(1.0)
    deadline.rest()
    machine.now, machine.paused = machine.now + 1.0, 0.4
    assert deadline.left() == pytest.approx(0.4)
    machine.now += 0.4
    assert deadline.left() == 0.0


def test_a_look_that_comes_late_is_a_pause(machine: Machine) -> None:
    deadline = Deadline(1.0)
    deadline.left()
    machine.now += waiting.UNMEASURED_S + 3.0
    assert deadline.left() == pytest.approx(1.0 - waiting.UNMEASURED_S)


def test_pauses_without_end_put_the_deadline_off_four_times(machine: Machine) -> None:
    deadline, began = Deadline(1.0), machine.now
    while left := deadline.rest():
        machine.now += left
        machine.paused += left
    assert machine.now - began == pytest.approx(1.0 + waiting.MOST_LONGER)


@pytest.mark.parametrize(("paused", "explains"), [(0.24, False), (0.25, True), (3.0, True)])
def test_a_pause_of_a_quarter_of_the_limit_explains_a_vain_wait(
    machine: Machine, paused: float, *, explains: bool
) -> None:
    pauses = Pauses()
    with note_pauses(pauses):
        deadline = Deadline(1.0)
        while left := deadline.rest():
            machine.now, machine.paused = machine.now + left, paused
    assert pauses.explain() is explains


class Kept:
    """A clock of a machine that keeps the kit from running, as long as ``paused`` says."""

    paused = 0.1

    def seconds(self) -> float:
        return self.paused


def waits_in_vain(value: str, *, overdue: bool) -> Callable[[], Observation]:
    def wait() -> Observation:
        until(lambda: None, seconds=0.1, every=0.01)
        return observed(value, overdue=overdue)

    return wait


def test_what_came_late_while_the_kit_was_paused_is_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "PauseClock", Kept)
    record = engine(repeats=2).run(case(waits_in_vain("missing", overdue=True)))

    assert (record.verdict, record.observation) == ("inconclusive", "inconclusive:paused")
    assert "saw: missing, but other programs kept the kit from running" in record.reason
    assert record.reason.endswith("undecided in all of 5 runs")


def test_a_wrong_value_is_not_excused_by_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PauseClock", Kept)
    record = engine(repeats=2).run(case(waits_in_vain("bad", overdue=False)))
    assert (record.verdict, record.repeats.runs) == ("fail", 2)


def test_a_case_that_was_paused_once_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PauseClock", Kept)
    monkeypatch.setattr(Kept, "paused", 0.1)
    values = iter(["missing", "ok,open"])

    def see() -> Observation:
        value = next(values)
        until(lambda: None, seconds=0.1, every=0.01)
        Kept.paused = 0.0
        return observed(value, overdue=value == "missing")

    assert engine().run(case(see)).verdict == "pass"


class Pausing(threading.Event):
    """An event that is never set; a wait for it takes its time of a machine's clock."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self._machine.now += timeout
        self.waits.append(timeout)
        return False


def test_a_wait_that_lasts_looks_less_often(machine: Machine) -> None:
    pausing = Pausing(machine)
    assert until(lambda: None, seconds=10.0, every=0.02, given_up=pausing) is None
    assert max(pausing.waits[:8]) == pytest.approx(0.02)
    assert max(pausing.waits) == pytest.approx(waiting.LONGEST_PAUSE_S)
    assert sum(pausing.waits) == pytest.approx(10.0)
    assert len(pausing.waits) < 70


def test_a_wait_never_looks_more_often_than_it_was_asked_to(machine: Machine) -> None:
    pausing = Pausing(machine)
    assert until(lambda: None, seconds=10.0, every=1.0, given_up=pausing) is None
    # The first look may come early: a deadline asks for one, to find out whether it is kept.
    assert pausing.waits[1:-1] == pytest.approx([1.0] * len(pausing.waits[1:-1]))


def test_a_wait_that_pauses_put_off_rests_between_its_looks(machine: Machine) -> None:
    looks = list[float]()

    def look() -> None:
        looks.append(machine.now)
        machine.now += 0.01
        machine.paused += 0.012  # of two processes, each waited for the other

    until(look, seconds=1.0, every=0.5, given_up=Pausing(machine))
    assert looks[-1] - looks[0] >= 1.0
    assert len(looks) <= 8
