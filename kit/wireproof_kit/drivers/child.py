"""A program in a process group of its own: started, written to, read from, and ended whole.

Whoever starts a program for the kit may start others in turn (a shell, a JVM launcher, `go run`),
so that ending one process is not enough. The group is signalled while its first process is not
yet waited for: only so is its number certain to be nobody else's. What leaves the group, as
`setsid` does, is recognised by a variable that it inherited, where the system has `/proc`. What
gave that up, too, is left to the kit's process, where it is the whole command's and Linux is below
it, and ended once no program runs that may need it.
macOS has `waitid` since Python 3.13. Before, a program that is seen to have ended is waited for at
once, and what it leaves running in its group is not ended with it.
"""

import contextlib
import os
import secrets
import selectors
import shlex
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Literal, TypeAlias, cast

from wireproof_kit.drivers.output import Kept
from wireproof_kit.drivers.processor import HELPERS
from wireproof_kit.errors import TargetUnreachable, UsageFault, refuse_exhausted
from wireproof_kit.processes.watch import (
    STARTS,
    adopt_as_parent_did,
    kill_marked,
    kill_orphans,
    start_tick,
)

Stream: TypeAlias = Literal["stdout", "stderr"]
Sink: TypeAlias = Callable[[Stream, bytes], None]
"""Called with what the program writes, in a thread of its own; b"" is the end of a stream."""

MARK = "WIREPROOF_STARTED"
"""A variable in the program's environment with a value of its own, by which the kit knows those
that it started."""
END_WITHIN_S = 2.0
READ_WITHIN_S = 0.25
"""Seconds for reading what an ended program wrote; programs it started may keep the streams."""
WRITE_WITHIN_S = 10.0
CHUNK = 1 << 16
_RUNNING: "weakref.WeakSet[Child]" = weakref.WeakSet()
_LOCK = threading.Lock()
"""Held while the running programs are listed or change; several threads start and end them."""


class Child:
    """A running program that the kit has started; its methods are thread-safe."""

    def __init__(
        self, command: str, process: subprocess.Popen[bytes], sink: Sink, mark: str
    ) -> None:
        self.command = command
        self._first: int
        """When the first of the programs began that have run without a pause until now."""
        self._mark = mark
        self.kept: Mapping[Stream, Kept] = {"stdout": Kept(), "stderr": Kept()}
        self._process = process
        self._sink = sink
        self._lock = threading.Lock()
        self._stop_read, self._stop_write = os.pipe()
        self._reader = threading.Thread(target=self._read_all, daemon=True, name="child-output")
        os.set_blocking(_pipe(process.stdin).fileno(), False)
        self._reader.start()
        # Only after the start: end_all joins the reader, and to join a thread that has not started
        # raises RuntimeError.
        with _LOCK:
            self._first = next((each._first for each in _RUNNING), start_tick(process.pid))
            _RUNNING.add(self)
        HELPERS.add(process.pid)

    @property
    def pid(self) -> int:
        """The id of the program's process, and of its process group."""
        return self._process.pid

    def write(self, data: bytes) -> None:
        """Write to the program's standard input.

        Raises:
            TargetUnreachable: the program has ended, closed its input, or does not read.
        """
        with self._lock:
            self._write(data)

    def close_input(self) -> None:
        """Close the program's standard input, which asks a driver to end."""
        with self._lock, contextlib.suppress(OSError):
            _pipe(self._process.stdin).close()

    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal; None while the program runs."""
        if self._process.returncode is not None:
            return self._process.returncode
        if not hasattr(os, "waitid"):
            return self._process.poll()
        try:
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return self._process.returncode
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def wait(self, within: float) -> None:
        """Wait until the program has ended; return after this number of seconds at the latest."""
        # By waitid and not by Popen.wait, which would free the number of the group.
        ended = threading.Event()

        def wait() -> None:
            with contextlib.suppress(ChildProcessError):
                if hasattr(os, "waitid"):
                    os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
                else:
                    self._process.wait()
            ended.set()

        threading.Thread(target=wait, daemon=True, name="child-end").start()
        ended.wait(within)

    def last_words(self) -> str:
        """Return how the program ended (if it has), and the last lines of its stderr."""
        code = self.exit_code()
        if code is not None:
            self.await_output()
        told = self.kept["stderr"].end() or self.kept["stdout"].end()
        ended = "it still runs" if code is None else describe_end(code)
        return f"{ended}; {f'it wrote: {told}' if told else 'it wrote nothing'}"

    def end(self, *, within: float = END_WITHIN_S) -> None:
        """End the program and its process group; after so many seconds, kill them."""
        self.close_input()
        if self._process.returncode is None:
            self._signal(signal.SIGTERM)
            self.wait(within)
            self._signal(signal.SIGKILL)
            self._process.wait()
            kill_marked(f"{MARK}={self._mark}")
        self.await_output()
        with self._lock:
            if self._stop_write >= 0:
                os.write(self._stop_write, b".")
        if threading.current_thread() is not self._reader:
            self._reader.join()
        self._close()

    def await_output(self) -> None:
        """Wait shortly until all is read that the program wrote, once it has ended."""
        # What a program writes as it ends may be seen after its end is.
        if threading.current_thread() is not self._reader:
            self._reader.join(READ_WITHIN_S)

    def _close(self) -> None:
        with self._lock:
            for end in (self._stop_read, self._stop_write):
                if end >= 0:
                    os.close(end)
            self._stop_read = self._stop_write = -1
            for pipe in (self._process.stdout, self._process.stderr):
                _pipe(pipe).close()
        with STARTS:
            with _LOCK:
                _RUNNING.discard(self)
                is_last = not _RUNNING
            HELPERS.discard(self.pid)
            if is_last and self._first:
                kill_orphans(HELPERS.list_pids(), self._first)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _write(self, data: bytes) -> None:
        pipe, view = _pipe(self._process.stdin), memoryview(data)
        deadline = time.monotonic() + WRITE_WITHIN_S
        with selectors.DefaultSelector() as selector:
            try:
                selector.register(pipe, selectors.EVENT_WRITE)
                while view:
                    if not selector.select(max(deadline - time.monotonic(), 0)):
                        raise TargetUnreachable(
                            f"`{self.command}` does not read its standard input "
                            f"({len(view)} bytes are left after {WRITE_WITHIN_S:g} s)"
                        )
                    view = view[os.write(pipe.fileno(), view) :]
            except (OSError, ValueError) as error:
                raise TargetUnreachable(
                    f"`{self.command}` has closed its standard input: {self.last_words()}"
                ) from error

    def _read_all(self) -> None:
        """Tell the sink of all output until both streams end, or the program is to be ended."""
        streams: dict[int, tuple[Stream, IO[bytes]]] = {
            _pipe(self._process.stdout).fileno(): ("stdout", _pipe(self._process.stdout)),
            _pipe(self._process.stderr).fileno(): ("stderr", _pipe(self._process.stderr)),
        }
        with selectors.DefaultSelector() as selector:
            for number in (*streams, self._stop_read):
                selector.register(number, selectors.EVENT_READ)
            while streams:
                for key, _ in selector.select():
                    number = key.fd
                    if number not in streams:
                        # A sink that is not told waits on: an interrupted run once stayed until
                        # the client's time-out, since the reader had no processor to see the end.
                        for stream, _ in streams.values():
                            self._sink(stream, b"")
                        return
                    data = os.read(number, CHUNK)
                    stream, _ = streams[number]
                    self.kept[stream].add(data)
                    self._sink(stream, data)
                    if not data:
                        selector.unregister(number)
                        del streams[number]


def start(
    words: Sequence[str], *, environment: Mapping[str, str] | None = None, sink: Sink
) -> Child:
    """Start a program; ``sink`` gets its output.

    Raises:
        UsageFault: the program cannot be started.
        Exhausted: this machine cannot start another process or thread.
    """
    adopt_as_parent_did()
    command, mark = shlex.join(words), secrets.token_hex(8)
    with STARTS:
        try:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **(environment or {}), MARK: mark},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            refuse_exhausted(error)
            raise UsageFault(f"`{command}` cannot be started: {_reason(error)}") from error
        return Child(command, process, sink, mark)


def split_command(command: str, option: str = "--exec") -> list[str]:
    """Return the words of a command line as a shell splits them.

    ``option`` is the option that the command line was given with, for messages.

    Raises:
        UsageFault: the command line is empty, or a quotation mark is not closed.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageFault(f"{option} {command!r} is no command line: {error}") from None
    if not words:
        raise UsageFault(f"{option} {command!r}: the command is empty (a variable not set?)")
    return words


def end_all() -> None:
    """Kill every program that the kit started and that still runs, when the kit itself ends."""
    with _LOCK:
        running = tuple(_RUNNING)
    for child in running:
        child.end(within=0)


def describe_end(code: int) -> str:
    """Return in words how a program with this exit code ended; a negative one is a signal."""
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    return cast(IO[bytes], pipe)
