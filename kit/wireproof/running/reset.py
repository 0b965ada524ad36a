"""The user's own command that brings a target into a known state before a run."""

import os
import shlex
import subprocess

from wireproof_kit.errors import UsageFault
from wireproof_kit.processes.watch import KEPT

WITHIN_S = 120.0


def run_reset(command: str) -> None:
    """Run the user's reset command, which prepares the target, and wait for its end.

    Raises:
        UsageFault: the command cannot be started, fails, or takes too long.
    """
    try:
        done = subprocess.run(
            shlex.split(command),
            env={**os.environ, KEPT: "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageFault(f"[target] reset {command!r} took longer than {WITHIN_S:g} s") from error
    except (OSError, ValueError) as error:
        raise UsageFault(f"[target] reset {command!r} cannot be started: {error}") from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        said = f": {last[0]}" if last else ""
        raise UsageFault(f"[target] reset {command!r} failed with {done.returncode}{said}")
