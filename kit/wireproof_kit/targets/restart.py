"""Restarts a crashed target with the user's command."""

import subprocess
from collections.abc import Callable

from wireproof_kit.drivers.child import split_command

RESTART_WITHIN_S = 60.0


def restart_with(command: str) -> Callable[[], bool]:
    """Return a function that runs a restart command and returns True if it succeeded.

    The command must return once the target is being started (a service manager, a script that
    starts it in the background); the session checks that it accepts connections again.

    Raises:
        UsageFault: the command is empty, or a quote in it is not closed.
    """
    words = split_command(command, "--restart")

    def restart() -> bool:
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=RESTART_WITHIN_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0

    return restart
