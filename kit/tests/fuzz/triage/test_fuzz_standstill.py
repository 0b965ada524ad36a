"""A machine that stands still for longer than patience: all of a batch is silent, once."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wireproof_kit.fuzz.campaign.blocklist import Blocklist
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.target_history import TargetHistory
from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.driver import Choice, Trouble
from wireproof_kit.fuzz.oracle.rules import CLOSED, NO_ANSWER, NOT_CLOSED
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.findings import Findings
from wireproof_kit.fuzz.triage.minimize import FEWER_TIMES
from wireproof_kit.fuzz.triage.triage import Triage
from wireproof_kit.wire.transcript import Transcript

Shows = Callable[[Sequence[Case]], bool]

CASES = tuple(Case(n, "fresh", f"K{n}", "body", "m", (Step(b"%d" % n),), True) for n in range(40))


def anomaly(case: Case, violated: str = NO_ANSWER) -> Anomaly:
    return Anomaly(Trouble(violated, "nothing came"), CASES, case, "nothing")


SILENCES = [anomaly(case, (NO_ANSWER, NOT_CLOSED)[case.index % 2]) for case in CASES[:30]]


class Standing:
    """A target of which only those cases show something again that are said to."""

    def __init__(self, shows: Shows, *, most_probes: int | None = None) -> None:
        self.findings = Findings(1, report=lambda finding: None)
        self.batches = SimpleNamespace(generation=None, blocklist=Blocklist())
        self.plan = WorkerPlan(Choice(1), shrink=False)
        self.died = False
        self.side_deaths: list[Anomaly] = []
        self.history = TargetHistory()
        self.elapsed_s = self.left_s = 5.0
        self.revival_s = 0.0
        self.probes = 0
        self.most_probes = most_probes
        self._shows = shows

    def is_over(self) -> bool:
        """Let so many probes be made, and then there is no more time."""
        return self.most_probes is not None and self.probes > self.most_probes

    def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        self.probes += 1
        return anomaly(cases[-1], violated) if self._shows(cases) else None

    def exercise_overdue(self) -> None:
        """Do nothing."""

    def heal(self, found: Sequence[Anomaly]) -> bool:
        return True

    def recent_past(self) -> Sequence[Case]:
        return ()

    def plan_exchange(self, cases: Sequence[Case]) -> Transcript:
        return Transcript()

    def record_exchange(self, cases: Sequence[Case], violated: str) -> Transcript:
        return Transcript()


def followed(target_state: Standing, found: Sequence[Anomaly]) -> None:
    Triage(cast(Any, target_state)).follow_all(found, lambda: False)


def test_nobody_asks_for_each_what_the_batch_does_not_show_again() -> None:
    target_state = Standing(lambda cases: False)

    followed(target_state, SILENCES)

    assert target_state.probes == 2, "the first case alone, and the batch"
    assert target_state.findings.not_again == 30
    assert not target_state.findings.by_id


def test_a_case_that_the_batch_shows_again_is_found_among_them() -> None:
    target_state = Standing(lambda cases: CASES[7] in cases)

    followed(target_state, SILENCES)

    found = {finding.cases for finding in target_state.findings.by_id.values()}
    assert found == {(CASES[7],)}


def test_what_is_no_silence_is_asked_for_all_the_same() -> None:
    target_state = Standing(lambda cases: list(cases) == [CASES[9]])

    followed(target_state, [*SILENCES[:3], anomaly(CASES[9], CLOSED)])

    found = [finding.cases for finding in target_state.findings.by_id.values()]
    assert found == [(CASES[9],)]


@pytest.mark.parametrize(("violated", "confirmed"), [(NO_ANSWER, False), (CLOSED, True)])
def test_a_silence_is_not_confirmed_by_the_run_that_found_it(
    violated: str, confirmed: bool
) -> None:
    target_state = Standing(lambda cases: True, most_probes=1)
    target_state.probes = 1

    Triage(cast(Any, target_state)).follow(anomaly(CASES[3], violated))

    found = list(target_state.findings.by_id.values())
    assert [each.is_confirmed for each in found] == [confirmed]


@pytest.mark.parametrize(("count", "confirmed"), [(40, False), (8, True)])
def test_what_many_cases_miss_together_needs_all_repeats(count: int, confirmed: bool) -> None:
    found = Anomaly(Trouble(NO_ANSWER, "nothing came"), CASES[:count], CASES[3], "nothing")
    in_time = Standing(lambda cases: len(cases) == count)
    Triage(cast(Any, in_time)).follow(found)
    (finding,) = in_time.findings.by_id.values()
    assert finding.is_confirmed, "all repeats were made"

    cut_short = Standing(lambda cases: len(cases) == count, most_probes=in_time.probes - 3)
    Triage(cast(Any, cut_short)).follow(found)
    assert [each.is_confirmed for each in cut_short.findings.by_id.values()] == [True] * confirmed
    assert cut_short.findings.not_again == (not confirmed)


def test_what_many_cases_miss_in_two_of_three_repeats_is_no_finding() -> None:
    """A right broker behind TLS was late so often for 192 cases at once, on a busy machine."""
    found = Anomaly(Trouble(NO_ANSWER, "nothing came"), CASES, None, "nothing")
    seen = list[int]()

    def shows(cases: Sequence[Case]) -> bool:
        seen.append(len(cases))
        return len(cases) == len(CASES) and seen.count(len(CASES)) != FEWER_TIMES + 1

    target_state = Standing(shows)
    Triage(cast(Any, target_state)).follow(found)

    assert seen.count(len(CASES)) == FEWER_TIMES + 1
    assert not target_state.findings.by_id
    assert target_state.findings.not_again == 1
