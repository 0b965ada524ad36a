"""What a run that was stopped at once says of its bundle."""

from pathlib import Path

from small_law import header

from wireproof.running.interruption import BEFORE_FIRST, Interruption


def test_a_run_that_was_stopped_at_once_names_what_it_left() -> None:
    interruption, bundle = Interruption(), Path("out/run.jsonl")
    assert interruption.describe_stop(bundle) == BEFORE_FIRST

    interruption.begin(header(), selected=1)

    told = interruption.describe_stop(bundle)
    assert "out/run.jsonl has the cases judged so far" in told
    assert "`wireproof judge out/run.jsonl --bundle FILE`" in told
