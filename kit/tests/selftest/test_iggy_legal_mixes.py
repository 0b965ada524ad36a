"""Iggy servers with several legal differences at once meet every case, and none fails.

In a file of its own: one of these trials takes as long as all faults of the sample.
"""

import pytest
from test_iggy_fault_matrix import FEW, WHOLE, fork_server, judge, name

from wireproof_kit.processes.forked_broker import BrokerForkServer
from wireproof_kit.selftest.plan import Trial

__all__ = ["fork_server"]

pytestmark = [pytest.mark.long, pytest.mark.process]


@pytest.mark.parametrize("trial", [trial for trial in FEW if trial.kind in WHOLE], ids=name)
def test_what_is_legal_together_lives(
    trial: Trial,
    fork_server: BrokerForkServer,
) -> None:
    judge(trial, fork_server)
