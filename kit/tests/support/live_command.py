"""A command of wireproof that is met at a moment of its work, as a signal or a death meets it."""

import re
import subprocess
import sys
from collections.abc import Callable

from cli_process import clean_environment


def run_until(
    command: tuple[str, ...], shown: re.Pattern[str], count: int, act: Callable[[int], None]
) -> tuple[int, str]:
    """Start a command in a session of its own, and act when it has shown so many lines.

    ``act`` is told the process id. Return the exit code and what was written from then on.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "wireproof", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(),
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        seen = 0
        for line in process.stdout:
            seen += bool(shown.match(line))
            if seen == count:
                break
        assert seen == count, f"only {seen} lines were shown"
        act(process.pid)
        out, _ = process.communicate()
        assert "Traceback" not in out
        return process.returncode, out
