"""The kit's own exclusions: in order, none overdue, and named by the run that leaves them out."""

from datetime import date

import pytest

from wireproof_kit.runner import run
from wireproof_kit.runner.exclusions import Exclusion, read_exclusions
from wireproof_kit.runner.run import Choice, Run, RunPlan
from wireproof_kit.targets.embedded import start_reference

pytestmark = pytest.mark.process


def test_no_exclusion_is_past_its_date() -> None:
    assert [entry.id for entry in read_exclusions() if entry.until < date.today()] == []


def test_a_run_names_what_the_kit_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Exclusion("nsq/publish/accept", "read too narrowly", date(2099, 1, 31))
    monkeypatch.setattr(run, "read_exclusions", lambda: (wrong,))
    reference = start_reference("nsq")
    try:
        opened = Run.open(RunPlan(url=reference.url))
        header = opened.header(Choice((), (), (), {"ext.disk": "give --data"}))
        opened.close()
    finally:
        reference.close()
    assert header.not_selected["ext.disk"] == "give --data"
    assert "read too narrowly" in header.not_selected["nsq/publish/accept"]
    assert "2099-01-31" in header.not_selected["nsq/publish/accept"]
