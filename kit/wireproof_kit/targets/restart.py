"""Restarts a crashed target with the user's command."""

import contextlib
import os
import subprocess
from collections.abc import Callable

from wireproof_kit.drivers.child import split_command
from wireproof_kit.errors import RestartFailed, is_exhausted
from wireproof_kit.processes.watch import KEPT
from wireproof_kit.wire.waiting import until

RESTART_WITHIN_S = 60.0
EXHAUSTED_S = 10.0


def restart_with(command: str) -> Callable[[], bool]:
    """Return a function that runs a restart command and returns True if it succeeded.

    The command must return once the target is being started (a service manager, a script that
    starts it in the background). Whoever calls it waits until the target answers.

    Raises:
        UsageFault: the command is empty, or a quote in it is not closed.
    """
    restart = restart_or_raise(command)

    def run() -> bool:
        with contextlib.suppress(RestartFailed):
            return restart()
        return False

    return run


def restart_or_raise(command: str) -> Callable[[], bool]:
    """Return a function that runs a restart command, and raises `RestartFailed` if it fails.

    Raises:
        UsageFault: the command is empty, or a quote in it is not closed.
    """
    words = split_command(command, "--restart")

    def run() -> bool:
        why = until(lambda: _run(words), seconds=EXHAUSTED_S)
        if why is None:
            why = "cannot be started: the kit has used up what a process needs"
        if why:
            raise RestartFailed(f"--restart {command!r}: the target died, and the command {why}")
        return True

    return run


def _run(words: list[str]) -> str | None:
    """Run a command; return why it failed, or nothing; None if no process can be started now.

    Cases that end meanwhile set files and processes free.
    """
    try:
        done = subprocess.run(
            words,
            env={**os.environ, KEPT: "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=RESTART_WITHIN_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {RESTART_WITHIN_S:g} s; it must start the target and return"
    except OSError as error:
        return None if is_exhausted(error) else f"cannot be started ({error.strerror})"
    return f"ended with exit code {done.returncode}" if done.returncode else ""
