"""Deaths that need a past, and deaths that no case explains."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from test_fuzz_standstill import CASES, Standing

from wireproof_kit.fuzz.campaign.target_history import Death, TargetHistory
from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import DEAD
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.deaths import finding_of_deaths
from wireproof_kit.fuzz.triage.past import PastSearch
from wireproof_kit.fuzz.triage.triage import PAST_TRIES, Triage
from wireproof_kit.wire.transcript import Transcript

DIED = Trouble(DEAD, "the target accepts no more connections")
KILLS = "cut inside it"


def case(index: int, mutation: str = "grammar", state: str = "fresh") -> Case:
    return Case(index, state, "PUB", "size", mutation, (Step(b"x"),), True)


def past(count: int, every: int) -> list[Case]:
    return [case(n, "grammar" if n % every else KILLS) for n in range(count)]


class Fresh:
    """A target that dies of so many cases since its start that are of the one kind."""

    def __init__(self, needed: int, *, takes_s: float = 0.0) -> None:
        self.needed = needed
        self.takes_s = takes_s
        self.probes: list[int] = []

    def probe_fresh(self, cases: Sequence[Case], wait_s: float) -> Anomaly | None:
        self.probes.append(len(cases))
        count = sum(each.mutation == KILLS for each in cases)
        is_dead = count >= self.needed and wait_s >= self.takes_s
        return Anomaly(DIED, () if self.takes_s else tuple(cases)) if is_dead else None

    def out_of_time(self) -> bool:
        return False


@pytest.mark.parametrize("needed", [1, 7, 60])
def test_one_kind_of_case_is_found_that_kills_when_it_is_repeated(needed: int) -> None:
    target = Fresh(needed)
    found = PastSearch(target).culprits(past(4000, 20))

    assert [each.mutation for each in found] == [KILLS] * needed
    assert len(target.probes) < 50


def test_a_past_that_needs_a_little_more_is_sent_twice() -> None:
    found = PastSearch(Fresh(60)).culprits(past(1000, 20))
    assert [each.mutation for each in found] == [KILLS] * 60


def test_a_past_that_does_not_kill_again_has_no_culprits() -> None:
    assert PastSearch(Fresh(300)).culprits(past(4000, 20)) == ()
    assert PastSearch(Fresh(1)).culprits([]) == ()


def test_a_death_that_needs_very_many_cases_is_not_explained_by_them() -> None:
    assert len(PastSearch(Fresh(256)).culprits(past(8000, 4))) == 256
    assert PastSearch(Fresh(300)).culprits(past(8000, 4)) == ()


def test_a_death_that_takes_its_time_is_waited_for() -> None:
    assert PastSearch(Fresh(9, takes_s=5.0), wait_s=4.0).culprits(past(600, 20)) == ()
    search = PastSearch(Fresh(9, takes_s=5.0), wait_s=6.0)
    assert len(search.culprits(past(600, 20))) == 9
    assert search.wait_s == 6.0


def test_a_death_that_comes_at_once_is_not_waited_for_again() -> None:
    search = PastSearch(Fresh(9), wait_s=6.0)
    assert search.culprits(past(600, 20))
    assert search.wait_s == 0.0


class Dying(Standing):
    """A target that dies of the tenth case since its start, whatever is in it."""

    def __init__(self, kills: Callable[[int], bool]) -> None:
        super().__init__(lambda cases: False)
        self.history.up_s = 1.0
        self.history.note_death([Anomaly(DIED, tuple(CASES))], 3.0, lambda: "")
        self.kills = kills
        self.sent = 0

    def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        self.sent += len(cases)
        return self._die(cases)

    def probe_fresh(self, cases: Sequence[Case], wait_s: float) -> Anomaly | None:
        self.sent = len(cases)
        return self._die(cases)

    def _die(self, cases: Sequence[Case]) -> Anomaly | None:
        if not self.kills(self.sent):
            return None
        self.sent = 0
        return Anomaly(DIED, tuple(cases), cases[-1])

    def recent_past(self) -> Sequence[Case]:
        return CASES


def test_a_case_that_completes_a_past_is_not_blamed_alone() -> None:
    target = Dying(lambda sent: sent >= 10)
    Triage(cast(Any, target)).follow(Anomaly(DIED, tuple(CASES)))

    (finding,) = target.findings.by_id.values()
    assert len(finding.cases) == 10
    assert finding.shown == finding.runs == 3
    assert "10 cases after its start" in finding.trouble.words
    assert not target.history.unattributed


def test_a_death_that_nothing_repeats_stays_without_a_case() -> None:
    target = Dying(lambda sent: False)
    triage = Triage(cast(Any, target))
    for _ in range(PAST_TRIES + 1):
        triage.follow(Anomaly(DIED, tuple(CASES)))

    assert not target.findings.by_id
    assert len(target.history.unattributed) == 1
    assert triage.past_failures == PAST_TRIES


def death(at_s: float, *suspects: Case) -> Death:
    return Death(at_s, 2.0 + at_s / 10, 500, suspects)


def test_several_deaths_without_a_case_are_one_confirmed_finding() -> None:
    held, other = case(1, state="closing-beating"), case(2, state="ordered")
    deaths = [death(10.0, held, other), death(30.0, held)]
    finding = finding_of_deaths(deaths, 7, Transcript())

    assert finding.is_confirmed
    assert (finding.shown, finding.runs) == (2, 2)
    assert finding.trouble.words == (
        "died 2 times (at 10, 30 s); not yet attributed; each 3 to 5 s and 500 cases after its "
        "start; open in all: PUB in closing-beating"
    )


def test_one_death_without_a_case_is_not_confirmed() -> None:
    finding = finding_of_deaths([death(10.0, case(1))], 7, Transcript())

    assert not finding.is_confirmed
    assert finding.id == finding_of_deaths([death(90.0, case(2))], 8, Transcript()).id


def test_the_past_ends_where_the_target_was_started_anew() -> None:
    history = TargetHistory()
    history.add(1, 256)
    history.note_death([Anomaly(DIED, tuple(CASES), likely=2)], 3.0, lambda: "")
    history.begin(has_data=False)
    history.add(4, 256)
    history.note_death([Anomaly(Trouble("answer", "wrong"), tuple(CASES))], 5.0, lambda: "")

    assert history.past == (1,)
    (seen,) = history.deaths
    assert seen.suspects == tuple(CASES[:2])
    assert seen.cases == 256
