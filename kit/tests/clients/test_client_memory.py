"""The kit's memory is bounded, whatever a client sends to it or writes."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.long]

FLOOD = Path(__file__).parents[1] / "support" / "flooding_client.py"
MOST_MIB = 200
CASES = ("nsq/client-connection/handshake", "nsq/client-consume/id/zero")
"""Cases in which both kinds of client flood until the case ends; others add nothing but time.

Neither client ever finishes a message, so the second case ends by the flood alone."""
# The process tells its own peak: that which its parent is told may be its parent's.
COMMAND = """
import sys
from wireproof.main import main
code = main(sys.argv[1:])
(peak,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM:")]
print(code, int(peak.split()[1]) >> 10)
"""


@pytest.mark.parametrize("how", ["node", "driver"])
def test_a_client_that_floods_leaves_the_kit_below_200_mib(how: str, tmp_path: Path) -> None:
    client = f"{sys.executable} {FLOOD} {how}"
    words = ["client", "--exec", client, *CASES, "--bundle", "run.jsonl"]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    told = done.stdout.splitlines()[-1].split()
    assert told[0] in ("1", "3"), done.stderr
    assert int(told[1]) < MOST_MIB
    assert "flood" in (tmp_path / "run.jsonl").read_text()
