"""What a batch tells of a target that died in it."""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wireproof_kit.fuzz.campaign.batches import LEAST_PART, MOST_DEATHS, send_in_parts
from wireproof_kit.fuzz.case import CROWD, Case, Step
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import CLOSED, DEAD
from wireproof_kit.fuzz.send.batch_order import SortedBatch
from wireproof_kit.fuzz.send.engine import Engine
from wireproof_kit.fuzz.triage.anomaly import Anomaly


class Health:
    """A target that works or is dead; `exercised` counts the exercises that were asked for."""

    def __init__(self, *, is_dead: bool) -> None:
        self.trouble = Trouble(DEAD, "it died") if is_dead else None
        self.exercised = 0

    def check(self, *, patient: bool) -> Trouble | None:
        assert not patient
        return self.trouble

    def exercise(self, exercise: str, until: float) -> Trouble | None:
        assert (exercise, until) == (CROWD, math.inf)
        self.exercised += 1
        return self.trouble


def case(index: int, field: str = "size") -> Case:
    return Case(index, "fresh", "PUB", field, "zero", (Step(b"x"),), True)


def checked(health: Health, found: Sequence[Anomaly]) -> list[Anomaly]:
    engine = Engine(cast(Any, SimpleNamespace(health=health, oracle=None)), cast(Any, None))
    batch = SortedBatch(engine.sorter, False, 0, batch=[case(1), case(2), case(3, CROWD)])
    return engine._check(batch, list(found), 0, patient=False)  # pyright: ignore[reportPrivateUsage]


def test_connections_that_the_end_of_a_target_closed_belong_to_its_death() -> None:
    closed = [Anomaly(Trouble(CLOSED, "closed"), (), case(n), CLOSED) for n in (1, 2)]
    for is_dead, told in ((True, [DEAD]), (False, [CLOSED, CLOSED])):
        health = Health(is_dead=is_dead)

        assert [anomaly.trouble.violated for anomaly in checked(health, closed)] == told
        assert health.exercised == (not is_dead)


def test_a_target_that_dies_of_an_exercise_dies_of_that() -> None:
    (anomaly,) = checked(Health(is_dead=True), [])

    assert (anomaly.trouble.violated, anomaly.case) == (DEAD, case(3, CROWD))


@pytest.mark.parametrize("deadly", [set[int](), {0}, {255}, {7, 200}])
def test_the_rest_of_a_batch_is_sent_but_for_a_few_cases_beside_the_deadly_ones(
    deadly: set[int],
) -> None:
    cases, sent = [case(n) for n in range(256)], set[int]()

    def kills(part: Sequence[Case]) -> bool:
        assert part
        died = any(each.index in deadly for each in part)
        sent.update(() if died else (each.index for each in part))
        return died

    send_in_parts(cases, kills)

    assert not deadly & sent
    assert len(sent) >= 256 - LEAST_PART * len(deadly)


def test_a_target_that_dies_of_everything_is_not_killed_for_ever() -> None:
    died: list[int] = []

    def kills(part: Sequence[Case]) -> bool:
        died.append(len(part))
        return True

    send_in_parts([case(n) for n in range(256)], kills)

    assert len(died) == MOST_DEATHS


def test_nothing_more_is_sent_when_the_campaign_is_over() -> None:
    asked: list[int] = []
    send_in_parts([case(1), case(2)], lambda part: asked.append(len(part)))

    assert asked == [1]
