"""From a suspicion to the fewest bytes: bisecting, shrinking, confirming, without a target."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from wireproof_kit.fuzz.case import (
    BYTE_BY_BYTE,
    WHOLE,
    Case,
    Hold,
    Slow,
    SplitAt,
    Step,
    WriteStyle,
)
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import DEAD, MEMORY, NOT_CLOSED
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.finding import Signature, signature_of
from wireproof_kit.fuzz.triage.minimize import FEWER_TIMES, TIMES, CulpritSearch, confirm

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

    def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        self.probes.append(len(cases))
        sent = b"".join(step.data for each in cases for step in each.steps)
        shows = self.needed <= {each.index for each in cases} and self.bytes_needed in sent
        if shows and self.misses:
            self.misses -= 1
            return None
        return Anomaly(TROUBLE, tuple(cases), cases[-1], "OK") if shows else None

    def out_of_time(self) -> bool:
        return False


def anomaly(count: int, suspect: Case | None = None) -> Anomaly:
    return Anomaly(TROUBLE, tuple(case(n) for n in range(count)), suspect)


def test_the_suspect_alone_is_tried_first() -> None:
    target = Target(frozenset({7}))
    assert CulpritSearch(target, "answer").culprits(anomaly(100, case(7))) == (case(7),)
    assert target.probes == [1]


def test_one_case_of_many_is_found_in_few_probes() -> None:
    target = Target(frozenset({77}))
    found = CulpritSearch(target, "answer").culprits(anomaly(256))
    assert [each.index for each in found] == [77]
    assert len(target.probes) < 40


def test_two_cases_that_are_needed_together_are_kept() -> None:
    found = CulpritSearch(Target(frozenset({3, 200})), "answer").culprits(anomaly(256))
    assert [each.index for each in found] == [3, 200]


def test_what_does_not_come_again_has_no_culprit() -> None:
    assert CulpritSearch(Target(frozenset({999})), "answer").culprits(anomaly(16)) == ()


def test_held_cases_are_tried_at_once_for_a_death_and_left_out_for_what_is_cheap() -> None:
    held = [replace(case(n), steps=(Step(b"x", Hold(2.5)),)) for n in range(4)]
    batch = (*(case(n) for n in range(10, 30)), *held)

    dies = Target(frozenset({2}))
    assert CulpritSearch(dies, DEAD).culprits(Anomaly(TROUBLE, batch)) == (held[2],)
    assert dies.probes[0] == len(held)
    answers = Target(frozenset({2}))
    assert CulpritSearch(answers, "answer").culprits(Anomaly(TROUBLE, batch)) == ()
    assert answers.probes == [20]


def test_bytes_that_are_not_needed_are_left_out() -> None:
    data = b"a" * 500 + b"KILL" + b"b" * 500
    steps = (Step(b"before"), Step(data, BYTE_BY_BYTE), Step(b"behind"))
    whole = Case(1, "fresh", "PUB", "size", "one less", steps, True)
    (smallest,) = CulpritSearch(Target(bytes_needed=b"KILL"), "answer").smallest((whole,))
    (step,) = smallest.steps
    assert b"KILL" in step.data
    assert len(step.data) < 12
    assert step.style == WHOLE


@dataclass
class Coalescing(Target):
    """Shows it when two writes arrive apart, for which they need a pause in between."""

    def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        apart = any(isinstance(step.style, Slow) for each in cases for step in each.steps)
        return super().probe(cases, violated) if apart else None


@pytest.mark.parametrize("style", [SplitAt((2, 4)), BYTE_BY_BYTE])
def test_writes_that_must_arrive_apart_get_pauses(style: WriteStyle) -> None:
    split = Case(1, "fresh", "PUB", "frame", "many writes", (Step(b"KILLED", style),), True)
    target = Coalescing(bytes_needed=b"KILL")
    (paused,) = CulpritSearch(target, "answer").at_leisure((split,))
    (step,) = paused.steps
    assert isinstance(step.style, Slow)
    assert set(step.style.offsets) >= {2, 4}
    assert confirm(target, [paused], "answer", told=lambda seen: None) == (TIMES, TIMES)


def test_writes_that_must_arrive_apart_are_tried_with_pauses_first_for_a_death() -> None:
    split = [
        Case(n, "fresh", "PUB", "frame", "many writes", (Step(data, SplitAt((2,))),), True)
        for n, data in enumerate((b"harm", b"KILL", b"less"))
    ]
    target = Coalescing(bytes_needed=b"KILL")
    (found,) = CulpritSearch(target, DEAD).culprits(Anomaly(TROUBLE, (*split, case(9))))
    assert found.index == 1
    assert isinstance(found.steps[0].style, Slow)
    assert target.probes[0] == len(split)


def test_writes_that_need_not_arrive_apart_come_at_once() -> None:
    split = Case(1, "fresh", "PUB", "frame", "many writes", (Step(b"KILL", SplitAt((2,))),), True)
    search = CulpritSearch(Target(bytes_needed=b"KILL"), "answer")
    (smallest,) = search.smallest(search.at_leisure((split,)))
    assert smallest.steps[0].style == WHOLE


def test_pauses_that_hide_it_are_left_out() -> None:
    class Hurried(Target):
        def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
            slow = any(isinstance(step.style, Slow) for each in cases for step in each.steps)
            return None if slow else super().probe(cases, violated)

    split = Case(1, "fresh", "PUB", "frame", "many writes", (Step(b"KILL", SplitAt((2,))),), True)
    assert CulpritSearch(Hurried(), "answer").at_leisure((split,)) == (split,)
    long = replace(split, steps=(Step(bytes(66), BYTE_BY_BYTE),))
    target = Target()
    assert CulpritSearch(target, "answer").at_leisure((long,)) == (long,)
    assert target.probes == [], "so many pauses take too long"


def test_confirming_counts_how_often_it_shows() -> None:
    told: list[Anomaly] = []
    target = Target(frozenset({1}), misses=2)
    assert confirm(target, [case(1)], "answer", told=told.append) == (TIMES - 2, TIMES)
    assert len(told) == TIMES - 2


def test_a_signature_says_what_where_and_which_answer() -> None:
    signature = signature_of(Anomaly(TROUBLE, (), case(1), "OK"), case(1))
    assert signature == Signature("answer", "PUB", "size", "OK")
    assert signature.id == signature_of(Anomaly(TROUBLE, (), case(9), "OK"), case(9)).id
    assert signature.id != Signature("answer", "PUB", "size", "E_INVALID").id


def test_memory_is_blamed_on_few_cases_or_on_none() -> None:
    alone = Target(frozenset({77}))
    (leaking,) = CulpritSearch(alone, MEMORY).culprits(anomaly(256))
    assert leaking.index == 77

    together = Target(frozenset({3, 200}))
    assert CulpritSearch(together, MEMORY).culprits(anomaly(256)) == ()
    assert together.probes == [256, 128, 128], "weighing takes long"
    assert (
        len(CulpritSearch(together, MEMORY).culprits(Anomaly(TROUBLE, (case(3), case(200))))) == 2
    )


@pytest.mark.parametrize(("violated", "times"), [(MEMORY, TIMES), (NOT_CLOSED, FEWER_TIMES)])
def test_what_shows_now_and_then_does_not_show(violated: str, times: int) -> None:
    def confirmed(misses: int) -> tuple[int, int]:
        target = Target(frozenset({1}), misses=misses)
        return confirm(target, [case(1)], violated, told=lambda seen: None)

    assert confirmed(times // 2) == (times - times // 2, times)
    assert confirmed(times // 2 + 1) == (0, times)
