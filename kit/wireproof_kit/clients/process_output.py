"""What the process of a client writes, kept until the loop of the stage takes it."""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Iterator

from wireproof_kit.clients.limits import CHUNK, MOST_WRITTEN, OF_CASE
from wireproof_kit.clients.story import DRIVER, STDERR, STDOUT
from wireproof_kit.drivers.child import Stream
from wireproof_spec.driver.lines import NAME

MOST_OUTPUT = 64 << 10


class ProcessOutput:
    """The output of one process: threads add to it, the loop is woken and takes it."""

    def __init__(self) -> None:
        self.kept = OF_CASE
        self.streams_open = 2
        self._output: deque[tuple[Stream, bytes]] = deque()
        self._read: dict[Stream, int] = {"stdout": 0, "stderr": 0}
        self._written: dict[Stream, int] = {"stdout": 0, "stderr": 0}
        self._first_line = bytearray()
        self._is_driver: bool | None = None
        self._lock = threading.Lock()
        self.wake, self._wake_write = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self._wake_write, False)

    @property
    def is_flood(self) -> bool:
        """True if the process has written more than any client should."""
        return max(self._read.values()) > MOST_WRITTEN

    def add(self, stream: Stream, data: bytes) -> None:
        """Keep what the client writes, no data for the end of a stream; called by other threads.

        A client may write faster than the loop takes it. Nothing is kept of what exceeds the
        bounds of the case.
        """
        with self._lock:
            room = self.kept.text + 1 - self._read[stream]
            self._read[stream] += len(data)
            if room > 0 or not data:
                self._output.append((stream, data[:room]))
            elif self._read[stream] <= MOST_WRITTEN:
                return
            if self._wake_write >= 0:
                with contextlib.suppress(BlockingIOError):  # it is woken already
                    os.write(self._wake_write, b".")

    def take(self) -> Iterator[tuple[str, bytes]]:
        """Yield what has come since the last time, with the name of its source in a story."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake, CHUNK)
        while self._output:
            stream, data = self._output.popleft()
            if not data:
                self.streams_open -= 1
            elif stream == "stdout":
                yield from self._take_stdout(data)
            else:
                yield from self._cut(stream, data)

    def close(self) -> None:
        """Close what wakes the loop."""
        with self._lock:
            os.close(self.wake)
            os.close(self._wake_write)
            self._wake_write = -1

    def _take_stdout(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Recognize a driver by its first line; any other program may write anything."""
        if self._is_driver is None:
            self._first_line += data
            line, end, _ = self._first_line.partition(b"\n")
            if not end and len(line) < CHUNK:
                return
            self._is_driver = NAME.encode() in line
            data = bytes(self._first_line)
        if self._is_driver:
            yield DRIVER, data
        else:
            yield from self._cut("stdout", data)

    def _cut(self, stream: Stream, data: bytes) -> Iterator[tuple[str, bytes]]:
        room = MOST_OUTPUT - self._written[stream]
        self._written[stream] += len(data)
        if room > 0:
            yield STDOUT if stream == "stdout" else STDERR, data[:room]
