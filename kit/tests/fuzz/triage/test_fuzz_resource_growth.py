"""Whether a process climbs: what it may keep of what was sent, and what it leaks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from wireproof_kit.fuzz.case import TOGETHER, Case, Step
from wireproof_kit.fuzz.oracle import resource_growth
from wireproof_kit.fuzz.oracle.resource_growth import Watch
from wireproof_kit.fuzz.oracle.rules import FILES, MEMORY
from wireproof_kit.targets.process import Usage

KIB, MIB = 1024, 1024 * 1024
BASE = Usage(64 * MIB, 20, 1.0)


def case(index: int, copies: int = 1, size: int = 100) -> Case:
    steps = (Step(bytes(size), TOGETHER),) * copies
    return Case(index, "fresh", "PUB", "body", "all zero", steps, True)


@dataclass
class Process:
    """Keeps so many bytes of each request, `leaks` more of the case of index 7, as often."""

    keeps: int = 0
    leaks: int = 0
    most: int = 1 << 40
    descriptors: int = 0
    memory: int = 0
    files: int = 0
    sent: list[int] = field(default_factory=list[int])

    def send(self, cases: Sequence[Case]) -> None:
        self.sent.append(len(cases))
        requests = sum(len(each.steps) for each in cases)
        data = sum(len(step.data) for each in cases for step in each.steps)
        kept = min(self.keeps * requests + data * bool(self.keeps), self.most)
        self.memory += kept + self.leaks * sum(each.index == 7 for each in cases)
        self.files += self.descriptors * len(cases)

    def usage(self, pid: int) -> Usage:
        return Usage(BASE.memory + self.memory, BASE.files + self.files, 1.0)


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Process, str, Sequence[Case]], bool]:
    def probed(process: Process, violated: str, cases: Sequence[Case]) -> bool:
        monkeypatch.setattr(resource_growth, "usage", process.usage)
        monkeypatch.setattr(resource_growth, "SETTLE_S", 0.0)
        return Watch(1).repeat_cases(violated, cases, process.send) is not None

    return probed


Probed = Callable[[Process, str, Sequence[Case]], bool]


@pytest.mark.parametrize("leaks", [128 * KIB, MIB])
def test_one_case_that_leaks_climbs_every_time(probed: Probed, leaks: int) -> None:
    assert probed(Process(leaks=leaks), MEMORY, [case(7)])
    assert not probed(Process(leaks=leaks), MEMORY, [case(8)])


def test_one_that_leaks_is_not_lost_among_many(probed: Probed) -> None:
    many = [case(number, size=4096) for number in range(256)]
    assert probed(Process(leaks=MIB), MEMORY, many)


@pytest.mark.parametrize("copies", [1, 20])
def test_what_is_stored_of_few_is_no_leak(probed: Probed, copies: int) -> None:
    """As measured: some 2500 bytes of each message, beside its own."""
    for size in (1, 100, 4096):
        assert not probed(Process(keeps=2500), MEMORY, [case(8, copies, size)])


def test_what_stops_climbing_does_not_climb(probed: Probed) -> None:
    process = Process(leaks=MIB)
    leaking = [case(7)]
    usual = process.send

    def send_for_a_while(cases: Sequence[Case]) -> None:
        process.leaks = 0 if len(process.sent) > 2 else MIB
        usual(cases)

    process.send = send_for_a_while  # type: ignore[method-assign]  # it leaks for a while
    assert not probed(process, MEMORY, leaking)


def test_files_climb_when_each_round_leaves_some(probed: Probed) -> None:
    assert probed(Process(descriptors=1), FILES, [case(1)])
    assert not probed(Process(), FILES, [case(1)])


def test_a_batch_that_takes_more_than_others_is_suspicious(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = Process(keeps=2500)
    monkeypatch.setattr(resource_growth, "usage", process.usage)
    monkeypatch.setattr(resource_growth, "SELDOM_S", 0.0)
    watch = Watch(1)
    usual = [case(number) for number in range(8, 136)]
    for _ in range(6):
        process.send(usual)
        assert watch.climbs(usual) is None
    process.leaks = 2 * MIB
    process.send([case(7), *usual])
    trouble = watch.climbs([case(7), *usual])
    assert trouble is not None
    assert trouble.violated == MEMORY
