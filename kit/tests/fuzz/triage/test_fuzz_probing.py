"""From a suspicion to the fewest bytes: bisecting, shrinking, confirming, without a target."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from wireproof_kit.fuzz.case import BYTE_BY_BYTE, WHOLE, Case, Manner, Slow, SplitAt, Step
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import MEMORY
from wireproof_kit.fuzz.triage.anomaly import Suspicion
from wireproof_kit.fuzz.triage.finding import Signature, signature_of
from wireproof_kit.fuzz.triage.minimize import TIMES, Hunt, confirm

TROUBLE = Trouble("answer", "wrong")


def case(index: int, data: bytes = b"x") -> Case:
    return Case(index, "fresh", "PUB", "size", "one less", (Step(data, WHOLE),), True)


@dataclass
class Target:
    """Shows it when all `needed` are among the cases and some bytes in them; not always."""

    needed: frozenset[int] = frozenset()
    bytes_needed: bytes = b""
    misses: int = 0
    probes: list[int] = field(default_factory=list[int])

    def probe(self, cases: Sequence[Case], violated: str) -> Suspicion | None:
        self.probes.append(len(cases))
        sent = b"".join(step.data for each in cases for step in each.steps)
        shows = self.needed <= {each.index for each in cases} and self.bytes_needed in sent
        if shows and self.misses:
            self.misses -= 1
            return None
        return Suspicion(TROUBLE, tuple(cases), cases[-1], "OK") if shows else None

    def out_of_time(self) -> bool:
        return False


def suspicion(count: int, suspect: Case | None = None) -> Suspicion:
    return Suspicion(TROUBLE, tuple(case(n) for n in range(count)), suspect)


def test_the_suspect_alone_is_tried_first() -> None:
    target = Target(frozenset({7}))
    assert Hunt(target, "answer").culprits(suspicion(100, case(7))) == (case(7),)
    assert target.probes == [1]


def test_one_case_of_many_is_found_in_few_probes() -> None:
    target = Target(frozenset({77}))
    found = Hunt(target, "answer").culprits(suspicion(256))
    assert [each.index for each in found] == [77]
    assert len(target.probes) < 40


def test_two_cases_that_are_needed_together_are_kept() -> None:
    found = Hunt(Target(frozenset({3, 200})), "answer").culprits(suspicion(256))
    assert [each.index for each in found] == [3, 200]


def test_what_does_not_come_again_has_no_culprit() -> None:
    assert Hunt(Target(frozenset({999})), "answer").culprits(suspicion(16)) == ()


def test_bytes_that_are_not_needed_are_left_out() -> None:
    data = b"a" * 500 + b"KILL" + b"b" * 500
    steps = (Step(b"before"), Step(data, BYTE_BY_BYTE), Step(b"behind"))
    whole = Case(1, "fresh", "PUB", "size", "one less", steps, True)
    (smallest,) = Hunt(Target(bytes_needed=b"KILL"), "answer").smallest((whole,))
    (step,) = smallest.steps
    assert b"KILL" in step.data
    assert len(step.data) < 12
    assert step.manner == WHOLE


@dataclass
class Coalescing(Target):
    """Shows it when two writes arrive apart, for which they need a pause in between."""

    def probe(self, cases: Sequence[Case], violated: str) -> Suspicion | None:
        apart = any(isinstance(step.manner, Slow) for each in cases for step in each.steps)
        return super().probe(cases, violated) if apart else None


@pytest.mark.parametrize("manner", [SplitAt((2, 4)), BYTE_BY_BYTE])
def test_writes_that_must_arrive_apart_get_pauses(manner: Manner) -> None:
    split = Case(1, "fresh", "PUB", "frame", "many writes", (Step(b"KILLED", manner),), True)
    target = Coalescing(bytes_needed=b"KILL")
    (paused,) = Hunt(target, "answer").at_leisure((split,))
    (step,) = paused.steps
    assert isinstance(step.manner, Slow)
    assert set(step.manner.offsets) >= {2, 4}
    assert confirm(target, [paused], "answer", told=lambda seen: None) == (TIMES, TIMES)


def test_writes_that_need_not_arrive_apart_come_at_once() -> None:
    split = Case(1, "fresh", "PUB", "frame", "many writes", (Step(b"KILL", SplitAt((2,))),), True)
    hunt = Hunt(Target(bytes_needed=b"KILL"), "answer")
    (smallest,) = hunt.smallest(hunt.at_leisure((split,)))
    assert smallest.steps[0].manner == WHOLE


def test_pauses_that_hide_it_are_left_out() -> None:
    class Hurried(Target):
        def probe(self, cases: Sequence[Case], violated: str) -> Suspicion | None:
            slow = any(isinstance(step.manner, Slow) for each in cases for step in each.steps)
            return None if slow else super().probe(cases, violated)

    split = Case(1, "fresh", "PUB", "frame", "many writes", (Step(b"KILL", SplitAt((2,))),), True)
    assert Hunt(Hurried(), "answer").at_leisure((split,)) == (split,)
    long = replace(split, steps=(Step(bytes(66), BYTE_BY_BYTE),))
    target = Target()
    assert Hunt(target, "answer").at_leisure((long,)) == (long,)
    assert target.probes == [], "so many pauses take too long"


def test_confirming_counts_how_often_it_shows() -> None:
    told: list[Suspicion] = []
    target = Target(frozenset({1}), misses=2)
    assert confirm(target, [case(1)], "answer", told=told.append) == (TIMES - 2, TIMES)
    assert len(told) == TIMES - 2


def test_a_signature_says_what_where_and_which_answer() -> None:
    signature = signature_of(Suspicion(TROUBLE, (), case(1), "OK"), case(1))
    assert signature == Signature("answer", "fresh", "PUB", "size", "OK")
    assert signature.id == signature_of(Suspicion(TROUBLE, (), case(9), "OK"), case(9)).id
    assert signature.id != Signature("answer", "fresh", "PUB", "size", "E_INVALID").id


def test_memory_is_blamed_on_few_cases_or_on_none() -> None:
    alone = Target(frozenset({77}))
    (leaking,) = Hunt(alone, MEMORY).culprits(suspicion(256))
    assert leaking.index == 77

    together = Target(frozenset({3, 200}))
    assert Hunt(together, MEMORY).culprits(suspicion(256)) == ()
    assert together.probes == [256, 128, 128], "weighing takes long"
    assert len(Hunt(together, MEMORY).culprits(Suspicion(TROUBLE, (case(3), case(200))))) == 2


def test_memory_that_climbs_now_and_then_does_not_climb() -> None:
    def confirmed(misses: int) -> tuple[int, int]:
        target = Target(frozenset({1}), misses=misses)
        return confirm(target, [case(1)], MEMORY, told=lambda seen: None)

    assert confirmed(TIMES // 2) == (TIMES - TIMES // 2, TIMES)
    assert confirmed(TIMES // 2 + 1) == (0, TIMES)
