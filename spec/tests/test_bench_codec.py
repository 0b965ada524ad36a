"""The bench runs, finds that all its ways do the same, and says whether its goals are kept."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.mark.parametrize(
    ("script", "told"),
    [("bench_codec.py", "generated / by hand:"), ("bench_queue.py", "goal 100 MB/s:")],
)
def test_the_bench_tells_of_every_size_and_of_its_goals(script: str, told: str) -> None:
    run = subprocess.run(
        [sys.executable, str(BENCH / script), "--rounds", "1"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert run.stderr == ""
    assert run.stdout.count(told) == (4 if script == "bench_codec.py" else 2)
    assert run.returncode == (1 if "MISSED" in run.stdout else 0)
