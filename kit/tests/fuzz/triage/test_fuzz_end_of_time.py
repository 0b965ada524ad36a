"""The end of a campaign's time: what was cut, what is kept back, and a target that is dead."""

import socket
from typing import Any, cast

import pytest
from ports import find_free_port
from test_fuzz_standstill import CASES, Standing, anomaly

from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.program_campaign import ProgramCampaign
from wireproof_kit.fuzz.campaign.progress import SilentListener
from wireproof_kit.fuzz.campaign.target import AddressTarget
from wireproof_kit.fuzz.campaign.worker_campaign import MOST_REPEATS_S
from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.driver import Choice, FuzzSessionOptions, Trouble
from wireproof_kit.fuzz.oracle.rules import CLOSED
from wireproof_kit.fuzz.triage.anomaly import Anomaly, tell_death
from wireproof_kit.fuzz.triage.consequences import NO_TIME
from wireproof_kit.fuzz.triage.triage import Triage
from wireproof_kit.protocols import read_target


class Oracle:
    """Sends every case to one address."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    def address(self, case: Case) -> tuple[str, int]:
        return self._address


CASE = Case(1, "identified", "PUB", "size", "zero", (Step(b"PUB x 0\n"),), True)


@pytest.mark.parametrize("is_there", [True, False])
def test_of_a_dead_target_one_death_is_told(is_there: bool) -> None:
    found = [Anomaly(Trouble("closed", "it closed"), (CASE,), CASE) for _ in range(9)]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        oracle = Oracle(listening.getsockname())
        if not is_there:
            listening.close()
        told = tell_death(found, oracle)  # type: ignore[arg-type]  # only the address is asked

    assert [each.trouble.violated for each in told] == (["closed"] * 9 if is_there else ["dead"])
    assert not tell_death([], oracle)  # type: ignore[arg-type]  # as above


def test_an_anomaly_that_there_was_no_time_to_repeat_says_so() -> None:
    cut = Standing(lambda cases: True, most_probes=-1)
    Triage(cast(Any, cut)).follow_all([anomaly(CASES[0], CLOSED)], lambda: False)
    (finding,) = cut.findings.by_id.values()
    assert (finding.shown, finding.unconfirmed) == (0, NO_TIME)

    tried = Standing(lambda cases: False)
    Triage(cast(Any, tried)).follow_all([anomaly(CASES[0], CLOSED)], lambda: False)
    (finding,) = tried.findings.by_id.values()
    assert (finding.shown, finding.unconfirmed) == (0, "")


def test_time_for_repeats_is_kept_back_at_the_end() -> None:
    for time_s, kept_s in ((20.0, 2.0), (600.0, MOST_REPEATS_S)):
        campaign = ProgramCampaign(
            plan=WorkerPlan(Choice(1), time_s=time_s),
            listener=SilentListener(),
            open_session=lambda _: None,
        )
        campaign._start_clock()
        assert campaign._ends_at - campaign._sends_until == pytest.approx(kept_s)
        assert not campaign.is_sent()
        campaign._sends_until = 0.0
        assert campaign.is_sent()
        assert not campaign.is_over()


@pytest.mark.parametrize("is_dead", [True, False])
def test_a_target_that_can_be_restarted_is_alive_at_the_end(is_dead: bool) -> None:
    port = find_free_port()
    with socket.create_server(("127.0.0.1", port)) as listening:
        if is_dead:
            listening.close()
        restarts: list[socket.socket] = []

        def restart() -> bool:
            restarts.append(socket.create_server(("127.0.0.1", port)))
            return True

        target = read_target(f"nsq://127.0.0.1:{port}")
        for command in (None, restart):
            AddressTarget(target, FuzzSessionOptions("t"), command).leave_alive()
        assert len(restarts) == is_dead
        for each in restarts:
            each.close()


def test_what_the_last_cases_raise_is_repeated_though_all_are_sent() -> None:
    """A campaign of so many cases has no end of time."""
    campaign = ProgramCampaign(
        plan=WorkerPlan(Choice(1), cases=256),
        listener=SilentListener(),
        open_session=lambda _: None,
    )
    campaign._start_clock()
    campaign.batch = 1

    assert campaign.is_sent()
    assert not campaign.is_over()
