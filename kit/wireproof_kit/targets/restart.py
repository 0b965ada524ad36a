"""Restarts a crashed target with the user's command."""

import subprocess
from collections.abc import Callable

from wireproof_kit.drivers.child import split_command
from wireproof_kit.errors import is_exhausted
from wireproof_kit.wire.waiting import until

RESTART_WITHIN_S = 60.0
EXHAUSTED_S = 10.0


def restart_with(command: str) -> Callable[[], bool]:
    """Return a function that runs a restart command and returns True if it succeeded.

    The command must return once the target is being started (a service manager, a script that
    starts it in the background); the session checks that it accepts connections again.

    Raises:
        UsageFault: the command is empty, or a quote in it is not closed.
    """
    words = split_command(command, "--restart")

    return lambda: until(lambda: _run(words), seconds=EXHAUSTED_S) is True


def _run(words: list[str]) -> bool | None:
    """Run a command and return True if it succeeded; None if no process can be started now.

    Cases that end meanwhile set files and processes free.
    """
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=RESTART_WITHIN_S,
            check=False,
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    except OSError as error:
        return None if is_exhausted(error) else False
