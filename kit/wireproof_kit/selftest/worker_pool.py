"""A crew that shares out trials among several processes, led by a foreman of their own kind."""

import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress

import msgspec

from wireproof_kit.selftest.plan import Shown, Trial

END_WITHIN_S = 20.0
GONE = "the process that shares out the trials ended with code {code}"


class Crew:
    """Rehearses trials in several processes at a time."""

    def __init__(self, protocol: str, size: int) -> None:
        self._protocol = protocol
        self._size = size

    def rehearse(self, trials: Sequence[Trial]) -> Generator[Shown, None, None]:
        """Give what each trial showed as it comes; leaving early ends the processes.

        A trial whose process ends or hangs is in trouble, and says so.
        """
        left = {trial.name: trial for trial in trials}
        foreman = self._hire()
        assert foreman.stdin is not None, "it is a pipe"
        assert foreman.stdout is not None, "it is a pipe"
        try:
            foreman.stdin.write(msgspec.json.encode(list(trials)) + b"\n")
            foreman.stdin.flush()
            for line in foreman.stdout:
                shown = msgspec.json.decode(line, type=Shown)
                left.pop(shown.trial.name, None)
                yield shown
            code = foreman.wait(END_WITHIN_S)
            yield from (Shown(trial, trouble=GONE.format(code=code)) for trial in left.values())
        finally:
            _dismiss(foreman)

    def _hire(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "wireproof_kit.selftest.worker",
                self._protocol,
                str(self._size),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )


def _dismiss(foreman: subprocess.Popen[bytes]) -> None:
    """End it: its stdin's end makes it end whoever works, and they their references."""
    for pipe in (foreman.stdin, foreman.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    try:
        foreman.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        foreman.kill()
        foreman.wait(END_WITHIN_S)
