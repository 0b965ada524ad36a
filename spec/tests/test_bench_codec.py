"""The bench runs, finds that all its ways do the same, and says whether its goals are kept."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("script", "told", "times"),
    [
        ("spec/bench/bench_codec.py", "generated / by hand:", 4),
        ("kit/bench/bench_queue.py", "goal 100 MB/s:", 2),
        ("spec/bench/bench_shapes.py", "times as long", 20),
    ],
)
def test_the_bench_tells_of_every_size_and_of_its_goals(
    script: str, told: str, times: int
) -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / script), "--rounds", "1"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stderr == ""
    assert run.stdout.count(told) == times
    assert run.returncode == (1 if "MISSED" in run.stdout else 0)
