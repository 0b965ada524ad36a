"""What programs leave running is told; what has ended, or is to stay, is not."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process
ADOPTER = """
import os, subprocess, sys
from wireproof_kit.processes.watch import KEPT, adopt_orphans, list_orphans
adopt_orphans()
done = subprocess.Popen(
    ["setsid", "sh", "-c", sys.argv[1] + " & echo $!"],
    stdout=subprocess.PIPE, env={**os.environ, **({KEPT: "1"} if sys.argv[2:] else {})},
)
pid = int(done.stdout.readline())
done.wait()
if "sleep" not in sys.argv[1]:
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked how
print(len(list_orphans({done.pid})))
os.kill(pid, 9)
"""


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["exec sleep 600 >&2"], "1"),
        (["exec sleep 600 >&2", "kept"], "0"),
        (["exec true >&2"], "0"),
        (["exec true >&2", "kept"], "0"),
    ],
    ids=["runs", "is to stay", "has ended", "was to stay and has ended"],
)
def test_only_what_runs_and_is_not_to_stay_is_left_behind(arguments: list[str], left: str) -> None:
    words = [sys.executable, "-c", ADOPTER, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == left
