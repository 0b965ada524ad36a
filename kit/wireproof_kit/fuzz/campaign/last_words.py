"""The last words of a target: what it wrote before it died, from its log or from a command."""

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, TypeAlias

from wireproof_kit.drivers.child import split_command
from wireproof_kit.errors import UsageFault

MOST_BYTES: Final = 65_536
MOST_LINES: Final = 12
LONGEST_LINE: Final = 200
COMES_WITHIN_S: Final = 1.0
"""Seconds that the log command may take to pass on what the target wrote."""
WRITTEN_WITHIN_S: Final = 0.3
"""Seconds that a target may go on writing to its log once it accepts no more connections."""
POLL_S: Final = 0.05
ENDS_WITHIN_S: Final = 5.0

_REASON = re.compile(r"panic|fatal|exception|traceback|assert|segmentation|sigsegv|signal", re.I)
_BEGINS = re.compile(r"panic: |fatal error: |Traceback \(most recent|thread '.*' panicked")
"""How the report of a death begins; what was logged before may quote such words of cases."""

LastWords: TypeAlias = Callable[[], str]
"""Returns the lines that the target logged since the last call that say why it died."""


@dataclass(slots=True)
class LogReader:
    """Reads what is appended to a file; a file that became shorter is read from its start."""

    path: Path
    wait_s: float = 0.0
    _at: int = field(init=False)

    def __post_init__(self) -> None:
        self._at = self._size()

    def read_new(self) -> str:
        """Return the few lines appended since the last call that say why the target died."""
        deadline = time.monotonic() + self.wait_s
        while self._size() == self._at and time.monotonic() < deadline:
            time.sleep(POLL_S)
        size = self._size()
        start = max(self._at if size >= self._at else 0, size - MOST_BYTES)
        self._at = size
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                data = file.read(size - start)
        except OSError:
            return ""
        return quote_last_words(data.decode(errors="replace"))

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0


def quote_last_words(text: str) -> str:
    """Return a few lines of a log: from the one that gives the reason on, else the last ones."""
    lines = [line[:LONGEST_LINE] for line in text.splitlines() if line.strip()]
    numbered = list(enumerate(lines))
    reason = next((at for at, line in reversed(numbered) if _BEGINS.match(line)), None)
    if reason is None:
        reason = next((at for at, line in numbered if _REASON.search(line)), None)
    start = max(len(lines) - MOST_LINES, 0) if reason is None else reason
    return "\n".join(lines[start : start + MOST_LINES])


def check_log(path: Path) -> None:
    """Raise UsageFault if a log cannot be read."""
    try:
        path.open("rb").close()
    except OSError as error:
        words = f"--log {path}: expected a file that can be read, found {error.strerror}"
        raise UsageFault(words) from error


@contextmanager
def read_last_words(log: Path | None, command: str | None) -> Generator[LastWords]:
    """Follow a log file, or the output of a command while the block runs; without both, nothing.

    Yield the function that returns the newest lines that say why the target died.

    Raises:
        UsageFault: the command cannot be started.
    """
    if log is not None:
        yield LogReader(log, WRITTEN_WITHIN_S).read_new
    elif command is not None:
        with (
            tempfile.NamedTemporaryFile(prefix="wireproof-log-") as file,
            _started(command, file),
        ):
            yield LogReader(Path(file.name), COMES_WITHIN_S).read_new
    else:
        yield lambda: ""


@contextmanager
def _started(command: str, output: IO[bytes]) -> Generator[None]:
    words = split_command(command, "--log-command")
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    except (OSError, ValueError) as error:
        told = f"--log-command {command!r}: expected a command that starts, found {error}"
        raise UsageFault(told) from error
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
