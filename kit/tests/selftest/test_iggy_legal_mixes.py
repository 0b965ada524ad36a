"""Iggy servers with several legal differences at once meet every case, and none fails.

In a file of its own: one of these trials takes as long as all faults of the sample.
"""

import pytest
from test_iggy_fault_matrix import WHOLE, Trials, fork_server, judge, trials

from wireproof_kit.processes.forked_broker import BrokerForkServer

__all__ = ["fork_server", "trials"]

pytestmark = [pytest.mark.long, pytest.mark.process]


def test_what_is_legal_together_lives(
    trials: Trials, fork_server: BrokerForkServer, subtests: pytest.Subtests
) -> None:
    judge([trial for trial in trials.few if trial.kind in WHOLE], fork_server, subtests)
