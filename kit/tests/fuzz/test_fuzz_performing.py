"""Cases of a test's own, performed on a reference: right, and with a seeded fault."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.stateful import run_state_machine_as_test

from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.generate.strategies import cases
from wireproof_kit.fuzz.generate.values import Drawer
from wireproof_kit.fuzz.oracle.rules import HUNG, NO_ANSWER, ROUND_TRIP
from wireproof_kit.fuzz.send.perform import CaseTarget, RuleViolated, open_target
from wireproof_kit.fuzz.send.state_machine import conversation_machine

pytestmark = pytest.mark.process

FEW = settings(
    max_examples=15,
    stateful_step_count=8,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@contextmanager
def served(protocol: str, *extra: str) -> Iterator[CaseTarget]:
    running = start_alone(protocol, extra)
    try:
        with open_target(running.url) as target:
            yield target
    finally:
        running.close()


@pytest.mark.parametrize("protocol", ["nsq", "iggy"])
def test_a_right_broker_does_what_it_owes(protocol: str) -> None:
    with served(protocol) as target:

        @FEW
        @given(cases(target.grammar))
        def each(case: Case) -> None:
            target.perform(case)

        each()
        machine = conversation_machine(target.grammar, target.perform)
        run_state_machine_as_test(machine, settings=FEW)


def test_a_weak_broker_is_told_apart() -> None:
    with served("nsq", "--fault", "parser-partition-sticks") as target:
        (pub,) = [kind for kind in target.grammar.kinds if kind.name == "PUB"]
        topic = Drawer(pub.strategy).draw(1).data.split(b" ")[1]
        line = b"PUB " + topic + b" 9223372036854775808\n\0\0\0\1x"
        case = Case(0, "identified", "PUB", "topic_partition", "2**63", (Step(line),), True)

        with pytest.raises(RuleViolated, match=f"^({HUNG}|{NO_ANSWER}|{ROUND_TRIP}): ."):
            target.perform(case)


def test_what_is_hazardous_is_not_sent_unless_asked_for() -> None:
    with served("nsq", "--fault", "parser-word-nul-halts") as target:
        line = b"INTERNAL_CREATE_TOPIC \0 0\n"
        case = Case(0, "identified", "x", "topic_name", "NUL", (Step(line),), True, hazardous=True)

        target.perform(case)
        with pytest.raises(RuleViolated):
            CaseTarget(target.grammar, target.engine, hazardous=True).perform(case)
