"""One bug has one finding and one name, without the state and what was mutated in vain."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from fuzz_grammars import NSQ
from test_fuzz_standstill import Standing

from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.case import GRAMMAR, Case, Step
from wireproof_kit.fuzz.driver import Choice, Trouble
from wireproof_kit.fuzz.generate.case_sources import make_generation
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.oracle.rules import CLOSED, DEAD, WRONG_ANSWER
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.generalize import from_the_start, general_forms
from wireproof_kit.fuzz.triage.triage import SHARE, Triage

MADE = Generator(NSQ, 7, frames=["PUB_EXT"], states=["subscribed"])


def mutated() -> Case:
    return next(each for each in MADE.cases() if each.mutation != GRAMMAR)


def anomaly(case: Case, violated: str = WRONG_ANSWER) -> Anomaly:
    return Anomaly(Trouble(violated, "wrong"), (case,), case, "OK")


class Generating(Standing):
    """A target whose cases are made from a grammar."""

    def __init__(self, shows: Callable[[Sequence[Case]], bool]) -> None:
        super().__init__(shows)
        self.batches.generation = MADE

    def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        found = super().probe(cases, violated)
        return anomaly(cases[-1], violated) if found is not None else None


def found_by(shows: Callable[[Sequence[Case]], bool], case: Case) -> tuple[Case, str]:
    target = Generating(shows)
    Triage(cast(Any, target)).follow(anomaly(case))
    (finding,) = target.findings.by_id.values()
    return finding.case, finding.id


def test_the_state_alone_and_the_valid_frame_are_the_general_forms() -> None:
    case = mutated()
    nothing, entered, right = general_forms(case, MADE)

    assert (nothing.frame_kind, nothing.field, nothing.state) == ("-", "-", "fresh")
    assert (entered.frame_kind, entered.field, entered.state) == ("-", "subscribed", "subscribed")
    assert b"".join(step.data for step in nothing.steps) == b""
    assert (right.frame_kind, right.mutation) == ("PUB_EXT", GRAMMAR)


def test_what_shows_with_nothing_sent_is_named_after_nothing() -> None:
    case, _ = found_by(lambda cases: True, mutated())

    assert case.frame_kind == NOTHING_SENT


def test_what_shows_with_the_valid_frame_is_named_after_the_frame() -> None:
    case, _ = found_by(lambda cases: cases[0].frame_kind == "PUB_EXT", mutated())

    assert (case.frame_kind, case.field, case.mutation) == ("PUB_EXT", "frame", GRAMMAR)


def test_a_case_that_needs_its_mutation_begins_at_the_start() -> None:
    whole = mutated()
    case, _ = found_by(lambda cases: cases[0].mutation == whole.mutation, whole)

    assert case.state == "fresh"
    assert len(case.steps) == len(MADE.enter("subscribed")) + len(whole.steps)
    assert from_the_start(case, MADE) is None


def test_states_do_not_change_the_name() -> None:
    named = set()
    for state in ("subscribed", "identified", "magic-sent"):
        made = Generator(NSQ, 7, frames=["PUB_EXT"], states=[state])
        case = next(each for each in made.cases() if each.field == "header_length")
        named.add(found_by(lambda cases: cases[0].field == "header_length", case)[1])

    assert len(named) == 1


def test_a_general_finding_is_counted_and_not_looked_for_again() -> None:
    target = Generating(lambda cases: True)
    triage = Triage(cast(Any, target))
    triage.follow(anomaly(mutated(), CLOSED))
    before = target.probes

    triage.follow(anomaly(Case(1, "fresh", "PUB", "size", "zero", (Step(b"x"),), True), CLOSED))

    assert target.probes == before
    assert [each.seen for each in target.findings.by_id.values()] == [2]


def test_known_bugs_do_not_eat_the_campaign() -> None:
    target = Generating(lambda cases: cases[0].field == "header_length")
    triage = Triage(cast(Any, target))
    first = next(each for each in MADE.cases() if each.field == "header_length")
    triage.follow(anomaly(first, DEAD))
    target.elapsed_s = 100.0
    triage.spent_s = SHARE * 100.0 + 1
    before = target.probes

    other = next(each for each in MADE.cases() if each.field == "body")
    triage.follow(anomaly(other, DEAD))

    assert target.probes == before
    assert [each.seen for each in target.findings.by_id.values()] == [2]


def test_excluded_frames_are_not_made() -> None:
    made = make_generation(NSQ, Choice(7, excluded=("PUB", "conversation")))
    kinds = {made.case(index).frame_kind for index in range(2000)}

    assert kinds
    assert not any(kind.startswith(("PUB", "conversation")) for kind in kinds)
    with pytest.raises(UsageFault, match="no frame's kind begins with 'NONE'"):
        make_generation(NSQ, Choice(7, excluded=("NONE",)))


@pytest.mark.parametrize("talks", [(), ("conversation",)])
@pytest.mark.parametrize(("frames", "states"), [((), ("http",)), (("PUB",), ("http",))])
def test_an_exclusion_that_leaves_nothing_is_refused_in_its_own_words(
    frames: tuple[str, ...], states: tuple[str, ...], talks: tuple[str, ...]
) -> None:
    http = tuple(kind.name for kind in NSQ.kinds if kind.interface == "http")
    kinds = tuple(kind.name for kind in NSQ.kinds)

    with pytest.raises(UsageFault, match="leave no frame that is sent in the state http"):
        make_generation(NSQ, Choice(7, frames, states, excluded=(*http, *talks)))
    with pytest.raises(UsageFault, match="--exclude-frames leaves no frame kind to send"):
        make_generation(NSQ, Choice(7, excluded=(*kinds, *talks)))
