"""The exchange of a finding: it shows what the finding says, or says that it does not."""

import itertools

import pytest

from wireproof_kit.fuzz.campaign.exchanges import (
    NOT_SHOWN,
    RECORDINGS,
    planned_exchange,
    record_until_shown,
)
from wireproof_kit.fuzz.case import CROWD, RESTART, Case, Step
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.step_notes import EXERCISE, RESTARTED


@pytest.mark.parametrize("showing", [1, RECORDINGS, RECORDINGS + 1])
def test_cases_are_sent_until_their_exchange_shows_the_finding(showing: int) -> None:
    runs = itertools.count(1)

    def record() -> tuple[Transcript, set[str]]:
        run, transcript = next(runs), Transcript()
        transcript.add("send", "A", data=b"%d" % run)
        return transcript, {"no-answer"} if run == showing else set()

    shown = record_until_shown(record, wanted="no-answer", is_over=lambda: False)

    first, *more = shown.steps()
    assert first.data == b"%d" % min(showing, RECORDINGS)
    assert [each.note for each in more] == [NOT_SHOWN] * (showing > RECORDINGS)


def test_what_sends_nothing_is_noted() -> None:
    bare = Case(0, "fresh", "-", CROWD, "-", (Step(b""),), delimited=False)
    restart = Case(0, "fresh", "-", RESTART, "-", (Step(b""),), delimited=False)

    planned = planned_exchange([bare, restart], lambda _: (Step(b"  V2"),))

    assert [(each.kind, each.note) for each in planned.steps()] == [
        ("note", EXERCISE + CROWD),
        ("note", RESTARTED),
    ]
