import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fuzz_grammars import GRAMMARS
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from wireproof_kit.fuzz.case import GRAMMAR, Case
from wireproof_kit.fuzz.generate.conversations import BROKEN, CONVERSATION, IN_ORDER, OUT_OF_ORDER
from wireproof_kit.fuzz.generate.drawn_cases import DrawnCases
from wireproof_kit.fuzz.generate.strategies import (
    MANY,
    cases,
    conversations,
    frames,
    many_cases,
)
from wireproof_kit.fuzz.generate.values import Drawer
from wireproof_kit.fuzz.send.state_machine import conversation_machine

pytestmark = pytest.mark.long

PROTOCOLS = pytest.mark.parametrize("protocol", GRAMMARS)
SOME = settings(
    max_examples=12, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.slow
@PROTOCOLS
def test_drawn_cases_are_the_same_for_seed_and_index(protocol: str) -> None:
    made, again = DrawnCases(GRAMMARS[protocol], 5), DrawnCases(GRAMMARS[protocol], 5)
    indices = [made.epoch * 3 + 1, 0, made.epoch - 1, made.epoch, 40]

    assert [made.case(index) for index in indices] == [again.case(index) for index in indices]
    in_order = list(itertools.islice(again.cases(3), 30))
    assert in_order == [made.case(index) for index in range(3, 33)]
    other = DrawnCases(GRAMMARS[protocol], 6)
    assert [other.case(index).steps for index in indices] != [
        made.case(index).steps for index in indices
    ]


@PROTOCOLS
def test_drawn_cases_are_of_all_kinds_in_turn(protocol: str) -> None:
    grammar = GRAMMARS[protocol]
    made = DrawnCases(grammar, 5)
    found = [case.frame_kind for case in itertools.islice(made.cases(), made.epoch)]

    assert set(found) == {CONVERSATION, *(kind.name for kind in grammar.kinds)}
    assert len(set(found[: len(grammar.kinds)])) == len(grammar.kinds)


def test_drawn_cases_are_chosen() -> None:
    made = DrawnCases(GRAMMARS["nsq"], 5, frames=["PUB_EXT"], states=["identified"])
    clients = DrawnCases(GRAMMARS["nsq"], 5, frames=[CONVERSATION], states=["identified"])

    assert {(case.frame_kind, case.state) for case in itertools.islice(made.cases(), 50)} == {
        ("PUB_EXT", "identified")
    }
    assert {(case.frame_kind, case.state) for case in itertools.islice(clients.cases(), 20)} == {
        (CONVERSATION, "identified")
    }
    with pytest.raises(ValueError, match="no frame"):
        DrawnCases(GRAMMARS["nsq"], 5, frames=["nothing"])


@pytest.mark.process
def test_another_process_draws_the_same_whatever_it_has_loaded() -> None:
    script = (
        "import {}; from fuzz_grammars import NSQ;"
        "from wireproof_kit.fuzz.generate.drawn_cases import DrawnCases;"
        "print([DrawnCases(NSQ, 3).case(index) for index in range(0, 900, 50)])"
    )
    path = os.pathsep.join(each for each in sys.path if each)
    told = {
        subprocess.run(
            [sys.executable, "-c", script.format(loaded)],
            env={"PYTHONPATH": path},
            capture_output=True,
            check=True,
        ).stdout
        for loaded in ("json", "wireproof_kit.nsq.cluster, wireproof_kit.oms.strategies")
    }

    assert len(told) == 1


def test_a_drawer_says_when_nothing_can_be_drawn() -> None:
    with pytest.raises(ValueError, match="nothing"):
        Drawer(st.integers().filter(lambda number: False)).draw(1)


@pytest.mark.slow
@PROTOCOLS
def test_frames_of_a_kind_shrink_to_simple_ones(protocol: str) -> None:
    grammar = GRAMMARS[protocol]
    name = {"nsq": "PUB_EXT", "iggy": "send_messages"}[protocol]

    found = find(frames(grammar, name), lambda frame: True, settings=SOME)

    assert found.kind == name
    assert len(found.data) < 80


@pytest.mark.slow
@PROTOCOLS
def test_cases_shrink_to_right_frames(protocol: str) -> None:
    found = find(cases(GRAMMARS[protocol]), lambda case: True, settings=SOME)

    assert found.mutation == GRAMMAR
    assert len(found.steps) == 1


@PROTOCOLS
@SOME
@given(data=st.data())
def test_many_cases_are_of_one_frame(protocol: str, data: st.DataObject) -> None:
    made = data.draw(many_cases(GRAMMARS[protocol]))

    assert len({case.frame_kind for case in made}) == 1
    assert len(made) == MANY


@PROTOCOLS
@SOME
@given(data=st.data())
def test_conversations_name_what_is_in_them(protocol: str, data: st.DataObject) -> None:
    case = data.draw(conversations(GRAMMARS[protocol]))

    assert case.frame_kind == CONVERSATION
    assert case.mutation in (IN_ORDER, OUT_OF_ORDER, BROKEN)
    kinds = {step.label.split(" ")[1] for step in case.steps}
    assert kinds <= {each.name for each in GRAMMARS[protocol].kinds if each.interface == "tcp"}


@pytest.mark.slow
@PROTOCOLS
def test_the_machine_holds_conversations_of_all_kinds(protocol: str) -> None:
    performed: list[Case] = []
    machine = conversation_machine(GRAMMARS[protocol], performed.append)

    run_state_machine_as_test(machine, settings=settings(SOME, max_examples=60))

    # of Iggy's requests only one is ever out of order
    due = {OUT_OF_ORDER, BROKEN} if protocol == "nsq" else {BROKEN}
    assert {case.mutation for case in performed} >= due
    assert {case.field for case in performed} >= {"1 connection", "2 connections"}
    assert len({case.state for case in performed}) > 1


def test_the_machine_shrinks_to_what_is_at_fault() -> None:
    """A broker that only minds a RDY where none is due is found with that alone."""
    last: list[Case] = []

    def perform(case: Case) -> None:
        last[:] = [case]
        assert not any(step.label.endswith("RDY out of order") for step in case.steps)

    few = tuple(kind for kind in GRAMMARS["nsq"].kinds if kind.name in ("NOP", "RDY"))
    identified = {"tcp": ("identified",)}
    machine = conversation_machine(replace(GRAMMARS["nsq"], kinds=few, states=identified), perform)
    phases = (Phase.generate, Phase.shrink)
    few_steps = settings(SOME, max_examples=50, stateful_step_count=6, phases=phases)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine, settings=few_steps)

    assert [step.label.partition(": ")[2] for step in last[0].steps] == ["RDY out of order"]


USER_TEST = """
from hypothesis import given, settings
from wireproof_kit.fuzz.generate.strategies import cases
from wireproof_kit.nsq.fuzz.grammar import grammar
from wireproof_kit.nsq.fuzz.names import Names

PROFILE = settings.default

@settings(max_examples=30)
@given(cases(grammar(Names("wp_ext", "wp_plain", "wp_channel")), frames=["PUB_EXT"]))
def test_mine(case):
    with open("seen.txt", "ab") as seen:
        seen.write(repr(case).encode() + b"\\n")
    assert PROFILE.derandomize is {derandomize}
    assert PROFILE.max_examples == {examples}
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("profile", "derandomize", "examples"), [("ci", True, 100), ("deep", False, 2000)]
)
def test_a_plain_user_of_pytest_has_both_profiles(
    tmp_path: Path, profile: str, examples: int, *, derandomize: bool
) -> None:
    (tmp_path / "conftest.py").write_text(
        "from pathlib import Path\n"
        "from wireproof_kit.fuzz.generate.strategies import register_profiles\n"
        "register_profiles(Path('kept'))\n"
    )
    text = USER_TEST.replace("{derandomize}", str(derandomize)).replace(
        "{examples}", str(examples)
    )
    (tmp_path / "test_mine.py").write_text(text)
    path = os.pathsep.join(each for each in sys.path if each)
    seen: list[bytes] = []
    for _ in range(2 if profile == "ci" else 1):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
                *("--hypothesis-profile", profile, "test_mine.py"),
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout.decode()
        seen.append((tmp_path / "seen.txt").read_bytes())
        (tmp_path / "seen.txt").unlink()

    assert len(set(seen)) == 1
    assert seen[0].count(b"\n") >= 20
    assert not (tmp_path / ".hypothesis" / "examples").exists()
