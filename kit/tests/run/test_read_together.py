"""A case sees the same whether its other connections are read while it waits or not.

`make edges` compares all cases of both protocols that have connections; a sample is compared here.
"""

import os

import pytest
from test_run_cases import Told, ran

from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.request import RunRequest
from wireproof_kit.runner.run import REFERENCE, RunPlan
from wireproof_kit.wire.together import EarlyReader, Together

SAMPLE = {
    "nsq": ("nsq/dispatch/left", "nsq/dispatch/interleaved", "nsq/dispatch/not-to-other-tag"),
    "iggy": ("iggy/poll/stored-offset",),
}
IS_WHOLE = os.environ.get("WIREPROOF_TOGETHER") == "all"


def observe(protocol: str) -> dict[str, tuple[str, str]]:
    """Return observation and verdict of each case."""
    selection = () if IS_WHOLE else SAMPLE[protocol]
    plan = RunPlan(REFERENCE, protocol=protocol, selection=selection, seed=1)
    records = ran(RunRequest(plan), Told(), collect(protocol))
    return {case.case: (case.observation, case.verdict) for case in records.cases}


@pytest.mark.process
@pytest.mark.parametrize("protocol", ["nsq", "iggy"])
def test_a_case_sees_the_same_with_and_without(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = observe(protocol)

    def read_alone(_: Together, connection: EarlyReader) -> None:
        assert connection.sock

    monkeypatch.setattr(Together, "add", read_alone)
    alone = observe(protocol)
    assert len(together) > 2
    assert together == alone
