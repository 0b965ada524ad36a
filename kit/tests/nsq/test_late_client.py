"""What a case saw is undecided where this machine kept the kit itself from answering in time."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import cast

import pytest

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_suites.nsq.connection import test_connection as cases


class Closed:
    """A connection that the broker has closed after as many heartbeats as the case waits for."""

    heartbeats = cases.ENOUGH_HEARTBEATS
    has_ended = True

    def receive_within(self, seconds: float) -> None:
        """Take as long as the clock says."""

    def seconds(self, kind: object) -> float:
        return 1.0

    def goes_on(self, topic: Topic) -> str:
        return "closed"

    @contextmanager
    def connect(self, **options: object) -> Iterator["Closed"]:
        yield self


@pytest.mark.parametrize(("pause_s", "is_late"), [(0.2, False), (1.5, True)])
def test_a_client_that_answered_heartbeats_late_accuses_nobody(
    pause_s: float, is_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([10.0, 10.0 + pause_s])
    monkeypatch.setattr(cases, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(cases, "until", lambda look, *, seconds: look())
    seen = cases.test_answered_heartbeats(cast(Broker, Closed()), cast(Topic, None))
    assert seen.value == "heartbeats,closed"
    assert (seen.overdue, seen.starved) == (is_late, is_late)
