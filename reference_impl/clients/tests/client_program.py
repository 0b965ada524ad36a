"""A client as a program of its own: what it said so far, waited for with a deadline."""

import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from waits import LIMIT_S, POLL_S, Stopwatch


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One line of a client; integers that may need 64 bits are strings on the wire."""

    event: str
    body: str = ""
    key: str = ""
    error: str = ""
    answer: str = ""
    id: int = -1
    trace: int = -1
    offset: int = -1
    size: int = -1
    partition: str = ""
    node: str = ""
    attempts: int = 0
    timestamp: int = 0
    header_version: int = 0
    header: str = ""
    received: int = -1
    finished: int = -1
    requeued: int = -1
    heartbeats: int = -1


class ClientProgram:
    """A running client; it ends when its standard input is closed, or by itself."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        self._changed = threading.Condition()
        self._said: list[Said] = []
        self._ended = False
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reading.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    @property
    def log(self) -> str:
        """Return what the client library logged."""
        return self._log.read_text(errors="replace")

    def said(self, event: str) -> list[Said]:
        """Return every line of a kind so far."""
        with self._changed:
            return [each for each in self._said if each.event == event]

    def wait(self, enough: Callable[[], bool], what: object) -> None:
        """Wait until something holds of what was said; the program may be over by then.

        `what` is asked for its text only when the wait was in vain.
        """
        watch = Stopwatch()
        with self._changed:
            while not enough():
                assert watch.seconds() < LIMIT_S, f"no {what} in time\n{self._story()}"
                assert not self._ended, f"ended before {what}\n{self._story()}"
                self._changed.wait(POLL_S)

    def finish(self) -> None:
        """Let the client end in its own way, and take nothing but success."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        code = self._process.wait()
        self._reading.join()
        assert code == 0, f"exit code {code}\n{self._story()}"

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        for text in stream:
            line = msgspec.json.decode(text, type=Said, strict=False)
            with self._changed:
                self._said.append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _story(self) -> str:
        last = "\n".join(str(each) for each in self._said[-5:])
        return f"{len(self._said)} lines, the last:\n{last}\nlog:\n{self.log[-3000:]}"
